//! Every code of a cancellation, alone and mixed.

use aws_sdk_dynamodb::types::CancellationReason;
use dynalock::{
    Error, Transaction,
    error::CancellationClass,
    local::Fault,
    transact,
    transaction::{Op, Reason},
};

use super::purse::{Stored, purse, stored, transaction};
use crate::support::{Account, Shop, Table, cancelled, codes, expect_error, item, n, s};

const TRANSACT: &str = "TransactWriteItems";

const NONE: &str = "None";
const FAILED: &str = "ConditionalCheckFailed";
const CONFLICT: &str = "TransactionConflict";
const PROVISIONED: &str = "ProvisionedThroughputExceeded";
const THROTTLED: &str = "ThrottlingError";
const COLLECTION: &str = "ItemCollectionSizeLimitExceeded";
const INVALID: &str = "ValidationError";
const UNKNOWN: &str = "SomethingNew";

/// The codes of three operations, and the class of the cancellation. `None` stands for a request
/// that may be sent again.
fn table() -> Vec<([&'static str; 3], Option<CancellationClass>)> {
    use CancellationClass::{Conflict, Mixed, Permanent};
    let mut table = vec![
        ([NONE, NONE, NONE], Some(Permanent)),
        ([FAILED, FAILED, NONE], Some(Conflict)),
        ([CONFLICT, CONFLICT, CONFLICT], None),
        ([CONFLICT, PROVISIONED, NONE], None),
        ([THROTTLED, NONE, CONFLICT], None),
        ([PROVISIONED, THROTTLED, CONFLICT], None),
        ([FAILED, CONFLICT, NONE], Some(Mixed)),
        ([CONFLICT, NONE, FAILED], Some(Mixed)),
        ([THROTTLED, FAILED, CONFLICT], Some(Mixed)),
        ([INVALID, CONFLICT, NONE], Some(Mixed)),
        ([COLLECTION, INVALID, UNKNOWN], Some(Permanent)),
        ([CONFLICT, UNKNOWN, NONE], Some(Mixed)),
        ([FAILED, UNKNOWN, CONFLICT], Some(Mixed)),
    ];
    for at in 0..3 {
        for (code, class) in [
            (FAILED, Some(Conflict)),
            (CONFLICT, None),
            (PROVISIONED, None),
            (THROTTLED, None),
            (COLLECTION, Some(Permanent)),
            (INVALID, Some(Permanent)),
            (UNKNOWN, Some(Permanent)),
        ] {
            let mut codes = [NONE; 3];
            codes[at] = code;
            table.push((codes, class));
        }
    }
    table
}

/// Adds three creates to a transaction.
fn creates(shop: &Shop, table: &Table<Account>) -> (Transaction, [Op<Account>; 3]) {
    let mut tx = Transaction::new(&shop.client);
    let handles = ["a", "b", "c"].map(|owner| tx.create(&table.items, Account::new(owner, 5)));
    (tx, handles)
}

fn is_of(reason: &Reason<Account>, code: &str) -> bool {
    match (reason, code) {
        (Reason::None, NONE) | (Reason::Conflict(None), FAILED) => true,
        (Reason::Contention(refusal), CONFLICT)
        | (Reason::Capacity(refusal), PROVISIONED | THROTTLED)
        | (Reason::ItemCollectionTooLarge(refusal), COLLECTION)
        | (Reason::Invalid(refusal), INVALID)
        | (Reason::Unknown(refusal), UNKNOWN) => refusal.code() == code,
        _ => false,
    }
}

#[tokio::test(start_paused = true)]
async fn only_contention_and_lack_of_capacity_are_sent_again() {
    for (reported, class) in table() {
        let (shop, table) = Shop::with_table::<Account>().await;
        let (tx, handles) = creates(&shop, &table);
        shop.faults.script_on(TRANSACT, 0, Fault::canceled(reported));
        let result = tx.commit().await;
        match class {
            None => {
                let done = result.unwrap();
                assert!(handles.into_iter().all(|handle| done.get(handle).unwrap().version() == 1));
                assert_eq!(shop.counts([TRANSACT]), [2], "{reported:?}");
                let sent = shop.sent(TRANSACT);
                assert_eq!(sent[0], sent[1], "the same token and content");
            }
            Some(class) => {
                let cancelled = cancelled(result);
                assert_eq!((codes(&cancelled), cancelled.class()), (reported.to_vec(), class));
                for (handle, code) in handles.iter().zip(reported) {
                    assert!(is_of(&cancelled.reason(handle), code), "{code}: {:?}", cancelled.reason(handle));
                }
                assert_eq!((cancelled.spent().attempts, shop.counts([TRANSACT])), (1, [1]), "{reported:?}");
                assert_eq!(table.raw.get("a").await, None);
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn contention_to_the_end_is_exhausted_with_the_cancellation_inside() {
    for reported in [[CONFLICT, NONE, NONE], [NONE, PROVISIONED, NONE], [NONE, THROTTLED, CONFLICT]] {
        let (shop, table) = Shop::with_table::<Account>().await;
        let (tx, handles) = creates(&shop, &table);
        shop.faults.always(Fault::canceled(reported));
        let result = tx.attempts(5).commit().await;
        let (attempts, last) = expect_error!(result, Error::Exhausted { spent, last, .. } => (spent.attempts, last));
        assert_eq!((attempts, shop.counts([TRANSACT])), (5, [5]));
        let cancelled = cancelled(Err::<(), _>(*last));
        assert_eq!(codes(&cancelled), reported);
        assert!(is_of(&cancelled.reason(&handles[0]), reported[0]), "{cancelled:?}");
        assert_eq!(table.raw.get("a").await, None);
    }
}

#[tokio::test(start_paused = true)]
async fn reasons_that_do_not_fit_the_operations_are_an_error() {
    for reported in [&[][..], &[FAILED], &[FAILED, NONE], &[CONFLICT], &[NONE, NONE, NONE, FAILED]] {
        let (shop, table) = Shop::with_table::<Account>().await;
        shop.faults.always(Fault::canceled(reported.iter().copied()));
        let refusal = expect_error!(creates(&shop, &table).0.commit().await, Error::Rejected(refusal) => refusal);
        assert_eq!(refusal.code(), "TransactionCanceledException");
        let table = &table;
        let unit = transact(&shop.client, |tx| async move {
            for owner in ["a", "b", "c"] {
                tx.create(&table.items, Account::new(owner, 5));
            }
            Ok::<_, Error>(())
        });
        expect_error!(unit.await, Error::Rejected(_));
        assert_eq!(shop.counts([TRANSACT]), [2], "{reported:?}");
        assert_eq!(table.raw.get("a").await, None);
    }
}

#[tokio::test(start_paused = true)]
async fn a_reason_shows_the_item_that_it_came_with() {
    let (shop, table) = Shop::with_table::<Account>().await;
    let (tx, handles) = creates(&shop, &table);
    let account = item([("owner", s("b")), ("cents", n(7)), ("transfers", n(1)), ("_version", n(3))]);
    let reason = |code: &str| CancellationReason::builder().code(code).message("m");
    let reasons =
        vec![reason(NONE).build(), reason(FAILED).set_item(Some(account.clone())).build(), reason(INVALID).build()];
    shop.faults.script_on(TRANSACT, 0, Fault::TransactionCanceled(reasons));
    let cancelled = cancelled(tx.commit().await);
    let now = crate::support::met(&cancelled, &handles[1]).unwrap();
    assert_eq!((now.cents, now.version()), (7, 3));
    let reasons: Vec<_> = cancelled.reasons().collect();
    assert_eq!((reasons[1].current_item(), reasons[2].current_item()), (Some(&account), None));
    assert_eq!((reasons[1].message(), reasons[2].class()), ("m", Some(CancellationClass::Permanent)));
}

#[tokio::test(start_paused = true)]
async fn a_unit_of_work_runs_again_only_where_that_can_help() {
    for (reported, sent) in [
        // The stored item is the item that was read, so another run would decide the same.
        ([NONE, NONE, NONE, FAILED], 1),
        ([INVALID, NONE, NONE, NONE], 1),
        ([NONE, UNKNOWN, NONE, CONFLICT], 1),
        ([CONFLICT, NONE, THROTTLED, NONE], 2),
    ] {
        let (shop, table) = purse().await;
        let current = table.raw.get("check").await;
        let reasons = reported.iter().map(|code| {
            let item = current.clone().filter(|_| *code == FAILED);
            CancellationReason::builder().code(*code).set_item(item).build()
        });
        shop.faults.script_on(TRANSACT, 0, Fault::TransactionCanceled(reasons.collect()));
        let result = super::purse::run(&shop, &table, super::purse::Way::Transact).await;
        assert_eq!(shop.counts([TRANSACT]), [sent], "{reported:?}");
        match sent {
            1 => assert_eq!((codes(&cancelled(result)), stored(&table).await), (reported.to_vec(), Stored::Before)),
            _ => assert_eq!((result.unwrap(), stored(&table).await), ((), Stored::After)),
        }
    }
}

#[tokio::test(start_paused = true)]
async fn contention_together_with_a_conflict_is_decided_anew() {
    let (shop, table) = purse().await;
    shop.rival.before_through(&table.others, TRANSACT, 1, async |others| {
        others.update_with("check", |account| account.cents = 9).await.unwrap();
    });
    shop.faults.script_on(TRANSACT, 0, Fault::canceled([NONE, NONE, NONE, CONFLICT]));
    super::purse::run(&shop, &table, super::purse::Way::Transact).await.unwrap();
    // The call slept because of the contention, so the second run reads all three items again.
    assert_eq!(shop.counts([TRANSACT, "GetItem"]), [3, 6]);

    let (shop, table) = purse().await;
    shop.faults.script_on(TRANSACT, 0, Fault::canceled([NONE, NONE, NONE, CONFLICT]));
    let done = transaction(&shop, &table).await.commit().await;
    assert!(done.is_ok(), "{done:?}");
    assert_eq!(stored(&table).await, Stored::After);
}
