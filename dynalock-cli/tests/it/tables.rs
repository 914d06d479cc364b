//! `dynalock table`.

use serde_json::json;

use crate::support::Engine;

const ORDERS: &str = "orders --partition-key customer:S --sort-key number:N --ttl expires_at";

#[tokio::test]
async fn a_created_table_fits_its_options() {
    let engine = Engine::start().await;
    assert_eq!(engine.run(&format!("table create {ORDERS}")).await.succeeded(), "table `orders` is ready");
    assert_eq!(engine.run(&format!("table verify {ORDERS}")).await.succeeded(), "ok table `orders` fits");
    let again = engine.json(&format!("table create {ORDERS}")).await;
    assert_eq!(again, json!({ "table": "orders", "ready": true }));
    let verified = engine.json(&format!("table verify {ORDERS}")).await;
    assert_eq!(verified, json!({ "table": "orders", "differences": [] }));
}

#[tokio::test]
async fn a_created_table_is_protected_if_that_is_wanted() {
    let engine = Engine::start().await;
    for (args, table) in [("--locks protected", "protected"), ("items --partition-key id:B", "items")] {
        engine.run(&format!("table create {args} --deletion-protection")).await.succeeded();
        let described = engine.client.describe_table().table_name(table).send().await.unwrap().table.unwrap();
        assert_eq!(described.deletion_protection_enabled, Some(true), "{table}");
    }
}

#[tokio::test]
async fn each_difference_is_a_line_and_the_exit_code_tells() {
    let engine = Engine::start().await;
    engine.run("table create orders --partition-key customer:N").await.succeeded();
    let run = engine.run(&format!("table verify {ORDERS}")).await;
    assert_eq!(run.failed_with(4), "table `orders` has 3 differences");
    let lines: Vec<_> = run.stdout.lines().collect();
    assert_eq!(lines.len(), 3, "{run:?}");
    assert!(
        lines[0].starts_with("differs the partition key `customer` is N in the table, and S in the type;"),
        "{run:?}"
    );
    assert!(lines[1].starts_with("differs the table has no sort key, and the type has `number`;"), "{run:?}");
    assert!(
        lines[2].starts_with("differs time to live is off: switch it on for the attribute `expires_at`"),
        "{run:?}"
    );
    let run = engine.run(&format!("table create {ORDERS}")).await;
    assert!(run.failed_with(4).starts_with("table `orders` has another key: "), "{run:?}");
}

#[tokio::test]
async fn a_sort_key_with_the_name_of_the_partition_key_is_refused() {
    let engine = Engine::start().await;
    for command in ["create", "verify"] {
        let run = engine.run(&format!("table {command} orders --partition-key id:S --sort-key id:N")).await;
        assert_eq!(
            run.failed_with(2),
            "`id` is the partition key and the sort key; give the sort key another name",
            "{command}"
        );
    }
}

#[tokio::test]
async fn a_table_of_locks_is_created_and_verified() {
    let engine = Engine::start().await;
    assert_eq!(engine.run("table create --locks locks").await.succeeded(), "table `locks` is ready");
    assert_eq!(engine.run("table verify --locks locks").await.succeeded(), "ok table `locks` fits");
    engine.hold("report", "worker-7").await;
    engine.run("table create --locks locks --ttl x").await.failed_with_usage();
    let run = engine.run("table verify --locks none").await;
    assert!(run.failed_with(3).starts_with("table `none` does not exist"), "{run:?}");
}

#[tokio::test]
async fn a_time_to_live_that_deletes_leases_is_a_difference() {
    let engine = Engine::start().await;
    engine.run("table create items --partition-key id:S --ttl _until").await.succeeded();
    let run = engine.run("table verify items --partition-key id:S").await;
    assert_eq!(run.failed_with(4), "table `items` has 1 difference");
    assert!(run.stdout.contains("would delete fences"), "{run:?}");
}
