use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use futures_core::Stream;
use futures_util::{StreamExt as _, TryStreamExt as _, stream};

use super::{info::LockInfo, settings::Settings};
use crate::{
    error::{Error, Result},
    operation::{Access, ItemPage, PageRequest, PageStart, Selection},
    retry::{Attempts, CallCost},
    telemetry::observe,
};

/// A stream of all locks of a table. [`Locks::list`](crate::Locks::list) returns this stream. The
/// stream reads the next page when the stream has returned all locks of the current page.
#[must_use = "nothing is read until this is polled"]
pub struct LockList {
    table: Arc<str>,
    locks: Pin<Box<dyn Stream<Item = Result<LockInfo>> + Send>>,
}

impl LockList {
    pub(super) fn new(settings: Settings) -> Self {
        let table = Arc::clone(&settings.table);
        // The reads of all pages count as one call, with one budget.
        let call_cost = CallCost::begin_call(settings.connection.meter.as_ref(), settings.limits.budget);
        let pages = stream::try_unfold(Some(PageStart::default()), move |start| {
            let (settings, call_cost) = (settings.clone(), call_cost.clone());
            async move {
                let Some(start) = start else { return Ok::<_, Error>(None) };
                let table = Arc::clone(&settings.table);
                let ItemPage { items, next, .. } = observe("list", table, page(call_cost, &settings, &start)).await?;
                let infos = items.iter().filter_map(|item| LockInfo::read(&settings.options, item));
                let next = next.map(|after| PageStart { after: Some(after), ..PageStart::default() });
                Ok(Some((stream::iter(infos.map(Ok).collect::<Vec<_>>()), next)))
            }
        });
        Self { table, locks: Box::pin(pages.try_flatten()) }
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
        self.locks.next().await
    }
}

impl Stream for LockList {
    type Item = Result<LockInfo>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.locks.as_mut().poll_next(context)
    }
}

async fn page(call_cost: Option<Arc<CallCost>>, settings: &Settings, start: &PageStart) -> Result<ItemPage> {
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
    let client = settings.connection.client.clone();
    let mut attempts = Attempts::on(call_cost, &settings.connection, settings.limits);
    attempts.repeat(&scan.table, || Box::pin(scan.send(&client, start))).await
}

debug_fields!(LockList, self => { table: self.table });
