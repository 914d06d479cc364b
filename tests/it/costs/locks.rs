//! The costs of locks and leases.

use dynalock::{Error, cost::Units};

use super::{Metered, cost_of, shown};
use crate::support::{Archive, Parcel, SKEW, TTL, expect_error, kill, secs, travel};

#[tokio::test(start_paused = true)]
async fn a_lock_costs_its_acquire_its_heartbeats_and_its_release() {
    let to = Metered::new();
    let (locks, _) = to.locks().await;
    let meter = locks.meter().unwrap();
    to.bill.take();

    let held = locks.acquire("report").await.unwrap();
    assert_eq!(shown(meter.total()), "useful 0r 1w");
    held.extend().await.unwrap();
    assert_eq!(shown(meter.total()), "useful 0r 1w, heartbeats 0r 1w");
    travel(TTL).await;
    held.release().await.unwrap();

    let report = meter.report();
    assert_eq!(report.total.useful.write, Units::whole(2));
    assert!(report.total.heartbeats.write >= Units::whole(3), "{report:?}");
    assert_eq!(report.total.total(), to.bill.take());
    assert_eq!((report.calls, &*report.keys[0].key), (2, "report"));
    assert_eq!(report.keys[0].cost, report.total);
}

#[tokio::test(start_paused = true)]
async fn a_denied_attempt_is_a_poll_and_its_error_says_so() {
    let to = Metered::new();
    let (locks, others) = to.locks().await;
    let held = others.acquire("report").await.unwrap();
    to.bill.take();

    assert!(locks.try_acquire("report").await.unwrap().is_none());
    assert_eq!(shown(locks.meter().unwrap().total()), "polls 0r 1w");
    let error = locks.acquire("report").wait(secs(3)).await.unwrap_err();
    let cost = error.cost().expect("the cost of the wait");
    assert!(matches!(error, Error::Locked(_)), "{error:?}");
    assert!(cost.polls.read > Units::ZERO && cost.total() == cost.polls, "{cost}");
    assert_eq!(locks.meter().unwrap().total().total(), to.bill.take());
    held.release().await.unwrap();
}

/// The polls of a waiter, plain or in a queue, and the takeover of a lock whose holder has died.
#[tokio::test(start_paused = true)]
async fn a_wait_costs_polls_and_the_sum_is_what_the_engine_charges() {
    for is_fair in [false, true] {
        let to = Metered::new();
        let (locks, others) = to.locks().await;
        kill(others.acquire("report").await.unwrap());
        to.bill.take();

        let request = locks.acquire("report");
        let held = if is_fair { request.fair().await } else { request.await }.unwrap();
        let waited = locks.meter().unwrap().total();
        assert!(waited.polls.read > Units::ZERO, "fair {is_fair}: {waited}");
        held.release().await.unwrap();

        let cost = locks.meter().unwrap().total();
        assert_eq!(cost.total(), to.bill.take(), "fair {is_fair}: {cost}");
        assert!(cost.conflicts.total().is_zero() && cost.retries.total().is_zero(), "fair {is_fair}: {cost}");
    }
}

#[tokio::test(start_paused = true)]
async fn several_locks_are_one_call() {
    let to = Metered::new();
    let (locks, _) = to.locks().await;
    to.bill.take();

    let held = locks.acquire_all(["a", "b"]).await.unwrap();
    let report = locks.meter().unwrap().report();
    assert_eq!((shown(report.total), report.calls), ("useful 2r 4w".to_owned(), 1));
    held.release().await.unwrap();

    let report = locks.meter().unwrap().report();
    assert_eq!(report.total.total(), to.bill.take());
    assert_eq!(report.keys.iter().map(|key| &*key.key).collect::<Vec<_>>(), ["a", "b"]);
}

#[tokio::test(start_paused = true)]
async fn a_lease_costs_in_the_key_of_its_item() {
    let to = Metered::new();
    let (parcels, _) = to.items([Parcel::new("a", 1)]).await;
    let (archives, _) = to.items([Archive::new("a", 1)]).await;
    to.bill.take();

    let mut parcel = parcels.lock("a").await.unwrap();
    parcel.update(|parcel| parcel.items += 1).await.unwrap();
    parcel.commit(|parcel| parcel.items += 1).await.unwrap();
    assert_eq!(shown(cost_of(&parcels)), "useful 0r 3w");
    assert_eq!(cost_of(&parcels).total(), to.bill.take());

    let archive = archives.lock("a").await.unwrap();
    travel(SKEW * 4).await;
    archive.release().await.unwrap();
    let report = archives.meter().unwrap().report();
    assert_eq!(report.total.total(), to.bill.take());
    assert!(report.total.heartbeats.write > Units::ZERO, "{report:?}");
    assert_eq!(report.keys.iter().map(|key| &*key.key).collect::<Vec<_>>(), ["\"a\""]);
}

#[tokio::test(start_paused = true)]
async fn the_wait_for_a_lock_ends_at_its_budget() {
    let to = Metered::new();
    let (locks, others) = to.locks().await;
    let held = others.acquire("report").await.unwrap();

    let error = locks.acquire("report").budget(3).await.unwrap_err();
    let Error::BudgetExceeded { budget, spent, .. } = &error else { panic!("{error:?}") };
    assert_eq!(*budget, Units::whole(3));
    assert!(spent.cost.as_ref().unwrap().total().total() <= Units::whole(3), "{error}");
    held.release().await.unwrap();

    // The call has left no queue entry and no grant, and the budget limits neither heartbeats nor
    // the release.
    let held = locks.acquire("report").budget(1).await.unwrap();
    travel(TTL * 2).await;
    assert!(held.remaining() > secs(0));
    held.release().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_place_in_a_queue_is_given_up_at_the_budget() {
    let to = Metered::new();
    let (locks, others) = to.locks().await;
    let held = others.acquire("report").fair().await.unwrap();

    expect_error!(locks.acquire("report").fair().budget(3).await, Error::BudgetExceeded { .. });
    travel(secs(1)).await;
    assert_eq!(others.queue("report").await.unwrap().len(), 1);
    held.release().await.unwrap();
}
