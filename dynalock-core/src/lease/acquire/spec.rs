use std::sync::Arc;

use crate::{
    error::{Error, Spent},
    lease::{
        held_grant::Background,
        name::shown,
        options::{LeaseOptions, Wait},
        record::QueueEntry,
        row::Row,
    },
    random,
    retry::{Attempts, CallCost, Connection, Limits, Purpose},
    telemetry::{detached, failure},
};

#[derive(Debug, Clone)]
pub(crate) struct AcquireSpec {
    pub(crate) connection: Arc<Connection>,
    pub(crate) row: Row,
    /// The name of the lock's row, or the key of a leased item. If `row_name` is empty, errors show
    /// no key.
    pub(crate) row_name: Arc<str>,
    pub(crate) options: LeaseOptions,
    pub(crate) wait: Wait,
    pub(crate) owner_label: Arc<str>,
    pub(crate) payload: Option<Arc<[u8]>>,
    pub(crate) limits: Limits,
    /// One counter counts the capacity units for all locks of a call.
    pub(crate) call_cost: Option<Arc<CallCost>>,
    pub(crate) background: Background,
}

impl AcquireSpec {
    /// After a lost reply, the owner text in the lock's row shows whether DynamoDB has granted the
    /// lock to the call.
    pub(crate) fn owner(&self) -> Arc<str> {
        let nonce = random::generator().u64(..);
        match &*self.owner_label {
            "" => format!("{nonce:016x}").into(),
            name => format!("{name}:{nonce:016x}").into(),
        }
    }

    /// Other callers compute the end of the lease from the time in the queue entry.
    pub(crate) fn entry(&self) -> Arc<str> {
        QueueEntry::new(&self.owner(), self.options.ttl, self.options.now()).owner
    }

    /// Starts a background release of a lock that DynamoDB may have granted to `owner`.
    pub(crate) fn give_back(&self, owner: &Arc<str>) {
        let (spec, owner, table) = (self.clone(), Arc::clone(owner), Arc::clone(&self.row.table));
        let release = async move {
            let limits = Limits { deadline: spec.options.ttl, ..Limits::default() };
            let mut attempts = Attempts::new(&spec.connection, limits).with_purpose(Purpose::Poll);
            attempts.write(|| spec.row.release(&owner)).await
        };
        tokio::spawn(detached("release", table, release, failure));
    }

    pub(crate) fn not_found(&self, spent: Spent) -> Error {
        Error::NotFound { table: Arc::clone(&self.row.table), key: self.shown_name(), spent }
    }

    /// Returns `None` if errors must not show the key of the item.
    pub(crate) fn shown_name(&self) -> Option<Arc<str>> {
        shown(&self.row_name)
    }
}
