//! Pages that are lost, throttled or refused.

use dynalock::{
    Error, Repository,
    error::Unavailable,
    local::{Fault, Faults},
};

use super::page;
use crate::support::{
    Order, Shop, Table,
    answers::{Answers, refusal},
    expect_error, millis, now, secs,
};

async fn orders(shop: &Shop, count: u64) -> Table<Order> {
    let table = shop.table::<Order>().await;
    for number in 1..=count {
        table.others.create(Order::new("alice", number, 1)).await.unwrap();
    }
    table
}

/// Reads all orders in pages of two.
async fn in_twos(table: &Table<Order>) -> Vec<u64> {
    let (mut seen, mut token) = (Vec::new(), None);
    loop {
        let page = table.items.query("alice").limit(2).page(token).await.unwrap();
        seen.extend(page.items.iter().map(|order| order.as_ref().unwrap().number));
        token = page.next;
        if token.is_none() {
            return seen;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_page_whose_request_or_reply_is_lost_is_read_again() {
    let faults = [
        Fault::LoseRequest,
        Fault::LoseReply,
        Fault::ServerError,
        Fault::GarbageAfterApply,
        Fault::TruncatedAfterApply,
        Fault::EmptyAfterApply,
        Fault::NeverAnswer,
        Fault::Refused,
        Fault::Throttle,
        Fault::ProvisionedThroughputExceeded,
    ];
    for fault in faults {
        let shop = Shop::in_process(Faults::none());
        let table = orders(&shop, 5).await;
        shop.faults.script_on("Query", 1, fault.clone());
        shop.faults.script_on("Query", 2, fault.clone());
        assert_eq!(in_twos(&table).await, [1, 2, 3, 4, 5], "{fault:?}");
        assert_eq!(shop.faults.count("Query"), 5, "{fault:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_scan_that_is_throttled_in_the_middle_misses_nothing() {
    for seed in 0..10 {
        let shop = Shop::in_process(Faults::seeded(seed).rate(Fault::Throttle, 0.3).rate(Fault::LoseReply, 0.1));
        let table = orders(&shop, 40).await;
        let mut seen = Vec::new();
        let mut token = None;
        loop {
            let page = table.items.scan().limit(3).deadline(secs(60)).page(token).await.unwrap();
            seen.extend(page.items.iter().map(|order| order.as_ref().unwrap().number));
            token = page.next;
            if token.is_none() {
                break;
            }
        }
        seen.sort_unstable();
        assert!(seen.iter().copied().eq(1..=40), "{seen:?}");
        assert!(shop.faults.count("Scan") > 14, "seed {seed}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_page_that_is_never_answered_ends_at_the_deadline_and_keeps_the_items_before_it() {
    let answers = Answers::new(|number, _| match number {
        0 => page([1, 2], true),
        _ => refusal("ProvisionedThroughputExceededException", "slow down"),
    });
    let orders = Repository::<Order>::new(&answers.client()).deadline(secs(3));
    let mut stream = orders.query("alice").stream();
    for number in [1, 2] {
        assert_eq!(stream.next().await.unwrap().unwrap().number, number);
    }
    let waited = now();
    let last = expect_error!(stream.next().await.unwrap(), Error::Exhausted { last, .. } => last);
    assert!(matches!(*last, Error::Throttled(_)), "{last:?}");
    assert!(waited.elapsed() <= secs(6), "{:?}", waited.elapsed());
    assert!(stream.next().await.is_none(), "the error is the end");
}

#[tokio::test(start_paused = true)]
async fn the_deadline_is_that_of_one_page() {
    let answers = Answers::new(|number, _| page([number as u64], number < 9)).after(secs(3));
    let orders = Repository::<Order>::new(&answers.client()).attempt_timeout(secs(4));
    let start = now();
    assert_eq!(orders.query("alice").collect().await.unwrap().len(), 10);
    assert!(start.elapsed() >= secs(30), "{:?}", start.elapsed());
    let late = orders.query("alice").deadline(secs(2)).collect().await;
    let last = expect_error!(late, Error::Exhausted { last, .. } => last);
    assert!(matches!(*last, Error::Unavailable(Unavailable::Timeout)), "{last:?}");
}

#[tokio::test(start_paused = true)]
async fn one_deadline_covers_all_requests_of_a_page_with_a_token() {
    let answers = Answers::new(|_, _| page([], true)).after(secs(2));
    let orders = Repository::<Order>::new(&answers.client()).attempt_timeout(secs(4));
    let start = now();
    expect_error!(orders.query("alice").limit(5).page(None).await, Error::Exhausted { .. });
    assert!((secs(4)..=secs(6)).contains(&start.elapsed()), "{:?}", start.elapsed());
}

#[tokio::test(start_paused = true)]
async fn a_page_is_asked_for_again_after_the_timeout_of_an_attempt() {
    let shop = Shop::in_process(Faults::none());
    let table = orders(&shop, 4).await;
    for (fault, requests) in [(Fault::Delay(millis(190)), 1), (Fault::Delay(millis(210)), 2)] {
        let before = shop.faults.count("Query");
        shop.faults.script_on("Query", 0, fault);
        let page = table.items.query("alice").limit(2).attempt_timeout(millis(200)).page(None).await.unwrap();
        assert_eq!(page.items.len(), 2);
        assert_eq!(shop.faults.count("Query") - before, requests);
    }
}

#[tokio::test(start_paused = true)]
async fn attempts_limit_the_requests_of_a_page() {
    let answers = Answers::new(|_, _| refusal("ThrottlingException", "slow down"));
    let orders = Repository::<Order>::new(&answers.client());
    for attempts in 1..=3 {
        let before = answers.asked().len();
        expect_error!(orders.query("alice").attempts(attempts).count().await, Error::Exhausted { .. });
        assert_eq!(answers.asked().len(), before + attempts as usize);
    }
    expect_error!(orders.query("alice").attempts(0).first().await, Error::InvalidSetting(_));
}

#[tokio::test(start_paused = true)]
async fn a_filter_that_matches_nothing_over_many_pages_can_be_cancelled_between_them() {
    let answers = Answers::new(|_, _| page([], true));
    let orders = Repository::<Order>::new(&answers.client());
    let nothing = || orders.query("alice").filter(Order::ATTR.cents.gt(5));
    // Each answer is ready at once. The clock moves only if the read lets other tasks run.
    let ten = |answers: &Answers| {
        let (answers, before) = (answers.clone(), answers.asked().len());
        async move {
            while answers.asked().len() < before + 100 {
                tokio::task::yield_now().await;
            }
        }
    };
    for read in 0..3 {
        let endless = async {
            match read {
                0 => nothing().collect().await.map(drop),
                1 => nothing().count().await.map(drop),
                _ => nothing().first().await.map(drop),
            }
        };
        tokio::select! {
            biased;
            ended = endless => panic!("{ended:?}"),
            () = ten(&answers) => {}
        }
        let asked = answers.asked().len();
        crate::support::settle().await;
        assert_eq!(answers.asked().len(), asked, "nothing is sent after the drop");
    }
}

#[tokio::test(start_paused = true)]
async fn empty_pages_in_the_middle_end_nothing() {
    let answers = Answers::new(|number, _| match number {
        0 | 2 | 3 => page([], true),
        1 => page([7], true),
        _ => page([8, 9], false),
    });
    let orders = Repository::<Order>::new(&answers.client());
    let all = orders.query("alice").collect().await.unwrap();
    assert_eq!(all.iter().map(|order| order.number).collect::<Vec<_>>(), [7, 8, 9]);
}

#[tokio::test(start_paused = true)]
async fn a_page_that_finds_nothing_ends_after_ten_requests_with_a_token() {
    let answers = Answers::new(|_, _| page([], true));
    let orders = Repository::<Order>::new(&answers.client());
    let page = orders.query("alice").limit(20).page(None).await.unwrap();
    assert!(page.items.is_empty() && page.next.is_some());
    let limits: Vec<_> = answers.asked().iter().map(|query| query["Limit"].as_u64().unwrap()).collect();
    assert_eq!(limits, [20, 40, 80, 160, 320, 640, 1_280, 2_560, 5_120, 10_240]);
}

#[tokio::test(start_paused = true)]
async fn a_table_with_another_key_is_a_mismatch() {
    let shop = Shop::in_process(Faults::none());
    let table = orders(&shop, 1).await;
    let wrong = shop.named::<crate::support::Product>(table.name());
    expect_error!(wrong.query("a").collect().await, Error::TableMismatch { .. });
    let absent = shop.absent_table::<Order>();
    expect_error!(absent.items.query("alice").collect().await, Error::TableNotFound { .. });
    expect_error!(absent.items.scan().count().await, Error::TableNotFound { .. });
}

#[tokio::test(start_paused = true)]
async fn a_start_key_that_dynamodb_refuses_is_an_error_of_the_token() {
    let answers = Answers::new(|number, _| match number {
        0 => page([1], true),
        _ => refusal(
            "ValidationException",
            "The provided starting key is outside query boundaries based on provided conditions",
        ),
    });
    let orders = Repository::<Order>::new(&answers.client()).deadline(millis(100));
    let token = orders.query("alice").page(None).await.unwrap().next;
    expect_error!(orders.query("alice").page(token).await, Error::PageToken { .. });
}
