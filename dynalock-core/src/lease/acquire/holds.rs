use std::{ops::Range, time::Duration};

use crate::{
    clock::Instant,
    lease::record::{LockRecord, Observation},
};

/// The observed holders of one lock, from which a waiter computes the pauses between its reads. The
/// section "Waiting for a lock" of ARCHITECTURE.md describes the pauses. The pause between two
/// reads grows with the time for which the holder has had the lock. The number of reads therefore
/// grows only with the logarithm of this time.
#[derive(Debug, Default)]
pub(crate) struct ObservedHolds {
    holder: Option<ObservedHolder>,
    /// The smoothed mean of the time from one grant of the lock to the next grant.
    mean: Option<Duration>,
}

#[derive(Debug)]
struct ObservedHolder {
    /// The field `observation` is `None` until a read has shown the holder.
    observation: Option<Observation>,
    fence: u64,
    /// The estimated time at which the holder acquired the lock.
    since: Instant,
    last_seen: Instant,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WaiterPlace {
    Plain,
    /// A waiter behind the given number of queue entries, including the entry of the holder.
    Behind(u32),
}

impl ObservedHolds {
    /// `epoch_millis` is the time `now` in epoch milliseconds by the clock of this machine, and
    /// `ttl` is the ttl of the waiter.
    pub(crate) fn observe(&mut self, record: &LockRecord, now: Instant, epoch_millis: u64, ttl: Duration) {
        let Some(observation) = record.observation() else { return };
        // A program that does not use dynalock may write a row with a holder but without a fence.
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
            // An eventually consistent read may show an earlier grant, which the code ignores.
            if fence < before.fence {
                return;
            }
            // The stored time of a grant comes from the clock of another machine. The last read
            // that showed the previous holder limits the error of the stored time.
            let start = record.granted_at(ttl).unwrap_or(epoch_millis);
            let age = Duration::from_millis(epoch_millis.saturating_sub(start));
            since -= age.min(now.duration_since(before.last_seen));
            // Each grant raises the fence by one, so the fence also counts the grants that no read
            // has shown.
            let grants = u32::try_from(fence - before.fence).unwrap_or(u32::MAX).max(1);
            let hold = since.duration_since(before.since) / grants;
            self.count(hold);
        }
        let observation = Some(observation.clone());
        self.holder = Some(ObservedHolder { observation, fence, since, last_seen: now });
    }

    /// Returns the pause between two reads of a waiter, while another waiter of the process reads
    /// the lock's row for both waiters. The returned pause is longer than the mean time for which
    /// callers hold the lock, and longer than the pause between two reads by the other waiter.
    pub(crate) fn pause_of_others(&self, place: WaiterPlace, now: Instant, round_trip: Duration) -> Range<Duration> {
        around(self.pause(place, now, round_trip).end.max(self.mean.unwrap_or_default()).saturating_mul(4))
    }

    /// Records `now`, the time of a read that showed a free lock, as the estimated start of the
    /// next grant.
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

    /// The returned pause is `Duration::MAX` if no read has shown a holder of the lock.
    pub(crate) fn pause(&self, place: WaiterPlace, now: Instant, round_trip: Duration) -> Range<Duration> {
        let Some(holder) = &self.holder else { return Duration::MAX..Duration::MAX };
        let age = now.duration_since(holder.since);
        let mean = self.mean.unwrap_or_default();
        let first = match place {
            WaiterPlace::Behind(_) => mean / 5 * 4,
            WaiterPlace::Plain => mean / 10 * 7,
        };
        let (until_first, later) = (first.saturating_sub(age), age.saturating_sub(first));
        match place {
            WaiterPlace::Behind(places @ 2..) => around(mean.max(age / 2).saturating_mul(places - 1)),
            // A queue has only one first waiter, so the pause of the first waiter needs no random
            // part.
            WaiterPlace::Behind(_) if age < first => until_first..until_first,
            // The lower bound prevents a burst of reads just after the expected end of a hold.
            WaiterPlace::Behind(_) => around((later / 3).max(mean / 20)),
            // All waiters that read the free lock during one round trip send an acquire, and
            // DynamoDB grants only one acquire.
            WaiterPlace::Plain if age < first => until_first..until_first + (mean / 2).max(round_trip * 5),
            WaiterPlace::Plain => around(later.saturating_mul(2)),
        }
    }
}

fn around(pause: Duration) -> Range<Duration> {
    pause / 2..pause.saturating_add(pause / 2)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{clock, model::LockModel};

    const fn millis(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    /// Makes a lock row with a holder, the fence `fence` and an empty queue.
    fn plain(fence: u64) -> LockRecord {
        use aws_sdk_dynamodb::types::AttributeValue::{N, S};
        let lock = &LockModel::DEFAULT;
        let row = [(lock.owner, S(format!("owner {fence}"))), (lock.fence, N(fence.to_string()))];
        LockRecord::read(lock, &row.map(|(name, value)| (name.to_owned(), value)).into())
    }

    fn observe(holds: &mut ObservedHolds, record: &LockRecord, now: Instant) {
        holds.observe(record, now, 0, Duration::ZERO);
    }

    #[test]
    fn the_pause_follows_the_age_of_the_holder_and_the_mean_hold() {
        use WaiterPlace::{Behind, Plain};
        let start = clock::now();
        let mut unknown = ObservedHolds::default();
        observe(&mut unknown, &plain(1), start);
        let mut known = ObservedHolds::default();
        observe(&mut known, &plain(1), start);
        observe(&mut known, &plain(2), start + millis(40));
        for (holds, place, age, expected) in [
            (&unknown, Behind(1), 0, 0..0),
            (&unknown, Behind(1), 30, 5..15),
            (&unknown, Behind(3), 30, 15..45),
            (&unknown, Plain, 30, 30..90),
            // The mean hold of `known` is 40 milliseconds.
            (&known, Behind(1), 0, 32..32),
            (&known, Behind(1), 10, 22..22),
            (&known, Behind(1), 32, 1..3),
            (&known, Behind(1), 92, 10..30),
            (&known, Behind(2), 0, 20..60),
            (&known, Behind(5), 40, 80..240),
            (&known, Behind(5), 200, 200..600),
            (&known, Plain, 0, 28..48),
            (&known, Plain, 20, 8..28),
            (&known, Plain, 48, 20..60),
        ] {
            let since = holds.holder.as_ref().unwrap().since;
            let expected = millis(expected.start)..millis(expected.end);
            assert_eq!(holds.pause(place, since + millis(age), millis(1)), expected, "{place:?}, {age} ms");
        }
    }

    #[test]
    fn the_first_read_of_a_plain_waiter_is_spread_over_five_round_trips() {
        let start = clock::now();
        let mut holds = ObservedHolds::default();
        observe(&mut holds, &plain(1), start);
        observe(&mut holds, &plain(2), start + millis(40));
        let pause = holds.pause(WaiterPlace::Plain, start + millis(40), millis(10));
        assert_eq!(pause, millis(28)..millis(78));
    }

    #[test]
    fn the_end_of_a_plain_lease_shows_the_start_of_its_grant() {
        const TTL: Duration = millis(1_000);
        let start = clock::now();
        for (until, since) in [(1_090, 90), (1_200, 100), (1_010, 50)] {
            let mut holds = ObservedHolds::default();
            holds.observe(&plain(1), start, 0, TTL);
            holds.observe(&plain(1), start + millis(50), 50, TTL);
            let mut record = plain(2);
            record.until = Some(until);
            holds.observe(&record, start + millis(100), 100, TTL);
            assert_eq!(holds.holder.unwrap().since, start + millis(since), "{until}");
        }
    }

    #[test]
    fn a_holder_without_a_fence_grows_older() {
        let start = clock::now();
        let mut record = plain(1);
        record.fence = None;
        let mut holds = ObservedHolds::default();
        assert_eq!(holds.pause(WaiterPlace::Plain, start, Duration::ZERO), Duration::MAX..Duration::MAX);
        observe(&mut holds, &record, start);
        observe(&mut holds, &record, start + millis(10));
        assert_eq!(holds.pause(WaiterPlace::Plain, start + millis(30), Duration::ZERO), millis(30)..millis(90));
    }

    #[test]
    fn the_mean_hold_counts_the_grants_that_no_read_has_shown() {
        let start = clock::now();
        let mut holds = ObservedHolds::default();
        observe(&mut holds, &plain(1), start);
        observe(&mut holds, &plain(5), start + millis(100));
        assert_eq!(holds.mean, Some(millis(25)));
        // A read that shows a lower fence than an earlier read is outdated, and changes nothing.
        observe(&mut holds, &plain(3), start + millis(110));
        assert_eq!((holds.mean, holds.holder.as_ref().unwrap().fence), (Some(millis(25)), 5));
        observe(&mut holds, &plain(6), start + millis(165));
        assert_eq!(holds.mean, Some(millis(35)));
    }

    #[test]
    fn a_grant_after_a_free_lock_is_as_old_as_the_end_of_the_grant_before() {
        let start = clock::now();
        let mut holds = ObservedHolds::default();
        observe(&mut holds, &plain(1), start);
        holds.observe_free(start + millis(20));
        observe(&mut holds, &plain(2), start + millis(50));
        assert_eq!(holds.mean, Some(millis(20)));
        // The mean hold is 20 milliseconds, and the holder is 30 milliseconds old.
        assert_eq!(holds.pause(WaiterPlace::Plain, start + millis(50), Duration::ZERO), millis(16)..millis(48));
    }
}
