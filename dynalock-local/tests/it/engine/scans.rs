use aws_sdk_dynamodb::operation::scan::builders::ScanFluentBuilder;

use super::orders::{draft, numbers, order, orders};
use crate::table::{Table, code, n, s};

const INVALID: Option<&str> = Some("ValidationException");

/// Puts forty orders of forty customers. Every fourth order is in the indexes.
async fn filled(name: &str) -> Table {
    let orders = orders(name).await;
    for number in 0..40 {
        let customer = format!("customer {number}");
        match number % 4 {
            0 => orders.put(order(&customer, number, "open", "2026-01-01")).await,
            _ => orders.put(draft(&customer, number)).await,
        }
    }
    orders
}

fn scan(orders: &Table) -> ScanFluentBuilder {
    orders.client.scan().table_name(&orders.name)
}

/// Returns the numbers of a whole scan, over all of its pages, in the order of the answers.
async fn all_numbers(scan: ScanFluentBuilder) -> Vec<i64> {
    numbers(&scan.into_paginator().items().send().collect::<Result<Vec<_>, _>>().await.unwrap())
}

async fn sorted_numbers(scan: ScanFluentBuilder) -> Vec<i64> {
    let mut numbers = all_numbers(scan).await;
    numbers.sort_unstable();
    numbers
}

#[tokio::test]
async fn a_scan_returns_each_item_once_over_its_pages() {
    let orders = filled("a_scan_returns_each_item_once_over_its_pages").await;
    let every: Vec<_> = (0..40).collect();

    assert_eq!(sorted_numbers(scan(&orders)).await, every);
    assert_eq!(sorted_numbers(scan(&orders).limit(1)).await, every);
    assert_eq!(sorted_numbers(scan(&orders).limit(7).consistent_read(true)).await, every);
    assert_eq!(all_numbers(scan(&orders).limit(7)).await, all_numbers(scan(&orders)).await);
}

#[tokio::test]
async fn a_filter_leaves_pages_empty_that_have_a_key_to_go_on() {
    let orders = filled("a_filter_leaves_pages_empty_that_have_a_key_to_go_on").await;
    let filtered = || {
        let scan = scan(&orders).filter_expression("#number < :zero").expression_attribute_names("#number", "number");
        scan.expression_attribute_values(":zero", n(0))
    };

    let page = filtered().limit(3).send().await.unwrap();
    let last = filtered().send().await.unwrap();

    assert_eq!((page.count, page.scanned_count), (0, 3));
    assert!(page.last_evaluated_key.is_some());
    assert_eq!((last.count, last.scanned_count, last.last_evaluated_key), (0, 40, None));
}

#[tokio::test]
async fn segments_share_the_items_among_them() {
    let orders = filled("segments_share_the_items_among_them").await;
    let mut shared = Vec::new();
    let mut paged = Vec::new();
    for segment in 0..4 {
        shared.extend(all_numbers(scan(&orders).segment(segment).total_segments(4)).await);
        paged.extend(all_numbers(scan(&orders).segment(segment).total_segments(4).limit(2)).await);
    }
    shared.sort_unstable();
    paged.sort_unstable();

    assert_eq!(shared, (0..40).collect::<Vec<_>>());
    assert_eq!(paged, shared);
    assert_eq!(sorted_numbers(scan(&orders).segment(0).total_segments(1)).await, shared);
}

#[tokio::test]
async fn segments_share_an_index_too() {
    let orders = filled("segments_share_an_index_too").await;
    let index = || scan(&orders).index_name("by_status");
    let mut shared = Vec::new();
    for segment in 0..3 {
        shared.extend(all_numbers(index().segment(segment).total_segments(3).limit(2)).await);
    }
    shared.sort_unstable();

    assert_eq!(shared, (0..40).step_by(4).collect::<Vec<_>>());
}

#[tokio::test]
async fn a_segment_is_one_of_all() {
    let orders = filled("a_segment_is_one_of_all").await;

    assert_eq!(code(&scan(&orders).segment(0).send().await), INVALID);
    assert_eq!(code(&scan(&orders).total_segments(2).send().await), INVALID);
    assert_eq!(code(&scan(&orders).segment(2).total_segments(2).send().await), INVALID);
    assert_eq!(code(&scan(&orders).segment(-1).total_segments(2).send().await), INVALID);
    assert_eq!(code(&scan(&orders).segment(0).total_segments(0).send().await), INVALID);
    assert_eq!(code(&scan(&orders).segment(0).total_segments(1_000_001).send().await), INVALID);
    assert_eq!(code(&scan(&orders).segment(0).total_segments(1_000_000).send().await), None);
}

#[tokio::test]
async fn a_scan_of_an_index_returns_what_is_in_the_index() {
    let orders = filled("a_scan_of_an_index_returns_what_is_in_the_index").await;
    let open: Vec<_> = (0..40).step_by(4).collect();

    for index in ["by_status", "keys_by_status", "by_placed"] {
        assert_eq!(sorted_numbers(scan(&orders).index_name(index)).await, open, "{index}");
        assert_eq!(sorted_numbers(scan(&orders).index_name(index).limit(3)).await, open, "{index}");
    }
    let strong = |index| scan(&orders).index_name(index).consistent_read(true).send();
    assert_eq!(code(&strong("by_placed").await), None);
    assert_eq!(code(&strong("by_status").await), INVALID);
}

#[tokio::test]
async fn a_filter_of_a_scan_may_name_the_keys() {
    let orders = filled("a_filter_of_a_scan_may_name_the_keys").await;

    let one = scan(&orders).filter_expression("customer = :c").expression_attribute_values(":c", s("customer 7"));

    assert_eq!(all_numbers(one).await, [7]);
}
