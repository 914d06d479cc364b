//! The parameters of one acquisition.

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

/// The parameters of one acquisition: the row, the owner and the limits.
#[derive(Debug, Clone)]
pub(crate) struct AcquireSpec {
    pub(crate) connection: Arc<Connection>,
    pub(crate) row: Row,
    /// The name of the lock's row, from which errors take the name of the lock. For the lease of an
    /// item, the name is the key of the item, or is empty if errors must not show the key.
    pub(crate) row_name: Arc<str>,
    pub(crate) options: LeaseOptions,
    pub(crate) wait: Wait,
    /// The label of the holder that the caller has set. An owner text contains the label and a
    /// nonce.
    pub(crate) owner_label: Arc<str>,
    pub(crate) payload: Option<Arc<[u8]>>,
    pub(crate) limits: Limits,
    /// The counter of the capacity units that the call consumes, or `None` if the call is not
    /// metered. All locks of the call share the counter.
    pub(crate) call_cost: Option<Arc<CallCost>>,
    pub(crate) background: Background,
}

impl AcquireSpec {
    /// Returns an owner text: the label of the owner with a new nonce. A call without a queue keeps
    /// the owner text for its next attempts, unless a grant to this owner text has ended. With the
    /// same owner text in all attempts, the row names the waiting call even if DynamoDB granted the
    /// lock to a late copy of an attempt.
    pub(crate) fn owner(&self) -> Arc<str> {
        let nonce = random::generator().u64(..);
        match &*self.owner_label {
            "" => format!("{nonce:016x}").into(),
            name => format!("{name}:{nonce:016x}").into(),
        }
    }

    /// Returns the queue entry of a call that enters the queue now. When an entry becomes the head
    /// of the queue, other callers compute the end of its lease from the time in the entry.
    pub(crate) fn entry(&self) -> Arc<str> {
        QueueEntry::new(&self.owner(), self.options.ttl, self.options.now()).owner
    }

    /// Starts a background release of a lock that DynamoDB may have granted to `owner` by an
    /// attempt whose reply was lost.
    pub(crate) fn give_back(&self, owner: &Arc<str>) {
        let (spec, owner) = (self.clone(), Arc::clone(owner));
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            let table = Arc::clone(&spec.row.table);
            let release = async move {
                let limits = Limits { deadline: spec.options.ttl, ..Limits::default() };
                let mut attempts = Attempts::new(&spec.connection, limits).with_purpose(Purpose::Poll);
                attempts.write(|| spec.row.release(&owner)).await
            };
            runtime.spawn(detached("release", table, release, failure));
        }
    }

    /// Returns the error of a call that acquires the lease of a missing item.
    pub(crate) fn not_found(&self, spent: Spent) -> Error {
        Error::NotFound { table: Arc::clone(&self.row.table), key: self.shown_name(), spent }
    }

    /// Returns the name of the lock or the key of the item, as errors show it. Returns `None` if
    /// errors must not show the key.
    pub(crate) fn shown_name(&self) -> Option<Arc<str>> {
        shown(&self.row_name)
    }
}
