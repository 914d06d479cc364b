use aws_sdk_dynamodb::{
    operation::query::builders::QueryFluentBuilder,
    types::{
        ConsumedCapacity, Get, KeysAndAttributes, PutRequest, ReturnConsumedCapacity, Select, TransactGetItem,
        TransactWriteItem, WriteRequest,
    },
};

use super::{
    orders::{draft, in_status, of, order, order_key, orders, text},
    table,
};
use crate::table::{Item, Table, item, n, s};

const KIB: usize = 1024;

/// Returns an item of exactly this many bytes.
fn sized(bytes: usize) -> Item {
    item([("k", s("a")), ("text", text(bytes - "katext".len()))])
}

fn units(capacity: Option<ConsumedCapacity>) -> Option<f64> {
    capacity?.capacity_units
}

/// Returns the units of the table, and of these indexes in this order.
fn by_index(capacity: Option<ConsumedCapacity>, indexes: &[&str]) -> Vec<f64> {
    let capacity = capacity.unwrap();
    let mut all = capacity.global_secondary_indexes.unwrap_or_default();
    all.extend(capacity.local_secondary_indexes.unwrap_or_default());
    let table = capacity.table.and_then(|table| table.capacity_units).unwrap_or_default();
    let index = |name: &&str| all.get(*name).and_then(|index| index.capacity_units).unwrap_or_default();

    [table].into_iter().chain(indexes.iter().map(index)).collect()
}

async fn put(table: &Table, bytes: usize) -> Option<f64> {
    let put = table.put_request(sized(bytes)).return_consumed_capacity(ReturnConsumedCapacity::Total);
    units(put.send().await.unwrap().consumed_capacity)
}

async fn get(table: &Table, key: &str, consistent: bool) -> Option<f64> {
    let get = table.client.get_item().table_name(&table.name).key("k", s(key)).consistent_read(consistent);
    let get = get.return_consumed_capacity(ReturnConsumedCapacity::Total);
    units(get.send().await.unwrap().consumed_capacity)
}

#[tokio::test]
async fn capacity_is_told_when_it_is_asked_for() {
    let table = table("capacity_is_told_when_it_is_asked_for").await;
    let put = |asked| table.put_request(sized(100)).set_return_consumed_capacity(asked).send();

    let unasked = put(None).await.unwrap().consumed_capacity;
    let none = put(Some(ReturnConsumedCapacity::None)).await.unwrap().consumed_capacity;
    let total = put(Some(ReturnConsumedCapacity::Total)).await.unwrap().consumed_capacity.unwrap();
    let indexes = put(Some(ReturnConsumedCapacity::Indexes)).await.unwrap().consumed_capacity.unwrap();

    assert_eq!((unasked, none), (None, None));
    assert_eq!(total.table_name.as_ref(), Some(&table.name));
    assert_eq!((total.capacity_units, total.table), (Some(1.0), None));
    assert_eq!(indexes.capacity_units, Some(1.0));
    assert_eq!(indexes.table.unwrap().capacity_units, Some(1.0));
}

#[tokio::test]
async fn a_write_costs_a_unit_per_kilobyte_of_the_larger_item() {
    let table = table("a_write_costs_a_unit_per_kilobyte_of_the_larger_item").await;
    let total = ReturnConsumedCapacity::Total;

    assert_eq!(put(&table, KIB).await, Some(1.0));
    assert_eq!(put(&table, KIB + 1).await, Some(2.0));
    assert_eq!(put(&table, 10).await, Some(2.0));
    assert_eq!(put(&table, 3 * KIB).await, Some(3.0));
    let update = table.update("a", "SET n = :n").expression_attribute_values(":n", n(1));
    assert_eq!(
        units(update.return_consumed_capacity(total.clone()).send().await.unwrap().consumed_capacity),
        Some(4.0)
    );
    let shrink = table.update("a", "REMOVE #text").expression_attribute_names("#text", "text");
    assert_eq!(
        units(shrink.return_consumed_capacity(total.clone()).send().await.unwrap().consumed_capacity),
        Some(4.0)
    );
    put(&table, 2 * KIB).await;
    let delete = || table.delete("a").return_consumed_capacity(total.clone()).send();
    assert_eq!(units(delete().await.unwrap().consumed_capacity), Some(2.0));
    assert_eq!(units(delete().await.unwrap().consumed_capacity), Some(1.0));
}

#[tokio::test]
async fn a_read_costs_a_unit_per_four_kilobytes_and_half_if_it_may_be_stale() {
    let table = table("a_read_costs_a_unit_per_four_kilobytes_and_half_if_it_may_be_stale").await;
    put(&table, 4 * KIB).await;
    assert_eq!((get(&table, "a", true).await, get(&table, "a", false).await), (Some(1.0), Some(0.5)));

    put(&table, 4 * KIB + 1).await;
    assert_eq!((get(&table, "a", true).await, get(&table, "a", false).await), (Some(2.0), Some(1.0)));
    assert_eq!((get(&table, "absent", true).await, get(&table, "absent", false).await), (Some(1.0), Some(0.5)));
}

#[tokio::test]
async fn a_query_costs_what_it_reads_together() {
    let orders = orders("a_query_costs_what_it_reads_together").await;
    for number in 1..=10 {
        let mut order = draft("alice", number);
        order.insert("text".to_owned(), text(KIB));
        orders.put(order).await;
    }
    let query = || of(&orders, "alice").return_consumed_capacity(ReturnConsumedCapacity::Total);
    let cost = async |query: QueryFluentBuilder| units(query.send().await.unwrap().consumed_capacity);

    assert_eq!(cost(query()).await, Some(1.5));
    assert_eq!(cost(query().consistent_read(true)).await, Some(3.0));
    assert_eq!(cost(query().filter_expression("attribute_not_exists(note)")).await, Some(1.5));
    assert_eq!(cost(query().projection_expression("cents")).await, Some(1.5));
    assert_eq!(cost(query().select(Select::Count)).await, Some(1.5));
    assert_eq!(cost(query().limit(1)).await, Some(0.5));
    let scan = orders.client.scan().table_name(&orders.name).return_consumed_capacity(ReturnConsumedCapacity::Total);
    assert_eq!(units(scan.send().await.unwrap().consumed_capacity), Some(1.5));
}

#[tokio::test]
async fn a_write_costs_a_unit_for_each_index_that_it_changes() {
    let orders = orders("a_write_costs_a_unit_for_each_index_that_it_changes").await;
    let all = ["by_status", "keys_by_status", "cents_by_status", "by_placed", "keys_by_placed"];
    let put = async |order| {
        let put = orders.put_request(order).return_consumed_capacity(ReturnConsumedCapacity::Indexes);
        let capacity = put.send().await.unwrap().consumed_capacity;
        (units(capacity.clone()), by_index(capacity, &all))
    };
    let mut noted = order("alice", 1, "open", "2026-01-01");
    noted.insert("note".to_owned(), s("other"));

    assert_eq!(put(draft("alice", 1)).await, (Some(1.0), vec![1.0, 0.0, 0.0, 0.0, 0.0, 0.0]));
    assert_eq!(put(order("alice", 1, "open", "2026-01-01")).await, (Some(6.0), vec![1.0; 6]));
    assert_eq!(put(noted.clone()).await, (Some(3.0), vec![1.0, 1.0, 0.0, 0.0, 1.0, 0.0]));
    assert_eq!(put(noted).await, (Some(1.0), vec![1.0, 0.0, 0.0, 0.0, 0.0, 0.0]));
    assert_eq!(put(order("alice", 1, "paid", "2026-01-01")).await, (Some(8.0), vec![1.0, 2.0, 2.0, 2.0, 1.0, 0.0]));
    assert_eq!(put(draft("alice", 1)).await, (Some(6.0), vec![1.0; 6]));
}

#[tokio::test]
async fn a_query_of_an_index_costs_what_the_index_holds() {
    let orders = orders("a_query_of_an_index_costs_what_the_index_holds").await;
    for number in 1..=10 {
        let mut order = order("alice", number, "open", "2026-01-01");
        order.insert("text".to_owned(), text(KIB));
        orders.put(order).await;
    }
    let cost = async |index| {
        let query = in_status(&orders, index, "open").return_consumed_capacity(ReturnConsumedCapacity::Indexes);
        by_index(query.send().await.unwrap().consumed_capacity, &[index])
    };
    let local = of(&orders, "alice").index_name("keys_by_placed");
    let local = local.return_consumed_capacity(ReturnConsumedCapacity::Indexes);

    assert_eq!(cost("by_status").await, [0.0, 1.5]);
    assert_eq!(cost("keys_by_status").await, [0.0, 0.5]);
    assert_eq!(by_index(local.send().await.unwrap().consumed_capacity, &["keys_by_placed"]), [0.0, 0.5]);
}

#[tokio::test]
async fn a_batch_costs_the_sum_of_its_items() {
    let orders = orders("a_batch_costs_the_sum_of_its_items").await;
    for number in 1..=4 {
        orders.put(draft("alice", number)).await;
    }
    let keys =
        || KeysAndAttributes::builder().set_keys(Some((1..=4).map(|number| order_key("alice", number)).collect()));
    let cost = async |keys| {
        let read = orders.client.batch_get_item().request_items(&orders.name, keys);
        let read = read.return_consumed_capacity(ReturnConsumedCapacity::Total).send().await.unwrap();
        read.consumed_capacity.unwrap()[0].capacity_units
    };

    assert_eq!(cost(keys().build().unwrap()).await, Some(2.0));
    assert_eq!(cost(keys().consistent_read(true).build().unwrap()).await, Some(4.0));
}

#[tokio::test]
async fn a_batch_of_writes_costs_the_sum_of_its_writes() {
    let table = table("a_batch_of_writes_costs_the_sum_of_its_writes").await;
    let put = |item| {
        let put = PutRequest::builder().set_item(Some(item)).build().unwrap();
        WriteRequest::builder().put_request(put).build()
    };
    let writes = vec![put(sized(KIB + 1)), put(item([("k", s("b"))]))];

    let batch = table.client.batch_write_item().request_items(&table.name, writes);
    let batch = batch.return_consumed_capacity(ReturnConsumedCapacity::Total).send().await.unwrap();

    assert_eq!(batch.consumed_capacity.unwrap()[0].capacity_units, Some(3.0));
}

#[tokio::test]
async fn a_transaction_costs_twice() {
    let table = table("a_transaction_costs_twice").await;
    let put = table.tx_put(sized(KIB + 1)).build().unwrap();
    let put = TransactWriteItem::builder().put(put).build();
    let written = table.client.transact_write_items().transact_items(put);
    let written = written.return_consumed_capacity(ReturnConsumedCapacity::Total).send().await.unwrap();
    let get = Get::builder().table_name(&table.name).key("k", s("a")).build().unwrap();
    let get = TransactGetItem::builder().get(get).build();
    let read = table.client.transact_get_items().transact_items(get);
    let read = read.return_consumed_capacity(ReturnConsumedCapacity::Total).send().await.unwrap();

    assert_eq!(written.consumed_capacity.unwrap()[0].capacity_units, Some(4.0));
    assert_eq!(read.consumed_capacity.unwrap()[0].capacity_units, Some(2.0));
}
