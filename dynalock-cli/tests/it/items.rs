//! `dynalock item`.

use std::{
    process::Stdio,
    time::{SystemTime, UNIX_EPOCH},
};

use aws_sdk_dynamodb::types::AttributeValue;
use dynalock::{Heartbeat, Versioned};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, BufReader};

use crate::support::{Engine, LONG, Product, masked, run};

/// An item with a sort key, whose lease is in the item.
#[derive(Debug, Clone, Serialize, Deserialize, Versioned)]
#[dynalock(table = "orders")]
#[lockable]
struct Order {
    #[dynalock(partition_key)]
    customer: String,
    #[dynalock(sort_key)]
    number: u64,
    lines: Vec<String>,
}

/// An item whose lease is in a separate row.
#[derive(Debug, Clone, Serialize, Deserialize, Versioned)]
#[dynalock(table = "parcels")]
#[lockable(separate)]
struct Parcel {
    #[dynalock(partition_key)]
    id: String,
}

fn product(sold_until: Option<u64>) -> Product {
    Product { sku: "85123A".to_owned(), stock: 10, sold_until }
}

#[tokio::test]
async fn an_item_is_shown_with_its_version_and_its_time_to_live() {
    let (engine, products) = Engine::with_products().await;
    products.create(product(Some(4_102_444_800))).await.unwrap();
    products.update_with("85123A", |product| product.stock -= 3).await.unwrap();
    assert_eq!(
        engine.run("item show products 85123A").await.succeeded(),
        "\
table    products
key      85123A
version  2
expires  2100-01-01T00:00:00Z (in <time>)
lease    never leased

sku         \"85123A\"
sold_until  4102444800
stock       7"
    );
    let shown = engine.json("item show products 85123A").await;
    assert_eq!((&shown["version"], &shown["expired"]), (&json!(2), &json!(false)));
    assert_eq!(shown["expires_at"], "2100-01-01T00:00:00Z");
    assert_eq!((&shown["key"], &shown["lease"]), (&json!({ "sku": { "S": "85123A" } }), &Value::Null));
    assert_eq!(shown["item"]["stock"], json!({ "N": "7" }));
}

/// The time of day in epoch seconds.
#[expect(clippy::disallowed_methods, reason = "the time to live of an item is a time of day")]
fn epoch_seconds() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs()
}

#[tokio::test]
async fn an_expired_item_is_shown_as_such() {
    let (engine, products) = Engine::with_products().await;
    products.create(product(Some(epoch_seconds() - 3_600))).await.unwrap();
    assert!(products.get("85123A").await.unwrap().is_none());
    let run = engine.run("item show products 85123A").await;
    assert!(run.stdout.contains("ago): calls treat the item as absent"), "{}", run.stdout);
    assert_eq!(engine.json("item show products 85123A").await["expired"], true);
}

/// `DynamoDB` and the library ignore a time to live of more than five years ago.
#[tokio::test]
async fn an_item_with_an_old_time_to_live_is_not_expired() {
    let (engine, products) = Engine::with_products().await;
    for (until, moment) in [(1_000_000_000, "2001-09-09T01:46:40Z"), (0, "1970-01-01T00:00:00Z")] {
        products.delete_unchecked("85123A").await.unwrap();
        products.create(product(Some(until))).await.unwrap();
        assert!(products.get("85123A").await.unwrap().is_some());
        let run = engine.run("item show products 85123A").await;
        assert!(run.stdout.contains(&format!("{moment} (")), "{}", run.stdout);
        assert!(run.stdout.contains("ago): calls do not treat the item as expired"), "{}", run.stdout);
        assert_eq!(engine.json("item show products 85123A").await["expired"], false);
    }
}

#[tokio::test]
async fn a_time_to_live_that_is_no_date_is_shown_in_seconds() {
    let (engine, products) = Engine::with_products().await;
    products.create(product(Some(u64::MAX))).await.unwrap();
    let shown = engine.json("item show products 85123A").await;
    assert_eq!(shown["expires_at"], "18446744073709551615 s");
}

/// The key of a separate lease row would be longer than the limit of `DynamoDB`.
#[tokio::test]
async fn an_item_with_the_longest_key_is_shown() {
    let (engine, products) = Engine::with_products().await;
    let sku = "k".repeat(2_048);
    products.create(Product { sku: sku.clone(), ..product(None) }).await.unwrap();
    let shown = engine.json(&format!("item show products {sku}")).await;
    assert_eq!((&shown["version"], &shown["lease"]), (&json!(1), &Value::Null));
}

#[tokio::test]
async fn the_lease_of_an_item_is_shown() {
    let engine = Engine::start().await;
    let orders = Order::repository(&engine.client);
    orders.create_table().await.unwrap();
    orders.create(Order { customer: "alice".to_owned(), number: 7, lines: vec!["tea".to_owned()] }).await.unwrap();
    let lease = orders.lock(("alice", 7)).owner("worker-7").ttl(LONG).heartbeat(Heartbeat::Off).await.unwrap().detach();
    let shown = engine.run("item show orders alice 7").await.succeeded();
    assert_eq!(
        shown.replace(&lease.fence().to_string(), "<fence>"),
        "\
table      orders
key        alice 7
version    1
lease      held
owner      worker-7
nonce      <id>
fence      <fence>
remaining  <time>
waiting    0

customer  \"alice\"
number    7
lines     [\"tea\"]"
    );
    assert_eq!(engine.json("item show orders alice 7").await["lease"]["fence"], json!(lease.fence()));
}

#[tokio::test]
async fn a_lease_in_a_separate_row_is_shown() {
    let engine = Engine::start().await;
    let parcels = Parcel::repository(&engine.client);
    parcels.create_table().await.unwrap();
    parcels.create(Parcel { id: "a".to_owned() }).await.unwrap();
    assert_eq!(engine.json("item show parcels a").await["lease"], Value::Null);
    parcels.lock("a").owner("worker-7").ttl(LONG).heartbeat(Heartbeat::Off).await.unwrap().detach();
    assert_eq!(engine.json("item show parcels a").await["lease"]["owner"], "worker-7");
}

#[tokio::test]
async fn a_key_must_fit_the_table() {
    let engine = Engine::start().await;
    Order::repository(&engine.client).create_table().await.unwrap();
    engine.run("table create bytes --partition-key id:B").await.succeeded();
    let failed = async |args: &str, code| engine.run(&format!("item show {args}")).await.failed_with(code).to_owned();
    assert_eq!(failed("orders alice", 2).await, "table `orders` has the sort key `number`; add its value");
    assert_eq!(failed("orders alice seven", 2).await, "the key attribute `number` is a number; `seven` is none");
    assert_eq!(failed("orders alice -7", 3).await, "table `orders` has no item under alice -7");
    assert_eq!(failed("bytes a b", 2).await, "table `bytes` has no sort key; leave the second value out");
    assert_eq!(failed("bytes !", 2).await, "the key attribute `id` is bytes in base64; `!` is none");
    assert_eq!(failed("bytes AQI=", 3).await, "table `bytes` has no item under AQI=");
    assert!(failed("none a", 3).await.starts_with("table `none` does not exist"));
}

#[tokio::test]
async fn an_empty_table_or_key_is_a_wrong_command_line() {
    let (engine, _) = Engine::with_products().await;
    for [table, key] in [["", "85123A"], ["products", ""]] {
        run(engine.command("item show").args([table, key])).await.failed_with_usage();
    }
    run(engine.command("locks list").arg("")).await.failed_with_usage();
    run(engine.command("doctor --table").arg("")).await.failed_with_usage();
}

#[tokio::test]
async fn a_history_has_the_ids_of_writes_and_patches() {
    let (engine, products) = Engine::with_products().await;
    products.create(product(None)).await.unwrap();
    products.update_with("85123A", |product| product.stock -= 3).await.unwrap();
    products.patch("85123A").add(Product::ATTR.stock, 1).await.unwrap();
    assert_eq!(
        engine.run("item history products 85123A").await.succeeded(),
        "\
table        products
key          85123A
version      3
incarnation  <id>
last time    <moment>

VERSION  KIND   ID
<= 3     write  <id>
<= 2     write  <id>
         patch  <id>

DynamoDB keeps no earlier values: only the ids of the last writes are left."
    );
    let history = engine.json("item history products 85123A").await;
    assert_eq!((&history["version"], &history["writes"][1]["version_at_most"]), (&json!(3), &json!(2)));
    assert_eq!(history["patches"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn a_history_follows_the_changes_of_an_item() {
    let (engine, products) = Engine::with_products().await;
    products.create(product(None)).await.unwrap();
    let mut command = engine.command("item history products 85123A --follow --interval 0.1");
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut next = async || masked(&lines.next_line().await.unwrap().unwrap());
    while !next().await.starts_with("DynamoDB keeps no earlier values") {}
    products.patch("85123A").add(Product::ATTR.stock, 1).await.unwrap();
    assert_eq!(next().await, "<moment> version 1 -> 2  patch <id>");
    products.delete_unchecked("85123A").await.unwrap();
    assert_eq!(next().await, "<moment> deleted");
    child.kill().await.unwrap();
}

#[tokio::test]
async fn an_item_of_another_program_has_no_history() {
    let (engine, _) = Engine::with_products().await;
    let key = AttributeValue::S("x".to_owned());
    engine.client.put_item().table_name("products").item("sku", key).send().await.unwrap();
    let history = engine.json("item history products x").await;
    assert_eq!(
        history,
        json!({ "version": null, "incarnation": null, "last_time": null, "writes": [], "patches": [] })
    );
    let run = engine.run("item show products x").await;
    assert!(run.stdout.contains("version  none in `_version`: another program wrote the item"), "{run:?}");
}
