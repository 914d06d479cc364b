//! The program that each library runs: concurrent additions to one counter.

use std::{error::Error, future::Future, time::Duration};

use aws_sdk_dynamodb::Client;
use tokio::time::Instant;

use crate::Load;

/// A counter in a table, with the means of one library.
pub(crate) trait Counter: Clone + Send + Sync + Sized + 'static {
    /// The name of the library in the table.
    const NAME: &str;

    /// Creates the table and a counter at zero.
    fn open(client: Client) -> impl Future<Output = Result<Self, Box<dyn Error>>> + Send;

    /// Adds 1 to the counter, and repeats the addition after conflicts.
    fn add(&self) -> impl Future<Output = Result<(), Failed>> + Send;

    /// Returns the value of the counter.
    fn count(&self) -> impl Future<Output = Result<usize, Box<dyn Error>>> + Send;
}

/// An addition that ended with an error. The program does not know whether the addition was
/// applied.
#[derive(Debug)]
pub(crate) struct Failed;

/// The outcome of one attempt to add.
#[derive(Debug)]
pub(crate) enum Attempt {
    Added,
    /// The library reported that another writer was first.
    Conflict,
    /// The library reported another error.
    Failed,
}

/// The results of all tasks.
#[derive(Debug)]
pub(crate) struct Results {
    pub(crate) added: usize,
    pub(crate) errors: usize,
    /// The mean time of an addition.
    pub(crate) mean: Duration,
}

/// Runs all tasks to their end.
pub(crate) async fn run<C: Counter>(counter: &C, load: Load) -> Results {
    let started = Instant::now();
    let tasks: Vec<_> = (0..load.tasks)
        .map(|_| {
            let counter = counter.clone();
            tokio::spawn(async move {
                let mut added = 0;
                for _ in 0..load.each {
                    added += usize::from(counter.add().await.is_ok());
                }
                added
            })
        })
        .collect();
    let mut added = 0;
    for task in tasks {
        added += task.await.expect("no task panics");
    }
    let each = u32::try_from(load.each).expect("a small number");
    Results { added, errors: load.tasks * load.each - added, mean: started.elapsed() / each }
}

/// Repeats attempts after conflicts, at most 50 times, with exponential backoff and full jitter
/// from 10 ms to 500 ms. A careful programmer writes this loop.
pub(crate) async fn repeat<F: Future<Output = Attempt> + Send>(mut attempt: impl FnMut() -> F) -> Result<(), Failed> {
    let mut window = 10;
    for _ in 0..50 {
        match attempt().await {
            Attempt::Added => return Ok(()),
            Attempt::Failed => return Err(Failed),
            Attempt::Conflict => {
                tokio::time::sleep(Duration::from_millis(fastrand::u64(0..=window))).await;
                window = (2 * window).min(500);
            }
        }
    }
    Err(Failed)
}
