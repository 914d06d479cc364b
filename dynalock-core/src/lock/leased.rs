use std::sync::Arc;

use super::{held::Held, lease::Lease, locks::MODEL};
use crate::{
    expression::Holder,
    key::{Key, KeyValue},
    model::Lockable,
    transaction::Subject,
};

/// What a transaction can depend on: a [`Lease`] or a [`Held`] lock, for [`Transaction::guard`](crate::Transaction::guard) and
/// [`Tx::guard`](crate::Tx::guard).
pub trait Leased: sealed::Sealed {}

pub(crate) mod sealed {
    use super::{Holder, Subject};

    /// The row of the lease, and what it must say.
    pub trait Sealed {
        #[expect(private_interfaces, reason = "it is called here alone")]
        fn leased(&self) -> (Subject, Holder);
    }
}

impl<T: Lockable> Leased for Lease<T> {}

impl<T: Lockable> sealed::Sealed for Lease<T> {
    #[expect(private_interfaces, reason = "it is called here alone")]
    fn leased(&self) -> (Subject, Holder) {
        (Subject::of(self.repository(), self.key(), None), self.holder())
    }
}

impl Leased for Held {}

impl sealed::Sealed for Held {
    #[expect(private_interfaces, reason = "it is called here alone")]
    fn leased(&self) -> (Subject, Holder) {
        let (table, holder) = self.row();
        let key = Key::new(KeyValue::S(self.row_name().to_string()), None);
        (Subject { table: Arc::clone(table), model: &MODEL, key, expected: None }, holder)
    }
}
