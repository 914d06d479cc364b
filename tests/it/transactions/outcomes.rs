//! A transaction under each fault. The returned result is compared with the stored items.

use dynalock::{
    Error, Result,
    error::{Spent, Unavailable},
    local::Fault,
};

use super::purse::{Stored, WAYS, Way, purse, run, stored};
use crate::support::{LOST_REPLIES, changed, millis, secs, settle};

const TRANSACT: &str = "TransactWriteItems";

/// Faults after which the request was never applied, and may be sent again.
fn before_it_is_applied() -> Vec<Fault> {
    vec![
        Fault::Refused,
        Fault::LoseRequest,
        Fault::ServerError,
        Fault::NeverAnswer,
        Fault::Throttle,
        Fault::ProvisionedThroughputExceeded,
        Fault::TransactionConflict,
        Fault::TransactionInProgress,
        Fault::canceled(["TransactionConflict", "None", "None", "None"]),
        Fault::canceled(["None", "ThrottlingError", "TransactionConflict", "None"]),
    ]
}

/// Faults that hide from the caller that the request was applied.
fn after_it_is_applied() -> Vec<Fault> {
    let more = [
        Fault::TruncatedAfterApply,
        Fault::Delay(secs(20)),
        Fault::DeliverLate(millis(1)),
        Fault::DeliverLate(millis(200)),
        Fault::DeliverLate(secs(20)),
    ];
    LOST_REPLIES.into_iter().chain(more).collect()
}

/// Faults that change nothing for the caller.
fn harmless() -> Vec<Fault> {
    vec![Fault::Delay(millis(100)), Fault::DeliverTwice]
}

/// Faults after which a repetition would fail again.
fn final_ones() -> Vec<Fault> {
    vec![
        Fault::AccessDenied,
        Fault::error("ValidationException"),
        Fault::error("ItemCollectionSizeLimitExceededException"),
    ]
}

/// Compares a result with the stored items, now and after all late requests have arrived.
async fn agrees(result: &Result<()>, table: &crate::support::Table<crate::support::Account>, what: &str) {
    let now = stored(table).await;
    settle().await;
    let later = stored(table).await;
    match result {
        Ok(()) => assert_eq!((now, later), (Stored::After, Stored::After), "{what}: acknowledged"),
        Err(Error::Exhausted { .. } | Error::Rejected(_) | Error::Cancelled(_)) => {
            assert_eq!((now, later), (Stored::Before, Stored::Before), "{what}: said to be not applied");
        }
        Err(Error::Indeterminate { .. }) => {}
        Err(other) => panic!("{what}: {other:?}"),
    }
}

#[tokio::test(start_paused = true)]
async fn a_transaction_survives_one_fault_of_each_kind_and_happens_once() {
    for way in WAYS {
        for fault in before_it_is_applied().into_iter().chain(after_it_is_applied()).chain(harmless()) {
            let (shop, table) = purse().await;
            shop.faults.script_on(TRANSACT, 0, fault.clone());
            let what = format!("{way:?}, {fault:?}");
            let result = run(&shop, &table, way).await;
            assert!(result.is_ok(), "{what}: {result:?}");
            agrees(&result, &table, &what).await;
            let sent = if harmless().contains(&fault) { 1 } else { 2 };
            assert_eq!(shop.counts([TRANSACT]), [sent], "{what}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_unit_of_work_survives_a_fault_of_its_reads() {
    for fault in before_it_is_applied().into_iter().chain(after_it_is_applied()) {
        if matches!(fault, Fault::TransactionCanceled(_)) {
            continue;
        }
        let (shop, table) = purse().await;
        shop.faults.script_on("GetItem", 1, fault.clone());
        let what = format!("a read meets {fault:?}");
        let result = run(&shop, &table, Way::Transact).await;
        assert!(result.is_ok(), "{what}: {result:?}");
        agrees(&result, &table, &what).await;
        assert_eq!(shop.counts(["GetItem", TRANSACT]), [4, 1], "{what}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_transaction_whose_every_attempt_fails_is_exhausted_or_indeterminate_by_what_the_faults_prove() {
    for way in WAYS {
        for fault in before_it_is_applied().into_iter().chain(after_it_is_applied()) {
            let (shop, table) = purse().await;
            for nth in 0..300 {
                shop.faults.script_on(TRANSACT, nth, fault.clone());
            }
            let what = format!("{way:?}, each attempt {fault:?}");
            let result = run(&shop, &table, way).await;
            agrees(&result, &table, &what).await;
            match (&fault, result) {
                (Fault::Refused, Err(Error::Exhausted { last, .. })) => {
                    assert!(matches!(*last, Error::Unavailable(Unavailable::Refused)), "{what}: {last:?}");
                }
                (Fault::Throttle | Fault::ProvisionedThroughputExceeded, Err(Error::Exhausted { last, .. })) => {
                    assert!(matches!(*last, Error::Throttled(_)), "{what}: {last:?}");
                }
                (Fault::TransactionConflict, Err(Error::Exhausted { last, .. })) => {
                    assert!(matches!(*last, Error::Contention(_)), "{what}: {last:?}");
                }
                (Fault::TransactionCanceled(_), Err(Error::Exhausted { last, spent: Spent { attempts, .. }, .. })) => {
                    assert!(matches!(*last, Error::Cancelled(_)) && attempts > 10, "{what}: {last:?}");
                }
                (
                    Fault::Refused
                    | Fault::Throttle
                    | Fault::ProvisionedThroughputExceeded
                    | Fault::TransactionConflict
                    | Fault::TransactionCanceled(_),
                    other,
                ) => panic!("{what}: {other:?}"),
                (_, Err(Error::Indeterminate { last: Some(last), table: of, .. })) => {
                    let in_progress = matches!(fault, Fault::TransactionInProgress);
                    match *last {
                        Error::Contention(_) if in_progress => {}
                        Error::Unavailable(_) if !in_progress => {}
                        ref other => panic!("{what}: {other:?}"),
                    }
                    assert_eq!(*of, *table.name());
                }
                // The answers came late, and DynamoDB already knew the token at that time.
                (Fault::DeliverLate(_) | Fault::Delay(_), Ok(())) => {}
                (_, other) => panic!("{what}: {other:?}"),
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_refused_for_good_is_sent_once() {
    for way in WAYS {
        for fault in final_ones() {
            let (shop, table) = purse().await;
            shop.faults.script_on(TRANSACT, 0, fault.clone());
            let what = format!("{way:?}, {fault:?}");
            let result = run(&shop, &table, way).await;
            assert!(matches!(result, Err(Error::Rejected(_))), "{what}: {result:?}");
            agrees(&result, &table, &what).await;
            assert_eq!(shop.counts([TRANSACT]), [1], "{what}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_lost_reply_is_a_success_also_when_others_have_gone_on_since() {
    for way in WAYS {
        let (shop, table) = purse().await;
        shop.faults.script_on(TRANSACT, 0, Fault::LoseReply);
        shop.rival.before_through(&table.others, TRANSACT, 1, async |others| {
            for _ in 0..20 {
                others.update_with("update", |account| account.cents += 100).await.unwrap();
            }
            others.delete_unchecked("create").await.unwrap();
        });
        run(&shop, &table, way).await.unwrap();
        let update = table.others.get("update").await.unwrap().unwrap();
        assert_eq!((update.cents, update.version()), (2_006, 22));
        assert_eq!(table.raw.get("create").await, None);
        assert_eq!(shop.counts([TRANSACT]), [2]);
    }
}

#[tokio::test(start_paused = true)]
async fn a_plain_write_of_a_unit_survives_each_fault_too() {
    for fault in before_it_is_applied().into_iter().chain(after_it_is_applied()) {
        if matches!(fault, Fault::TransactionCanceled(_)) {
            continue;
        }
        let (shop, table) = &purse().await;
        shop.faults.script_on("UpdateItem", 0, fault.clone());
        let unit = dynalock::transact(&shop.client, |tx| async move {
            let account = changed(tx.get(&table.items, "update").await?.unwrap(), |it| it.cents += 1);
            tx.update(&table.items, account);
            Ok::<_, Error>(())
        });
        unit.deadline(secs(60)).await.unwrap();
        settle().await;
        let account = table.others.get("update").await.unwrap().unwrap();
        assert_eq!((account.cents, account.version()), (6, 2), "{fault:?}");
        assert_eq!(shop.counts(["UpdateItem", TRANSACT]), [2, 0], "{fault:?}");
    }
}
