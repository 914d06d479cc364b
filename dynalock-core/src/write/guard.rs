use crate::{lease::clause::HolderProof, model::ItemRef};

/// A guard that a transaction can depend on, by [`Transaction::guard`](crate::Transaction::guard)
/// or [`Tx::guard`](crate::Tx::guard): a [`LeaseGuard`](crate::LeaseGuard) or a
/// [`LockGuard`](crate::LockGuard).
pub trait Guard: sealed::Sealed {}

pub(crate) mod sealed {
    use super::{HolderProof, ItemRef};

    /// Returns the row that contains the lease, and the proof that the guard holds the lease.
    pub trait Sealed {
        #[expect(private_interfaces, reason = "it is called here alone")]
        fn leased(&self) -> (ItemRef, HolderProof);
    }
}
