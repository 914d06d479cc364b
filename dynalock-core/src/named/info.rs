use std::{fmt, time::Duration};

use super::{guard::payload_of, settings::MODEL};
use crate::{
    codec::Item,
    lease::{LeaseOptions, name::parts, owner::Owner, record::LockRecord},
    model::LockModel,
};

/// The state of a lock as its row shows it: [`Locks::inspect`](crate::Locks::inspect).
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct LockInfo {
    /// The name of the lock.
    pub name: String,
    /// The namespace of the lock: [`Locks::namespace`](crate::Locks::namespace).
    pub namespace: Option<String>,
    /// The label of the holder, or `None` if the lock is free. If the holder has no label, this is
    /// its nonce.
    pub owner: Option<String>,
    /// The nonce of the holder's grant, or `None` if the lock is free. The nonce is empty if
    /// another program wrote the holder.
    pub nonce: Option<String>,
    /// The number of callers that wait in the fair queue, without the holder.
    pub waiting: usize,
    /// The fence of the last grant.
    pub fence: u64,
    /// The time until the lease ends by this machine's clock, unless the holder renews it. The
    /// remaining time is zero for a free lock.
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
            // Each row of a lock has a fence from its first grant on. A row without a fence is not
            // the row of a lock.
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

/// An entry of a fair queue: [`Locks::queue`](crate::Locks::queue).
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct QueuePlace {
    /// The number of entries before this one. The entry at position 0 holds the lock.
    pub position: usize,
    /// The label of the caller, or the nonce of the caller if it has no label.
    pub owner: String,
    /// The nonce of the entry. The nonce is empty if another program wrote the entry.
    pub nonce: String,
}

impl QueuePlace {
    pub(super) fn read(position: usize, entry: &str) -> Self {
        let Owner { label, nonce } = Owner::parse(entry);
        Self { position, owner: label.to_owned(), nonce: nonce.to_owned() }
    }
}
