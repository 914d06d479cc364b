use std::{
    collections::VecDeque,
    future::poll_fn,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};

use futures_core::Stream;

use super::feed::Feed;
use crate::{codec::Item, error::Result};

/// A stream of the items of a query or scan. [`Query::stream`](super::Query::stream) returns this
/// stream.
///
/// While the caller handles the items of one page, the stream already requests the next page. The
/// stream starts no task, so the request for the next page makes progress only when the caller
/// polls the stream. The stream of a query holds at most two pages. The stream of a scan in
/// segments holds at most two pages of each segment. A dropped stream sends no more requests.
///
/// If an item cannot be decoded, the stream returns an error in place of the item, and continues
/// with the next item. If a page cannot be read, the stream returns an error and ends. If the
/// request for the next page fails while the stream still has items, the stream first returns the
/// remaining items. The stream then requests the page again with a new deadline.
#[must_use = "nothing is read until this is polled"]
pub struct ItemStream<R> {
    table: Arc<str>,
    feed: Feed,
    ready: VecDeque<Item>,
    /// The number of items that the caller still needs, or `None` if the caller needs all items.
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

    /// Returns the next item, or `None` after the last item. A program can call `next` without an
    /// import of a `StreamExt` trait.
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
    /// `next` returns the same errors as [`Query::collect`](super::Query::collect). After
    /// [`Error::Decode`](crate::Error::Decode) or [`Error::Corrupt`](crate::Error::Corrupt), which
    /// concern one item, the stream continues with the next item. After any error that does not
    /// concern a single item, for example `Error::Exhausted`, the stream ends.
    ///
    /// # Cancel safety
    ///
    /// The caller may drop the future of `next` at any time. A later call of `next` returns the
    /// item that the dropped future would have returned.
    pub async fn next(&mut self) -> Option<Result<R>> {
        poll_fn(|context| Pin::new(&mut *self).poll_next(context)).await
    }
}

impl<R> Stream for ItemStream<R> {
    type Item = Result<R>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = &mut *self;
        if this.wanted == Some(0) {
            // The stream has returned all items that the caller wanted, so the stream drops its
            // requests for further pages.
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
        // The stream prefetches the next page only while the stream still holds items for the
        // caller. After an empty page, the stream holds no items, and the caller already waits for
        // the next page.
        if !this.ready.is_empty() && ahead != Some(0) {
            this.feed.ask_ahead(ahead, context);
        }
        let Some(item) = this.ready.pop_front() else {
            // After an empty page, the stream returns to the scheduler before the stream requests
            // the next page. Without a return to the scheduler, many consecutive empty pages could
            // block other tasks, and a timeout around the stream.
            context.waker().wake_by_ref();
            return Poll::Pending;
        };
        this.wanted = this.wanted.map(|wanted| wanted - 1);
        Poll::Ready(Some((this.row)(&this.table, item)))
    }
}

debug_fields!([R] ItemStream<R>, self => { table: self.table });
