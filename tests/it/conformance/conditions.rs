//! The effect of the conditions that `Attribute` makes. The attribute may be null, absent or of
//! another type, or the item may be missing. The tests of `expression::user` check the texts of the
//! conditions.

use aws_sdk_dynamodb::types::AttributeValue;

use crate::support::{Item, Product, Shop, item, n, s};

cases! {
    none_is_a_null_or_an_absent_attribute,
    another_value_is_not_equal_and_an_absent_one_neither,
    what_is_not_there_has_no_order,
    an_alternative_may_stand_next_to_an_and_and_behind_a_not,
}

/// The keys of five items with their notes. The last key has no item.
const KEYS: [&str; 5] = ["text", "null", "absent", "number", "no item"];

/// Returns the keys of the items for which `condition` is true. `#0` is the note.
async fn of_which<const N: usize>(
    shop: &Shop,
    condition: &str,
    operands: [(&str, AttributeValue); N],
) -> Vec<&'static str> {
    let products = shop.table::<Product>().await;
    let note = |key, note| item([("sku", s(key)), ("note", note)]);
    for product in [
        note("text", s("fragile")),
        note("null", AttributeValue::Null(true)),
        item([("sku", s("absent"))]),
        note("number", n(7)),
    ] {
        products.raw.put(product).await;
    }

    let operands: Item = item(operands);
    let mut found = Vec::new();
    for key in KEYS {
        if products.raw.holds(key, condition, "note", &operands).await {
            found.push(key);
        }
    }
    found
}

const IS_NONE: &str = "(attribute_not_exists(#0) OR #0 = :0)";
const IS_SOME: &str = "attribute_exists(#0) AND #0 <> :0";

async fn none_is_a_null_or_an_absent_attribute(shop: &Shop) {
    let null = || AttributeValue::Null(true);
    assert_eq!(of_which(shop, IS_NONE, [(":0", null())]).await, ["null", "absent", "no item"]);
    assert_eq!(of_which(shop, IS_SOME, [(":0", null())]).await, ["text", "number"]);
    let one_of = "(attribute_not_exists(#0) OR #0 IN (:0, :1))";
    assert_eq!(of_which(shop, one_of, [(":0", n(7)), (":1", null())]).await, ["null", "absent", "number", "no item"]);
}

async fn another_value_is_not_equal_and_an_absent_one_neither(shop: &Shop) {
    assert_eq!(of_which(shop, "#0 = :0", [(":0", s("fragile"))]).await, ["text"]);
    assert_eq!(of_which(shop, "#0 <> :0", [(":0", s("fragile"))]).await, ["null", "absent", "number", "no item"]);
}

async fn what_is_not_there_has_no_order(shop: &Shop) {
    assert_eq!(of_which(shop, "#0 >= :0", [(":0", n(0))]).await, ["number"]);
    assert_eq!(of_which(shop, "#0 < :0", [(":0", n(0))]).await, [""; 0]);
    assert_eq!(of_which(shop, "#0 BETWEEN :0 AND :1", [(":0", n(0)), (":1", n(7))]).await, ["number"]);
    assert_eq!(of_which(shop, "NOT (#0 >= :0)", [(":0", n(0))]).await, ["text", "null", "absent", "no item"]);
}

async fn an_alternative_may_stand_next_to_an_and_and_behind_a_not(shop: &Shop) {
    let null = || AttributeValue::Null(true);
    let beside = format!("attribute_exists(sku) AND {IS_NONE}");
    assert_eq!(of_which(shop, &beside, [(":0", null())]).await, ["null", "absent"]);
    let behind = format!("NOT {IS_NONE} AND attribute_exists(sku)");
    assert_eq!(of_which(shop, &behind, [(":0", null())]).await, ["text", "number"]);
}
