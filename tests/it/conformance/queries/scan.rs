//! Scans.

use dynalock::{Error, error::InvalidSetting};

use super::orders;
use crate::support::{Order, Shop, Table, expect_error};

cases![
    a_scan_reads_all_partitions,
    a_scan_in_segments_reads_each_item_once,
    a_filter_of_a_scan_may_name_a_key,
    a_number_of_segments_that_dynamodb_does_not_allow_is_refused,
    a_limit_of_a_scan_in_segments_is_that_of_the_whole,
];

async fn many(shop: &Shop) -> Table<Order> {
    let table = orders(shop, 1..=3).await;
    for customer in 0..20 {
        table.others.create(Order::new(&format!("customer {customer}"), 7, 7)).await.unwrap();
    }
    table
}

fn keys(orders: Vec<dynalock::Stored<Order>>) -> Vec<(String, u64)> {
    let mut keys: Vec<_> = orders.into_iter().map(|order| (order.customer.clone(), order.number)).collect();
    keys.sort_unstable();
    keys
}

async fn a_scan_reads_all_partitions(shop: &Shop) {
    let table = many(shop).await;
    let all = keys(table.items.scan().collect().await.unwrap());
    assert_eq!(all.len(), 24);
    assert_eq!(
        all[..4],
        [("alice", 1), ("alice", 2), ("alice", 3), ("bob", 1)].map(|(of, number)| (of.to_owned(), number))
    );
    assert_eq!(table.items.scan().limit(5).collect().await.unwrap().len(), 5);
    let asked: Vec<_> = shop.sent("Scan").iter().map(|scan| scan["ConsistentRead"].as_bool()).collect();
    assert_eq!(asked[0], Some(true));
    table.items.scan().eventually_consistent().count().await.unwrap();
    assert_ne!(shop.sent("Scan").pop().unwrap()["ConsistentRead"].as_bool(), Some(true));
}

async fn a_scan_in_segments_reads_each_item_once(shop: &Shop) {
    let table = many(shop).await;
    let all = keys(table.items.scan().collect().await.unwrap());
    for segments in [1, 2, 7, 50] {
        assert_eq!(keys(table.items.scan().segments(segments).collect().await.unwrap()), all);
        assert_eq!(table.items.scan().segments(segments).count().await.unwrap(), 24);
    }
}

async fn a_filter_of_a_scan_may_name_a_key(shop: &Shop) {
    let table = many(shop).await;
    let found = table.items.scan().filter(Order::ATTR.customer.eq("alice").and(Order::ATTR.number.ge(2)));
    assert_eq!(keys(found.collect().await.unwrap()).len(), 2);
}

async fn a_number_of_segments_that_dynamodb_does_not_allow_is_refused(shop: &Shop) {
    let table = shop.table::<Order>().await;
    for number in [0, 1_000_001] {
        let result = table.items.scan().segments(number).collect().await;
        let segments =
            expect_error!(result, Error::InvalidSetting(InvalidSetting::Segments { segments, .. }) => segments);
        assert_eq!(segments, number);
    }
    assert_eq!(shop.requests(), 0);
}

async fn a_limit_of_a_scan_in_segments_is_that_of_the_whole(shop: &Shop) {
    let table = many(shop).await;
    for limit in [1, 5, 23, 24, 30] {
        let expected = limit.min(24);
        assert_eq!(table.items.scan().segments(4).limit(limit).collect().await.unwrap().len(), expected);
        assert_eq!(table.items.scan().segments(4).limit(limit).count().await.unwrap(), expected);
    }
}
