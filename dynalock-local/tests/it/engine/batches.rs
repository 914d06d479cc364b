use std::collections::HashMap;

use aws_sdk_dynamodb::types::{DeleteRequest, KeysAndAttributes, PutRequest, WriteRequest};

use super::{
    orders::{names, text},
    table,
};
use crate::table::{Item, Table, code, item, n, s};

const INVALID: Option<&str> = Some("ValidationException");
const NOT_FOUND: Option<&str> = Some("ResourceNotFoundException");
const KIB: usize = 1024;

fn key(key: impl Into<String>) -> Item {
    item([("k", s(key))])
}

fn keys(keys: impl IntoIterator<Item = Item>) -> KeysAndAttributes {
    KeysAndAttributes::builder().set_keys(Some(keys.into_iter().collect())).build().unwrap()
}

fn put(attributes: Item) -> WriteRequest {
    WriteRequest::builder().put_request(PutRequest::builder().set_item(Some(attributes)).build().unwrap()).build()
}

fn delete(key: Item) -> WriteRequest {
    WriteRequest::builder().delete_request(DeleteRequest::builder().set_key(Some(key)).build().unwrap()).build()
}

/// Returns the sorted keys of a batch's items, because a batch has no order.
fn found(responses: Option<HashMap<String, Vec<Item>>>, table: &Table) -> Vec<String> {
    let items = responses.unwrap().remove(&table.name).unwrap_or_default();
    let mut keys: Vec<_> = items.iter().map(|item| item["k"].as_s().unwrap().clone()).collect();
    keys.sort_unstable();
    keys
}

#[tokio::test]
async fn a_batch_reads_what_is_there() {
    let table = table("a_batch_reads_what_is_there").await;
    table.put(item([("k", s("a")), ("n", n(1))])).await;
    table.put(item([("k", s("b")), ("n", n(2))])).await;
    let read = table.client.batch_get_item().request_items(&table.name, keys(["a", "absent", "b"].map(key)));

    let read = read.send().await.unwrap();

    assert_eq!(found(read.responses, &table), ["a", "b"]);
    assert_eq!(read.unprocessed_keys.unwrap_or_default().len(), 0);
}

#[tokio::test]
async fn a_batch_reads_nothing_where_nothing_is() {
    let table = table("a_batch_reads_nothing_where_nothing_is").await;
    let read = table.client.batch_get_item().request_items(&table.name, keys([key("absent")])).send().await.unwrap();

    assert_eq!(read.responses.unwrap().get(&table.name), Some(&vec![]));
}

#[tokio::test]
async fn a_batch_reads_several_tables_each_with_its_projection() {
    let name = "a_batch_reads_several_tables_each";
    let left = table(&format!("{name}_left")).await;
    let right = Table::create(left.client.clone(), &format!("{name}_right")).await;
    left.put(item([("k", s("a")), ("n", n(1)), ("note", s("left"))])).await;
    right.put(item([("k", s("a")), ("n", n(2)), ("note", s("right"))])).await;
    let projected = KeysAndAttributes::builder().keys(key("a")).projection_expression("#n").consistent_read(true);
    let projected = projected.expression_attribute_names("#n", "n").build().unwrap();

    let read = left.client.batch_get_item().request_items(&left.name, keys([key("a")]));
    let read = read.request_items(&right.name, projected).send().await.unwrap().responses.unwrap();

    assert_eq!(names(&read[&left.name][0]), ["k", "n", "note"]);
    assert_eq!(read[&right.name], [item([("n", n(2))])]);
}

#[tokio::test]
async fn a_batch_has_at_most_100_keys_and_none_twice() {
    let table = table("a_batch_has_at_most_100_keys_and_none_twice").await;
    let read = |keys| table.client.batch_get_item().request_items(&table.name, keys).send();
    let many = |count: usize| keys((0..count).map(|number| key(number.to_string())));
    let extra = item([("k", s("a")), ("n", n(1))]);

    assert_eq!(code(&read(many(100)).await), None);
    assert_eq!(code(&read(many(101)).await), INVALID);
    assert_eq!(code(&read(keys(["a", "b", "a"].map(key))).await), INVALID);
    assert_eq!(code(&read(keys([])).await), INVALID);
    assert_eq!(code(&read(keys([extra])).await), INVALID);
    assert_eq!(code(&read(keys([item([("k", n(1))])])).await), INVALID);
    assert_eq!(code(&read(keys([key("")])).await), INVALID);
    assert_eq!(code(&table.client.batch_get_item().send().await), INVALID);
    let missing = table.client.batch_get_item().request_items("no_such_table", keys([key("a")])).send().await;
    assert_eq!(code(&missing), NOT_FOUND);
}

#[tokio::test]
async fn a_batch_of_more_than_16_mb_leaves_keys_unprocessed() {
    let table = table("a_batch_of_more_than_16_mb_leaves_keys_unprocessed").await;
    let mut expected = Vec::new();
    for number in 0..48 {
        let name = format!("{number:02}");
        table.put(item([("k", s(&name)), ("text", text(390 * KIB))])).await;
        expected.push(name);
    }
    let read = KeysAndAttributes::builder().set_keys(Some(expected.iter().map(key).collect())).consistent_read(true);
    let first = table.client.batch_get_item().request_items(&table.name, read.build().unwrap()).send().await.unwrap();
    let unprocessed = first.unprocessed_keys.clone();
    let rest = table.client.batch_get_item().set_request_items(unprocessed.clone()).send().await.unwrap();

    let unprocessed = unprocessed.unwrap().remove(&table.name).unwrap();
    assert_eq!(unprocessed.consistent_read, Some(true));
    let mut read = found(first.responses, &table);
    assert!(read.len() * 390 <= 16 * KIB);
    read.extend(found(rest.responses, &table));
    read.sort_unstable();
    assert_eq!(read, expected);
    assert_eq!(rest.unprocessed_keys.unwrap_or_default().len(), 0);
}

#[tokio::test]
async fn a_batch_puts_and_deletes() {
    let table = table("a_batch_puts_and_deletes").await;
    table.put(item([("k", s("deleted"))])).await;
    table.put(item([("k", s("replaced")), ("note", s("old"))])).await;
    let writes = vec![
        put(item([("k", s("replaced")), ("n", n(1))])),
        put(item([("k", s("new")), ("n", n(2))])),
        delete(key("deleted")),
        delete(key("absent")),
    ];

    let written = table.client.batch_write_item().request_items(&table.name, writes).send().await.unwrap();

    assert_eq!(written.unprocessed_items.unwrap_or_default().len(), 0);
    assert_eq!(table.get("replaced").await, Some(item([("k", s("replaced")), ("n", n(1))])));
    assert_eq!(table.n("new").await, Some(n(2)));
    assert_eq!(table.get("deleted").await, None);
}

#[tokio::test]
async fn a_batch_that_is_refused_writes_nothing() {
    let table = table("a_batch_that_is_refused_writes_nothing").await;
    let good = || put(key("good"));
    let send = |writes| table.client.batch_write_item().request_items(&table.name, writes).send();
    let elsewhere = table.client.batch_write_item().request_items(&table.name, vec![good()]);

    assert_eq!(code(&send(vec![]).await), INVALID);
    assert_eq!(code(&table.client.batch_write_item().send().await), INVALID);
    assert_eq!(code(&send(vec![good(), put(key("a")), delete(key("a"))]).await), INVALID);
    assert_eq!(code(&send(vec![good(), put(item([("n", n(1))]))]).await), INVALID);
    assert_eq!(code(&send(vec![good(), put(key(""))]).await), INVALID);
    assert_eq!(code(&send(vec![good(), put(item([("k", s("a")), ("text", text(401 * KIB))]))]).await), INVALID);
    assert_eq!(code(&send(vec![good(), WriteRequest::builder().build()]).await), INVALID);
    assert_eq!(code(&elsewhere.request_items("no_such_table", vec![good()]).send().await), NOT_FOUND);
    assert_eq!(table.get("good").await, None);
}
