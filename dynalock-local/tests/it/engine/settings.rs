//! The settings of a table at its creation and later: indexes, billing, time to live, deletion
//! protection.

use std::time::Duration;

use aws_sdk_dynamodb::{
    operation::{
        create_table::builders::CreateTableFluentBuilder, update_table::builders::UpdateTableFluentBuilder,
        update_time_to_live::builders::UpdateTimeToLiveFluentBuilder,
    },
    types::{
        BillingMode, CreateGlobalSecondaryIndexAction, DeleteGlobalSecondaryIndexAction, GlobalSecondaryIndexUpdate,
        IndexStatus, ProjectionType, ProvisionedThroughput, ProvisionedThroughputDescription, TableDescription,
        TableStatus, TimeToLiveSpecification, TimeToLiveStatus,
    },
};

use super::{
    client,
    orders::{
        all, all_numbers, definition, draft, global, in_status, keys, keys_only, local, number, order, orders,
        projection, string,
    },
    table,
};
use crate::table::{Table, code, item, n, s};

const INVALID: Option<&str> = Some("ValidationException");
const NOT_FOUND: Option<&str> = Some("ResourceNotFoundException");

fn create(name: &str) -> CreateTableFluentBuilder {
    let create = client().create_table().table_name(name).billing_mode(BillingMode::PayPerRequest);

    create.attribute_definitions(string("p")).attribute_definitions(string("s")).set_key_schema(Some(keys(&["p", "s"])))
}

fn update(table: &Table) -> UpdateTableFluentBuilder {
    table.client.update_table().table_name(&table.name)
}

async fn describe(table: &Table) -> TableDescription {
    table.client.describe_table().table_name(&table.name).send().await.unwrap().table.unwrap()
}

/// Waits until a table and its indexes have the requested settings. Engines outside of the process
/// need time for a change.
#[expect(clippy::disallowed_methods, reason = "an engine outside of the process lives in real time")]
async fn settled(table: &Table) -> TableDescription {
    for _ in 0..600 {
        let described = describe(table).await;
        let indexes = described.global_secondary_indexes();
        let active = indexes.iter().all(|index| index.index_status == Some(IndexStatus::Active));
        if active && described.table_status == Some(TableStatus::Active) {
            return described;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    panic!("the table {} is not active after 600 polls: {:?}", table.name, describe(table).await);
}

fn throughput(units: i64) -> ProvisionedThroughput {
    ProvisionedThroughput::builder().read_capacity_units(units).write_capacity_units(units).build().unwrap()
}

fn add(name: &str, names: &[&str]) -> GlobalSecondaryIndexUpdate {
    let create = CreateGlobalSecondaryIndexAction::builder().index_name(name).set_key_schema(Some(keys(names)));

    GlobalSecondaryIndexUpdate::builder().create(create.projection(all()).build().unwrap()).build()
}

fn remove(name: &str) -> GlobalSecondaryIndexUpdate {
    let delete = DeleteGlobalSecondaryIndexAction::builder().index_name(name).build().unwrap();

    GlobalSecondaryIndexUpdate::builder().delete(delete).build()
}

fn time_to_live(table: &Table, enabled: bool, attribute: &str) -> UpdateTimeToLiveFluentBuilder {
    let ttl = TimeToLiveSpecification::builder().enabled(enabled).attribute_name(attribute).build().unwrap();

    table.client.update_time_to_live().table_name(&table.name).time_to_live_specification(ttl)
}

#[tokio::test]
async fn a_table_is_described_with_its_keys_and_indexes() {
    let orders = orders("a_table_is_described_with_its_keys_and_indexes").await;
    let described = settled(&orders).await;

    assert_eq!(described.key_schema(), keys(&["customer", "number"]));
    let mut attributes = described.attribute_definitions().to_vec();
    attributes.sort_by(|a, b| a.attribute_name.cmp(&b.attribute_name));
    assert_eq!(attributes, [string("customer"), number("number"), string("placed"), string("status")]);
    assert_eq!(described.billing_mode_summary().unwrap().billing_mode, Some(BillingMode::PayPerRequest));
    let mut globals = described.global_secondary_indexes().to_vec();
    globals.sort_by(|a, b| a.index_name.cmp(&b.index_name));
    let mut locals = described.local_secondary_indexes().to_vec();
    locals.sort_by(|a, b| a.index_name.cmp(&b.index_name));
    let globals: Vec<_> =
        globals.into_iter().map(|g| (g.index_name.unwrap(), g.key_schema.unwrap(), g.projection.unwrap())).collect();
    let locals: Vec<_> =
        locals.into_iter().map(|l| (l.index_name.unwrap(), l.key_schema.unwrap(), l.projection.unwrap())).collect();
    let cents = projection(ProjectionType::Include, &["cents"]);
    assert_eq!(
        globals,
        [
            ("by_status".to_owned(), keys(&["status", "placed"]), all()),
            ("cents_by_status".to_owned(), keys(&["status"]), cents),
            ("keys_by_status".to_owned(), keys(&["status"]), keys_only()),
        ]
    );
    assert_eq!(
        locals,
        [
            ("by_placed".to_owned(), keys(&["customer", "placed"]), all()),
            ("keys_by_placed".to_owned(), keys(&["customer", "placed"]), keys_only()),
        ]
    );
}

#[tokio::test]
async fn a_table_without_indexes_describes_none() {
    let described = describe(&table("a_table_without_indexes_describes_none").await).await;

    assert_eq!((described.global_secondary_indexes, described.local_secondary_indexes), (None, None));
    assert_ne!(described.deletion_protection_enabled, Some(true));
}

#[tokio::test]
async fn a_definition_of_keys_that_does_not_fit_is_refused() {
    let create = || create("a_definition_of_keys_that_does_not_fit_is_refused");
    let many = (0..21).map(|i| global(&format!("index{i}"), &["s"], all())).collect();
    let many_local = (0..6).map(|i| local(&format!("index{i}"), &["p", "s"], all())).collect();
    let include = projection(ProjectionType::Include, &[]);
    let all_but = projection(ProjectionType::All, &["note"]);

    assert_eq!(code(&create().attribute_definitions(string("unused")).send().await), INVALID);
    assert_eq!(code(&create().global_secondary_indexes(global("index", &["undefined"], all())).send().await), INVALID);
    assert_eq!(code(&create().local_secondary_indexes(local("index", &["p"], all())).send().await), INVALID);
    assert_eq!(code(&create().local_secondary_indexes(local("index", &["s", "p"], all())).send().await), INVALID);
    let twice = create().global_secondary_indexes(global("index", &["s"], all()));
    assert_eq!(code(&twice.global_secondary_indexes(global("index", &["p"], all())).send().await), INVALID);
    let both = create().global_secondary_indexes(global("index", &["s"], all()));
    assert_eq!(code(&both.local_secondary_indexes(local("index", &["p", "s"], all())).send().await), INVALID);
    assert_eq!(code(&create().set_local_secondary_indexes(Some(many_local)).send().await), INVALID);
    assert_eq!(code(&create().global_secondary_indexes(global("index", &["s"], include)).send().await), INVALID);
    assert_eq!(code(&create().global_secondary_indexes(global("index", &["s"], all_but)).send().await), INVALID);
    assert_eq!(code(&create().global_secondary_indexes(global("no", &["s"], all())).send().await), INVALID);
    assert_ne!(code(&create().set_global_secondary_indexes(Some(many)).send().await), None);
    assert_eq!(code(&create().send().await), None);
}

#[tokio::test]
async fn a_provisioned_table_has_a_throughput() {
    let create = || create("a_provisioned_table_has_a_throughput").billing_mode(BillingMode::Provisioned);

    assert_eq!(code(&create().send().await), INVALID);
    assert_eq!(code(&create().provisioned_throughput(throughput(0)).send().await), INVALID);
}

#[tokio::test]
async fn a_provisioned_table_is_described_with_its_throughput() {
    let client = client();
    let name = "a_provisioned_table_is_described_with_its_throughput";
    let mut index = global("index", &["k"], all());
    index.provisioned_throughput = Some(throughput(2));
    let create = client.create_table().table_name(name).billing_mode(BillingMode::Provisioned);
    let create = create.attribute_definitions(string("k")).set_key_schema(Some(keys(&["k"])));
    create.provisioned_throughput(throughput(3)).global_secondary_indexes(index).send().await.unwrap();
    let table = Table { client, name: name.to_owned() };
    let units = |t: &ProvisionedThroughputDescription| (t.read_capacity_units, t.write_capacity_units);

    let described = settled(&table).await;

    let mode = described.billing_mode_summary().and_then(|summary| summary.billing_mode.clone());
    assert_ne!(mode, Some(BillingMode::PayPerRequest));
    assert_eq!(units(described.provisioned_throughput().unwrap()), (Some(3), Some(3)));
    let index = &described.global_secondary_indexes()[0];
    assert_eq!(units(index.provisioned_throughput().unwrap()), (Some(2), Some(2)));
}

#[tokio::test]
async fn the_billing_of_a_table_can_be_changed() {
    let table = table("the_billing_of_a_table_can_be_changed").await;
    let mode = async || settled(&table).await.billing_mode_summary.and_then(|summary| summary.billing_mode);

    let without = update(&table).billing_mode(BillingMode::Provisioned).send().await;
    update(&table).billing_mode(BillingMode::Provisioned).provisioned_throughput(throughput(4)).send().await.unwrap();
    let provisioned = mode().await;
    update(&table).billing_mode(BillingMode::PayPerRequest).send().await.unwrap();

    assert_eq!(code(&without), INVALID);
    assert_ne!(provisioned, Some(BillingMode::PayPerRequest));
    assert_eq!(mode().await, Some(BillingMode::PayPerRequest));
}

#[tokio::test]
async fn an_index_that_is_added_shows_the_items_that_were_there() {
    let table = table("an_index_that_is_added_shows_the_items_that_were_there").await;
    table.put(item([("k", s("a")), ("color", s("red"))])).await;
    table.put(item([("k", s("b")), ("color", n(1))])).await;
    table.put(item([("k", s("c"))])).await;

    let added = add("by_color", &["color"]);
    update(&table).attribute_definitions(string("color")).global_secondary_index_updates(added).send().await.unwrap();
    let described = settled(&table).await;
    table.put(item([("k", s("d")), ("color", s("red"))])).await;

    assert_eq!(described.global_secondary_indexes()[0].key_schema(), keys(&["color"]));
    assert_eq!(described.attribute_definitions().len(), 2);
    let query = table.client.query().table_name(&table.name).index_name("by_color");
    let query = query.key_condition_expression("color = :red").expression_attribute_values(":red", s("red"));
    let mut found: Vec<_> = query.send().await.unwrap().items().iter().map(|item| item["k"].clone()).collect();
    found.sort_by_key(|key| key.as_s().unwrap().clone());
    assert_eq!(found, [s("a"), s("d")]);
}

#[tokio::test]
async fn an_index_that_is_removed_is_gone() {
    let orders = orders("an_index_that_is_removed_is_gone").await;
    orders.put(order("alice", 1, "open", "2026-01-01")).await;

    update(&orders).global_secondary_index_updates(remove("by_status")).send().await.unwrap();
    let described = settled(&orders).await;

    assert_eq!(described.global_secondary_indexes().len(), 2);
    assert_eq!(code(&in_status(&orders, "by_status", "open").send().await), INVALID);
    assert_eq!(all_numbers(in_status(&orders, "keys_by_status", "open")).await, [1]);
}

#[tokio::test]
async fn a_change_of_indexes_that_does_not_fit_is_refused() {
    let orders = orders("a_change_of_indexes_that_does_not_fit_is_refused").await;
    let change = |change| update(&orders).global_secondary_index_updates(change);

    assert_eq!(code(&change(add("by_status", &["status"])).send().await), INVALID);
    assert_eq!(code(&change(add("other", &["undefined"])).send().await), INVALID);
    assert_eq!(code(&change(remove("no_such_index")).send().await), NOT_FOUND);
    let two = change(add("one", &["status"])).global_secondary_index_updates(add("two", &["placed"]));
    let two = two.attribute_definitions(string("status")).attribute_definitions(string("placed"));
    assert_eq!(code(&two.send().await), Some("LimitExceededException"));
    assert_eq!(code(&update(&orders).send().await), INVALID);
    let missing = Table { client: orders.client.clone(), name: "no_such_table".to_owned() };
    assert_eq!(code(&update(&missing).deletion_protection_enabled(true).send().await), NOT_FOUND);
}

#[tokio::test]
async fn a_protected_table_is_not_deleted() {
    let client = client();
    let name = "a_protected_table_is_not_deleted";
    let create = definition(client.create_table().table_name(name)).billing_mode(BillingMode::PayPerRequest);
    create.deletion_protection_enabled(true).send().await.unwrap();
    let orders = Table { client, name: name.to_owned() };
    let delete = || orders.client.delete_table().table_name(name).send();
    orders.put(draft("alice", 1)).await;

    assert_eq!(describe(&orders).await.deletion_protection_enabled, Some(true));
    assert_eq!(code(&delete().await), INVALID);
    update(&orders).deletion_protection_enabled(false).send().await.unwrap();
    assert_eq!(settled(&orders).await.deletion_protection_enabled, Some(false));
    update(&orders).deletion_protection_enabled(true).send().await.unwrap();
    assert_eq!(code(&delete().await), INVALID);
    update(&orders).deletion_protection_enabled(false).send().await.unwrap();
    assert_eq!(code(&delete().await), None);
    assert_eq!(code(&orders.client.describe_table().table_name(name).send().await), NOT_FOUND);
}

#[tokio::test]
async fn time_to_live_is_described() {
    let table = table("time_to_live_is_described").await;
    let describe = async || {
        let described = table.client.describe_time_to_live().table_name(&table.name).send().await.unwrap();
        let described = described.time_to_live_description.unwrap();
        (described.time_to_live_status.unwrap(), described.attribute_name)
    };
    let before = describe().await;

    let enabled = time_to_live(&table, true, "expires").send().await.unwrap().time_to_live_specification.unwrap();

    assert_eq!(before, (TimeToLiveStatus::Disabled, None));
    assert_eq!((enabled.enabled, &*enabled.attribute_name), (true, "expires"));
    assert_eq!(describe().await, (TimeToLiveStatus::Enabled, Some("expires".to_owned())));
}

#[tokio::test]
async fn time_to_live_is_switched_on_once_and_on_one_attribute() {
    let table = table("time_to_live_is_switched_on_once_and_on_one_attribute").await;
    time_to_live(&table, true, "expires").send().await.unwrap();

    assert_eq!(code(&time_to_live(&table, true, "expires").send().await), INVALID);
    assert_eq!(code(&time_to_live(&table, true, "other").send().await), INVALID);
}

#[tokio::test]
async fn time_to_live_of_a_missing_table_or_of_no_attribute_is_refused() {
    let table = table("time_to_live_of_a_missing_table_or_of_no_attribute_is_refused").await;
    let missing = Table { client: table.client.clone(), name: "no_such_table".to_owned() };

    assert_eq!(code(&time_to_live(&missing, true, "expires").send().await), NOT_FOUND);
    assert_eq!(code(&missing.client.describe_time_to_live().table_name(&missing.name).send().await), NOT_FOUND);
    assert_eq!(code(&time_to_live(&table, true, "").send().await), INVALID);
}

#[tokio::test]
async fn time_to_live_that_is_off_is_not_switched_off() {
    let table = table("time_to_live_that_is_off_is_not_switched_off").await;

    assert_eq!(code(&time_to_live(&table, false, "expires").send().await), INVALID);
}
