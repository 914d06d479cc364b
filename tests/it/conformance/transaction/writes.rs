//! The requests of a unit of work.

use std::sync::atomic::{AtomicU32, Ordering::SeqCst};

use dynalock::{Error, Tx, error::InvalidTransaction, transact};

use crate::support::{
    FAILED, NONE, Product, Refused, Shop, Table, cancelled, changed, codes, expect_error, invalid, n,
};

cases![
    one_update_and_nothing_else_is_a_plain_write,
    one_update_with_a_condition_of_its_own_item_is_a_plain_write,
    a_unit_that_writes_nothing_sends_nothing_but_its_reads,
    a_unit_that_refuses_sends_nothing_but_its_reads,
    a_create_over_an_item_that_was_not_read_is_refused_at_once,
    a_false_condition_is_refused_at_once,
    two_writes_of_one_item_are_refused,
    a_handle_that_outlives_its_closure_is_an_error_and_nothing_is_written,
    a_unit_that_never_gets_through_gives_up_after_its_attempts,
];

async fn products(shop: &Shop) -> Table<Product> {
    shop.table_of(["update", "replace", "delete"].map(|key| Product::new(key, 5))).await
}

async fn one_update_and_nothing_else_is_a_plain_write(shop: &Shop) {
    let table = &products(shop).await;
    for kind in ["create", "create unread", "update", "replace", "delete"] {
        let unit = transact(&shop.client, |tx| async move {
            if kind == "create unread" {
                tx.create(&table.items, Product::new(kind, 5));
                return Ok(());
            }
            let read = tx.get(&table.items, kind).await?;
            match (kind, read) {
                (_, None) => tx.create(&table.items, Product::new(kind, 5)),
                ("update", Some(product)) => {
                    tx.update(&table.items, changed(product, |it| it.stock = 6));
                }
                ("replace", Some(product)) => tx.replace(&table.items, product),
                (_, Some(product)) => tx.delete(&table.items, product),
            }
            Ok::<_, Error>(())
        });
        unit.await.unwrap();
    }
    let operations = ["GetItem", "PutItem", "UpdateItem", "DeleteItem", "TransactWriteItems"];
    // A create and a delete have a token. Without a token, a repeated create or delete could undo
    // the writes of other callers.
    assert_eq!(shop.counts(operations), [4, 1, 1, 0, 3]);
    assert_eq!(table.raw.get("create").await.unwrap()["_version"], n(1));
    assert_eq!(table.raw.get("create unread").await.unwrap()["_version"], n(1));
    assert_eq!(table.raw.get("update").await.unwrap()["stock"], n(6));
    assert_eq!(table.raw.get("replace").await.unwrap()["_version"], n(2));
    assert_eq!(table.raw.get("delete").await, None);
}

async fn one_update_with_a_condition_of_its_own_item_is_a_plain_write(shop: &Shop) {
    let table = &products(shop).await;
    for (least, written) in [(5, true), (7, false)] {
        let unit = transact(&shop.client, |tx| async move {
            let product = changed(tx.get(&table.items, "update").await?.unwrap(), |it| it.stock += 1);
            tx.when(&table.items, "update", Product::ATTR.stock.ge(least));
            tx.update(&table.items, product);
            Ok::<_, Error>(())
        });
        match written {
            true => unit.await.unwrap(),
            false => assert_eq!(codes(&cancelled(unit.await)), [FAILED, FAILED]),
        }
        assert_eq!(table.raw.get("update").await.unwrap()["stock"], n(6));
    }
    assert_eq!(shop.counts(["UpdateItem", "TransactWriteItems"]), [2, 0]);
}

async fn a_unit_that_writes_nothing_sends_nothing_but_its_reads(shop: &Shop) {
    let table = &products(shop).await;
    let read = transact(&shop.client, |tx| async move {
        let update = tx.get(&table.items, "update").await?.unwrap();
        let replace = changed(tx.get(&table.items, "replace").await?.unwrap(), |it| it.stock += 0);
        tx.update(&table.items, replace.clone());
        Ok::<_, Error>(update.stock + replace.stock)
    });
    assert_eq!(read.await.unwrap(), 10);
    assert_eq!((shop.counts(["GetItem"]), shop.requests()), ([2], 2));
    assert_eq!(transact(&shop.client, async |_| Ok::<_, Error>(7)).await.unwrap(), 7);
    assert_eq!(shop.requests(), 2);
}

async fn a_unit_that_refuses_sends_nothing_but_its_reads(shop: &Shop) {
    let table = &products(shop).await;
    let runs = &AtomicU32::new(0);
    let unit = transact(&shop.client, |tx| async move {
        runs.fetch_add(1, SeqCst);
        let product = tx.get(&table.items, "update").await?.unwrap();
        let _ = tx.get(&table.items, "replace").await?;
        tx.update(&table.items, changed(product, |it| it.stock = 0));
        tx.create(&table.items, Product::new("new", 5));
        Refused::here::<()>("no")
    });
    assert!(matches!(unit.await, Err(Refused::Here(why)) if why == "no"));
    assert_eq!((shop.counts(["GetItem"]), shop.requests(), runs.load(SeqCst)), ([2], 2, 1));
    assert_eq!(table.raw.get("update").await.unwrap()["stock"], n(5));
    assert_eq!(table.raw.get("new").await, None);
}

async fn a_create_over_an_item_that_was_not_read_is_refused_at_once(shop: &Shop) {
    let table = &products(shop).await;
    for alone in [true, false] {
        let runs = &AtomicU32::new(0);
        let unit = transact(&shop.client, |tx| async move {
            runs.fetch_add(1, SeqCst);
            if !alone {
                tx.create(&table.items, Product::new("new", 1));
            }
            tx.create(&table.items, Product::new("update", 1));
            Ok::<_, Error>(())
        });
        let cancelled = cancelled(unit.await);
        let expected = if alone { &[FAILED][..] } else { &[NONE, FAILED] };
        assert_eq!((&*codes(&cancelled), cancelled.spent().attempts, runs.load(SeqCst)), (expected, 1, 1));
        let met = cancelled.reasons().last().unwrap().current::<Product>().unwrap().unwrap();
        assert_eq!((met.version(), met.stock), (1, 5));
    }
    assert_eq!(table.raw.get("new").await, None);
}

async fn a_false_condition_is_refused_at_once(shop: &Shop) {
    let table = &products(shop).await;
    for read in [true, false] {
        let runs = &AtomicU32::new(0);
        let unit = transact(&shop.client, |tx| async move {
            runs.fetch_add(1, SeqCst);
            if read {
                let _ = tx.get(&table.items, "update").await?;
            }
            tx.when(&table.items, "update", Product::ATTR.stock.ge(6));
            tx.create(&table.items, Product::new("new", 1));
            Ok::<_, Error>(())
        });
        let cancelled = cancelled(unit.await);
        assert_eq!(codes(&cancelled)[..2], [FAILED, NONE]);
        assert_eq!(runs.load(SeqCst), 1);
    }
    assert_eq!(table.raw.get("new").await, None);
}

async fn two_writes_of_one_item_are_refused(shop: &Shop) {
    let table = &products(shop).await;
    let unit = transact(&shop.client, |tx| async move {
        let product = tx.get(&table.items, "delete").await?.unwrap();
        tx.delete(&table.items, product);
        tx.create(&table.items, Product::new("delete", 1));
        Ok::<_, Error>(())
    });
    let why = invalid(unit.await);
    assert!(matches!(why, InvalidTransaction::SameItem { first: 0, second: 1, .. }), "{why:?}");
    assert_eq!(table.raw.get("delete").await.unwrap()["_version"], n(1));
}

async fn a_handle_that_outlives_its_closure_is_an_error_and_nothing_is_written(shop: &Shop) {
    let table = &products(shop).await;
    let returned = transact(&shop.client, |tx: Tx| async move {
        tx.create(&table.items, Product::new("new", 1));
        Ok::<_, Error>(tx)
    });
    assert!(matches!(invalid(returned.await), InvalidTransaction::Escaped));

    let (items, kept) = (table.items.clone(), &std::sync::Mutex::new(Vec::new()));
    let stored_away = transact(&shop.client, |tx: Tx| {
        let items = items.clone();
        async move {
            tx.create(&items, Product::new("new", 1));
            kept.lock().unwrap().push(tx.clone());
            Ok::<_, Error>(())
        }
    });
    assert!(matches!(invalid(stored_away.await), InvalidTransaction::Escaped));
    // Later calls on this handle have no effect.
    kept.lock().unwrap()[0].create(&table.items, Product::new("later", 1));
    assert_eq!(shop.requests(), 0);
    assert_eq!(table.raw.get("new").await, None);
}

async fn a_unit_that_never_gets_through_gives_up_after_its_attempts(shop: &Shop) {
    let table = &products(shop).await;
    let others = table.others.clone();
    shop.rival.before_each("TransactWriteItems", move || {
        let others = others.clone();
        async move { drop(others.update_with("update", |product| product.stock += 1).await.unwrap()) }
    });
    let unit = transact(&shop.client, |tx| async move {
        let product = changed(tx.get(&table.items, "update").await?.unwrap(), |it| it.stock = 0);
        tx.update(&table.items, product);
        tx.check_exists(&table.items, "replace");
        Ok::<_, Error>(())
    });
    let result = unit.attempts(6).await;
    let (attempts, last) = expect_error!(result, Error::Exhausted { spent, last, .. } => (spent.attempts, last));
    assert_eq!((attempts, shop.counts(["TransactWriteItems"])), (6, [6]));
    let cancelled = expect_error!(Err::<(), _>(*last), Error::Cancelled(cancelled) => cancelled);
    assert!(matches!(codes(&cancelled)[..], [FAILED, NONE]), "{cancelled:?}");
    assert_eq!(table.raw.get("update").await.unwrap()["stock"], n(11));
}
