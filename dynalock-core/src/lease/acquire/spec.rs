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
    /// The name of the lock that errors show. For the lease of an item, the name is the key of the
    /// item, if errors may show the key.
    pub(crate) row_name: Arc<str>,
    pub(crate) options: LeaseOptions,
    pub(crate) wait: Wait,
    /// The label of the owner, without a nonce.
    pub(crate) owner_label: Arc<str>,
    pub(crate) payload: Option<Arc<[u8]>>,
    pub(crate) limits: Limits,
    /// The cost of the call, which all its locks share. `None` if the call is not metered.
    pub(crate) call_cost: Option<Arc<CallCost>>,
    pub(crate) background: Background,
}

impl AcquireSpec {
    /// Returns the label of the owner with a new nonce. The call keeps this owner until the lock is
    /// granted. If a late copy of an attempt is granted, the row therefore still names this call.
    pub(crate) fn owner(&self) -> Arc<str> {
        let nonce = random::generator().u64(..);
        match &*self.owner_label {
            "" => format!("{nonce:016x}").into(),
            name => format!("{name}:{nonce:016x}").into(),
        }
    }

    /// Returns the queue entry of a call that enters now. Other callers compute the end of the
    /// head's lease from the time in its entry.
    pub(crate) fn entry(&self) -> Arc<str> {
        QueueEntry::new(&self.owner(), self.options.ttl, self.options.now()).owner
    }

    /// Starts a background release for an owner whose grant may not have been reported because of a
    /// lost reply.
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

    /// Returns the error for the lease of a missing item.
    pub(crate) fn not_found(&self, spent: Spent) -> Error {
        Error::NotFound { table: Arc::clone(&self.row.table), key: self.shown_name(), spent }
    }

    /// Returns the name of the lock or the key of the item, if errors may show it.
    pub(crate) fn shown_name(&self) -> Option<Arc<str>> {
        shown(&self.row_name)
    }
}
