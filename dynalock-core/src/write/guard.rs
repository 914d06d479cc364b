use crate::{lease::clause::HolderProof, model::ItemRef};

/// A lease that a transaction can depend on: a [`LeaseGuard`](crate::LeaseGuard) or a
/// [`LockGuard`](crate::LockGuard), for [`Transaction::guard`](crate::Transaction::guard) and
/// [`Tx::guard`](crate::Tx::guard).
pub trait Guard: sealed::Sealed {}

pub(crate) mod sealed {
    use super::{HolderProof, ItemRef};

    /// Returns the leased item, and the proof that the guard holds its lease.
    pub trait Sealed {
        #[expect(private_interfaces, reason = "it is called here alone")]
        fn leased(&self) -> (ItemRef, HolderProof);
    }
}
