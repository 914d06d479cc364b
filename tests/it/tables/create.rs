//! The creation of a table with faults, and on scripted answers.

use std::sync::Mutex;

use dynalock::{
    Error, Repository,
    error::Unavailable,
    local::{Fault, Faults},
};
use serde_json::{Value, json};

use super::Offer;
use crate::support::{FAULTS, LOST_REPLIES, Shop, answers::Answers, expect_error, secs};

const REQUESTS: [&str; 4] = ["CreateTable", "DescribeTable", "DescribeTimeToLive", "UpdateTimeToLive"];

#[tokio::test(start_paused = true)]
async fn a_fault_at_any_request_is_passed_over() {
    for operation in REQUESTS {
        for fault in FAULTS.into_iter().chain(LOST_REPLIES) {
            let shop = Shop::in_process(Faults::none());
            let table = shop.absent_table::<Offer>();
            shop.faults.script_on(operation, 0, fault.clone());
            // The first request of a creation has the deadline of the repository.
            let items = table.items.clone().deadline(secs(60));
            items.create_table().await.unwrap_or_else(|error| panic!("{operation} {fault:?}: {error}"));
            assert_eq!(table.others.verify_table().await.unwrap().differences(), [], "{operation} {fault:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_table_whose_creation_was_cut_off_is_completed_by_the_next_call() {
    let shop = Shop::in_process(Faults::none());
    let table = shop.absent_table::<Offer>();
    for request in 0..20 {
        shop.faults.script_on("UpdateTimeToLive", request, Fault::LoseRequest);
    }
    expect_error!(table.items.create_table().deadline(secs(2)).await, Error::Exhausted { .. });
    assert_eq!(table.others.verify_table().await.unwrap().differences().len(), 1, "time to live is off");
    table.others.create_table().await.unwrap();
    assert_eq!(table.others.verify_table().await.unwrap().differences(), []);
}

/// DynamoDB while it creates the table of an `Offer`: the answers to DescribeTable and
/// DescribeTimeToLive are these statuses one after the other, and then the last one again.
fn creating(table: &[(&'static str, &'static str)], time_to_live: &[&'static str]) -> Answers {
    let (table, time_to_live) = (Mutex::new(table.to_vec()), Mutex::new(time_to_live.to_vec()));
    Answers::new(move |_, request| match request {
        request if request.get("KeySchema").is_some() => json!({ "TableDescription": {} }),
        request if request.get("TimeToLiveSpecification").is_some() => {
            json!({ "TimeToLiveSpecification": request["TimeToLiveSpecification"] })
        }
        _ if !next_is_described(&table) => {
            let status = next(&time_to_live);
            json!({ "TimeToLiveDescription": { "TimeToLiveStatus": status, "AttributeName": "until" } })
        }
        _ => {
            let (status, index) = next(&table);
            json!({ "Table": described(status, index) })
        }
    })
}

/// Returns whether the next answer describes the table. The last status of the table is shown once.
fn next_is_described(table: &Mutex<Vec<(&'static str, &'static str)>>) -> bool {
    !table.lock().unwrap().is_empty()
}

fn next<S: Copy>(statuses: &Mutex<Vec<S>>) -> S {
    statuses.lock().unwrap().remove(0)
}

fn described(status: &str, index: &str) -> Value {
    json!({
        "TableStatus": status,
        "KeySchema": [
            { "AttributeName": "shop", "KeyType": "HASH" },
            { "AttributeName": "number", "KeyType": "RANGE" },
        ],
        "AttributeDefinitions": [
            { "AttributeName": "shop", "AttributeType": "S" },
            { "AttributeName": "number", "AttributeType": "N" },
        ],
        "GlobalSecondaryIndexes": [
            { "IndexName": "by_seller", "IndexStatus": index },
            { "IndexName": "of_another_program", "IndexStatus": "CREATING" },
        ],
    })
}

#[tokio::test(start_paused = true)]
async fn the_call_waits_for_the_table_its_indexes_and_its_time_to_live() {
    let statuses = [("CREATING", "CREATING"), ("ACTIVE", "CREATING"), ("ACTIVE", "CREATING"), ("ACTIVE", "ACTIVE")];
    let answers = creating(&statuses, &["DISABLED", "DISABLED", "ENABLING"]);
    Repository::<Offer>::new(&answers.client()).create_table().await.unwrap();
    let asked = answers.asked();
    assert_eq!(asked.len(), 1 + statuses.len() + 3 + 1, "{asked:?}");
    let switched = asked.iter().filter(|request| request.get("TimeToLiveSpecification").is_some()).count();
    assert_eq!(switched, 1, "DynamoDB refuses a second UpdateTimeToLive within an hour");
}

#[tokio::test(start_paused = true)]
async fn an_index_that_is_never_built_ends_at_the_deadline() {
    let answers = Answers::new(|_, request| match request.get("KeySchema") {
        Some(_) => json!({ "TableDescription": {} }),
        None => json!({ "Table": described("ACTIVE", "CREATING") }),
    });
    let offers = Repository::<Offer>::new(&answers.client());
    let last = expect_error!(offers.create_table().await, Error::Exhausted { last, .. } => last);
    assert!(matches!(*last, Error::Unavailable(Unavailable::NotActive)), "{last:?}");
}
