//! The library refuses transactions that DynamoDB would refuse as a whole. The library sends
//! nothing, and its error names the operation to change.

use dynalock::{
    Error, Transaction,
    error::InvalidTransaction,
    transaction::{Op, Reason},
};

use crate::support::{Account, Product, Shop, Table, add, cancelled, changed, expect_error, invalid, n};

cases![
    a_transaction_without_operations_is_refused,
    a_hundred_items_are_written_and_no_more,
    operations_on_the_same_items_count_once,
    four_megabytes_are_written_and_no_more,
    an_item_of_400_kilobytes_is_refused,
    two_writes_of_one_item_are_refused_by_their_names,
    the_same_key_in_two_tables_is_two_items,
    a_token_has_1_to_36_characters,
    an_empty_key_is_refused,
];

fn creates(shop: &Shop, table: &Table<Product>, count: usize) -> Transaction {
    let mut tx = Transaction::new(&shop.client);
    for index in 0..count {
        tx.create(&table.items, Product::new(&index.to_string(), 5));
    }
    tx
}

/// Returns a product whose item has about this many bytes.
fn large(key: &str, bytes: usize) -> Product {
    Product { note: Some("x".repeat(bytes)), ..Product::new(key, 5) }
}

async fn a_transaction_without_operations_is_refused(shop: &Shop) {
    let tx = Transaction::new(&shop.client);
    assert_eq!((tx.len(), tx.is_empty()), (0, true));
    assert!(matches!(invalid(tx.commit().await), InvalidTransaction::Empty));
    assert_eq!(shop.requests(), 0);
}

async fn a_hundred_items_are_written_and_no_more(shop: &Shop) {
    let table = shop.table::<Product>().await;
    let why = invalid(creates(shop, &table, 101).commit().await);
    assert!(matches!(why, InvalidTransaction::TooManyItems { items: 101, .. }), "{why:?}");
    assert!(why.to_string().contains("101 items"), "{why}");
    assert_eq!(shop.requests(), 0);
    creates(shop, &table, 100).commit().await.unwrap();
    assert_eq!(table.raw.get("99").await.unwrap()["_version"], n(1));
    assert_eq!(shop.requests(), 1);
}

async fn operations_on_the_same_items_count_once(shop: &Shop) {
    let table = shop.table::<Product>().await;
    let mut tx = creates(shop, &table, 100);
    for index in 0..100 {
        tx.check_absent(&table.items, index.to_string());
    }
    assert_eq!(tx.len(), 200);
    tx.commit().await.unwrap();
    assert_eq!(shop.sent("TransactWriteItems")[0]["TransactItems"].as_array().unwrap().len(), 100);
    let mut tx = Transaction::new(&shop.client);
    let handles: Vec<Op<Product>> =
        (100..199).map(|n| tx.create(&table.items, Product::new(&n.to_string(), 5))).collect();
    let last = tx.check_exists(&table.items, "0");
    tx.when(&table.items, "0", Product::ATTR.stock.eq(4));
    let cancelled = cancelled(tx.commit().await);
    assert_eq!(cancelled.reasons().len(), 101);
    assert!(handles.iter().all(|handle| matches!(cancelled.reason(handle), Reason::None)));
    assert!(matches!(cancelled.reason(last), Reason::Conflict(Some(_))), "{cancelled:?}");
}

async fn four_megabytes_are_written_and_no_more(shop: &Shop) {
    const BYTES: usize = 390 * 1024;
    let table = shop.table::<Product>().await;
    let mut tx = Transaction::new(&shop.client);
    for index in 0..12 {
        tx.create(&table.items, large(&index.to_string(), BYTES + if index == 7 { 64 } else { 0 }));
    }
    let why = invalid(tx.commit().await);
    let (bytes, largest, of) = match &why {
        InvalidTransaction::TooLarge { bytes, largest, table, .. } => (*bytes, *largest, table),
        other => panic!("{other:?}"),
    };
    assert_eq!((largest, &**of), (7, table.name()));
    assert!((12 * BYTES..12 * BYTES + 2048).contains(&bytes), "{bytes}");
    let message = why.to_string();
    assert!(message.contains("operation 7") && message.contains("4 MB") && message.contains("split"), "{message}");
    assert_eq!(shop.requests(), 0);

    let mut tx = Transaction::new(&shop.client);
    for index in 0..10 {
        tx.create(&table.items, large(&index.to_string(), BYTES));
    }
    tx.commit().await.unwrap();
    assert_eq!(table.others.get("9").await.unwrap().unwrap().note.as_ref().unwrap().len(), BYTES);
}

async fn an_item_of_400_kilobytes_is_refused(shop: &Shop) {
    let (table, mut stored) = shop.stored(Product::new("b", 5)).await;
    stored.note = large("b", 400 * 1024).note;
    for kind in ["create", "update", "replace"] {
        let mut tx = Transaction::new(&shop.client);
        tx.check_absent(&table.items, "a");
        match kind {
            "create" => drop(tx.create(&table.items, large("c", 400 * 1024))),
            kind => add(&mut tx, kind, &table.items, stored.clone()),
        }
        let why = invalid(tx.commit().await);
        match &why {
            InvalidTransaction::ItemTooLarge { operation: 1, table: of, bytes, .. } => {
                assert!(*bytes > 400 * 1024 && **of == *table.name(), "{why:?}");
            }
            other => panic!("{kind}: {other:?}"),
        }
        assert!(why.to_string().contains("operation 1"), "{why}");
    }
    assert_eq!(shop.requests(), 0);
}

async fn two_writes_of_one_item_are_refused_by_their_names(shop: &Shop) {
    let (table, stored) = shop.stored(Product::new("a", 5)).await;
    for second in ["create", "update", "replace", "delete"] {
        let mut tx = Transaction::new(&shop.client);
        tx.check_exists(&table.items, "a");
        let first = changed(stored.clone(), |it| it.stock = 6);
        tx.update(&table.items, first);
        tx.create(&table.items, Product::new("b", 5));
        match second {
            "create" => drop(tx.create(&table.items, Product::new("a", 5))),
            kind => add(&mut tx, kind, &table.items, stored.clone()),
        }
        let why = invalid(tx.commit().await);
        assert!(matches!(&why, InvalidTransaction::SameItem { first: 1, second: 3, .. }), "{second}: {why:?}");
        let message = why.to_string();
        assert!(message.contains("operations 1 and 3") && message.contains(table.name()), "{message}");
    }
    assert_eq!(shop.requests(), 0);
}

async fn the_same_key_in_two_tables_is_two_items(shop: &Shop) {
    let (one, other) = (shop.table::<Product>().await, shop.table::<Product>().await);
    let accounts = shop.table::<Account>().await;
    let mut tx = Transaction::new(&shop.client);
    tx.create(&one.items, Product::new("a", 1));
    tx.create(&other.items, Product::new("a", 2));
    tx.create(&accounts.items, Account::new("a", 3));
    tx.commit().await.unwrap();
    assert_eq!(one.raw.get("a").await.unwrap()["stock"], n(1));
    assert_eq!(other.raw.get("a").await.unwrap()["stock"], n(2));
    assert_eq!(accounts.raw.get("a").await.unwrap()["cents"], n(3));
}

async fn a_token_has_1_to_36_characters(shop: &Shop) {
    let table = shop.table::<Product>().await;
    for token in [String::new(), "x".repeat(37)] {
        let why = invalid(creates(shop, &table, 1).token(token.clone()).commit().await);
        assert!(matches!(why, InvalidTransaction::Token { characters, .. } if characters == token.len()), "{why:?}");
        assert!(why.to_string().contains("1 to 36 characters"), "{why}");
    }
    assert_eq!(shop.requests(), 0);
    let token = format!("{:y<36}", table.name());
    creates(shop, &table, 1).token(&*token).commit().await.unwrap();
    assert_eq!(shop.sent("TransactWriteItems")[0]["ClientRequestToken"], token);
}

async fn an_empty_key_is_refused(shop: &Shop) {
    let table = shop.table::<Product>().await;
    for kind in ["create", "exists", "absent", "when"] {
        let mut tx = Transaction::new(&shop.client);
        match kind {
            "create" => drop(tx.create(&table.items, Product::new("", 5))),
            "exists" => drop(tx.check_exists(&table.items, "")),
            "absent" => drop(tx.check_absent(&table.items, "")),
            _ => drop(tx.when(&table.items, "", Product::ATTR.stock.eq(4))),
        }
        let attribute = expect_error!(tx.commit().await, Error::InvalidKey { attribute, .. } => attribute);
        assert_eq!(attribute, "sku", "{kind}");
    }
    assert_eq!(shop.requests(), 0);
}
