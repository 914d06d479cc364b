//! The errors of closures. A caller gets the error of its closure only if the state on which the
//! closure decided is stored.

use aws_sdk_dynamodb::Client;
use aws_smithy_runtime_api::client::http::{HttpConnector, HttpConnectorFuture, SharedHttpConnector};
use dynalock::{Error, Repository, Versioned, local::Fault};
use serde::{Deserialize, Serialize};

use super::{ROUND_TRIP, add, far_away, stock};
use crate::support::{
    Product, Refused, Shop, expect_error,
    layer::{HttpRequest, Layer},
    millis, start, together, travel,
};

fn sell(product: &mut Product, count: i64) -> Result<(), Refused> {
    product.stock -= count;
    if product.stock < 0 { Refused::here("sold out") } else { Ok(()) }
}

#[tokio::test(start_paused = true)]
async fn a_refusal_is_decided_again_after_a_conflict() {
    let (shop, table) = far_away(3).await;
    let products = table.items.combining();
    shop.rival.before_through(&table.others, "UpdateItem", 0, async |others| {
        others.update_with("a", |product| product.stock += 10).await.unwrap();
    });
    let sales = [3, 1].map(|count| products.try_update_with("a", move |product| sell(product, count)));
    for sale in together(sales).await {
        assert_eq!(sale.unwrap().stock, 9);
    }
}

/// The first batch sells all pieces. After this batch, another writer adds pieces.
#[tokio::test(start_paused = true)]
async fn a_batch_that_only_refuses_decides_on_a_fresh_read() {
    let (shop, table) = far_away(100).await;
    let products = table.items.combining();
    shop.rival.before_through(&table.others, "GetItem", 1, async |others| {
        others.update_with("a", |product| product.stock += 10).await.unwrap();
    });
    let mut sales = together((0..101).map(|_| products.try_update_with("a", |product| sell(product, 1)))).await;
    assert_eq!(sales.pop().unwrap().unwrap().stock, 9);
    for sale in sales {
        assert_eq!(sale.unwrap().stock, 0);
    }
    assert_eq!(shop.counts(["GetItem", "UpdateItem"]), [2, 2]);
}

/// Answers each request 5 ms after the engine has processed it.
#[derive(Debug, Clone)]
struct LateAnswers;

impl Layer for LateAnswers {
    fn call(&self, request: HttpRequest, inner: &SharedHttpConnector) -> HttpConnectorFuture {
        let inner = inner.clone();
        HttpConnectorFuture::new(async move {
            let answer = inner.call(request).await;
            travel(millis(ROUND_TRIP)).await;
            answer
        })
    }
}

/// The first call reads the item before the delivery, and the second call begins after the
/// delivery.
#[tokio::test(start_paused = true)]
async fn a_call_is_not_refused_by_a_read_from_before_the_call() {
    let (shop, table) = Shop::with_items([Product::new("a", 0)]).await;
    let config = shop.plain.config();
    let http = LateAnswers.wrap(config.http_client().expect("an HTTP client"));
    let client = Client::from_conf(config.to_builder().http_client(http).build());
    let products = Repository::<Product>::new(&client).table(table.name()).combining();
    let early = start([products.try_update_with("a", |product| sell(product, 5))]).remove(0);
    travel(millis(2)).await;
    table.others.update_with("a", |product| product.stock += 3).await.unwrap();
    let late = products.try_update_with("a", |product| sell(product, 3)).await;
    assert_eq!(late.unwrap().stock, 0);
    expect_error!(early.await.unwrap(), Refused::Here(_));
}

#[tokio::test(start_paused = true)]
async fn sold_out_is_told_after_a_fresh_read() {
    let (shop, table) = far_away(100).await;
    let products = table.items.combining();
    let mut sales = together((0..101).map(|_| products.try_update_with("a", |product| sell(product, 1)))).await;
    expect_error!(sales.pop().unwrap(), Refused::Here(_));
    assert_eq!(shop.counts(["GetItem", "UpdateItem"]), [2, 1]);
}

#[tokio::test(start_paused = true)]
async fn a_refusal_in_a_batch_that_failed_is_decided_again() {
    let (shop, table) = far_away(3).await;
    let products = table.items.clone().attempts(1).combining();
    shop.faults.script_on("UpdateItem", 0, Fault::LoseRequest);
    let sales = [3, 1].map(|count| products.try_update_with("a", move |product| sell(product, count)));
    let mut sales = together(sales).await;
    assert_eq!(sales.pop().unwrap().unwrap().stock, 2);
    expect_error!(sales.pop().unwrap(), Refused::There(Error::Indeterminate { .. }));
    assert_eq!(stock(&table).await, 2);
}

#[tokio::test(start_paused = true)]
async fn a_refusal_while_nothing_can_be_read_ends_with_the_error_of_the_read() {
    let (shop, table) = far_away(100).await;
    let products = table.items.combining();
    shop.faults.script_on("GetItem", 1, Fault::AccessDenied);
    let mut sales = together((0..101).map(|_| products.try_update_with("a", |product| sell(product, 1)))).await;
    expect_error!(sales.pop().unwrap(), Refused::There(Error::Rejected(_)));
    assert_eq!(shop.counts(["GetItem", "UpdateItem"]), [2, 1]);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_makes_the_item_too_large_fails_alone() {
    let (_, table) = far_away(0).await;
    let products = table.items.combining();
    let calls = (0..7).map(|nth| {
        products.update_with("a", move |product| {
            product.stock += 1;
            if nth == 3 {
                product.note = Some("x".repeat(500_000));
            }
        })
    });
    for (nth, result) in together(calls).await.into_iter().enumerate() {
        match result {
            Ok(_) => assert_ne!(nth, 3),
            Err(Error::ItemTooLarge { .. }) => assert_eq!(nth, 3),
            Err(other) => panic!("{nth}: {other:?}"),
        }
    }
    assert_eq!(stock(&table).await, 6);
}

/// A product in a table with an index that the struct `Product` does not declare.
#[derive(Debug, Clone, Serialize, Deserialize, Versioned)]
#[dynalock(table = "products", index(name = "by_note", partition_key = "note"))]
struct Indexed {
    #[dynalock(partition_key)]
    sku: String,
    note: String,
}

#[tokio::test(start_paused = true)]
async fn a_call_with_content_that_dynamodb_refuses_fails_alone() {
    let (shop, table) = Shop::with_table::<Indexed>().await;
    let items = shop.named::<Product>(table.name());
    items.create(Product { note: Some("new".to_owned()), ..Product::new("a", 0) }).await.unwrap();
    let products = items.combining();
    let calls = (0..7).map(|nth| {
        products.update_with("a", move |product| {
            product.stock += 1;
            if nth == 3 {
                // DynamoDB takes no empty text for the key of an index.
                product.note = Some(String::new());
            }
        })
    });
    for (nth, result) in together(calls).await.into_iter().enumerate() {
        match result {
            Ok(_) => assert_ne!(nth, 3),
            Err(Error::Rejected(refusal)) => assert_eq!((nth, refusal.code()), (3, "ValidationException")),
            Err(other) => panic!("{nth}: {other:?}"),
        }
    }
    assert_eq!(items.get("a").await.unwrap().unwrap().stock, 6);
}

#[tokio::test(start_paused = true)]
async fn a_batch_ends_when_its_write_grows() {
    let (shop, table) = Shop::with_items([Product::new("a", 0)]).await;
    let products = table.items.combining();
    let calls = (0..6).map(|_| {
        products.update_with("a", |product| {
            product.note = Some(product.note.take().unwrap_or_default() + &"x".repeat(40_000));
        })
    });
    for result in together(calls).await {
        result.unwrap();
    }
    let product = table.others.get("a").await.unwrap().unwrap();
    // The first call counts nothing, and the third call exceeds 64 KB.
    assert_eq!((product.note.as_ref().unwrap().len(), product.version()), (240_000, 3));
    assert_eq!(shop.counts(["GetItem", "UpdateItem"]), [1, 2]);
}

#[tokio::test(start_paused = true)]
async fn a_closure_that_panicked_does_not_run_again_after_a_conflict() {
    let (shop, table) = far_away(0).await;
    let products = table.items.combining();
    shop.rival.before_through(&table.others, "UpdateItem", 0, async |others| {
        others.update_with("a", |product| product.stock += 100).await.unwrap();
    });
    let mut runs = 0;
    let panics = products.update_with("a", move |_| {
        runs += 1;
        assert_ne!(runs, 1, "the first run panics");
    });
    let panics = start([panics]).remove(0);
    assert_eq!(add(&products, 1).await.unwrap().stock, 101);
    assert!(panics.await.unwrap_err().is_panic());
}
