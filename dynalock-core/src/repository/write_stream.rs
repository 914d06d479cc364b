//! The stream of the results of a call that writes many items.

use std::{
    collections::VecDeque,
    future::poll_fn,
    pin::Pin,
    task::{Context, Poll, ready},
};

use futures_core::Stream;
use futures_util::stream::FuturesUnordered;

use crate::{error::Result, telemetry::BoxedCall};

/// The result of one item in a call that writes many items. A [`WriteStream`] returns these
/// results.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ItemResult<O> {
    /// The index of the item in the input of the call. The first index is 0.
    pub index: usize,
    /// The result that the call for this single item would return.
    pub result: Result<O>,
}

/// The stream of the results of a call that writes many items, which
/// [`Request::stream`](super::Request::stream) returns.
///
/// The stream returns one result for each item, as soon as the item is finished. The stream sends
/// requests and receives answers only while it is polled, because it starts no task. The deadlines
/// of running requests continue between two polls, so poll the stream again soon. `size_hint`
/// returns the exact number of items without a result.
///
/// # Cancel safety
///
/// The stream can be dropped at any time. A dropped stream sends no more requests. The items
/// without a result may or may not have been written.
#[must_use = "nothing is written until this is polled"]
pub struct WriteStream<O> {
    /// The writes that have not begun.
    waiting: Box<dyn Iterator<Item = Sequence<O>> + Send>,
    running: FuturesUnordered<BoxedCall<'static, Finished<O>>>,
    ready: VecDeque<ItemResult<O>>,
    /// The maximum number of requests in flight.
    concurrency: usize,
    /// The number of items without a result.
    left: usize,
}

/// Requests that are sent one after the other, because they write the same keys.
pub(super) type Sequence<O> = Box<dyn Iterator<Item = Step<O>> + Send>;

/// One call of a sequence, for one or several items.
pub(super) type Step<O> = BoxedCall<'static, Vec<ItemResult<O>>>;

/// The results of a call that has ended, and the remaining calls of its sequence.
struct Finished<O> {
    results: Vec<ItemResult<O>>,
    rest: Sequence<O>,
}

impl<O: Send + 'static> WriteStream<O> {
    pub(super) fn new(
        waiting: impl Iterator<Item = Sequence<O>> + Send + 'static,
        concurrency: usize,
        items: usize,
    ) -> Self {
        Self {
            waiting: Box::new(waiting),
            running: FuturesUnordered::new(),
            ready: VecDeque::new(),
            concurrency,
            left: items,
        }
    }

    /// Returns the result of the next item that is finished, or `None` after the last item. A
    /// program can call this method without a `StreamExt` trait.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # mod shop { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest/shop.rs")); }
    /// # use shop::Product;
    /// # async fn example(products: &dynalock::Repository<Product>, new: Vec<Product>) -> dynalock::Result<()> {
    /// let mut results = products.create_many(new).stream();
    /// while let Some(item) = results.next().await {
    ///     println!("item {} is written: {}", item.index, item.result.is_ok());
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// Each result may be an error of the call for a single item. The stream itself has no errors.
    /// An error of one item does not stop the writes of other items.
    ///
    /// # Cancel safety
    ///
    /// The future can be dropped at any time: the next call returns the result that the dropped
    /// future would have returned.
    pub async fn next(&mut self) -> Option<ItemResult<O>> {
        poll_fn(|context| Pin::new(&mut *self).poll_next(context)).await
    }

    /// Begins the next call of a sequence.
    fn begin(&mut self, mut sequence: Sequence<O>) {
        if let Some(step) = sequence.next() {
            self.running.push(Box::pin(async move { Finished { results: step.await, rest: sequence } }));
        }
    }
}

impl<O: Send + 'static> Stream for WriteStream<O> {
    type Item = ItemResult<O>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<ItemResult<O>>> {
        let this = self.get_mut();
        loop {
            if let Some(result) = this.ready.pop_front() {
                this.left = this.left.saturating_sub(1);
                return Poll::Ready(Some(result));
            }
            // Calls begin only here, while the caller polls the stream.
            while this.running.len() < this.concurrency {
                let Some(sequence) = this.waiting.next() else { break };
                this.begin(sequence);
            }
            match ready!(Pin::new(&mut this.running).poll_next(context)) {
                Some(Finished { results, rest }) => {
                    this.ready.extend(results);
                    // The calls of a sequence write the same keys, so they run one after the other.
                    this.begin(rest);
                }
                None => return Poll::Ready(None),
            }
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

/// The futures in the stream are boxed, so the stream itself can be moved.
impl<O> Unpin for WriteStream<O> {}

debug_fields!([O] WriteStream<O>, self => { left: self.left });
