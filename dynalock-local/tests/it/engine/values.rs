use aws_sdk_dynamodb::types::{AttributeValue, ScalarAttributeType};

use super::{client, table};
use crate::table::{Table, b, code, item, list, n, s, ss};

const INVALID: Option<&str> = Some("ValidationException");

#[tokio::test]
async fn every_type_is_read_as_it_was_written() {
    let table = table("every_type_is_read_as_it_was_written").await;
    let stored = item([
        ("k", s("a")),
        ("string", s("grüß dich, 世界")),
        ("empty", s("")),
        ("bytes", b([0, 255])),
        ("no_bytes", b([])),
        ("yes", AttributeValue::Bool(true)),
        ("null", AttributeValue::Null(true)),
        ("no_list", list([])),
        ("map", AttributeValue::M(item([("a.b-c", list([n(1), AttributeValue::M(item([]))]))]))),
    ]);

    table.put(stored.clone()).await;

    assert_eq!(table.get("a").await, Some(stored));
}

#[tokio::test]
async fn numbers_are_normalised() {
    let table = table("numbers_are_normalised").await;
    let cases = [
        ("1.0", "1"),
        ("1e3", "1000"),
        ("-0", "0"),
        ("007", "7"),
        ("1.50", "1.5"),
        ("12e-1", "1.2"),
        ("-1.25E2", "-125"),
        (".5", "0.5"),
    ];

    for (sent, stored) in cases {
        table.put(item([("k", s("a")), ("n", n(sent))])).await;
        assert_eq!(table.n("a").await, Some(n(stored)), "{sent}");
    }
}

#[tokio::test]
async fn numbers_have_38_digits() {
    let table = table("numbers_have_38_digits").await;
    let longest = "1".repeat(38);

    table.put(item([("k", s("a")), ("n", n(&longest))])).await;
    let longer = table.put_request(item([("k", s("b")), ("n", n("1".repeat(39)))])).send().await;
    let larger = table.put_request(item([("k", s("b")), ("n", n("1e126"))])).send().await;
    let text = table.put_request(item([("k", s("b")), ("n", n("NaN"))])).send().await;

    assert_eq!(table.n("a").await, Some(n(longest)));
    assert_eq!(code(&longer), INVALID);
    assert_eq!(code(&larger), INVALID);
    assert_eq!(code(&text), INVALID);
}

#[tokio::test]
async fn large_sums_are_exact() {
    let table = table("large_sums_are_exact").await;
    table.put(item([("k", s("a")), ("n", n(u64::MAX - 1))])).await;

    table.increment("a").send().await.unwrap();

    assert_eq!(table.n("a").await, Some(n(u64::MAX)));
}

#[tokio::test]
async fn empty_keys_and_empty_sets_are_refused() {
    let table = table("empty_keys_and_empty_sets_are_refused").await;

    let key = table.put_request(item([("k", s(""))])).send().await;
    let no_key = table.put_request(item([("n", n(1))])).send().await;
    let other_type = table.put_request(item([("k", n(1))])).send().await;
    let set = table.put_request(item([("k", s("a")), ("set", AttributeValue::Ss(vec![]))])).send().await;
    let twice = table.put_request(item([("k", s("a")), ("set", ss(["x", "x"]))])).send().await;

    assert_eq!(code(&key), INVALID);
    assert_eq!(code(&no_key), INVALID);
    assert_eq!(code(&other_type), INVALID);
    assert_eq!(code(&set), INVALID);
    assert_eq!(code(&twice), INVALID);
}

#[tokio::test]
async fn the_bytes_of_a_key_are_limited() {
    let keys = [("p", ScalarAttributeType::S), ("q", ScalarAttributeType::S)];
    let table = Table::create_keyed(client(), "the_bytes_of_a_key_are_limited", &keys).await;
    let put = |p: usize, q: usize| table.put_request(item([("p", s("ä".repeat(p))), ("q", s("ä".repeat(q)))])).send();

    assert_eq!(code(&put(1024, 512).await), None);
    assert_eq!(code(&put(1025, 1).await), INVALID);
    assert_eq!(code(&put(1, 513).await), INVALID);
}

#[tokio::test]
async fn equal_numbers_are_one_key() {
    let name = "equal_numbers_are_one_key";
    let table = Table::create_keyed(client(), name, &[("id", ScalarAttributeType::N)]).await;
    table.put(item([("id", n("1.0")), ("n", n(5))])).await;

    let get = table.client.get_item().table_name(&table.name).key("id", n("1")).send().await.unwrap();

    assert_eq!(get.item, Some(item([("id", n(1)), ("n", n(5))])));
}

#[tokio::test]
async fn binary_keys_and_sort_keys_find_their_item() {
    let keys = [("p", ScalarAttributeType::B), ("q", ScalarAttributeType::N)];
    let table = Table::create_keyed(client(), "binary_keys_and_sort_keys_find_their_item", &keys).await;
    for q in [10, 9, -1] {
        table.put(item([("p", b([1])), ("q", n(q))])).await;
    }

    let query = table.client.query().table_name(&table.name).key_condition_expression("p = :p AND q > :q");
    let query = query.expression_attribute_values(":p", b([1])).expression_attribute_values(":q", n(-5));
    let found = query.consistent_read(true).send().await.unwrap().items.unwrap_or_default();

    let order: Vec<_> = found.into_iter().map(|item| item["q"].clone()).collect();
    assert_eq!(order, [n(-1), n(9), n(10)]);
}
