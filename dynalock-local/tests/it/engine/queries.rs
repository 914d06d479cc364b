use aws_sdk_dynamodb::types::{ScalarAttributeType, Select};

use super::{
    client,
    orders::{all_numbers, draft, in_status, names, numbers, of, order, order_key, orders, text, where_number},
};
use crate::table::{Item, Table, b, code, item, n, s};

const INVALID: Option<&str> = Some("ValidationException");
const KIB: usize = 1024;

/// Puts the orders 1 to `last` of `alice`, and one order of `bob`.
async fn filled(name: &str, last: i64) -> Table {
    let orders = orders(name).await;
    for number in 1..=last {
        orders.put(draft("alice", number)).await;
    }
    orders.put(draft("bob", 1)).await;
    orders
}

#[tokio::test]
async fn a_query_returns_one_partition_in_the_order_of_the_sort_key() {
    let orders = orders("a_query_returns_one_partition_in_the_order_of_the_sort_key").await;
    for number in [10, -2, 9, 0, 100, -10] {
        orders.put(draft("alice", number)).await;
    }
    orders.put(draft("bob", 5)).await;

    assert_eq!(all_numbers(of(&orders, "alice")).await, [-10, -2, 0, 9, 10, 100]);
    assert_eq!(all_numbers(of(&orders, "alice").scan_index_forward(false)).await, [100, 10, 9, 0, -2, -10]);
    assert_eq!(all_numbers(of(&orders, "alice").consistent_read(true)).await, [-10, -2, 0, 9, 10, 100]);
    assert_eq!(all_numbers(of(&orders, "nobody")).await, [0; 0]);
}

#[tokio::test]
async fn strings_and_bytes_are_in_the_order_of_their_bytes() {
    let name = "strings_and_bytes_are_in_the_order_of_their_bytes";
    let strings = [("k", ScalarAttributeType::S), ("sort", ScalarAttributeType::S)];
    let bytes = [("k", ScalarAttributeType::S), ("sort", ScalarAttributeType::B)];
    let strings = Table::create_keyed(client(), &format!("{name}_s"), &strings).await;
    let bytes = Table::create_keyed(client(), &format!("{name}_b"), &bytes).await;
    let sorted_strings = ["A", "Z", "a", "aa", "b", "é", "\u{ffff}", "😀"].map(s);
    let sorted_bytes = [vec![0], vec![0, 0], vec![1], vec![0x7f], vec![0x80], vec![0xff], vec![0xff, 0]].map(b);
    for sort in sorted_strings.iter().rev() {
        strings.put(item([("k", s("a")), ("sort", sort.clone())])).await;
    }
    for sort in sorted_bytes.iter().rev() {
        bytes.put(item([("k", s("a")), ("sort", sort.clone())])).await;
    }
    let read = |table: &Table| {
        let query = table.client.query().table_name(&table.name).key_condition_expression("k = :k");
        query.expression_attribute_values(":k", s("a")).send()
    };
    let sorts = |items: Option<Vec<Item>>| items.unwrap().into_iter().map(|item| item["sort"].clone()).collect();

    let strings: Vec<_> = sorts(read(&strings).await.unwrap().items);
    let bytes: Vec<_> = sorts(read(&bytes).await.unwrap().items);

    assert_eq!(strings, sorted_strings);
    assert_eq!(bytes, sorted_bytes);
}

#[tokio::test]
async fn one_condition_on_the_sort_key_selects_a_range() {
    let orders = filled("one_condition_on_the_sort_key_selects_a_range", 5).await;
    let one = |condition| where_number(&orders, "alice", condition).expression_attribute_values(":a", n(3));
    let two = one("#number BETWEEN :a AND :b");

    assert_eq!(all_numbers(one("#number = :a")).await, [3]);
    assert_eq!(all_numbers(one("#number < :a")).await, [1, 2]);
    assert_eq!(all_numbers(one("#number <= :a")).await, [1, 2, 3]);
    assert_eq!(all_numbers(one("#number > :a")).await, [4, 5]);
    assert_eq!(all_numbers(one("#number >= :a")).await, [3, 4, 5]);
    assert_eq!(all_numbers(two.expression_attribute_values(":b", n(4))).await, [3, 4]);
}

#[tokio::test]
async fn a_prefix_selects_strings_and_bytes() {
    let name = "a_prefix_selects_strings_and_bytes";
    let strings = [("k", ScalarAttributeType::S), ("sort", ScalarAttributeType::S)];
    let bytes = [("k", ScalarAttributeType::S), ("sort", ScalarAttributeType::B)];
    let strings = Table::create_keyed(client(), &format!("{name}_s"), &strings).await;
    let bytes = Table::create_keyed(client(), &format!("{name}_b"), &bytes).await;
    for sort in ["a", "a%", "a_", "ab", "abc", "b"].map(s) {
        strings.put(item([("k", s("a")), ("sort", sort)])).await;
    }
    for sort in [vec![1], vec![0xff], vec![0xff, 0], vec![0xff, 0xff]].map(b) {
        bytes.put(item([("k", s("a")), ("sort", sort)])).await;
    }
    let count = async |table: &Table, prefix| {
        let condition = "k = :k AND begins_with(sort, :prefix)";
        let query = table.client.query().table_name(&table.name).key_condition_expression(condition);
        let query = query.expression_attribute_values(":k", s("a")).expression_attribute_values(":prefix", prefix);
        query.send().await.unwrap().count
    };

    assert_eq!(count(&strings, s("ab")).await, 2);
    assert_eq!(count(&strings, s("a%")).await, 1);
    assert_eq!(count(&strings, s("a_")).await, 1);
    assert_eq!(count(&strings, s("A")).await, 0);
    assert_eq!(count(&bytes, b([0xff])).await, 3);
    assert_eq!(count(&bytes, b([0xff, 0xff])).await, 1);
}

#[tokio::test]
async fn a_key_condition_asks_for_one_partition_and_one_range() {
    let orders = filled("a_key_condition_asks_for_one_partition_and_one_range", 1).await;
    let customer = |condition: &str| of(&orders, "alice").key_condition_expression(condition);
    let number = |condition| where_number(&orders, "alice", condition).expression_attribute_values(":a", n(3));
    let without_partition = orders.client.query().table_name(&orders.name).key_condition_expression("#number = :a");
    let without_partition = without_partition.expression_attribute_names("#number", "number");
    let unnamed = orders.client.query().table_name(&orders.name);

    assert_eq!(code(&customer("customer > :customer").send().await), INVALID);
    assert_eq!(code(&customer("begins_with(customer, :customer)").send().await), INVALID);
    assert_eq!(code(&customer("customer = :customer OR customer = :customer").send().await), INVALID);
    assert_eq!(code(&customer("NOT customer = :customer").send().await), INVALID);
    assert_eq!(code(&customer("note = :customer").send().await), INVALID);
    assert_eq!(code(&customer("customer = :customer AND note = :customer").send().await), INVALID);
    assert_eq!(code(&number("#number <> :a").send().await), INVALID);
    assert_eq!(code(&number("#number IN (:a)").send().await), INVALID);
    assert_eq!(code(&number("#number > :a AND #number < :a").send().await), INVALID);
    assert_eq!(code(&number("attribute_exists(#number)").send().await), INVALID);
    assert_eq!(code(&number("begins_with(#number, :a)").send().await), INVALID);
    assert_eq!(code(&without_partition.expression_attribute_values(":a", n(3)).send().await), INVALID);
    assert_eq!(code(&unnamed.send().await), INVALID);
}

#[tokio::test]
async fn values_of_a_key_condition_have_the_types_of_the_keys() {
    let orders = filled("values_of_a_key_condition_have_the_types_of_the_keys", 1).await;
    let number = |value| where_number(&orders, "alice", "#number = :a").expression_attribute_values(":a", value);
    let between = |low, high| {
        let query = where_number(&orders, "alice", "#number BETWEEN :a AND :b");
        query.expression_attribute_values(":a", n(low)).expression_attribute_values(":b", n(high)).send()
    };

    let prefix = in_status(&orders, "by_status", "open")
        .key_condition_expression("#status = :status AND begins_with(placed, :prefix)")
        .expression_attribute_values(":prefix", s(""));

    assert_eq!(code(&of(&orders, "").send().await), INVALID);
    assert_eq!(code(&in_status(&orders, "by_status", "").send().await), INVALID);
    assert_eq!(code(&prefix.send().await), INVALID);
    assert_eq!(code(&of(&orders, "alice").expression_attribute_values(":customer", n(1)).send().await), INVALID);
    assert_eq!(code(&number(s("1")).send().await), INVALID);
    assert_eq!(code(&number(n("1.0")).send().await), None);
    assert_eq!(code(&between(1, 1).await), None);
    assert_eq!(code(&between(2, 1).await), INVALID);
}

#[tokio::test]
async fn a_missing_table_or_index_cannot_be_queried() {
    let orders = filled("a_missing_table_or_index_cannot_be_queried", 1).await;
    let table = Table { client: orders.client.clone(), name: "no_such_table".to_owned() };

    assert_eq!(code(&of(&table, "alice").send().await), Some("ResourceNotFoundException"));
    assert_eq!(code(&of(&orders, "alice").index_name("no_such_index").send().await), INVALID);
    assert_eq!(code(&orders.client.scan().table_name(&orders.name).index_name("no_such_index").send().await), INVALID);
}

#[tokio::test]
async fn a_limit_counts_what_is_read_before_the_filter() {
    let orders = filled("a_limit_counts_what_is_read_before_the_filter", 5).await;
    let filtered = || {
        let query = of(&orders, "alice").filter_expression("cents > :cents");
        query.expression_attribute_values(":cents", n(20)).limit(2)
    };

    let first = filtered().send().await.unwrap();
    let second = filtered().set_exclusive_start_key(first.last_evaluated_key.clone()).send().await.unwrap();
    let third = filtered().set_exclusive_start_key(second.last_evaluated_key.clone()).send().await.unwrap();

    assert_eq!((first.count, first.scanned_count, numbers(first.items())), (0, 2, vec![]));
    assert_eq!(first.last_evaluated_key, Some(order_key("alice", 2)));
    assert_eq!((second.count, second.scanned_count, numbers(second.items())), (2, 2, vec![3, 4]));
    assert_eq!((third.count, third.scanned_count, numbers(third.items())), (1, 1, vec![5]));
    assert_eq!(third.last_evaluated_key, None);
}

#[tokio::test]
async fn a_page_that_ends_with_the_last_item_has_a_key_to_go_on() {
    let orders = filled("a_page_that_ends_with_the_last_item_has_a_key_to_go_on", 2).await;

    let full = of(&orders, "alice").limit(2).send().await.unwrap();
    let rest = of(&orders, "alice").set_exclusive_start_key(full.last_evaluated_key.clone()).send().await.unwrap();
    let larger = of(&orders, "alice").limit(3).send().await.unwrap();

    assert_eq!(full.last_evaluated_key, Some(order_key("alice", 2)));
    assert_eq!((rest.count, rest.last_evaluated_key), (0, None));
    assert_eq!((larger.count, larger.last_evaluated_key), (2, None));
    assert_eq!(code(&of(&orders, "alice").limit(0).send().await), INVALID);
    assert_eq!(code(&orders.client.scan().table_name(&orders.name).limit(0).send().await), INVALID);
}

#[tokio::test]
async fn a_query_goes_on_behind_a_key_that_is_gone() {
    let orders = filled("a_query_goes_on_behind_a_key_that_is_gone", 4).await;
    orders.client.delete_item().table_name(&orders.name).set_key(Some(order_key("alice", 2))).send().await.unwrap();
    let behind = |number| of(&orders, "alice").set_exclusive_start_key(Some(order_key("alice", number)));

    assert_eq!(all_numbers(behind(2)).await, [3, 4]);
    assert_eq!(all_numbers(behind(3).scan_index_forward(false)).await, [1]);
    assert_eq!(all_numbers(behind(99)).await, [0; 0]);
}

#[tokio::test]
async fn a_start_key_has_the_keys_of_the_query() {
    let orders = filled("a_start_key_has_the_keys_of_the_query", 2).await;
    let start = |key| of(&orders, "alice").set_exclusive_start_key(Some(key)).send();
    let mut larger = order_key("alice", 1);
    larger.insert("note".to_owned(), s("none"));

    assert_eq!(code(&start(order_key("bob", 1)).await), INVALID);
    assert_eq!(code(&start(item([("customer", s("alice"))])).await), INVALID);
    assert_eq!(code(&start(item([("customer", s("alice")), ("number", s("1"))])).await), INVALID);
    assert_eq!(code(&start(larger).await), INVALID);
}

#[tokio::test]
async fn a_start_key_outside_of_the_range_is_refused() {
    let orders = filled("a_start_key_outside_of_the_range_is_refused", 5).await;
    let range = where_number(&orders, "alice", "#number > :a").expression_attribute_values(":a", n(3));

    let outside = range.set_exclusive_start_key(Some(order_key("alice", 1))).send().await;

    assert_eq!(code(&outside), INVALID);
}

#[tokio::test]
async fn a_filter_does_not_name_the_keys_of_what_is_queried() {
    let orders = orders("a_filter_does_not_name_the_keys_of_what_is_queried").await;
    orders.put(order("alice", 1, "open", "2026-01-01")).await;
    let cents = |filter| of(&orders, "alice").filter_expression(filter).expression_attribute_values(":a", n(1));
    let number = cents("#number = :a").expression_attribute_names("#number", "number");
    let customer = of(&orders, "alice").filter_expression("customer = :customer");
    let table_keys = in_status(&orders, "by_status", "open").filter_expression("customer = :customer");
    let index_keys = in_status(&orders, "by_status", "open").filter_expression("placed > :customer");

    assert_eq!(code(&cents("cents >= :a").send().await), None);
    assert_eq!(code(&number.send().await), INVALID);
    assert_eq!(code(&customer.send().await), INVALID);
    assert_eq!(all_numbers(table_keys.expression_attribute_values(":customer", s("alice"))).await, [1]);
    assert_eq!(code(&index_keys.expression_attribute_values(":customer", s("a")).send().await), INVALID);
}

#[tokio::test]
async fn a_count_is_that_after_the_filter_and_has_no_items() {
    let orders = filled("a_count_is_that_after_the_filter_and_has_no_items", 5).await;
    let count = of(&orders, "alice").select(Select::Count).filter_expression("cents > :cents");
    let count = count.expression_attribute_values(":cents", n(20)).send().await.unwrap();
    let scan = orders.client.scan().table_name(&orders.name).select(Select::Count).send().await.unwrap();

    assert_eq!((count.count, count.scanned_count, count.items), (3, 5, None));
    assert_eq!((scan.count, scan.scanned_count, scan.items), (6, 6, None));
}

#[tokio::test]
async fn a_projection_names_what_is_returned() {
    let orders = filled("a_projection_names_what_is_returned", 1).await;
    let projected = || of(&orders, "alice").projection_expression("cents, color");

    let page = projected().send().await.unwrap();
    let scanned = orders.client.scan().table_name(&orders.name).projection_expression("note").send().await.unwrap();

    assert_eq!(names(&page.items()[0]), ["cents"]);
    assert_eq!(names(&scanned.items()[0]), ["note"]);
    assert_eq!(code(&projected().select(Select::SpecificAttributes).send().await), None);
    assert_eq!(code(&projected().select(Select::AllAttributes).send().await), INVALID);
    assert_eq!(code(&projected().select(Select::Count).send().await), INVALID);
    assert_eq!(code(&of(&orders, "alice").select(Select::SpecificAttributes).send().await), INVALID);
    assert_eq!(code(&of(&orders, "alice").select(Select::AllProjectedAttributes).send().await), INVALID);
    assert_eq!(code(&of(&orders, "alice").projection_expression("note, note").send().await), INVALID);
}

#[tokio::test]
async fn a_page_of_a_query_ends_at_1_mb_before_the_projection() {
    let orders = orders("a_page_of_a_query_ends_at_1_mb_before_the_projection").await;
    for number in 0..6 {
        let mut order = draft("alice", number);
        order.insert("text".to_owned(), text(300 * KIB));
        orders.put(order).await;
    }
    let page = of(&orders, "alice").send().await.unwrap();
    let projected = of(&orders, "alice").projection_expression("cents").send().await.unwrap();

    assert!(page.last_evaluated_key.is_some());
    assert!(page.count < 6);
    assert_eq!(projected.last_evaluated_key, page.last_evaluated_key);
    assert_eq!(all_numbers(of(&orders, "alice")).await, [0, 1, 2, 3, 4, 5]);
}
