use std::{sync::Arc, time::Duration};

use super::{TransactionId, *};
use crate::{
    cost::{Capacity, Cause, Cost, Units},
    key::{Key, KeyType, KeyValue},
    model::{ItemExpiry, ItemRef, KeyModel, Model, TimesModel},
};

const MODEL: &Model = &Model {
    table: "products",
    partition_key: KeyModel { name: "sku", key_type: KeyType::S },
    sort_key: None,
    version: "_version",
    version_is_field: false,
    times: TimesModel::NONE,
    write_ids: 10,
    attributes: &["sku"],
    show_key: false,
    aliases: &[],
    flattens: false,
    lock: None,
    indexes: &[],
};

const SPENT: Spent = Spent { attempts: 3, elapsed: Duration::from_millis(1500), cost: None, out_of_retries: false };

const TIMEOUT: Error = Error::Unavailable(Unavailable::Timeout);

fn table() -> Arc<str> {
    MODEL.table.into()
}

fn key() -> Key {
    Key::new(KeyValue::S("a".to_owned()), None)
}

fn item_ref() -> ItemRef {
    ItemRef { table: table(), model: MODEL, key: key(), expected: Some(1), expiry: ItemExpiry::DEFAULT }
}

fn conflict() -> Conflict {
    Conflict::new(item_ref(), None, SPENT)
}

fn refusal() -> Refusal {
    Refusal::new("Code", "message", None).after(SPENT)
}

/// Returns a cancelled transaction with one operation for each of the reason codes in `codes`.
fn cancelled(codes: &[&str]) -> Cancelled {
    let reason = |code: &&str| super::ActionReason { refusal: Refusal::new(*code, "message", None), item: None };
    let operations = codes.iter().map(|code| (item_ref(), reason(code))).collect();
    Cancelled::new(TransactionId::next(), operations, SPENT)
}

fn locked() -> Error {
    let (name, owner) = (None, "worker".into());
    Error::Locked(Box::new(Locked { table: table(), name, owner, fence: 1, remaining: Duration::ZERO, spent: SPENT }))
}

fn codec() -> CodecError {
    CodecError::new(table(), SerdeError::not_storable("a reason"))
}

/// Returns an error of each variant that contains a `Spent`, paired with the expected result of
/// `is_retryable`.
fn with_spent() -> Vec<(Error, bool)> {
    let last = || Box::new(TIMEOUT);
    vec![
        (Error::Conflict(conflict()), false),
        (Error::AlreadyExists(conflict()), false),
        (Error::Cancelled(cancelled(&["ConditionalCheckFailed"])), false),
        (Error::AlreadyCommitted { spent: SPENT }, false),
        (Error::TokenReused { spent: SPENT }, false),
        (locked(), true),
        (Error::QueueFull { table: table(), name: Some("printer".into()), waiting: 2, spent: SPENT }, true),
        (Error::Evicted { table: table(), name: None, spent: SPENT }, true),
        (Error::NotFound { table: table(), key: None, spent: SPENT }, false),
        (Error::Indeterminate { table: table(), expected: None, found: None, spent: SPENT, last: Some(last()) }, false),
        (Error::Exhausted { spent: SPENT, last: last() }, true),
        (Error::Contention(refusal()), true),
        (Error::Throttled(refusal()), true),
        (Error::Unavailable(Unavailable::Server(refusal())), true),
        (Error::TableNotFound { table: table(), spent: SPENT }, false),
        (Error::IndexNotFound { table: table(), index: "by_stock", spent: SPENT }, false),
        (Error::ItemTooLarge { table: table(), bytes: 409_601, spent: SPENT }, false),
        (Error::BudgetExceeded { budget: Units::whole(2), needed: Units::HALF, spent: SPENT }, false),
        (Error::Rejected(refusal()), false),
    ]
}

/// Returns an error of each variant that contains no `Spent`, paired with the expected result of
/// `is_retryable`.
fn without_spent() -> Vec<(Error, bool)> {
    vec![
        (Error::InvalidTransaction(InvalidTransaction::Empty), false),
        (Error::ForeignHandle, false),
        (Error::Lost(Lost::Expired), false),
        (Error::KeyChanged { table: table() }, false),
        (Error::InvalidKey { table: table(), attribute: "sku", reason: "it is empty" }, false),
        (
            Error::Corrupt { table: table(), key: None, attribute: "_version", reason: "a reason", applied: false },
            false,
        ),
        (Error::VersionExhausted { table: table() }, false),
        (Error::ExpressionTooLong { table: table(), bytes: 4097, operators: 12, remedy: "a remedy" }, false),
        (Error::Unavailable(Unavailable::Refused), true),
        (Error::Unavailable(Unavailable::Credentials("why".into())), true),
        (Error::Unavailable(Unavailable::NotSent("why".into())), true),
        (Error::Unavailable(Unavailable::Connection("why".into())), true),
        (TIMEOUT, true),
        (Error::Unavailable(Unavailable::TooLate), true),
        (Error::Unavailable(Unavailable::RuntimeEnded), false),
        (Error::Unavailable(Unavailable::NotActive), true),
        (Error::Unavailable(Unavailable::Unreadable("why".into())), true),
        (Error::TableMismatch { table: table(), index: None, reason: "a reason".to_owned() }, false),
        (Error::Misconfigured(Misconfigured::Region("why".into())), false),
        (Error::PageToken { table: table(), reason: "a reason" }, false),
        (Error::InvalidSetting(InvalidSetting::Attempts), false),
        (Error::Decode(codec()), false),
        (Error::Encode(codec()), false),
    ]
}

#[test]
fn each_variant_says_whether_the_same_call_may_succeed_later() {
    for (error, is_retryable) in with_spent().into_iter().chain(without_spent()) {
        assert_eq!(error.is_retryable(), is_retryable, "{error:?}");
    }
}

#[test]
fn a_cancellation_is_retryable_if_no_reason_asks_for_a_change() {
    let rows: [(&[&str], bool); 8] = [
        (&["TransactionConflict", "None"], true),
        (&["ThrottlingError"], true),
        (&["ProvisionedThroughputExceeded", "TransactionConflict"], true),
        (&["ConditionalCheckFailed", "TransactionConflict"], false),
        (&["ThrottlingError", "ValidationError"], false),
        (&["ItemCollectionSizeLimitExceeded"], false),
        (&["None"], false),
        (&[], false),
    ];
    for (codes, is_retryable) in rows {
        assert_eq!(Error::Cancelled(cancelled(codes)).is_retryable(), is_retryable, "{codes:?}");
    }
}

#[test]
fn an_error_says_what_the_call_had_used_if_it_knows() {
    for (error, _) in with_spent() {
        assert_eq!((error.attempts(), error.elapsed()), (Some(3), Some(Duration::from_millis(1500))), "{error:?}");
    }
    for (error, _) in without_spent() {
        assert_eq!((error.attempts(), error.elapsed()), (None, None), "{error:?}");
    }
}

#[test]
fn an_error_of_a_metered_call_shows_its_cost() {
    let mut cost = Cost::default();
    cost.charge(Cause::Conflicts, Capacity::write(Units::whole(2)));
    let spent = SPENT.with_cost(Some(cost));
    let text = "3 sent in 1.5s, 0 read and 2 write units, of which 2 for conflicts";
    let error = Error::Rejected(Refusal::new("Code", "message", None).after(spent.clone()));
    assert_eq!((error.to_string(), error.cost()), (format!("refused (Code: message; {text})"), Some(cost)));
    assert_eq!(spent.to_string(), text.replace("sent", "requests"));
    assert_eq!(conflict().spent().cost, None);
}

#[test]
fn one_request_is_singular() {
    let shown = |attempts| Spent::new(attempts, Duration::from_millis(1500)).to_string();
    assert_eq!([shown(0), shown(1), shown(2)], ["0 requests in 1.5s", "1 request in 1.5s", "2 requests in 1.5s"]);
    let ended = Spent { out_of_retries: true, ..Spent::new(1, Duration::from_millis(3)) };
    assert_eq!(ended.to_string(), "1 request in 3.0ms, with an empty retry budget");
    let full = Error::QueueFull { table: table(), name: Some("printer".into()), waiting: 2, spent: SPENT };
    let text = "the queue of the lock `printer` in table `products` is full: 2 callers wait behind the holder (3 requests in 1.5s); \
                call again later";
    assert_eq!(full.to_string(), text);
}
