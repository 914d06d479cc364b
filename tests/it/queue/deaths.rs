//! Who has died at work is told to the next one who is there to hear of it.

use dynalock::{
    Error, Wait,
    local::{Fault, Faults},
};

use super::{SKEW, TTL, kill};
use crate::support::{Shop, expect_error, secs, travel};

/// The grant has come, and its caller has gone before it took it.
#[tokio::test(start_paused = true)]
async fn a_grant_that_nobody_takes_does_not_hide_a_death() {
    for is_fair in [true, false] {
        let shop = Shop::in_process(Faults::none());
        let (locks, others) = shop.queues().await;
        let dead = match is_fair {
            true => others.acquire("printer").fair().await.unwrap(),
            false => others.acquire("printer").await.unwrap(),
        };
        let fence = dead.fence();
        kill(dead);
        let mut waiting = match is_fair {
            true => locks.acquire("printer").fair().into_future(),
            false => locks.acquire("printer").into_future(),
        };
        // It is polled once, so that it asks, and then forgotten with the grant.
        assert!(tokio::time::timeout(secs(1), &mut waiting).await.is_err());
        travel(TTL + SKEW + secs(3)).await;
        assert!(others.try_acquire("printer").await.unwrap().is_none(), "it has it by now");
        drop(waiting);
        travel(secs(1)).await;
        let next = others.acquire("printer").fair().await.unwrap();
        assert_eq!((next.fence(), next.acquired_after_crash()), (fence + 2, Some(fence)), "{is_fair}");
        next.release().await.unwrap();
        assert_eq!(others.acquire("printer").await.unwrap().acquired_after_crash(), None);
    }
}

#[tokio::test(start_paused = true)]
async fn a_queued_that_is_granted_at_once_and_dropped_does_not_hide_a_death() {
    let shop = Shop::in_process(Faults::none());
    let (locks, others) = shop.queues().await;
    let dead = others.acquire("printer").fair().await.unwrap();
    let fence = dead.fence();
    assert!(others.break_lock("printer", fence).await.unwrap());
    let queued = locks.acquire("printer").fair().enter().await.unwrap();
    assert_eq!(queued.position(), 0);
    drop(queued);
    travel(secs(1)).await;
    assert_eq!(locks.acquire("printer").fair().await.unwrap().acquired_after_crash(), Some(fence));
}

/// It has one of its locks while it waits for the other, and gives up.
#[tokio::test(start_paused = true)]
async fn a_ticket_that_is_given_up_does_not_hide_a_death() {
    let shop = Shop::in_process(Faults::none());
    let (locks, others) = shop.queues().await;
    let dead = others.acquire("a").fair().await.unwrap();
    let fence = dead.fence();
    kill(dead);
    let held = others.acquire("b").fair().await.unwrap();
    let both = tokio::spawn(locks.acquire_all(["a", "b"]).fair().wait(secs(40)).into_future());
    travel(secs(1)).await;
    let behind = tokio::spawn(others.acquire("a").fair().into_future());
    expect_error!(both.await.unwrap(), Error::Locked(_));
    let next = behind.await.unwrap().unwrap();
    assert_eq!((next.fence(), next.acquired_after_crash()), (fence + 2, Some(fence)));
    held.release().await.unwrap();
}

/// One that has died waiting has done nothing; one that was told of a death has.
#[tokio::test(start_paused = true)]
async fn one_who_dies_waiting_does_not_hide_one_who_has_died_at_work() {
    let shop = Shop::in_process(Faults::none());
    let (locks, others) = shop.queues().await;
    let dead = others.acquire("printer").fair().await.unwrap();
    let fence = dead.fence();
    let waiting = locks.acquire("printer").fair().enter().await.unwrap();
    kill(dead);
    shop.faults.always(Fault::NeverAnswer);
    let last = others.acquire("printer").fair().await.unwrap();
    assert_eq!((last.fence(), last.acquired_after_crash()), (fence + 2, Some(fence)));
    drop(waiting);
    let second = last.fence();
    // From now on it is known that it was told.
    last.extend().await.unwrap();
    kill(last);
    let next = others.acquire("printer").fair().await.unwrap();
    assert_eq!((next.fence(), next.acquired_after_crash()), (second + 1, Some(second)));
}

#[tokio::test(start_paused = true)]
async fn all_at_once_are_told_of_who_was_taken_away_before() {
    for is_fair in [true, false] {
        let shop = Shop::in_process(Faults::none());
        let (locks, others) = shop.queues().await;
        let dead = match is_fair {
            true => others.acquire("a").fair().await.unwrap(),
            false => others.acquire("a").await.unwrap(),
        };
        let fence = dead.fence();
        kill(dead);
        let all = locks.acquire_all(["a", "b"]).await.unwrap();
        let told = |name| all.get(name).unwrap().acquired_after_crash();
        assert_eq!((told("a"), told("b")), (Some(fence), None), "{is_fair}");
        all.release().await.unwrap();
        let all = locks.acquire_all(["a", "b"]).await.unwrap();
        assert_eq!(all.get("a").unwrap().acquired_after_crash(), None);
    }
}

/// Its ticket has one of two locks, and beats there, when its process dies.
#[tokio::test(start_paused = true)]
async fn a_ticket_that_dies_waiting_does_not_hide_one_who_has_died_at_work() {
    let shop = Shop::in_process(Faults::none());
    let (locks, others) = shop.queues().await;
    let dead = others.acquire("a").fair().await.unwrap();
    let fence = dead.fence();
    kill(dead);
    let _held = others.acquire("b").fair().await.unwrap();
    let _both = tokio::spawn(locks.acquire_all(["a", "b"]).fair().into_future());
    travel(TTL * 3).await;
    assert_eq!(others.inspect("a").await.unwrap().unwrap().fence, fence + 1, "the ticket has it");
    shop.faults.always(Fault::NeverAnswer);
    let next = others.acquire("a").fair().await.unwrap();
    assert_eq!((next.fence(), next.acquired_after_crash()), (fence + 2, Some(fence)));
}

/// The acquire takes a dead holder's place, and nobody hears of it.
#[tokio::test(start_paused = true)]
async fn a_grant_in_doubt_that_is_given_back_does_not_hide_a_death() {
    let shop = Shop::in_process(Faults::none());
    let (locks, others) = shop.queues().await;
    let dead = others.acquire("printer").await.unwrap();
    let fence = dead.fence();
    kill(dead);
    travel(TTL + SKEW + secs(1)).await;
    shop.faults.always(Fault::LoseReply);
    expect_error!(locks.acquire("printer").await, Error::Exhausted { .. });
    shop.faults.clear();
    travel(TTL * 2 + SKEW).await;
    let next = others.acquire("printer").await.unwrap();
    assert_eq!((next.fence(), next.acquired_after_crash()), (fence + 2, Some(fence)));
}

/// The reply to the order is lost, and somebody has come since.
#[tokio::test(start_paused = true)]
async fn an_order_whose_reply_is_lost_is_known_by_the_death_that_it_has_left() {
    let shop = Shop::in_process(Faults::none());
    let (locks, others) = shop.queues().await;
    let held = others.acquire("printer").heartbeat(false).await.unwrap();
    shop.faults.script_on("UpdateItem", 0, Fault::LoseReply);
    let breaking = tokio::spawn({
        let (locks, fence) = (locks.clone(), held.fence());
        async move { locks.break_lock("printer", fence).await }
    });
    while others.inspect("printer").await.unwrap().unwrap().owner.is_some() {
        tokio::task::yield_now().await;
    }
    let next = others.acquire("printer").fair().wait(Wait::No).await.unwrap();
    assert!(breaking.await.unwrap().unwrap());
    assert_eq!(next.acquired_after_crash(), Some(held.fence()));
}

/// A late copy of its request brings a holder back that was taken out: what it releases then is no grant of its own, and the death its own.
#[tokio::test(start_paused = true)]
async fn one_who_releases_its_own_ghost_does_not_hide_its_death() {
    for is_fair in [true, false] {
        let shop = Shop::in_process(Faults::none());
        let (locks, others) = shop.queues().await;
        shop.faults.script_on("UpdateItem", 0, Fault::DeliverLate(secs(20)));
        let held = match is_fair {
            true => locks.acquire("printer").fair().heartbeat(false).await.unwrap(),
            false => locks.acquire("printer").heartbeat(false).await.unwrap(),
        };
        let fence = held.fence();
        travel(TTL + SKEW + secs(1)).await;
        // By one who takes it out, and is gone.
        let next = others.acquire("printer").fair().enter().await.unwrap();
        travel(secs(2)).await;
        drop(next);
        travel(secs(6)).await;
        let ghost = others.inspect("printer").await.unwrap().unwrap();
        assert_eq!(ghost.owner.as_deref(), Some(held.owner()), "{is_fair}");
        held.release().await.unwrap();
        assert_eq!(others.inspect("printer").await.unwrap().unwrap().owner, None, "{is_fair}");
        let last = others.acquire("printer").fair().await.unwrap();
        assert_eq!((last.fence(), last.acquired_after_crash()), (ghost.fence + 1, Some(fence)), "{is_fair}");
    }
}
