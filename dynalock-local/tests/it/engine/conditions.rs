use aws_sdk_dynamodb::{
    operation::{put_item::PutItemError, update_item::UpdateItemError},
    types::{ConditionCheck, ReturnValuesOnConditionCheckFailure::AllOld, TransactWriteItem},
};

use super::table;
use crate::table::{b, code, item, list, n, s, ss};

const FAILED: Option<&str> = Some("ConditionalCheckFailedException");
const INVALID: Option<&str> = Some("ValidationException");

/// A condition, its one value, and whether the condition is true for the item below.
async fn holds(name: &str, cases: &[(&str, aws_sdk_dynamodb::types::AttributeValue, bool)]) {
    let table = table(name).await;
    let map = aws_sdk_dynamodb::types::AttributeValue::M(item([("x", n(1)), ("y", list([s("a"), n(2)]))]));
    table
        .put(item([
            ("k", s("a")),
            ("n", n("1.50")),
            ("a_text", s("hello")),
            ("a_bytes", b([1, 2, 3])),
            ("a_set", ss(["x", "y", "z"])),
            ("a_list", list([n(1), s("b")])),
            ("a_map", map),
        ]))
        .await;

    for (condition, value, expected) in cases {
        let update = table.update("a", "SET touched = :v").condition_expression(*condition);
        let result = update.expression_attribute_values(":v", value.clone()).send().await;

        assert_eq!(code(&result), if *expected { None } else { FAILED }, "{condition}, {value:?}");
    }
}

#[tokio::test]
async fn a_failed_condition_returns_the_item_if_asked() {
    let table = table("a_failed_condition_returns_the_item_if_asked").await;
    let stored = item([("k", s("a")), ("n", n(1)), ("a_list", list([s("x")]))]);
    table.put(stored.clone()).await;

    let put = table.put_request(item([("k", s("a"))])).condition_expression("attribute_not_exists(k)");
    let silent = put.clone().send().await.unwrap_err().into_service_error();
    let telling = put.return_values_on_condition_check_failure(AllOld).send().await.unwrap_err().into_service_error();

    assert!(matches!(silent, PutItemError::ConditionalCheckFailedException(e) if e.item.is_none()));
    assert!(matches!(telling, PutItemError::ConditionalCheckFailedException(e) if e.item == Some(stored)));
}

#[tokio::test]
async fn a_failed_condition_on_an_absent_row_returns_no_item() {
    let table = table("a_failed_condition_on_an_absent_row_returns_no_item").await;

    let update = table.update("a", "SET n = :n").condition_expression("n = :n");
    let update = update.expression_attribute_values(":n", n(1)).return_values_on_condition_check_failure(AllOld);
    let error = update.send().await.unwrap_err().into_service_error();

    assert!(matches!(error, UpdateItemError::ConditionalCheckFailedException(e) if e.item.is_none()));
    assert_eq!(table.get("a").await, None);
}

#[tokio::test]
async fn begins_with_works_on_binary() {
    holds(
        "begins_with_works_on_binary",
        &[
            ("begins_with(a_bytes, :v)", b([1, 2]), true),
            ("begins_with(a_bytes, :v)", b([1, 2, 3]), true),
            ("begins_with(a_bytes, :v)", b([2]), false),
            ("begins_with(a_bytes, :v)", s("a"), false),
            ("begins_with(a_text, :v)", s("he"), true),
        ],
    )
    .await;
}

#[tokio::test]
async fn contains_works_on_strings_binary_sets_and_lists() {
    holds(
        "contains_works_on_strings_binary_sets_and_lists",
        &[
            ("contains(a_bytes, :v)", b([2, 3]), true),
            ("contains(a_bytes, :v)", b([3, 2]), false),
            ("contains(a_text, :v)", s("ell"), true),
            ("contains(a_set, :v)", s("y"), true),
            ("NOT contains(a_set, :v)", s("w"), true),
            ("contains(a_list, :v)", s("b"), true),
            ("contains(a_list, :v)", s("c"), false),
            ("NOT contains(absent, :v)", s("w"), true),
        ],
    )
    .await;
}

#[tokio::test]
async fn values_of_any_shape_are_compared() {
    let map = |y| aws_sdk_dynamodb::types::AttributeValue::M(item([("y", list([s("a"), n(y)])), ("x", n("1.0"))]));
    holds(
        "values_of_any_shape_are_compared",
        &[
            ("n = :v", n("1.5"), true),
            ("n = :v", n("15e-1"), true),
            ("n = :v", s("1.5"), false),
            ("n <> :v", s("1.5"), true),
            ("n < :v", n(2), true),
            ("a_set = :v", ss(["z", "y", "x"]), true),
            ("a_set = :v", ss(["z", "y"]), false),
            ("a_list = :v", list([n("1.0"), s("b")]), true),
            ("a_list = :v", list([s("b"), n(1)]), false),
            ("a_map = :v", map(2), true),
            ("a_map = :v", map(3), false),
            ("absent = :v", n(1), false),
            ("absent <> :v", n(1), true),
        ],
    )
    .await;
}

#[tokio::test]
async fn existence_type_size_and_ranges_are_asked() {
    holds(
        "existence_type_size_and_ranges_are_asked",
        &[
            ("attribute_exists(n) AND n < :v", n(9), true),
            ("attribute_not_exists(absent) OR absent = :v", n(9), true),
            ("attribute_not_exists(n) OR n = :v", n(9), false),
            ("attribute_type(n, :v)", s("N"), true),
            ("attribute_type(n, :v)", s("S"), false),
            ("attribute_type(a_bytes, :v)", s("B"), true),
            ("size(a_bytes) = :v", n(3), true),
            ("size(a_text) = :v", n(5), true),
            ("size(a_set) = :v", n(3), true),
            ("size(a_list) < :v", n(2), false),
            ("size(absent) < :v", n(2), false),
            ("n BETWEEN :v AND :v", n("1.5"), true),
            ("a_text IN (:v, :v)", s("hello"), true),
            ("NOT (n = :v OR n > :v)", n(9), true),
        ],
    )
    .await;
}

#[tokio::test]
async fn a_range_whose_end_is_below_its_start_is_refused_in_every_request() {
    let table = table("a_range_whose_end_is_below_its_start_is_refused_in_every_request").await;
    let stored = || item([("k", s("a")), ("n", n(3)), ("t", s("aa"))]);
    table.put(stored()).await;
    let client = &table.client;

    for (range, low, high, expected) in [
        ("n BETWEEN :low AND :high", n(1), n(5), None),
        ("n BETWEEN :low AND :high", n(5), n(1), INVALID),
        ("n BETWEEN :low AND :high", n("10"), n("9"), INVALID),
        ("n BETWEEN :low AND :high", n(1), s("5"), INVALID),
        ("attribute_exists(k) AND (NOT t between :low and :high)", s("b"), s("a"), INVALID),
    ] {
        let values = || Some(item([(":low", low.clone()), (":high", high.clone())]));
        let put = table.put_request(stored()).condition_expression(range);
        let check = ConditionCheck::builder().table_name(&table.name).key("k", s("a")).condition_expression(range);
        let check = check.set_expression_attribute_values(values()).build().unwrap();
        let update = table.tx_update("a", "SET m = :low").condition_expression(range);
        let update = update.set_expression_attribute_values(values()).build().unwrap();
        let transact = |action| client.transact_write_items().transact_items(action).send();
        let scan = client.scan().table_name(&table.name).filter_expression(range);
        let query = client.query().table_name(&table.name).key_condition_expression("k = :k").filter_expression(range);
        let query = query.set_expression_attribute_values(values()).expression_attribute_values(":k", s("a"));

        let put = put.set_expression_attribute_values(values()).send().await;
        let check = transact(TransactWriteItem::builder().condition_check(check).build()).await;
        let update = transact(TransactWriteItem::builder().update(update).build()).await;
        let scan = scan.set_expression_attribute_values(values()).send().await;
        let query = query.send().await;

        assert_eq!([code(&put), code(&check), code(&update)], [expected; 3], "{range}, {low:?}, {high:?}");
        assert_eq!([code(&scan), code(&query)], [expected; 2], "{range}, {low:?}, {high:?}");
    }
}

#[tokio::test]
async fn reserved_words_need_a_placeholder() {
    let table = table("reserved_words_need_a_placeholder").await;
    table.put(item([("k", s("a")), ("status", s("new"))])).await;

    let bare = table.update("a", "SET n = :n").condition_expression("attribute_exists(status)");
    let bare = bare.expression_attribute_values(":n", n(1)).send().await;
    let named = table.update("a", "SET n = :n").condition_expression("attribute_exists(#s)");
    let named = named.expression_attribute_names("#s", "status").expression_attribute_values(":n", n(1)).send().await;

    assert_eq!(code(&bare), INVALID);
    assert_eq!(code(&named), None);
}

#[tokio::test]
async fn what_an_expression_does_not_use_or_define_is_refused() {
    let table = table("what_an_expression_does_not_use_or_define_is_refused").await;
    let update = || table.update("a", "SET n = :n").expression_attribute_values(":n", n(1));

    let unused_value = update().expression_attribute_values(":unused", n(2)).send().await;
    let unused_name = update().expression_attribute_names("#unused", "unused").send().await;
    let undefined_value = update().condition_expression("n = :missing").send().await;
    let undefined_name = update().condition_expression("attribute_exists(#missing)").send().await;

    assert_eq!(code(&unused_value), INVALID);
    assert_eq!(code(&unused_name), INVALID);
    assert_eq!(code(&undefined_value), INVALID);
    assert_eq!(code(&undefined_name), INVALID);
    assert_eq!(table.get("a").await, None);
}
