//! Calls that run at the same time.

use std::future::IntoFuture;

use tokio::task::JoinHandle;

/// Starts calls in their order, each in its own task.
pub(crate) fn start<C>(calls: impl IntoIterator<Item = C>) -> Vec<JoinHandle<C::Output>>
where
    C: IntoFuture<Output: Send + 'static, IntoFuture: Send + 'static>,
{
    calls.into_iter().map(|call| tokio::spawn(call.into_future())).collect()
}

/// Runs calls at the same time, and returns their results in the order of the calls.
pub(crate) async fn together<C>(calls: impl IntoIterator<Item = C>) -> Vec<C::Output>
where
    C: IntoFuture<Output: Send + 'static, IntoFuture: Send + 'static>,
{
    let mut results = Vec::new();
    for task in start(calls) {
        results.push(task.await.unwrap());
    }
    results
}
