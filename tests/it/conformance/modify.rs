//! Read-modify-write calls: `update_with`, `try_update_with` and `upsert_with`.

use dynalock::{Error, Pace};

use crate::support::{Product, Shop, Table, changed, expect_error, item, n, s};

cases![
    update_with_returns_the_value_that_it_wrote,
    update_with_on_nothing_is_not_found,
    a_closure_that_leaves_the_value_as_it_was_writes_nothing,
    a_domain_error_stops_at_once_and_nothing_is_written,
    a_domain_error_after_a_conflict_stops_at_once,
    an_error_of_the_library_reaches_a_domain_result,
    upsert_with_creates_and_then_updates,
    upsert_with_lost_against_another_create_updates_that,
    upsert_with_whose_item_was_deleted_creates_it_anew,
    upsert_with_whose_init_has_another_key_writes_nothing,
    update_with_whose_item_was_deleted_between_is_not_found,
    n_conflicts_within_the_budget_cost_n_writes_more_and_no_read,
    each_sleep_is_followed_by_a_read_and_four_times_as_many_immediate_attempts,
    a_big_item_is_retried_at_once_less_often,
    every_write_asks_for_the_item_that_it_may_lose_to,
    attempts_bound_the_writes,
    a_closure_sees_each_item_once_and_its_last_run_alone_is_written,
];

/// Lets another caller increment `stock` by 100 before each of the first `count` updates.
fn conflicts(shop: &Shop, table: &Table<Product>, count: usize) {
    for nth in 0..count {
        shop.rival.before_through(&table.others, "UpdateItem", nth, async |others| {
            others.update_with("a", |product| product.stock += 100).await.unwrap();
        });
    }
}

async fn update_with_returns_the_value_that_it_wrote(shop: &Shop) {
    let table = shop.table_of([Product::new("a", 5)]).await;
    let product = table.items.update_with("a", |product| product.stock -= 3).await.unwrap();
    assert_eq!((product.stock, product.version()), (2, 2));
    assert_eq!(table.others.get("a").await.unwrap(), Some(product));
    assert_eq!(shop.counts(["GetItem", "UpdateItem"]), [1, 1]);
}

async fn update_with_on_nothing_is_not_found(shop: &Shop) {
    let table = shop.table::<Product>().await;
    expect_error!(table.items.update_with("a", |product| product.stock = 1).await, Error::NotFound { .. });
    assert_eq!(shop.requests(), 1);
    assert_eq!(table.raw.get("a").await, None);
}

async fn a_closure_that_leaves_the_value_as_it_was_writes_nothing(shop: &Shop) {
    let table = shop.table_of([Product::new("a", 5)]).await;
    let product = table.items.update_with("a", |product| product.stock = product.stock.max(3)).await.unwrap();
    assert_eq!((product.stock, product.version()), (5, 1));
    assert_eq!(shop.counts(["GetItem", "UpdateItem"]), [1, 0]);
}

#[derive(Debug, thiserror::Error)]
enum ShopError {
    #[error("sold out at {0}")]
    SoldOut(i64),
    #[error(transparent)]
    Dynalock(#[from] Error),
}

fn reserve(product: &mut Product, count: i64) -> Result<(), ShopError> {
    product.stock -= count;
    if product.stock < 0 { Err(ShopError::SoldOut(product.stock + count)) } else { Ok(()) }
}

async fn a_domain_error_stops_at_once_and_nothing_is_written(shop: &Shop) {
    let table = shop.table_of([Product::new("a", 5)]).await;
    let stored = table.raw.get("a").await;
    let result = table.items.try_update_with("a", |product| reserve(product, 6)).await;
    let stock = expect_error!(result, ShopError::SoldOut(stock) => stock);
    assert_eq!(stock, 5);
    assert_eq!(shop.counts(["GetItem", "UpdateItem"]), [1, 0]);
    assert_eq!(table.raw.get("a").await, stored);
    let product = table.items.try_update_with("a", |product| reserve(product, 5)).await.unwrap();
    assert_eq!((product.stock, product.version()), (0, 2));
}

async fn a_domain_error_after_a_conflict_stops_at_once(shop: &Shop) {
    let table = shop.table_of([Product::new("a", 5)]).await;
    let raw = table.raw.clone();
    shop.rival.before_through(&table.others, "UpdateItem", 0, async |others| {
        others.update_with("a", |product| product.stock = 2).await.unwrap();
    });
    let result = table.items.try_update_with("a", |product| reserve(product, 3)).await;
    let stock = expect_error!(result, ShopError::SoldOut(stock) => stock);
    assert_eq!(stock, 2);
    assert_eq!(shop.counts(["GetItem", "UpdateItem"]), [1, 1]);
    assert_eq!(raw.get("a").await.unwrap()["stock"], n(2));
}

async fn an_error_of_the_library_reaches_a_domain_result(shop: &Shop) {
    let table = shop.table::<Product>().await;
    let result = table.items.try_update_with("a", |product| reserve(product, 3)).await;
    expect_error!(result, ShopError::Dynalock(Error::NotFound { .. }));
}

async fn upsert_with_creates_and_then_updates(shop: &Shop) {
    let table = shop.table::<Product>().await;
    for (stock, version) in [(100, 1), (200, 2)] {
        let product =
            table.items.upsert_with("a", || Product::new("a", 0), |product| product.stock += 100).await.unwrap();
        assert_eq!((product.stock, product.version()), (stock, version));
    }
    assert_eq!(shop.counts(["GetItem", "PutItem", "UpdateItem"]), [2, 1, 1]);
}

async fn upsert_with_lost_against_another_create_updates_that(shop: &Shop) {
    let table = shop.table::<Product>().await;
    shop.rival.before_through(&table.others, "PutItem", 0, async |others| {
        others.create(Product::new("a", 7)).await.unwrap();
    });
    let product = table.items.upsert_with("a", || Product::new("a", 0), |product| product.stock += 100).await.unwrap();
    assert_eq!((product.stock, product.version()), (107, 2));
    assert_eq!(shop.counts(["GetItem", "PutItem", "UpdateItem"]), [1, 1, 1]);
}

async fn upsert_with_whose_item_was_deleted_creates_it_anew(shop: &Shop) {
    let table = shop.table_of([Product::new("a", 7)]).await;
    let raw = table.raw.clone();
    shop.rival.before("UpdateItem", 0, async move || raw.delete("a").await);
    let product = table.items.upsert_with("a", || Product::new("a", 0), |product| product.stock += 100).await.unwrap();
    assert_eq!((product.stock, product.version()), (100, 1));
}

async fn upsert_with_whose_init_has_another_key_writes_nothing(shop: &Shop) {
    let table = shop.table::<Product>().await;
    let upsert = table.items.upsert_with("a", || Product::new("b", 0), |product| product.stock += 100);
    expect_error!(upsert.await, Error::KeyChanged { .. });
    let upsert = table.items.upsert_with("a", || Product::new("a", 0), |product| product.sku = "b".to_owned());
    expect_error!(upsert.await, Error::KeyChanged { .. });
    assert_eq!(shop.counts(["PutItem", "UpdateItem"]), [0, 0]);
    assert_eq!((table.raw.get("a").await, table.raw.get("b").await), (None, None));
}

async fn update_with_whose_item_was_deleted_between_is_not_found(shop: &Shop) {
    let table = shop.table_of([Product::new("a", 7)]).await;
    let raw = table.raw.clone();
    shop.rival.before("UpdateItem", 0, async move || raw.delete("a").await);
    expect_error!(table.items.update_with("a", |product| product.stock = 1).await, Error::NotFound { .. });
    assert_eq!(table.raw.get("a").await, None);
}

async fn n_conflicts_within_the_budget_cost_n_writes_more_and_no_read(shop: &Shop) {
    for (pace, budget) in [(Pace::Balanced, 3), (Pace::Latency, 6), (Pace::Economy, 0)] {
        for count in 0..=budget {
            let table = shop.table_of([Product::new("a", 0)]).await;
            conflicts(shop, &table, count);
            let [reads, writes] = shop.counts(["GetItem", "UpdateItem"]);
            let product = table.items.update_with("a", |product| product.stock += 1).pace(pace).await.unwrap();
            let others = i64::try_from(count).unwrap();
            assert_eq!(product.stock, 100 * others + 1);
            assert_eq!(shop.counts(["GetItem", "UpdateItem"]), [reads + 1, writes + count + 1], "{pace:?}, {count}");
        }
    }
}

async fn each_sleep_is_followed_by_a_read_and_four_times_as_many_immediate_attempts(shop: &Shop) {
    // The conflicts after which the call sleeps for the first and the second time.
    for (pace, sleeps) in [(Pace::Balanced, [4, 17]), (Pace::Latency, [7, 32]), (Pace::Economy, [1, 2])] {
        for count in sleeps.into_iter().flat_map(|sleep| [sleep - 1, sleep]) {
            let table = shop.table_of([Product::new("a", 0)]).await;
            conflicts(shop, &table, count);
            let [reads, writes] = shop.counts(["GetItem", "UpdateItem"]);
            table.items.update_with("a", |product| product.stock += 1).pace(pace).await.unwrap();
            let slept = sleeps.into_iter().filter(|sleep| *sleep <= count).count();
            let expected = [reads + 1 + slept, writes + count + 1];
            assert_eq!(shop.counts(["GetItem", "UpdateItem"]), expected, "{pace:?}, {count}");
        }
    }
}

async fn a_big_item_is_retried_at_once_less_often(shop: &Shop) {
    for (bytes, budget) in [(500, 3), (2_000, 2), (5_000, 1)] {
        let table = shop.table::<Product>().await;
        let big = Product { note: Some("x".repeat(bytes)), ..Product::new("a", 0) };
        table.others.create(big).await.unwrap();
        conflicts(shop, &table, budget + 1);
        let [reads, writes] = shop.counts(["GetItem", "UpdateItem"]);
        table.items.update_with("a", |product| product.stock += 1).await.unwrap();
        assert_eq!(shop.counts(["GetItem", "UpdateItem"]), [reads + 2, writes + budget + 2], "{bytes} bytes");
    }
}

async fn every_write_asks_for_the_item_that_it_may_lose_to(shop: &Shop) {
    let (table, product) = shop.created(Product::new("a", 0)).await;
    let product = table.items.update(changed(product, |it| it.stock = 1)).await.unwrap();
    let product = table.items.touch(product).await.unwrap();
    let product = table.items.replace(product).await.unwrap();
    table.items.delete(product).await.unwrap();
    for request in shop.faults.requests() {
        let json = request.json();
        assert_eq!(json["ReturnValuesOnConditionCheckFailure"], "ALL_OLD", "{request:?}");
        assert!(json["ConditionExpression"].is_string(), "{request:?}");
    }
    assert_eq!(shop.requests(), 5);
}

async fn attempts_bound_the_writes(shop: &Shop) {
    let table = shop.table_of([Product::new("a", 0)]).await;
    for allowed in 1..=3 {
        conflicts(shop, &table, 3);
        let [before] = shop.counts(["UpdateItem"]);
        let update = table.items.update_with("a", |product| product.stock += 1).attempts(allowed);
        let result = update.await;
        let (attempts, last) = expect_error!(result, Error::Exhausted { spent, last, .. } => (spent.attempts, last));
        assert_eq!(attempts, allowed);
        let met = expect_error!(Err::<(), _>(*last), Error::Conflict(met) => met);
        assert_eq!(met.current::<Product>().unwrap(), table.others.get("a").await.unwrap());
        let [after] = shop.counts(["UpdateItem"]);
        assert_eq!(u32::try_from(after - before).unwrap(), allowed);
        // Conflicts that no call has met yet would come before the next updates, so this loop uses
        // them up.
        while table.items.update_with("a", |product| product.stock += 1).attempts(1).await.is_err() {}
    }
}

async fn a_closure_sees_each_item_once_and_its_last_run_alone_is_written(shop: &Shop) {
    let table = shop.table_of_raw::<Product>([item([("sku", s("a")), ("stock", n(0)), ("_version", n(4))])]).await;
    conflicts(shop, &table, 2);
    let mut seen = Vec::new();
    let update = table.items.update_with("a", |product| {
        seen.push(product.stock);
        product.note = Some(format!("run {}", seen.len()));
    });
    let product = update.await.unwrap();
    assert_eq!((product.note.as_deref(), product.version()), (Some("run 3"), 7));
    assert_eq!(seen, [0, 100, 200]);
    assert_eq!(table.raw.get("a").await.unwrap()["note"], s("run 3"));
}
