//! `import_unchecked`: 25 items in a request, without conditions.

use aws_smithy_types::base64;
use dynalock::{
    Error, Repository, Versioned,
    error::Unavailable,
    local::{Fault, Faults},
};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{Crowd, all, products, stocks};
use crate::support::{
    Archive, LOST_REPLIES, Parcel, Product, Shop, answers::Answers, expect_error, item, n, now, s, secs,
};

/// The number of items in each `BatchWriteItem` so far.
fn sizes(shop: &Shop) -> Vec<usize> {
    let size = |sent: &serde_json::Value| {
        sent["RequestItems"].as_object().unwrap().values().next().unwrap().as_array().unwrap().len()
    };
    shop.sent("BatchWriteItem").iter().map(size).collect()
}

#[tokio::test(start_paused = true)]
async fn a_thousand_items_are_written_in_forty_requests() {
    let shop = Shop::in_process(Faults::none());
    let table = shop.table::<Product>().await;
    let imported = all(table.items.import_unchecked(products(1_010)).await);
    assert_eq!(stocks(&imported), (0..1_010).collect::<Vec<_>>());
    let mut sizes = sizes(&shop);
    sizes.sort_unstable();
    assert_eq!((sizes.len(), sizes[0], sizes[1]), (41, 10, 25));
    assert_eq!(shop.requests(), 41);
    assert_eq!(table.others.scan().count().await.unwrap(), 1_010);
}

#[tokio::test(start_paused = true)]
async fn an_imported_item_is_like_a_created_one() {
    let shop = Shop::in_process(Faults::none());
    let table = shop.table::<Product>().await;
    let mut imported = all(table.items.import_unchecked([Product::new("a", 1)]).await).remove(0);
    assert_eq!(imported.version(), 1);
    assert_eq!(table.others.get("a").await.unwrap().unwrap(), imported);
    let created = table.others.create(Product::new("b", 1)).await.unwrap();
    let [one, other] = [table.raw.get("a").await.unwrap(), table.raw.get("b").await.unwrap()];
    let length = |item: &crate::support::Item| item["_writes"].as_b().unwrap().as_ref().len();
    assert_eq!(length(&one), length(&other));
    assert_eq!(created.version(), 1);
    imported.stock = 2;
    assert_eq!(table.items.update(imported).await.unwrap().version(), 2);
}

#[tokio::test(start_paused = true)]
async fn an_import_overwrites_what_is_there_and_refuses_values_that_were_read_before() {
    let shop = Shop::in_process(Faults::none());
    let table = shop.table::<Product>().await;
    let mut read = table.others.create(Product::new("a", 1)).await.unwrap();
    table.raw.set("a", "colour", s("red")).await;
    table.raw.put(item([("sku", s("b")), ("stock", n(7))])).await;
    let imported = all(table.items.import_unchecked([Product::new("a", 10), Product::new("b", 20)]).await);
    assert_eq!(imported[0].version(), 1);
    let stored = table.raw.get("a").await.unwrap();
    assert_eq!((stored["stock"].clone(), stored.get("colour")), (n(10), None));
    read.stock = 2;
    let conflict = expect_error!(table.others.update(read).await, Error::Conflict(conflict) => conflict);
    assert_eq!((conflict.expected(), conflict.found()), (Some(1), Some(1)), "the versions are equal, the items not");
    assert_eq!(table.others.get("b").await.unwrap().unwrap().stock, 20);
}

#[tokio::test(start_paused = true)]
async fn items_that_were_left_are_sent_until_none_is_left() {
    let shop = Shop::in_process(Faults::none());
    let table = shop.table::<Product>().await;
    for (nth, left) in [20, 25, 3].into_iter().enumerate() {
        shop.faults.script_on("BatchWriteItem", nth, Fault::Unprocessed(left));
    }
    let start = now();
    let imported = all(table.items.import_unchecked(products(25)).await);
    assert_eq!(stocks(&imported), (0..25).collect::<Vec<_>>());
    assert_eq!(sizes(&shop), [25, 20, 20, 3]);
    assert!(!start.elapsed().is_zero(), "there is a pause before each further request");
    // The call returns the value that the last request wrote.
    for mut product in imported {
        product.stock += 1;
        assert_eq!(table.items.update(product).await.unwrap().version(), 2);
    }
}

#[tokio::test(start_paused = true)]
async fn items_that_are_always_left_have_an_error_at_the_deadline() {
    let shop = Shop::in_process(Faults::none());
    let table = shop.table::<Product>().await;
    shop.faults.always(Fault::Unprocessed(2));
    let start = now();
    let results = table.items.import_unchecked(products(25)).await;
    assert!(start.elapsed() <= secs(5), "{:?}", start.elapsed());
    let mut failed = Vec::new();
    for (number, result) in results.into_iter().enumerate() {
        match result {
            Ok(product) => assert_eq!((&*product.sku, product.version()), (&*number.to_string(), 1)),
            Err(Error::Exhausted { last, .. }) => {
                assert!(matches!(*last, Error::Throttled(_)), "{last:?}");
                failed.push(number);
            }
            Err(other) => panic!("{other:?}"),
        }
    }
    assert_eq!(failed, [23, 24]);
    shop.faults.clear();
    let written = table.others.get_many((0..25).map(|number| number.to_string())).await.unwrap();
    let missing = written.iter().enumerate().filter(|(_, product)| product.is_none()).map(|(number, _)| number);
    assert!(missing.eq([23, 24]), "the items with an error are those that were not written");
    assert!(sizes(&shop).len() > 4);
}

#[tokio::test(start_paused = true)]
async fn attempts_limit_the_requests_of_a_group() {
    let shop = Shop::in_process(Faults::none());
    let table = shop.table::<Product>().await;
    shop.faults.always(Fault::Unprocessed(25));
    for result in table.items.import_unchecked(products(5)).attempts(3).await {
        let spent = expect_error!(result, Error::Exhausted { spent, .. } => spent);
        assert_eq!(spent.attempts, 3);
    }
    assert_eq!(sizes(&shop), [5, 5, 5]);
}

#[tokio::test(start_paused = true)]
async fn a_request_that_is_lost_or_throttled_is_sent_again() {
    for fault in LOST_REPLIES.into_iter().chain([Fault::Throttle, Fault::LoseRequest, Fault::TruncatedAfterApply]) {
        let shop = Shop::in_process(Faults::none());
        let table = shop.table::<Product>().await;
        shop.faults.script_on("BatchWriteItem", 1, fault.clone());
        let imported = all(table.items.import_unchecked(products(60)).await);
        assert_eq!(shop.counts(["BatchWriteItem"]), [4], "{fault:?}");
        for mut product in imported {
            product.stock += 1;
            assert_eq!(table.items.update(product).await.unwrap().version(), 2, "{fault:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn each_request_for_an_item_has_another_incarnation_and_the_same_write_id() {
    let shop = Shop::in_process(Faults::none());
    let table = shop.table::<Product>().await;
    shop.faults.script_on("BatchWriteItem", 0, Fault::LoseReply);
    let imported = all(table.items.import_unchecked([Product::new("a", 1)]).await);
    let ring = |sent: &serde_json::Value| {
        let puts = sent["RequestItems"].as_object().unwrap().values().next().unwrap();
        puts[0]["PutRequest"]["Item"]["_writes"]["B"].as_str().unwrap().to_owned()
    };
    let rings: Vec<_> =
        shop.sent("BatchWriteItem").iter().map(ring).map(|ring| base64::decode(ring).unwrap()).collect();
    let [first, second] = &rings[..] else { panic!("{rings:?}") };
    assert_ne!(first[..8], second[..8]);
    assert_eq!(first[8..], second[8..]);
    assert_eq!(imported, [table.items.get("a").await.unwrap().unwrap()]);
}

#[tokio::test(start_paused = true)]
async fn an_import_whose_replies_are_all_lost_is_indeterminate() {
    let shop = Shop::in_process(Faults::none());
    let table = shop.table::<Product>().await;
    shop.faults.script_on("BatchWriteItem", 0, Fault::LoseReply);
    for nth in 1..10 {
        shop.faults.script_on("BatchWriteItem", nth, Fault::Throttle);
    }
    for result in table.items.import_unchecked(products(2)).attempts(4).await {
        let last = expect_error!(result, Error::Indeterminate { last, .. } => last);
        assert!(matches!(last.as_deref(), Some(Error::Throttled(_))), "{last:?}");
    }
    assert_eq!(table.others.scan().count().await.unwrap(), 2, "the first request was applied");
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_names_other_items_is_unreadable() {
    let answers = Answers::new(|_, batch| {
        let (table, _) = batch["RequestItems"].as_object().unwrap().iter().next().unwrap();
        json!({ "UnprocessedItems": { (table.as_str()): [{ "PutRequest": { "Item": { "sku": { "S": "other" } } } }] } })
    });
    let products = Repository::<Product>::new(&answers.client());
    for result in products.import_unchecked([Product::new("a", 1)]).attempts(2).await {
        let last = expect_error!(result, Error::Indeterminate { last, .. } => last);
        assert!(matches!(last.as_deref(), Some(Error::Unavailable(Unavailable::Unreadable(_)))), "{last:?}");
    }
    assert_eq!(answers.asked().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn values_with_one_key_are_written_in_their_order_and_the_last_one_stays() {
    let shop = Shop::in_process(Faults::none());
    let table = shop.table::<Product>().await;
    let values = [("a", 1), ("b", 2), ("a", 3), ("a", 4), ("b", 5), ("c", 6)];
    let imported = all(table.items.import_unchecked(values.map(|(sku, stock)| Product::new(sku, stock))).await);
    assert_eq!(stocks(&imported), [1, 2, 3, 4, 5, 6]);
    assert_eq!(sizes(&shop), [3, 2, 1]);
    let mut stored = Vec::new();
    for sku in ["a", "b", "c"] {
        stored.push(table.others.get(sku).await.unwrap().unwrap().stock);
    }
    assert_eq!(stored, [4, 5, 6]);
    for (mut product, is_last) in imported.into_iter().zip([false, false, false, true, true, true]) {
        product.stock = 9;
        assert_eq!(table.items.update(product).await.is_ok(), is_last);
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Versioned)]
#[dynalock(table = "prices")]
struct Price {
    #[dynalock(partition_key)]
    id: String,
    euros: f64,
    text: String,
}

fn price(id: &str, euros: f64) -> Price {
    Price { id: id.to_owned(), euros, text: String::new() }
}

#[tokio::test(start_paused = true)]
async fn a_value_that_cannot_be_stored_is_the_error_of_its_item_alone() {
    let shop = Shop::in_process(Faults::none());
    let table = shop.table::<Price>().await;
    let large = Price { text: "x".repeat(410_000), ..price("large", 1.0) };
    let values = [price("a", 1.0), price("nan", f64::NAN), price("", 2.0), large, price("b", 3.0)];
    let mut results = table.items.import_unchecked(values).await.into_iter();
    let mut next = || results.next().unwrap();
    assert_eq!(next().unwrap().id, "a");
    let error = expect_error!(next(), Error::Encode(error) => error);
    assert_eq!(error.attribute(), Some("euros"));
    expect_error!(next(), Error::InvalidKey { attribute: "id", .. });
    let bytes = expect_error!(next(), Error::ItemTooLarge { bytes, .. } => bytes);
    assert!(bytes > 410_000, "{bytes}");
    assert_eq!(next().unwrap().id, "b");
    assert_eq!(table.others.scan().count().await.unwrap(), 2);
    // The first request contains all items that can be sent. After the first request, each item has
    // its own request.
    assert_eq!(sizes(&shop), [3, 1, 1, 1]);
}

#[tokio::test(start_paused = true)]
async fn a_lost_reply_leaves_doubt_about_its_own_items_alone() {
    let shop = Shop::in_process(Faults::none());
    let table = shop.table::<Price>().await;
    let large = Price { text: "x".repeat(410_000), ..price("large", 1.0) };
    // The large item makes DynamoDB refuse the first request. After this refusal, each item is sent
    // in its own request. The reply for `a` is lost, and `b` is throttled.
    shop.faults.script_on("BatchWriteItem", 1, Fault::LoseReply);
    for nth in 2..40 {
        shop.faults.script_on("BatchWriteItem", nth, Fault::Throttle);
    }
    let mut results = table.items.import_unchecked([price("a", 1.0), price("b", 2.0), large]).await.into_iter();
    expect_error!(results.next().unwrap(), Error::Indeterminate { .. });
    expect_error!(results.next().unwrap(), Error::Exhausted { .. });
    expect_error!(results.next().unwrap(), Error::Exhausted { .. });
    assert_eq!(table.others.scan().count().await.unwrap(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_refusal_that_no_item_caused_is_not_tried_item_by_item() {
    let shop = Shop::in_process(Faults::none());
    let table = shop.table::<Product>().await;
    shop.faults.always(Fault::AccessDenied);
    for result in table.items.import_unchecked(products(10)).await {
        expect_error!(result, Error::Rejected(_));
    }
    assert_eq!(shop.requests(), 1);
    shop.faults.clear();
    let absent = shop.absent_table::<Product>();
    for result in absent.items.import_unchecked(products(2)).await {
        expect_error!(result, Error::TableNotFound { .. });
    }
    let wrong = shop.named::<Parcel>(table.name());
    for result in wrong.import_unchecked(["a", "b"].map(|id| Parcel::new(id, 1))).await {
        expect_error!(result, Error::TableMismatch { .. });
    }
    assert_eq!(shop.requests(), 3);
}

#[tokio::test(start_paused = true)]
async fn requests_at_the_same_time_are_bounded() {
    let shop = Shop::in_process(Faults::none());
    let table = shop.table::<Product>().await;
    let crowd = Crowd::of(&shop, "BatchWriteItem");
    all(table.items.import_unchecked(products(1_000)).await);
    assert_eq!(crowd.most(), 16);
    all(table.items.import_unchecked(products(100)).concurrency(2).await);
    assert_eq!(crowd.most(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_leased_item_is_overwritten_and_its_holder_is_told() {
    let shop = Shop::in_process(Faults::none());
    let table = shop.table_of([Parcel::new("a", 1)]).await;
    let mut held = table.others.lock("a").await.unwrap();
    all(table.items.import_unchecked([Parcel::new("a", 5)]).await);
    expect_error!(held.update(|parcel| parcel.items += 1).await, Error::Lost(_));
    assert_eq!(table.items.get("a").await.unwrap().unwrap().items, 5);
}

#[tokio::test(start_paused = true)]
async fn an_import_leaves_separate_leases_alone() {
    let shop = Shop::in_process(Faults::none());
    let table = shop.table_of([Archive::new("a", 1)]).await;
    let mut held = table.others.lock("a").await.unwrap();
    all(table.items.import_unchecked([Archive::new("a", 5), Archive::new("b", 6)]).await);
    assert_eq!(shop.counts(["BatchWriteItem", "TransactWriteItems"]), [1, 0]);
    held.update(|archive| archive.items += 1).await.unwrap();
    assert_eq!(table.items.get("a").await.unwrap().unwrap().items, 6);
    expect_error!(table.items.import_unchecked([Archive::new("c#lock", 1)]).await.remove(0), Error::InvalidKey { .. });
}
