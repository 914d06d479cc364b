//! Tokens of transactions with an unknown outcome, and tokens that DynamoDB no longer remembers.

use std::collections::HashSet;

use dynalock::{Error, Transaction, Versioned, error::Spent, local::Fault};

use serde::{Deserialize, Serialize};

use super::purse::{Stored, purse, stored, transaction};
use crate::support::{Account, Shop, Table, add, cancelled, changed, codes, expect_error, secs, settle, travel};

const TRANSACT: &str = "TransactWriteItems";

/// Returns a transfer between two accounts. Two processes that have read the same values make the
/// same transfer.
fn update(shop: &Shop, table: &Table<Account>, read: &dynalock::Stored<Account>) -> Transaction {
    let account = changed(read.clone(), |it| it.cents += 1);
    let mut tx = Transaction::new(&shop.client).token("payment-7").deadline(secs(60));
    tx.update(&table.items, account);
    tx.check_exists(&table.items, "check");
    tx
}

#[tokio::test(start_paused = true)]
async fn two_processes_under_one_token_pay_once_whatever_gets_lost() {
    for fault in [
        Fault::LoseReply,
        Fault::ErrorAfterApply,
        Fault::NeverAnswerAfterApply,
        Fault::LoseRequest,
        Fault::TransactionInProgress,
        Fault::DeliverLate(secs(1)),
        Fault::DeliverTwice,
    ] {
        let (shop, table) = purse().await;
        let read = table.others.get("update").await.unwrap().unwrap();
        shop.faults.script_on(TRANSACT, 0, fault.clone());
        shop.faults.script_on(TRANSACT, 1, fault.clone());
        let (one, other) = (update(&shop, &table, &read).commit(), update(&shop, &table, &read).commit());
        let (one, other) = tokio::join!(tokio::spawn(one), tokio::spawn(other));
        assert!(one.unwrap().is_ok() && other.unwrap().is_ok(), "{fault:?}");
        settle().await;
        let account = table.others.get("update").await.unwrap().unwrap();
        assert_eq!((account.cents, account.version()), (6, 2), "{fault:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn after_ten_minutes_the_items_show_that_it_was_committed() {
    let (shop, table) = purse().await;
    let read = table.others.get("update").await.unwrap().unwrap();
    update(&shop, &table, &read).commit().await.unwrap();
    settle().await;
    let result = update(&shop, &table, &read).commit().await;
    expect_error!(result, Error::AlreadyCommitted { spent: Spent { attempts: 1, .. }, .. });
    let account = table.others.get("update").await.unwrap().unwrap();
    assert_eq!((account.cents, account.version()), (6, 2));
}

#[tokio::test(start_paused = true)]
async fn values_that_were_read_again_after_the_commit_show_that_it_happened() {
    for later in [secs(60), secs(11 * 60)] {
        let (shop, table) = purse().await;
        let pay = async || {
            let read = table.others.get("update").await.unwrap().unwrap();
            update(&shop, &table, &read).commit().await
        };
        pay().await.unwrap();
        // The process died before it could record the transfer, and begins again.
        travel(later).await;
        let sent = shop.counts([TRANSACT]);
        expect_error!(pay().await, Error::AlreadyCommitted { spent: Spent { attempts: 0, .. }, .. });
        assert_eq!(shop.counts([TRANSACT]), sent, "nothing is sent");
        let account = table.others.get("update").await.unwrap().unwrap();
        assert_eq!((account.cents, account.version()), (6, 2));
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Versioned)]
#[dynalock(table = "tagged")]
struct Tagged {
    #[dynalock(partition_key)]
    id: String,
    tags: HashSet<String>,
}

#[tokio::test(start_paused = true)]
async fn a_set_in_another_order_under_its_token_was_committed_before() {
    let (shop, table) = Shop::with_table::<Tagged>().await;
    let create = || {
        let mut tx = Transaction::new(&shop.client).token("order-7");
        tx.create(&table.items, Tagged { id: "a".to_owned(), tags: (0..20).map(|tag| tag.to_string()).collect() });
        tx.commit()
    };
    create().await.unwrap();
    expect_error!(create().await, Error::AlreadyCommitted { .. });
}

#[tokio::test(start_paused = true)]
async fn another_content_in_doubt_under_a_token_that_was_committed_is_not_applied() {
    for fault in [Fault::LoseRequest, Fault::LoseReply] {
        let (shop, table) = Shop::with_table::<Account>().await;
        let create = |cents| {
            let mut tx = Transaction::new(&shop.client).token("order-7");
            tx.create(&table.items, Account::new("a", cents));
            tx.commit()
        };
        create(1).await.unwrap();
        settle().await;
        shop.faults.script_on(TRANSACT, 0, fault.clone());
        expect_error!(create(2).await, Error::AlreadyCommitted { .. });
        assert_eq!(table.others.get("a").await.unwrap().unwrap().cents, 1, "{fault:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_delete_that_is_made_again_from_a_form_was_committed_before_as_another_item_shows() {
    let (shop, table) = purse().await;
    let etag = table.others.get("delete").await.unwrap().unwrap().etag();
    let take = async || {
        let form = dynalock::Stored::assume(Account::new("delete", 5), etag.clone());
        let mut tx = Transaction::new(&shop.client).token("form-8");
        tx.delete(&table.items, form);
        tx.create(&table.items, Account::new("receipt", 5));
        tx.commit().await.map(drop)
    };
    take().await.unwrap();
    expect_error!(take().await, Error::AlreadyCommitted { .. });
}

#[tokio::test(start_paused = true)]
async fn a_reused_token_stays_an_error_if_the_items_cannot_be_read() {
    let (shop, table) = purse().await;
    let read = table.others.get("update").await.unwrap().unwrap();
    update(&shop, &table, &read).commit().await.unwrap();
    let mut other = update(&shop, &table, &read);
    other.check_absent(&table.items, "nobody");
    shop.faults.script_on("TransactGetItems", 0, Fault::AccessDenied);
    let error = other.commit().await.map(drop).unwrap_err();
    assert!(matches!(error, Error::TokenReused { .. }), "{error:?}");
    assert!(error.to_string().contains("HashSet"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn a_form_that_is_sent_again_under_its_token_says_that_it_was_committed() {
    let (shop, table) = purse().await;
    let etag = table.others.get("update").await.unwrap().unwrap().etag();
    let send = async |cents| {
        let form = dynalock::Stored::assume(Account::new("update", cents), etag.clone());
        let mut tx = Transaction::new(&shop.client).token("form-7");
        let op = tx.update(&table.items, form);
        tx.commit().await.map(|done| done.get(op).unwrap().version())
    };
    assert_eq!(send(9).await.unwrap(), 2);
    expect_error!(send(9).await, Error::AlreadyCommitted { .. });
    for cents in 10..30 {
        table.others.update_with("update", |account| account.cents = cents).await.unwrap();
    }
    expect_error!(send(9).await, Error::Cancelled(_));
}

/// A transaction whose first reply is lost. The retries meet contention until DynamoDB no longer
/// remembers the token.
async fn until_the_token_is_forgotten(shop: &Shop, tx: Transaction) -> dynalock::Result<()> {
    let operations = tx.len();
    shop.faults.script_on(TRANSACT, 0, Fault::LoseReply);
    shop.faults.always(Fault::canceled(
        std::iter::once("TransactionConflict").chain(std::iter::repeat_n("None", operations - 1)),
    ));
    let faults = shop.faults.clone();
    shop.rival.before(TRANSACT, 1_500, async move || faults.clear());
    tx.deadline(secs(3_600)).commit().await.map(drop)
}

#[tokio::test(start_paused = true)]
async fn a_forgotten_token_is_made_up_for_by_the_write_ids() {
    let (shop, table) = purse().await;
    let tx = transaction(&shop, &table).await;
    until_the_token_is_forgotten(&shop, tx).await.unwrap();
    assert_eq!((stored(&table).await, shop.counts([TRANSACT])), (Stored::After, [1_501]));
}

#[tokio::test(start_paused = true)]
async fn without_a_token_and_without_an_id_it_cannot_be_told() {
    let (shop, table) = purse().await;
    let mut tx = Transaction::new(&shop.client);
    tx.delete(&table.items, table.others.get("delete").await.unwrap().unwrap());
    tx.check_exists(&table.items, "check");
    let of = expect_error!(until_the_token_is_forgotten(&shop, tx).await, Error::Indeterminate { table, .. } => table);
    assert_eq!(*of, *table.name());
    assert_eq!(table.raw.get("delete").await, None);
}

/// A transaction whose first copy can still arrive when the second copy is refused.
async fn late(shop: &Shop, tx: Transaction) -> dynalock::Result<()> {
    shop.faults.script_on(TRANSACT, 0, Fault::DeliverLate(secs(30)));
    tx.commit().await.map(drop)
}

#[tokio::test(start_paused = true)]
async fn a_refusal_that_a_delayed_duplicate_may_not_meet_is_indeterminate() {
    for kind in ["when", "exists", "absent", "create"] {
        let (shop, table) = purse().await;
        let mut tx = Transaction::new(&shop.client);
        tx.create(&table.items, Account::new("late", 5));
        match kind {
            "when" => drop(tx.when(&table.items, "update", Account::ATTR.cents.ge(6))),
            "exists" => drop(tx.check_exists(&table.items, "create")),
            "absent" => drop(tx.check_absent(&table.items, "delete")),
            _ => drop(tx.create(&table.items, Account::new("delete", 6))),
        }
        expect_error!(late(&shop, tx).await, Error::Indeterminate { .. });
        assert_eq!(table.raw.get("late").await, None);
        table.others.update_with("update", |account| account.cents += 1).await.unwrap();
        table.others.create(Account::new("create", 5)).await.unwrap();
        table.others.delete_unchecked("delete").await.unwrap();
        settle().await;
        assert!(table.raw.get("late").await.is_some(), "{kind}: the test can fail");
    }
}

#[tokio::test(start_paused = true)]
async fn a_refusal_for_a_version_is_certain_for_delayed_duplicates_too() {
    for kind in ["update", "replace", "delete", "check"] {
        let (shop, table) = purse().await;
        let read = changed(table.others.get("update").await.unwrap().unwrap(), |it| it.cents = 9);
        table.others.update_with("update", |account| account.cents += 1).await.unwrap();
        let mut tx = Transaction::new(&shop.client);
        tx.create(&table.items, Account::new("late", 5));
        add(&mut tx, kind, &table.items, read);
        let cancelled = cancelled(late(&shop, tx).await);
        assert_eq!(codes(&cancelled)[..2], ["None", "ConditionalCheckFailed"], "{kind}");
        for _ in 0..3 {
            table.others.update_with("update", |account| account.cents += 1).await.unwrap();
        }
        settle().await;
        assert_eq!(table.raw.get("late").await, None, "{kind}");
    }
}
