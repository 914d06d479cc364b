use std::{
    fmt,
    future::{Future, poll_fn},
    pin::Pin,
    task::{Context, Poll, ready},
    time::Duration,
};

use futures_core::Stream;
use tokio::sync::watch;

use crate::{
    clock::{self, Instant},
    error::Result,
    lease::record::LockRecord,
};

/// How a wait in a fair queue goes: [`QueueTicket`].
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct QueueStatus {
    /// How many are served before, the holder counted: 1 is next.
    pub position: usize,
    /// How many wait in all, this one counted and the holder not.
    pub waiting: usize,
    /// Who holds the lock now: the name that it gave itself, and what makes its place its own.
    pub holder: String,
    /// How long it may take still, if the rest of the queue moves as fast as what this wait has seen of it; nothing until it has moved.
    pub estimate: Option<Duration>,
}

/// A place in a fair queue: [`Acquire::enter`](crate::lock::Acquire::enter).
///
/// It is a stream of how the wait goes, with an element for each change that was seen, and a future of the lock. Dropped, it gives the place up.
///
/// ```
/// # use dynalock_core as dynalock;
/// # async fn print(locks: &dynalock::Locks) -> dynalock::Result<()> {
/// let mut queued = locks.acquire("printer").fair().enter().await?;
/// while let Some(waiting) = queued.next().await {
///     println!("{} before me, {} prints", waiting.position, waiting.holder);
/// }
/// let printer = queued.await?;
/// # printer.release().await
/// # }
/// ```
#[must_use = "a place that is dropped is given up"]
pub struct QueueTicket<G> {
    answer: Pin<Box<dyn Future<Output = Result<G>> + Send>>,
    seen: watch::Receiver<Option<QueueStatus>>,
    next: Pin<Box<dyn Future<Output = Change> + Send>>,
}

/// The next that is to be seen; nothing if the wait is over.
type Change = Option<watch::Receiver<Option<QueueStatus>>>;

/// How fast a queue moves.
pub(crate) struct WaitEstimate {
    entered: Instant,
    first: usize,
}

impl WaitEstimate {
    /// From a place that has been taken now.
    pub(crate) fn new(first: usize) -> Self {
        Self { entered: clock::now(), first }
    }

    fn estimate(&self, index: usize) -> Option<Duration> {
        let moved = u32::try_from(self.first.checked_sub(index)?).ok()?;
        let each = clock::now().duration_since(self.entered).checked_div(moved)?;
        Some(each.saturating_mul(u32::try_from(index).ok()?))
    }
}

impl QueueStatus {
    pub(crate) fn new(record: &LockRecord, index: usize, speed: &WaitEstimate) -> Self {
        Self {
            position: index,
            waiting: record.queue.len().saturating_sub(1),
            holder: record.holder().unwrap_or_default().to_owned(),
            estimate: speed.estimate(index),
        }
    }

    /// Says how it goes, if that is not what was said last: time alone is no news.
    pub(crate) fn report(self, to: &watch::Sender<Option<Self>>) {
        to.send_if_modified(|last| {
            let place = |waiting: &Self| (waiting.position, waiting.waiting, waiting.holder.clone());
            let is_news = last.as_ref().map(place) != Some(place(&self));
            if is_news {
                *last = Some(self);
            }
            is_news
        });
    }
}

impl<G> QueueTicket<G> {
    pub(crate) fn new(
        answer: impl Future<Output = Result<G>> + Send + 'static,
        seen: watch::Receiver<Option<QueueStatus>>,
    ) -> Self {
        let mut first = seen.clone();
        first.mark_changed();
        Self { answer: Box::pin(answer), next: Box::pin(next(first)), seen }
    }

    /// How many are served before, the holder counted, as this place was seen last; 0 if the lock is granted, or the wait has failed.
    pub fn position(&self) -> usize {
        match self.seen.has_changed() {
            Ok(_) => self.seen.borrow().as_ref().map_or(0, |waiting| waiting.position),
            // Whoever reports has ended.
            Err(_) => 0,
        }
    }

    /// The next change, for whom has no `StreamExt` at hand; nothing when the wait is over. What it came to says the future.
    pub async fn next(&mut self) -> Option<QueueStatus> {
        poll_fn(|context| Pin::new(&mut *self).poll_next(context)).await
    }
}

async fn next(mut seen: watch::Receiver<Option<QueueStatus>>) -> Change {
    seen.changed().await.ok().map(|()| seen)
}

impl<G> Stream for QueueTicket<G> {
    type Item = QueueStatus;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<QueueStatus>> {
        loop {
            let change = ready!(self.next.as_mut().poll(context));
            let Some(mut seen) = change else {
                // A future that has ended is not asked again.
                self.next = Box::pin(std::future::ready(None));
                return Poll::Ready(None);
            };
            let waiting = seen.borrow_and_update().clone();
            self.next = Box::pin(next(seen));
            if let Some(waiting) = waiting {
                return Poll::Ready(Some(waiting));
            }
        }
    }
}

impl<G> Future for QueueTicket<G> {
    type Output = Result<G>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<G>> {
        self.answer.as_mut().poll(context)
    }
}

impl<G> fmt::Debug for QueueTicket<G> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Queued").field("position", &self.position()).finish_non_exhaustive()
    }
}
