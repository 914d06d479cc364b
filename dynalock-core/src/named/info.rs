use std::{fmt, time::Duration};

use super::{guard::payload_of, settings::MODEL};
use crate::{
    codec::Item,
    lease::{LeaseOptions, name::parts, owner::Owner, record::LockRecord},
    model::LockModel,
};

/// The state of a lock in its row, which [`Locks::inspect`](crate::Locks::inspect) returns.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct LockInfo {
    /// The name of the lock.
    pub name: String,
    /// The namespace of the lock: [`Locks::namespace`](crate::Locks::namespace).
    pub namespace: Option<String>,
    /// The label of the holder, or `None` if the lock is free. If the holder has no label, `owner`
    /// is the nonce of its grant.
    pub owner: Option<String>,
    /// The nonce of the holder's grant, or `None` if the lock is free. If another program wrote the
    /// owner attribute, the nonce may be empty.
    pub nonce: Option<String>,
    /// The number of callers that wait in the fair queue, without the holder.
    pub waiting: usize,
    /// The fence of the last grant.
    pub fence: u64,
    /// The time until the lease ends by this machine's clock, unless the holder renews the lease.
    /// The remaining time of a free lock is zero.
    pub remaining: Duration,
    /// The payload of the row: [`Acquire::payload`](crate::lock::Acquire::payload).
    pub payload: Option<Vec<u8>>,
}

impl LockInfo {
    /// Reads a row. Returns `None` if the row does not belong to a lock.
    pub(super) fn read(options: &LeaseOptions, item: &Item) -> Option<Self> {
        let (name, namespace) = parts(item.get(MODEL.partition_key.name)?.as_s().ok()?);
        let record = LockRecord::read(&LockModel::DEFAULT, item);
        let holder = record.holder().map(Owner::parse);
        let remaining = match holder {
            Some(_) => record.remaining(options.now(), options.ttl),
            None => Duration::ZERO,
        };
        Some(Self {
            name: name.to_owned(),
            namespace: namespace.map(str::to_owned),
            owner: holder.map(|holder| holder.label.to_owned()),
            nonce: holder.map(|holder| holder.nonce.to_owned()),
            waiting: record.queue.len().saturating_sub(1),
            // The first grant of a lock gives its row a fence. A row without a fence therefore does
            // not belong to a lock.
            fence: record.last_fence()?,
            remaining,
            payload: payload_of(item),
        })
    }
}

impl fmt::Debug for LockInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, owner, waiting, fence, remaining, .. } = self;
        let mut shown = f.debug_struct("LockInfo");
        shown.field("name", name).field("owner", owner).field("waiting", waiting).field("fence", fence);
        shown.field("remaining", remaining);
        shown.finish_non_exhaustive()
    }
}

/// An entry of a fair queue, which [`Locks::queue`](crate::Locks::queue) returns.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct QueuePlace {
    /// The number of entries before this entry. The caller of the entry at position 0 holds the
    /// lock.
    pub position: usize,
    /// The label of the caller. If the caller has no label, the nonce of the entry.
    pub owner: String,
    /// The nonce of the entry. If another program wrote the entry, the nonce may be empty.
    pub nonce: String,
}

impl QueuePlace {
    pub(super) fn read(position: usize, entry: &str) -> Self {
        let Owner { label, nonce } = Owner::parse(entry);
        Self { position, owner: label.to_owned(), nonce: nonce.to_owned() }
    }
}
