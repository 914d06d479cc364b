//! Operations on one item become one conditional write or one check.

use dynalock::{
    Stored, Transaction,
    condition::Condition,
    error::Cancelled,
    transaction::{Op, Reason},
};

use crate::support::{FAILED, NONE, Product, Shop, Table, cancelled, changed, codes, commit, met, n};

cases![
    a_check_and_a_write_of_one_item_are_one_conditional_write,
    several_checks_of_one_item_are_one_check,
    merged_operations_share_their_reason,
    each_condition_of_a_merged_write_decides,
    conditions_of_every_form_stand_next_to_others,
    a_condition_is_about_the_item_before_the_write,
    a_condition_alone_may_have_every_form,
    a_check_of_another_state_than_the_write_rests_on_is_refused,
];

fn kinds(shop: &Shop) -> Vec<String> {
    shop.actions().into_iter().map(|(kind, _)| kind).collect()
}

async fn product(table: &Table<Product>) -> Stored<Product> {
    table.others.create(Product::new("a", 5)).await.unwrap()
}

fn now<Out>(cancelled: &Cancelled, operation: &Op<Product, Out>) -> Option<(u64, i64)> {
    met(cancelled, operation).map(|now| (now.version(), now.stock))
}

/// Conditions that are true for a product with a stock of 5 and no note, and their opposites.
fn conditions() -> Vec<(Condition<Product>, Condition<Product>)> {
    let a = Product::ATTR;
    let note = || a.note.eq(None);
    vec![
        (a.stock.ge(3), a.stock.ge(6)),
        (note(), a.note.ne(None)),
        (a.stock.eq(1).or(a.stock.eq(5)), a.stock.eq(1).or(a.stock.eq(4))),
        (note().or(a.stock.eq(1)), a.note.ne(None).or(a.stock.eq(1))),
        (a.stock.eq(1).or(note()).and(a.stock.ge(3)), a.stock.eq(1).or(note()).and(a.stock.ge(6))),
        (!a.stock.eq(1).or(a.stock.eq(2)), !a.stock.eq(1).or(a.stock.eq(5))),
        (!note().and(a.stock.eq(1)), !note().and(a.stock.eq(5))),
        (!!note(), !!a.note.ne(None)),
        (a.stock.eq(1).or(a.stock.eq(2).or(note())), a.stock.eq(1).or(a.stock.eq(2).or(!note()))),
        (a.stock.between(1, 5).and(note()), a.stock.between(6, 9).and(note())),
        (a.stock.is_in([1, 5]).and(note()), a.stock.is_in([1, 2]).or(!note())),
    ]
}

async fn a_check_and_a_write_of_one_item_are_one_conditional_write(shop: &Shop) {
    let table = shop.table::<Product>().await;
    let stored = product(&table).await;
    let changed = changed(stored.clone(), |it| it.stock = 6);
    let mut tx = Transaction::new(&shop.client);
    tx.check_exists(&table.items, "a");
    tx.create(&table.items, Product::new("b", 5));
    tx.check(&table.items, &stored);
    let update = tx.update(&table.items, changed);
    tx.when(&table.items, "b", Product::ATTR.stock.absent());
    tx.check_absent(&table.items, "b");
    let done = tx.commit().await.unwrap();
    assert_eq!(done.get(update).unwrap().version(), 2);
    assert_eq!(kinds(shop), ["Update", "Put"]);
    let sent = shop.actions();
    assert_eq!(sent[0].1["Key"]["sku"]["S"], "a");
    assert_eq!(sent[1].1["Item"]["sku"]["S"], "b");
    assert_eq!(table.raw.get("a").await.unwrap()["stock"], n(6));

    let mut tx = Transaction::new(&shop.client);
    tx.when(&table.items, "a", Product::ATTR.stock.eq(6));
    tx.delete(&table.items, table.others.get("a").await.unwrap().unwrap());
    tx.commit().await.unwrap();
    assert_eq!(kinds(shop), ["Delete"]);
    assert_eq!(table.raw.get("a").await, None);
}

async fn several_checks_of_one_item_are_one_check(shop: &Shop) {
    let table = shop.table::<Product>().await;
    let stored = product(&table).await;
    let mut tx = Transaction::new(&shop.client);
    tx.create(&table.items, Product::new("b", 5));
    tx.check_exists(&table.items, "a");
    tx.check(&table.items, &stored);
    tx.when(&table.items, "a", Product::ATTR.stock.ge(3));
    tx.update(&table.items, stored.clone());
    tx.check(&table.items, &stored);
    tx.commit().await.unwrap();
    assert_eq!(kinds(shop), ["Put", "ConditionCheck"]);
    assert_eq!(table.others.get("a").await.unwrap(), Some(stored));
}

async fn merged_operations_share_their_reason(shop: &Shop) {
    let table = shop.table::<Product>().await;
    let stored = product(&table).await;
    let changed = changed(stored.clone(), |it| it.stock = 6);
    table.others.update_with("a", |product| product.stock = 9).await.unwrap();
    let mut tx = Transaction::new(&shop.client);
    let create = tx.create(&table.items, Product::new("b", 5));
    let check = tx.check(&table.items, &stored);
    let absent = tx.check_absent(&table.items, "b");
    let when = tx.when(&table.items, "a", Product::ATTR.stock.ge(3));
    let update = tx.update(&table.items, changed);
    let cancelled = cancelled(tx.commit().await);
    assert!(matches!(cancelled.reason(create), Reason::None), "{cancelled:?}");
    assert!(matches!(cancelled.reason(absent), Reason::None), "{cancelled:?}");
    assert_eq!(now(&cancelled, &check), Some((2, 9)));
    assert_eq!(now(&cancelled, &when), Some((2, 9)));
    assert_eq!(now(&cancelled, &update), Some((2, 9)));
    assert_eq!(codes(&cancelled), [NONE, FAILED, NONE, FAILED, FAILED]);
}

async fn each_condition_of_a_merged_write_decides(shop: &Shop) {
    let table = shop.table::<Product>().await;
    let stored = product(&table).await;
    for falsified in 0..3 {
        let changed = changed(stored.clone(), |it| it.stock = 6);
        let mut tx = Transaction::new(&shop.client);
        tx.when(&table.items, "a", Product::ATTR.stock.eq(if falsified == 0 { 4 } else { 5 }));
        tx.update(&table.items, changed);
        tx.when(&table.items, "a", Product::ATTR.stock.ge(if falsified == 1 { 6 } else { 5 }));
        if falsified == 2 {
            tx.check_absent(&table.items, "a");
        }
        let cancelled = cancelled(tx.commit().await);
        assert!(codes(&cancelled).iter().all(|code| *code == FAILED), "{cancelled:?}");
        assert_eq!(table.others.get("a").await.unwrap(), Some(stored.clone()));
    }
}

async fn conditions_of_every_form_stand_next_to_others(shop: &Shop) {
    let table = shop.table::<Product>().await;
    let mut stored = product(&table).await;
    for (holds, fails) in conditions() {
        let text = format!("{holds:?}");
        let version = stored.version();
        stored.stock = 5;
        let mut tx = Transaction::new(&shop.client);
        tx.when(&table.items, "a", holds.clone());
        let replace = tx.replace(&table.items, stored);
        tx.when(&table.items, "a", holds);
        stored = tx.commit().await.unwrap_or_else(|error| panic!("{text}: {error}")).get(replace).unwrap();
        assert_eq!(stored.version(), version + 1, "{text}");

        let text = format!("{fails:?}");
        let mut tx = Transaction::new(&shop.client);
        tx.check(&table.items, &stored);
        tx.when(&table.items, "a", fails);
        tx.create(&table.items, Product::new("b", 5));
        let cancelled = cancelled(tx.commit().await);
        assert_eq!(codes(&cancelled), [FAILED, FAILED, NONE], "{text}");
    }
}

async fn a_condition_alone_may_have_every_form(shop: &Shop) {
    let table = shop.table::<Product>().await;
    product(&table).await;
    for (holds, fails) in conditions() {
        let text = format!("{holds:?}");
        commit(&shop.client, |tx| tx.when(&table.items, "a", holds))
            .await
            .unwrap_or_else(|error| panic!("{text}: {error}"));
        cancelled(commit(&shop.client, |tx| tx.when(&table.items, "a", fails)).await);
    }
}

async fn a_condition_is_about_the_item_before_the_write(shop: &Shop) {
    let table = shop.table::<Product>().await;
    let stored = changed(product(&table).await, |it| it.stock = 6);
    let mut tx = Transaction::new(&shop.client);
    tx.update(&table.items, stored.clone());
    tx.when(&table.items, "a", Product::ATTR.stock.eq(6));
    let cancelled = cancelled(tx.commit().await);
    assert_eq!(cancelled.reasons().next().unwrap().current::<Product>().unwrap().unwrap().stock, 5);
}

async fn a_check_of_another_state_than_the_write_rests_on_is_refused(shop: &Shop) {
    let table = shop.table::<Product>().await;
    let old = product(&table).await;
    let new = changed(table.others.update_with("a", |product| product.stock = 9).await.unwrap(), |it| it.stock = 10);
    let mut tx = Transaction::new(&shop.client);
    tx.check(&table.items, &old);
    let update = tx.update(&table.items, new);
    let cancelled = cancelled(tx.commit().await);
    assert_eq!(now(&cancelled, &update), Some((2, 9)));
}
