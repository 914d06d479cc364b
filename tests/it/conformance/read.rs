//! Reads.

use std::collections::HashMap;

use dynalock::{Error, Versioned, error::CodecReason};
use serde::{Deserialize, Serialize};

use crate::support::{Open, Product, Shop, changed, expect_error, item, n, s};

cases![
    get_of_nothing_is_none,
    get_is_strongly_consistent_unless_asked_otherwise,
    an_item_of_the_wrong_shape_is_a_decode_error_that_names_the_attribute_and_shows_no_content,
    an_item_without_a_field_is_a_decode_error,
    a_struct_that_denies_unknown_fields_reads_items_with_bookkeeping_and_refuses_foreign_attributes,
    a_flattened_map_holds_no_bookkeeping,
    a_conflict_shows_no_content,
];

async fn get_of_nothing_is_none(shop: &Shop) {
    let table = shop.table::<Product>().await;
    assert_eq!(table.items.get("a").await.unwrap(), None);
    assert_eq!(shop.requests(), 1);
}

async fn get_is_strongly_consistent_unless_asked_otherwise(shop: &Shop) {
    let table = shop.table_of([Product::new("a", 5)]).await;
    let strong = table.items.get("a").await.unwrap().unwrap();
    let weak = table.items.get("a").eventually_consistent().await.unwrap().unwrap();
    assert_eq!((strong.stock, weak.stock), (5, 5));
    let asked: Vec<_> = shop.sent("GetItem").iter().map(|get| get["ConsistentRead"].as_bool()).collect();
    assert!(matches!(asked[..], [Some(true), Some(false) | None]), "{asked:?}");
}

const SECRET: &str = "5500005555555559";

async fn an_item_of_the_wrong_shape_is_a_decode_error_that_names_the_attribute_and_shows_no_content(shop: &Shop) {
    let table = shop.table::<Product>().await;
    for version in [None, Some(3)] {
        let mut foreign = item([("sku", s("a")), ("stock", s(SECRET))]);
        foreign.extend(version.map(|version| ("_version".to_owned(), n(version))));
        table.raw.put(foreign).await;
        let error = expect_error!(table.items.get("a").await, error @ Error::Decode(_) => error);
        assert!(!format!("{error} {error:?}").contains(SECRET), "{error} {error:?}");
        assert!(error.to_string().contains("`stock`"), "{error}");
        let Error::Decode(detail) = error else { unreachable!() };
        assert_eq!(detail.attribute(), Some("stock"));
        expect_error!(table.items.update_with("a", |product| product.stock += 1).await, Error::Decode(_));
    }
}

async fn an_item_without_a_field_is_a_decode_error(shop: &Shop) {
    let table = shop.table_of_raw::<Product>([item([("sku", s("a")), ("note", s(SECRET))])]).await;
    let error = expect_error!(table.items.get("a").await, Error::Decode(error) => error);
    assert!(matches!(error.reason(), CodecReason::MissingField { field, .. } if &**field == "stock"), "{error:?}");
    assert!(!format!("{error} {error:?}").contains(SECRET));
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Versioned)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
#[dynalock(table = "strict")]
struct Strict {
    #[dynalock(partition_key)]
    product_id: String,
    price_cents: u64,
}

async fn a_struct_that_denies_unknown_fields_reads_items_with_bookkeeping_and_refuses_foreign_attributes(shop: &Shop) {
    let table = shop.table::<Strict>().await;
    table.items.create(Strict { product_id: "a".to_owned(), price_cents: 5 }).await.unwrap();
    let updated = table.items.update_with("a", |strict| strict.price_cents = 6).await.unwrap();
    assert_eq!(table.items.get("a").await.unwrap(), Some(updated));
    assert_eq!(table.raw.get("a").await.unwrap()["priceCents"], n(6));

    table.raw.set("a", "color", s("red")).await;
    let error = expect_error!(table.items.get("a").await, Error::Decode(error) => error);
    assert_eq!(error.attribute(), Some("color"));
}

async fn a_flattened_map_holds_no_bookkeeping(shop: &Shop) {
    let table = shop.table::<Open>().await;
    let open = Open { id: "a".to_owned(), rest: HashMap::from([("x".to_owned(), 1)]) };
    table.items.create(open.clone()).await.unwrap();
    assert_eq!(*table.items.get("a").await.unwrap().unwrap(), open);
    for reserved in ["_version", "_writes"] {
        let clash = changed(open.clone(), |it| it.rest.insert(reserved.to_owned(), 7));
        let error = expect_error!(table.items.create(clash).await, Error::Encode(error) => error);
        assert_eq!(error.attribute(), Some(reserved));
    }
}

async fn a_conflict_shows_no_content(shop: &Shop) {
    let (table, mut stale) = shop.created(Product::new("a", 5)).await;
    table.raw.set("a", "note", s(SECRET)).await;
    table.others.update_with("a", |product| product.stock = 6).await.unwrap();
    let exists =
        expect_error!(table.items.create(Product::new("a", 5)).await, error @ Error::AlreadyExists(_) => error);
    stale.stock = 9;
    let conflict = expect_error!(table.items.update(stale).await, error @ Error::Conflict(_) => error);
    for error in [exists, conflict] {
        assert!(!format!("{error} {error:?} {error:#?}").contains(SECRET), "{error:?}");
    }
}
