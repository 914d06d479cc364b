use dynalock::{
    Error, Expiry, Wait,
    error::{InvalidSetting, Spent},
    local::Fault,
};

use crate::support::{Crate, SKEW, Shop, TTL, Table, expect_error, kill, millis, now, secs, travel};

async fn crates() -> (Shop, Table<Crate>) {
    Shop::with_items(["a", "b", "c"].map(|id| Crate::new(id, 5))).await
}

#[tokio::test(start_paused = true)]
async fn the_first_free_one_is_granted_in_the_order_of_the_keys() {
    let (shop, table) = crates().await;
    let first = table.others.lock_any(["b", "a"]).await.unwrap();
    assert_eq!(first.id, "b");
    let second = table.items.lock_any(["b", "missing", "a", "c"]).await.unwrap();
    assert_eq!((&*second.id, shop.requests()), ("a", 4));
    let third = table.items.lock_any(["a", "b", "c"]).await.unwrap();
    assert_eq!(third.id, "c");
    let wait = table.items.lock_any(["a", "b", "c"]).wait(Wait::No);
    let locked = expect_error!(wait.await, Error::Locked(locked) => locked);
    assert_eq!(&*locked.owner, second.owner());
}

#[tokio::test(start_paused = true)]
async fn a_wait_for_any_item_ends_with_the_first_release_or_expiry() {
    for expiry in [Expiry::default(), Expiry::Observed] {
        let (_, table) = crates().await;
        let (items, others) = (table.items.clone().expiry(expiry), table.others.clone().expiry(expiry));
        let [a, b, c] = ["a", "b", "c"].map(|id| others.lock(id));
        let (a, b, c) = (a.await.unwrap(), b.await.unwrap(), c.await.unwrap());
        let waiting = tokio::spawn(items.lock_any(["a", "b", "c"]).wait(Wait::Forever).into_future());
        travel(secs(30)).await;
        assert!(!waiting.is_finished());
        b.release().await.unwrap();
        travel(secs(2)).await;
        let granted = waiting.await.unwrap().unwrap();
        assert_eq!(granted.id, "b");

        let waiting = tokio::spawn(items.lock_any(["a", "b", "c"]).wait(Wait::Forever).into_future());
        kill(c);
        travel(TTL + SKEW + secs(3)).await;
        let granted = waiting.await.unwrap().unwrap();
        assert_eq!(granted.id, "c");
        assert!(granted.acquired_after_crash().is_some());
        drop(a);
    }
}

#[tokio::test(start_paused = true)]
async fn lock_any_of_missing_items_is_not_found() {
    let (_, table) = crates().await;
    expect_error!(table.items.lock_any(["x", "y"]).await, Error::NotFound { spent: Spent { attempts: 1, .. }, .. });
    let none = table.items.lock_any(Vec::<&str>::new()).await;
    expect_error!(none, Error::InvalidSetting(InvalidSetting::NoLocks));
}

#[tokio::test(start_paused = true)]
async fn a_waiter_that_goes_away_leaves_nothing() {
    let (_, table) = crates().await;
    let held = table.others.lock("a").await.unwrap();
    let waiting = tokio::spawn(table.items.lock_any(["a"]).into_future());
    travel(millis(700)).await;
    waiting.abort();
    held.release().await.unwrap();
    travel(secs(60)).await;
    assert!(!table.raw.get("a").await.unwrap().contains_key("_owner"));
}

#[tokio::test(start_paused = true)]
async fn a_wait_whose_last_attempt_is_not_answered_names_a_holder_only_if_it_was_seen_last() {
    for keys in [vec!["a"], vec!["a", "b"], vec!["missing", "a", "b"]] {
        let (shop, table) = crates().await;
        let first = table.others.lock("a").heartbeat(false).await.unwrap();
        let second = table.others.lock("b").owner("second").heartbeat(false).await.unwrap();
        let waiting = tokio::spawn(table.items.lock_any(keys.clone()).wait(secs(3)).into_future());
        travel(millis(500)).await;
        // The reads show the release, and the following attempts get no answer.
        for nth in 0..20 {
            shop.faults.script_on("UpdateItem", nth, Fault::NeverAnswer);
        }
        first.release().await.unwrap();
        let error = waiting.await.unwrap().unwrap_err();
        match &error {
            Error::Exhausted { .. } => assert_eq!(keys, ["a"]),
            Error::Locked(locked) => assert_eq!((&*locked.owner, keys.len() > 1), ("second", true)),
            other => panic!("{keys:?}: {other:?}"),
        }
        drop(second);
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_without_a_limit_waits_for_twice_the_ttl_and_the_skew() {
    let (_, table) = crates().await;
    let mut held = Vec::new();
    for id in ["a", "b", "c"] {
        held.push(table.others.lock(id).await.unwrap());
    }
    let (one, any) = (table.items.lock("a"), table.items.lock_any(["a", "b", "c"]));
    let started = now();
    let (one, any) = tokio::join!(one.into_future(), any.into_future());
    expect_error!(one, Error::Locked(_));
    expect_error!(any, Error::Locked(_));
    assert_eq!(started.elapsed().as_secs(), (2 * TTL + SKEW).as_secs());
    drop(held);
    travel(secs(1)).await;
    // The default wait is long enough for the lease of a crashed holder.
    kill(table.others.lock("a").await.unwrap());
    assert!(table.items.lock("a").await.unwrap().acquired_after_crash().is_some());
}
