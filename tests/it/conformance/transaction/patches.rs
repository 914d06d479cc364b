//! Patches in transactions and in units of work.

use aws_sdk_dynamodb::types::AttributeValue;
use dynalock::{
    Error, Repository, Stored, Transaction,
    error::{Cancelled, InvalidTransaction},
    transact,
    transaction::Reason,
};

use crate::support::{Product, Shop, Table, expect_error, n};

cases! {
    patches_of_several_items_are_applied_together,
    a_patch_and_other_operations_are_one_transaction,
    a_false_condition_cancels_the_transaction_with_the_item,
    a_patch_of_a_missing_item_cancels_the_transaction,
    a_read_and_a_patch_of_one_item_are_one_action,
    a_changed_read_runs_the_unit_of_work_again,
    a_patch_and_an_update_of_one_item_are_refused,
    a_read_after_a_patch_is_refused,
    a_patch_without_changes_is_refused,
    a_transaction_of_patches_is_committed_once_under_its_token,
    a_stored_null_counts_as_absent_in_a_unit_of_work,
}

const STOCK: dynalock::condition::Attribute<Product, i64> = Product::ATTR.stock;

async fn two(shop: &Shop) -> Table<Product> {
    shop.table_of([Product::new("a", 5), Product::new("b", 5)]).await
}

async fn stock(table: &Table<Product>) -> [i64; 2] {
    let of = async |key| table.items.get(key).await.unwrap().unwrap().stock;
    [of("a").await, of("b").await]
}

fn cancelled<O>(result: dynalock::Result<O>) -> Cancelled {
    match result {
        Err(Error::Cancelled(cancelled)) => cancelled,
        Err(error) => panic!("{error:?}"),
        Ok(_) => panic!("the transaction was committed"),
    }
}

async fn patches_of_several_items_are_applied_together(shop: &Shop) {
    let table = two(shop).await;
    let mut tx = Transaction::new(&shop.client);
    tx.patch(&table.items, "a").add(STOCK, -2).when(STOCK.ge(2));
    tx.patch(&table.items, "b").add(STOCK, 2);
    tx.commit().await.unwrap();
    assert_eq!(stock(&table).await, [3, 7]);
    assert_eq!(table.raw.get("a").await.unwrap()["_version"], n(2));
}

async fn a_patch_and_other_operations_are_one_transaction(shop: &Shop) {
    let table = two(shop).await;
    let mut tx = Transaction::new(&shop.client);
    let created = tx.create(&table.items, Product::new("c", 1));
    tx.patch(&table.items, "a").add(STOCK, 1);
    tx.when(&table.items, "a", STOCK.eq(5));
    tx.check_exists(&table.items, "b");
    let committed = tx.commit().await.unwrap();
    assert_eq!(committed.get(created).unwrap().stock, 1);
    assert_eq!(stock(&table).await, [6, 5]);
}

async fn a_false_condition_cancels_the_transaction_with_the_item(shop: &Shop) {
    let table = two(shop).await;
    let mut tx = Transaction::new(&shop.client);
    let first = tx.patch(&table.items, "a").add(STOCK, 1).op();
    let second = tx.patch(&table.items, "b").add(STOCK, -6).when(STOCK.ge(6)).op();
    let cancelled = cancelled(tx.commit().await);
    assert!(matches!(cancelled.reason(first), Reason::None));
    assert!(matches!(cancelled.reason(second), Reason::Conflict(Some(product)) if product.stock == 5));
    assert_eq!(stock(&table).await, [5, 5]);
}

async fn a_patch_of_a_missing_item_cancels_the_transaction(shop: &Shop) {
    let table = two(shop).await;
    let mut tx = Transaction::new(&shop.client);
    let missing = tx.patch(&table.items, "c").add(STOCK, 1).op();
    assert!(matches!(cancelled(tx.commit().await).reason(missing), Reason::Conflict(None)));
    assert_eq!(table.raw.get("c").await, None);
}

async fn a_read_and_a_patch_of_one_item_are_one_action(shop: &Shop) {
    let table = two(shop).await;
    let items = &table.items;
    let unit = transact(&shop.client, |tx| async move {
        let read = tx.get(items, "a").await?.expect("an item");
        tx.patch(items, "a").add(STOCK, i128::from(read.stock));
        tx.patch(items, "b").add(STOCK, 1);
        Ok::<_, Error>(read.version())
    });
    assert_eq!(unit.await.unwrap(), 1);
    assert_eq!(stock(&table).await, [10, 6]);
    assert_eq!(shop.sent("TransactWriteItems")[0]["TransactItems"].as_array().unwrap().len(), 2);
}

async fn a_changed_read_runs_the_unit_of_work_again(shop: &Shop) {
    let table = two(shop).await;
    let (items, others) = (&table.items, &table.others);
    let runs = std::sync::atomic::AtomicU32::new(0);
    let runs = &runs;
    let unit = transact(&shop.client, |tx| async move {
        let read = tx.get(items, "a").await?.expect("an item");
        if runs.fetch_add(1, std::sync::atomic::Ordering::Relaxed) == 0 {
            others.patch("a").add(STOCK, 100).await?;
        }
        tx.patch(items, "a").add(STOCK, i128::from(read.stock));
        Ok::<_, Error>(read.stock)
    });
    assert_eq!(unit.await.unwrap(), 105);
    assert_eq!(stock(&table).await, [210, 5]);
}

async fn stored(items: &Repository<Product>) -> Stored<Product> {
    items.get("a").await.unwrap().unwrap()
}

async fn a_patch_and_an_update_of_one_item_are_refused(shop: &Shop) {
    let table = two(shop).await;
    let mut tx = Transaction::new(&shop.client);
    tx.patch(&table.items, "a").add(STOCK, 1);
    tx.update(&table.items, stored(&table.items).await);
    expect_error!(
        tx.commit().await,
        Error::InvalidTransaction(InvalidTransaction::SameItem { first: 0, second: 1, .. })
    );
}

async fn a_read_after_a_patch_is_refused(shop: &Shop) {
    let table = two(shop).await;
    let items = &table.items;
    let unit = transact(&shop.client, |tx| async move {
        tx.patch(items, "a").add(STOCK, 1);
        tx.get(items, "a").await.map(drop)
    });
    expect_error!(unit.await, Error::InvalidTransaction(InvalidTransaction::ReadAfterWrite { .. }));
    assert_eq!(stock(&table).await, [5, 5]);
}

async fn a_patch_without_changes_is_refused(shop: &Shop) {
    let table = two(shop).await;
    let mut tx = Transaction::new(&shop.client);
    tx.patch(&table.items, "a").when(STOCK.ge(0));
    expect_error!(tx.commit().await, Error::InvalidPatch { .. });
}

async fn a_transaction_of_patches_is_committed_once_under_its_token(shop: &Shop) {
    let table = two(shop).await;
    let token = format!("{:032x}", fastrand::u128(..));
    let post = || {
        let mut tx = Transaction::new(&shop.client).token(&token);
        tx.patch(&table.items, "a").add(STOCK, 1).when(STOCK.eq(5));
        tx
    };
    post().commit().await.unwrap();
    post().commit().await.unwrap();
    assert_eq!(stock(&table).await, [6, 5]);
    // The token is used again with other content, while the item still shows the first transaction.
    let mut tx = Transaction::new(&shop.client).token(&token);
    tx.patch(&table.items, "a").add(STOCK, 2);
    expect_error!(tx.commit().await, Error::AlreadyCommitted { .. });
    assert_eq!(stock(&table).await, [6, 5]);
}

async fn a_stored_null_counts_as_absent_in_a_unit_of_work(shop: &Shop) {
    let table = two(shop).await;
    let mut raw = table.raw.get("a").await.unwrap();
    raw.insert("note".to_owned(), AttributeValue::Null(true));
    table.raw.put(raw).await;
    let items = &table.items;
    let unit = transact(&shop.client, |tx| async move {
        tx.patch(items, "a").set_if_absent(Product::ATTR.note, "new".to_owned());
        tx.patch(items, "b").add(STOCK, 1);
        Ok::<_, Error>(())
    });
    unit.await.unwrap();
    assert_eq!(stored(items).await.note.as_deref(), Some("new"));
    assert_eq!(stock(&table).await, [5, 6]);
}
