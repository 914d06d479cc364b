//! Global indexes that show writes late.

use dynalock::{
    Error, KeyAttribute, Stored, Transaction, Versioned,
    error::CancellationClass,
    local::{Database, Faults},
};
use serde::{Deserialize, Serialize};

use crate::support::{Shop, Table, changed, expect_error, item, n, s, secs, travel};

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, KeyAttribute)]
enum State {
    Open,
    Done,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Versioned)]
#[dynalock(
    table = "jobs",
    index(name = "by_state", partition_key = "state"),
    index(name = "by_worker", partition_key = "worker", keys_only)
)]
struct Job {
    #[dynalock(partition_key)]
    id: String,
    state: State,
    worker: String,
    steps: i64,
}

impl Job {
    fn new(id: &str) -> Self {
        Self { id: id.to_owned(), state: State::Open, worker: "ann".to_owned(), steps: 0 }
    }
}

/// A table with the jobs "a" and "b". From now on, its indexes show no further write.
async fn frozen() -> (Database, Shop, Table<Job>) {
    let database = Database::in_memory().unwrap();
    let shop = Shop::on(&database, Faults::none());
    let table = shop.table_of([Job::new("a"), Job::new("b")]).await;
    database.freeze_indexes().unwrap();
    (database, shop, table)
}

/// The open jobs in the index.
async fn open(table: &Table<Job>) -> Vec<Stored<Job>> {
    let mut jobs = table.items.query_index(Job::INDEX.by_state, State::Open).collect().await.unwrap();
    jobs.sort_by(|a, b| a.id.cmp(&b.id));
    jobs
}

/// The state of the job "a" in the index.
async fn shown(table: &Table<Job>) -> Stored<Job> {
    open(table).await.swap_remove(0)
}

/// The jobs of "ann", read under the keys that the index shows.
async fn fetched(table: &Table<Job>) -> Vec<Job> {
    let jobs = table.items.query_index(Job::INDEX.by_worker, "ann").fetch().collect().await.unwrap();
    let mut jobs: Vec<Job> = jobs.into_iter().map(Stored::into_inner).collect();
    jobs.sort_by(|a, b| a.id.cmp(&b.id));
    jobs
}

const WRITES: [&str; 6] = ["update", "touch", "replace", "delete", "transaction", "check"];

/// Sends a write of the job "a", which was read before. Asserts that it is a conflict.
async fn is_refused(write: &str, shop: &Shop, table: &Table<Job>, stale: Stored<Job>) {
    let items = &table.items;
    let stale = changed(stale, |job| job.steps += 1);
    let result = match write {
        "update" => items.update(stale).await.map(drop),
        "touch" => items.touch(stale).await.map(drop),
        "replace" => items.replace(stale).await.map(drop),
        "delete" => items.delete(stale).await.map(drop),
        _ => {
            let mut tx = Transaction::new(&shop.client);
            match write {
                "check" => drop(tx.check(items, &stale)),
                _ => drop(tx.update(items, stale)),
            }
            tx.create(items, Job::new("c"));
            let refused = expect_error!(tx.commit().await, Error::Cancelled(refused) => refused);
            return assert_eq!(refused.class(), CancellationClass::Conflict, "{write}");
        }
    };
    assert!(matches!(result, Err(Error::Conflict(_))), "{write}: {result:?}");
}

#[tokio::test]
async fn a_write_of_a_stale_value_is_a_conflict() {
    for write in WRITES {
        let (_database, shop, table) = frozen().await;
        let theirs = table.others.update_with("a", |job| job.steps = 10).await.unwrap();
        let stale = shown(&table).await;
        assert_eq!((stale.version(), stale.steps), (1, 0));
        is_refused(write, &shop, &table, stale).await;
        assert_eq!(table.items.get("a").await.unwrap(), Some(theirs), "{write}");
    }
}

#[tokio::test]
async fn a_write_of_a_stale_value_is_a_conflict_after_the_item_was_created_again() {
    for write in WRITES {
        let (_database, shop, table) = frozen().await;
        table.others.delete_unchecked("a").await.unwrap();
        let theirs = table.others.create(Job { steps: 10, ..Job::new("a") }).await.unwrap();
        let stale = shown(&table).await;
        assert_eq!(stale.version(), theirs.version());
        is_refused(write, &shop, &table, stale).await;
        assert_eq!(table.items.get("a").await.unwrap(), Some(theirs), "{write}");
    }
}

#[tokio::test]
async fn a_write_of_a_stale_value_without_a_version_is_a_conflict() {
    for write in WRITES {
        let database = Database::in_memory().unwrap();
        let shop = Shop::on(&database, Faults::none());
        let job = item([("id", s("a")), ("state", s("Open")), ("worker", s("ann")), ("steps", n(0))]);
        let table = shop.table_of_raw::<Job>([job]).await;
        database.freeze_indexes().unwrap();
        table.raw.set("a", "steps", n(10)).await;
        let theirs = table.raw.get("a").await;
        let stale = shown(&table).await;
        assert_eq!((stale.version(), stale.steps), (0, 0));
        is_refused(write, &shop, &table, stale).await;
        assert_eq!(table.raw.get("a").await, theirs, "{write}");
    }
}

#[tokio::test]
async fn a_write_of_an_item_that_is_gone_is_a_conflict_and_creates_nothing() {
    for write in WRITES {
        let (_database, shop, table) = frozen().await;
        table.others.delete_unchecked("a").await.unwrap();
        is_refused(write, &shop, &table, shown(&table).await).await;
        assert_eq!(table.raw.get("a").await, None, "{write}");
    }
}

#[tokio::test]
async fn the_conflict_has_the_item_to_go_on_with() {
    let (_database, _shop, table) = frozen().await;
    table.others.update_with("a", |job| job.steps = 10).await.unwrap();
    let stale = changed(shown(&table).await, |job| job.steps += 1);
    let lost = expect_error!(table.items.update(stale).await, Error::Conflict(lost) => lost);
    let mut current = lost.current::<Job>().unwrap().unwrap();
    current.steps += 1;
    let updated = table.items.update(current).await.unwrap();
    assert_eq!((updated.version(), updated.steps), (3, 11));
    // The index still shows the first version, and a closure runs on the item of the table.
    let stale = shown(&table).await;
    assert_eq!(stale.version(), 1);
    let updated = table.items.update_with(&*stale, |job| job.steps += 1).await.unwrap();
    assert_eq!((updated.version(), updated.steps), (4, 12));
}

#[tokio::test]
async fn an_item_that_is_gone_is_shown_and_is_no_error() {
    let (_database, _shop, table) = frozen().await;
    table.others.delete_unchecked("a").await.unwrap();
    let shown = open(&table).await;
    assert_eq!(shown.iter().map(|job| &*job.id).collect::<Vec<_>>(), ["a", "b"]);
    assert_eq!(table.items.get(&*shown[0]).await.unwrap(), None);
    expect_error!(table.items.update_with(&*shown[0], |job| job.steps += 1).await, Error::NotFound { .. });
}

#[tokio::test]
async fn fetch_reads_the_item_of_the_table() {
    let (_database, _shop, table) = frozen().await;
    table.others.update_with("a", |job| job.steps = 10).await.unwrap();
    table.others.update_with("b", |job| job.worker = "bea".to_owned()).await.unwrap();
    let [a, b] = [Job { steps: 10, ..Job::new("a") }, Job { worker: "bea".to_owned(), ..Job::new("b") }];
    // The job "b" no longer belongs to "ann", and the index does not show this change yet.
    assert_eq!(fetched(&table).await, [a, b]);
    let page = table.items.query_index(Job::INDEX.by_worker, "ann").fetch().page(None).await.unwrap();
    let versions: Vec<_> = page.items.into_iter().map(|job| job.unwrap().version()).collect();
    assert_eq!(versions, [2, 2]);
}

#[tokio::test]
async fn fetch_leaves_out_an_item_that_is_gone() {
    let (_database, _shop, table) = frozen().await;
    table.others.delete_unchecked("a").await.unwrap();
    assert_eq!(fetched(&table).await, [Job::new("b")]);
    table.others.delete_unchecked("b").await.unwrap();
    assert_eq!(fetched(&table).await, []);
    let first = table.items.query_index(Job::INDEX.by_worker, "ann").fetch().first().await.unwrap();
    assert_eq!(first, None);
}

#[tokio::test(start_paused = true)]
async fn an_index_that_has_caught_up_shows_the_item_of_the_table() {
    let database = Database::in_memory().unwrap();
    let shop = Shop::on(&database, Faults::none());
    let table = shop.table_of([Job::new("a"), Job::new("b")]).await;
    database.index_lag(secs(1)).unwrap();
    table.others.update_with("b", |job| job.state = State::Done).await.unwrap();
    let theirs = table.others.update_with("a", |job| job.steps = 10).await.unwrap();
    assert_eq!(open(&table).await.iter().map(Stored::version).collect::<Vec<_>>(), [1, 1]);
    travel(secs(1)).await;
    assert_eq!(open(&table).await, [theirs]);
    let updated = table.items.update(changed(shown(&table).await, |job| job.steps += 1)).await.unwrap();
    assert_eq!((updated.version(), updated.steps), (3, 11));
}
