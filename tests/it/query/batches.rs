//! `get_many`.

use dynalock::{
    Error, Repository,
    local::{Database, Fault, Faults},
};
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
    let last = expect_error!(products.get_many(["a", "b"]).await, Error::Exhausted { last, .. } => last);
    assert!(matches!(*last, Error::Throttled(_)), "{last:?}");
    assert!(start.elapsed() <= secs(5), "{:?}", start.elapsed());
    assert!(answers.asked().len() > 3);
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
