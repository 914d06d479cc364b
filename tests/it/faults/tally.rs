//! Increments by many writers, compared with the final counter.

use dynalock::{Error, Repository, Result, Stored};

use crate::support::{Product, Table};

/// The results that the writers got.
#[derive(Debug, Default)]
pub(super) struct Tally {
    /// The number of applied increments.
    pub(super) done: usize,
    /// The number of increments with an unknown outcome.
    pub(super) open: usize,
    /// The number of increments that were not applied.
    pub(super) given_up: usize,
}

/// Lets `writers` tasks send `each` increments of the item `a`.
pub(super) async fn increment<F>(
    table: &Table<Product>,
    writers: usize,
    each: usize,
    write: impl Fn(Repository<Product>) -> F,
) -> Tally
where
    F: IntoFuture<Output = Result<Stored<Product>>>,
    F::IntoFuture: Send + 'static,
{
    table.others.create(Product::new("a", 0)).await.unwrap();
    let mut tally = Tally::default();
    let tasks: Vec<_> = (0..writers)
        .map(|_| {
            let calls: Vec<_> = (0..each).map(|_| write(table.items.clone()).into_future()).collect();
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
    /// Compares the results of the writers with the stock of the item `a`. No acknowledged
    /// increment is lost, no failed increment was applied, and no increment was applied twice.
    pub(super) async fn agrees_with(&self, table: &Table<Product>) {
        let counter = table.others.get("a").await.unwrap().unwrap();
        let applied = usize::try_from(counter.stock).unwrap();
        assert!((self.done..=self.done + self.open).contains(&applied), "{applied} applied, {self:?}");
        assert_eq!(counter.version(), 1 + u64::try_from(counter.stock).unwrap());
    }
}
