//! The effect of serde attributes on an item.

use std::collections::{BTreeMap, HashMap, HashSet};

use dynalock::{Error, Versioned};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::support::{Open, Shop, changed, expect_error, item, n, s, written_by_the_user};

cases![
    an_item_stored_under_an_alias_is_read_updated_and_read_again,
    an_option_stored_under_an_alias_and_set_to_none_is_gone,
    an_attribute_of_an_alias_that_is_not_written_stays,
    a_skipped_option_is_removed_when_it_is_set_to_none,
    entries_of_a_flattened_map_are_added_and_removed,
    a_set_is_stored_as_a_set_and_an_empty_one_is_refused_by_name,
    a_number_that_is_not_finite_is_refused_by_name,
    a_refused_value_shows_no_content,
    names_are_what_serde_writes,
    attributes_may_be_called_like_reserved_words,
];

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Versioned)]
#[dynalock(table = "aliased")]
struct Aliased {
    #[dynalock(partition_key)]
    sku: String,
    #[serde(alias = "qty", alias = "count")]
    quantity: i64,
    #[serde(default, alias = "remark", skip_serializing_if = "Option::is_none")]
    note: Option<String>,
    #[serde(default)]
    price: u64,
}

async fn an_item_stored_under_an_alias_is_read_updated_and_read_again(shop: &Shop) {
    let table = shop.table::<Aliased>().await;
    for version in [None, Some(("_version".to_owned(), n(1)))] {
        let mut older = item([("sku", s("a")), ("qty", n(5)), ("remark", s("x"))]);
        older.extend(version);
        table.raw.put(older).await;
        let aliased = table.items.get("a").await.unwrap().unwrap();
        assert_eq!((aliased.quantity, aliased.note.as_deref()), (5, Some("x")));
        table.items.update_with("a", |aliased| aliased.quantity -= 1).await.unwrap();
        let aliased = table.items.get("a").await.unwrap().unwrap();
        assert_eq!((aliased.quantity, aliased.note.as_deref()), (4, Some("x")));
        table.items.update_with("a", |aliased| aliased.note = Some("y".to_owned())).await.unwrap();
        let aliased = table.items.get("a").await.unwrap().unwrap();
        assert_eq!((aliased.quantity, aliased.note.as_deref()), (4, Some("y")));
        let stored = table.raw.get("a").await.unwrap();
        assert_eq!((&stored["quantity"], stored.get("qty"), stored.get("remark")), (&n(4), None, None));
    }
}

async fn an_option_stored_under_an_alias_and_set_to_none_is_gone(shop: &Shop) {
    let table = shop
        .table_of_raw::<Aliased>([item([("sku", s("a")), ("quantity", n(5)), ("remark", s("x")), ("_version", n(1))])])
        .await;
    let aliased = table.items.update_with("a", |aliased| aliased.note = None).await.unwrap();
    assert_eq!(aliased.note, None);
    assert_eq!(table.items.get("a").await.unwrap(), Some(aliased));
    assert_eq!(table.raw.get("a").await.unwrap().get("remark"), None);
}

async fn an_attribute_of_an_alias_that_is_not_written_stays(shop: &Shop) {
    let table = shop.table_of_raw::<Aliased>([item([("sku", s("a")), ("qty", n(5)), ("_version", n(1))])]).await;
    let aliased = table.items.update_with("a", |aliased| aliased.price = 7).await.unwrap();
    assert_eq!(table.raw.get("a").await.unwrap()["qty"], n(5));
    assert_eq!(table.items.get("a").await.unwrap(), Some(aliased));
}

async fn a_skipped_option_is_removed_when_it_is_set_to_none(shop: &Shop) {
    let table = shop.table::<Aliased>().await;
    let noted = Aliased { sku: "a".to_owned(), quantity: 5, note: Some("x".to_owned()), price: 0 };
    table.items.create(noted).await.unwrap();
    let aliased = table.items.update_with("a", |aliased| aliased.note = None).await.unwrap();
    let written = written_by_the_user(&shop.sent("UpdateItem")[0], "_version");
    assert_eq!(written.get("note"), Some(&None));
    assert!(!written.contains_key("quantity") && !written.contains_key("price"), "{written:?}");
    assert_eq!(table.raw.get("a").await.unwrap().get("note"), None);
    assert_eq!(table.items.get("a").await.unwrap(), Some(aliased));
}

async fn entries_of_a_flattened_map_are_added_and_removed(shop: &Shop) {
    let table = shop.table::<Open>().await;
    let rest = [("kept", 1), ("changed", 2), ("gone", 3)].map(|(name, value)| (name.to_owned(), value));
    table.items.create(Open { id: "a".to_owned(), rest: rest.into() }).await.unwrap();
    let update = table.items.update_with("a", |open| {
        open.rest.remove("gone");
        open.rest.insert("changed".to_owned(), 20);
        open.rest.insert("new".to_owned(), 4);
    });
    let open = update.await.unwrap();
    let expected = BTreeMap::from([
        ("changed".to_owned(), Some(json!({ "N": "20" }))),
        ("gone".to_owned(), None),
        ("new".to_owned(), Some(json!({ "N": "4" }))),
    ]);
    assert_eq!(written_by_the_user(&shop.sent("UpdateItem")[0], "_version"), expected);
    assert_eq!(table.items.get("a").await.unwrap(), Some(open));
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Versioned)]
#[dynalock(table = "measured")]
struct Measured {
    #[dynalock(partition_key)]
    id: String,
    #[serde(default, with = "serde_dynamo::string_set")]
    tags: HashSet<String>,
    #[serde(default)]
    weight: f64,
    #[serde(default)]
    parts: Vec<HashMap<String, f32>>,
}

impl Measured {
    fn new() -> Self {
        Self { id: "a".to_owned(), tags: HashSet::from(["5500005555".to_owned()]), weight: 1.5, parts: Vec::new() }
    }
}

async fn a_set_is_stored_as_a_set_and_an_empty_one_is_refused_by_name(shop: &Shop) {
    let table = shop.table::<Measured>().await;
    table.items.create(Measured::new()).await.unwrap();
    let measured = table.items.update_with("a", |measured| measured.tags.extend(["x".to_owned()])).await.unwrap();
    let mut tags = table.raw.get("a").await.unwrap()["tags"].as_ss().unwrap().clone();
    tags.sort();
    assert_eq!(tags, ["5500005555", "x"]);
    assert_eq!(table.items.get("a").await.unwrap(), Some(measured.clone()));

    let result = table.items.update_with("a", |measured| measured.tags.clear()).await;
    let error = expect_error!(result, Error::Encode(error) => error);
    assert_eq!(error.attribute(), Some("tags"));
    let empty = Measured { id: "b".to_owned(), tags: HashSet::new(), ..Measured::new() };
    let error = expect_error!(table.items.create(empty).await, Error::Encode(error) => error);
    assert_eq!(error.attribute(), Some("tags"));
    assert_eq!(shop.counts(["UpdateItem", "PutItem"]), [1, 1]);
    assert_eq!(table.items.get("a").await.unwrap(), Some(measured));
}

async fn a_number_that_is_not_finite_is_refused_by_name(shop: &Shop) {
    let (table, created) = shop.created(Measured::new()).await;
    for number in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        let update = table.items.update_with("a", |measured| measured.weight = number);
        let error = expect_error!(update.await, Error::Encode(error) => error);
        assert_eq!(error.attribute(), Some("weight"));
        #[expect(clippy::cast_possible_truncation, reason = "it is not finite")]
        let nested = vec![HashMap::from([("x".to_owned(), number as f32)])];
        let update = table.items.update_with("a", |measured| measured.parts.clone_from(&nested));
        let error = expect_error!(update.await, Error::Encode(error) => error);
        assert_eq!(error.attribute(), Some("parts"));
        let create = table.items.create(Measured { id: "b".to_owned(), weight: number, ..Measured::new() });
        expect_error!(create.await, Error::Encode(_));
    }
    assert_eq!(shop.counts(["UpdateItem", "PutItem"]), [0, 1]);
    assert_eq!(table.items.get("a").await.unwrap(), Some(created.clone()));
    let unwritable = changed(created, |it| it.weight = f64::NAN);
    assert!(table.items.delete(unwritable).await.unwrap().certain, "a delete writes no value");
}

async fn a_refused_value_shows_no_content(shop: &Shop) {
    let table = shop.table::<Measured>().await;
    let refused = Measured { weight: f64::NAN, ..Measured::new() };
    let error = expect_error!(table.items.create(refused).await, error @ Error::Encode(_) => error);
    assert!(!format!("{error} {error:?}").contains("5500005555"), "{error} {error:?}");
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Versioned)]
#[serde(rename_all = "SCREAMING-KEBAB-CASE")]
#[dynalock(table = "named")]
struct Named {
    #[dynalock(partition_key)]
    item_id: String,
    unit_price: u64,
    #[serde(rename = "größe.in cm")]
    size: u64,
    r#type: String,
}

async fn names_are_what_serde_writes(shop: &Shop) {
    let table = shop.table::<Named>().await;
    let named = Named { item_id: "a".to_owned(), unit_price: 1, size: 2, r#type: "x".to_owned() };
    table.items.create(named).await.unwrap();
    let update = table.items.update_with("a", |named| {
        named.unit_price = 10;
        named.size = 20;
        named.r#type = "y".to_owned();
    });
    let named = update.await.unwrap();
    let stored = table.raw.get("a").await.unwrap();
    assert_eq!((&stored["UNIT-PRICE"], &stored["größe.in cm"], &stored["TYPE"]), (&n(10), &n(20), &s("y")));
    assert_eq!(stored.len(), 6);
    assert_eq!(table.items.get("a").await.unwrap(), Some(named));
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Versioned)]
#[dynalock(table = "reserved", version = "version")]
struct Reserved {
    #[dynalock(partition_key)]
    key: String,
    name: String,
    status: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    comment: Option<String>,
}

async fn attributes_may_be_called_like_reserved_words(shop: &Shop) {
    let table = shop
        .table_of_raw::<Reserved>([item([("key", s("a")), ("name", s("x")), ("status", n(1)), ("comment", s("y"))])])
        .await;
    let change = |reserved: &mut Reserved| {
        reserved.status += 1;
        reserved.comment = None;
    };
    table.items.update_with("a", change).await.unwrap();
    let reserved = table.items.update_with("a", |reserved| reserved.name.push('!')).await.unwrap();
    assert_eq!((reserved.status, reserved.name.as_str(), reserved.version()), (2, "x!", 2));
    let reserved = table.items.replace(reserved).await.unwrap();
    table.items.delete(reserved).await.unwrap();
    assert_eq!(table.raw.get("a").await, None);
}
