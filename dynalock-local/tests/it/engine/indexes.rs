use aws_sdk_dynamodb::{
    operation::query::builders::QueryFluentBuilder,
    types::{AttributeValue, Put, Select, TransactWriteItem},
};

use super::orders::{all_numbers, draft, in_status, names, numbers, of, order, order_key, orders};
use crate::table::{Item, Table, code, item, n, s};

const INVALID: Option<&str> = Some("ValidationException");

fn with(mut order: Item, name: &str, value: AttributeValue) -> Item {
    order.insert(name.to_owned(), value);
    order
}

async fn update(orders: &Table, number: i64, expression: &str, values: &[(&str, AttributeValue)]) {
    let mut update = orders.client.update_item().table_name(&orders.name).update_expression(expression);
    for (name, value) in values {
        update = update.expression_attribute_values(*name, value.clone());
    }
    update
        .set_key(Some(order_key("alice", number)))
        .expression_attribute_names("#status", "status")
        .send()
        .await
        .unwrap();
}

async fn first(query: QueryFluentBuilder) -> Item {
    query.send().await.unwrap().items.unwrap().remove(0)
}

#[tokio::test]
async fn an_index_returns_what_it_projects() {
    let orders = orders("an_index_returns_what_it_projects").await;
    orders.put(order("alice", 1, "open", "2026-01-01")).await;
    let by_status = async |index| first(in_status(&orders, index, "open")).await;
    let by_placed = async |index| first(of(&orders, "alice").index_name(index)).await;

    let all = ["cents", "customer", "note", "number", "placed", "status"];
    assert_eq!(names(&by_status("by_status").await), all);
    assert_eq!(names(&by_status("keys_by_status").await), ["customer", "number", "status"]);
    assert_eq!(names(&by_status("cents_by_status").await), ["cents", "customer", "number", "status"]);
    assert_eq!(names(&by_placed("by_placed").await), all);
    assert_eq!(names(&by_placed("keys_by_placed").await), ["customer", "number", "placed"]);
}

#[tokio::test]
async fn an_item_without_the_keys_of_an_index_is_not_in_it() {
    let orders = orders("an_item_without_the_keys_of_an_index_is_not_in_it").await;
    orders.put(draft("alice", 1)).await;
    orders.put(with(draft("alice", 2), "status", s("open"))).await;
    orders.put(with(draft("alice", 3), "placed", s("2026-01-01"))).await;
    orders.put(order("alice", 4, "open", "2026-01-02")).await;

    assert_eq!(all_numbers(in_status(&orders, "by_status", "open")).await, [4]);
    assert_eq!(all_numbers(of(&orders, "alice").index_name("by_placed")).await, [3, 4]);
    let mut keys = all_numbers(in_status(&orders, "keys_by_status", "open")).await;
    keys.sort_unstable();
    assert_eq!(keys, [2, 4]);
}

#[tokio::test]
async fn an_index_follows_the_writes_of_its_table() {
    let orders = orders("an_index_follows_the_writes_of_its_table").await;
    let open = async || all_numbers(in_status(&orders, "by_status", "open")).await;
    let paid = async || all_numbers(in_status(&orders, "by_status", "paid")).await;
    orders.put(order("alice", 1, "open", "2026-01-01")).await;
    orders.put(order("alice", 2, "open", "2026-01-02")).await;
    assert_eq!((open().await, paid().await), (vec![1, 2], vec![]));

    update(&orders, 1, "SET #status = :s", &[(":s", s("paid"))]).await;
    assert_eq!((open().await, paid().await), (vec![2], vec![1]));

    update(&orders, 1, "REMOVE #status", &[]).await;
    assert_eq!((open().await, paid().await), (vec![2], vec![]));

    update(
        &orders,
        2,
        "SET placed = :p, cents = :t, #status = :s",
        &[(":p", s("2025-01-01")), (":t", n(7)), (":s", s("open"))],
    )
    .await;
    assert_eq!(first(in_status(&orders, "by_status", "open")).await["cents"], n(7));
    assert_eq!(first(in_status(&orders, "cents_by_status", "open")).await["cents"], n(7));

    orders.put(draft("alice", 2)).await;
    assert_eq!(open().await, [0; 0]);

    orders.put(order("alice", 3, "open", "2026-01-03")).await;
    orders.client.delete_item().table_name(&orders.name).set_key(Some(order_key("alice", 3))).send().await.unwrap();
    assert_eq!(open().await, [0; 0]);
}

#[tokio::test]
async fn the_value_of_an_index_key_has_its_type_and_is_not_empty() {
    let orders = orders("the_value_of_an_index_key_has_its_type_and_is_not_empty").await;
    orders.put(order("alice", 1, "open", "2026-01-01")).await;
    let put = |name, value| orders.put_request(with(order("alice", 2, "open", "2026-01-01"), name, value)).send();
    let transact = |value| {
        let order = with(order("alice", 2, "open", "2026-01-01"), "status", value);
        let put = Put::builder().table_name(&orders.name).set_item(Some(order)).build().unwrap();
        orders.client.transact_write_items().transact_items(TransactWriteItem::builder().put(put).build()).send()
    };

    for value in [n(1), s(""), AttributeValue::Null(true)] {
        assert_eq!(code(&put("status", value.clone()).await), INVALID, "{value:?}");
        assert_eq!(code(&put("placed", value.clone()).await), INVALID, "{value:?}");
        assert_ne!(code(&transact(value.clone()).await), None, "{value:?}");
    }
    assert_eq!(all_numbers(in_status(&orders, "by_status", "open")).await, [1]);
}

#[tokio::test]
async fn items_with_equal_index_keys_are_each_returned_once() {
    let orders = orders("items_with_equal_index_keys_are_each_returned_once").await;
    for number in 0..10 {
        orders.put(order(&format!("customer {number}"), number, "open", "2026-01-01")).await;
    }
    for forward in [true, false] {
        let query = in_status(&orders, "by_status", "open").scan_index_forward(forward).limit(1);
        let mut numbers = all_numbers(query).await;
        numbers.sort_unstable();
        assert_eq!(numbers, (0..10).collect::<Vec<_>>());
    }
}

#[tokio::test]
async fn the_key_of_a_page_of_an_index_has_the_keys_of_both() {
    let orders = orders("the_key_of_a_page_of_an_index_has_the_keys_of_both").await;
    for number in 0..3 {
        orders.put(order("alice", number, "open", &format!("2026-01-0{number}"))).await;
    }
    let page = |index| in_status(&orders, index, "open").limit(1).send();
    let mut expected = order_key("alice", 0);
    expected.extend(item([("status", s("open")), ("placed", s("2026-01-00"))]));

    let global = page("by_status").await.unwrap().last_evaluated_key.unwrap();
    let keys = page("keys_by_status").await.unwrap().last_evaluated_key.unwrap();
    let local = of(&orders, "alice").index_name("by_placed").limit(1).send().await.unwrap().last_evaluated_key.unwrap();

    assert_eq!(global, expected);
    assert_eq!(names(&keys), ["customer", "number", "status"]);
    assert_eq!(names(&local), ["customer", "number", "placed"]);
    let start = |key| in_status(&orders, "by_status", "open").set_exclusive_start_key(Some(key)).send();
    assert_eq!(numbers(start(global).await.unwrap().items()), [1, 2]);
    assert_eq!(code(&start(order_key("alice", 0)).await), INVALID);
    assert_eq!(code(&start(keys).await), INVALID);
    let other = in_status(&orders, "by_status", "paid").set_exclusive_start_key(Some(expected)).send().await;
    assert_eq!(code(&other), INVALID);
}

#[tokio::test]
async fn an_index_is_sorted_and_has_ranges() {
    let orders = orders("an_index_is_sorted_and_has_ranges").await;
    for (number, placed) in [(1, "2026-02-01"), (2, "2026-01-31"), (3, "2026-01-01"), (4, "2025-12-31")] {
        orders.put(order("alice", number, "open", placed)).await;
    }
    let january = in_status(&orders, "by_status", "open")
        .key_condition_expression("#status = :status AND begins_with(placed, :month)")
        .expression_attribute_values(":month", s("2026-01"));
    let year = of(&orders, "alice")
        .index_name("by_placed")
        .key_condition_expression("customer = :customer AND placed >= :year")
        .expression_attribute_values(":year", s("2026"));

    assert_eq!(all_numbers(in_status(&orders, "by_status", "open")).await, [4, 3, 2, 1]);
    assert_eq!(all_numbers(january.clone()).await, [3, 2]);
    assert_eq!(all_numbers(january.scan_index_forward(false)).await, [2, 3]);
    assert_eq!(all_numbers(year.clone()).await, [3, 2, 1]);
    assert_eq!(all_numbers(year.scan_index_forward(false).limit(1)).await, [1, 2, 3]);
}

#[tokio::test]
async fn a_strong_read_of_a_global_index_is_refused() {
    let orders = orders("a_strong_read_of_a_global_index_is_refused").await;

    let global = in_status(&orders, "by_status", "open").consistent_read(true).send().await;
    let local = of(&orders, "alice").index_name("by_placed").consistent_read(true).send().await;

    assert_eq!(code(&global), INVALID);
    assert_eq!(code(&local), None);
}

#[tokio::test]
async fn a_local_index_fetches_all_attributes_when_it_is_asked_to() {
    let orders = orders("a_local_index_fetches_all_attributes_when_it_is_asked_to").await;
    orders.put(order("alice", 1, "open", "2026-01-01")).await;

    let whole = first(of(&orders, "alice").index_name("keys_by_placed").select(Select::AllAttributes)).await;

    assert_eq!(whole, order("alice", 1, "open", "2026-01-01"));
}

#[tokio::test]
async fn a_filter_of_a_query_names_what_the_index_projects() {
    let orders = orders("a_filter_of_a_query_names_what_the_index_projects").await;
    orders.put(order("alice", 1, "open", "2026-01-01")).await;
    let query = |index, filter| in_status(&orders, index, "open").filter_expression(filter).send();
    let local = |filter| of(&orders, "alice").index_name("keys_by_placed").filter_expression(filter).send();

    assert_eq!(code(&query("keys_by_status", "attribute_not_exists(marker)").await), INVALID);
    assert_eq!(code(&query("keys_by_status", "attribute_exists(customer) AND attribute_exists(cents)").await), INVALID);
    assert_eq!(code(&query("cents_by_status", "attribute_exists(note)").await), INVALID);
    assert_eq!(code(&query("cents_by_status", "attribute_exists(cents)").await), None);
    assert_eq!(code(&query("by_status", "attribute_not_exists(marker)").await), None);
    assert_eq!(code(&local("attribute_exists(cents)").await), INVALID);
    assert_eq!(code(&local("attribute_exists(note.text)").await), INVALID);
}

#[tokio::test]
async fn a_global_index_refuses_what_it_does_not_project() {
    let orders = orders("a_global_index_refuses_what_it_does_not_project").await;
    orders.put(order("alice", 1, "open", "2026-01-01")).await;
    let keys = || in_status(&orders, "keys_by_status", "open");
    let scan = orders.client.scan().table_name(&orders.name).index_name("keys_by_status").projection_expression("note");

    assert_eq!(code(&scan.send().await), INVALID);
    assert_eq!(code(&keys().select(Select::AllAttributes).send().await), INVALID);
    assert_eq!(code(&keys().select(Select::AllProjectedAttributes).send().await), None);
    assert_eq!(code(&keys().projection_expression("note").send().await), INVALID);
    assert_eq!(code(&keys().projection_expression("customer").send().await), None);
    assert_eq!(code(&in_status(&orders, "by_status", "open").select(Select::AllAttributes).send().await), None);
}
