//! Global indexes that show writes late.

use std::time::Duration;

use aws_sdk_dynamodb::types::{
    BillingMode, CreateGlobalSecondaryIndexAction, GlobalSecondaryIndexUpdate, Put, PutRequest, TransactWriteItem,
    WriteRequest,
};
use dynalock_local::Database;
use tokio::time::advance;

use crate::{
    engine::orders::{
        all, all_numbers, definition, draft, in_status, keys, numbers, of, order, order_key, orders_of, string,
    },
    table::{Table, item, n, s},
};

const LAG: Duration = Duration::from_millis(200);

async fn database() -> (Database, Table) {
    let database = Database::in_memory().unwrap();
    let orders = orders_of(database.client(), "orders").await;
    (database, orders)
}

async fn with_status(orders: &Table, status: &str) -> Vec<i64> {
    all_numbers(in_status(orders, "by_status", status)).await
}

async fn pay(orders: &Table, number: i64) {
    let update = orders.client.update_item().table_name(&orders.name).set_key(Some(order_key("alice", number)));
    let update = update.update_expression("SET #status = :s").expression_attribute_names("#status", "status");
    update.expression_attribute_values(":s", s("paid")).send().await.unwrap();
}

async fn delete(orders: &Table, number: i64) {
    let delete = orders.client.delete_item().table_name(&orders.name);
    delete.set_key(Some(order_key("alice", number))).send().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_write_is_seen_after_the_lag() {
    let (database, orders) = database().await;
    orders.put(order("alice", 1, "open", "2026-01-01")).await;
    orders.put(order("alice", 2, "open", "2026-01-02")).await;
    database.index_lag(LAG).unwrap();

    orders.put(order("alice", 3, "open", "2026-01-03")).await;
    pay(&orders, 1).await;
    delete(&orders, 2).await;
    advance(LAG / 2).await;
    let before = (with_status(&orders, "open").await, with_status(&orders, "paid").await);
    advance(LAG / 2).await;
    let after = (with_status(&orders, "open").await, with_status(&orders, "paid").await);

    assert_eq!(before, (vec![1, 2], vec![]));
    assert_eq!(after, (vec![3], vec![1]));
}

#[tokio::test(start_paused = true)]
async fn writes_are_seen_in_their_order_each_at_its_time() {
    let (database, orders) = database().await;
    database.index_lag(LAG).unwrap();
    orders.put(order("alice", 1, "open", "2026-01-01")).await;
    advance(LAG / 2).await;
    pay(&orders, 1).await;

    let mut seen = Vec::new();
    for _ in 0..3 {
        seen.push((with_status(&orders, "open").await, with_status(&orders, "paid").await));
        advance(LAG / 2).await;
    }

    assert_eq!(seen, [(vec![], vec![]), (vec![1], vec![]), (vec![], vec![1])]);
}

#[tokio::test(start_paused = true)]
async fn frozen_indexes_show_no_write_until_they_follow_again() {
    let (database, orders) = database().await;
    orders.put(order("alice", 1, "open", "2026-01-01")).await;
    database.freeze_indexes().unwrap();

    pay(&orders, 1).await;
    advance(1000 * LAG).await;
    let frozen = with_status(&orders, "open").await;
    database.index_lag(Duration::ZERO).unwrap();

    assert_eq!(frozen, [1]);
    assert_eq!((with_status(&orders, "open").await, with_status(&orders, "paid").await), (vec![], vec![1]));
}

#[tokio::test(start_paused = true)]
async fn a_frozen_index_may_follow_with_a_lag() {
    let (database, orders) = database().await;
    database.freeze_indexes().unwrap();
    orders.put(order("alice", 1, "open", "2026-01-01")).await;
    advance(LAG).await;
    orders.put(order("alice", 2, "open", "2026-01-02")).await;

    database.index_lag(LAG).unwrap();
    let old = with_status(&orders, "open").await;
    database.freeze_indexes().unwrap();
    advance(LAG).await;
    let frozen = with_status(&orders, "open").await;

    assert_eq!((old, frozen), (vec![1], vec![1]));
}

#[tokio::test(start_paused = true)]
async fn tables_and_local_indexes_do_not_lag() {
    let (database, orders) = database().await;
    database.freeze_indexes().unwrap();

    orders.put(order("alice", 1, "open", "2026-01-01")).await;

    assert_eq!(all_numbers(of(&orders, "alice")).await, [1]);
    assert_eq!(all_numbers(of(&orders, "alice").index_name("by_placed")).await, [1]);
    let scan = || orders.client.scan().table_name("orders");
    assert_eq!(numbers(scan().send().await.unwrap().items()), [1]);
    assert_eq!(numbers(scan().index_name("keys_by_status").send().await.unwrap().items()), [0; 0]);
}

#[tokio::test(start_paused = true)]
async fn all_clients_of_a_database_see_the_same_lag() {
    let (database, orders) = database().await;
    let clone = database.clone();
    let other = orders.with(clone.client());
    database.index_lag(LAG).unwrap();

    other.put(order("alice", 1, "open", "2026-01-01")).await;
    let early = (with_status(&orders, "open").await, with_status(&other, "open").await);
    advance(LAG).await;

    assert_eq!(early, (vec![], vec![]));
    assert_eq!((with_status(&orders, "open").await, with_status(&other, "open").await), (vec![1], vec![1]));
}

#[tokio::test(start_paused = true)]
async fn transactions_and_batches_are_followed() {
    let (database, orders) = database().await;
    orders.put(order("alice", 3, "open", "2026-01-03")).await;
    database.index_lag(LAG).unwrap();
    let put = Put::builder().table_name("orders").set_item(Some(order("alice", 1, "open", "2026-01-01")));
    let put = TransactWriteItem::builder().put(put.build().unwrap()).build();
    let batch_put = PutRequest::builder().set_item(Some(order("alice", 2, "open", "2026-01-02"))).build().unwrap();
    let replace = PutRequest::builder().set_item(Some(draft("alice", 3))).build().unwrap();
    let writes = [batch_put, replace].map(|put| WriteRequest::builder().put_request(put).build()).to_vec();

    orders.client.transact_write_items().transact_items(put).send().await.unwrap();
    orders.client.batch_write_item().request_items("orders", writes).send().await.unwrap();
    let early = with_status(&orders, "open").await;
    advance(LAG).await;

    assert_eq!(early, [3]);
    assert_eq!(with_status(&orders, "open").await, [1, 2]);
}

#[tokio::test(start_paused = true)]
async fn tables_are_made_and_deleted_without_a_lag() {
    let (database, orders) = database().await;
    database.index_lag(LAG).unwrap();
    orders.put(order("alice", 1, "open", "2026-01-01")).await;

    orders.client.delete_table().table_name("orders").send().await.unwrap();
    let create = definition(orders.client.create_table().table_name("orders"));
    create.billing_mode(BillingMode::PayPerRequest).send().await.unwrap();
    orders.put(order("bob", 2, "open", "2026-01-01")).await;
    let early = with_status(&orders, "open").await;
    advance(LAG).await;

    assert_eq!(early, [0; 0]);
    assert_eq!(with_status(&orders, "open").await, [2]);
}

#[tokio::test(start_paused = true)]
async fn an_index_that_is_added_lags_too() {
    let database = Database::in_memory().unwrap();
    let table = Table::create(database.client(), "table").await;
    database.index_lag(LAG).unwrap();
    let create = CreateGlobalSecondaryIndexAction::builder().index_name("by_color");
    let create = create.set_key_schema(Some(keys(&["color"]))).projection(all()).build().unwrap();
    let update = table.client.update_table().table_name("table");
    let update = update.attribute_definitions(string("color"));
    let update = update.global_secondary_index_updates(GlobalSecondaryIndexUpdate::builder().create(create).build());
    update.send().await.unwrap();
    let red = async || {
        let query = table.client.query().table_name("table").index_name("by_color");
        let query = query.key_condition_expression("color = :red").expression_attribute_values(":red", s("red"));
        query.send().await.unwrap().count
    };

    table.put(item([("k", s("a")), ("color", s("red")), ("n", n(1))])).await;
    let early = red().await;
    advance(LAG).await;

    assert_eq!((early, red().await), (0, 1));
}

#[tokio::test(start_paused = true)]
async fn a_database_in_a_file_has_a_lag_too() {
    let folder = tempfile::tempdir().unwrap();
    let database = Database::open(folder.path().join("database")).unwrap();
    let orders = orders_of(database.client(), "orders").await;
    orders.put(order("alice", 1, "open", "2026-01-01")).await;
    database.freeze_indexes().unwrap();

    orders.put(order("alice", 2, "open", "2026-01-02")).await;

    assert_eq!(with_status(&orders, "open").await, [1]);
    assert_eq!(all_numbers(of(&orders, "alice")).await, [1, 2]);
}
