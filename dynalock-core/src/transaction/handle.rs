use std::marker::PhantomData;

use crate::{codec::Stored, error::TransactionId};

/// The handle of one operation on an item of type `T` in a [`Transaction`](crate::Transaction) or a
/// [`TransactionGet`](crate::transaction::TransactionGet).
///
/// The type parameter `Out` is the result of the operation: a [`Stored<T>`] for a write, an
/// `Option<Stored<T>>` for a read, and `()` for deletes and checks.
/// [`Committed::get`](crate::transaction::Committed::get) takes the handle of a write and returns
/// the written value. [`Snapshot::get`](crate::transaction::Snapshot::get) takes the handle of a
/// read and returns the item. After a cancelled commit,
/// [`Cancelled::reason`](crate::error::Cancelled::reason) takes the handle and returns the reason
/// why DynamoDB refused the handle's operation, or
/// [`Reason::None`](crate::transaction::Reason::None) if DynamoDB did not refuse this operation.
/// A handle is valid only for the transaction that made the handle. If a
/// caller passes the handle to a method of another transaction, the method returns
/// [`Error::ForeignHandle`](crate::Error::ForeignHandle) or
/// [`Reason::ForeignHandle`](crate::transaction::Reason::ForeignHandle).
pub struct Op<T, Out = Stored<T>> {
    transaction: TransactionId,
    index: usize,
    of: PhantomData<fn() -> (T, Out)>,
}

impl<T, Out> Op<T, Out> {
    pub(super) fn new(transaction: TransactionId, index: usize) -> Self {
        Self { transaction, index, of: PhantomData }
    }

    /// Returns `None` if another transaction has made the handle.
    pub(crate) fn index_in(&self, transaction: TransactionId) -> Option<usize> {
        (self.transaction == transaction).then_some(self.index)
    }
}

debug_fields!([T, Out] Op<T, Out>, self => (self.index));
