//! `when` on single writes: the condition of the caller, in addition to that of the write.

use dynalock::{Error, Stored, error::Conflict};

use crate::support::{Product, Shop, Table, changed, n};

cases! {
    a_true_condition_lets_each_write_through,
    a_false_condition_is_told_with_the_item_and_not_sent_again,
    a_changed_item_is_a_conflict_whatever_the_condition_says,
    a_value_without_changes_is_checked,
    an_unchecked_delete_may_have_a_condition,
    several_conditions_must_all_be_true,
    an_item_of_another_program_takes_conditions_too,
    a_condition_that_is_too_long_is_not_sent,
}

fn condition_failed<O>(result: dynalock::Result<O>) -> Conflict {
    match result {
        Err(Error::ConditionFailed(failed)) => failed,
        Err(error) => panic!("{error:?}"),
        Ok(_) => panic!("the write was applied"),
    }
}

async fn read(table: &Table<Product>) -> Stored<Product> {
    table.items.get("a").await.unwrap().unwrap()
}

async fn a_true_condition_lets_each_write_through(shop: &Shop) {
    let table = shop.table_of([Product::new("a", 5)]).await;
    let a = Product::ATTR;
    let product = changed(read(&table).await, |product| product.stock = 6);
    let product = table.items.update(product).when(a.stock.eq(5)).await.unwrap();
    let product = table.items.touch(product).when(a.stock.eq(6)).await.unwrap();
    let product = table.items.replace(product).when(a.note.eq(None)).await.unwrap();
    assert_eq!((product.version(), product.stock), (4, 6));
    table.items.delete(product).when(a.stock.ge(6)).exactly_once().await.unwrap();
    assert_eq!(table.raw.get("a").await, None);
}

async fn a_false_condition_is_told_with_the_item_and_not_sent_again(shop: &Shop) {
    let table = shop.table_of([Product::new("a", 5)]).await;
    let before = table.raw.get("a").await;
    let is_six = || Product::ATTR.stock.eq(6);
    let read = || async { changed(read(&table).await, |product| product.stock = 7) };
    for failed in [
        condition_failed(table.items.update(read().await).when(is_six()).await),
        condition_failed(table.items.touch(read().await).when(is_six()).await),
        condition_failed(table.items.replace(read().await).when(is_six()).await),
        condition_failed(table.items.delete(read().await).when(is_six()).await),
        condition_failed(table.items.update(read().await).when(is_six()).exactly_once().await),
    ] {
        assert_eq!((failed.spent().attempts, failed.expected(), failed.found()), (1, Some(1), Some(1)));
        assert_eq!(failed.current::<Product>().unwrap().unwrap().stock, 5);
    }
    assert_eq!(table.raw.get("a").await, before);
}

async fn a_changed_item_is_a_conflict_whatever_the_condition_says(shop: &Shop) {
    let table = shop.table_of([Product::new("a", 5)]).await;
    let stale = changed(read(&table).await, |product| product.stock = 6);
    table.others.update_with("a", |product| product.stock = 1).await.unwrap();
    let updated = table.items.update(stale).when(Product::ATTR.stock.eq(5)).await;
    assert!(matches!(updated, Err(Error::Conflict(_))), "{updated:?}");
}

async fn a_value_without_changes_is_checked(shop: &Shop) {
    let table = shop.table_of([Product::new("a", 5)]).await;
    let product = table.items.update(read(&table).await).when(Product::ATTR.stock.eq(5)).await.unwrap();
    assert_eq!((product.version(), product.stock), (1, 5));
    let failed = condition_failed(table.items.update(product.clone()).when(Product::ATTR.stock.eq(6)).await);
    assert_eq!(failed.current::<Product>().unwrap().unwrap().stock, 5);
    table.others.touch(product.clone()).await.unwrap();
    let stale = table.items.update(product).when(Product::ATTR.stock.eq(5)).await;
    assert!(matches!(stale, Err(Error::Conflict(_))), "{stale:?}");
}

async fn an_unchecked_delete_may_have_a_condition(shop: &Shop) {
    let table = shop.table_of([Product::new("a", 5)]).await;
    let a = Product::ATTR;
    let failed = condition_failed(table.items.delete_unchecked("a").when(a.stock.eq(6)).await);
    assert_eq!(failed.current::<Product>().unwrap().unwrap().stock, 5);
    table.items.delete_unchecked("a").when(a.stock.eq(5)).await.unwrap();
    let failed = condition_failed(table.items.delete_unchecked("a").when(a.stock.eq(5)).await);
    assert!(failed.current_item().is_none());
    table.items.delete_unchecked("a").when(a.stock.absent()).await.unwrap();
}

async fn several_conditions_must_all_be_true(shop: &Shop) {
    let table = shop.table_of([Product::new("a", 5)]).await;
    let a = Product::ATTR;
    let product = changed(read(&table).await, |product| product.stock = 6);
    condition_failed(
        table.items.update(product.clone()).when(a.stock.eq(5)).when(a.note.exists().and(a.note.ne(None))).await,
    );
    assert_eq!(table.items.update(product).when(a.stock.eq(5)).when(a.note.eq(None)).await.unwrap().stock, 6);
}

async fn an_item_of_another_program_takes_conditions_too(shop: &Shop) {
    let table = shop.table_of([Product::new("a", 5)]).await;
    let mut stored = table.raw.get("a").await.unwrap();
    stored.retain(|name, _| !name.starts_with('_'));
    table.raw.put(stored).await;
    let product = changed(read(&table).await, |product| product.stock = 6);
    condition_failed(table.items.update(product.clone()).when(Product::ATTR.stock.eq(6)).await);
    let product = table.items.update(product).when(Product::ATTR.stock.eq(5)).await.unwrap();
    assert_eq!((product.version(), table.raw.get("a").await.unwrap()["stock"].clone()), (1, n(6)));
}

async fn a_condition_that_is_too_long_is_not_sent(shop: &Shop) {
    let table = shop.table_of([Product::new("a", 5)]).await;
    let long = || (0..400).fold(Product::ATTR.stock.eq(5), |all, n| all.and(Product::ATTR.stock.ne(n + 100)));
    let unchanged = table.items.update(read(&table).await).when(long()).await;
    assert!(matches!(unchanged, Err(Error::ExpressionTooLong { .. })), "{unchanged:?}");
    let deleted = table.items.delete_unchecked("a").when(long()).await;
    assert!(matches!(deleted, Err(Error::ExpressionTooLong { .. })), "{deleted:?}");
}
