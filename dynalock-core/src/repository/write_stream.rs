use std::{
    collections::VecDeque,
    future::poll_fn,
    pin::Pin,
    task::{Context, Poll, ready},
};

use futures_core::Stream;
use futures_util::stream::FuturesUnordered;

use crate::{
    error::{Error, Result},
    telemetry::BoxedCall,
};

/// The result of one item in a call that writes many items. A [`WriteStream`] returns one
/// `ItemResult` for each item.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ItemResult<O> {
    /// The index of the item in the list of items that the caller gave, counted from 0.
    pub index: usize,
    /// The result of the write of the item at `index`.
    pub result: Result<O>,
}

/// The stream that [`Request::stream`](super::Request::stream) returns, with the results of a call
/// that writes many items.
///
/// The stream returns one result for each item, as soon as the write of the item has ended. The
/// stream starts no task, so the stream sends requests and receives answers only while a program
/// polls the stream. The deadline for the write of an item may pass between two polls of the
/// stream, so a program should poll the stream often. `size_hint` returns the exact number of items
/// whose results the stream has not returned.
///
/// # Cancel safety
///
/// The caller may drop the stream at any time. A dropped stream sends no more requests. If the
/// caller drops the stream before the stream returns the result of an item, DynamoDB may or may not
/// have written the item.
#[must_use = "nothing is written until this is polled"]
pub struct WriteStream<O> {
    /// The sequences of requests that the stream has not started yet.
    waiting: Box<dyn Iterator<Item = Sequence<O>> + Send>,
    running: FuturesUnordered<BoxedCall<'static, Finished<O>>>,
    ready: VecDeque<ItemResult<O>>,
    concurrency: usize,
    /// The number of items whose results the stream has not returned.
    left: usize,
}

/// A sequence of requests that may write the same keys, so the stream sends the requests one after
/// the other.
pub(super) type Sequence<O> = Box<dyn Iterator<Item = BatchCall<O>> + Send>;

pub(super) type BatchCall<O> = BoxedCall<'static, Vec<ItemResult<O>>>;

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
    /// program can call `next` without an import of the trait `StreamExt`.
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
    /// The result of an item is an error if the write of the item failed. If the write of one item
    /// fails, the stream still writes the other items.
    ///
    /// # Cancel safety
    ///
    /// The caller may drop the future of `next` at any time. If the caller drops the future of
    /// `next`, the stream loses no result.
    pub async fn next(&mut self) -> Option<ItemResult<O>> {
        poll_fn(|context| Pin::new(&mut *self).poll_next(context)).await
    }

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
            while this.running.len() < this.concurrency {
                let Some(sequence) = this.waiting.next() else { break };
                this.begin(sequence);
            }
            match ready!(Pin::new(&mut this.running).poll_next(context)) {
                Some(Finished { results, rest }) => {
                    this.ready.extend(results);
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

/// Returns the kind of the first error in the results, for telemetry.
pub(super) fn first_failure<'r, O: 'r>(results: impl IntoIterator<Item = &'r Result<O>>) -> Option<&'static str> {
    results.into_iter().find_map(|result| result.as_ref().err()).map(Error::kind)
}

/// All futures of the stream are in boxes, so a move of the stream does not move the futures.
impl<O> Unpin for WriteStream<O> {}

debug_fields!([O] WriteStream<O>, self => { left: self.left });
