//! The description of one acquisition.

use std::sync::Arc;

use crate::{
    error::{Error, Spent},
    lease::{
        held_grant::Background,
        name::parts,
        options::{LeaseOptions, Wait},
        record::QueueEntry,
        row::Row,
    },
    random,
    retry::{Attempts, Connection, Limits},
};

/// One acquisition: the row, the owner and the limits.
#[derive(Debug, Clone)]
pub(crate) struct AcquireSpec {
    pub(crate) connection: Arc<Connection>,
    pub(crate) row: Row,
    /// The name of the lock's row. For an item it is the key, if errors may show it.
    pub(crate) row_name: Arc<str>,
    pub(crate) options: LeaseOptions,
    pub(crate) wait: Wait,
    /// The label of the owner, without a nonce.
    pub(crate) owner_label: Arc<str>,
    pub(crate) payload: Option<Arc<[u8]>>,
    pub(crate) limits: Limits,
    pub(crate) background: Background,
}

impl AcquireSpec {
    /// The label with a nonce for one grant. The call keeps it until the lock is granted, so that a late copy of the request is the grant
    /// and no ghost.
    pub(crate) fn owner(&self) -> Arc<str> {
        let nonce = random::generator().u64(..);
        match &*self.owner_label {
            "" => format!("{nonce:016x}").into(),
            name => format!("{name}:{nonce:016x}").into(),
        }
    }

    /// The entry of a queue that the call enters now. Other callers count the lease of the head from the time in its entry.
    pub(crate) fn entry(&self) -> Arc<str> {
        QueueEntry::new(&self.owner(), self.options.ttl, self.options.now()).owner
    }

    /// Releases, in the background, a grant whose reply may have been lost.
    pub(crate) fn give_back(&self, owner: &Arc<str>) {
        let (spec, owner) = (self.clone(), Arc::clone(owner));
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move {
                let limits = Limits { deadline: spec.options.ttl, ..Limits::default() };
                Attempts::new(&spec.connection, limits).update(|| spec.row.release(&owner)).await
            });
        }
    }

    /// The error for the lease of a missing item.
    pub(crate) fn not_found(&self, spent: Spent) -> Error {
        Error::NotFound { table: Arc::clone(&self.row.table), key: self.shown_name(), spent }
    }

    /// The name of the lock or the key of the item, as far as errors show it.
    pub(crate) fn shown_name(&self) -> Option<Arc<str>> {
        match parts(&self.row_name) {
            ("", _) => None,
            (name, None) => Some(name.into()),
            (name, Some(namespace)) => Some(format!("{name} of namespace {namespace}").into()),
        }
    }
}
