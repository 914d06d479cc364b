use std::sync::Arc;

/// The reason why a transaction is invalid. The library does not send an invalid transaction. The
/// `InvalidTransaction` variants number the operations of the transaction from 0, in the order in
/// which the caller added the operations.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidTransaction {
    /// The transaction has no operations.
    #[error("it has no operation; add one, or do not commit it")]
    Empty,
    /// The transaction contains more than 100 items, the largest number that DynamoDB allows.
    #[error(
        "it touches {items} items, a separate lease row counts as an item, and DynamoDB takes 100; \
         split it into transactions that may be observed separately"
    )]
    #[non_exhaustive]
    TooManyItems {
        /// The number of items of the transaction, including the separate lease rows.
        items: usize,
    },
    /// The items of the transaction are together larger than 4 MB, the largest size that DynamoDB
    /// allows.
    #[error(
        "its items have {bytes} bytes, and DynamoDB takes 4194304 (4 MB); split it into transactions that may be observed separately \
         (the largest is that of operation {largest}, in table `{table}`)"
    )]
    #[non_exhaustive]
    TooLarge {
        /// The total size of the items in bytes, by DynamoDB's rules.
        bytes: usize,
        /// The index of the operation with the largest item.
        largest: usize,
        /// The name of the table that contains the largest item.
        table: Arc<str>,
    },
    /// An item of the transaction is larger than 400 KB, the largest item that DynamoDB stores.
    #[error(
        "the item of operation {operation}, in table `{table}`, has {bytes} bytes, and DynamoDB stores 409600 (400 KB); \
         keep large content elsewhere, in S3 for example"
    )]
    #[non_exhaustive]
    ItemTooLarge {
        /// The index of the operation whose item is too large.
        operation: usize,
        /// The name of the table that contains the item.
        table: Arc<str>,
        /// The size of the item in bytes, by DynamoDB's rules.
        bytes: usize,
    },
    /// Two operations of the transaction write the same item. DynamoDB refuses a transaction that
    /// writes an item twice. A transaction may contain a check and a write of one item, because the
    /// library combines the check and the write into one action.
    #[error(
        "operations {first} and {second} write the same item of table `{table}`, and a transaction writes an item once; \
         make one write of them"
    )]
    #[non_exhaustive]
    SameItem {
        /// The index of the first operation that writes the item.
        first: usize,
        /// The index of the second operation that writes the item.
        second: usize,
        /// The name of the table that contains the item.
        table: Arc<str>,
    },
    /// The closure of a unit of work writes an item, and later reads the item. A read in a unit of
    /// work cannot return a value that the same unit of work has written, because DynamoDB applies
    /// the writes only at the commit.
    #[error(
        "an item of table `{table}` is read after the same unit of work has written it; read it before, and keep the value"
    )]
    #[non_exhaustive]
    ReadAfterWrite {
        /// The name of the table that contains the item.
        table: Arc<str>,
    },
    /// A clone of a [`Tx`](crate::Tx) still exists after the closure of the unit of work has
    /// returned. A write through a `Tx` comes too late for the commit if the closure of the unit of
    /// work has already returned.
    #[error(
        "a handle of the unit of work outlives its closure; await what the closure has spawned, and do not keep `Tx`"
    )]
    Escaped,
    /// The ClientRequestToken of the caller is empty, or longer than 36 characters.
    #[error(
        "a ClientRequestToken has 1 to 36 characters, and this one has {characters}; choose another, or leave out `.token(..)`"
    )]
    #[non_exhaustive]
    Token {
        /// The length of the ClientRequestToken in characters.
        characters: usize,
    },
}

/// The reason why a patch is invalid. The library does not send an invalid patch. The fields of the
/// `InvalidPatch` variants show attributes as paths, for example `lines[0].sku`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidPatch {
    /// The patch changes nothing.
    #[error("it has no change; add one, or do not send it")]
    Empty,
    /// Two changes of the patch overlap: both changes affect one value, or one change affects a
    /// part of the value that the other change affects.
    #[error("its changes of `{first}` and `{second}` overlap; make one change of them, or send two patches")]
    #[non_exhaustive]
    Overlap {
        /// The path of the overlapping change that the caller added first.
        first: String,
        /// The path of the overlapping change that the caller added second.
        second: String,
    },
    /// The patch inserts elements into a nested set, or deletes elements from a nested set.
    /// DynamoDB can change a set only if the set is a top-level attribute of the item.
    #[error(
        "`{attribute}` is inside an attribute, and DynamoDB changes only sets that are attributes; use `update_with`"
    )]
    #[non_exhaustive]
    NestedSet {
        /// The path of the nested set.
        attribute: String,
    },
    /// The number that the patch adds is larger than the whole range of the attribute's type, so no
    /// sum could fit into the attribute.
    #[error("no stored value of `{attribute}` stays in its range after this addition; add a smaller number")]
    #[non_exhaustive]
    OutOfRange {
        /// The path of the attribute to which the patch adds the number.
        attribute: String,
    },
}
