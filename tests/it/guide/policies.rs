//! The IAM actions of each feature, compared with the requests that the library sends.

use std::collections::BTreeSet;

use dynalock::{
    Repository, Transaction, Versioned,
    local::{Fault, Faults, Request},
    transact,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::book::{chapter, table};
use crate::support::{Account, Archive, Kept, Parcel, Product, Shop, changed};

/// An item with an index that holds only keys.
#[derive(Debug, Clone, Serialize, Deserialize, Versioned)]
#[dynalock(table = "notes", index(name = "by_author", partition_key = "author", keys_only))]
struct Note {
    #[dynalock(partition_key)]
    id: String,
    author: String,
    #[dynalock(expires)]
    until: u64,
}

impl Note {
    fn new(id: &str) -> Self {
        Self { id: id.to_owned(), author: "ann".to_owned(), until: 0 }
    }
}

/// Returns the IAM actions that a request needs. A transaction has no IAM action of its own:
/// DynamoDB requires the IAM action of each part of the transaction.
fn actions(request: &Request) -> BTreeSet<String> {
    let action_of_part = |part: &Value| {
        let (kind, _) = part.as_object().unwrap().iter().next().unwrap();
        match kind.as_str() {
            "ConditionCheck" => "ConditionCheckItem".to_owned(),
            kind => format!("{kind}Item"),
        }
    };
    match request.operation.as_str() {
        "TransactWriteItems" | "TransactGetItems" => {
            request.json()["TransactItems"].as_array().unwrap().iter().map(action_of_part).collect()
        }
        action => [action.to_owned()].into(),
    }
}

async fn read(shop: &Shop) {
    let notes = shop.table_of([Note::new("a")]).await.items;
    notes.get("a").await.unwrap();
    assert_eq!(notes.get_many(["a", "b"]).await.unwrap().len(), 2);
}

async fn query(shop: &Shop) {
    let notes = shop.table_of([Note::new("a")]).await.items;
    notes.query("a").collect().await.unwrap();
    notes.scan().collect().await.unwrap();
    let by_author = notes.query_index(Note::INDEX.by_author, "ann");
    assert_eq!(by_author.fetch().collect().await.unwrap().len(), 1);
}

/// Writes an item by each call.
async fn write_all<T: Kept>(items: &Repository<T>) {
    let mut stored = items.create(T::new("w", 1)).await.unwrap();
    *stored.items() += 1;
    let stored = items.update(stored).await.unwrap();
    let stored = items.replace(stored).await.unwrap();
    items.delete(stored).await.unwrap();
    items.upsert_with("w", || T::new("w", 1), |item| *item.items() += 1).await.unwrap();
    items.update_with("w", |item| *item.items() += 1).await.unwrap();
    items.patch("w").add(T::ITEMS, 1).await.unwrap();
    items.delete_unchecked("w").await.unwrap();
}

async fn write(shop: &Shop) {
    let parcels = shop.table::<Parcel>().await.items;
    write_all(&parcels).await;
    for created in parcels.create_many([Parcel::new("a", 1), Parcel::new("b", 1)]).await {
        created.unwrap();
    }
    // After a lost reply, the library looks for the id of a patch in the item.
    shop.faults.script_on("UpdateItem", 0, Fault::LoseReply);
    parcels.patch("a").add(Parcel::ITEMS, 1).await.unwrap();
}

async fn write_exactly_once(shop: &Shop) {
    let products = shop.table::<Product>().await.items;
    let stored = products.create(Product::new("a", 1)).exactly_once().await.unwrap();
    let stored = changed(stored, |product| product.stock = 2);
    products.update(stored).exactly_once().await.unwrap();
    let patched = products.patch("a").add(Product::ATTR.stock, 1).exactly_once().await.unwrap();
    products.delete(patched).exactly_once().await.unwrap();
}

async fn import(shop: &Shop) {
    let products = shop.table::<Product>().await.items;
    shop.faults.script_on("BatchWriteItem", 0, Fault::error("ValidationException"));
    for result in products.import_unchecked([Product::new("a", 1), Product::new("b", 1)]).await {
        result.unwrap();
    }
}

async fn transactions(shop: &Shop) {
    let accounts = &shop.table_of(["a", "b", "c"].map(|owner| Account::new(owner, 5))).await.items;
    let unit = transact(&shop.client, |tx| async move {
        let a = tx.get(accounts, "a").await?.expect("an account");
        let b = tx.get(accounts, "b").await?.expect("an account");
        let c = tx.get(accounts, "c").await?.expect("an account");
        tx.update(accounts, changed(a, |account| account.cents += b.cents));
        tx.delete(accounts, c);
        tx.create(accounts, Account::new("d", 1));
        Ok::<_, dynalock::Error>(())
    });
    unit.await.unwrap();
    let mut get = Transaction::get(&shop.client);
    let _a = get.item(accounts, "a");
    drop(get.fetch().await.unwrap());
}

/// Acquires a lease, writes under it, and releases it.
async fn lease<T: Kept>(shop: &Shop) {
    let items = shop.table_of([T::new("a", 1)]).await.items;
    for request in [items.lock("a"), items.lock("a")] {
        let mut held = request.await.unwrap();
        held.update(|item| *item.items() += 1).await.unwrap();
        held.patch().add(T::ITEMS, 1).await.unwrap();
        held.extend().await.unwrap();
        held.commit(|item| *item.items() += 1).await.unwrap();
    }
    items.lock("a").fair().await.unwrap().release().await.unwrap();
}

async fn lease_in_item(shop: &Shop) {
    lease::<Parcel>(shop).await;
}

async fn lease_in_row(shop: &Shop) {
    let archives = shop.table::<Archive>().await.items;
    write_all(&archives).await;
    lease::<Archive>(shop).await;
}

async fn locks(shop: &Shop) {
    let (locks, _) = shop.locks().await;
    locks.acquire("a").await.unwrap().release().await.unwrap();
    let held = locks.acquire("a").fair().await.unwrap();
    assert!(locks.try_acquire("a").await.unwrap().is_none());
    held.extend().await.unwrap();
    held.release().await.unwrap();
}

async fn several_locks(shop: &Shop) {
    let (locks, _) = shop.locks().await;
    locks.acquire_all(["a", "b"]).await.unwrap().release().await.unwrap();
    locks.acquire_all(["a", "b"]).fair().await.unwrap().release().await.unwrap();
}

async fn operate(shop: &Shop) {
    let (locks, others) = shop.locks().await;
    let held = others.acquire("a").await.unwrap();
    let info = locks.inspect("a").await.unwrap().unwrap();
    locks.queue("a").await.unwrap();
    assert!(locks.list().next().await.unwrap().is_ok());
    assert!(locks.break_lock("a", info.fence).await.unwrap());
    locks.retire("a").await.unwrap();
    drop(held);
}

async fn create_tables(shop: &Shop) {
    let table = shop.absent_table::<Note>();
    table.items.create_table().await.unwrap();
    table.items.create_table().await.unwrap();
}

async fn verify_tables(shop: &Shop) {
    let table = shop.table::<Note>().await;
    assert_eq!(table.items.verify_table().await.unwrap().differences(), []);
}

/// The operations whose first reply is lost, so that the test also sees the requests after a lost
/// reply.
const LOST: [&str; 6] =
    ["PutItem", "UpdateItem", "DeleteItem", "TransactWriteItems", "CreateTable", "UpdateTimeToLive"];

/// Uses a feature, and returns the actions that its requests need.
async fn needed(feature: &str) -> BTreeSet<String> {
    let shop = Shop::in_process(Faults::none());
    for operation in LOST {
        shop.faults.script_on(operation, 0, Fault::LoseReply);
    }
    match feature {
        "reads by key" => read(&shop).await,
        "queries and scans" => query(&shop).await,
        "writes of single items, batches, `combining()`" => write(&shop).await,
        "`.exactly_once()`" => write_exactly_once(&shop).await,
        "`import_unchecked`" => import(&shop).await,
        "transactions and units of work" => transactions(&shop).await,
        "leases on items" => lease_in_item(&shop).await,
        "all writes of a type with `separate`" => lease_in_row(&shop).await,
        "named locks and their fair queues" => locks(&shop).await,
        "`acquire_all`" => several_locks(&shop).await,
        "`inspect`, `queue`, `list`, `break_lock`, `retire`" => operate(&shop).await,
        "`create_table`" => create_tables(&shop).await,
        "`verify_table`" => verify_tables(&shop).await,
        other => panic!("the chapter has a feature that no test uses: {other}"),
    }
    shop.faults.requests().iter().flat_map(actions).collect()
}

fn listed(cell: &str) -> BTreeSet<String> {
    cell.split(", ").map(|action| action.trim_matches('`').to_owned()).collect()
}

#[tokio::test(start_paused = true)]
async fn each_feature_needs_the_actions_that_the_guide_lists() {
    for row in table(&chapter("aws.md"), "## IAM actions") {
        assert_eq!(needed(&row[0]).await, listed(&row[1]), "{}", row[0]);
    }
}

/// Returns the actions of each statement of the policies in a chapter, by the name of the
/// statement.
fn policies(chapter: &str) -> Vec<(String, BTreeSet<String>)> {
    let blocks = chapter.split("```json\n").skip(1).map(|rest| rest.split("```").next().unwrap());
    let statement = |statement: &Value| {
        let actions = statement["Action"].as_array().unwrap().iter();
        let action = |action: &Value| action.as_str().unwrap().strip_prefix("dynamodb:").unwrap().to_owned();
        (statement["Sid"].as_str().unwrap().to_owned(), actions.map(action).collect())
    };
    let statements = |block: &str| {
        let policy: Value = serde_json::from_str(block).unwrap();
        policy["Statement"].as_array().unwrap().iter().map(statement).collect::<Vec<_>>()
    };
    blocks.flat_map(statements).collect()
}

#[test]
fn the_policies_of_the_guide_allow_the_actions_of_their_features() {
    let chapter = chapter("aws.md");
    let features = table(&chapter, "## IAM actions");
    let policies = policies(&chapter);
    assert_eq!(policies.len(), 4);
    for (sid, allowed) in policies {
        let features = features.iter().filter(|row| row[2].trim_matches('`') == sid);
        let needed: BTreeSet<_> = features.flat_map(|row| listed(&row[1])).collect();
        assert_eq!(allowed, needed, "{sid}");
    }
}
