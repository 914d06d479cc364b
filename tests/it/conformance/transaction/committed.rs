//! The results of committed transactions.

use dynalock::{Error, Stored, Transaction, Versioned, transaction::Reason};
use serde::{Deserialize, Serialize};

use crate::support::{
    Account, FAILED, NONE, Product, Shop, add, cancelled, changed, codes, expect_error, item, met, n, s,
};

cases![
    what_each_operation_left_can_be_written_again_without_a_read,
    an_update_that_changes_nothing_leaves_the_version,
    an_update_that_changes_nothing_is_a_check,
    foreign_attributes_survive_an_update_and_not_a_replace,
    a_handle_of_another_transaction_is_an_error,
    a_value_is_new_only_when_its_transaction_was_acknowledged,
    an_item_without_a_version_is_adopted,
    an_item_without_a_version_is_not_adopted_if_it_changed,
    a_changed_key_is_refused_before_sending,
    a_version_in_the_struct_mirrors_what_was_written,
];

/// An item that shows its version.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Versioned)]
#[dynalock(table = "pages")]
struct Page {
    #[dynalock(partition_key)]
    path: String,
    #[dynalock(version)]
    revision: u64,
    text: String,
}

async fn what_each_operation_left_can_be_written_again_without_a_read(shop: &Shop) {
    let (products, mut updated) = shop.stored(Product::new("updated", 1)).await;
    let (accounts, mut replaced) = shop.stored(Account::new("replaced", 1)).await;
    updated.stock = 2;
    replaced.cents = 2;
    let mut tx = Transaction::new(&shop.client);
    let create = tx.create(&products.items, Product::new("created", 2));
    let replace = tx.replace(&accounts.items, replaced);
    let update = tx.update(&products.items, updated);
    let done = tx.commit().await.unwrap();
    let mut update: Stored<Product> = done.get(update).unwrap();
    let mut create = done.get(create).unwrap();
    let mut replace = done.get(replace).unwrap();
    assert_eq!((create.version(), create.stock), (1, 2));
    assert_eq!((update.version(), update.stock), (2, 2));
    assert_eq!((replace.version(), replace.cents), (2, 2));
    assert_eq!(products.others.get("created").await.unwrap().unwrap().etag(), create.etag());
    assert_eq!(products.others.get("updated").await.unwrap().unwrap().etag(), update.etag());
    assert_eq!(accounts.others.get("replaced").await.unwrap().unwrap().etag(), replace.etag());

    (create.stock, update.stock, replace.cents) = (3, 3, 3);
    let create = products.items.update(create).await.unwrap();
    assert_eq!((create.version(), create.stock), (2, 3));
    let mut tx = Transaction::new(&shop.client);
    let update = tx.update(&products.items, update);
    let replace = tx.update(&accounts.items, replace);
    tx.delete(&products.items, create);
    let done = tx.commit().await.unwrap();
    assert_eq!(done.get(update).unwrap().version(), 3);
    assert_eq!(done.get(replace).unwrap().version(), 3);
    assert_eq!(products.raw.get("created").await, None);
    assert_eq!(products.raw.get("updated").await.unwrap()["stock"], n(3));
    assert_eq!(accounts.raw.get("replaced").await.unwrap()["cents"], n(3));
    assert_eq!(shop.counts(["GetItem", "BatchGetItem", "TransactGetItems"]), [0, 0, 0]);
}

async fn an_update_that_changes_nothing_leaves_the_version(shop: &Shop) {
    let (table, mut same) = shop.stored(Product::new("a", 5)).await;
    same.stock += 0;
    let mut tx = Transaction::new(&shop.client);
    let update = tx.update(&table.items, same.clone());
    tx.create(&table.items, Product::new("b", 5));
    let left = tx.commit().await.unwrap().get(update).unwrap();
    assert_eq!((left.version(), left.etag(), left.stock), (1, same.etag(), 5));
    assert_eq!(table.others.get("a").await.unwrap(), Some(left.clone()));
    let left = changed(left, |it| it.stock = 6);
    assert_eq!(table.items.update(left).await.unwrap().version(), 2);
}

async fn an_update_that_changes_nothing_is_a_check(shop: &Shop) {
    let (table, same) = shop.stored(Product::new("a", 5)).await;
    let current = table.others.update_with("a", |product| product.stock = 9).await.unwrap();
    let mut tx = Transaction::new(&shop.client);
    let update = tx.update(&table.items, same);
    tx.create(&table.items, Product::new("b", 5));
    let cancelled = cancelled(tx.commit().await);
    assert_eq!(met(&cancelled, &update), Some(current));
    assert_eq!(table.raw.get("b").await, None);
}

async fn foreign_attributes_survive_an_update_and_not_a_replace(shop: &Shop) {
    let table = shop.table::<Product>().await;
    let mut tx = Transaction::new(&shop.client);
    for key in ["update", "replace"] {
        table.others.create(Product::new(key, 5)).await.unwrap();
        table.raw.set(key, "color", s("red")).await;
    }
    let update = changed(table.items.get("update").await.unwrap().unwrap(), |it| it.stock = 6);
    tx.update(&table.items, update);
    tx.replace(&table.items, table.items.get("replace").await.unwrap().unwrap());
    tx.commit().await.unwrap();
    let update = table.raw.get("update").await.unwrap();
    assert_eq!((&update["color"], &update["stock"], &update["_version"]), (&s("red"), &n(6), &n(2)));
    let replace = table.raw.get("replace").await.unwrap();
    assert_eq!((replace.get("color"), &replace["_version"]), (None, &n(2)));
}

async fn a_handle_of_another_transaction_is_an_error(shop: &Shop) {
    let table = shop.table::<Product>().await;
    let mut other = Transaction::new(&shop.client);
    let foreign = other.create(&table.items, Product::new("other", 5));
    let foreign_check = other.check_exists(&table.items, "other");
    let create = |key| {
        let mut tx = Transaction::new(&shop.client);
        tx.create(&table.items, Product::new(key, 5));
        tx
    };
    table.others.create(Product::new("a", 5)).await.unwrap();
    let cancelled = cancelled(create("a").commit().await);
    assert!(matches!(cancelled.reason(&foreign), Reason::ForeignHandle), "{cancelled:?}");
    assert!(matches!(cancelled.reason(&foreign_check), Reason::ForeignHandle), "{cancelled:?}");
    let done = create("b").commit().await.unwrap();
    expect_error!(done.get(foreign), Error::ForeignHandle);
}

async fn a_value_is_new_only_when_its_transaction_was_acknowledged(shop: &Shop) {
    let table = shop.table_of([Product::new("taken", 5)]).await;
    let kept = changed(table.others.create(Product::new("a", 5)).await.unwrap(), |it| it.stock = 6);
    let mut tx = Transaction::new(&shop.client);
    tx.update(&table.items, kept.clone());
    tx.create(&table.items, Product::new("taken", 9));
    cancelled(tx.commit().await);
    assert_eq!((kept.version(), kept.stock), (1, 6));
    // The value can be written as soon as the reason of its refusal has disappeared.
    let mut tx = Transaction::new(&shop.client);
    let update = tx.update(&table.items, kept);
    tx.check_exists(&table.items, "taken");
    let left = tx.commit().await.unwrap().get(update).unwrap();
    assert_eq!((left.version(), left.stock), (2, 6));
    assert_eq!(table.raw.get("a").await.unwrap()["_version"], n(2));
}

async fn an_item_without_a_version_is_adopted(shop: &Shop) {
    let foreign = |key| item([("sku", s(key)), ("stock", n(5)), ("color", s("red"))]);
    let table = shop.table_of_raw::<Product>(["update", "replace", "delete", "check"].map(foreign)).await;
    let read = async |key: &str| table.items.get(key).await.unwrap().unwrap();
    let changed = changed(read("update").await, |it| it.stock = 6);
    let mut tx = Transaction::new(&shop.client);
    let update = tx.update(&table.items, changed);
    let replace = tx.replace(&table.items, read("replace").await);
    tx.delete(&table.items, read("delete").await);
    tx.check(&table.items, &read("check").await);
    let done = tx.commit().await.unwrap();
    assert_eq!(done.get(update).unwrap().version(), 1);
    assert_eq!(done.get(replace).unwrap().version(), 1);
    let stored = table.raw.get("update").await.unwrap();
    assert_eq!((&stored["_version"], &stored["stock"], &stored["color"]), (&n(1), &n(6), &s("red")));
    assert_eq!(table.raw.get("delete").await, None);
    assert_eq!(table.raw.get("check").await.unwrap().get("_version"), None);
}

async fn an_item_without_a_version_is_not_adopted_if_it_changed(shop: &Shop) {
    let table = shop.table::<Product>().await;
    for kind in ["update", "replace", "delete", "check"] {
        let foreign = item([("sku", s(kind)), ("stock", n(5)), ("color", s("red"))]);
        table.raw.put(foreign).await;
        let read = table.items.get(kind).await.unwrap().unwrap();
        table.raw.set(kind, "stock", n(9)).await;
        let mut tx = Transaction::new(&shop.client);
        tx.check_absent(&table.items, "nothing");
        add(&mut tx, kind, &table.items, if kind == "update" { changed(read, |it| it.stock = 6) } else { read });
        let cancelled = cancelled(tx.commit().await);
        assert_eq!(codes(&cancelled), [NONE, FAILED], "{kind}");
        let stored = table.raw.get(kind).await.unwrap();
        assert_eq!((&stored["stock"], stored.get("_version")), (&n(9), None), "{kind}");
    }
}

async fn a_changed_key_is_refused_before_sending(shop: &Shop) {
    let (table, mut stored) = shop.stored(Product::new("a", 5)).await;
    stored.sku = "b".to_owned();
    for kind in ["update", "replace", "delete", "check"] {
        let mut tx = Transaction::new(&shop.client);
        add(&mut tx, kind, &table.items, stored.clone());
        let result = tx.commit().await;
        assert!(matches!(result, Err(Error::KeyChanged { .. })), "{kind}: {result:?}");
    }
    assert_eq!(shop.requests(), 0);
    assert_eq!(table.raw.get("b").await, None);
}

async fn a_version_in_the_struct_mirrors_what_was_written(shop: &Shop) {
    let table = shop.table::<Page>().await;
    let page = |path: &str, text: &str| Page { path: path.to_owned(), revision: 77, text: text.to_owned() };
    let stored = changed(table.others.create(page("a", "one")).await.unwrap(), |it| it.text = "two".to_owned());
    let mut tx = Transaction::new(&shop.client);
    let update = tx.update(&table.items, stored);
    let create = tx.create(&table.items, page("b", "one"));
    let done = tx.commit().await.unwrap();
    let (update, create) = (done.get(update).unwrap(), done.get(create).unwrap());
    assert_eq!((update.revision, create.revision), (2, 1));
    assert_eq!(table.others.get("a").await.unwrap(), Some(update));
    assert_eq!(table.others.get("b").await.unwrap(), Some(create));
    let mut tx = Transaction::new(&shop.client);
    let create = tx.create(&table.items, page("a", "three"));
    let now = met(&cancelled(tx.commit().await), &create).unwrap();
    assert_eq!((now.revision, now.text.as_str()), (2, "two"));
}
