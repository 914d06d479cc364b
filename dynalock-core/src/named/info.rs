use std::time::Duration;

use super::{guard::payload_of, settings::MODEL};
use crate::{
    codec::Item,
    lease::{
        LeaseOptions,
        name::parts,
        owner::Owner,
        record::{LockRecord, QueueEntry},
    },
    model::LockModel,
};

/// The stored state of a lock. [`Locks::inspect`](crate::Locks::inspect) returns this state.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct LockInfo {
    /// The name of the lock.
    pub name: String,
    /// The namespace of the lock, which [`Locks::namespace`](crate::Locks::namespace) selects.
    pub namespace: Option<String>,
    /// The label of the holder, or `None` if the lock is free. If the holder has no label, `owner`
    /// is the nonce of the holder's grant.
    pub owner: Option<String>,
    /// The random id (nonce) of the holder's grant, or `None` if the lock is free. If a program
    /// that does not use dynalock wrote the owner attribute, the nonce may be empty.
    pub nonce: Option<String>,
    /// The number of callers that wait in the fair queue. The holder does not count as a waiting
    /// caller.
    pub waiting: usize,
    /// The entries of the fair queue, which [`Locks::queue`](crate::Locks::queue) also returns.
    pub queue: Vec<QueuePlace>,
    /// The fence of the last grant of the lock.
    pub fence: u64,
    /// The time, by the local clock, until the lease ends if the holder does not renew the lease.
    /// The remaining time of a free lock is zero.
    pub remaining: Duration,
    /// The payload in the row of the lock. [`Acquire::payload`](crate::lock::Acquire::payload)
    /// stores the payload.
    pub payload: Option<Vec<u8>>,
}

impl LockInfo {
    pub(super) fn read(options: &LeaseOptions, item: &Item) -> Option<Self> {
        let (name, namespace) = parts(item.get(MODEL.partition_key.name)?.as_s().ok()?);
        let lease = Self::of_lease(name, options, item)?;
        Some(Self { namespace: namespace.map(str::to_owned), payload: payload_of(item), ..lease })
    }

    pub(crate) fn of_lease(name: &str, options: &LeaseOptions, item: &Item) -> Option<Self> {
        let record = LockRecord::read(&LockModel::DEFAULT, item);
        let holder = record.holder().map(Owner::parse);
        let now = options.now();
        Some(Self {
            name: name.to_owned(),
            namespace: None,
            owner: holder.map(|holder| holder.label.to_owned()),
            nonce: holder.map(|holder| holder.nonce.to_owned()),
            waiting: record.queue.len().saturating_sub(1),
            queue: QueuePlace::of(&record, now),
            // The first grant of a lock writes a fence into the lock's row, so a row without a
            // fence is not a lock's row.
            fence: record.last_fence()?,
            remaining: holder.map(|_| record.remaining(now, options.ttl)).unwrap_or_default(),
            payload: None,
        })
    }
}

debug_fields!(LockInfo, self => {
    name: self.name,
    owner: self.owner,
    waiting: self.waiting,
    fence: self.fence,
    remaining: self.remaining,
});

/// An entry of the fair queue that [`Locks::queue`](crate::Locks::queue) returns.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct QueuePlace {
    /// The position of the entry in the fair queue. The holder of the lock is at position 0 of the
    /// queue.
    pub position: usize,
    /// The label of the caller, or the nonce of the queue entry if the caller has no label.
    pub owner: String,
    /// The random id (nonce) of the queue entry. If a program that does not use dynalock wrote the
    /// queue entry, the nonce may be empty.
    pub nonce: String,
    /// The time since the caller entered the queue, by the local clock. `since_entry` is `None` if
    /// a program that does not use dynalock wrote the queue entry without a time.
    pub since_entry: Option<Duration>,
}

impl QueuePlace {
    pub(super) fn of(record: &LockRecord, now: u64) -> Vec<Self> {
        let place = |(position, entry): (usize, &QueueEntry)| {
            let Owner { label, nonce } = Owner::parse(&entry.owner);
            let since_entry = entry.entered.map(|entered| Duration::from_millis(now.saturating_sub(entered)));
            Self { position, owner: label.to_owned(), nonce: nonce.to_owned(), since_entry }
        };
        record.queue.iter().enumerate().map(place).collect()
    }
}
