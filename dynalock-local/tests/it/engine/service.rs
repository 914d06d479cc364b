//! Rows in which DynamoDB Local does not answer as DynamoDB is documented. These tests run on the
//! engine in the process, and on DynamoDB itself.

use aws_sdk_dynamodb::types::{BillingMode, KeysAndAttributes, ProvisionedThroughput, ReturnConsumedCapacity};

use super::{
    client,
    orders::{draft, keys, of, order, order_key, orders, string, text},
};
use crate::table::{code, n, s};

const INVALID: Option<&str> = Some("ValidationException");
const KIB: usize = 1024;

#[tokio::test]
async fn an_update_checks_the_keys_of_indexes() {
    let orders = orders("an_update_checks_the_keys_of_indexes").await;
    orders.put(order("alice", 1, "open", "2026-01-01")).await;

    for value in [n(1), s("")] {
        let update = orders.client.update_item().table_name(&orders.name).set_key(Some(order_key("alice", 1)));
        let update = update.update_expression("SET #status = :s").expression_attribute_names("#status", "status");
        let result = update.expression_attribute_values(":s", value.clone()).send().await;
        assert_eq!(code(&result), INVALID, "{value:?}");
    }
}

#[tokio::test]
async fn a_page_of_a_query_ends_at_1_mb_before_the_filter() {
    let orders = orders("a_page_of_a_query_ends_at_1_mb_before_the_filter").await;
    for number in 0..6 {
        let mut order = draft("alice", number);
        order.insert("text".to_owned(), text(300 * KIB));
        orders.put(order).await;
    }

    let page = of(&orders, "alice").filter_expression("attribute_not_exists(note)").send().await.unwrap();

    assert_eq!(page.count, 0);
    assert!(page.last_evaluated_key.is_some());
}

#[tokio::test]
async fn a_read_that_finds_nothing_has_its_cost() {
    let orders = orders("a_read_that_finds_nothing_has_its_cost").await;
    let nobody = of(&orders, "nobody").return_consumed_capacity(ReturnConsumedCapacity::Total);
    let absent = KeysAndAttributes::builder().keys(order_key("alice", 1)).build().unwrap();
    let batch = orders.client.batch_get_item().request_items(&orders.name, absent);
    let batch = batch.return_consumed_capacity(ReturnConsumedCapacity::Total).send().await.unwrap();

    let weak = nobody.clone().send().await.unwrap().consumed_capacity.unwrap();
    let strong = nobody.consistent_read(true).send().await.unwrap().consumed_capacity.unwrap();

    assert_eq!((weak.capacity_units, strong.capacity_units), (Some(0.5), Some(1.0)));
    assert_eq!(batch.consumed_capacity.unwrap()[0].capacity_units, Some(0.5));
}

#[tokio::test]
async fn a_table_that_pays_per_request_has_no_throughput() {
    let throughput = ProvisionedThroughput::builder().read_capacity_units(5).write_capacity_units(5).build().unwrap();
    let create = client().create_table().table_name("a_table_that_pays_per_request_has_no_throughput");
    let create = create.attribute_definitions(string("k")).set_key_schema(Some(keys(&["k"])));

    let result = create.billing_mode(BillingMode::PayPerRequest).provisioned_throughput(throughput).send().await;

    assert_eq!(code(&result), INVALID);
}
