use std::{
    collections::VecDeque,
    fmt,
    future::poll_fn,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};

use futures_core::Stream;

use super::{info::LockInfo, locks::Locks};
use crate::{codec::Item, error::Result, operation::Scan, retry::Attempts};

type Page = Result<(Vec<Item>, Option<Item>)>;

/// All locks of a table: [`Locks::list`]. Pages are read as they are asked for.
#[must_use = "nothing is read until this is asked for"]
pub struct LockList {
    locks: Locks,
    read: VecDeque<LockInfo>,
    next: Next,
}

enum Next {
    /// The page that starts here.
    Page(Option<Item>),
    Coming(Pin<Box<dyn Future<Output = Page> + Send>>),
    Nothing,
}

impl LockList {
    pub(super) fn new(locks: Locks) -> Self {
        Self { locks, read: VecDeque::new(), next: Next::Page(None) }
    }

    /// The next one, for whom has no `StreamExt` at hand.
    ///
    /// # Errors
    ///
    /// [`Error::TableNotFound`](crate::Error::TableNotFound), [`Error::Rejected`](crate::Error::Rejected),
    /// [`Error::Exhausted`](crate::Error::Exhausted), as the last element.
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
                    let start = start.take();
                    self.next = Next::Coming(Box::pin(page(self.locks.clone(), start)));
                }
                Next::Coming(page) => match ready!(page.as_mut().poll(context)) {
                    Ok((items, next)) => {
                        self.next = next.map_or(Next::Nothing, |start| Next::Page(Some(start)));
                        let infos: Vec<_> = items.iter().filter_map(|item| self.locks.info(item)).collect();
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

async fn page(locks: Locks, start: Option<Item>) -> Page {
    let scan = Scan { table: Arc::clone(&locks.table), start };
    let client = locks.connection.client.clone();
    Attempts::new(&locks.connection, locks.limits).repeat(&scan.table, || Box::pin(scan.send(&client))).await
}

impl fmt::Debug for LockList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LockList").field("locks", &self.locks).finish_non_exhaustive()
    }
}
