use crate::{lease::clause::HolderProof, model::ItemRef};

/// A lease or lock guard that a caller can add to a transaction: a
/// [`LeaseGuard`](crate::LeaseGuard) or a [`LockGuard`](crate::LockGuard).
/// [`Transaction::guard`](crate::Transaction::guard) and [`Tx::guard`](crate::Tx::guard) take a
/// `Guard`.
pub trait Guard: sealed::Sealed {}

pub(crate) mod sealed {
    use super::{HolderProof, ItemRef};

    /// A private trait that gives the library the leased item and the holder that a guard names.
    /// Only the types of the library implement `Sealed`, so other crates cannot implement
    /// [`Guard`](super::Guard).
    pub trait Sealed {
        #[expect(private_interfaces, reason = "it is called here alone")]
        fn leased(&self) -> (ItemRef, HolderProof);
    }
}
