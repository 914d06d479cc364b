//! The ranges of sort keys that a query reads, and their order.

use dynalock::{Error, KeyAttribute, Versioned};
use serde::{Deserialize, Serialize};

use super::{numbers, orders};
use crate::support::{Order, Product, Shop, expect_error};

cases![
    a_query_reads_one_partition_in_the_order_of_the_sort_keys,
    each_range_reads_what_it_says,
    an_empty_range_reads_nothing_and_sends_nothing,
    a_range_of_strings_is_in_the_order_of_their_bytes,
    a_prefix_reads_what_begins_with_it,
    a_sort_key_of_an_own_type_has_ranges,
    a_table_without_a_sort_key_has_partitions_of_one_item,
    an_empty_partition_key_is_refused_before_it_is_sent,
    an_update_of_what_was_queried_is_checked,
];

async fn a_query_reads_one_partition_in_the_order_of_the_sort_keys(shop: &Shop) {
    let table = orders(shop, [10, 9, 100, 1]).await;
    assert_eq!(numbers(&table.items.query("alice").collect().await.unwrap()), [1, 9, 10, 100]);
    assert_eq!(numbers(&table.items.query("alice").descending().collect().await.unwrap()), [100, 10, 9, 1]);
    assert_eq!(numbers(&table.items.query(String::from("bob")).collect().await.unwrap()), [1]);
    assert!(table.items.query(&String::from("carol")).collect().await.unwrap().is_empty());
    let asked: Vec<_> = shop.sent("Query").iter().map(|query| query["ConsistentRead"].as_bool()).collect();
    assert_eq!(asked, [Some(true); 4]);
}

async fn each_range_reads_what_it_says(shop: &Shop) {
    let table = orders(shop, [1, 2, 3, 10, 20]).await;
    let all = || table.items.query("alice");
    for (query, expected) in [
        (all().sort(2), vec![2]),
        (all().sort(&4), vec![]),
        (all().sort(3..), vec![3, 10, 20]),
        (all().sort(2..=10), vec![2, 3, 10]),
        (all().sort(2..10), vec![2, 3]),
        (all().sort(9..11), vec![10]),
        (all().sort(..=3), vec![1, 2, 3]),
        (all().sort(..3), vec![1, 2]),
        (all().sort(..), vec![1, 2, 3, 10, 20]),
        (all().sort(3..).sort(..2), vec![1]),
    ] {
        assert_eq!(numbers(&query.clone().collect().await.unwrap()), expected);
        assert_eq!(query.count().await.unwrap(), expected.len());
    }
}

async fn an_empty_range_reads_nothing_and_sends_nothing(shop: &Shop) {
    let table = orders(shop, [1, 2]).await;
    #[expect(clippy::reversed_empty_ranges, reason = "that is the case")]
    let queries = [
        table.items.query("alice").sort(2..2),
        table.items.query("alice").sort(2..1),
        table.items.query("alice").sort(0..0),
        table.items.query("alice").sort(2..=1),
        table.items.query("alice").limit(0),
    ];
    for query in queries {
        assert!(query.clone().collect().await.unwrap().is_empty());
        assert_eq!(query.clone().count().await.unwrap(), 0);
        assert_eq!(query.clone().first().await.unwrap(), None);
        let page = query.page(None).await.unwrap();
        assert_eq!((page.items.len(), page.next), (0, None));
    }
    assert_eq!(shop.requests(), 0);
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Versioned)]
#[dynalock(table = "events")]
struct Event {
    #[dynalock(partition_key)]
    user: u32,
    #[dynalock(sort_key)]
    at: String,
}

async fn events(shop: &Shop) -> dynalock::Repository<Event> {
    let table = shop.table::<Event>().await;
    for at in ["2026-10-31", "2026-11-01", "2026-11-30", "2026-12-01", "Z", "a", "ü"] {
        table.others.create(Event { user: 7, at: at.to_owned() }).await.unwrap();
    }
    table.items
}

async fn a_range_of_strings_is_in_the_order_of_their_bytes(shop: &Shop) {
    let events = events(shop).await;
    let after: Vec<_> = events.query(7).sort("2026-12"..).collect().await.unwrap();
    assert_eq!(after.iter().map(|event| &*event.at).collect::<Vec<_>>(), ["2026-12-01", "Z", "a", "ü"]);
    let between = events.query(&7).sort(String::from("2026-11-01")..=String::from("2026-11-30"));
    assert_eq!(between.count().await.unwrap(), 2);
    assert_eq!(events.query(7).sort(.."2026-11-01").count().await.unwrap(), 1);
    assert_eq!(events.query(7).sort("Z").count().await.unwrap(), 1);
    for (range, count) in [(""..="2026-11-01", 2), ("b"..="a", 0)] {
        assert_eq!(events.query(7).sort(range).count().await.unwrap(), count);
    }
    assert_eq!(events.query(7).sort(""..).count().await.unwrap(), 7);
    assert_eq!(events.query(7).sort("").count().await.unwrap(), 0);
}

async fn a_prefix_reads_what_begins_with_it(shop: &Shop) {
    let events = events(shop).await;
    let november = events.query(7).sort_prefix("2026-11").descending().collect().await.unwrap();
    assert_eq!(november.iter().map(|event| &*event.at).collect::<Vec<_>>(), ["2026-11-30", "2026-11-01"]);
    assert_eq!(events.query(7).sort_prefix(String::from("2027")).count().await.unwrap(), 0);
    assert_eq!(events.query(7).sort_prefix("").count().await.unwrap(), 7);
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, KeyAttribute)]
#[serde(rename_all = "kebab-case")]
enum Kind {
    Invoice,
    Order,
    Receipt,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Versioned)]
#[dynalock(table = "papers")]
struct Paper {
    #[dynalock(partition_key)]
    id: u64,
    #[dynalock(sort_key)]
    kind: Kind,
}

async fn a_sort_key_of_an_own_type_has_ranges(shop: &Shop) {
    let table = shop.table::<Paper>().await;
    for kind in [Kind::Receipt, Kind::Invoice, Kind::Order] {
        table.others.create(Paper { id: 1, kind }).await.unwrap();
    }
    let kinds = |papers: Vec<dynalock::Stored<Paper>>| papers.iter().map(|paper| paper.kind).collect::<Vec<_>>();
    assert_eq!(kinds(table.items.query(1).sort(Kind::Order..).collect().await.unwrap()), [Kind::Order, Kind::Receipt]);
    assert_eq!(kinds(table.items.query(1).sort(Kind::Invoice).collect().await.unwrap()), [Kind::Invoice]);
    assert_eq!(kinds(table.items.query(1).sort(..Kind::Order).collect().await.unwrap()), [Kind::Invoice]);
}

async fn a_table_without_a_sort_key_has_partitions_of_one_item(shop: &Shop) {
    let table = shop.table::<Product>().await;
    let created = table.others.create(Product::new("a", 5)).await.unwrap();
    assert_eq!(table.items.query("a").collect().await.unwrap(), [created]);
    assert_eq!(table.items.query("b").first().await.unwrap(), None);
}

async fn an_empty_partition_key_is_refused_before_it_is_sent(shop: &Shop) {
    let table = shop.table::<Order>().await;
    for result in [table.items.query("").collect().await.map(drop), table.items.query("").page(None).await.map(drop)] {
        let attribute = expect_error!(result, Error::InvalidKey { attribute, .. } => attribute);
        assert_eq!(attribute, "customer");
    }
    assert_eq!(shop.requests(), 0);
}

async fn an_update_of_what_was_queried_is_checked(shop: &Shop) {
    let table = orders(shop, [1]).await;
    let mut order = table.items.query("alice").first().await.unwrap().unwrap();
    let mut stale = table.items.scan().filter(Order::ATTR.cents.eq(1)).collect().await.unwrap();
    order.cents = 500;
    assert_eq!(table.items.update(order).await.unwrap().version(), 2);
    for order in &mut stale {
        order.cents += 1;
    }
    let stale = stale.into_iter().find(|order| order.customer == "alice").unwrap();
    expect_error!(table.items.update(stale).await, Error::Conflict(_));
}
