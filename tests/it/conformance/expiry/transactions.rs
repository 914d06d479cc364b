//! Transactions and units of work treat an expired item as absent, on the condition that the item
//! does not change before the commit.

use std::sync::atomic::{AtomicU32, Ordering};

use dynalock::{Error, Transaction, error::CancellationClass};

use super::{Session, now, sessions};
use crate::support::{Product, Shop, Table, changed, commit, expect_error, n};

cases![
    a_snapshot_shows_no_expired_item,
    a_transaction_creates_over_an_expired_item,
    a_check_of_absence_passes_on_an_expired_item,
    a_check_of_absence_fails_if_the_expired_item_is_revived,
    a_check_of_absence_fails_if_a_program_without_versions_revives_the_item,
    a_check_of_existence_fails_on_an_expired_item,
    a_transaction_under_a_token_is_refused_by_an_expired_item,
    a_unit_of_work_sees_no_expired_item_and_creates_over_it,
    a_unit_of_work_that_did_not_read_creates_over_an_expired_item,
    a_unit_of_work_runs_again_if_the_expired_item_was_revived,
    a_decision_on_absence_holds_only_while_the_expired_item_is_unchanged,
    a_decision_on_absence_ends_if_a_program_without_versions_revives_the_item,
];

async fn a_snapshot_shows_no_expired_item(shop: &Shop) {
    let table = sessions(shop).await;
    let mut get = Transaction::get(&shop.client);
    let (over, alive) = (get.item(&table.items, "over"), get.item(&table.items, "alive"));
    let snapshot = get.fetch().await.unwrap();
    assert_eq!((snapshot.get(over).unwrap(), snapshot.get(alive).unwrap().is_some()), (None, true));
}

async fn a_transaction_creates_over_an_expired_item(shop: &Shop) {
    let table = sessions(shop).await;
    let mut tx = Transaction::new(&shop.client);
    let over = tx.create(&table.items, Session::alive("over"));
    tx.create(&table.items, Session::alive("new"));
    let committed = tx.commit().await.unwrap();
    let created = committed.get(over).unwrap();
    assert_eq!((created.version(), table.items.get("over").await.unwrap()), (1, Some(created.clone())));
    assert!(table.items.get("new").await.unwrap().is_some());
    let next = table.items.update(changed(created, |it| it.user = "bob".to_owned())).await.unwrap();
    assert_eq!(next.version(), 2);
    let mut tx = Transaction::new(&shop.client);
    tx.create(&table.items, Session::alive("alive"));
    expect_error!(tx.commit().await, Error::Cancelled(_));
}

async fn a_check_of_absence_passes_on_an_expired_item(shop: &Shop) {
    let (table, products) = (sessions(shop).await, shop.table::<Product>().await);
    let mut tx = Transaction::new(&shop.client);
    tx.check_absent(&table.items, "over");
    tx.check_absent(&table.items, "missing");
    tx.create(&products.items, Product::new("a", 1));
    tx.commit().await.unwrap();
    let mut tx = Transaction::new(&shop.client);
    tx.check_absent(&table.items, "alive");
    tx.create(&products.items, Product::new("b", 1));
    let refused = expect_error!(tx.commit().await, Error::Cancelled(refused) => refused);
    assert_eq!(refused.reasons().filter(|reason| reason.class() == Some(CancellationClass::Conflict)).count(), 1);
    assert_eq!(products.items.get("b").await.unwrap(), None);
}

async fn a_check_of_absence_fails_if_the_expired_item_is_revived(shop: &Shop) {
    a_check_of_absence_fails(shop, Program::WithVersions).await;
}

async fn a_check_of_absence_fails_if_a_program_without_versions_revives_the_item(shop: &Shop) {
    a_check_of_absence_fails(shop, Program::WithoutVersions).await;
}

async fn a_check_of_absence_fails(shop: &Shop, by: Program) {
    let (table, products) = (sessions(shop).await, shop.table::<Product>().await);
    // The first refusal returns the expired item. Another caller revives the item before the
    // transaction is sent again.
    revive(shop, &table, by, "TransactWriteItems", 1);
    let mut tx = Transaction::new(&shop.client);
    tx.check_absent(&table.items, "over");
    tx.create(&products.items, Product::new("a", 1));
    expect_error!(tx.commit().await, Error::Cancelled(_));
    assert_eq!((products.items.get("a").await.unwrap(), shop.counts(["TransactWriteItems"])), (None, [2]));
}

async fn a_check_of_existence_fails_on_an_expired_item(shop: &Shop) {
    let (table, products) = (sessions(shop).await, shop.table::<Product>().await);
    for (id, exists) in [("alive", true), ("over", false), ("missing", false)] {
        let mut tx = Transaction::new(&shop.client);
        tx.check_exists(&table.items, id);
        tx.create(&products.items, Product::new(id, 1));
        assert_eq!(tx.commit().await.is_ok(), exists, "{id}");
        assert_eq!(products.items.get(id).await.unwrap().is_some(), exists, "{id}");
    }
}

async fn a_transaction_under_a_token_is_refused_by_an_expired_item(shop: &Shop) {
    let table = sessions(shop).await;
    let mut tx = Transaction::new(&shop.client).token(table.name());
    tx.create(&table.items, Session::alive("over"));
    expect_error!(tx.commit().await, Error::Cancelled(_));
    assert_eq!(shop.counts(["TransactWriteItems"]), [1], "the token has one content");
}

async fn a_unit_of_work_sees_no_expired_item_and_creates_over_it(shop: &Shop) {
    let table = sessions(shop).await;
    let items = &table.items;
    let created: Result<(), Error> = dynalock::transact(&shop.client, |tx| async move {
        assert_eq!(tx.get(items, "over").await?, None);
        let many = tx.get_many(items, ["over", "alive"]).await?;
        assert_eq!(many.iter().map(Option::is_some).collect::<Vec<_>>(), [false, true]);
        tx.create(items, Session::alive("over"));
        Ok(())
    })
    .await;
    created.unwrap();
    assert_eq!(items.get("over").await.unwrap().unwrap().version(), 1);
    assert_eq!(shop.counts(["TransactWriteItems"]), [1], "no attempt was refused");
}

async fn a_unit_of_work_that_did_not_read_creates_over_an_expired_item(shop: &Shop) {
    let table = sessions(shop).await;
    let items = &table.items;
    let created: Result<(), Error> = dynalock::transact(&shop.client, |tx| async move {
        tx.create(items, Session::alive("over"));
        Ok(())
    })
    .await;
    created.unwrap();
    assert_eq!(items.get("over").await.unwrap().unwrap().version(), 1);
}

/// The program that revives an expired item.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Program {
    WithVersions,
    /// The program updates the time to live, but not the version.
    WithoutVersions,
}

/// Revives the expired session right before the `nth` request of an operation.
fn revive(shop: &Shop, table: &Table<Session>, by: Program, operation: &str, nth: usize) {
    let (others, raw) = (table.others.clone(), table.raw.clone());
    shop.rival.before(operation, nth, async move || {
        if by == Program::WithoutVersions {
            return raw.set("over", "until", n(now() + 60)).await;
        }
        let over = others.get("over").including_expired().await.unwrap().unwrap();
        others.update(changed(over, |it| it.until = Some(now() + 60))).await.unwrap();
    });
}

async fn a_unit_of_work_runs_again_if_the_expired_item_was_revived(shop: &Shop) {
    let table = sessions(shop).await;
    // A single write over a revision is a plain conditional write.
    revive(shop, &table, Program::WithVersions, "PutItem", 0);
    let (items, runs) = (&table.items, &AtomicU32::new(0));
    let found: Result<bool, Error> = dynalock::transact(&shop.client, |tx| async move {
        runs.fetch_add(1, Ordering::Relaxed);
        let found = tx.get(items, "over").await?.is_some();
        if !found {
            tx.create(items, Session::alive("over"));
        }
        Ok(found)
    })
    .await;
    assert_eq!((found.unwrap(), runs.load(Ordering::Relaxed)), (true, 2));
}

async fn a_decision_on_absence_holds_only_while_the_expired_item_is_unchanged(shop: &Shop) {
    a_decision_on_absence_ends(shop, Program::WithVersions).await;
}

async fn a_decision_on_absence_ends_if_a_program_without_versions_revives_the_item(shop: &Shop) {
    a_decision_on_absence_ends(shop, Program::WithoutVersions).await;
}

async fn a_decision_on_absence_ends(shop: &Shop, by: Program) {
    let (table, products) = (sessions(shop).await, shop.table::<Product>().await);
    revive(shop, &table, by, "TransactWriteItems", 0);
    let (items, products) = (&table.items, &products.items);
    let found: Result<bool, Error> = dynalock::transact(&shop.client, |tx| async move {
        let found = tx.get(items, "over").await?.is_some();
        tx.create(products, Product::new(if found { "found" } else { "missing" }, 1));
        Ok(found)
    })
    .await;
    assert!(found.unwrap());
    assert_eq!(products.get("missing").await.unwrap(), None);
    assert!(products.get("found").await.unwrap().is_some());
    drop(commit(&shop.client, |tx| tx.check_exists(items, "over")).await.unwrap());
    let over = items.get("over").await.unwrap().unwrap();
    items.update(changed(over, |it| it.until = Some(now() - 100))).await.unwrap();
    let refused = commit(&shop.client, |tx| tx.check_exists(items, "over")).await;
    expect_error!(refused, Error::Cancelled(_));
}
