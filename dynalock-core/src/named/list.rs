use std::{
    collections::VecDeque,
    future::poll_fn,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};

use futures_core::Stream;

use super::{info::LockInfo, settings::Settings};
use crate::{
    codec::Item,
    error::Result,
    operation::{Access, ItemPage, PageRequest, PageStart, Selection},
    retry::{Attempts, CallCost},
    telemetry::observe,
};

/// A stream of all locks of a table, which [`Locks::list`](crate::Locks::list) returns. The stream
/// reads the next page when the stream has returned all locks of the current page.
#[must_use = "nothing is read until this is polled"]
pub struct LockList {
    settings: Settings,
    /// The consumed capacity of all pages, or `None` if the read is not metered.
    call_cost: Option<Arc<CallCost>>,
    read: VecDeque<LockInfo>,
    next: Next,
}

enum Next {
    /// The stream has not requested the next page. The next page starts after the given key, or at
    /// the first row of the table if the key is `None`.
    Page(Option<Item>),
    Coming(Pin<Box<dyn Future<Output = Result<ItemPage>> + Send>>),
    Nothing,
}

impl LockList {
    pub(super) fn new(settings: Settings) -> Self {
        let call_cost = CallCost::begin_call(settings.connection.meter.as_ref(), settings.limits.budget);
        Self { settings, call_cost, read: VecDeque::new(), next: Next::Page(None) }
    }

    /// Returns the state of the next lock, or `None` after the last lock. A program can call `next`
    /// without an import of a `StreamExt` trait.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # async fn example(locks: &dynalock::Locks) -> dynalock::Result<()> {
    /// let mut list = locks.list();
    /// while let Some(lock) = list.next().await {
    ///     println!("{:?}", lock?);
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// The [errors of every call](crate::Locks#errors-of-every-call) are possible. After an error,
    /// the stream ends.
    ///
    /// # Cancel safety
    ///
    /// The caller may drop the future of `next` at any time. The next call of `next` returns the
    /// lock that the dropped future would have returned.
    pub async fn next(&mut self) -> Option<Result<LockInfo>> {
        poll_fn(|context| Pin::new(&mut *self).poll_next(context)).await
    }
}

impl Stream for LockList {
    type Item = Result<LockInfo>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            if let Some(info) = self.read.pop_front() {
                return Poll::Ready(Some(Ok(info)));
            }
            match &mut self.next {
                Next::Nothing => return Poll::Ready(None),
                Next::Page(start) => {
                    let (start, table) = (start.take(), Arc::clone(&self.settings.table));
                    let page = page(self.call_cost.clone(), self.settings.clone(), start);
                    self.next = Next::Coming(observe("list", table, page));
                }
                Next::Coming(page) => match ready!(page.as_mut().poll(context)) {
                    Ok(ItemPage { items, next, .. }) => {
                        // If a page contains no lock, the loop requests the next page.
                        self.next = next.map_or(Next::Nothing, |start| Next::Page(Some(start)));
                        let infos: Vec<_> =
                            items.iter().filter_map(|item| LockInfo::read(&self.settings.options, item)).collect();
                        self.read.extend(infos);
                    }
                    Err(error) => {
                        self.next = Next::Nothing;
                        return Poll::Ready(Some(Err(error)));
                    }
                },
            }
        }
    }
}

async fn page(call_cost: Option<Arc<CallCost>>, settings: Settings, after: Option<Item>) -> Result<ItemPage> {
    let scan = PageRequest {
        table: Arc::clone(&settings.table),
        index: None,
        access: Access::Scan,
        filter: None,
        names: None,
        values: None,
        selection: Selection::Attributes,
        consistent: false,
    };
    let (client, start) = (settings.connection.client.clone(), PageStart { after, ..PageStart::default() });
    let mut attempts = Attempts::on(call_cost, &settings.connection, settings.limits);
    attempts.repeat(&scan.table, || Box::pin(scan.send(&client, &start))).await
}

debug_fields!(LockList, self => { table: self.settings.table });
