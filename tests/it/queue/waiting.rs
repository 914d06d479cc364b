//! Callers that wait, and callers that stop waiting.

use std::{
    future::{Future, poll_fn},
    pin::Pin,
    task::Poll,
};

use dynalock::{Error, LockGuard, Wait, error::Spent};
use tokio::task::JoinSet;

use crate::support::{Shop, TTL, expect_error, kill, millis, now, secs, travel};

#[tokio::test(start_paused = true)]
async fn a_wait_ends_at_its_time_and_frees_its_place() {
    let (_, locks, others) = Shop::with_locks().await;
    let held = others.acquire("printer").fair().await.unwrap();
    for (wait, least) in [(Wait::No, secs(0)), (Wait::For(secs(3)), secs(3)), (Wait::For(millis(1)), millis(1))] {
        let started = now();
        let locked = locks.acquire("printer").fair().wait(wait).await;
        let locked = expect_error!(locked, Error::Locked(locked) => locked);
        assert!(started.elapsed() >= least && started.elapsed() < least + millis(100), "{:?}", started.elapsed());
        assert_eq!((&*locked.owner, locked.fence), (held.owner(), held.fence()));
        assert_eq!(others.queue("printer").await.unwrap().len(), 1, "{wait:?}");
    }
    assert!(locks.try_acquire("printer").fair().await.unwrap().is_none());
    let waiting = tokio::spawn(locks.acquire("printer").fair().wait(Wait::Forever).into_future());
    travel(secs(600)).await;
    assert!(!waiting.is_finished());
    held.release().await.unwrap();
    waiting.await.unwrap().unwrap().release().await.unwrap();
}

/// Polls a future once.
async fn poll<F: Future + Unpin>(future: &mut F) -> Option<F::Output> {
    poll_fn(|context| match Pin::new(&mut *future).poll(context) {
        Poll::Ready(output) => Poll::Ready(Some(output)),
        Poll::Pending => Poll::Ready(None),
    })
    .await
}

#[tokio::test(start_paused = true)]
async fn a_request_that_is_dropped_at_any_point_leaves_nothing() {
    for (held_for, steps) in [(None, 40), (Some(secs(2)), 120)] {
        let (_, locks, others) = Shop::with_locks().await;
        let mut completed = 0;
        for polls in 0..steps {
            let name = format!("printer-{polls}");
            let first = match held_for {
                Some(_) => Some(others.acquire(&*name).fair().await.unwrap()),
                None => None,
            };
            let waiting = tokio::spawn(others.acquire(&*name).fair().wait(secs(60)).into_future());
            if first.is_some() {
                travel(millis(5)).await;
            } else {
                waiting.abort();
            }
            let mut asking = locks.acquire(&*name).fair().into_future();
            let mut held = None;
            for poll_number in 0..polls {
                held = poll(&mut asking).await;
                if held.is_some() {
                    break;
                }
                // The time of each step of the task, and of the pauses between its polls.
                if poll_number < 30 { tokio::task::yield_now().await } else { travel(millis(50)).await }
            }
            completed += u32::from(held.is_some());
            drop((asking, held));
            drop(first);
            if held_for.is_some() {
                waiting.await.unwrap().unwrap().release().await.unwrap();
            }
            travel(secs(5)).await;
            assert_eq!(others.queue(&*name).await.unwrap(), [], "after {polls} polls");
        }
        assert!(completed > 0 || held_for.is_some(), "it was never polled to its end");
    }
}

#[tokio::test(start_paused = true)]
async fn a_dropped_ticket_leaves_the_queue_from_the_middle_and_from_the_head() {
    let (_, locks, others) = Shop::with_locks().await;
    let first = others.acquire("printer").fair().await.unwrap();
    let middle = locks.acquire("printer").fair().enter().await.unwrap();
    let last = locks.acquire("printer").fair().enter().await.unwrap();
    assert_eq!((middle.position(), last.position()), (1, 2));
    drop(middle);
    travel(secs(3)).await;
    assert_eq!((others.queue("printer").await.unwrap().len(), last.position()), (2, 1));
    let fence = first.fence();
    first.release().await.unwrap();
    travel(secs(1)).await;
    // The call holds the lock by now, but no caller has awaited it.
    assert_eq!(last.position(), 0);
    drop(last);
    travel(secs(1)).await;
    let plain = others.try_acquire("printer").await.unwrap().unwrap();
    assert_eq!((plain.fence(), plain.acquired_after_crash()), (fence + 2, None));
}

#[tokio::test(start_paused = true)]
async fn a_head_that_goes_without_having_held_leaves_the_lock_free() {
    let (_, locks, others) = Shop::with_locks().await;
    let fence = kill(others.acquire("printer").fair().await.unwrap());
    let next = locks.acquire("printer").fair().enter().await.unwrap();
    assert!(others.break_lock("printer", fence).await.unwrap());
    drop(next);
    travel(secs(1)).await;
    let held = others.acquire("printer").fair().await.unwrap();
    assert_eq!((held.fence(), held.acquired_after_crash()), (fence + 2, None));
}

#[tokio::test(start_paused = true)]
async fn hundreds_of_cancelled_waiters_leave_nothing() {
    let (_, locks, others) = Shop::with_locks().await;
    let held = others.acquire("printer").fair().await.unwrap();
    let mut tasks = Vec::new();
    for number in 0..300_u64 {
        tasks.push(tokio::spawn(locks.acquire("printer").fair().max_queue(400).into_future()));
        travel(millis(number % 4)).await;
    }
    travel(secs(2)).await;
    assert_eq!(others.inspect("printer").await.unwrap().unwrap().waiting, 300);
    // The tickets are not dropped in their order.
    for number in 0..300 {
        tasks[number * 7 % 300].abort();
        travel(millis(number as u64 % 3)).await;
    }
    travel(secs(30)).await;
    assert_eq!(others.queue("printer").await.unwrap().len(), 1);
    held.release().await.unwrap();
    assert_eq!(others.queue("printer").await.unwrap(), []);
}

#[tokio::test(start_paused = true)]
async fn the_place_in_the_queue_only_gets_better() {
    let (_, locks, others) = Shop::with_locks().await;
    let first = others.acquire("printer").fair().await.unwrap();
    let mut before = JoinSet::new();
    let hold = async |asking: dynalock::lock::Acquire<LockGuard, std::sync::Arc<str>, dynalock::lock::Fair>| {
        let held = asking.await.unwrap();
        travel(secs(4)).await;
        held.release().await.unwrap();
    };
    for _ in 0..6 {
        before.spawn(hold(others.acquire("printer").fair()));
        travel(millis(20)).await;
    }
    let mut queued = locks.acquire("printer").fair().enter().await.unwrap();
    assert_eq!(queued.position(), 7);
    first.release().await.unwrap();
    let (mut positions, mut estimates) = (Vec::new(), Vec::new());
    while let Some(waiting) = queued.next().await {
        if positions.last() != Some(&waiting.position) {
            positions.push(waiting.position);
            estimates.push(waiting.estimate);
        }
        assert!(waiting.waiting >= waiting.position && !waiting.holder.is_empty(), "{waiting:?}");
    }
    assert_eq!(queued.position(), 0);
    assert!(positions.is_sorted_by(|one, next| one > next), "{positions:?}");
    assert_eq!((positions[0], *positions.last().unwrap()), (7, 1));
    // Each turn takes four seconds, and the time until the next caller notices it. No estimate is
    // known before the first turn.
    assert_eq!(estimates[0], None);
    for (position, estimate) in positions.iter().zip(&estimates).skip(1) {
        let most = millis(4_800) * u32::try_from(*position).unwrap();
        assert!(estimate.is_some_and(|estimate| estimate < most), "{positions:?}: {estimates:?}");
    }
    assert!(estimates.last().unwrap() < &estimates[2], "{estimates:?}");
    queued.await.unwrap().release().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_full_queue_is_an_error_of_its_own() {
    let (_, locks, others) = Shop::with_locks().await;
    let held = others.acquire("printer").fair().await.unwrap();
    let second = locks.acquire("printer").fair().max_queue(3).enter().await.unwrap();
    let third = locks.acquire("printer").fair().max_queue(3).enter().await.unwrap();
    let full = locks.acquire("printer").fair().max_queue(3).await;
    let (name, waiting) = expect_error!(full, Error::QueueFull { name, waiting, spent: Spent { attempts: 1, .. }, .. } => (name, waiting));
    assert_eq!((name.as_deref(), waiting), (Some("printer"), 2));
    expect_error!(locks.acquire("printer").fair().max_queue(2).enter().await, Error::QueueFull { waiting: 2, .. });
    let fourth = locks.acquire("printer").fair().max_queue(4).enter().await.unwrap();
    assert_eq!(others.queue("printer").await.unwrap().len(), 4);
    held.release().await.unwrap();
    travel(secs(1)).await;
    let full = locks.acquire("printer").fair().max_queue(3).await;
    expect_error!(full, Error::QueueFull { waiting: 2, .. });
    for queued in [second, third, fourth] {
        queued.await.unwrap().release().await.unwrap();
    }
    assert_eq!(others.queue("printer").await.unwrap(), []);
}

#[tokio::test(start_paused = true)]
async fn waiting_costs_a_read_a_poll_and_no_write() {
    let (shop, locks, others) = Shop::with_locks().await;
    let held = others.acquire("printer").fair().await.unwrap();
    let reads =
        |shop: &Shop| shop.sent("GetItem").iter().map(|read| read["ConsistentRead"] == true).collect::<Vec<_>>();
    let next = locks.acquire("printer").fair().enter().await.unwrap();
    travel(secs(60)).await;
    let of_the_next = reads(&shop);
    // Four reads in a second, with pauses of at least half of their mean.
    assert!((120..=480).contains(&of_the_next.len()), "{}", of_the_next.len());
    assert!(of_the_next.iter().all(|consistent| *consistent));

    let (second, behind) = shop.another_process();
    let behind = behind.acquire("printer").fair();
    let behind = behind.enter().await.unwrap();
    travel(secs(60)).await;
    let of_the_second = reads(&second);
    assert!((60..=240).contains(&of_the_second.len()), "{}", of_the_second.len());
    assert!(of_the_second.iter().all(|consistent| !consistent));
    assert_eq!((shop.counts(["UpdateItem"]), second.counts(["UpdateItem"])), ([1], [1]));
    drop((held, next, behind));
}

#[tokio::test(start_paused = true)]
async fn a_queue_of_its_own_for_each_namespace() {
    let (_, locks, others) = Shop::with_locks().await;
    let none = locks.acquire("office 4").fair().await.unwrap();
    let scanner = locks.clone().namespace("scanner").acquire("office 4").fair().await.unwrap();
    let others = others.namespace("scanner");
    let queued = others.acquire("office 4").fair().enter().await.unwrap();
    assert_eq!((scanner.name(), scanner.namespace(), none.namespace()), ("office 4", Some("scanner"), None));
    let waiters = others.queue("office 4").await.unwrap();
    assert_eq!(waiters.iter().map(|waiter| waiter.position).collect::<Vec<_>>(), [0, 1]);
    assert_eq!((&*waiters[0].owner, locks.queue("office 4").await.unwrap().len()), (scanner.owner(), 1));
    scanner.release().await.unwrap();
    let next = queued.await.unwrap();
    assert_eq!((next.name(), next.namespace()), ("office 4", Some("scanner")));
    expect_error!(locks.namespace("").acquire("office 4").fair().await, Error::InvalidKey { .. });
}

#[tokio::test(start_paused = true)]
async fn operators_see_break_and_retire_queues_and_holds_are_resumed() {
    let (_, locks, others) = Shop::with_locks().await;
    let held = locks.acquire("printer").fair().owner("host-1").await.unwrap();
    let queued = locks.acquire("printer").fair().owner("host-2").enter().await.unwrap();
    let info = others.inspect("printer").await.unwrap().unwrap();
    assert_eq!((info.owner.as_deref(), info.waiting, info.fence), (Some(held.owner()), 1, held.fence()));
    assert!(info.remaining <= TTL && info.remaining > secs(9), "{info:?}");
    assert_eq!(others.list().next().await.unwrap().unwrap().waiting, 1);
    assert_eq!(others.queue("printer").await.unwrap()[1].owner, "host-2");
    assert!(!others.break_lock("printer", held.fence() - 1).await.unwrap());
    assert!(others.break_lock("printer", held.fence()).await.unwrap());
    let next = queued.await.unwrap();
    assert_eq!((next.fence(), next.acquired_after_crash()), (held.fence() + 1, None), "it has taken nobody out");
    assert!(matches!(held.lost().await, dynalock::error::Lost::Stolen { .. }));

    let fence = next.fence();
    let text = next.detach().to_string();
    travel(secs(5)).await;
    let resumed = others.resume(text.parse().unwrap()).await.unwrap();
    assert_eq!((resumed.fence(), resumed.name()), (fence, "printer"));
    travel(secs(61)).await;
    assert!(!others.retire("printer").await.unwrap(), "it is held");
    resumed.release().await.unwrap();
    assert!(others.retire("printer").await.unwrap());
    let after = locks.acquire("printer").fair().await.unwrap();
    assert!(after.fence() > fence, "{after:?}");
}

#[tokio::test(start_paused = true)]
async fn a_fair_call_with_a_wait_of_zero_tries_once_and_leaves_no_entry() {
    let (shop, locks, others) = Shop::with_locks().await;
    let held = others.acquire("printer").fair().await.unwrap();
    for wait in [Wait::No, Wait::For(secs(0))] {
        let before = shop.requests();
        expect_error!(locks.acquire("printer").fair().wait(wait).await, Error::Locked(_));
        assert_eq!((shop.requests() - before, others.queue("printer").await.unwrap().len()), (1, 1), "{wait:?}");
    }
    held.release().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn an_operator_sees_how_long_each_caller_has_been_in_the_queue() {
    let (_, locks, others) = Shop::with_locks().await;
    let held = locks.acquire("printer").owner("ann").fair().await.unwrap();
    travel(secs(2)).await;
    let ticket = others.acquire("printer").owner("bob").fair().wait(Wait::Forever).enter().await.unwrap();
    travel(secs(3)).await;
    let info = others.inspect("printer").await.unwrap().unwrap();
    let seen: Vec<_> =
        info.queue.iter().map(|place| (place.owner.as_str(), place.since_entry.unwrap().as_secs())).collect();
    assert_eq!(seen, [("ann", 5), ("bob", 3)]);
    assert_eq!(others.queue("printer").await.unwrap(), info.queue);
    drop(ticket);
    held.release().await.unwrap();
}
