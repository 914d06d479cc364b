//! Services that do not answer, or that refuse requests.

use std::time::Duration;

use aws_sdk_dynamodb::{
    Client, Config,
    config::{BehaviorVersion, Region, timeout::TimeoutConfig},
};
use dynalock::{
    Error, Repository,
    error::{Misconfigured, Spent, Unavailable},
    local::{Database, Fault},
};

use crate::support::{Product, Shop, changed, expect_error, millis, n, secs};

#[expect(clippy::disallowed_methods, reason = "the clock is paused")]
async fn timed<F: IntoFuture>(call: F) -> (F::Output, Duration) {
    let start = tokio::time::Instant::now();
    let output = call.await;
    (output, start.elapsed())
}

fn ends_at(deadline: Duration, attempt_timeout: Duration, took: Duration) {
    assert!(
        (deadline.saturating_sub(attempt_timeout)..=deadline + millis(2)).contains(&took),
        "{took:?} of {deadline:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_read_from_a_server_that_never_answers_ends_at_the_deadline() {
    let (shop, table) = Shop::with_items([Product::new("a", 5)]).await;
    shop.faults.always(Fault::NeverAnswer);
    for (deadline, attempt_timeout) in [(secs(5), secs(1)), (secs(2), millis(300)), (millis(500), secs(1))] {
        let items = table.items.clone().attempt_timeout(attempt_timeout);
        let before = shop.requests();
        let (result, took) = timed(items.get("a").deadline(deadline)).await;
        let (spent, last) = expect_error!(result, Error::Exhausted { spent, last, .. } => (spent, last));
        ends_at(deadline, attempt_timeout.min(deadline), took);
        assert_eq!(spent.elapsed, took);
        assert_eq!(usize::try_from(spent.attempts).unwrap(), shop.requests() - before);
        expect_error!(Err::<(), _>(*last), Error::Unavailable(Unavailable::Timeout));
    }
}

#[tokio::test(start_paused = true)]
async fn the_deadline_is_five_seconds_and_the_first_timeout_one_by_default() {
    let (shop, table) = Shop::with_items([Product::new("a", 5)]).await;
    shop.faults.always(Fault::NeverAnswer);
    let (result, took) = timed(table.items.get("a")).await;
    expect_error!(result, Error::Exhausted { .. });
    ends_at(secs(5), secs(1), took);
    let (result, took) = timed(table.items.get("a").attempts(1)).await;
    expect_error!(result, Error::Exhausted { spent: Spent { attempts: 1, .. }, .. });
    ends_at(secs(1), Duration::ZERO, took);
}

#[tokio::test(start_paused = true)]
async fn a_write_to_a_server_that_never_answers_is_indeterminate_at_the_deadline() {
    for fault in [Fault::NeverAnswer, Fault::NeverAnswerAfterApply] {
        let (shop, table) = Shop::with_items([Product::new("a", 5)]).await;
        let product = table.items.get("a").await.unwrap().unwrap();
        let changed = changed(product.clone(), |it| it.stock = 6);
        shop.faults.always(fault);
        let create = timed(table.items.create(Product::new("b", 5)).deadline(secs(3))).await;
        let update = timed(table.items.update(changed).deadline(secs(3))).await;
        let replace = timed(table.items.replace(product.clone()).deadline(secs(3))).await;
        let touch = timed(table.items.touch(product.clone()).deadline(secs(3))).await;
        let once = timed(table.items.create(Product::new("c", 5)).exactly_once().deadline(secs(3))).await;
        let delete = timed(table.items.delete(product).deadline(secs(3))).await;
        let delete = (delete.0.map(drop), delete.1);
        let unchecked = timed(table.items.delete_unchecked("a").deadline(secs(3))).await;
        let writes = [create, update, replace, touch, once].map(|(result, took)| (result.map(drop), took));
        for (result, took) in writes.into_iter().chain([delete, unchecked]) {
            let (spent, last) = expect_error!(result, Error::Indeterminate { spent, last, .. } => (spent, last));
            ends_at(secs(3), secs(1), took);
            assert!(spent.attempts >= 2 && spent.elapsed == took, "{spent:?} {took:?}");
            expect_error!(Err::<(), _>(*last.unwrap()), Error::Unavailable(Unavailable::Timeout));
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_read_modify_write_that_never_gets_its_read_is_exhausted() {
    let (shop, table) = Shop::with_items([Product::new("a", 5)]).await;
    shop.faults.always(Fault::NeverAnswer);
    let (result, took) = timed(table.items.update_with("a", |product| product.stock = 6)).await;
    expect_error!(result, Error::Exhausted { .. });
    ends_at(secs(5), secs(1), took);
    assert_eq!(shop.counts(["UpdateItem"]), [0]);
}

#[tokio::test(start_paused = true)]
async fn an_empty_answer_to_a_read_is_not_an_item_that_is_not_there() {
    let (shop, table) = Shop::with_items([Product::new("a", 5)]).await;
    shop.faults.script_on("GetItem", 0, Fault::EmptyAfterApply);
    shop.faults.script_on("GetItem", 1, Fault::EmptyAfterApply);
    assert_eq!(table.items.get("a").await.unwrap().unwrap().stock, 5);
    assert_eq!(shop.counts(["GetItem"]), [3]);
    shop.faults.always(Fault::EmptyAfterApply);
    let last = expect_error!(table.items.get("a").await, Error::Exhausted { last, .. } => last);
    assert_eq!(last.to_string(), "no usable answer: the answer could not be read: it has no content");
}

#[tokio::test(start_paused = true)]
async fn an_empty_answer_to_a_write_that_was_refused_is_not_its_success() {
    let (shop, table) = Shop::with_items([Product::new("a", 5)]).await;
    let mut stale = table.items.get("a").await.unwrap().unwrap();
    table.others.update_with("a", |product| product.stock = 9).await.unwrap();
    stale.stock = 6;
    shop.faults.script_on("UpdateItem", 0, Fault::EmptyAfterApply);
    let conflict = expect_error!(table.items.update(stale).await, Error::Conflict(conflict) => conflict);
    assert_eq!(conflict.current::<Product>().unwrap().unwrap().stock, 9);
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_takes_longer_than_an_attempt_may_is_asked_for_again() {
    let (shop, table) = Shop::with_items([Product::new("a", 5)]).await;
    for (fault, requests) in [(Fault::Delay(millis(900)), 1), (Fault::Delay(millis(1100)), 2)] {
        let [before] = shop.counts(["UpdateItem"]);
        shop.faults.script_on("UpdateItem", 0, fault);
        let stock = table.others.get("a").await.unwrap().unwrap().stock;
        let product = table.items.update_with("a", |product| product.stock += 1).await.unwrap();
        assert_eq!(product.stock, stock + 1);
        let [after] = shop.counts(["UpdateItem"]);
        assert_eq!(after - before, requests);
    }
    assert_eq!(table.raw.get("a").await.unwrap()["stock"], n(7));
}

#[tokio::test(start_paused = true)]
async fn refusals_do_not_lengthen_the_timeout_of_the_next_attempt() {
    for refusal in [Fault::Throttle, Fault::TransactionConflict] {
        let (shop, table) = Shop::with_table::<Product>().await;
        let stored = table.others.create(Product::new("a", 1)).await.unwrap();
        for nth in 0..3 {
            shop.faults.script_on("UpdateItem", nth, refusal.clone());
        }
        shop.faults.script_on("UpdateItem", 3, Fault::NeverAnswer);
        let (touched, took) = timed(table.items.touch(stored).attempt_timeout(millis(500))).await;
        touched.unwrap();
        // The call waits for three pauses, one timeout, and another pause.
        assert!(took < millis(500) + secs(1), "{took:?} after {refusal:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn throttling_is_ridden_out() {
    for fault in [Fault::Throttle, Fault::ProvisionedThroughputExceeded, Fault::error("RequestLimitExceeded")] {
        let (shop, table) = Shop::with_items([Product::new("a", 5)]).await;
        for nth in 0..3 {
            shop.faults.script_on("GetItem", nth, fault.clone());
            shop.faults.script_on("UpdateItem", nth, fault.clone());
        }
        let product = table.items.update_with("a", |product| product.stock += 1).await.unwrap();
        assert_eq!((product.stock, product.version()), (6, 2));
        assert_eq!(shop.counts(["GetItem", "UpdateItem"]), [4, 4]);
    }
}

#[tokio::test(start_paused = true)]
async fn throttling_until_the_deadline_is_exhausted() {
    for fault in [Fault::Throttle, Fault::ProvisionedThroughputExceeded] {
        let (shop, table) = Shop::with_items([Product::new("a", 5)]).await;
        let product = table.items.get("a").await.unwrap().unwrap();
        shop.faults.always(fault);
        let (create, took) = timed(table.items.create(Product::new("b", 5))).await;
        ends_at(secs(5), secs(1), took);
        let delete = table.items.delete(product).await.map(drop);
        let get = table.items.get("a").await.map(drop);
        for result in [create.map(drop), delete, get] {
            let last = expect_error!(result, Error::Exhausted { last, .. } => last);
            expect_error!(Err::<(), _>(*last), Error::Throttled(_));
        }
        assert_eq!(table.raw.get("b").await, None);
    }
}

#[tokio::test(start_paused = true)]
async fn a_transaction_on_the_same_item_is_waited_for() {
    let (shop, table) = Shop::with_items([Product::new("a", 5)]).await;
    for nth in 0..3 {
        shop.faults.script_on("UpdateItem", nth, Fault::TransactionConflict);
        shop.faults.script_on("PutItem", nth, Fault::TransactionConflict);
        shop.faults.script_on("DeleteItem", nth, Fault::TransactionConflict);
    }
    table.items.create(Product::new("b", 5)).await.unwrap();
    let product = table.items.update_with("a", |product| product.stock += 1).await.unwrap();
    assert_eq!((product.stock, product.version()), (6, 2));
    assert!(table.items.delete(product).await.unwrap().certain, "it was never in doubt");
    assert_eq!(shop.counts(["PutItem", "GetItem", "UpdateItem", "DeleteItem"]), [4, 1, 4, 4]);
}

#[tokio::test(start_paused = true)]
async fn a_transaction_that_does_not_end_is_a_typed_error() {
    let (shop, table) = Shop::with_items([Product::new("a", 5)]).await;
    let product = changed(table.items.get("a").await.unwrap().unwrap(), |it| it.stock = 6);
    shop.faults.always(Fault::TransactionConflict);
    let (result, took) = timed(table.items.update(product)).await;
    let last = expect_error!(result, Error::Exhausted { last, .. } => last);
    let refusal = expect_error!(Err::<(), _>(*last), Error::Contention(refusal) => refusal);
    assert_eq!(refusal.code(), "TransactionConflictException");
    ends_at(secs(5), secs(1), took);
    assert_eq!(table.raw.get("a").await.unwrap()["stock"], n(5));
}

#[tokio::test(start_paused = true)]
async fn a_write_in_doubt_that_is_throttled_or_refused_until_the_end_is_indeterminate() {
    for doubt in [Fault::LoseReply, Fault::LoseRequest, Fault::ServerError, Fault::NeverAnswer] {
        for then in [Fault::Throttle, Fault::TransactionConflict, Fault::Refused, Fault::AccessDenied] {
            let (shop, table) = Shop::with_items([Product::new("a", 5)]).await;
            let product = changed(table.items.get("a").await.unwrap().unwrap(), |it| it.stock = 6);
            shop.faults.always(then.clone());
            shop.faults.script(0, doubt.clone());
            let (attempts, last) = expect_error!(
                table.items.update(product).await,
                Error::Indeterminate { expected: Some(1), found: None, spent, last, .. } => {
                    (spent.attempts, last.unwrap())
                }
            );
            assert!(attempts >= 2, "{doubt:?}, {then:?}");
            match then {
                Fault::Throttle => expect_error!(Err::<(), _>(*last), Error::Throttled(_)),
                Fault::TransactionConflict => expect_error!(Err::<(), _>(*last), Error::Contention(_)),
                Fault::Refused => expect_error!(Err::<(), _>(*last), Error::Unavailable(Unavailable::Refused)),
                _ => expect_error!(Err::<(), _>(*last), Error::Rejected(_)),
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_refused_for_good_is_sent_once() {
    for code in
        ["AccessDeniedException", "ValidationException", "ItemCollectionSizeLimitExceededException", "NewException"]
    {
        let (shop, table) = Shop::with_items([Product::new("a", 5)]).await;
        let product = table.others.get("a").await.unwrap().unwrap();
        shop.faults.always(Fault::error(code));
        let results = [
            table.items.get("a").await.map(drop),
            table.items.create(Product::new("b", 5)).await.map(drop),
            table.items.replace(product.clone()).await.map(drop),
            table.items.touch(product.clone()).await.map(drop),
            table.items.delete(product.clone()).await.map(drop),
            table.items.delete_unchecked("a").await,
            table.items.update_with("a", |product| product.stock = 6).await.map(drop),
            table.items.touch(product.clone()).exactly_once().await.map(drop),
        ];
        assert_eq!(shop.requests(), results.len());
        for result in results {
            let refusal = expect_error!(result, Error::Rejected(refusal) => refusal);
            assert_eq!(refusal.code(), code);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn an_endpoint_that_refuses_connections_is_named_in_the_error() {
    let (shop, table) = Shop::with_items([Product::new("a", 5)]).await;
    shop.faults.always(Fault::Refused);
    let error = table.items.create(Product::new("b", 5)).await.unwrap_err();
    assert!(error.to_string().contains("refused"), "{error}");
    let last = expect_error!(Err::<(), _>(error), Error::Exhausted { last, .. } => last);
    expect_error!(Err::<(), _>(*last), Error::Unavailable(Unavailable::Refused));
}

#[tokio::test(start_paused = true)]
async fn attempts_bound_the_retries_of_lost_requests() {
    let (shop, table) = Shop::with_items([Product::new("a", 5)]).await;
    shop.faults.always(Fault::LoseRequest);
    for allowed in 1..=4 {
        let before = shop.requests();
        let result = table.items.get("a").attempts(allowed).await;
        let attempts = expect_error!(result, Error::Exhausted { spent, .. } => spent.attempts);
        assert_eq!(attempts, allowed);
        let result = table.items.create(Product::new("b", 5)).attempts(allowed).await;
        let attempts = expect_error!(result, Error::Indeterminate { spent, .. } => spent.attempts);
        assert_eq!(attempts, allowed);
        assert_eq!(shop.requests() - before, 2 * usize::try_from(allowed).unwrap());
    }
}

#[tokio::test(start_paused = true)]
async fn conflicts_until_the_deadline_are_exhausted_with_the_last_one() {
    let (shop, table) = Shop::with_items([Product::new("a", 5)]).await;
    let others = table.others.clone();
    shop.rival.before_each("UpdateItem", move || {
        let others = others.clone();
        async move {
            others.update_with("a", |product| product.stock += 100).await.unwrap();
        }
    });
    let (result, took) = timed(table.items.update_with("a", |product| product.stock += 1).deadline(millis(200))).await;
    let last = expect_error!(result, Error::Exhausted { last, .. } => last);
    let met = expect_error!(Err::<(), _>(*last), Error::Conflict(met) => met);
    assert_eq!(met.current::<Product>().unwrap(), table.others.get("a").await.unwrap());
    assert!((millis(100)..=millis(200)).contains(&took), "{took:?}");
}

#[tokio::test(start_paused = true)]
async fn a_retry_is_never_without_a_pause_and_pauses_grow() {
    for (fault, least) in
        [(Fault::Throttle, millis(10)), (Fault::TransactionConflict, millis(10)), (Fault::LoseRequest, millis(1))]
    {
        let (shop, table) = Shop::with_items([Product::new("a", 5)]).await;
        let product = table.items.get("a").await.unwrap().unwrap();
        shop.faults.always(fault.clone());
        let mut before = Duration::ZERO;
        for attempts in 2..=6 {
            let (result, took) = timed(table.items.touch(product.clone()).attempts(attempts)).await;
            result.unwrap_err();
            assert!(took >= before + least, "{fault:?}: {attempts} attempts in {took:?}");
            assert!(took <= millis(1000) * attempts, "{fault:?}: {attempts} attempts in {took:?}");
            before = took / 2;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_timeout_of_the_sdk_is_no_answer_either() {
    let (shop, table) = Shop::with_items([Product::new("a", 5)]).await;
    for timeouts in [
        TimeoutConfig::builder().operation_timeout(millis(100)),
        TimeoutConfig::builder().operation_attempt_timeout(millis(100)),
    ] {
        let config = shop.client.config().to_builder().timeout_config(timeouts.build());
        let items = Repository::<Product>::new(&Client::from_conf(config.build())).table(table.name());
        let stock = items.get("a").await.unwrap().unwrap().stock;
        shop.faults.script_on("UpdateItem", 0, Fault::NeverAnswerAfterApply);
        let (result, took) = timed(items.update_with("a", |product| product.stock += 1)).await;
        assert_eq!(result.unwrap().stock, stock + 1);
        assert!((millis(100)..millis(1000)).contains(&took), "{took:?}");
        assert_eq!(table.raw.get("a").await.unwrap()["stock"], n(stock + 1));
    }
}

#[tokio::test(start_paused = true)]
async fn a_request_that_could_not_be_signed_is_not_in_doubt() {
    let without_credentials = Config::builder()
        .behavior_version(BehaviorVersion::v2026_01_12())
        .region(Region::new("us-east-1"))
        .http_client(Database::in_memory().unwrap().connector());
    let items = Repository::<Product>::new(&Client::from_conf(without_credentials.build()));
    expect_error!(items.get("a").await, Error::Misconfigured(Misconfigured::Credentials(_)));
    let create = items.create(Product::new("a", 5)).await;
    expect_error!(create, Error::Misconfigured(Misconfigured::Credentials(_)));
}
