//! The writes of a unit of work require that the items that it has read are unchanged, even if
//! another program wrote them without a version.

use std::sync::atomic::{AtomicU32, Ordering::SeqCst};

use crate::support::{Account, Product, Shop, Table, cancelled, changed, codes, invalid, item, n, s};
use dynalock::{Error, Stored, error::InvalidTransaction, transact};

cases![
    an_item_that_is_only_read_is_checked,
    an_absent_item_that_is_only_read_is_checked_for_absence,
    an_item_that_is_read_twice_is_the_same_whatever_others_write,
    an_item_that_is_read_twice_at_the_same_time_is_the_same,
    reads_may_run_at_the_same_time,
    an_item_cannot_be_read_after_it_was_written,
    an_item_can_be_read_after_it_was_checked,
    a_recreated_item_is_another_one_though_its_version_fits,
    a_value_from_elsewhere_is_written_as_what_it_is,
    an_item_without_a_version_is_adopted,
    an_item_without_a_version_that_changes_is_decided_anew,
    an_item_without_a_version_that_is_only_read_is_checked_by_its_content,
];

async fn an_item_that_is_only_read_is_checked(shop: &Shop) {
    let (products, accounts) = (&shop.table::<Product>().await, &shop.table::<Account>().await);
    products.others.create(Product::new("a", 5)).await.unwrap();
    accounts.others.create(Account::new("a", 0)).await.unwrap();
    shop.rival.before_through(&products.others, "TransactWriteItems", 0, async |others| {
        others.update_with("a", |product| product.stock = 9).await.unwrap();
    });
    let runs = &AtomicU32::new(0);
    let stock = transact(&shop.client, |tx| async move {
        runs.fetch_add(1, SeqCst);
        let product = tx.get(&products.items, "a").await?.unwrap();
        let account = changed(tx.get(&accounts.items, "a").await?.unwrap(), |it| it.cents = product.stock);
        tx.update(&accounts.items, account);
        Ok::<_, Error>(product.stock)
    });
    assert_eq!((stock.await.unwrap(), runs.load(SeqCst)), (9, 2));
    assert_eq!(accounts.raw.get("a").await.unwrap()["cents"], n(9));
    let sent = shop.actions();
    assert_eq!((sent[0].0.as_str(), &sent[0].1["TableName"]), ("Update", &accounts.name().into()));
    assert_eq!((sent[1].0.as_str(), &sent[1].1["TableName"]), ("ConditionCheck", &products.name().into()));
    assert_eq!(shop.counts(["GetItem", "TransactWriteItems"]), [2, 2]);
}

async fn an_absent_item_that_is_only_read_is_checked_for_absence(shop: &Shop) {
    let table = &shop.table::<Product>().await;
    shop.rival.before_through(&table.others, "TransactWriteItems", 0, async |others| {
        others.create(Product::new("a", 5)).await.unwrap();
    });
    let runs = &AtomicU32::new(0);
    let created = transact(&shop.client, |tx| async move {
        runs.fetch_add(1, SeqCst);
        let absent = tx.get(&table.items, "a").await?.is_none();
        let _ = tx.get(&table.items, "b").await?;
        if absent {
            tx.create(&table.items, Product::new("b", 5));
        }
        Ok::<_, Error>(absent)
    });
    assert_eq!((created.await.unwrap(), runs.load(SeqCst)), (false, 3), "the last run is on fresh items");
    assert_eq!(table.raw.get("b").await, None);
    assert_eq!(shop.counts(["GetItem", "TransactWriteItems"]), [4, 1]);
}

async fn an_item_that_is_read_twice_is_the_same_whatever_others_write(shop: &Shop) {
    let table = &shop.table_of([Product::new("a", 5)]).await;
    let runs = &AtomicU32::new(0);
    let product = transact(&shop.client, |tx| async move {
        let one = tx.get(&table.items, "a").await?.unwrap();
        if runs.fetch_add(1, SeqCst) == 0 {
            table.others.update_with("a", |product| product.stock = 9).await?;
        }
        let other = tx.get_many(&table.items, ["a"]).await?.pop().flatten().unwrap();
        assert_eq!(one, other);
        tx.update(&table.items, changed(one, |it| it.stock += 1));
        Ok::<_, Error>(other)
    });
    assert_eq!(product.await.unwrap().stock, 9);
    assert_eq!((table.raw.get("a").await.unwrap()["stock"].clone(), runs.load(SeqCst)), (n(10), 2));
    assert_eq!(shop.counts(["GetItem", "BatchGetItem", "UpdateItem"]), [1, 0, 2]);
}

async fn an_item_that_is_read_twice_at_the_same_time_is_the_same(shop: &Shop) {
    let table = &shop.table_of([Product::new("a", 5)]).await;
    shop.rival.before_through(&table.others, "GetItem", 1, async |others| {
        others.update_with("a", |product| product.stock = 9).await.unwrap();
    });
    let (one, other) = transact(&shop.client, |tx| async move {
        let (one, other) = tokio::join!(tx.get(&table.items, "a"), tx.get(&table.items, "a"));
        Ok::<_, Error>((one?.unwrap(), other?.unwrap()))
    })
    .await
    .unwrap();
    assert_eq!(one, other);
    assert_eq!(shop.counts(["GetItem"]), [2]);
}

async fn reads_may_run_at_the_same_time(shop: &Shop) {
    let table = &shop.table_of(["a", "b"].map(|key| Product::new(key, 5))).await;
    let move_one = transact(&shop.client, |tx| async move {
        let (from, to) = tokio::try_join!(tx.get(&table.items, "a"), tx.get(&table.items, "b"))?;
        let (mut from, mut to) = (from.unwrap(), to.unwrap());
        from.stock -= 1;
        to.stock += 1;
        let write = async |product: Stored<Product>| tx.clone().update(&table.items, product);
        tokio::join!(write(from), write(to));
        Ok::<_, Error>(())
    });
    move_one.await.unwrap();
    assert_eq!(table.raw.get("a").await.unwrap()["stock"], n(4));
    assert_eq!(table.raw.get("b").await.unwrap()["stock"], n(6));
}

async fn an_item_cannot_be_read_after_it_was_written(shop: &Shop) {
    let table = &shop.table::<Product>().await;
    let stored = &table.others.create(Product::new("a", 5)).await.unwrap();
    for kind in ["create", "update", "replace", "delete"] {
        for many in [false, true] {
            let result = transact(&shop.client, |tx| async move {
                match kind {
                    "create" => tx.create(&table.items, Product::new("a", 6)),
                    "update" => tx.update(&table.items, stored.clone()),
                    "replace" => tx.replace(&table.items, stored.clone()),
                    _ => tx.delete(&table.items, stored.clone()),
                }
                if many {
                    tx.get_many(&table.items, ["b", "a"]).await.map(drop)
                } else {
                    tx.get(&table.items, "a").await.map(drop)
                }
            });
            let why = invalid(result.await);
            assert!(
                matches!(&why, InvalidTransaction::ReadAfterWrite { table: of, .. } if **of == *table.name()),
                "{why:?}"
            );
        }
    }
    assert_eq!(shop.requests(), 0);
}

async fn an_item_can_be_read_after_it_was_checked(shop: &Shop) {
    let table = &shop.table::<Product>().await;
    let stored = &table.others.create(Product::new("a", 5)).await.unwrap();
    for kind in ["check", "check by etag", "exists", "absent", "when"] {
        let read = transact(&shop.client, |tx| async move {
            match kind {
                "check" => tx.check(&table.items, stored),
                "check by etag" => tx.check(&table.items, &Stored::assume(Product::new("a", 6), stored.etag())),
                "exists" => tx.check_exists(&table.items, "a"),
                "absent" => tx.check_absent(&table.items, "b"),
                _ => tx.when(&table.items, "a", Product::ATTR.stock.eq(5)),
            }
            let _ = tx.get(&table.items, "b").await?;
            tx.get(&table.items, "a").await
        });
        assert_eq!(read.await.unwrap().as_ref(), Some(stored), "{kind}");
    }
    assert_eq!(shop.counts(["TransactWriteItems"]), [5], "a check is sent, whatever it rests on");
}

async fn a_recreated_item_is_another_one_though_its_version_fits(shop: &Shop) {
    let table = &shop.table_of([Product::new("a", 5)]).await;
    let (raw, others) = (table.raw.clone(), table.others.clone());
    shop.rival.before("TransactWriteItems", 0, async move || {
        raw.delete("a").await;
        others.create(Product::new("a", 50)).await.unwrap();
    });
    let copy = transact(&shop.client, |tx| async move {
        let product = tx.get(&table.items, "a").await?.unwrap();
        tx.create(&table.items, Product::new("b", product.stock));
        Ok::<_, Error>(())
    });
    copy.await.unwrap();
    assert_eq!(table.raw.get("b").await.unwrap()["stock"], n(50));
}

async fn a_value_from_elsewhere_is_written_as_what_it_is(shop: &Shop) {
    let table = &shop.table::<Product>().await;
    let old = &table.others.create(Product::new("a", 5)).await.unwrap();
    let new = &table.others.update_with("a", |product| product.stock = 9).await.unwrap();
    for kind in ["update", "check", "assumed"] {
        let write = async |stored: &Stored<Product>| {
            let stored = stored.clone();
            let unit = transact(&shop.client, |tx| {
                let stored = stored.clone();
                async move {
                    tx.create(&table.items, Product::new(kind, 5));
                    match kind {
                        "update" => {
                            tx.update(&table.items, changed(stored, |it| it.note = Some(kind.to_owned())));
                        }
                        "check" => tx.check(&table.items, &stored),
                        _ => {
                            let edited = Product { note: Some(kind.to_owned()), ..Product::new("a", 9) };
                            tx.update(&table.items, Stored::assume(edited, stored.etag()));
                        }
                    }
                    Ok::<_, Error>(())
                }
            });
            unit.await
        };
        assert_eq!(codes(&cancelled(write(old).await)), ["None", "ConditionalCheckFailed"], "{kind}");
        let current = table.others.get("a").await.unwrap().unwrap();
        assert!(current.version() >= new.version());
        write(&current).await.unwrap();
        assert_eq!(table.raw.get(kind).await.unwrap()["stock"], n(5), "{kind}");
    }
    assert_eq!(table.others.get("a").await.unwrap().unwrap().note.as_deref(), Some("assumed"));
}

async fn foreign(shop: &Shop) -> Table<Product> {
    let foreign = |key| item([("sku", s(key)), ("stock", n(5)), ("note", s("none")), ("color", s("red"))]);
    shop.table_of_raw(["a", "b"].map(foreign)).await
}

async fn an_item_without_a_version_is_adopted(shop: &Shop) {
    let table = &foreign(shop).await;
    for keys in [&["a"][..], &["a", "b"]] {
        let unit = transact(&shop.client, |tx| async move {
            for key in keys {
                let product = changed(tx.get(&table.items, *key).await?.unwrap(), |it| it.stock += 1);
                tx.update(&table.items, product);
            }
            Ok::<_, Error>(())
        });
        unit.await.unwrap();
    }
    let stored = table.raw.get("a").await.unwrap();
    assert_eq!((&stored["_version"], &stored["stock"], &stored["color"]), (&n(2), &n(7), &s("red")));
    let stored = table.raw.get("b").await.unwrap();
    assert_eq!((&stored["_version"], &stored["stock"], &stored["color"]), (&n(1), &n(6), &s("red")));
    assert_eq!(shop.counts(["UpdateItem", "TransactWriteItems"]), [1, 1]);
}

async fn an_item_without_a_version_that_changes_is_decided_anew(shop: &Shop) {
    for alone in [true, false] {
        let table = &foreign(shop).await;
        let raw = table.raw.clone();
        let operation = if alone { "UpdateItem" } else { "TransactWriteItems" };
        // The unit of work does not write this item, but may have decided by its content.
        shop.rival.before(operation, 0, async move || raw.set("a", "note", s("fragile")).await);
        let runs = &AtomicU32::new(0);
        let unit = transact(&shop.client, |tx| async move {
            runs.fetch_add(1, SeqCst);
            let mut product = tx.get(&table.items, "a").await?.unwrap();
            product.stock = if product.note.as_deref() == Some("fragile") { 1 } else { 9 };
            tx.update(&table.items, product);
            if !alone {
                tx.create(&table.items, Product::new("c", 5));
            }
            Ok::<_, Error>(())
        });
        unit.await.unwrap();
        let stored = table.raw.get("a").await.unwrap();
        assert_eq!((&stored["stock"], &stored["note"], &stored["_version"]), (&n(1), &s("fragile"), &n(1)));
        assert_eq!(runs.load(SeqCst), 2, "alone: {alone}");
    }
}

async fn an_item_without_a_version_that_is_only_read_is_checked_by_its_content(shop: &Shop) {
    let table = &foreign(shop).await;
    let raw = table.raw.clone();
    shop.rival.before("TransactWriteItems", 0, async move || raw.set("a", "stock", n(50)).await);
    let unit = transact(&shop.client, |tx| async move {
        let stock = tx.get(&table.items, "a").await?.unwrap().stock;
        tx.create(&table.items, Product::new("c", stock));
        Ok::<_, Error>(())
    });
    unit.await.unwrap();
    assert_eq!(table.raw.get("c").await.unwrap()["stock"], n(50));
    assert_eq!(table.raw.get("a").await.unwrap().get("_version"), None);
    assert_eq!(shop.counts(["GetItem", "TransactWriteItems"]), [1, 2]);
}
