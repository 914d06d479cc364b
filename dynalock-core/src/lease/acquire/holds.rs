//! Decides how often a waiter reads the row of a lock.

use std::time::Duration;

use crate::{
    clock::Instant,
    lease::record::{LockRecord, Observation},
};

/// The holders of one lock, as a waiter has observed them. The interval between two reads of the
/// waiter depends on two times: the time since the current grant (the holder's age), and the mean
/// time for which earlier holders had the lock (the mean hold).
///
/// | waiter | interval while the holder's age is below three quarters of the mean hold | interval at a greater age of the holder |
/// |---|---|---|
/// | first waiter in the queue | until the holder's age is three quarters of the mean hold | a third of the holder's age |
/// | behind `n` entries of the queue, `n` at least 2 | `n - 1` times the mean hold | `n - 1` times the longer of the mean hold and half of the holder's age |
/// | waiter without a queue | until the holder's age is three quarters of the mean hold | twice the holder's age |
///
/// The intervals between reads grow with the age of the holder, so the number of reads grows only
/// with the logarithm of the time for which the lock is held.
#[derive(Debug, Default)]
pub(crate) struct ObservedHolds {
    holder: Option<ObservedHolder>,
    /// The mean hold: the smoothed mean of the time from one grant of the lock to the next grant.
    mean: Option<Duration>,
}

/// The grant of the current holder, as a waiter has observed it.
#[derive(Debug)]
struct ObservedHolder {
    /// The lease attributes of the holder, or `None` until a read has shown the holder.
    observation: Option<Observation>,
    fence: u64,
    /// The estimated start of the current grant.
    since: Instant,
    /// The time of the last read that showed the current grant.
    last_seen: Instant,
}

/// The place of a waiter in the queue of a lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WaiterPlace {
    /// A waiter without a place in a queue.
    Plain,
    /// A waiter behind the given number of queue entries, including the entry of the holder.
    Behind(u32),
}

impl ObservedHolds {
    /// Records the holder in a row that was read at the time `now`. `epoch_millis` is the time of
    /// the read in epoch milliseconds, by the clock of this machine. A heartbeat does not change
    /// the age of the holder.
    pub(crate) fn observe(&mut self, record: &LockRecord, now: Instant, epoch_millis: u64) {
        let Some(observation) = record.observation() else { return };
        // A row that another program wrote may have a holder without a fence.
        let fence = record.last_fence().unwrap_or(0);
        let mut since = now;
        if let Some(before) = &mut self.holder {
            let is_same = match &before.observation {
                Some(before) => before.is_same_grant(observation),
                None => fence == before.fence,
            };
            if is_same {
                (before.observation, before.last_seen) = (Some(observation.clone()), now);
                return;
            }
            // An eventually consistent read may show an earlier grant, which this method ignores.
            if fence < before.fence {
                return;
            }
            // The stored time at which the head of the queue changed is only a hint, because it
            // comes from the clock of another machine. The last read that showed the previous
            // holder limits the error of the stored time, because the head changed after this read.
            let turn = record.head_since().filter(|_| record.head().is_some()).unwrap_or(epoch_millis);
            let age = Duration::from_millis(epoch_millis.saturating_sub(turn));
            since -= age.min(now.duration_since(before.last_seen));
            // Each grant raises the fence by one. If the fence has grown by more than one since the
            // last read, the reads have missed grants.
            let grants = u32::try_from(fence - before.fence).unwrap_or(u32::MAX).max(1);
            let hold = since.duration_since(before.since) / grants;
            self.count(hold);
        }
        let observation = Some(observation.clone());
        self.holder = Some(ObservedHolder { observation, fence, since, last_seen: now });
    }

    /// Returns the read interval of a waiter while another waiter of its process reads the row for
    /// both. Even with the random factors of the pauses, this waiter pauses longer than the mean
    /// hold, and longer than the waiter that reads for both.
    pub(crate) fn interval_of_others(&self, place: WaiterPlace, now: Instant) -> Duration {
        self.interval(place, now).max(self.mean.unwrap_or_default()).saturating_mul(4)
    }

    /// Records that the lock was free at the time `now`. The library takes the last time at which
    /// the lock was free as the start of the next grant.
    pub(crate) fn observe_free(&mut self, now: Instant) {
        let Some(before) = self.holder.take() else { return };
        if before.observation.is_some() {
            self.count(now.duration_since(before.since));
        }
        let fence = before.fence.saturating_add(u64::from(before.observation.is_some()));
        self.holder = Some(ObservedHolder { observation: None, fence, since: now, last_seen: now });
    }

    fn count(&mut self, hold: Duration) {
        self.mean = Some(self.mean.map_or(hold, |mean| (mean.saturating_mul(3) + hold) / 4));
    }

    /// Returns the interval until the next read of the waiter, or the longest duration if no holder
    /// is known.
    pub(crate) fn interval(&self, place: WaiterPlace, now: Instant) -> Duration {
        let Some(holder) = &self.holder else { return Duration::MAX };
        let age = now.duration_since(holder.since);
        let mean = self.mean.unwrap_or_default();
        let first = mean / 4 * 3;
        match place {
            WaiterPlace::Behind(places @ 2..) => mean.max(age / 2).saturating_mul(places - 1),
            _ if age < first => first.saturating_sub(age),
            WaiterPlace::Behind(_) => age / 3,
            WaiterPlace::Plain => age.saturating_mul(2),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{clock, model::LockModel};

    const fn millis(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    /// Returns the parsed row of a lock without a queue that is held with the given fence.
    fn plain(fence: u64) -> LockRecord {
        use aws_sdk_dynamodb::types::AttributeValue::{N, S};
        let lock = &LockModel::DEFAULT;
        let row = [(lock.owner, S(format!("owner {fence}"))), (lock.fence, N(fence.to_string()))];
        LockRecord::read(lock, &row.map(|(name, value)| (name.to_owned(), value)).into())
    }

    #[test]
    fn the_interval_follows_the_age_of_the_holder_and_the_mean_hold() {
        use WaiterPlace::{Behind, Plain};
        let start = clock::now();
        let mut unknown = ObservedHolds::default();
        unknown.observe(&plain(1), start, 0);
        let mut known = ObservedHolds::default();
        known.observe(&plain(1), start, 0);
        known.observe(&plain(2), start + millis(40), 0);
        for (holds, place, age, expected) in [
            (&unknown, Behind(1), 0, 0),
            (&unknown, Behind(1), 30, 10),
            (&unknown, Behind(3), 30, 30),
            (&unknown, Plain, 30, 60),
            // The mean hold time of `known` is 40 milliseconds.
            (&known, Behind(1), 0, 30),
            (&known, Behind(1), 10, 20),
            (&known, Behind(1), 30, 10),
            (&known, Behind(1), 300, 100),
            (&known, Behind(2), 0, 40),
            (&known, Behind(5), 40, 160),
            (&known, Behind(5), 200, 400),
            (&known, Plain, 0, 30),
            (&known, Plain, 29, 1),
            (&known, Plain, 30, 60),
        ] {
            let since = holds.holder.as_ref().unwrap().since;
            assert_eq!(holds.interval(place, since + millis(age)), millis(expected), "{place:?}, {age} ms");
        }
    }

    #[test]
    fn a_holder_without_a_fence_grows_older() {
        let start = clock::now();
        let mut record = plain(1);
        record.fence = None;
        let mut holds = ObservedHolds::default();
        assert_eq!(holds.interval(WaiterPlace::Plain, start), Duration::MAX);
        holds.observe(&record, start, 0);
        holds.observe(&record, start + millis(10), 0);
        assert_eq!(holds.interval(WaiterPlace::Plain, start + millis(30)), millis(60));
    }

    #[test]
    fn the_mean_hold_counts_the_grants_that_no_read_has_shown() {
        let start = clock::now();
        let mut holds = ObservedHolds::default();
        holds.observe(&plain(1), start, 0);
        holds.observe(&plain(5), start + millis(100), 0);
        assert_eq!(holds.mean, Some(millis(25)));
        // A read that shows a lower fence than an earlier read is outdated, and changes nothing.
        holds.observe(&plain(3), start + millis(110), 0);
        assert_eq!((holds.mean, holds.holder.as_ref().unwrap().fence), (Some(millis(25)), 5));
        holds.observe(&plain(6), start + millis(165), 0);
        assert_eq!(holds.mean, Some(millis(35)));
    }

    #[test]
    fn a_grant_after_a_free_lock_is_as_old_as_the_end_of_the_grant_before() {
        let start = clock::now();
        let mut holds = ObservedHolds::default();
        holds.observe(&plain(1), start, 0);
        holds.observe_free(start + millis(20));
        holds.observe(&plain(2), start + millis(50), 0);
        assert_eq!(holds.mean, Some(millis(20)));
        assert_eq!(holds.interval(WaiterPlace::Plain, start + millis(50)), millis(60));
    }
}
