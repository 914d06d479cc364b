use std::{
    collections::VecDeque,
    fmt,
    future::poll_fn,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};

use futures_core::Stream;

use super::feed::Feed;
use crate::{codec::Item, error::Result};

/// The items of a query or scan, one after the other: [`Query::stream`](super::Query::stream).
///
/// While the caller works on the items of one page, the request for the next page is on its way, as far as the stream is polled: the
/// stream starts no task. It holds at most two pages, and two for each segment of a scan. Nothing is sent after it is dropped.
///
/// An item that does not fit its struct is an error, and the stream goes on with the next item. A page that cannot be read is an error
/// too, and ends the stream. A page that was asked for ahead of the caller and failed is asked for again when the caller waits for it,
/// with a new deadline.
#[must_use = "nothing is read until this is polled"]
pub struct ItemStream<R> {
    table: Arc<str>,
    feed: Feed,
    ready: VecDeque<Item>,
    /// How many items are still wanted, unless all are.
    wanted: Option<usize>,
    row: fn(&Arc<str>, Item) -> Result<R>,
}

impl<R> ItemStream<R> {
    pub(super) fn new(
        table: Arc<str>,
        feed: Feed,
        wanted: Option<usize>,
        row: fn(&Arc<str>, Item) -> Result<R>,
    ) -> Self {
        Self { table, feed, ready: VecDeque::new(), wanted, row }
    }

    /// Returns the next item, or `None` at the end. Programs without a `StreamExt` can use it.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # mod shop { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest/orders.rs")); }
    /// # use shop::Order;
    /// # async fn example(orders: &dynalock::Repository<Order>) -> dynalock::Result<()> {
    /// let mut all = orders.query("alice").stream();
    /// while let Some(order) = all.next().await {
    ///     println!("{}", order?.number);
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// The errors are those of [`Query::collect`](super::Query::collect). After [`Error::Decode`](crate::Error::Decode) or
    /// [`Error::Corrupt`](crate::Error::Corrupt), which concern one item, the stream goes on. Any other error is the last element.
    ///
    /// # Cancel safety
    ///
    /// The future can be dropped at any time: no item is skipped.
    pub async fn next(&mut self) -> Option<Result<R>> {
        poll_fn(|context| Pin::new(&mut *self).poll_next(context)).await
    }
}

impl<R> Stream for ItemStream<R> {
    type Item = Result<R>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = &mut *self;
        if this.wanted == Some(0) {
            this.feed = Feed::default();
            return Poll::Ready(None);
        }
        if this.ready.is_empty() {
            match ready!(this.feed.poll_page(this.wanted, context)) {
                Some(Ok(page)) => this.ready.extend(page.items),
                Some(Err(error)) => return Poll::Ready(Some(Err(error))),
                None => return Poll::Ready(None),
            }
        }
        let ahead = this.wanted.map(|wanted| wanted.saturating_sub(this.ready.len()));
        if !this.ready.is_empty() && ahead != Some(0) {
            this.feed.ask_ahead(ahead, context);
        }
        let Some(item) = this.ready.pop_front() else {
            // After an empty page other tasks, and a timeout around the call, have their turn.
            context.waker().wake_by_ref();
            return Poll::Pending;
        };
        this.wanted = this.wanted.map(|wanted| wanted - 1);
        Poll::Ready(Some((this.row)(&this.table, item)))
    }
}

impl<R> fmt::Debug for ItemStream<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ItemStream").field("table", &self.table).finish_non_exhaustive()
    }
}
