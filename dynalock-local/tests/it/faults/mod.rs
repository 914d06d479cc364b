use std::{
    error::Error,
    io::{self, ErrorKind},
    time::Duration,
};

use aws_sdk_dynamodb::{
    Client, Config,
    config::{retry::RetryConfig, timeout::TimeoutConfig},
    error::{ProvideErrorMetadata, SdkError},
    operation::transact_write_items::TransactWriteItemsError,
    types::{AttributeValue, CancellationReason, ReturnValue},
};
use dynalock_local::{Database, Fault, Faults};

use crate::table::{Table, b, code, item, list, n, s, ss};

mod batches;
mod pages;

const SECOND: Duration = Duration::from_secs(1);

/// The result of one attempt, as the caller sees it.
#[derive(Debug, PartialEq)]
enum Seen {
    Success,
    Io(ErrorKind),
    Refusal(u16, String),
    Unreadable,
    Timeout,
}

impl Seen {
    fn of<T, E: ProvideErrorMetadata + Error + 'static>(result: Result<T, SdkError<E>>) -> Self {
        match result {
            Ok(_) => Self::Success,
            Err(SdkError::TimeoutError(_)) => Self::Timeout,
            Err(SdkError::DispatchFailure(failure)) => {
                let error = failure.as_connector_error().unwrap();
                Self::Io(io_error(error).unwrap().kind())
            }
            Err(error) => match (error.raw_response().unwrap().status().as_u16(), error.code()) {
                (200, _) => Self::Unreadable,
                (status, code) => Self::Refusal(status, code.unwrap().to_owned()),
            },
        }
    }
}

fn io_error<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a io::Error> {
    error.downcast_ref().or_else(|| io_error(error.source()?))
}

fn refusal(code: &str) -> Seen {
    Seen::Refusal(400, code.to_owned())
}

/// Creates a table behind faults, and the same table without faults. No attempt is repeated, and
/// each attempt ends after a minute.
async fn behind(faults: &Faults) -> (Table, Table) {
    let database = Database::in_memory().unwrap();
    let direct = Table::create(database.client(), "table").await;

    let timeout = TimeoutConfig::builder().operation_timeout(60 * SECOND).build();
    let config: Config = database
        .client_with(faults)
        .config()
        .to_builder()
        .retry_config(RetryConfig::disabled())
        .timeout_config(timeout)
        .build();

    (direct.with(Client::from_conf(config)), direct)
}

/// Waits until background requests have changed `n` to `expected`.
async fn until(table: &Table, expected: u32) {
    for _ in 0..1000 {
        if table.n("a").await == Some(n(expected)) {
            return;
        }
    }
    panic!("never seen: {expected}");
}

#[tokio::test(start_paused = true)]
async fn each_fault_is_seen_and_applied_as_documented() {
    let internal = || Seen::Refusal(500, "InternalServerError".to_owned());
    let cases = [
        (Fault::LoseRequest, Seen::Io(ErrorKind::ConnectionReset), 0),
        (Fault::Refused, Seen::Io(ErrorKind::ConnectionRefused), 0),
        (Fault::LoseReply, Seen::Io(ErrorKind::ConnectionReset), 1),
        (Fault::ErrorAfterApply, internal(), 1),
        (Fault::GarbageAfterApply, Seen::Unreadable, 1),
        (Fault::TruncatedAfterApply, Seen::Unreadable, 1),
        (Fault::EmptyAfterApply, Seen::Success, 1),
        (Fault::ServerError, internal(), 0),
        (Fault::Throttle, refusal("ThrottlingException"), 0),
        (Fault::ProvisionedThroughputExceeded, refusal("ProvisionedThroughputExceededException"), 0),
        (Fault::TransactionConflict, refusal("TransactionConflictException"), 0),
        (Fault::TransactionInProgress, refusal("TransactionInProgressException"), 0),
        (Fault::canceled(["TransactionConflict"]), refusal("TransactionCanceledException"), 0),
        (Fault::AccessDenied, refusal("AccessDeniedException"), 0),
        (Fault::error("ValidationException"), refusal("ValidationException"), 0),
        (Fault::Error { code: "Odd".to_owned(), status: 503 }, Seen::Refusal(503, "Odd".to_owned()), 0),
        (Fault::Delay(SECOND), Seen::Success, 1),
        (Fault::NeverAnswer, Seen::Timeout, 0),
        (Fault::NeverAnswerAfterApply, Seen::Timeout, 1),
    ];

    for (fault, seen, applied) in cases {
        let faults = Faults::none();
        let (table, direct) = behind(&faults).await;
        direct.put(item([("k", s("a")), ("n", n(0))])).await;
        faults.script(0, fault.clone());

        let result = table.increment("a").send().await;

        assert_eq!(Seen::of(result), seen, "{fault:?}");
        assert_eq!(direct.n("a").await, Some(n(applied)), "{fault:?}");
        assert_eq!(faults.requests().last().unwrap().fault, Some(fault));
    }
}

#[tokio::test(start_paused = true)]
async fn a_request_that_is_delivered_late_is_applied_after_its_error() {
    let faults = Faults::none();
    let (table, direct) = behind(&faults).await;
    faults.script(0, Fault::DeliverLate(5 * SECOND));

    let result = table.increment("a").send().await;
    let early = direct.n("a").await;
    tokio::time::advance(5 * SECOND).await;

    assert_eq!(Seen::of(result), Seen::Io(ErrorKind::ConnectionReset));
    assert_eq!(early, None);
    until(&direct, 1).await;
}

#[tokio::test(start_paused = true)]
async fn a_request_that_is_delivered_twice_is_answered_once() {
    let faults = Faults::none();
    let (table, direct) = behind(&faults).await;
    faults.script(0, Fault::DeliverTwice);

    let answer = table.increment("a").return_values(ReturnValue::UpdatedNew).send().await.unwrap();

    assert_eq!(answer.attributes, Some(item([("n", n(1))])));
    until(&direct, 2).await;
    assert_eq!(faults.count("UpdateItem"), 1);
}

#[tokio::test(start_paused = true)]
async fn a_delayed_request_is_overtaken() {
    let faults = Faults::none();
    let (table, direct) = behind(&faults).await;
    faults.script(0, Fault::Delay(5 * SECOND));
    let delayed = tokio::spawn(table.increment("a").return_values(ReturnValue::UpdatedNew).send());
    while faults.count("UpdateItem") == 0 {
        tokio::task::yield_now().await;
    }

    direct.increment("a").send().await.unwrap();

    assert_eq!(delayed.await.unwrap().unwrap().attributes, Some(item([("n", n(2))])));
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_transaction_has_the_reasons_it_was_given() {
    let faults = Faults::none();
    let (table, _) = behind(&faults).await;
    let seen = item([
        ("k", s("a")),
        ("n", n("1.5")),
        ("bytes", b([0, 1, 255])),
        ("list", list([AttributeValue::Bool(true), AttributeValue::Null(true)])),
        ("map", AttributeValue::M(item([("x", ss(["y"]))]))),
        ("numbers", AttributeValue::Ns(vec!["1".to_owned()])),
    ]);
    let failed = CancellationReason::builder().code("ConditionalCheckFailed").message("as given");
    let reasons = vec![
        CancellationReason::builder().code("None").build(),
        failed.set_item(Some(seen)).build(),
        CancellationReason::builder().code("ThrottlingError").build(),
    ];
    faults.script(0, Fault::TransactionCanceled(reasons.clone()));

    let result = table.client.transact_write_items().set_transact_items(Some(vec![])).send().await;

    let error = result.unwrap_err().into_service_error();
    let TransactWriteItemsError::TransactionCanceledException(cancelled) = error else { panic!("{error:?}") };
    assert_eq!(cancelled.cancellation_reasons, Some(reasons));
}

#[tokio::test(start_paused = true)]
async fn the_sdk_sends_a_request_again_whose_reply_was_lost() {
    let database = Database::in_memory().unwrap();
    let faults = Faults::none();
    let table = Table::create(database.client_with(&faults), "table").await;
    faults.script(0, Fault::LoseReply);

    table.increment("a").send().await.unwrap();

    assert_eq!(faults.count("UpdateItem"), 2);
    assert_eq!(table.n("a").await, Some(n(2)));
}

#[tokio::test(start_paused = true)]
async fn scripts_count_from_now_and_by_operation() {
    let faults = Faults::none();
    let (table, _) = behind(&faults).await;
    table.increment("a").send().await.unwrap();

    faults.script(2, Fault::Throttle);
    faults.script_on("GetItem", 1, Fault::AccessDenied);
    for _ in 0..2 {
        let get = table.client.get_item().table_name("table").key("k", s("a"));
        drop(table.increment("a").send().await);
        drop(get.send().await);
    }

    let hit: Vec<_> = faults.requests().into_iter().map(|request| (request.operation, request.fault)).collect();
    let expected = [
        ("UpdateItem", None),
        ("UpdateItem", None),
        ("GetItem", None),
        ("UpdateItem", Some(Fault::Throttle)),
        ("GetItem", Some(Fault::AccessDenied)),
    ];
    assert_eq!(hit, expected.map(|(operation, fault)| (operation.to_owned(), fault)));
}

#[tokio::test(start_paused = true)]
async fn the_more_special_fault_wins() {
    let faults = Faults::seeded(1).rate(Fault::ServerError, 1.0);
    let (table, _) = behind(&faults).await;
    faults.always(Fault::LoseRequest);
    faults.script(0, Fault::Throttle);
    faults.script(1, Fault::Throttle);
    faults.script_on("UpdateItem", 0, Fault::AccessDenied);

    for _ in 0..3 {
        table.increment("a").send().await.unwrap_err();
    }
    faults.clear();
    table.increment("a").send().await.unwrap();

    let hit: Vec<_> = faults.requests().into_iter().map(|request| request.fault).collect();
    assert_eq!(hit, [Some(Fault::AccessDenied), Some(Fault::Throttle), Some(Fault::LoseRequest), None]);
}

#[tokio::test(start_paused = true)]
async fn a_seed_draws_the_same_faults_each_time() {
    async fn drawn(seed: u64) -> Vec<Option<Fault>> {
        let faults = Faults::seeded(seed).rate(Fault::LoseReply, 0.2).rate(Fault::Throttle, 0.1);
        let (table, _) = behind(&faults).await;
        for _ in 0..1000 {
            drop(table.increment("a").send().await);
        }
        faults.requests().into_iter().map(|request| request.fault).collect()
    }

    let first = drawn(7).await;
    let lost = first.iter().filter(|fault| **fault == Some(Fault::LoseReply)).count();
    let throttled = first.iter().filter(|fault| **fault == Some(Fault::Throttle)).count();

    assert_eq!(first, drawn(7).await);
    assert_ne!(first, drawn(8).await);
    assert!((150..250).contains(&lost), "{lost}");
    assert!((60..140).contains(&throttled), "{throttled}");
}

#[tokio::test(start_paused = true)]
async fn rates_are_clamped_and_may_be_for_some_operations_only() {
    let faults = Faults::seeded(1)
        .rate(Fault::LoseReply, f64::NAN)
        .rate(Fault::LoseRequest, -1.0)
        .rate(Fault::Throttle, 7.0)
        .only(["UpdateItem"]);
    let (table, _) = behind(&faults).await;

    for _ in 0..20 {
        let update = table.increment("a").send().await;
        assert_eq!(code(&update), Some("ThrottlingException"));
        table.get("a").await;
    }

    assert_eq!(faults.count("GetItem"), 20);
}

#[tokio::test]
async fn the_log_keeps_what_was_sent_and_shows_none_of_it_by_itself() {
    let faults = Faults::none();
    let (table, _) = behind(&faults).await;
    table.increment("secret").send().await.unwrap();

    let requests = faults.requests();

    assert_eq!(requests[0].json()["Key"]["k"]["S"], "secret");
    assert_eq!(requests[0].body().len(), requests[0].json().to_string().len());
    assert!(!format!("{requests:?} {faults:?}").contains("secret"));
}
