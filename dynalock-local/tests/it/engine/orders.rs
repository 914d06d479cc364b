//! A table of orders with global and local indexes, and short functions that query it.

use aws_sdk_dynamodb::{
    Client,
    operation::{create_table::builders::CreateTableFluentBuilder, query::builders::QueryFluentBuilder},
    types::{
        AttributeDefinition, AttributeValue, BillingMode, GlobalSecondaryIndex, KeySchemaElement, KeyType,
        LocalSecondaryIndex, Projection, ProjectionType, ScalarAttributeType,
    },
};

use super::client;
use crate::table::{Item, Table, item, n, s};

/// Creates a table of orders with the keys `customer` and `number`.
///
/// | index | kind | keys | projection |
/// |---|---|---|---|
/// | `by_status` | global | `status`, `placed` | all |
/// | `keys_by_status` | global | `status` | keys only |
/// | `cents_by_status` | global | `status` | `cents` |
/// | `by_placed` | local | `customer`, `placed` | all |
/// | `keys_by_placed` | local | `customer`, `placed` | keys only |
pub(crate) async fn orders(name: &str) -> Table {
    orders_of(client(), name).await
}

/// Creates the same table by another client.
pub(crate) async fn orders_of(client: Client, name: &str) -> Table {
    definition(client.create_table().table_name(name)).billing_mode(BillingMode::PayPerRequest).send().await.unwrap();

    Table { client, name: name.to_owned() }
}

/// Returns the request of the table, without its name and billing mode.
pub(crate) fn definition(create: CreateTableFluentBuilder) -> CreateTableFluentBuilder {
    let cents = projection(ProjectionType::Include, &["cents"]);

    create
        .attribute_definitions(string("customer"))
        .attribute_definitions(number("number"))
        .attribute_definitions(string("status"))
        .attribute_definitions(string("placed"))
        .set_key_schema(Some(keys(&["customer", "number"])))
        .global_secondary_indexes(global("by_status", &["status", "placed"], all()))
        .global_secondary_indexes(global("keys_by_status", &["status"], keys_only()))
        .global_secondary_indexes(global("cents_by_status", &["status"], cents))
        .local_secondary_indexes(local("by_placed", &["customer", "placed"], all()))
        .local_secondary_indexes(local("keys_by_placed", &["customer", "placed"], keys_only()))
}

pub(crate) fn string(name: &str) -> AttributeDefinition {
    AttributeDefinition::builder().attribute_name(name).attribute_type(ScalarAttributeType::S).build().unwrap()
}

pub(crate) fn number(name: &str) -> AttributeDefinition {
    AttributeDefinition::builder().attribute_name(name).attribute_type(ScalarAttributeType::N).build().unwrap()
}

/// Returns a key schema: a partition key, and a sort key if there are two names.
pub(crate) fn keys(names: &[&str]) -> Vec<KeySchemaElement> {
    let element =
        |(name, role): (&&str, _)| KeySchemaElement::builder().attribute_name(*name).key_type(role).build().unwrap();

    names.iter().zip([KeyType::Hash, KeyType::Range]).map(element).collect()
}

pub(crate) fn global(name: &str, names: &[&str], projection: Projection) -> GlobalSecondaryIndex {
    let index = GlobalSecondaryIndex::builder().index_name(name).set_key_schema(Some(keys(names)));

    index.projection(projection).build().unwrap()
}

pub(crate) fn local(name: &str, names: &[&str], projection: Projection) -> LocalSecondaryIndex {
    let index = LocalSecondaryIndex::builder().index_name(name).set_key_schema(Some(keys(names)));

    index.projection(projection).build().unwrap()
}

pub(crate) fn all() -> Projection {
    projection(ProjectionType::All, &[])
}

pub(crate) fn keys_only() -> Projection {
    projection(ProjectionType::KeysOnly, &[])
}

pub(crate) fn projection(kind: ProjectionType, attributes: &[&str]) -> Projection {
    let attributes = attributes.iter().map(ToString::to_string).collect::<Vec<_>>();

    Projection::builder()
        .projection_type(kind)
        .set_non_key_attributes(Some(attributes).filter(|attributes| !attributes.is_empty()))
        .build()
}

/// Puts an order that no index contains.
pub(crate) fn draft(customer: &str, number: i64) -> Item {
    item([("customer", s(customer)), ("number", n(number)), ("cents", n(10 * number)), ("note", s("none"))])
}

/// Puts an order that all indexes contain.
pub(crate) fn order(customer: &str, number: i64, status: &str, placed: &str) -> Item {
    let mut order = draft(customer, number);
    order.extend(item([("status", s(status)), ("placed", s(placed))]));
    order
}

/// Returns a query of the orders of a customer.
pub(crate) fn of(orders: &Table, customer: &str) -> QueryFluentBuilder {
    let query = orders.client.query().table_name(&orders.name).key_condition_expression("customer = :customer");

    query.expression_attribute_values(":customer", s(customer))
}

/// Returns a query of the orders of a customer whose number satisfies `condition`.
pub(crate) fn where_number(orders: &Table, customer: &str, condition: &str) -> QueryFluentBuilder {
    let condition = format!("customer = :customer AND {condition}");

    of(orders, customer).key_condition_expression(condition).expression_attribute_names("#number", "number")
}

/// Returns a query of the orders with a status, in one of the global indexes.
pub(crate) fn in_status(orders: &Table, index: &str, status: &str) -> QueryFluentBuilder {
    let query = orders.client.query().table_name(&orders.name).index_name(index);

    query
        .key_condition_expression("#status = :status")
        .expression_attribute_names("#status", "status")
        .expression_attribute_values(":status", s(status))
}

/// Returns the numbers of these orders, in the order of the answer.
pub(crate) fn numbers(items: &[Item]) -> Vec<i64> {
    items.iter().map(|order| order["number"].as_n().unwrap().parse().unwrap()).collect()
}

/// Returns the numbers of a whole query, over all of its pages.
pub(crate) async fn all_numbers(query: QueryFluentBuilder) -> Vec<i64> {
    numbers(&query.into_paginator().items().send().collect::<Result<Vec<_>, _>>().await.unwrap())
}

/// Returns the sorted names of an item's attributes.
pub(crate) fn names(item: &Item) -> Vec<&str> {
    let mut names: Vec<_> = item.keys().map(String::as_str).collect();
    names.sort_unstable();
    names
}

pub(crate) fn order_key(customer: &str, number: i64) -> Item {
    item([("customer", s(customer)), ("number", n(number))])
}

/// Returns a text of `bytes` characters.
pub(crate) fn text(bytes: usize) -> AttributeValue {
    s("x".repeat(bytes))
}
