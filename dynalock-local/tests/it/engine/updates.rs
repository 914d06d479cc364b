use aws_sdk_dynamodb::types::{AttributeValue, ReturnValue};

use super::table;
use crate::table::{code, item, list, n, s, ss};

const INVALID: Option<&str> = Some("ValidationException");

#[tokio::test]
async fn an_update_makes_the_item_that_is_absent() {
    let table = table("an_update_makes_the_item_that_is_absent").await;

    table.update("a", "SET n = :n").expression_attribute_values(":n", n(1)).send().await.unwrap();

    assert_eq!(table.get("a").await, Some(item([("k", s("a")), ("n", n(1))])));
}

#[tokio::test]
async fn an_update_leaves_other_attributes_alone() {
    let table = table("an_update_leaves_other_attributes_alone").await;
    table.put(item([("k", s("a")), ("n", n(1)), ("gone", n(2)), ("foreign", s("x"))])).await;

    let update = table.update("a", "SET n = :n REMOVE gone");
    update.expression_attribute_values(":n", n(7)).send().await.unwrap();

    assert_eq!(table.get("a").await, Some(item([("k", s("a")), ("n", n(7)), ("foreign", s("x"))])));
}

#[tokio::test]
async fn an_update_returns_what_is_asked_for() {
    let table = table("an_update_returns_what_is_asked_for").await;
    let before = item([("k", s("a")), ("n", n(1)), ("x", s("y"))]);
    table.put(before.clone()).await;
    let increment = |what| table.increment("a").return_values(what).send();

    let none = increment(ReturnValue::None).await.unwrap().attributes;
    let all_old = increment(ReturnValue::AllOld).await.unwrap().attributes;
    let all_new = increment(ReturnValue::AllNew).await.unwrap().attributes;
    let updated_old = increment(ReturnValue::UpdatedOld).await.unwrap().attributes;
    let updated_new = increment(ReturnValue::UpdatedNew).await.unwrap().attributes;

    assert_eq!(none, None);
    assert_eq!(all_old, Some(item([("k", s("a")), ("n", n(2)), ("x", s("y"))])));
    assert_eq!(all_new, Some(item([("k", s("a")), ("n", n(4)), ("x", s("y"))])));
    assert_eq!(updated_old, Some(item([("n", n(4))])));
    assert_eq!(updated_new, Some(item([("n", n(6))])));
}

#[tokio::test]
async fn a_put_returns_the_old_item_only() {
    let table = table("a_put_returns_the_old_item_only").await;
    let old = item([("k", s("a")), ("n", n(1))]);
    table.put(old.clone()).await;
    let put = || table.put_request(item([("k", s("a"))]));

    let returned = put().return_values(ReturnValue::AllOld).send().await.unwrap().attributes;
    let refused = put().return_values(ReturnValue::AllNew).send().await;

    assert_eq!(returned, Some(old));
    assert_eq!(code(&refused), INVALID);
}

#[tokio::test]
async fn a_delete_of_an_absent_item_succeeds() {
    let table = table("a_delete_of_an_absent_item_succeeds").await;

    let returned = table.delete("a").return_values(ReturnValue::AllOld).send().await.unwrap().attributes;

    assert_eq!(returned, None);
}

#[tokio::test]
async fn sets_grow_and_shrink() {
    let table = table("sets_grow_and_shrink").await;
    let apply = |expression, set| table.update("a", expression).expression_attribute_values(":s", set).send();

    apply("ADD tags :s", ss(["x", "y"])).await.unwrap();
    apply("ADD tags :s", ss(["y", "z"])).await.unwrap();
    apply("DELETE tags :s", ss(["x", "absent"])).await.unwrap();
    let grown = table.get("a").await.unwrap();
    apply("DELETE tags :s", ss(["y", "z"])).await.unwrap();
    let emptied = table.get("a").await.unwrap();

    let mut tags = grown["tags"].as_ss().unwrap().clone();
    tags.sort();
    assert_eq!(tags, ["y", "z"]);
    assert_eq!(emptied, item([("k", s("a"))]));
}

#[tokio::test]
async fn functions_and_sums_in_a_set() {
    let table = table("functions_and_sums_in_a_set").await;
    let start = "SET n = if_not_exists(n, :zero) + :one, entries = list_append(if_not_exists(entries, :none), :entry)";
    let step = || {
        table
            .update("a", start)
            .expression_attribute_values(":zero", n(0))
            .expression_attribute_values(":one", n(1))
            .expression_attribute_values(":none", list([]))
            .expression_attribute_values(":entry", list([s("e")]))
            .send()
    };

    step().await.unwrap();
    step().await.unwrap();

    assert_eq!(table.get("a").await, Some(item([("k", s("a")), ("n", n(2)), ("entries", list([s("e"), s("e")]))])));
}

#[tokio::test]
async fn paths_reach_into_maps_and_lists() {
    let table = table("paths_reach_into_maps_and_lists").await;
    let map = AttributeValue::M(item([("x", n(1))]));
    table.put(item([("k", s("a")), ("a_map", map), ("a_list", list([n(1), n(2), n(3)]))])).await;
    let apply = |expression| table.update("a", expression).expression_attribute_values(":v", n(9)).send();

    let update = table.update("a", "SET #m.y = :v, a_list[7] = :v REMOVE a_list[0]");
    let update = update.expression_attribute_names("#m", "a_map").expression_attribute_values(":v", n(9));
    update.send().await.unwrap();
    let absent = apply("SET absent.x = :v").await;

    let map = AttributeValue::M(item([("x", n(1)), ("y", n(9))]));
    assert_eq!(table.get("a").await, Some(item([("k", s("a")), ("a_map", map), ("a_list", list([n(2), n(3), n(9)]))])));
    assert_eq!(code(&absent), INVALID);
}

#[tokio::test]
async fn an_update_that_cannot_be_applied_is_refused() {
    let table = table("an_update_that_cannot_be_applied_is_refused").await;
    let stored = item([("k", s("a")), ("text", s("x"))]);
    table.put(stored.clone()).await;
    let cases = [
        ("SET k = :v", "a key"),
        ("SET n = absent + :v", "a sum with nothing"),
        ("SET n = text + :v", "a sum with a string"),
        ("ADD text :v", "an ADD to a string"),
        ("SET n = :v, n = :v", "one path twice"),
        ("SET n = :v, n.x = :v", "a path within another"),
        ("SET n = :v REMOVE n", "set and removed"),
        ("SET n = :v SET text = :v", "one clause twice"),
    ];

    for (expression, what) in cases {
        let result = table.update("a", expression).expression_attribute_values(":v", n(1)).send().await;
        assert_eq!(code(&result), INVALID, "{what}");
    }
    assert_eq!(table.get("a").await, Some(stored));
}

#[tokio::test]
async fn all_clauses_see_the_item_as_it_was() {
    let table = table("all_clauses_see_the_item_as_it_was").await;
    table.put(item([("k", s("a")), ("x", n(1)), ("y", n(2))])).await;

    table.update("a", "SET x = y, y = x").send().await.unwrap();

    assert_eq!(table.get("a").await, Some(item([("k", s("a")), ("x", n(2)), ("y", n(1))])));
}
