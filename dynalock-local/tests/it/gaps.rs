//! Where the engine is known to answer otherwise than DynamoDB. A test that fails here is good news: move it to `engine`.

use dynalock_local::Database;

use crate::table::{Table, code, item, n, s};

#[tokio::test]
async fn time_to_live_may_be_enabled_twice() {
    let table = Table::create(Database::in_memory().unwrap().client(), "table").await;
    table.enable_ttl().await.unwrap();

    let again = table.enable_ttl().await;

    assert_eq!(code(&again), None);
}

#[tokio::test]
async fn eventually_consistent_reads_are_never_stale() {
    let table = Table::create(Database::in_memory().unwrap().client(), "table").await;

    for version in 1..100 {
        let written = item([("k", s("a")), ("n", n(version))]);
        table.put(written.clone()).await;
        let read = table.client.get_item().table_name("table").key("k", s("a")).consistent_read(false);
        assert_eq!(read.send().await.unwrap().item, Some(written));
    }
}
