//! A client whose connection is cut while it enters the queue.

use std::time::Duration;

use dynalock::{Error, LockGuard, Locks, local::Fault};
use tokio::task::JoinSet;

use crate::support::{SKEW, Shop, expect_error, millis, now, secs, travel};

const TTL: Duration = secs(20);

/// The way in which the connection is cut. The first enqueue is applied in each case.
const CUTS: [Fault; 4] = [Fault::LoseRequest, Fault::LoseReply, Fault::NeverAnswer, Fault::NeverAnswerAfterApply];

async fn queues() -> (Shop, Locks, Locks) {
    let (shop, mine, others) = Shop::with_locks().await;
    (shop, mine.ttl(TTL), others.ttl(TTL))
}

/// Cuts the connection for this time, starting when the first enqueue was applied.
async fn cut(shop: &Shop, fault: Fault, time: Duration) {
    shop.faults.always(fault);
    travel(time).await;
    shop.faults.clear();
}

async fn release<G>(held: Result<G, Error>, release: impl AsyncFnOnce(G) -> Result<(), Error>) {
    if let Ok(held) = held {
        release(held).await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn a_client_that_was_cut_off_while_it_entered_leaves_no_place_when_it_is_back() {
    for fault in CUTS {
        for time in [4, 6, 8, 12, 18, 30] {
            let (shop, locks, others) = queues().await;
            shop.faults.script_on("UpdateItem", 0, Fault::LoseReply);
            let one =
                tokio::spawn(async move { release(locks.acquire("printer").fair().await, LockGuard::release).await });
            cut(&shop, fault.clone(), secs(time)).await;
            // The time covers a request that is running at that moment, and the pause before the
            // next one.
            travel(secs(3)).await;
            one.await.unwrap();
            assert_eq!(others.queue("printer").await.unwrap(), [], "{fault:?}, {time} s");
            let started = now();
            others.acquire("printer").fair().await.unwrap().release().await.unwrap();
            assert_eq!(started.elapsed(), Duration::ZERO, "{fault:?}, {time} s");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_client_that_was_cut_off_while_it_entered_several_queues_leaves_no_place_when_it_is_back() {
    for time in [6, 12, 18] {
        let (shop, locks, others) = queues().await;
        shop.faults.script_on("TransactWriteItems", 0, Fault::LoseReply);
        let all = locks.acquire_all(["a", "b"]).fair().into_future();
        let all = tokio::spawn(async move {
            release(all.await, async |all: dynalock::lock::LockSetGuard| all.release().await).await;
        });
        cut(&shop, Fault::NeverAnswer, secs(time)).await;
        travel(secs(5)).await;
        all.await.unwrap();
        for name in ["a", "b"] {
            assert_eq!(others.queue(name).await.unwrap(), [], "{name}, {time} s");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_client_that_was_cut_off_while_it_waited_leaves_no_place_when_it_is_back() {
    for is_dropped in [false, true] {
        let (shop, locks, others) = queues().await;
        let first = others.acquire("printer").fair().await.unwrap();
        let waiting = tokio::spawn(locks.acquire("printer").fair().wait(secs(60)).into_future());
        travel(secs(1)).await;
        shop.faults.always(Fault::NeverAnswer);
        if is_dropped {
            waiting.abort();
        } else {
            expect_error!(waiting.await.unwrap(), Error::Exhausted { .. });
        }
        travel(secs(45)).await;
        assert_eq!(others.queue("printer").await.unwrap().len(), 2);
        shop.faults.clear();
        travel(secs(3)).await;
        assert_eq!(others.queue("printer").await.unwrap().len(), 1, "{is_dropped}");
        first.release().await.unwrap();
    }
}

/// Asks for a lock until the lock is granted. Returns the number of failed calls and the guard.
async fn ask_until_held<G, F: Future<Output = dynalock::Result<G>>>(ask: impl Fn() -> F) -> (u32, G) {
    let mut failed = 0;
    loop {
        match ask().await {
            Ok(held) => return (failed, held),
            Err(error) => assert!(matches!(error, Error::Exhausted { .. }), "{error:?}"),
        }
        failed += 1;
        travel(millis(200)).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_client_that_keeps_asking_while_it_is_cut_off_stands_in_the_queue_once() {
    for fault in [Fault::LoseReply, Fault::NeverAnswerAfterApply] {
        let (shop, locks, others) = queues().await;
        let first = others.acquire("printer").fair().await.unwrap();
        let asking = tokio::spawn(ask_until_held(move || locks.acquire("printer").fair().into_future()));
        cut(&shop, fault.clone(), secs(300)).await;
        assert_eq!(others.queue("printer").await.unwrap().len(), 2, "{fault:?}");
        travel(secs(10)).await;
        first.release().await.unwrap();
        let (failed, held) = asking.await.unwrap();
        assert!(failed > 30, "{fault:?}: {failed}");
        assert_eq!(others.queue("printer").await.unwrap()[0].owner, held.owner());
        held.release().await.unwrap();
        assert_eq!(others.queue("printer").await.unwrap(), [], "{fault:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_client_that_keeps_asking_after_a_cut_while_it_waited_stands_in_the_queue_once() {
    for fault in [Fault::LoseReply, Fault::NeverAnswerAfterApply] {
        let (shop, locks, others) = queues().await;
        let first = others.acquire("printer").fair().await.unwrap();
        let asking = tokio::spawn(ask_until_held(move || locks.acquire("printer").fair().into_future()));
        travel(secs(1)).await;
        cut(&shop, fault.clone(), secs(300)).await;
        assert_eq!(others.queue("printer").await.unwrap().len(), 2, "{fault:?}");
        travel(secs(10)).await;
        first.release().await.unwrap();
        let (failed, held) = asking.await.unwrap();
        assert!(failed > 30, "{fault:?}: {failed}");
        held.release().await.unwrap();
        assert_eq!(others.queue("printer").await.unwrap(), [], "{fault:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_client_that_keeps_asking_for_several_locks_while_it_is_cut_off_stands_in_each_queue_once() {
    const NAMES: [&str; 2] = ["a", "b"];
    for fault in [Fault::LoseReply, Fault::NeverAnswerAfterApply] {
        let (shop, locks, others) = queues().await;
        let first = others.acquire_all(NAMES).fair().await.unwrap();
        let asking = tokio::spawn(ask_until_held(move || locks.acquire_all(NAMES).fair().into_future()));
        cut(&shop, fault.clone(), secs(300)).await;
        for name in NAMES {
            assert_eq!(others.queue(name).await.unwrap().len(), 2, "{fault:?}, {name}");
        }
        travel(secs(10)).await;
        first.release().await.unwrap();
        let (failed, held) = asking.await.unwrap();
        assert!(failed > 30, "{fault:?}: {failed}");
        held.release().await.unwrap();
        for name in NAMES {
            assert_eq!(others.queue(name).await.unwrap(), [], "{fault:?}, {name}");
        }
    }
}

/// The removal of the entries finds no entry, because the request that enters the queues arrives
/// only after the removal. No caller sends heartbeats for the entries, so other callers evict them.
#[tokio::test(start_paused = true)]
async fn entries_that_arrive_after_their_caller_has_left_cost_one_ttl() {
    for (operation, names) in [("UpdateItem", &["a"][..]), ("TransactWriteItems", &["a", "b"])] {
        let (shop, locks, others) = queues().await;
        let started = now();
        for nth in 0..100 {
            shop.faults.script_on(operation, nth, Fault::DeliverLate(secs(60)));
        }
        expect_error!(locks.acquire_all(names.iter().copied()).fair().await, Error::Exhausted { .. });
        for name in names {
            assert_eq!(others.queue(name).await.unwrap(), [], "{operation}, {name}");
        }
        let first = others.acquire_all(names.iter().copied()).fair().await.unwrap();
        travel(secs(80).saturating_sub(started.elapsed())).await;
        for name in names {
            assert_eq!(others.queue(name).await.unwrap().len(), 2, "{operation}, {name}: the request has arrived");
        }
        first.release().await.unwrap();
        let started = now();
        let next = others.acquire_all(names.iter().copied()).fair().wait(secs(60)).await.unwrap();
        let waited = started.elapsed();
        assert!(TTL <= waited && waited <= TTL + SKEW + secs(1), "{operation}: {waited:?}");
        next.release().await.unwrap();
        for name in names {
            assert_eq!(others.queue(name).await.unwrap(), [], "{operation}, {name}");
        }
    }
}

/// Runs clients that all acquire the lock again and again. The connection of half of the clients is
/// cut for this time. Returns the longest wait of the other clients, and how often the queue was
/// full.
async fn busy_over_a_cut(fault: Fault, time: Duration) -> (Duration, u32) {
    let (shop, ..) = queues().await;
    let mut tasks = JoinSet::new();
    let started = now();
    for client in 0..8_u64 {
        let (line, locks) = shop.another_process();
        let is_cut = client % 2 == 0;
        if is_cut {
            let fault = fault.clone();
            tokio::spawn(async move { cut(&line, fault, time).await });
        }
        tasks.spawn(async move {
            travel(millis(client * 13)).await;
            let (mut longest, mut full) = (Duration::ZERO, 0);
            while started.elapsed() < secs(600) {
                let asked = now();
                match locks.acquire("printer").fair().await {
                    Ok(held) => {
                        longest = longest.max(asked.elapsed());
                        travel(millis(100)).await;
                        held.release().await.unwrap();
                    }
                    Err(Error::QueueFull { .. }) => {
                        full += 1;
                        travel(secs(1)).await;
                    }
                    Err(_) => travel(millis(200)).await,
                }
            }
            (if is_cut { Duration::ZERO } else { longest }, full)
        });
    }
    let each = tasks.join_all().await;
    let longest = each.iter().map(|(longest, _)| *longest).max().unwrap();
    (longest, each.iter().map(|(_, full)| full).sum())
}

#[tokio::test(start_paused = true)]
async fn clients_that_keep_asking_while_they_are_cut_off_do_not_fill_the_queue() {
    for fault in [Fault::LoseReply, Fault::NeverAnswerAfterApply] {
        let (longest, full) = busy_over_a_cut(fault.clone(), secs(30)).await;
        assert_eq!(full, 0, "{fault:?}");
        // The limit is the time until the clients are back, and the maximum cost of each of four
        // clients until then.
        assert!(longest < secs(40), "{fault:?}: {longest:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_place_that_is_given_up_over_a_line_that_stays_cut_is_given_up_for_ten_minutes_with_a_pause() {
    let (shop, locks, _) = queues().await;
    shop.faults.script_on("UpdateItem", 0, Fault::LoseReply);
    shop.faults.always(Fault::LoseRequest);
    expect_error!(locks.acquire("printer").fair().await, Error::Exhausted { .. });
    travel(secs(700)).await;
    let requests = shop.requests();
    // A client sends one to two requests in a second.
    assert!((600..1_300).contains(&requests), "{requests}");
    travel(secs(700)).await;
    assert_eq!(shop.requests(), requests);
}
