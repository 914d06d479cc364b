//! Values with an etag, in transactions.

use dynalock::{Error, Stored, Transaction};

use crate::support::{FAILED, NONE, Product, Shop, add, cancelled, codes, commit, expect_error, item, met, n, s};

cases![
    assumed_values_are_read_once_and_written,
    an_assumed_value_that_says_nothing_new_is_a_check,
    an_assumed_value_of_an_older_state_sends_no_write,
    an_assumed_value_is_a_conflict_if_the_item_changes_after_its_read,
    an_assumed_value_of_a_deleted_item_is_a_conflict,
    an_etag_of_another_key_is_refused,
    an_etag_of_an_unversioned_item_is_of_its_content,
];

async fn assumed_values_are_read_once_and_written(shop: &Shop) {
    let table = shop.table::<Product>().await;
    let mut etags = Vec::new();
    for key in ["update", "replace", "delete", "check"] {
        etags.push(table.others.create(Product::new(key, 5)).await.unwrap().etag());
        table.raw.set(key, "color", s("red")).await;
    }
    let mut assumed = ["update", "replace", "delete", "check"]
        .into_iter()
        .zip(etags)
        .map(|(key, etag)| Stored::assume(Product::new(key, 6), etag));
    let mut tx = Transaction::new(&shop.client);
    let update = tx.update(&table.items, assumed.next().unwrap());
    let replace = tx.replace(&table.items, assumed.next().unwrap());
    tx.delete(&table.items, assumed.next().unwrap());
    tx.check(&table.items, &assumed.next().unwrap());
    let done = tx.commit().await.unwrap();
    let update = done.get(update).unwrap();
    assert_eq!((update.version(), update.stock), (2, 6));
    assert_eq!(done.get(replace).unwrap().version(), 2);
    assert_eq!(table.raw.get("update").await.unwrap()["color"], s("red"));
    assert_eq!(table.raw.get("replace").await.unwrap().get("color"), None);
    assert_eq!(table.raw.get("delete").await, None);
    assert_eq!(table.raw.get("check").await.unwrap()["stock"], n(5));
    assert_eq!(shop.counts(["GetItem", "TransactWriteItems"]), [4, 1]);
}

async fn an_assumed_value_that_says_nothing_new_is_a_check(shop: &Shop) {
    let (table, stored) = shop.stored(Product::new("a", 5)).await;
    let mut tx = Transaction::new(&shop.client);
    let update = tx.update(&table.items, Stored::assume(Product::new("a", 5), stored.etag()));
    tx.create(&table.items, Product::new("b", 5));
    assert_eq!(tx.commit().await.unwrap().get(update).unwrap(), stored);
    assert_eq!(table.others.get("a").await.unwrap().unwrap().etag(), stored.etag());
}

async fn an_assumed_value_of_an_older_state_sends_no_write(shop: &Shop) {
    let (table, created) = shop.stored(Product::new("a", 5)).await;
    let current = table.others.update_with("a", |product| product.stock = 9).await.unwrap();
    for kind in ["update", "replace", "delete", "check"] {
        let assumed = Stored::assume(Product::new("a", 6), created.etag());
        let mut tx = Transaction::new(&shop.client);
        tx.create(&table.items, Product::new("b", 5));
        add(&mut tx, kind, &table.items, assumed);
        let cancelled = cancelled(tx.commit().await);
        assert_eq!(codes(&cancelled), [NONE, FAILED], "{kind}");
        let now = cancelled.reasons().nth(1).unwrap().current::<Product>().unwrap();
        assert_eq!(now, Some(current.clone()), "{kind}");
    }
    assert_eq!(shop.counts(["GetItem", "TransactWriteItems"]), [4, 0]);
    assert_eq!(table.others.get("a").await.unwrap(), Some(current));
}

async fn an_assumed_value_is_a_conflict_if_the_item_changes_after_its_read(shop: &Shop) {
    let (table, created) = shop.stored(Product::new("a", 5)).await;
    shop.rival.before_through(&table.others, "TransactWriteItems", 0, async |others| {
        others.update_with("a", |product| product.stock = 9).await.unwrap();
    });
    let mut tx = Transaction::new(&shop.client);
    let update = tx.update(&table.items, Stored::assume(Product::new("a", 6), created.etag()));
    tx.create(&table.items, Product::new("b", 5));
    let now = met(&cancelled(tx.commit().await), &update).unwrap();
    assert_eq!((now.version(), now.stock), (2, 9));
    assert_eq!(table.raw.get("b").await, None);
}

async fn an_assumed_value_of_a_deleted_item_is_a_conflict(shop: &Shop) {
    let (table, created) = shop.stored(Product::new("a", 5)).await;
    table.raw.delete("a").await;
    let mut tx = Transaction::new(&shop.client);
    let update = tx.update(&table.items, Stored::assume(Product::new("a", 6), created.etag()));
    assert_eq!(met(&cancelled(tx.commit().await), &update), None);
    assert_eq!(table.raw.get("a").await, None);
}

async fn an_etag_of_another_key_is_refused(shop: &Shop) {
    let (table, created) = shop.stored(Product::new("a", 5)).await;
    table.others.create(Product::new("b", 5)).await.unwrap();
    let result =
        commit(&shop.client, |tx| tx.update(&table.items, Stored::assume(Product::new("b", 6), created.etag()))).await;
    expect_error!(result, Error::KeyChanged { .. });
    assert_eq!(shop.requests(), 0);
}

async fn an_etag_of_an_unversioned_item_is_of_its_content(shop: &Shop) {
    let table = shop.table_of_raw::<Product>([item([("sku", s("a")), ("stock", n(5))])]).await;
    let etag = table.others.get("a").await.unwrap().unwrap().etag();
    let edit = || {
        let mut tx = Transaction::new(&shop.client);
        tx.update(&table.items, Stored::assume(Product::new("a", 6), etag.clone()));
        tx.check_absent(&table.items, "b");
        tx
    };
    edit().commit().await.unwrap();
    let adopted = table.raw.get("a").await.unwrap();
    assert_eq!((&adopted["stock"], &adopted["_version"]), (&n(6), &n(1)));
    assert_eq!(codes(&cancelled(edit().commit().await)), [FAILED, NONE]);
}
