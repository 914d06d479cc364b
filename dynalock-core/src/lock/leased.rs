use std::sync::Arc;

use super::{held::LockGuard, lease::LeaseGuard, locks::MODEL};
use crate::{
    expression::HolderProof,
    key::{Key, KeyValue},
    model::Lockable,
    transaction::ItemRef,
};

/// What a transaction can depend on: a [`LeaseGuard`] or a [`LockGuard`] lock, for [`Transaction::guard`](crate::Transaction::guard) and
/// [`Tx::guard`](crate::Tx::guard).
pub trait Guard: sealed::Sealed {}

pub(crate) mod sealed {
    use super::{HolderProof, ItemRef};

    /// The row of the lease, and what it must say.
    pub trait Sealed {
        #[expect(private_interfaces, reason = "it is called here alone")]
        fn leased(&self) -> (ItemRef, HolderProof);
    }
}

impl<T: Lockable> Guard for LeaseGuard<T> {}

impl<T: Lockable> sealed::Sealed for LeaseGuard<T> {
    #[expect(private_interfaces, reason = "it is called here alone")]
    fn leased(&self) -> (ItemRef, HolderProof) {
        (ItemRef::of(self.repository(), self.key(), None), self.holder())
    }
}

impl Guard for LockGuard {}

impl sealed::Sealed for LockGuard {
    #[expect(private_interfaces, reason = "it is called here alone")]
    fn leased(&self) -> (ItemRef, HolderProof) {
        let (table, holder) = self.row();
        let key = Key::new(KeyValue::S(self.row_name().to_string()), None);
        (ItemRef { table: Arc::clone(table), model: &MODEL, key, expected: None }, holder)
    }
}
