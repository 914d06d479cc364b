use std::collections::HashMap;

use aws_sdk_dynamodb::{
    Client, Config,
    config::{BehaviorVersion, Credentials, Region, retry::RetryConfig},
    types::AttributeValue,
};
use dynalock_local::{Database, Fault, Faults};
use tokio::task::JoinSet;

use crate::table::{Table, item, n, s};

#[tokio::test]
async fn clients_of_one_database_see_the_same_tables() {
    let database = Database::in_memory().unwrap();
    let table = Table::create(database.client(), "table").await;

    table.put(item([("k", s("a")), ("n", n(1))])).await;

    assert_eq!(table.with(database.client()).n("a").await, Some(n(1)));
    assert_eq!(table.with(database.clone().client_with(&Faults::none())).n("a").await, Some(n(1)));
}

#[tokio::test]
async fn each_database_in_memory_is_fresh() {
    let first = dynalock_local::client().await.unwrap();
    let second = dynalock_local::client().await.unwrap();
    Table::create(first.clone(), "table").await;

    assert_eq!(table_names(&first).await, ["table"]);
    assert_eq!(table_names(&second).await, [""; 0]);
}

#[tokio::test]
async fn the_connector_serves_a_configuration_of_ones_own() {
    let database = Database::in_memory().unwrap();
    Table::create(database.client(), "table").await;

    let config = Config::builder()
        .behavior_version(BehaviorVersion::v2026_01_12())
        .region(Region::new("eu-central-1"))
        .credentials_provider(Credentials::new("any", "any", None, None, "test"))
        .http_client(database.connector());

    assert_eq!(table_names(&Client::from_conf(config.build())).await, ["table"]);
}

#[tokio::test(start_paused = true)]
async fn a_client_made_from_the_configuration_of_another_keeps_database_and_faults() {
    let database = Database::in_memory().unwrap();
    let faults = Faults::none();
    let table = Table::create(database.client_with(&faults), "table").await;

    let config = table.client.config().to_builder().retry_config(RetryConfig::disabled()).build();
    let patient = table.with(Client::from_conf(config));
    faults.script_on("UpdateItem", 0, Fault::LoseRequest);
    let lost = patient.increment("a").send().await;

    lost.unwrap_err();
    assert_eq!(faults.count("UpdateItem"), 1);
    assert_eq!(table.n("a").await, None);
}

#[tokio::test(start_paused = true)]
async fn retries_of_one_client_do_not_use_up_those_of_another() {
    let database = Database::in_memory().unwrap();
    let faults = Faults::none();
    let table = Table::create(database.client(), "table").await;
    let behind = table.with(database.client_with(&faults));
    faults.always(Fault::LoseRequest);
    for _ in 0..200 {
        behind.increment("a").send().await.unwrap_err();
    }

    let others = Faults::none();
    others.script(0, Fault::LoseRequest);
    table.with(database.client_with(&others)).increment("a").send().await.unwrap();

    assert_eq!(others.count("UpdateItem"), 2);
}

#[tokio::test]
async fn tasks_on_one_thread_race() {
    let table = Table::create(Database::in_memory().unwrap().client(), "table").await;
    table.put(item([("k", s("a")), ("n", n(0))])).await;

    let mut tasks = JoinSet::new();
    for _ in 0..8 {
        tasks.spawn(increment_carelessly(table.clone()));
    }
    tasks.join_all().await;

    let AttributeValue::N(sum) = table.n("a").await.unwrap() else { panic!("not a number") };
    assert!(sum.parse::<u32>().unwrap() < 8, "a lost update was to be seen, and the sum is {sum}");
}

/// Reads the item, changes it and writes it back without a condition.
async fn increment_carelessly(table: Table) {
    let AttributeValue::N(value) = table.n("a").await.unwrap() else { panic!("not a number") };
    let next = value.parse::<u32>().unwrap() + 1;

    table.put(HashMap::from([("k".to_owned(), s("a")), ("n".to_owned(), n(next))])).await;
}

async fn table_names(client: &Client) -> Vec<String> {
    client.list_tables().send().await.unwrap().table_names.unwrap_or_default()
}
