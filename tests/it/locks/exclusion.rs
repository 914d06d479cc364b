use dynalock::{Error, Wait, local::Fault};

use crate::support::{SKEW, Shop, TTL, expect_error, item, millis, n, now, s, secs, stolen_by, travel};

#[tokio::test(start_paused = true)]
async fn a_held_lock_is_not_granted_and_names_its_holder() {
    let (_, locks, others) = Shop::with_locks().await;
    let held = locks.acquire("report").owner("alice").await.unwrap();
    assert_eq!(held.owner(), "alice");
    assert!(others.try_acquire("report").await.unwrap().is_none());
    let locked = expect_error!(others.acquire("report").wait(Wait::No).await, Error::Locked(locked) => locked);
    assert_eq!((&*locked.owner, locked.fence, locked.spent.attempts), (held.owner(), held.fence(), 1));
    assert!(locked.remaining <= TTL + SKEW && locked.remaining > secs(9) + SKEW, "{locked:?}");
    let other = others.try_acquire("another").await.unwrap().unwrap();
    other.release().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_try_is_one_request() {
    let (shop, locks, others) = Shop::with_locks().await;
    let held = others.acquire("report").await.unwrap();
    assert!(locks.try_acquire("report").await.unwrap().is_none());
    held.release().await.unwrap();
    locks.try_acquire("report").heartbeat(false).await.unwrap().unwrap().release().await.unwrap();
    assert_eq!(shop.sent("UpdateItem").len(), 3);
    assert_eq!(shop.requests(), 3);
}

#[tokio::test(start_paused = true)]
async fn a_release_lets_the_next_one_in_before_the_ttl() {
    let (_, locks, others) = Shop::with_locks().await;
    let held = others.acquire("report").await.unwrap();
    let fence = held.fence();
    let waiting = tokio::spawn(locks.acquire("report").wait(secs(60)).into_future());
    travel(secs(25)).await;
    assert!(!waiting.is_finished());
    held.release().await.unwrap();
    travel(secs(2)).await;
    assert!(waiting.is_finished());
    let next = waiting.await.unwrap().unwrap();
    assert_eq!((next.fence(), next.acquired_after_crash()), (fence + 1, None));
}

#[tokio::test(start_paused = true)]
async fn a_waiter_reads_and_does_not_write() {
    let (shop, locks, others) = Shop::with_locks().await;
    let held = others.acquire("report").await.unwrap();
    expect_error!(locks.acquire("report").wait(secs(30)).await, Error::Locked(_));
    let writes = shop.sent("UpdateItem").len();
    assert!((1..=5).contains(&writes), "{writes}");
    let reads = shop.sent("GetItem");
    assert!((30..=120).contains(&reads.len()), "{}", reads.len());
    assert!(reads.iter().all(|read| read["ConsistentRead"] == false), "{reads:?}");
    held.release().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_wait_ends_at_its_time() {
    let (_, locks, others) = Shop::with_locks().await;
    let _held = others.acquire("report").await.unwrap();
    let started = now();
    let locked = expect_error!(locks.acquire("report").wait(secs(3)).await, Error::Locked(locked) => locked);
    let took = started.elapsed();
    assert!(took >= secs(3) && took < millis(3_100), "{took:?}");
    assert!(locked.spent.elapsed >= secs(3), "{locked:?}");
}

#[tokio::test(start_paused = true)]
async fn the_fence_grows_over_releases_and_crashes() {
    let (_, locks, others) = Shop::with_locks().await;
    let mut last = 0;
    for round in 0..6 {
        let who = if round % 2 == 0 { &locks } else { &others };
        let held = who.acquire("report").await.unwrap();
        assert!(held.fence() > last, "{held:?}");
        let crashed_before = (round > 0 && round % 3 == 0).then_some(last);
        assert_eq!(held.acquired_after_crash(), crashed_before, "{round}");
        last = held.fence();
        if round % 3 == 2 { drop(held.detach()) } else { held.release().await.unwrap() }
    }
}

#[tokio::test(start_paused = true)]
async fn other_attributes_and_the_payload_survive() {
    let (shop, locks, others) = Shop::with_locks().await;
    let raw = shop.raw("locks", "name");
    locks.acquire("report").payload("page 7").await.unwrap().release().await.unwrap();
    raw.set("report", "comment", s("of another program")).await;
    let held = others.acquire("report").await.unwrap();
    assert_eq!(held.payload(), Some(&b"page 7"[..]));
    held.extend().await.unwrap();
    held.release().await.unwrap();
    let row = raw.get("report").await.unwrap();
    assert_eq!(row["comment"], s("of another program"));
    assert!(!row.contains_key("_owner") && !row.contains_key("_until"), "{row:?}");
    let info = locks.inspect("report").await.unwrap().unwrap();
    assert_eq!((info.owner, info.payload), (None, Some(b"page 7".to_vec())));
    assert_eq!(row["_fence"], n(info.fence));
    assert_eq!(locks.inspect("never").await.unwrap(), None);
}

#[tokio::test(start_paused = true)]
async fn an_operator_breaks_a_lock_by_its_fence_alone() {
    let (_, locks, others) = Shop::with_locks().await;
    let held = locks.acquire("report").await.unwrap();
    assert!(!others.break_lock("report", held.fence() - 1).await.unwrap());
    assert!(others.break_lock("report", held.fence()).await.unwrap());
    assert!(!others.break_lock("report", held.fence()).await.unwrap());
    let next = others.try_acquire("report").await.unwrap().unwrap();
    assert_eq!(next.fence(), held.fence() + 1);
    assert_eq!(stolen_by(&held.lost().await), (next.owner(), next.fence()));
}

#[tokio::test(start_paused = true)]
async fn all_locks_of_a_table_are_listed_page_by_page() {
    let (shop, locks, others) = Shop::with_locks().await;
    assert!(locks.list().next().await.is_none());
    // Each page of a Scan ends at one megabyte.
    let mut held = Vec::new();
    for number in 0..12 {
        held.push(others.acquire(format!("lock-{number:02}")).payload(vec![7; 300_000]).await.unwrap());
    }
    held.pop().unwrap().release().await.unwrap();
    shop.raw("locks", "name").put(item([("name", s("no lock"))])).await;
    shop.faults.script_on("Scan", 1, Fault::LoseReply);
    let mut seen = Vec::new();
    let mut list = locks.list();
    while let Some(lock) = list.next().await {
        seen.push(lock.unwrap());
    }
    assert!(shop.faults.count("Scan") > 4);
    seen.sort_by(|one, other| one.name.cmp(&other.name));
    assert_eq!(seen.len(), 12);
    for (lock, held) in seen.iter().zip(&held) {
        assert_eq!((&*lock.name, lock.owner.as_deref(), lock.fence), (held.name(), Some(held.owner()), held.fence()));
        assert_eq!(lock.payload.as_deref(), Some(&*vec![7; 300_000]), "{lock:?}");
        assert!(format!("{lock:?}").len() < 300, "no content is shown");
    }
    assert_eq!((seen[11].owner.as_ref(), seen[11].remaining), (None, millis(0)));
    let elsewhere = dynalock::Locks::new(&shop.client, "nowhere");
    expect_error!(elsewhere.list().next().await.unwrap(), Error::TableNotFound { .. });
}

#[tokio::test(start_paused = true)]
async fn a_name_that_was_retired_goes_on_above_its_fence() {
    let (shop, locks, others) = Shop::with_locks().await;
    let held = others.acquire("report").await.unwrap();
    let fence = held.fence();
    assert!(!locks.retire("report").await.unwrap(), "it is held");
    held.release().await.unwrap();
    assert!(!locks.retire("report").await.unwrap(), "it is too young");
    travel(secs(61)).await;
    for fault in [Fault::LoseReply, Fault::Throttle] {
        shop.faults.script_on("DeleteItem", 0, fault);
        assert!(locks.retire("report").await.unwrap());
        assert_eq!(others.inspect("report").await.unwrap(), None);
    }
    assert!(locks.acquire("report").await.unwrap().fence() > fence);
    expect_error!(locks.retire("").await, Error::InvalidKey { .. });
}

#[tokio::test(start_paused = true)]
async fn names_are_checked_and_a_missing_table_is_named() {
    let (shop, locks, _) = Shop::with_locks().await;
    expect_error!(locks.acquire("").await, Error::InvalidKey { attribute: "name", .. });
    locks.acquire("a".repeat(2048)).await.unwrap().release().await.unwrap();
    expect_error!(locks.acquire("a".repeat(2049)).await, Error::InvalidKey { attribute: "name", .. });
    let office = locks.clone().namespace("office");
    office.acquire("a".repeat(2041)).await.unwrap().release().await.unwrap();
    expect_error!(office.acquire("a".repeat(2042)).await, Error::InvalidKey { attribute: "name", .. });
    assert_eq!(locks.verify_table().await.unwrap().differences(), []);
    let elsewhere = dynalock::Locks::new(&shop.client, "nowhere");
    expect_error!(elsewhere.verify_table().await, Error::TableNotFound { .. });
    let table = expect_error!(elsewhere.acquire("report").await, Error::TableNotFound { table, .. } => table);
    assert_eq!(&*table, "nowhere");
}

#[tokio::test(start_paused = true)]
async fn a_break_or_a_retirement_that_may_have_happened_is_indeterminate() {
    let (shop, locks, others) = Shop::with_locks().await;
    let once = locks.clone().attempts(1);
    let held = others.acquire("report").heartbeat(false).await.unwrap();
    shop.faults.script_on("UpdateItem", 0, Fault::LoseReply);
    expect_error!(once.break_lock("report", held.fence()).await, Error::Indeterminate { .. });
    assert_eq!(others.inspect("report").await.unwrap().unwrap().owner, None);

    let queued = others.acquire("report").fair().heartbeat(false).await.unwrap();
    // The first UpdateItem is refused, and the second one removes the head of the queue.
    shop.faults.script_on("UpdateItem", 1, Fault::LoseReply);
    expect_error!(once.break_lock("report", queued.fence()).await, Error::Indeterminate { .. });
    assert_eq!(others.inspect("report").await.unwrap().unwrap().owner, None);

    travel(secs(120)).await;
    shop.faults.script_on("DeleteItem", 0, Fault::LoseReply);
    expect_error!(once.retire("report").await, Error::Indeterminate { .. });
    assert_eq!(others.inspect("report").await.unwrap().map(|info| info.fence), None);

    shop.faults.script_on("UpdateItem", 0, Fault::LoseRequest);
    let again = others.acquire("report").heartbeat(false).await.unwrap();
    shop.faults.script_on("UpdateItem", 0, Fault::Throttle);
    expect_error!(once.break_lock("report", again.fence()).await, Error::Exhausted { .. });
}
