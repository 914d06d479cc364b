//! The memory of a stream does not grow with the number of its items. The memory of combined calls
//! grows with their number. The tests are a separate program, because the allocator counts for the
//! whole process.

#![expect(clippy::unwrap_used, reason = "a test panics where it fails")]

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use aws_sdk_dynamodb::{
    Client,
    config::{HttpClient, RuntimeComponents},
};
use aws_smithy_runtime_api::client::{
    http::{HttpConnector, HttpConnectorFuture, HttpConnectorSettings, SharedHttpConnector},
    orchestrator::{HttpRequest, HttpResponse},
};
use aws_smithy_types::body::SdkBody;
use dynalock::{Repository, Versioned, local::Database};
use peak_alloc::PeakAlloc;
use serde::{Deserialize, Serialize};
use tokio::sync::Mutex;

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

/// The test that counts. Two tests at the same time would count the memory of each other.
static COUNTING: Mutex<()> = Mutex::const_new(());

const ITEMS_OF_A_PAGE: u64 = 100;

#[derive(Debug, Clone, Serialize, Deserialize, Versioned)]
#[dynalock(table = "readings")]
struct Reading {
    #[dynalock(partition_key)]
    sensor: String,
    #[dynalock(sort_key)]
    at: u64,
    celsius: f64,
    note: String,
}

/// Answers each request with a page. The last page has no next page.
#[derive(Clone)]
struct Pages {
    left: Arc<AtomicU64>,
    page: &'static str,
    last: &'static str,
}

impl Pages {
    fn new(pages: u64) -> Self {
        let item = |at: u64| {
            format!(
                r#"{{"sensor":{{"S":"kitchen"}},"at":{{"N":"{at}"}},"celsius":{{"N":"21.5"}},"note":{{"S":"{:200}"}},
                "_version":{{"N":"3"}},"_writes":{{"B":"AAAAAAAAAAEAAAAAAAAAAgAAAAAAAAAD"}}}}"#,
                "calibrated"
            )
        };
        let items = (0..ITEMS_OF_A_PAGE).map(item).collect::<Vec<_>>().join(",");
        let key = format!(r#"{{"sensor":{{"S":"kitchen"}},"at":{{"N":"{}"}}}}"#, ITEMS_OF_A_PAGE - 1);
        let page = format!(r#"{{"Items":[{items}],"Count":{ITEMS_OF_A_PAGE},"LastEvaluatedKey":{key}}}"#);
        let last = format!(r#"{{"Items":[{items}],"Count":{ITEMS_OF_A_PAGE}}}"#);
        Self { left: Arc::new(AtomicU64::new(pages)), page: page.leak(), last: last.leak() }
    }

    fn client(&self) -> Client {
        let config = Database::in_memory().unwrap().client().config().to_builder();
        Client::from_conf(config.http_client(self.clone()).build())
    }
}

impl HttpConnector for Pages {
    fn call(&self, _: HttpRequest) -> HttpConnectorFuture {
        let is_last = self.left.fetch_sub(1, Ordering::Relaxed) == 1;
        let body = if is_last { self.last } else { self.page };
        HttpConnectorFuture::ready(Ok(HttpResponse::new(200.try_into().unwrap(), SdkBody::from(body))))
    }
}

impl HttpClient for Pages {
    fn http_connector(&self, _: &HttpConnectorSettings, _: &RuntimeComponents) -> SharedHttpConnector {
        SharedHttpConnector::new(self.clone())
    }
}

impl fmt::Debug for Pages {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Pages")
    }
}

/// Returns the largest number of bytes that a stream over this number of pages has needed at once.
async fn peak(pages: u64) -> usize {
    let readings = Repository::<Reading>::new(&Pages::new(pages).client());
    let before = MEMORY.current_usage();
    MEMORY.reset_peak_usage();
    let mut stream = readings.query("kitchen").stream();
    let mut items = 0;
    while let Some(reading) = stream.next().await {
        reading.unwrap();
        items += 1;
    }
    assert_eq!(items, pages * ITEMS_OF_A_PAGE);
    MEMORY.peak_usage() - before
}

#[tokio::test]
async fn a_stream_over_a_million_items_needs_the_memory_of_two_pages() {
    const SLACK: usize = 16 * 1024;
    const PAGES: u64 = 1_000_000 / ITEMS_OF_A_PAGE;
    let _alone = COUNTING.lock().await;
    // The first stream also allocates memory that the process keeps.
    peak(1).await;
    let [one, two, ten, all] = [peak(1).await, peak(2).await, peak(10).await, peak(PAGES).await];
    eprintln!("at most {one} bytes for one page, {two} for two, {ten} for ten, {all} for {PAGES}");
    assert!(one + SLACK < two);
    assert!(ten < two + SLACK);
    assert!(all < two + SLACK);
}

/// Returns the largest number of bytes that this number of combined calls on one item has needed at
/// once.
async fn peak_of_calls(calls: u32) -> usize {
    let readings = Repository::<Reading>::new(&Database::in_memory().unwrap().client());
    readings.create_table().await.unwrap();
    let reading = Reading { sensor: "kitchen".to_owned(), at: 0, celsius: 0.0, note: String::new() };
    readings.create(reading).await.unwrap();
    let combining = readings.combining();
    let before = MEMORY.current_usage();
    MEMORY.reset_peak_usage();
    let tasks: Vec<_> = (0..calls)
        .map(|_| combining.update_with(("kitchen", 0), |reading| reading.celsius += 1.0).into_future())
        .map(tokio::spawn)
        .collect();
    for task in tasks {
        task.await.unwrap().unwrap();
    }
    let peak = MEMORY.peak_usage() - before;
    let reading = readings.get(("kitchen", 0)).await.unwrap().unwrap();
    assert_eq!(reading.celsius.to_bits(), f64::from(calls).to_bits());
    peak
}

#[tokio::test]
async fn the_memory_of_combined_calls_on_one_item_grows_with_their_number() {
    let _alone = COUNTING.lock().await;
    peak_of_calls(100).await;
    let [few, many] = [peak_of_calls(1_000).await, peak_of_calls(10_000).await];
    eprintln!("at most {few} bytes for 1,000 calls, {many} for 10,000");
    assert!(many < 11 * few);
}
