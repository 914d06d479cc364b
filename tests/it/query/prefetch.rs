//! The request for the next page is sent while the caller handles the current page.

use dynalock::{Error, Repository};
use serde_json::Value;

use super::page;
use crate::support::{
    Order,
    answers::{Answers, refusal},
    expect_error, millis, now, secs, settle, travel,
};

/// Answers ten pages of three orders each.
fn ten_pages() -> Answers {
    Answers::new(|number, _| {
        let number = u64::try_from(number).unwrap();
        page(3 * number..3 * number + 3, number < 9)
    })
}

#[tokio::test(start_paused = true)]
async fn one_page_is_asked_for_ahead_of_the_caller_and_no_more() {
    let answers = ten_pages();
    let orders = Repository::<Order>::new(&answers.client());
    let mut stream = orders.query("alice").stream();
    let mut asked = Vec::new();
    for number in 0..9 {
        assert_eq!(stream.next().await.unwrap().unwrap().number, number);
        settle().await;
        asked.push(answers.asked().len());
    }
    assert_eq!(asked, [2, 2, 2, 3, 3, 3, 4, 4, 4]);
    drop(stream);
    settle().await;
    assert_eq!(answers.asked().len(), 4);
}

#[tokio::test(start_paused = true)]
async fn a_page_arrives_while_the_caller_works() {
    let answers = ten_pages().after(millis(300));
    let orders = Repository::<Order>::new(&answers.client());
    let mut stream = orders.query("alice").stream();
    let start = now();
    let mut count = 0;
    while let Some(order) = stream.next().await {
        assert_eq!(order.unwrap().number, count);
        count += 1;
        travel(millis(100)).await;
    }
    assert_eq!(count, 30);
    // The time of the first page and of the work. The other pages arrive during the work.
    assert!(start.elapsed() < millis(300 + 30 * 100 + 100), "{:?}", start.elapsed());
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_was_not_polled_sends_nothing() {
    let answers = ten_pages();
    let orders = Repository::<Order>::new(&answers.client());
    drop(orders.query("alice").stream());
    let stream = orders.scan().segments(4).stream();
    settle().await;
    drop(stream);
    assert!(answers.asked().is_empty());
}

#[tokio::test(start_paused = true)]
async fn what_a_limit_does_not_need_is_not_asked_for() {
    let answers = ten_pages();
    let orders = Repository::<Order>::new(&answers.client());
    assert_eq!(orders.query("alice").first().await.unwrap().unwrap().number, 0);
    assert_eq!(answers.asked().len(), 1);
    let mut three = orders.query("alice").limit(3).stream();
    // The answers continue after the previous request.
    while let Some(order) = three.next().await {
        order.unwrap();
    }
    assert_eq!(answers.asked().len(), 2);
    assert!(three.next().await.is_none());
}

#[tokio::test(start_paused = true)]
async fn a_page_that_failed_ahead_of_the_caller_is_asked_for_again() {
    let answers = Answers::new(|number, _| match number {
        0 => page([1, 2], true),
        1 => refusal("AccessDeniedException", "not now"),
        _ => page([3], false),
    });
    let orders = Repository::<Order>::new(&answers.client());
    let all = orders.query("alice").collect().await.unwrap();
    assert_eq!(all.iter().map(|order| order.number).collect::<Vec<_>>(), [1, 2, 3]);
    let starts: Vec<_> =
        answers.asked().iter().map(|query| query["ExclusiveStartKey"]["number"]["N"].clone()).collect();
    assert_eq!(starts[1..], ["2", "2"]);
}

#[tokio::test(start_paused = true)]
async fn a_caller_that_is_slow_costs_a_page_nothing_of_its_deadline() {
    let answers = Answers::new(|number, _| match number {
        0 => page([1, 2], true),
        1 | 2 => refusal("ThrottlingException", "slow down"),
        _ => page([3], false),
    });
    let orders = Repository::<Order>::new(&answers.client()).deadline(secs(1));
    let mut stream = orders.query("alice").stream();
    for number in 1..=3 {
        assert_eq!(stream.next().await.unwrap().unwrap().number, number);
        travel(secs(60)).await;
    }
    assert!(stream.next().await.is_none());
}

#[tokio::test(start_paused = true)]
async fn a_page_whose_deadline_passed_while_the_caller_was_busy_is_asked_for_again() {
    let answers = Answers::new(|number, _| match number {
        0 => page([1, 2], true),
        1 => Value::Null,
        _ => page([3], false),
    });
    let orders = Repository::<Order>::new(&answers.client()).deadline(secs(1));
    let mut stream = orders.query("alice").stream();
    for number in 1..=3 {
        assert_eq!(stream.next().await.unwrap().unwrap().number, number);
        travel(secs(60)).await;
    }
    assert!(stream.next().await.is_none());
    assert_eq!(answers.asked().len(), 3);
}

/// A spawned future must be `Send`.
#[tokio::test(start_paused = true)]
async fn streams_and_calls_can_be_spawned() {
    let answers = ten_pages();
    let orders = Repository::<Order>::new(&answers.client());
    let mut stream = orders.query("alice").stream();
    let spawned = tokio::spawn(async move { stream.next().await.unwrap().unwrap().number });
    assert_eq!(spawned.await.unwrap(), 0);
    let spawned = tokio::spawn(orders.query("alice").limit(2).page(None));
    assert_eq!(spawned.await.unwrap().unwrap().items.len(), 2);
    assert_eq!(tokio::spawn(orders.query("alice").limit(2).collect()).await.unwrap().unwrap().len(), 2);
    assert_eq!(tokio::spawn(orders.scan().limit(2).count()).await.unwrap().unwrap(), 2);
}

#[tokio::test(start_paused = true)]
async fn segments_are_read_at_once() {
    let answers = Answers::new(|_, scan| {
        let first = scan["Segment"].as_u64().unwrap() * 10;
        match scan.get("ExclusiveStartKey") {
            None => page([first, first + 1], true),
            Some(_) => page([first + 2], false),
        }
    })
    .after(millis(500));
    let orders = Repository::<Order>::new(&answers.client());
    let start = now();
    let all = orders.scan().segments(4).collect().await.unwrap();
    let mut numbers: Vec<_> = all.iter().map(|order| order.number).collect();
    numbers.sort_unstable();
    assert_eq!(numbers, [0, 1, 2, 10, 11, 12, 20, 21, 22, 30, 31, 32]);
    assert!(start.elapsed() <= millis(1_100), "{:?}", start.elapsed());
    assert_eq!(orders.scan().segments(4).attempts(1).count().await.unwrap(), 12);
}

#[tokio::test(start_paused = true)]
async fn a_segment_whose_deadline_passed_while_the_caller_was_busy_is_asked_for_again() {
    let answers = Answers::new(|number, scan| match (number, scan["Segment"].as_u64()) {
        (0, _) => Value::Null,
        (_, Some(1)) => page([10, 11], false),
        _ => page([0], false),
    });
    let orders = Repository::<Order>::new(&answers.client()).deadline(secs(1));
    let mut stream = orders.scan().segments(2).stream();
    for number in [10, 11, 0] {
        assert_eq!(stream.next().await.unwrap().unwrap().number, number);
        travel(secs(60)).await;
    }
    assert!(stream.next().await.is_none());
    assert_eq!(answers.asked().len(), 3);
}

#[tokio::test(start_paused = true)]
async fn a_segment_that_fails_ends_the_stream() {
    let answers = Answers::new(|_, scan| match scan["Segment"].as_u64() {
        Some(2) => refusal("AccessDeniedException", "no"),
        _ => page([1], false),
    });
    let orders = Repository::<Order>::new(&answers.client());
    expect_error!(orders.scan().segments(3).collect().await, Error::Rejected(_));
}
