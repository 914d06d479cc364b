//! Cancellations whose item does not fit the type of its operation, and transactions that are
//! refused as a whole.

use dynalock::{Error, Transaction, error::CancellationClass, transaction::Reason};

use crate::support::{
    Account, FAILED, Item, NONE, Product, Shop, add, cancelled, changed, codes, expect_error, item, met, n, s,
};

cases![
    an_item_that_does_not_fit_is_a_conflict_that_shows_its_attributes,
    the_current_item_can_be_written_without_a_read,
    the_current_item_can_be_read_in_a_loop,
    a_recreated_item_is_another_one_though_its_version_fits,
    a_missing_table_is_found_among_several,
];

fn misfits() -> [Item; 3] {
    [
        item([("sku", s("a"))]),
        item([("sku", s("a")), ("stock", n(1)), ("_version", s("abc"))]),
        item([("sku", s("a")), ("stock", n(1)), ("_version", n(1)), ("_writes", n(7))]),
    ]
}

async fn an_item_that_does_not_fit_is_a_conflict_that_shows_its_attributes(shop: &Shop) {
    let table = shop.table::<Product>().await;
    for misfit in misfits() {
        table.raw.put(misfit.clone()).await;
        let mut tx = Transaction::new(&shop.client);
        let other = tx.create(&table.items, Product::new("b", 5));
        let create = tx.create(&table.items, Product::new("a", 5));
        let cancelled = cancelled(tx.commit().await);
        assert_eq!(cancelled.class(), CancellationClass::Conflict);
        assert!(matches!(cancelled.reason(other), Reason::None), "{cancelled:?}");
        match cancelled.reason(create) {
            Reason::Unreadable { item, error: Error::Decode(_) | Error::Corrupt { .. }, .. } => {
                assert_eq!(item, misfit);
            }
            other => panic!("{other:?}"),
        }
        let reason = cancelled.reasons().nth(1).unwrap();
        assert_eq!(reason.class(), Some(CancellationClass::Conflict));
        assert_eq!(reason.current_item(), Some(&misfit));
        expect_error!(reason.current::<Product>(), Error::Decode(_) | Error::Corrupt { .. });
        assert_eq!(table.raw.get("a").await, Some(misfit));
        assert_eq!(table.raw.get("b").await, None);
    }
}

async fn the_current_item_can_be_written_without_a_read(shop: &Shop) {
    let table = shop.table_of([Product::new("a", 5)]).await;
    let mut tx = Transaction::new(&shop.client);
    let create = tx.create(&table.items, Product::new("a", 1));
    tx.create(&table.items, Product::new("b", 1));
    let current = changed(met(&cancelled(tx.commit().await), &create).unwrap(), |it| it.stock += 1);
    let mut tx = Transaction::new(&shop.client);
    let update = tx.update(&table.items, current);
    tx.create(&table.items, Product::new("b", 1));
    let left = tx.commit().await.unwrap().get(update).unwrap();
    assert_eq!((left.version(), left.stock), (2, 6));
    assert_eq!(shop.requests(), 2);
}

async fn the_current_item_can_be_read_in_a_loop(shop: &Shop) {
    let (products, product) = shop.stored(Product::new("a", 5)).await;
    let (accounts, account) = shop.stored(Account::new("a", 7)).await;
    let mut tx = Transaction::new(&shop.client);
    tx.create(&products.items, Product::new("a", 1));
    tx.create(&accounts.items, Account::new("a", 1));
    tx.check_exists(&accounts.items, "nobody");
    let cancelled = cancelled(tx.commit().await);
    let reasons: Vec<_> = cancelled.reasons().collect();
    assert_eq!(reasons[0].current::<Product>().unwrap(), Some(product));
    assert_eq!(reasons[1].current::<Account>().unwrap(), Some(account));
    assert_eq!(reasons[2].current::<Account>().unwrap(), None);
    // An account has no stock, so it does not fit.
    expect_error!(reasons[1].current::<Product>(), Error::Decode(_));
}

async fn a_recreated_item_is_another_one_though_its_version_fits(shop: &Shop) {
    let (table, old) = shop.stored(Product::new("a", 5)).await;
    table.raw.delete("a").await;
    let new = table.others.create(Product::new("a", 5)).await.unwrap();
    assert_eq!((old.version(), &*old), (new.version(), &*new));
    for kind in ["check", "update", "unchanged", "replace", "delete"] {
        let mut tx = Transaction::new(&shop.client);
        tx.create(&table.items, Product::new("b", 5));
        match kind {
            "unchanged" => drop(tx.update(&table.items, old.clone())),
            kind => add(&mut tx, kind, &table.items, changed(old.clone(), |it| it.stock = 6)),
        }
        let cancelled = cancelled(tx.commit().await);
        assert_eq!(codes(&cancelled), [NONE, FAILED], "{kind}");
        assert_eq!(cancelled.reasons().nth(1).unwrap().current::<Product>().unwrap(), Some(new.clone()), "{kind}");
        assert_eq!(table.others.get("a").await.unwrap(), Some(new.clone()), "{kind}");
        assert_eq!(table.raw.get("b").await, None, "{kind}");
    }
}

async fn a_missing_table_is_found_among_several(shop: &Shop) {
    let there = shop.table::<Product>().await;
    let missing = shop.absent_table::<Account>();
    let mut tx = Transaction::new(&shop.client);
    tx.create(&there.items, Product::new("a", 5));
    tx.create(&missing.items, Account::new("a", 5));
    let table = expect_error!(tx.commit().await, Error::TableNotFound { table, .. } => table);
    assert_eq!(*table, *missing.name());
    assert_eq!(there.raw.get("a").await, None);
}
