use crate::{lease::clause::HolderProof, model::ItemRef};

/// A lease or lock guard that a caller can add to a transaction: a
/// [`LeaseGuard`](crate::LeaseGuard) or a [`LockGuard`](crate::LockGuard).
/// [`Transaction::guard`](crate::Transaction::guard) and [`Tx::guard`](crate::Tx::guard) take a
/// `Guard`.
pub trait Guard: sealed::Sealed {}

pub(crate) mod sealed {
    use super::{HolderProof, ItemRef};

    /// The leased item and the lease holder of a guard. Other crates cannot implement `Sealed`, so
    /// they cannot implement [`Guard`](super::Guard).
    pub trait Sealed {
        #[expect(private_interfaces, reason = "it is called here alone")]
        fn leased(&self) -> (ItemRef, HolderProof);
    }
}
