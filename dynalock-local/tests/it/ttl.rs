use std::time::{Duration, SystemTime};

use dynalock_local::Database;

use crate::table::{Table, item, n, s};

const YEAR: u64 = 365 * 24 * 60 * 60;
const NOW: u64 = 60 * YEAR;

fn now() -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(NOW)
}

#[tokio::test]
async fn a_sweep_deletes_what_has_expired() {
    let database = Database::in_memory().unwrap();
    let table = Table::create(database.client(), "table").await;
    table.enable_ttl().await.unwrap();
    let cases = [
        ("past", n(NOW - 1), false),
        ("years ago", n(NOW - 4 * YEAR), false),
        ("fraction", n("1000000.5"), true),
        ("this second", n(NOW), true),
        ("future", n(NOW + 1), true),
        ("too long ago", n(NOW - 6 * YEAR), true),
        ("no number", s("1"), true),
    ];
    for (key, expires, _) in &cases {
        table.put(item([("k", s(*key)), ("expires", expires.clone())])).await;
    }
    table.put(item([("k", s("no time"))])).await;

    let deleted = database.sweep_ttl(now()).await.unwrap();

    assert_eq!(deleted, 2);
    assert!(table.get("no time").await.is_some());
    for (key, _, stays) in cases {
        assert_eq!(table.get(key).await.is_some(), stays, "{key}");
    }
}

#[tokio::test]
async fn a_sweep_leaves_tables_without_time_to_live_alone() {
    let database = Database::in_memory().unwrap();
    let table = Table::create(database.client(), "table").await;
    table.put(item([("k", s("a")), ("expires", n(NOW - 1))])).await;

    assert_eq!(database.sweep_ttl(now()).await.unwrap(), 0);
    assert_eq!(database.sweep_ttl(SystemTime::UNIX_EPOCH - Duration::from_secs(1)).await.unwrap(), 0);
    assert!(table.get("a").await.is_some());
}

#[tokio::test]
async fn a_sweep_reaches_all_tables_and_pages() {
    let database = Database::in_memory().unwrap();
    for table in 0..101 {
        let table = Table::create(database.client(), &format!("table-{table:03}")).await;
        table.enable_ttl().await.unwrap();
        table.put(item([("k", s("a")), ("expires", n(NOW - 1))])).await;
    }
    let large = Table::create(database.client(), "large").await;
    large.enable_ttl().await.unwrap();
    for key in 0..6 {
        let text = s("x".repeat(300_000));
        large.put(item([("k", s(key.to_string())), ("expires", n(NOW - 1)), ("text", text)])).await;
    }

    assert_eq!(database.sweep_ttl(now()).await.unwrap(), 101 + 6);
}
