//! The stream of the results of many writes returns each result as soon as its item is finished.

use futures_core::Stream;

use dynalock::local::Faults;

use super::{Crowd, products};
use crate::support::{Product, Shop, millis, now, settle, travel};

#[tokio::test(start_paused = true)]
async fn results_come_as_the_items_finish() {
    let shop = Shop::in_process(Faults::none());
    let table = shop.table::<Product>().await;
    for (nth, delay) in [300, 100, 200].into_iter().enumerate() {
        shop.rival.before("PutItem", nth, move || travel(millis(delay)));
    }
    let start = now();
    let mut stream = table.items.create_many(products(3)).stream();
    let mut seen = Vec::new();
    while let Some(item) = stream.next().await {
        assert_eq!(item.result.unwrap().stock, i64::try_from(item.index).unwrap());
        seen.push((item.index, start.elapsed().as_millis() / 100));
    }
    assert_eq!(seen, [(1, 1), (2, 2), (0, 3)]);
    assert!(stream.next().await.is_none(), "the end stays the end");
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_was_dropped_sends_nothing_more() {
    let shop = Shop::in_process(Faults::none());
    let table = shop.table::<Product>().await;
    let _slow = Crowd::of(&shop, "PutItem");
    drop(table.items.create_many(products(10)).stream());
    settle().await;
    assert_eq!(shop.requests(), 0, "a stream that was not polled sends nothing");

    let mut stream = table.items.create_many(products(1_000)).concurrency(10).stream();
    for _ in 0..25 {
        stream.next().await.unwrap().result.unwrap();
    }
    drop(stream);
    let written = table.others.scan().count().await.unwrap();
    settle().await;
    assert_eq!(table.others.scan().count().await.unwrap(), written);
    assert!((25..=35).contains(&written), "{written}");
}

#[tokio::test(start_paused = true)]
async fn an_import_that_was_dropped_sends_nothing_more() {
    let shop = Shop::in_process(Faults::none());
    let table = shop.table::<Product>().await;
    let _slow = Crowd::of(&shop, "BatchWriteItem");
    let mut stream = table.items.import_unchecked(products(1_000)).concurrency(2).stream();
    stream.next().await.unwrap().result.unwrap();
    drop(stream);
    settle().await;
    let written = table.others.scan().count().await.unwrap();
    assert!((25..=50).contains(&written), "{written}");
}

#[tokio::test(start_paused = true)]
async fn a_result_is_not_skipped_if_its_future_is_dropped() {
    let shop = Shop::in_process(Faults::none());
    let table = shop.table::<Product>().await;
    let _slow = Crowd::of(&shop, "PutItem");
    let mut stream = table.items.create_many(products(5)).concurrency(2).stream();
    let mut seen = Vec::new();
    loop {
        tokio::select! {
            biased;
            item = stream.next() => match item {
                Some(item) => seen.push(item.index),
                None => break,
            },
            () = travel(millis(30)) => {}
        }
    }
    seen.sort_unstable();
    assert_eq!(seen, [0, 1, 2, 3, 4]);
}

#[tokio::test(start_paused = true)]
async fn the_size_hint_is_the_number_of_items_without_a_result() {
    let shop = Shop::in_process(Faults::none());
    let table = shop.table::<Product>().await;
    let mut stream = table.items.import_unchecked(products(60)).stream();
    for left in (0..60).rev() {
        stream.next().await.unwrap().result.unwrap();
        assert_eq!(stream.size_hint(), (left, Some(left)));
    }
    assert!(stream.next().await.is_none());
}

/// A spawned future must be `Send`.
#[tokio::test(start_paused = true)]
async fn streams_and_calls_can_be_spawned() {
    let shop = Shop::in_process(Faults::none());
    let table = shop.table::<Product>().await;
    let mut stream = table.items.create_many(products(2)).stream();
    let spawned = tokio::spawn(async move { stream.next().await.unwrap().result.unwrap().version() });
    assert_eq!(spawned.await.unwrap(), 1);
    let spawned = tokio::spawn(table.items.import_unchecked(products(3)).into_future());
    assert_eq!(super::all(spawned.await.unwrap()).len(), 3);
}
