//! Decides how often a waiter reads the row of a lock.

use std::time::Duration;

use crate::{
    clock::Instant,
    lease::record::{LockRecord, Observation},
};

/// The holders of one lock, as a waiter has observed them. The interval between two reads follows
/// from the time for which the current holder has been observed, and from the earlier holders.
///
/// | waiter | interval while the holder is young | interval later |
/// |---|---|---|
/// | next in the queue | until the holder's age is three quarters of the mean hold | a third of the holder's age |
/// | behind `n` entries of the queue | `n - 1` times the mean hold | `n - 1` times half of the holder's age |
/// | plain | until the holder's age is three quarters of the mean hold | twice the holder's age |
///
/// The intervals grow with the age, so the number of reads grows with the logarithm of the hold.
#[derive(Debug, Default)]
pub(crate) struct ObservedHolds {
    holder: Option<ObservedHolder>,
    /// The smoothed time from one grant to the next.
    mean: Option<Duration>,
}

/// The grant of the current holder.
#[derive(Debug)]
struct ObservedHolder {
    /// The lease of the grant, or `None` until a read has shown the holder.
    observation: Option<Observation>,
    fence: u64,
    /// The estimated start of the grant.
    since: Instant,
    /// The time of the last read that showed this grant.
    last_seen: Instant,
}

/// The place of a waiter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WaiterPlace {
    /// A waiter without a place in a queue.
    Plain,
    /// A waiter behind this number of entries of a queue. The holder is one of these entries.
    Behind(u32),
}

impl ObservedHolds {
    /// Records the holder of a row that was read at `now`. The same time by the clock of this
    /// machine is `epoch_millis`. A heartbeat does not change the age of the holder.
    pub(crate) fn observe(&mut self, record: &LockRecord, now: Instant, epoch_millis: u64) {
        let Some((observation, fence)) = record.observation().zip(record.last_fence()) else { return };
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
            // An outdated read may show an earlier grant.
            if fence < before.fence {
                return;
            }
            // The clock of another machine has written the start of the turn, so the start is a
            // hint. The last read of the previous holder limits the error.
            let turn = record.head_since().filter(|_| record.head().is_some()).unwrap_or(epoch_millis);
            let age = Duration::from_millis(epoch_millis.saturating_sub(turn));
            since -= age.min(now.duration_since(before.last_seen));
            // Each grant raises the fence by one, so a larger step shows that reads have missed
            // grants.
            let grants = u32::try_from(fence - before.fence).unwrap_or(u32::MAX).max(1);
            let hold = since.duration_since(before.since) / grants;
            self.count(hold);
        }
        let observation = Some(observation.clone());
        self.holder = Some(ObservedHolder { observation, fence, since, last_seen: now });
    }

    /// Returns the interval of a waiter that receives the reads of another waiter of its process.
    /// The interval is longer than each pause of the waiter that reads, and longer than a hold. The
    /// random factor of a pause is between a half and one and a half.
    pub(crate) fn interval_of_others(&self, place: WaiterPlace, now: Instant) -> Duration {
        self.interval(place, now).max(self.mean.unwrap_or_default()).saturating_mul(4)
    }

    /// Records that the lock was free at `now`. The next grant begins then.
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

    /// Returns the interval until the next read.
    pub(crate) fn interval(&self, place: WaiterPlace, now: Instant) -> Duration {
        let age = self.holder.as_ref().map_or(Duration::ZERO, |holder| now.duration_since(holder.since));
        let mean = self.mean.unwrap_or_default();
        let first = mean / 4 * 3;
        match place {
            WaiterPlace::Behind(places @ 2..) => mean.max(age / 2).saturating_mul(places - 1),
            _ if age < first => first - age,
            WaiterPlace::Behind(_) => age / 3,
            WaiterPlace::Plain => age.saturating_mul(2),
        }
    }
}
