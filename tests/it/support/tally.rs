//! Increments by many writers, compared with the final counter.

use dynalock::{Error, Result, Stored};

use super::{Product, Table};

/// The results that the writers got.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    /// The number of applied increments.
    pub(crate) done: usize,
    /// The number of increments with an unknown outcome.
    pub(crate) open: usize,
    /// The number of increments that were not applied.
    pub(crate) given_up: usize,
}

/// Creates the item `a`, and lets `writers` tasks send `each` increments of it. `write` makes the
/// call of the writer with this number.
pub(crate) async fn increment<F>(
    table: &Table<Product>,
    writers: usize,
    each: usize,
    write: impl Fn(usize) -> F,
) -> Tally
where
    F: IntoFuture<Output = Result<Stored<Product>>>,
    F::IntoFuture: Send + 'static,
{
    table.others.create(Product::new("a", 0)).await.unwrap();
    let mut tally = Tally::default();
    let tasks: Vec<_> = (0..writers)
        .map(|writer| {
            let calls: Vec<_> = (0..each).map(|_| write(writer).into_future()).collect();
            tokio::spawn(async move {
                let mut results = Vec::new();
                for call in calls {
                    results.push(call.await.map(drop));
                }
                results
            })
        })
        .collect();
    for task in tasks {
        for result in task.await.unwrap() {
            match result {
                Ok(()) => tally.done += 1,
                Err(Error::Indeterminate { .. }) => tally.open += 1,
                Err(Error::Exhausted { .. }) => tally.given_up += 1,
                Err(other) => panic!("{other:?}"),
            }
        }
    }
    tally
}

impl Tally {
    /// Compares the results of the writers with the item `a`, if each increment is a separate
    /// write.
    pub(crate) async fn agrees_with(&self, table: &Table<Product>) {
        let counter = self.counter(table).await;
        assert_eq!(counter.version(), 1 + u64::try_from(counter.stock).unwrap());
    }

    /// Compares the results of the writers with the item `a`, if one write may contain several
    /// increments.
    pub(crate) async fn agrees_with_combined(&self, table: &Table<Product>) {
        let counter = self.counter(table).await;
        assert!(counter.version() <= 1 + u64::try_from(counter.stock).unwrap());
    }

    /// Compares the results of the writers with the stock of the item `a`. No acknowledged
    /// increment is lost, no failed increment was applied, and no increment was applied twice.
    async fn counter(&self, table: &Table<Product>) -> Stored<Product> {
        let counter = table.others.get("a").await.unwrap().unwrap();
        let applied = usize::try_from(counter.stock).unwrap();
        assert!((self.done..=self.done + self.open).contains(&applied), "{applied} applied, {self:?}");
        counter
    }
}
