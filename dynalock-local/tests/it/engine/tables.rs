use aws_sdk_dynamodb::types::{
    AttributeDefinition, BillingMode, KeySchemaElement, KeyType, ScalarAttributeType, TableStatus,
};

use super::table;
use crate::table::{Table, code, item, n, s};

const NOT_FOUND: Option<&str> = Some("ResourceNotFoundException");

#[tokio::test]
async fn a_table_is_made_once() {
    let table = table("a_table_is_made_once").await;
    let key = AttributeDefinition::builder().attribute_name("k").attribute_type(ScalarAttributeType::S);
    let element = KeySchemaElement::builder().attribute_name("k").key_type(KeyType::Hash);

    let again = table
        .client
        .create_table()
        .table_name(&table.name)
        .billing_mode(BillingMode::PayPerRequest)
        .attribute_definitions(key.build().unwrap())
        .key_schema(element.build().unwrap())
        .send()
        .await;

    assert_eq!(code(&again), Some("ResourceInUseException"));
}

#[tokio::test]
async fn a_new_table_is_active_when_it_is_described() {
    let table = table("a_new_table_is_active_when_it_is_described").await;

    let described = table.client.describe_table().table_name(&table.name).send().await.unwrap().table.unwrap();

    assert_eq!(described.table_status, Some(TableStatus::Active));
}

#[tokio::test]
async fn a_missing_table_is_not_found() {
    let client = table("a_missing_table_is_not_found").await.client;
    let missing = Table { client: client.clone(), name: "no_such_table".to_owned() };
    let get = client.get_item().table_name("no_such_table").key("k", s("a")).send().await;

    assert_eq!(code(&get), NOT_FOUND);
    assert_eq!(code(&missing.put_request(item([("k", s("a"))])).send().await), NOT_FOUND);
    assert_eq!(code(&missing.increment("a").send().await), NOT_FOUND);
    assert_eq!(code(&missing.delete("a").send().await), NOT_FOUND);
    assert_eq!(code(&client.describe_table().table_name("no_such_table").send().await), NOT_FOUND);
    assert_eq!(code(&client.delete_table().table_name("no_such_table").send().await), NOT_FOUND);
}

#[tokio::test]
async fn a_key_has_the_attributes_of_its_table() {
    let table = table("a_key_has_the_attributes_of_its_table").await;
    let get = || table.client.get_item().table_name(&table.name);

    let other_name = get().key("id", s("a")).send().await;
    let other_type = get().key("k", n(1)).send().await;
    let too_many = get().key("k", s("a")).key("id", s("a")).send().await;

    assert_eq!(code(&other_name), Some("ValidationException"));
    assert_eq!(code(&other_type), Some("ValidationException"));
    assert_eq!(code(&too_many), Some("ValidationException"));
}

#[tokio::test]
async fn expired_items_are_read_and_accept_writes() {
    let table = table("expired_items_are_read_and_accept_writes").await;
    table.enable_ttl().await.unwrap();
    table.put(item([("k", s("a")), ("n", n(1)), ("expires", n(1_000_000_000))])).await;

    table.increment("a").send().await.unwrap();

    assert_eq!(table.n("a").await, Some(n(2)));
}
