//! Shares the content of lock rows between the waiters for locks in one process.
//!
//! The waiters of one connection for the same lock share the answers to their requests. The first
//! waiter reads the row of the lock for all other waiters. When a holder in the same process
//! releases the lock, DynamoDB's answer to the release wakes the waiters without a read. A lock
//! without a queue passes from a holder to a waiter of the same process at most four times in a
//! row.

use std::{
    collections::{BTreeMap, HashMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tokio::sync::watch;

use crate::{clock::Instant, codec::Item};

/// The calls of this process that wait for changes of lock rows. Calls that wait for the same lock
/// row share the answers to their requests, so only one of these calls reads the row.
///
/// A shared lock row is only a hint, and may be outdated. A call that receives no shared lock row
/// for a whole poll interval reads the row itself.
#[derive(Debug, Clone, Default)]
pub(crate) struct LocalWaiters(Arc<Mutex<HashMap<String, watch::Sender<AwaitedRow>>>>);

/// A lock row for which calls of this process wait.
#[derive(Debug, Default)]
struct AwaitedRow {
    /// The numbers of the calls that wait for the lock row, in the order in which the calls began
    /// to wait.
    waiters: VecDeque<u64>,
    /// The number that the next call that waits for the lock row gets.
    next: u64,
    seen: Option<SeenRow>,
    /// The fence of the last lock on this row that this process released while the lock had no
    /// queue.
    last_fence: u64,
    /// The number of consecutive times that this process held the lock, and released the lock while
    /// the lock had no queue. A grant of the lock to another process resets the number.
    releases: u32,
}

/// The content of a lock row that the answer to a request of this process contained.
#[derive(Debug, Clone)]
pub(crate) struct SeenRow {
    pub(crate) item: Option<Item>,
    /// The time at which this process sent the request.
    pub(crate) sent: Instant,
    pub(crate) source: RowSource,
}

/// The kind of the request whose answer contained a lock row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RowSource {
    /// An eventually consistent read. The result of the read may be outdated.
    EventualRead,
    /// A consistent read, or a write that DynamoDB refused.
    ConsistentRead,
    /// A write that has removed the previous holder of the lock. The shared content is the content
    /// of the lock row after the write.
    Removal,
    /// A write that has removed the previous holder of the lock, after four consecutive releases by
    /// this process. The waiters of this process sleep for one poll interval, so that a waiter of
    /// another process can get the lock.
    RemovalForOthers,
}

/// A call that waits for changes of a lock row. The drop of a `LocalWaiter` removes the call from
/// the waiters for the row.
#[derive(Debug)]
pub(crate) struct LocalWaiter {
    all: LocalWaiters,
    key: String,
    number: u64,
    row: watch::Receiver<AwaitedRow>,
    /// The call ignores the answers to requests that were sent before this time, because these
    /// answers are outdated.
    since: Instant,
}

impl LocalWaiters {
    /// Adds a call that waits for changes of a lock row. `since` is the time at which the call last
    /// saw the row.
    pub(crate) fn join(&self, table: &str, key: &Item, since: Instant) -> LocalWaiter {
        let key = text(table, key);
        let mut rows = self.rows();
        let sender = rows.entry(key.clone()).or_insert_with(|| watch::Sender::new(AwaitedRow::default()));
        let mut number = 0;
        sender.send_if_modified(|row| {
            number = row.next;
            row.next += 1;
            row.waiters.push_back(number);
            false
        });
        LocalWaiter { all: self.clone(), key, number, row: sender.subscribe(), since }
    }

    /// Shares the content of a lock row with all calls of this process that wait for the row.
    pub(crate) fn share(&self, table: &str, key: &Item, seen: impl FnOnce() -> SeenRow) {
        self.change(table, key, |row| row.seen = Some(seen()));
    }

    /// Shares the row of a lock without a queue after this process has released the lock. `fence`
    /// is the fence of the released lock. After four consecutive releases that offer the lock to a
    /// waiter of this process, the next release lets other processes get the lock first.
    pub(crate) fn share_release(&self, table: &str, key: &Item, fence: u64, seen: impl FnOnce() -> SeenRow) {
        const MOST_RELEASES: u32 = 4;
        self.change(table, key, |row| {
            // Each grant of the lock increments the fence by one, so a gap between two fences shows
            // a grant to another process.
            let is_next = row.last_fence.checked_add(1) == Some(fence);
            let releases = if is_next { row.releases } else { 0 };
            let mut seen = seen();
            row.last_fence = fence;
            row.releases = match releases {
                MOST_RELEASES => {
                    seen.source = RowSource::RemovalForOthers;
                    0
                }
                fewer => fewer + 1,
            };
            row.seen = Some(seen);
        });
    }

    fn change(&self, table: &str, key: &Item, change: impl FnOnce(&mut AwaitedRow)) {
        let rows = self.rows();
        // Most locks have no waiters, so the code first tests for an empty map.
        if rows.is_empty() {
            return;
        }
        if let Some(row) = rows.get(&text(table, key)) {
            row.send_modify(change);
        }
    }

    fn rows(&self) -> MutexGuard<'_, HashMap<String, watch::Sender<AwaitedRow>>> {
        // A panic cannot leave the map in an invalid state, so a poisoned mutex is no error.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl LocalWaiter {
    /// Returns `true` if this call has waited for the row longer than all other calls of this
    /// process.
    pub(crate) fn is_first(&self) -> bool {
        self.row.borrow().waiters.front() == Some(&self.number)
    }

    /// Shares the content of a lock row that this call has read. From now on, the call ignores the
    /// answers to requests that were sent before `sent`.
    pub(crate) fn share(&mut self, sent: Instant, seen: impl FnOnce() -> SeenRow) {
        self.since = sent;
        let is_alone = self.row.borrow().waiters.len() < 2;
        if !is_alone && let Some(sender) = self.all.rows().get(&self.key) {
            sender.send_modify(|row| row.seen = Some(seen()));
            // This call has read the row itself, so this call does not need the shared content.
            self.row.mark_unchanged();
        }
    }

    /// Waits until another call of this process shares the content of the lock row, and returns
    /// this content.
    pub(crate) async fn seen(&mut self) -> SeenRow {
        loop {
            // The map keeps the sender of the channel as long as a call waits. If the channel were
            // closed, no shared row could ever arrive, so the code waits forever.
            if self.row.changed().await.is_err() {
                std::future::pending::<()>().await;
            }
            let seen = self.row.borrow_and_update().seen.clone();
            if let Some(seen) = seen.filter(|seen| seen.sent >= self.since) {
                return seen;
            }
        }
    }
}

impl Drop for LocalWaiter {
    fn drop(&mut self) {
        let mut rows = self.all.rows();
        let Some(row) = rows.get(&self.key) else { return };
        row.send_if_modified(|row| {
            row.waiters.retain(|number| *number != self.number);
            false
        });
        if row.borrow().waiters.is_empty() {
            rows.remove(&self.key);
        }
    }
}

/// Returns a text that identifies a table and a key. Two equal keys have the same text, even if
/// their attributes are in a different order.
fn text(table: &str, key: &Item) -> String {
    let sorted: BTreeMap<_, _> = key.iter().collect();
    format!("{table} {sorted:?}")
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;
    use crate::clock;

    fn seen(sent: Instant) -> SeenRow {
        SeenRow { item: None, sent, source: RowSource::Removal }
    }

    fn sources(all: &LocalWaiters, waiter: &mut LocalWaiter, fences: impl IntoIterator<Item = u64>) -> Vec<RowSource> {
        let share = |fence| {
            all.share_release("locks", &Item::new(), fence, || seen(clock::now()));
            waiter.seen().now_or_never().unwrap().source
        };
        fences.into_iter().map(share).collect()
    }

    #[test]
    fn at_most_four_releases_in_a_row_offer_the_lock_to_a_waiter_of_the_same_process() {
        use RowSource::{Removal, RemovalForOthers};
        let all = LocalWaiters::default();
        let mut waiter = all.join("locks", &Item::new(), clock::now());
        let expected = [Removal, Removal, Removal, Removal, RemovalForOthers, Removal];
        assert_eq!(sources(&all, &mut waiter, 1..=6), expected);
        // The gaps between the fences mean that other processes have held the lock with the fences
        // 7, 9, 11, 13 and 15.
        assert_eq!(sources(&all, &mut waiter, [8, 10, 12, 14, 16]), [Removal; 5]);
    }

    #[test]
    fn a_waiter_ignores_answers_to_requests_that_were_sent_before_it_came() {
        let all = LocalWaiters::default();
        let sent = clock::now();
        let mut waiter = all.join("locks", &Item::new(), sent + std::time::Duration::from_millis(1));
        all.share("locks", &Item::new(), || seen(sent));
        assert!(waiter.seen().now_or_never().is_none());
        all.share("locks", &Item::new(), || seen(sent + std::time::Duration::from_millis(1)));
        assert!(waiter.seen().now_or_never().is_some());
    }

    #[test]
    fn a_waiter_that_leaves_makes_the_next_one_the_first() {
        let all = LocalWaiters::default();
        let [first, second] = [(); 2].map(|()| all.join("locks", &Item::new(), clock::now()));
        assert_eq!((first.is_first(), second.is_first()), (true, false));
        drop(first);
        assert!(second.is_first());
        drop(second);
        assert!(all.rows().is_empty());
    }

    #[test]
    fn a_waiter_does_not_receive_its_own_reads() {
        let all = LocalWaiters::default();
        let [mut reader, mut other] = [(); 2].map(|()| all.join("locks", &Item::new(), clock::now()));
        let sent = clock::now();
        reader.share(sent, || seen(sent));
        assert!(reader.seen().now_or_never().is_none());
        assert_eq!(other.seen().now_or_never().map(|seen| seen.sent), Some(sent));
    }
}
