//! Requests for which the engine does not answer like DynamoDB. If one of these tests fails, the
//! engine has improved: move the test to `engine`.

use aws_sdk_dynamodb::types::{BillingMode, ProvisionedThroughput, TimeToLiveSpecification};
use dynalock_local::Database;

use crate::{
    engine::orders::{all, draft, global, in_status, keys, numbers, of, order, orders_of, string},
    table::{Item, Table, code, item, n, s},
};

async fn orders() -> Table {
    orders_of(Database::in_memory().unwrap().client(), "orders").await
}

fn throughput() -> ProvisionedThroughput {
    ProvisionedThroughput::builder().read_capacity_units(5).write_capacity_units(5).build().unwrap()
}

#[tokio::test]
async fn time_to_live_may_be_changed_again_at_once() {
    let table = Table::create(Database::in_memory().unwrap().client(), "table").await;
    let disabled = TimeToLiveSpecification::builder().enabled(false).attribute_name("expires").build().unwrap();
    table.enable_ttl().await.unwrap();

    let off = table.client.update_time_to_live().table_name("table").time_to_live_specification(disabled).send().await;
    let on = table.enable_ttl().await;

    assert_eq!((code(&off), code(&on)), (None, None));
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

#[tokio::test]
async fn a_global_index_is_never_stale() {
    let orders = orders().await;

    for number in 1..100 {
        orders.put(order("alice", number, "open", "2026-01-01")).await;
        let query = in_status(&orders, "by_status", "open");
        assert_eq!(query.send().await.unwrap().count, i32::try_from(number).unwrap());
    }
}

#[tokio::test]
async fn a_start_key_of_another_segment_is_accepted() {
    let orders = orders().await;
    for number in 0..20 {
        orders.put(draft(&format!("customer {number}"), number)).await;
    }
    let segment = |segment| orders.client.scan().table_name("orders").segment(segment).total_segments(2);
    let key = segment(0).limit(1).send().await.unwrap().last_evaluated_key;

    let other = segment(1).set_exclusive_start_key(key).send().await;

    assert_eq!(code(&other), None);
}

#[tokio::test]
async fn an_index_key_may_have_more_bytes_than_a_key() {
    let orders = orders().await;

    let put = orders.put_request(order("alice", 1, &"x".repeat(2049), "2026-01-01")).send().await;

    assert_eq!(code(&put), None);
}

#[tokio::test]
async fn a_filter_may_have_more_than_300_operators() {
    let orders = orders().await;
    let filter = vec!["cents = :n"; 200].join(" OR ");

    let scan = orders.client.scan().table_name("orders").filter_expression(filter);
    let scan = scan.expression_attribute_values(":n", n(1)).send().await;

    assert_eq!(code(&scan), None);
}

#[tokio::test]
async fn a_projection_of_a_local_index_lacks_what_the_index_does_not_hold() {
    let orders = orders().await;
    orders.put(order("alice", 1, "open", "2026-01-01")).await;

    let query = of(&orders, "alice").index_name("keys_by_placed").projection_expression("note").send().await;

    assert_eq!(query.unwrap().items(), [Item::new()]);
}

#[tokio::test]
async fn a_filter_of_a_scan_of_an_index_sees_what_the_index_holds() {
    let orders = orders().await;
    orders.put(order("alice", 1, "open", "2026-01-01")).await;
    let scan = |filter| {
        let scan = orders.client.scan().table_name("orders").index_name("keys_by_status");
        scan.filter_expression(filter).send()
    };

    assert_eq!(numbers(scan("attribute_exists(note)").await.unwrap().items()), [0; 0]);
    assert_eq!(numbers(scan("attribute_not_exists(note)").await.unwrap().items()), [1]);
}

#[tokio::test]
async fn an_index_of_a_provisioned_table_needs_no_throughput() {
    let create = Database::in_memory().unwrap().client().create_table().table_name("table");
    let create = create.attribute_definitions(string("k")).set_key_schema(Some(keys(&["k"])));
    let create = create.billing_mode(BillingMode::Provisioned).provisioned_throughput(throughput());

    let result = create.global_secondary_indexes(global("index", &["k"], all())).send().await;

    assert_eq!(code(&result), None);
}

#[tokio::test]
async fn a_table_that_became_provisioned_has_no_billing_mode() {
    let table = Table::create(Database::in_memory().unwrap().client(), "table").await;
    let update = table.client.update_table().table_name("table").billing_mode(BillingMode::Provisioned);
    update.provisioned_throughput(throughput()).send().await.unwrap();

    let described = table.client.describe_table().table_name("table").send().await.unwrap().table.unwrap();

    assert_eq!(described.billing_mode_summary, None);
}
