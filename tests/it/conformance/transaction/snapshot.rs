//! Reads of several items from one moment.

use std::sync::Arc;

use dynalock::{Error, Transaction, error::InvalidTransaction};

use crate::support::{Account, Line, Product, Shop, changed, expect_error, invalid, item, n, s};

cases![
    several_tables_are_read_in_one_request,
    items_that_are_asked_for_twice_are_read_once,
    no_items_and_more_than_a_hundred_are_refused_before_sending,
    a_handle_of_another_read_is_an_error,
    an_item_that_does_not_fit_is_an_error_of_its_own_handle,
    the_sum_is_exact_while_money_moves,
];

async fn several_tables_are_read_in_one_request(shop: &Shop) {
    let (products, product) = shop.stored(Product::new("a", 5)).await;
    let (lines, line) = shop.stored(Line::new("a", -7, 5)).await;
    let mut get = Transaction::get(&shop.client);
    let absent = get.item(&products.items, "b");
    let a_line = get.item(&lines.items, ("a", -7));
    let absent_line = get.item(&lines.items, ("a", 7));
    let a_product = get.item(&products.items, "a");
    let seen = get.fetch().await.unwrap();
    assert_eq!(seen.get(&a_product).unwrap(), Some(product));
    assert_eq!(seen.get(a_line).unwrap(), Some(line));
    assert_eq!((seen.get(absent).unwrap(), seen.get(absent_line).unwrap()), (None, None));
    assert_eq!((shop.counts(["TransactGetItems"]), shop.requests()), ([1], 1));

    let read = changed(seen.get(a_product).unwrap().unwrap(), |it| it.stock = 6);
    assert_eq!(products.items.update(read).await.unwrap().version(), 2);
}

async fn items_that_are_asked_for_twice_are_read_once(shop: &Shop) {
    let (table, product) = shop.stored(Product::new("a", 5)).await;
    let mut get = Transaction::get(&shop.client);
    let handles = ["a", "b", "a", "b", "a"].map(|key| get.item(&table.items, key));
    let seen = get.fetch().await.unwrap();
    let items = handles.map(|handle| seen.get(handle).unwrap());
    let a = || Some(product.clone());
    assert_eq!(items, [a(), None, a(), None, a()]);
    assert_eq!(shop.sent("TransactGetItems")[0]["TransactItems"].as_array().unwrap().len(), 2);
}

async fn no_items_and_more_than_a_hundred_are_refused_before_sending(shop: &Shop) {
    let table = shop.table::<Product>().await;
    let why = invalid(Transaction::get(&shop.client).fetch().await);
    assert!(matches!(why, InvalidTransaction::Empty), "{why:?}");
    let mut get = Transaction::get(&shop.client);
    for index in 0..101 {
        get.item(&table.items, index.to_string());
    }
    let why = invalid(get.fetch().await);
    assert!(matches!(why, InvalidTransaction::TooManyItems { items: 101, .. }), "{why:?}");
    let mut get = Transaction::get(&shop.client);
    get.item(&table.items, "");
    expect_error!(get.fetch().await, Error::InvalidKey { attribute: "sku", .. });
    assert_eq!(shop.requests(), 0);

    let mut get = Transaction::get(&shop.client);
    let handles: Vec<_> = (0..300).map(|index| get.item(&table.items, (index % 100).to_string())).collect();
    table.others.create(Product::new("99", 5)).await.unwrap();
    let seen = get.fetch().await.unwrap();
    let there: Vec<_> = (0..300).filter(|index| seen.get(&handles[*index]).unwrap().is_some()).collect();
    assert_eq!(there, [99, 199, 299]);
}

async fn a_handle_of_another_read_is_an_error(shop: &Shop) {
    let table = shop.table::<Product>().await;
    let foreign = Transaction::get(&shop.client).item(&table.items, "a");
    let mut get = Transaction::get(&shop.client);
    get.item(&table.items, "a");
    expect_error!(get.fetch().await.unwrap().get(foreign), Error::ForeignHandle);
}

async fn an_item_that_does_not_fit_is_an_error_of_its_own_handle(shop: &Shop) {
    let table = shop.table_of_raw::<Product>([item([("sku", s("a"))]), item([("sku", s("b")), ("stock", n(5))])]).await;
    let mut get = Transaction::get(&shop.client);
    let (a, b) = (get.item(&table.items, "a"), get.item(&table.items, "b"));
    let seen = get.fetch().await.unwrap();
    expect_error!(seen.get(a), Error::Decode(_));
    assert_eq!(seen.get(b).unwrap().unwrap().version(), 0);
}

async fn the_sum_is_exact_while_money_moves(shop: &Shop) {
    const OWNERS: [&str; 3] = ["alice", "bob", "carol"];
    let table = shop.table_of(OWNERS.map(|owner| Account::new(owner, 100))).await;
    let ask = Arc::new(());
    let (running, client, items) = (Arc::downgrade(&ask), shop.plain.clone(), table.others.clone());
    let mover = tokio::spawn(async move {
        let mut moved = 0;
        while running.upgrade().is_some() {
            let mut from = items.get(OWNERS[moved % 3]).await.unwrap().unwrap();
            let mut to = items.get(OWNERS[(moved + 1) % 3]).await.unwrap().unwrap();
            from.cents -= 7;
            to.cents += 7;
            let mut tx = Transaction::new(&client);
            tx.update(&items, from);
            tx.update(&items, to);
            tx.commit().await.unwrap();
            moved += 1;
        }
        moved
    });
    let mut sums = Vec::new();
    for _ in 0..50 {
        let mut get = Transaction::get(&shop.client);
        let handles = OWNERS.map(|owner| get.item(&table.items, owner));
        let seen = get.fetch().await.unwrap();
        sums.push(handles.map(|handle| seen.get(handle).unwrap().unwrap().cents).iter().sum::<i64>());
    }
    drop(ask);
    assert!(mover.await.unwrap() > 10);
    assert!(sums.iter().all(|sum| *sum == 300), "{sums:?}");
}
