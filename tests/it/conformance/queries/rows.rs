//! The results of queries: limits, filters, items that do not fit, and lease rows.

use dynalock::{Error, Versioned, error::CodecReason};
use serde::{Deserialize, Serialize};

use super::{malformed, numbers, orders};
use crate::support::{Order, Shop, expect_error, item, n, s};

cases![
    a_limit_is_the_number_of_items,
    a_filter_leaves_items_out_and_a_limit_counts_what_is_left,
    two_filters_both_apply,
    a_filter_on_a_key_attribute_is_refused,
    an_operand_that_cannot_be_stored_is_an_encode_error,
    a_count_is_that_of_the_items,
    a_malformed_item_is_an_error_in_its_place_and_the_stream_goes_on,
    a_malformed_item_is_counted_and_ends_collect,
    an_item_without_a_version_is_read,
    rows_of_separate_leases_are_no_items,
];

async fn a_limit_is_the_number_of_items(shop: &Shop) {
    let table = orders(shop, 1..=5).await;
    for (limit, expected) in [(1, vec![1]), (3, vec![1, 2, 3]), (5, vec![1, 2, 3, 4, 5]), (9, vec![1, 2, 3, 4, 5])] {
        let before = shop.faults.count("Query");
        assert_eq!(numbers(&table.items.query("alice").limit(limit).collect().await.unwrap()), expected);
        assert_eq!(shop.faults.count("Query"), before + 1);
        assert_eq!(table.items.query("alice").limit(limit).count().await.unwrap(), expected.len());
    }
    assert_eq!(table.items.query("alice").descending().first().await.unwrap().unwrap().number, 5);
    assert_eq!(table.items.query("alice").limit(0).first().await.unwrap(), None);
    assert_eq!(shop.sent("Query")[0]["Limit"], 1);
}

async fn a_filter_leaves_items_out_and_a_limit_counts_what_is_left(shop: &Shop) {
    let table = orders(shop, 1..=40).await;
    let from_30 = || table.items.query("alice").filter(Order::ATTR.cents.ge(30));
    assert_eq!(numbers(&from_30().limit(3).collect().await.unwrap()), [30, 31, 32]);
    assert_eq!(numbers(&from_30().descending().limit(2).collect().await.unwrap()), [40, 39]);
    assert_eq!(from_30().count().await.unwrap(), 11);
    assert_eq!(from_30().limit(4).count().await.unwrap(), 4);
    assert_eq!(from_30().first().await.unwrap().unwrap().number, 30);
    assert_eq!(from_30().sort(..30).first().await.unwrap(), None);
}

async fn two_filters_both_apply(shop: &Shop) {
    let table = orders(shop, 1..=9).await;
    let a = Order::ATTR;
    let query = table.items.query("alice").filter(a.cents.ge(3)).filter(a.cents.le(2).or(a.cents.eq(5)));
    assert_eq!(numbers(&query.collect().await.unwrap()), [5]);
}

async fn a_filter_on_a_key_attribute_is_refused(shop: &Shop) {
    let table = orders(shop, [1]).await;
    let refusal = table.items.query("alice").filter(Order::ATTR.number.ge(1)).collect().await;
    let refusal = expect_error!(refusal, Error::Rejected(refusal) => refusal);
    assert!(refusal.message().contains("non-primary key attributes"), "{refusal}");
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Versioned)]
#[dynalock(table = "prices")]
struct Price {
    #[dynalock(partition_key)]
    id: u64,
    euros: f64,
}

async fn an_operand_that_cannot_be_stored_is_an_encode_error(shop: &Shop) {
    let table = shop.table::<Price>().await;
    let error = table.items.scan().filter(Price::ATTR.euros.ge(f64::NAN)).collect().await;
    let error = expect_error!(error, Error::Encode(error) => error);
    assert_eq!(error.attribute(), Some("euros"));
    assert_eq!(shop.requests(), 0);
}

async fn a_count_is_that_of_the_items(shop: &Shop) {
    let table = orders(shop, 1..=7).await;
    assert_eq!(table.items.query("alice").count().await.unwrap(), 7);
    assert_eq!(table.items.query("carol").count().await.unwrap(), 0);
    assert_eq!(table.items.scan().count().await.unwrap(), 8);
    assert_eq!(shop.sent("Query")[0]["Select"], "COUNT");
}

async fn a_malformed_item_is_an_error_in_its_place_and_the_stream_goes_on(shop: &Shop) {
    let table = orders(shop, [1, 3, 5]).await;
    malformed(&table, 2).await;
    let mut stream = table.items.query("alice").stream();
    let mut seen = Vec::new();
    while let Some(order) = stream.next().await {
        seen.push(match order {
            Ok(order) => order.number,
            Err(Error::Decode(error)) => {
                assert!(matches!(error.reason(), CodecReason::Type { .. }), "{error:?}");
                assert!(!format!("{error} {error:?}").contains("secret"));
                0
            }
            Err(other) => panic!("{other:?}"),
        });
    }
    assert_eq!(seen, [1, 0, 3, 5]);
    let page = table.items.query("alice").page(None).await.unwrap();
    assert_eq!(page.items.iter().map(Result::is_ok).collect::<Vec<_>>(), [true, false, true, true]);
}

async fn a_malformed_item_is_counted_and_ends_collect(shop: &Shop) {
    let table = orders(shop, [1, 3]).await;
    malformed(&table, 2).await;
    expect_error!(table.items.query("alice").collect().await, Error::Decode(_));
    assert_eq!(table.items.query("alice").count().await.unwrap(), 3);
    assert_eq!(numbers(&table.items.query("alice").limit(1).collect().await.unwrap()), [1]);
}

async fn an_item_without_a_version_is_read(shop: &Shop) {
    let table = shop.table::<Order>().await;
    table.raw.put(item([("customer", s("alice")), ("number", n(7)), ("cents", n(5)), ("note", s("x"))])).await;
    let mut order = table.items.query("alice").first().await.unwrap().unwrap();
    assert_eq!(order.version(), 0);
    order.cents = 6;
    assert_eq!(table.items.update(order).await.unwrap().version(), 1);
    let stored = table.raw.get_by([("customer", s("alice")), ("number", n(7))]).await.unwrap();
    assert_eq!((stored["cents"].clone(), stored["note"].clone()), (n(6), s("x")));
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Versioned)]
#[dynalock(table = "shelves")]
#[lockable(separate)]
struct Shelf {
    #[dynalock(partition_key)]
    hall: u32,
    #[dynalock(sort_key)]
    name: String,
}

async fn rows_of_separate_leases_are_no_items(shop: &Shop) {
    let table = shop.table::<Shelf>().await;
    for name in ["a", "b", "c"] {
        table.others.create(Shelf { hall: 1, name: name.to_owned() }).await.unwrap();
        table.others.lock((1, name)).await.unwrap().release().await.unwrap();
    }
    let raw = shop.plain.scan().table_name(table.name()).send().await.unwrap();
    assert_eq!(raw.count(), 6, "three items and three rows");
    let names =
        |shelves: Vec<dynalock::Stored<Shelf>>| shelves.iter().map(|shelf| shelf.name.clone()).collect::<Vec<_>>();
    assert_eq!(names(table.items.query(1).collect().await.unwrap()), ["a", "b", "c"]);
    assert_eq!(names(table.items.query(1).descending().collect().await.unwrap()), ["c", "b", "a"]);
    assert_eq!(names(table.items.query(1).limit(2).collect().await.unwrap()), ["a", "b"]);
    assert_eq!(table.items.query(1).count().await.unwrap(), 3);
    assert_eq!(table.items.query(1).limit(2).count().await.unwrap(), 2);
    assert_eq!(table.items.scan().count().await.unwrap(), 3);
    assert_eq!(table.items.scan().segments(3).collect().await.unwrap().len(), 3);
    let mut token = None;
    let mut pages = Vec::new();
    loop {
        let page = table.items.query(1).limit(1).page(token).await.unwrap();
        pages.extend(page.items.into_iter().map(|shelf| shelf.unwrap().name.clone()));
        token = page.next;
        if token.is_none() {
            break;
        }
    }
    assert_eq!(pages, ["a", "b", "c"]);
}
