use crate::{lease::clause::HolderProof, model::ItemRef};

/// A guard that a transaction can require: a [`LeaseGuard`](crate::LeaseGuard) or a
/// [`LockGuard`](crate::LockGuard). [`Transaction::guard`](crate::Transaction::guard) and
/// [`Tx::guard`](crate::Tx::guard) take a `Guard`.
pub trait Guard: sealed::Sealed {}

pub(crate) mod sealed {
    use super::{HolderProof, ItemRef};

    /// The library's access to the lease of a guard. Only the types of the library implement
    /// `Sealed`, so other crates cannot implement [`Guard`](super::Guard).
    pub trait Sealed {
        #[expect(private_interfaces, reason = "it is called here alone")]
        fn leased(&self) -> (ItemRef, HolderProof);
    }
}
