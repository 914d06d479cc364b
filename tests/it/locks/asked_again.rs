//! A call that was granted the lock, but learns of the grant only after its end.

use dynalock::{Error, Wait, local::Fault, private::ClockAhead as _};

use super::break_before;
use crate::support::{Shop, expect_error, millis, row_of};

#[tokio::test(start_paused = true)]
async fn a_try_asks_again_if_its_own_grant_was_broken() {
    // DynamoDB grants the first request, and the second request shows this grant. The third request
    // is the first heartbeat.
    for nth in [1, 2] {
        let (shop, locks, others) = Shop::with_locks().await;
        break_before(&shop, &others, nth);
        let held = locks.try_acquire("report").await.unwrap().expect("nobody has it");
        row_of(&others, &held).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_grant_that_was_longer_on_its_way_than_its_lease_is_renewed_before_it_is_given() {
    let (shop, locks, others) = Shop::with_locks().await;
    let ttl = millis(600);
    shop.faults.script_on("UpdateItem", 0, Fault::Delay(millis(900)));
    let held = locks.acquire("report").ttl(ttl).wait(Wait::No).heartbeat(false).await.unwrap();
    assert!(held.remaining() > ttl / 2, "{held:?}");
    let row = others.inspect("report").await.unwrap().unwrap();
    assert!(held.remaining() <= row.remaining, "{held:?} {row:?}");
}

#[tokio::test(start_paused = true)]
async fn a_grant_that_somebody_has_taken_over_before_its_first_heartbeat_is_asked_for_again() {
    for is_released in [false, true] {
        let (shop, locks, others) = Shop::with_locks().await;
        shop.faults.script_on("UpdateItem", 0, Fault::LoseReply);
        // By this clock, the lease has ended.
        let ahead = others.clone().clock_ahead_by_millis(60_000);
        shop.rival.before("UpdateItem", 2, move || async move {
            let thief = ahead.acquire("report").owner("thief").heartbeat(false).await.unwrap();
            if is_released { thief.release().await.unwrap() } else { drop(thief.detach()) }
        });
        let asked = locks.acquire("report").wait(Wait::No).await;
        let row = others.inspect("report").await.unwrap().unwrap();
        match is_released {
            true => assert_eq!(row.fence, asked.unwrap().fence()),
            false => {
                let locked = expect_error!(asked, Error::Locked(locked) => locked);
                assert_eq!(&*locked.owner, "thief");
                assert_eq!((Some(&*locked.owner), locked.fence), (row.owner.as_deref(), row.fence));
            }
        }
    }
}
