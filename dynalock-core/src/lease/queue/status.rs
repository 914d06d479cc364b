use std::{
    future::{self, Future},
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use futures_core::Stream;
use futures_util::{StreamExt as _, stream};
use tokio::sync::watch;

use crate::{
    clock::{self, Instant},
    error::Result,
    lease::{owner::Owner, record::LockRecord},
    telemetry::queue_position,
};

/// The progress of a [`QueueTicket`] that waits in a fair queue.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct QueueStatus {
    /// The number of callers before this caller in the queue, including the holder. The first
    /// waiter behind the holder has position 1.
    pub position: usize,
    /// The number of waiters, including this caller and without the holder.
    pub waiting: usize,
    /// The label of the holder, or the random nonce of the grant if the holder has no label.
    pub holder: String,
    /// The expected time until this caller gets the lock. The estimate is based on the speed at
    /// which the queue has moved since this caller entered the queue. `estimate` is `None` until
    /// the position of this caller has changed.
    pub estimate: Option<Duration>,
}

/// The position of a caller in a fair queue. [`Acquire::enter`](crate::lock::Acquire::enter)
/// returns a queue ticket.
///
/// A queue ticket is both a stream and a future. As a stream, a queue ticket returns a
/// [`QueueStatus`] for each change of the caller's position, the number of waiters or the holder.
/// As a future, a queue ticket returns the lock. A caller that drops the ticket gives up its
/// position in the queue.
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
    changes: Pin<Box<dyn Stream<Item = QueueStatus> + Send>>,
}

pub(crate) struct WaitEstimate {
    entered: Instant,
    first: usize,
}

impl WaitEstimate {
    /// Starts the estimate for a caller that has just entered the queue at the position `first`.
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
            holder: Owner::parse(record.holder().unwrap_or_default()).label.to_owned(),
            estimate: speed.estimate(index),
        }
    }

    /// Sends the status if the position, the number of waiters or the holder differs from the last
    /// sent status.
    pub(crate) fn report(self, to: &watch::Sender<Option<Self>>) {
        let (position, waiting) = (self.position, self.waiting);
        let is_reported = to.send_if_modified(|last| {
            let place = |waiting: &Self| (waiting.position, waiting.waiting, waiting.holder.clone());
            let is_news = last.as_ref().map(place) != Some(place(&self));
            if is_news {
                *last = Some(self);
            }
            is_news
        });
        if is_reported {
            queue_position(position, waiting);
        }
    }
}

impl<G: Send + 'static> QueueTicket<G> {
    pub(crate) async fn enter<F: Future<Output = Result<G>> + Send + 'static>(
        acquire: impl FnOnce(watch::Sender<Option<QueueStatus>>) -> Result<F>,
    ) -> Result<Self> {
        let (progress, mut seen) = watch::channel(None);
        let answer = acquire(progress)?;
        // The call sends its first status when its entry is in the queue.
        if seen.changed().await.is_ok() {
            return Ok(Self::new(answer, seen));
        }
        // A call without a status has either acquired the lock at once or failed.
        let guard = answer.await?;
        Ok(Self::new(future::ready(Ok(guard)), seen))
    }

    fn new(
        answer: impl Future<Output = Result<G>> + Send + 'static,
        seen: watch::Receiver<Option<QueueStatus>>,
    ) -> Self {
        let mut first = seen.clone();
        first.mark_changed();
        let changes = stream::unfold(first, |mut seen| async move {
            seen.changed().await.ok()?;
            let status = seen.borrow_and_update().clone();
            Some((status, seen))
        });
        // The status is `None` if the call got the lock at once.
        let changes = Box::pin(changes.filter_map(future::ready).fuse());
        Self { answer: Box::pin(answer), changes, seen }
    }
}

impl<G> QueueTicket<G> {
    /// Returns the number of callers before this caller in the queue, including the holder, from
    /// the last read of the queue. Returns 0 if the lock is granted or the wait has failed.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # async fn example(locks: &dynalock::Locks) -> dynalock::Result<()> {
    /// let ticket = locks.acquire("printer").fair().enter().await?;
    /// println!("{} before me", ticket.position());
    /// # ticket.await?.release().await
    /// # }
    /// ```
    pub fn position(&self) -> usize {
        match self.seen.has_changed() {
            Ok(_) => self.seen.borrow().as_ref().map_or(0, |waiting| waiting.position),
            // The task that waits for the lock drops the sender when the wait is over.
            Err(_) => 0,
        }
    }

    /// Returns the next [`QueueStatus`] after a change of the queue, or `None` when the wait for
    /// the lock is over. When the wait is over, await the ticket to get the lock or the error.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # async fn example(locks: &dynalock::Locks) -> dynalock::Result<()> {
    /// let mut ticket = locks.acquire("printer").fair().enter().await?;
    /// while let Some(status) = ticket.next().await {
    ///     println!("{} before me", status.position);
    /// }
    /// # ticket.await?.release().await
    /// # }
    /// ```
    ///
    /// # Cancel safety
    ///
    /// If the caller drops the future of `next`, no status change is lost, and the caller keeps its
    /// position in the queue.
    pub async fn next(&mut self) -> Option<QueueStatus> {
        self.changes.next().await
    }
}

impl<G> Stream for QueueTicket<G> {
    type Item = QueueStatus;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<QueueStatus>> {
        self.changes.as_mut().poll_next(context)
    }
}

impl<G> Future for QueueTicket<G> {
    type Output = Result<G>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<G>> {
        self.answer.as_mut().poll(context)
    }
}

debug_fields!([G] QueueTicket<G>, self => { position: self.position() });
