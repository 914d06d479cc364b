use aws_sdk_dynamodb::{
    error::ProvideErrorMetadata,
    operation::scan::{ScanOutput, builders::ScanFluentBuilder},
};
use dynalock_local::{Fault, Faults};

use super::behind;
use crate::table::{Table, item, n, s};

/// Creates a table of six items behind faults.
async fn filled(faults: &Faults) -> Table {
    let (table, direct) = behind(faults).await;
    for key in ["a", "b", "c", "d", "e", "f"] {
        direct.put(item([("k", s(key)), ("n", n(1))])).await;
    }
    table
}

fn scan(table: &Table) -> ScanFluentBuilder {
    table.client.scan().table_name(&table.name).limit(2)
}

/// Returns the result of each page up to the first error: the number of its items, or the error
/// code.
async fn seen(scan: ScanFluentBuilder) -> Vec<Result<i32, String>> {
    let mut pages = scan.into_paginator().send();
    let mut seen = Vec::new();
    while let Some(page) = pages.next().await {
        let count = |page: ScanOutput| page.count;
        seen.push(page.map(count).map_err(|error| error.code().unwrap_or_default().to_owned()));
    }
    seen
}

fn throttled() -> Result<i32, String> {
    Err("ThrottlingException".to_owned())
}

#[tokio::test(start_paused = true)]
async fn a_fault_meets_one_page_of_a_scan() {
    let faults = Faults::none();
    let table = filled(&faults).await;
    faults.script_page("Scan", 1, Fault::Throttle);

    assert_eq!(seen(scan(&table)).await, [Ok(2), throttled()]);
    assert_eq!(seen(scan(&table)).await, [Ok(2), Ok(2), Ok(2), Ok(0)]);
}

#[tokio::test(start_paused = true)]
async fn a_retry_asks_for_the_same_page() {
    let faults = Faults::none();
    let table = filled(&faults).await;
    let page = |start| scan(&table).set_exclusive_start_key(start).send();
    faults.script_page("Scan", 1, Fault::Throttle);
    faults.script_page("Scan", 1, Fault::LoseReply);
    faults.script_page("Scan", 2, Fault::AccessDenied);

    let first = page(None).await.unwrap().last_evaluated_key;
    page(first.clone()).await.unwrap_err();
    page(first.clone()).await.unwrap_err();
    let second = page(first).await.unwrap().last_evaluated_key;
    page(second).await.unwrap_err();

    let met: Vec<_> = faults.requests().into_iter().map(|request| request.fault).collect();
    assert_eq!(met, [None, Some(Fault::Throttle), Some(Fault::LoseReply), None, Some(Fault::AccessDenied)]);
}

#[tokio::test(start_paused = true)]
async fn a_page_may_be_refused_for_ever() {
    let faults = Faults::none();
    let table = filled(&faults).await;
    faults.always_on_page("Scan", 2, Fault::Throttle);

    for _ in 0..3 {
        assert_eq!(seen(scan(&table)).await, [Ok(2), Ok(2), throttled()]);
    }
    faults.clear();
    assert_eq!(seen(scan(&table)).await, [Ok(2), Ok(2), Ok(2), Ok(0)]);
}

#[tokio::test(start_paused = true)]
async fn each_query_counts_its_own_pages() {
    let faults = Faults::none();
    let table = filled(&faults).await;
    let filtered = || scan(&table).filter_expression("attribute_exists(n)");
    faults.always_on_page("Scan", 1, Fault::Throttle);
    faults.always_on_page("Query", 0, Fault::Throttle);

    let one = scan(&table).send().await.unwrap().last_evaluated_key;
    let other = filtered().send().await.unwrap().last_evaluated_key;
    scan(&table).limit(1).set_exclusive_start_key(one).send().await.unwrap_err();
    filtered().set_exclusive_start_key(other).send().await.unwrap_err();
    let segment = async |segment| seen(scan(&table).limit(1).segment(segment).total_segments(2)).await;

    assert_eq!((segment(0).await, segment(1).await), (vec![Ok(1), throttled()], vec![Ok(1), throttled()]));
    let query = table.client.query().table_name(&table.name).key_condition_expression("k = :k");
    query.expression_attribute_values(":k", s("a")).send().await.unwrap_err();
}
