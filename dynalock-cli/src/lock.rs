//! A lock as the command line shows it.

use std::time::Duration;

use dynalock::lock::{LockInfo, QueuePlace};
use serde_json::{Value, json};

use crate::output::milliseconds;

/// A lock at the moment of a read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Lock {
    pub(crate) name: String,
    pub(crate) namespace: Option<String>,
    pub(crate) holder: Option<Holder>,
    /// The fence of the last grant.
    pub(crate) fence: u64,
    /// The callers behind the holder, in the order in which they will be served.
    pub(crate) waiters: Vec<Waiter>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Holder {
    pub(crate) owner: String,
    pub(crate) nonce: String,
    /// The time until the lease ends, unless the holder renews the lease.
    pub(crate) remaining: Duration,
    /// `true` if the lease had ended at the moment of the read, so that a caller may take the lock
    /// over.
    pub(crate) has_expired: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Waiter {
    pub(crate) owner: String,
    /// The nonce of the entry, which differs between all entries of a queue.
    pub(crate) ticket: String,
    /// The time since the caller entered the queue, if the entry contains a time.
    pub(crate) since_entry: Option<Duration>,
}

impl Lock {
    /// Returns this lock with all durations as they are after `elapsed`. A held lock does not
    /// become expired, because the holder may have renewed its lease since the read.
    pub(crate) fn after(mut self, elapsed: Duration) -> Self {
        if let Some(holder) = &mut self.holder {
            holder.remaining = holder.remaining.saturating_sub(elapsed);
        }
        for waiter in &mut self.waiters {
            waiter.since_entry = waiter.since_entry.map(|since| since + elapsed);
        }
        self
    }

    /// Returns the state of the lock in one word, which is `held`, `expired` or `free`.
    pub(crate) fn state(&self) -> &'static str {
        match &self.holder {
            Some(holder) if holder.has_expired => "expired",
            Some(_) => "held",
            None => "free",
        }
    }

    /// Returns whether `owner` holds the lock or waits for it.
    pub(crate) fn concerns(&self, owner: &str) -> bool {
        let holds = self.holder.as_ref().is_some_and(|holder| holder.owner == owner);
        holds || self.waiters.iter().any(|waiter| waiter.owner == owner)
    }

    pub(crate) fn to_json(&self) -> Value {
        let waiters = self.waiters.iter().enumerate().map(|(behind, waiter)| {
            json!({
                "position": behind + 1,
                "owner": waiter.owner,
                "ticket": waiter.ticket,
                "since_entry_ms": waiter.since_entry.map(milliseconds),
            })
        });
        json!({
            "name": self.name,
            "namespace": self.namespace,
            "state": self.state(),
            "owner": self.holder.as_ref().map(|holder| &holder.owner),
            "nonce": self.holder.as_ref().map(|holder| &holder.nonce),
            "remaining_ms": self.holder.as_ref().map(|holder| milliseconds(holder.remaining)),
            "fence": self.fence,
            "waiters": waiters.collect::<Vec<_>>(),
        })
    }
}

impl From<LockInfo> for Lock {
    fn from(info: LockInfo) -> Self {
        let nonce = info.nonce.unwrap_or_default();
        let (remaining, has_expired) = (info.remaining, info.remaining.is_zero());
        let holder = info.owner.map(|owner| Holder { owner, nonce, remaining, has_expired });
        // The head of a queue holds the lock, unless the lock has an owner outside of the queue.
        let is_holder = |place: &QueuePlace| {
            let holds = |holder: &Holder| holder.owner == place.owner && holder.nonce == place.nonce;
            place.position == 0 && holder.as_ref().is_some_and(holds)
        };
        let waiting = info.queue.iter().filter(|place| !is_holder(place));
        let waiters = waiting.map(|place| Waiter {
            owner: place.owner.clone(),
            ticket: place.nonce.clone(),
            since_entry: place.since_entry,
        });
        let waiters = waiters.collect();
        Self { name: info.name, namespace: info.namespace, fence: info.fence, holder, waiters }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lock(remaining: Duration) -> Lock {
        let (owner, nonce, has_expired) = ("ann".to_owned(), String::new(), remaining.is_zero());
        let waiter = Waiter { owner: "bob".to_owned(), ticket: String::new(), since_entry: Some(Duration::ZERO) };
        let holder = Some(Holder { owner, nonce, remaining, has_expired });
        Lock { name: "printer".to_owned(), namespace: None, holder, fence: 7, waiters: vec![waiter] }
    }

    #[test]
    fn times_go_on_after_a_read() {
        let later = lock(Duration::from_secs(5)).after(Duration::from_secs(2));
        assert_eq!(later.holder.unwrap().remaining, Duration::from_secs(3));
        assert_eq!(later.waiters[0].since_entry, Some(Duration::from_secs(2)));
    }

    #[test]
    fn a_lease_has_ended_only_if_a_read_has_shown_it() {
        assert_eq!(lock(Duration::ZERO).state(), "expired");
        assert_eq!(lock(Duration::from_secs(5)).after(Duration::from_secs(9)).state(), "held");
    }
}
