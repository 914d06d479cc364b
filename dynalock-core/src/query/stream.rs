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
/// While the caller handles the items of one page, the stream requests the next page. The stream
/// starts no task, so the request for the next page makes progress only when the caller polls the
/// stream. The stream holds at most two pages. For a scan in segments, the stream holds at most two
/// pages of each segment. A dropped stream sends no more requests.
///
/// An item that does not fit its struct is an error, and the stream continues with the next item. A
/// page that cannot be read is an error that ends the stream. If the early request for the next
/// page fails, the page is requested again when the caller waits for it. The repeated request has a
/// new deadline.
#[must_use = "nothing is read until this is polled"]
pub struct ItemStream<R> {
    table: Arc<str>,
    feed: Feed,
    ready: VecDeque<Item>,
    /// The number of items that the caller still needs, or `None` for all.
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

    /// Returns the next item, or `None` at the end. Programs without a `StreamExt` can use this
    /// method.
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
    /// The errors are the same as for [`Query::collect`](super::Query::collect).
    /// [`Error::Decode`](crate::Error::Decode) and [`Error::Corrupt`](crate::Error::Corrupt)
    /// concern one item, and the stream continues after them. Any other error is the last element
    /// of the stream.
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
            // The pages in flight are not needed, so their requests are dropped.
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
        // The next page is requested only while the caller has items: an empty page is followed by
        // a request with the caller waiting.
        if !this.ready.is_empty() && ahead != Some(0) {
            this.feed.ask_ahead(ahead, context);
        }
        let Some(item) = this.ready.pop_front() else {
            // After an empty page, the stream returns to the scheduler before the next request. A
            // long series of empty pages therefore cannot block other tasks, or a timeout around
            // the call.
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
