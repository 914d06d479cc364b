//! Keys that a batch leaves unprocessed are requested again.

use dynalock::{Error, Repository, local::Database, transact};

use crate::support::{Product, expect_error, partial::Partial, secs};

/// Makes a table with the products 0 to 9, behind batches that process this number of keys at a
/// time.
async fn products(
    answers: impl IntoIterator<Item = usize>,
) -> (Partial, aws_sdk_dynamodb::Client, Repository<Product>) {
    let database = Database::in_memory().unwrap();
    let all = Repository::<Product>::new(&database.client());
    all.create_table().await.unwrap();
    for index in 0..10 {
        all.create(Product::new(&index.to_string(), index)).await.unwrap();
    }
    let partial = Partial::new(answers);
    let client = partial.client(&database);
    let items = Repository::new(&client);
    (partial, client, items)
}

async fn read(client: &aws_sdk_dynamodb::Client, items: &Repository<Product>) -> Result<Vec<Option<i64>>, Error> {
    let unit = transact(client, |tx| async move {
        let keys = (0..12).rev().map(|index| index.to_string());
        let found = tx.get_many(items, keys).await?;
        Ok::<_, Error>(found.into_iter().map(|product| product.map(|product| product.stock)).collect())
    });
    unit.deadline(secs(20)).await
}

#[tokio::test(start_paused = true)]
async fn unprocessed_keys_are_asked_for_until_none_is_left() {
    for answers in [&[12][..], &[5, 5, 2], &[0, 12], &[3, 0, 0, 0, 4, 0, 5], &[1; 12]] {
        let (partial, client, items) = products(answers.iter().copied()).await;
        let found = read(&client, &items).await.unwrap();
        assert_eq!(found[..2], [None, None]);
        assert_eq!(found[2..], (0..10).rev().map(Some).collect::<Vec<_>>(), "{answers:?}");
        assert_eq!(partial.asked().len(), answers.len(), "{answers:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn keys_that_are_never_processed_are_an_error() {
    let (partial, client, items) = products(std::iter::repeat_n(0, 10_000)).await;
    let (elapsed, last) =
        expect_error!(read(&client, &items).await, Error::Exhausted { spent, last, .. } => (spent.elapsed, last));
    assert!(elapsed <= secs(20) && matches!(*last, Error::Throttled(_)), "{elapsed:?} {last:?}");
    assert!(partial.asked().len() > 10, "it is asked with pauses: {}", partial.asked().len());
    assert!(partial.asked().len() < 200, "it is asked with pauses: {}", partial.asked().len());
}
