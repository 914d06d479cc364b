//! `get_many`, and the items of an index that returns keys.

use dynalock::Versioned;
use dynalock::{
    Error, Repository,
    local::{Database, Fault, Faults},
};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::support::{Product, Shop, answers::Answers, expect_error, now, partial::Partial, secs};

fn stocks(products: Vec<Option<dynalock::Stored<Product>>>) -> Vec<Option<i64>> {
    products.into_iter().map(|product| product.map(|product| product.stock)).collect()
}

#[tokio::test(start_paused = true)]
async fn keys_that_were_left_are_asked_for_until_none_is_left() {
    let database = Database::in_memory().unwrap();
    let partial = Partial::new([3, 0, 5]);
    let products = Repository::<Product>::new(&partial.client(&database));
    products.create_table().await.unwrap();
    for number in 0..10 {
        products.create(Product::new(&number.to_string(), number)).await.unwrap();
    }
    let keys: Vec<_> = (0..10).map(|number| number.to_string()).collect();
    let start = now();
    assert_eq!(stocks(products.get_many(&keys).await.unwrap()), (0..10).map(Some).collect::<Vec<_>>());
    assert_eq!(partial.asked(), [10, 7, 7, 2]);
    assert!(!start.elapsed().is_zero(), "there is a pause before each further request");
}

#[tokio::test(start_paused = true)]
async fn keys_that_are_always_left_end_at_the_deadline() {
    let answers = Answers::new(|_, batch| json!({ "Responses": {}, "UnprocessedKeys": batch["RequestItems"] }));
    let products = Repository::<Product>::new(&answers.client());
    let start = now();
    let error = products.get_many(["a", "b"]).await.unwrap_err();
    let last = expect_error!(Err::<(), _>(error.clone()), Error::Exhausted { last, .. } => last);
    assert!(matches!(*last, Error::Throttled(_)), "{last:?}");
    assert!(start.elapsed() <= secs(5), "{:?}", start.elapsed());
    let requests = answers.asked().len();
    assert!(requests > 3);
    assert_eq!(error.attempts(), u32::try_from(requests).ok());
}

#[tokio::test]
async fn requests_that_read_no_key_count_as_attempts() {
    let answers = Answers::new(|_, batch| json!({ "Responses": {}, "UnprocessedKeys": batch["RequestItems"] }));
    let products = Repository::<Product>::new(&answers.client());
    expect_error!(products.get_many(["a", "b"]).attempts(1).await, Error::Exhausted { .. });
    assert_eq!(answers.asked().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn requests_that_read_a_part_of_the_keys_do_not_count_as_attempts() {
    let database = Database::in_memory().unwrap();
    let partial = Partial::new([3, 5]);
    let products = Repository::<Product>::new(&partial.client(&database));
    products.create_table().await.unwrap();
    products.create(Product::new("1", 1)).await.unwrap();
    let keys = (0..10).map(|number| number.to_string());
    assert_eq!(products.get_many(keys).attempts(1).await.unwrap().into_iter().flatten().count(), 1);
    assert_eq!(partial.asked(), [10, 7, 2]);
}

#[tokio::test(start_paused = true)]
async fn a_batch_that_is_lost_or_throttled_is_read_again() {
    for fault in [Fault::LoseReply, Fault::Throttle, Fault::ServerError, Fault::NeverAnswer] {
        let shop = Shop::in_process(Faults::none());
        let table = shop.table::<Product>().await;
        table.others.create(Product::new("a", 5)).await.unwrap();
        shop.faults.script_on("BatchGetItem", 0, fault);
        assert_eq!(stocks(table.items.get_many(["a", "b"]).await.unwrap()), [Some(5), None]);
        assert_eq!(shop.counts(["BatchGetItem"]), [2]);
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Versioned)]
#[dynalock(table = "bins", index(name = "by_shelf", partition_key = "shelf", keys_only))]
struct Bin {
    #[dynalock(partition_key)]
    id: String,
    shelf: u32,
}

#[tokio::test(start_paused = true)]
async fn an_index_may_name_an_item_twice_or_one_that_is_gone() {
    let named = |id: &str| json!({ "id": { "S": id }, "shelf": { "N": "7" } });
    let answers = Answers::new(move |number, asked| match number {
        0 => json!({ "Items": [named("c"), named("a"), named("gone"), named("a")], "Count": 4 }),
        1 => {
            let (table, batch) = asked["RequestItems"].as_object().unwrap().iter().next().unwrap();
            assert_eq!(batch["Keys"].as_array().unwrap().len(), 3, "{batch}");
            json!({ "Responses": { (table.as_str()): [named("a"), named("c")] } })
        }
        _ => panic!("{asked}"),
    });
    let bins = Repository::<Bin>::new(&answers.client());
    let found = bins.query_index(Bin::INDEX.by_shelf, 7).fetch().collect().await.unwrap();
    assert_eq!(found.iter().map(|bin| &*bin.id).collect::<Vec<_>>(), ["c", "a"]);
}

#[tokio::test(start_paused = true)]
async fn the_items_of_a_lost_batch_of_an_index_are_read_again() {
    let shop = Shop::in_process(Faults::none());
    let table = shop.table::<Bin>().await;
    for id in ["a", "b"] {
        table.others.create(Bin { id: id.to_owned(), shelf: 7 }).await.unwrap();
    }
    shop.faults.script_on("BatchGetItem", 0, Fault::LoseReply);
    shop.faults.script_on("Query", 0, Fault::Throttle);
    let found = table.items.query_index(Bin::INDEX.by_shelf, 7).fetch().collect().await.unwrap();
    assert_eq!(found.len(), 2);
    assert_eq!(shop.counts(["Query", "BatchGetItem"]), [2, 2]);
}
