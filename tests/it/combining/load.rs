//! Load on one item, in virtual time. `-- --nocapture` prints the figures.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use dynalock::{Error, Stored, local::Faults};

use super::{ROUND_TRIP, add, far_away, stock};
use crate::support::{Product, Shop, millis, now, secs, start, together, travel};

/// The figures of one load.
#[derive(Debug)]
struct Figures {
    done: usize,
    failed: usize,
    /// The write units of one call. A read is a fifth of a write unit.
    units: f64,
    /// The time that one of a hundred calls exceeds.
    p99: Duration,
}

#[expect(clippy::cast_precision_loss, reason = "the counts are small")]
fn figures(shops: &[&Shop], results: Vec<(Duration, Result<(), Error>)>) -> Figures {
    let (reads, writes) = shops.iter().fold((0, 0), |(reads, writes), shop| {
        let [gets, updates] = shop.counts(["GetItem", "UpdateItem"]);
        (reads + gets, writes + updates)
    });
    let count = results.len();
    let failed = results.iter().filter(|(_, result)| result.is_err()).count();
    let mut times: Vec<_> = results.into_iter().map(|(time, _)| time).collect();
    times.sort_unstable();
    let units = (writes as f64 + reads as f64 / 5.0) / count as f64;
    Figures { done: count - failed, failed, units, p99: times[(count * 99).div_ceil(100) - 1] }
}

/// Returns the time of a call and its result.
async fn timed(call: impl IntoFuture<Output = Result<Stored<Product>, Error>>) -> (Duration, Result<(), Error>) {
    let started = now();
    let result = call.await.map(drop);
    (started.elapsed(), result)
}

#[tokio::test(start_paused = true)]
async fn a_burst_of_32_calls_is_one_read_and_one_write() {
    let (shop, table) = far_away(0).await;
    let products = table.items.combining();
    let calls = (0..32).map(|_| Box::pin(timed(add(&products, 1))));
    let figures = figures(&[&shop], together(calls).await);
    eprintln!("burst of 32: {figures:?}");
    assert_eq!((figures.done, figures.failed), (32, 0));
    assert!(figures.units <= 0.08 && figures.p99 <= millis(20), "{figures:?}");
    assert_eq!(stock(&table).await, 32);
}

/// Lets each request of a process take a round trip of 5 ms, with the scatter of a network: one of
/// a hundred round trips takes four times as long.
fn scatter(process: &Shop, seed: u64) {
    for operation in ["GetItem", "UpdateItem"] {
        let rng = Arc::new(Mutex::new(fastrand::Rng::with_seed(seed)));
        process.rival.before_each(operation, move || {
            let mut rng = rng.lock().unwrap();
            // The sum of twelve uniform numbers is nearly normal, with a deviation of 1.
            let normal = (0..12).map(|_| rng.f64()).sum::<f64>() - 6.0;
            let rare = if rng.f64() < 0.01 { 4.0 } else { 1.0 };
            travel(millis(ROUND_TRIP).mul_f64(rare * (0.25 * normal).exp()))
        });
    }
}

/// Four processes change the same item, each through its own handle. The calls start at random
/// times.
async fn at_rate(rate: u32) -> Figures {
    let shop = Shop::in_process(Faults::none());
    let table = shop.table_of([Product::new("a", 0)]).await;
    let processes: Vec<_> = (0..4).map(|_| shop.another_client()).collect();
    let handles: Vec<_> = (1..)
        .zip(&processes)
        .map(|(seed, process)| {
            scatter(process, seed);
            process.named::<Product>(table.name()).combining()
        })
        .collect();
    let mut rng = fastrand::Rng::with_seed(7);
    let mut tasks = Vec::new();
    for _ in 0..rate * 10 {
        tasks.extend(start([Box::pin(timed(add(&handles[rng.usize(..4)], 1)))]));
        travel((secs(1) / rate).mul_f64(-(1.0 - rng.f64()).ln())).await;
    }
    let mut results = Vec::new();
    for task in tasks {
        results.push(task.await.unwrap());
    }
    let figures = figures(&processes.iter().collect::<Vec<_>>(), results);
    eprintln!("{rate} a second from 4 processes: {figures:?}");
    assert_eq!(stock(&table).await, i64::try_from(figures.done).unwrap());
    figures
}

#[tokio::test(start_paused = true)]
async fn four_processes_share_one_item_at_200_and_300_calls_a_second() {
    for (rate, units, p99) in [(200, 1.5, millis(60)), (300, 1.8, millis(100))] {
        let figures = at_rate(rate).await;
        assert!(figures.failed * 100 <= figures.done, "{figures:?}");
        assert!(figures.units <= units && figures.p99 <= p99, "{figures:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn ten_thousand_calls_on_one_key_are_all_done_in_their_order() {
    let (shop, table) = far_away(0).await;
    let products = table.items.combining();
    let mut last = 0;
    for result in together((0..10_000).map(|_| add(&products, 1))).await {
        let product = result.unwrap();
        assert!(product.version() >= last, "a later call is in a later batch");
        last = product.version();
    }
    assert_eq!((stock(&table).await, last), (10_000, 101));
    assert_eq!(shop.counts(["GetItem", "UpdateItem"]), [1, 100]);
}

#[tokio::test(start_paused = true)]
async fn a_batch_after_a_refused_batch_takes_the_calls_of_four_round_trips() {
    let (shop, table) = far_away(0).await;
    let products = table.items.combining();
    shop.rival.before_through(&table.others, "UpdateItem", 0, async |others| {
        others.update_with("a", |product| product.stock += 1).await.unwrap();
    });
    let refused_once = add(&products, 1).await.unwrap();
    let started = now();
    let late = async {
        travel(millis(3 * ROUND_TRIP)).await;
        add(&products, 1).await
    };
    let (first, second) = tokio::join!(add(&products, 1).into_future(), late);
    // The pause, a read and a write. The pause follows from the smoothed round trip.
    let took = started.elapsed();
    assert!(took > millis(5 * ROUND_TRIP) && took <= millis(6 * ROUND_TRIP), "{took:?}");
    assert_eq!([first, second].map(|call| call.unwrap().version()), [refused_once.version() + 1; 2]);
    // Without another refused write, the next batch does not pause.
    add(&products, 1).await.unwrap();
    let started = now();
    add(&products, 1).await.unwrap();
    assert_eq!(started.elapsed(), millis(2 * ROUND_TRIP));
}
