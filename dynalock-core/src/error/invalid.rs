use std::sync::Arc;

/// The reason why a transaction is invalid and was not sent. Operations are named by their index in
/// the order of the calls, and the first index is 0.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidTransaction {
    /// The transaction has no operations.
    #[error("it has no operation; add one, or do not commit it")]
    Empty,
    /// The transaction contains more items than DynamoDB allows.
    #[error(
        "it touches {items} items, a separate lease row counts as an item, and DynamoDB takes 100; \
         split it into transactions that may be observed separately"
    )]
    #[non_exhaustive]
    TooManyItems {
        /// The number of items, including the separate rows of leases.
        items: usize,
    },
    /// The items of the transaction are larger than DynamoDB allows.
    #[error(
        "its items have {bytes} bytes, and DynamoDB takes 4194304 (4 MB); split it into transactions that may be observed separately \
         (the largest is that of operation {largest}, in table `{table}`)"
    )]
    #[non_exhaustive]
    TooLarge {
        /// The total size of the items, by DynamoDB's rules.
        bytes: usize,
        /// The index of the operation with the largest item.
        largest: usize,
        /// The table of that item.
        table: Arc<str>,
    },
    /// An item is larger than DynamoDB can store.
    #[error(
        "the item of operation {operation}, in table `{table}`, has {bytes} bytes, and DynamoDB stores 409600 (400 KB); \
         keep large content elsewhere, in S3 for example"
    )]
    #[non_exhaustive]
    ItemTooLarge {
        /// The operation.
        operation: usize,
        /// The table.
        table: Arc<str>,
        /// The size of the item, by DynamoDB's rules.
        bytes: usize,
    },
    /// Two operations write the same item. DynamoDB refuses a transaction that writes an item
    /// twice. A check and a write of the same item are allowed, because the library makes one
    /// action of both.
    #[error(
        "operations {first} and {second} write the same item of table `{table}`, and a transaction writes an item once; \
         make one write of them"
    )]
    #[non_exhaustive]
    SameItem {
        /// The index of the first operation on the item.
        first: usize,
        /// The index of the second operation on the item.
        second: usize,
        /// The table.
        table: Arc<str>,
    },
    /// A unit of work reads an item that it has already written. A read cannot return the written
    /// value, because DynamoDB applies the write only at the commit.
    #[error(
        "an item of table `{table}` is read after the same unit of work has written it; read it before, and keep the value"
    )]
    #[non_exhaustive]
    ReadAfterWrite {
        /// The table.
        table: Arc<str>,
    },
    /// A handle of the unit of work still exists after the closure has returned. The commit could
    /// not contain later calls on this handle.
    #[error(
        "a handle of the unit of work outlives its closure; await what the closure has spawned, and do not keep `Tx`"
    )]
    Escaped,
    /// The token is empty, or longer than 36 characters.
    #[error(
        "a ClientRequestToken has 1 to 36 characters, and this one has {characters}; choose another, or leave out `.token(..)`"
    )]
    #[non_exhaustive]
    Token {
        /// The length of the token in characters.
        characters: usize,
    },
}

/// The reason why a patch is invalid and was not sent. Attributes are shown as paths, for example
/// `lines[0].sku`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidPatch {
    /// The patch changes nothing.
    #[error("it has no change; add one, or do not send it")]
    Empty,
    /// Two changes of the patch affect the same value, or the second change affects a part of the
    /// value that the first change sets.
    #[error("its changes of `{first}` and `{second}` overlap; make one change of them, or send two patches")]
    #[non_exhaustive]
    Overlap {
        /// The earlier change.
        first: String,
        /// The later change.
        second: String,
    },
    /// The patch inserts elements into a set inside an attribute, or deletes elements from a set
    /// inside an attribute.
    #[error(
        "`{attribute}` is inside an attribute, and DynamoDB changes only sets that are attributes; use `update_with`"
    )]
    #[non_exhaustive]
    NestedSet {
        /// The path of the set.
        attribute: String,
    },
    /// The number that the patch adds is larger than the range of the attribute's type.
    #[error("no stored value of `{attribute}` stays in its range after this addition; add a smaller number")]
    #[non_exhaustive]
    OutOfRange {
        /// The attribute.
        attribute: String,
    },
}
