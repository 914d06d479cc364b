use std::{borrow::Borrow, fmt};

use super::Op;
use crate::{
    codec::{Item, Stored},
    error::{CancellationClass, Cancelled, Error, OperationReason, Refusal},
    model::Versioned,
};

/// The reason that DynamoDB gives for one operation of a cancelled transaction.
#[non_exhaustive]
pub enum Reason<T> {
    /// The operation did not cause the cancellation.
    None,
    /// The condition of the operation was false: the item has changed since the program read it, or
    /// a condition of the caller is false. `Conflict` contains the item with which DynamoDB
    /// evaluated the condition, or `None` if the key had no item.
    Conflict(Option<Stored<T>>),
    /// The condition of the operation was false, as for [`Conflict`](Self::Conflict), but the
    /// stored item cannot be decoded into a `T`.
    #[non_exhaustive]
    Unreadable {
        /// The stored item that cannot be decoded.
        item: Item,
        /// The error of the decoding: [`Error::Decode`] or [`Error::Corrupt`].
        error: Error,
    },
    /// Another running transaction used the item of the operation at the last attempt before the
    /// call ended.
    Contention(Refusal),
    /// DynamoDB or the table had no capacity left at the last attempt before the call ended.
    Capacity(Refusal),
    /// The total size of all items with the operation's partition key has reached 10 GB. In a table
    /// with local secondary indexes, 10 GB is DynamoDB's limit for all items with one partition
    /// key.
    ItemCollectionTooLarge(Refusal),
    /// DynamoDB never accepts the operation: a key attribute or an index attribute has the wrong
    /// type, or the item would be larger than 400 KB.
    Invalid(Refusal),
    /// DynamoDB gave a reason with a code that this version of the library does not know.
    Unknown(Refusal),
    /// The handle of the operation belongs to another transaction.
    ForeignHandle,
}

impl Cancelled {
    /// Returns the reason why DynamoDB refused the operation with the handle `operation`. If the
    /// condition of the operation was false, [`Reason::Conflict`] contains the stored item.
    /// `reason` sends no request, because DynamoDB's refusal already contains the stored item.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # mod shop { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest/shop.rs")); }
    /// # use shop::Product;
    /// use dynalock::{Error, Repository, Transaction, transaction::Reason};
    ///
    /// # async fn example(client: &aws_sdk_dynamodb::Client, products: &Repository<Product>) -> dynalock::Result<()> {
    /// let mut tx = Transaction::new(client);
    /// let sold = tx.patch(products, "85123A").add(Product::ATTR.stock, -3).when(Product::ATTR.stock.ge(3)).op();
    /// match tx.commit().await {
    ///     Err(Error::Cancelled(cancelled)) => match cancelled.reason(sold) {
    ///         Reason::Conflict(Some(product)) => println!("only {} pieces are left", product.stock),
    ///         Reason::Conflict(None) => println!("no such product"),
    ///         reason => println!("not sold: {reason:?}"),
    ///     },
    ///     result => drop(result?),
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn reason<T: Versioned, Out>(&self, operation: impl Borrow<Op<T, Out>>) -> Reason<T> {
        let operation = operation.borrow().index_in(self.transaction()).and_then(|index| self.reasons().nth(index));
        operation.map_or(Reason::ForeignHandle, |operation| Reason::read(&operation))
    }
}

impl<T: Versioned> Reason<T> {
    fn read(operation: &OperationReason<'_>) -> Self {
        let refusal = || operation.refusal().clone();
        match operation.class() {
            None => Self::None,
            Some(CancellationClass::Conflict) => match (operation.current(), operation.current_item()) {
                (Ok(current), _) => Self::Conflict(current),
                (Err(error), Some(item)) => Self::Unreadable { item: item.clone(), error },
                (Err(_), None) => Self::Conflict(None),
            },
            Some(CancellationClass::Contention) => Self::Contention(refusal()),
            Some(CancellationClass::Capacity) => Self::Capacity(refusal()),
            Some(CancellationClass::Permanent | CancellationClass::Mixed) => match operation.code() {
                "ItemCollectionSizeLimitExceeded" => Self::ItemCollectionTooLarge(refusal()),
                "ValidationError" => Self::Invalid(refusal()),
                _ => Self::Unknown(refusal()),
            },
        }
    }
}

impl<T> fmt::Debug for Reason<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.write_str("None"),
            Self::Conflict(None) => f.write_str("Conflict(no item)"),
            Self::Conflict(Some(now)) => write!(f, "Conflict(version {})", now.version()),
            Self::Unreadable { error, .. } => {
                f.debug_struct("Unreadable").field("error", error).finish_non_exhaustive()
            }
            Self::Contention(refusal) => f.debug_tuple("Contention").field(refusal).finish(),
            Self::Capacity(refusal) => f.debug_tuple("Capacity").field(refusal).finish(),
            Self::ItemCollectionTooLarge(refusal) => f.debug_tuple("ItemCollectionTooLarge").field(refusal).finish(),
            Self::Invalid(refusal) => f.debug_tuple("Invalid").field(refusal).finish(),
            Self::Unknown(refusal) => f.debug_tuple("Unknown").field(refusal).finish(),
            Self::ForeignHandle => f.write_str("ForeignHandle"),
        }
    }
}
