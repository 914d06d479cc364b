use std::{
    collections::{BTreeMap, HashMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tokio::sync::watch;

use crate::{clock::Instant, codec::Item};

/// The calls that wait for locks of one `Locks` or repository and its clones. The map has one entry
/// for each awaited lock row, under a text that contains the table name and the key of the lock
/// row.
#[derive(Debug, Clone, Default)]
pub(crate) struct LocalWaiters(Arc<Mutex<HashMap<String, watch::Sender<AwaitedRow>>>>);

#[derive(Debug, Default)]
struct AwaitedRow {
    /// The owner texts (label and nonce) of the waiting calls, in the order in which the calls
    /// began to wait.
    waiters: VecDeque<Arc<str>>,
    /// The owner text (label and nonce) of the call that most recently stopped waiting for the
    /// lock, whether or not the call has acquired the lock.
    left: Option<Arc<str>>,
    seen: Option<SeenRow>,
    /// The fence with which this process most recently released the lock.
    last_fence: u64,
    /// The number of consecutive releases of the lock by this process. After four consecutive
    /// releases by this process, the next release by this process leaves the lock to another
    /// process, and sets `releases` to zero.
    releases: u32,
}

#[derive(Debug, Clone)]
pub(crate) struct SeenRow {
    pub(crate) item: Option<Item>,
    /// The time at which this process sent the request for the lock row.
    pub(crate) sent: Instant,
    pub(crate) source: RowSource,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RowSource {
    EventualRead,
    /// A consistent read has returned the lock row, or DynamoDB has returned the lock row with the
    /// refusal of a write.
    ConsistentRead,
    /// A write has removed the holder of the lock, so the lock has no holder.
    Removal,
    /// A write has removed the holder of the lock. The waiters of this process make no immediate
    /// attempt to acquire the lock, so a waiter of another process can acquire the lock.
    RemovalForOthers,
}

#[derive(Debug)]
pub(crate) struct LocalWaiter {
    all: LocalWaiters,
    key: String,
    owner: Arc<str>,
    row: watch::Receiver<AwaitedRow>,
    /// The waiting call ignores lock rows from requests that were sent before `since`.
    since: Instant,
}

impl LocalWaiters {
    pub(crate) fn join(&self, table: &str, key: &Item, owner: &Arc<str>, since: Instant) -> LocalWaiter {
        let key = text(table, key);
        let mut rows = self.rows();
        let sender = rows.entry(key.clone()).or_default();
        sender.send_if_modified(|row| {
            row.waiters.push_back(Arc::clone(owner));
            false
        });
        LocalWaiter { all: self.clone(), key, owner: Arc::clone(owner), row: sender.subscribe(), since }
    }

    pub(crate) fn share(&self, table: &str, key: &Item, seen: impl FnOnce() -> SeenRow) {
        self.change(table, key, |row| row.seen = Some(seen()));
    }

    /// Passes a lock row to the calls that wait for the lock, after a release by this process.
    /// `share_release` is only for locks without a fair queue.
    pub(crate) fn share_release(&self, table: &str, key: &Item, fence: u64, seen: impl FnOnce() -> SeenRow) {
        const MOST_RELEASES: u32 = 4;
        self.change(table, key, |row| {
            // Each grant raises the fence by one, so a larger difference shows that another process
            // has held the lock.
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
        // A panic cannot leave the map of the lock rows in an invalid state, so a poisoned mutex is
        // harmless.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl LocalWaiter {
    pub(crate) fn is_first(&self) -> bool {
        self.row.borrow().waiters.front() == Some(&self.owner)
    }

    /// Returns `true` if `owner` is the owner text (label and nonce) of a waiting call in this
    /// process. Also returns `true` for the owner text of the call that most recently stopped
    /// waiting for the lock.
    pub(crate) fn is_local(&self, owner: &str) -> bool {
        let row = self.row.borrow();
        row.left.iter().chain(&row.waiters).any(|local| **local == *owner)
    }

    pub(crate) fn set_owner(&mut self, owner: &Arc<str>) {
        if let Some(row) = self.all.rows().get(&self.key) {
            row.send_if_modified(|row| {
                for waiting in row.waiters.iter_mut().filter(|waiting| **waiting == self.owner) {
                    waiting.clone_from(owner);
                }
                false
            });
        }
        self.owner.clone_from(owner);
    }

    /// Passes the lock row `seen` to the other calls that wait for the lock. After `share`, the
    /// call that has read `seen` ignores lock rows from requests that were sent before the request
    /// for `seen`.
    pub(crate) fn share(&mut self, seen: &SeenRow) {
        self.since = seen.sent;
        let is_alone = self.row.borrow().waiters.len() < 2;
        if !is_alone && let Some(sender) = self.all.rows().get(&self.key) {
            sender.send_modify(|row| row.seen = Some(seen.clone()));
            // The method `seen` must not return the row to the call that has read the row.
            self.row.mark_unchanged();
        }
    }

    pub(crate) async fn seen(&mut self) -> SeenRow {
        loop {
            // A closed channel never delivers a lock row, so the future of `seen` stays pending.
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
            row.waiters.retain(|waiting| *waiting != self.owner);
            row.left = Some(Arc::clone(&self.owner));
            false
        });
        if row.borrow().waiters.is_empty() {
            rows.remove(&self.key);
        }
    }
}

/// Returns the same text for two equal keys, even if the attributes of the keys are in a different
/// order.
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

    fn join(all: &LocalWaiters, owner: &str, since: Instant) -> LocalWaiter {
        all.join("locks", &Item::new(), &owner.into(), since)
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
        let mut waiter = join(&all, "waiter", clock::now());
        let expected = [Removal, Removal, Removal, Removal, RemovalForOthers, Removal];
        assert_eq!(sources(&all, &mut waiter, 1..=6), expected);
        // The fences 7, 9, 11, 13 and 15 are missing, so other processes have held the lock between
        // the releases by this process.
        assert_eq!(sources(&all, &mut waiter, [8, 10, 12, 14, 16]), [Removal; 5]);
    }

    #[test]
    fn a_waiter_ignores_answers_to_requests_that_were_sent_before_it_came() {
        let all = LocalWaiters::default();
        let sent = clock::now();
        let mut waiter = join(&all, "waiter", sent + std::time::Duration::from_millis(1));
        all.share("locks", &Item::new(), || seen(sent));
        assert!(waiter.seen().now_or_never().is_none());
        all.share("locks", &Item::new(), || seen(sent + std::time::Duration::from_millis(1)));
        assert!(waiter.seen().now_or_never().is_some());
    }

    #[test]
    fn a_waiter_that_leaves_makes_the_next_one_the_first() {
        let all = LocalWaiters::default();
        let [first, second] = ["first", "second"].map(|owner| join(&all, owner, clock::now()));
        assert_eq!((first.is_first(), second.is_first()), (true, false));
        drop(first);
        assert!(second.is_first());
        drop(second);
        assert!(all.rows().is_empty());
    }

    #[test]
    fn an_owner_is_local_while_it_waits_and_after_it_has_left_last() {
        let all = LocalWaiters::default();
        let [first, mut second, third] = ["first", "second", "third"].map(|owner| join(&all, owner, clock::now()));
        let local = || ["first", "second", "third"].map(|owner| third.is_local(owner));
        assert_eq!((local(), third.is_local("elsewhere")), ([true; 3], false));
        drop(first);
        assert_eq!(local(), [true; 3]);
        second.set_owner(&"second again".into());
        drop(second);
        assert_eq!((local(), third.is_local("second again")), ([false, false, true], true));
    }

    #[test]
    fn a_waiter_does_not_receive_its_own_reads() {
        let all = LocalWaiters::default();
        let [mut reader, mut other] = ["first", "second"].map(|owner| join(&all, owner, clock::now()));
        let sent = clock::now();
        reader.share(&seen(sent));
        assert!(reader.seen().now_or_never().is_none());
        assert_eq!(other.seen().now_or_never().map(|seen| seen.sent), Some(sent));
    }
}
