//! The errors of this crate, one variant for each next step of the caller.

mod cancelled;
mod codec;
mod conflict;
mod invalid;
mod lock;
mod misconfigured;
mod refusal;
mod setting;

pub use cancelled::{CancellationClass, Cancelled, OperationReason, Reason};
pub use codec::{CodecError, CodecReason};
pub(crate) use codec::{SerdeError, SerdeResult};
pub use conflict::Conflict;
pub use invalid::InvalidTransaction;
pub use lock::{Locked, Lost};
pub use misconfigured::Misconfigured;
pub use refusal::{Refusal, Unavailable};
pub use setting::InvalidSetting;

use std::{sync::Arc, time::Duration};

/// The result of a call.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The reason why a call did not succeed, or why its outcome is unknown.
///
/// Neither `Display` nor `Debug` shows the content of an item. [`Conflict::current`] returns the item of a
/// conflict, and [`CodecError::detail`] the text of a type that refused its value. The key of an item is shown
/// only if its type has `#[dynalock(show_key)]`. DynamoDB's own messages are passed on unchanged.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The item has changed since it was read: another caller wrote or deleted it. Nothing was written.
    ///
    /// Read the item again, or start from [`Conflict::current`]. `update_with` does this itself.
    #[error("{0}")]
    Conflict(Conflict),

    /// A create met an item under its key, with a version or without. Nothing was written.
    #[error("an item is already stored under {} in table `{}`; update it, or use `upsert_with`", .0.shown_key(), .0.table())]
    AlreadyExists(Conflict),

    /// DynamoDB cancelled a transaction. None of its operations wrote anything.
    ///
    /// [`Cancelled::reason`] gives the cause for each operation, with the item that it met.
    /// [`transact`](crate::transact) runs its closure again by itself.
    #[error("{0}")]
    Cancelled(Cancelled),

    /// A transaction cannot be sent as it is. Nothing was sent.
    #[error("the transaction cannot be sent: {0}")]
    InvalidTransaction(InvalidTransaction),

    /// A handle was used with a transaction that it does not belong to. This error says nothing about the outcome of
    /// either transaction.
    #[error("the handle belongs to another transaction; use the one that this transaction gave")]
    ForeignHandle,

    /// A transaction under the caller's token was committed before: an item shows its write id. This call wrote
    /// nothing.
    #[error(
        "a transaction with this token was committed before ({attempts} requests in {elapsed:.1?}); \
         read the items to see what it left"
    )]
    AlreadyCommitted {
        /// Requests sent.
        attempts: u32,
        /// Time since the operation began.
        elapsed: Duration,
    },

    /// Another content was committed under this ClientRequestToken in the last ten minutes. This call wrote nothing.
    ///
    /// Read the items before you send the content under a new token. A transaction that is repeated under its old
    /// token, for example after a crash, must have the same content. A `HashSet` or a `HashMap` has a different order
    /// each time, which makes a different content: use a `BTreeSet`, a `BTreeMap` or a `Vec`. If an item shows that
    /// the earlier transaction was committed, the error is [`Error::AlreadyCommitted`] instead.
    #[error(
        "another content was committed under this token in the last ten minutes ({attempts} requests in {elapsed:.1?}); \
         give a new content a new token, and use no `HashSet` or `HashMap` in values that have to be the same again"
    )]
    TokenReused {
        /// Requests sent.
        attempts: u32,
        /// Time since the operation began.
        elapsed: Duration,
    },

    /// Another caller holds the lock, and the time to wait for it is over.
    #[error("{0}")]
    Locked(Box<Locked>),

    /// The fair queue is full: it has as many entries as its callers allow. No entry was added.
    ///
    /// Ask again later, or allow a longer queue: [`Acquire::max_queue`](crate::Acquire::max_queue).
    #[error(
        "the queue of a lock in table `{table}` is full: {waiting} stand in it ({attempts} requests in {elapsed:.1?}); \
         ask again later"
    )]
    QueueFull {
        /// The table.
        table: Arc<str>,
        /// How many stand in the queue, the holder counted.
        waiting: usize,
        /// Requests sent.
        attempts: u32,
        /// Time since the operation began.
        elapsed: Duration,
    },

    /// The place in the fair queue is gone. Its turn came, the waiter gave no sign of life for a whole ttl, and
    /// another caller removed the entry. Nothing is held.
    ///
    /// The process or its runtime was paused for that long, or DynamoDB could not be reached. Ask again, at the end
    /// of the queue.
    #[error(
        "the place in the queue of a lock in table `{table}` was taken away, since it did not show itself when its turn had come \
         ({attempts} requests in {elapsed:.1?}); ask again"
    )]
    Evicted {
        /// The table.
        table: Arc<str>,
        /// Requests sent.
        attempts: u32,
        /// Time since the operation began.
        elapsed: Duration,
    },

    /// The lock is no longer held: another caller may already hold it.
    #[error("the lock is lost: {0}")]
    Lost(#[from] Lost),

    /// The key has no item to update.
    #[error("no item under {} in table `{table}`; create it, or use `upsert_with`", shown(.key.as_deref()))]
    NotFound {
        /// The table.
        table: Arc<str>,
        /// The key, if the type has `#[dynalock(show_key)]`.
        key: Option<Arc<str>>,
        /// Requests sent before, reads that were answered not counted.
        attempts: u32,
        /// Time since the operation began.
        elapsed: Duration,
    },

    /// The key of a value differs from the key that its item was read under. Nothing was written.
    ///
    /// DynamoDB cannot change a key: create an item under the new key and delete the old one.
    #[error("the key of an item in table `{table}` was changed; create an item under the new key and delete this one")]
    KeyChanged {
        /// The table.
        table: Arc<str>,
    },

    /// A key cannot be sent: it is empty, or serde writes it differently from its `KeyAttribute`.
    #[error("the key attribute `{attribute}` of table `{table}` cannot be used: {reason}")]
    InvalidKey {
        /// The table.
        table: Arc<str>,
        /// The attribute.
        attribute: &'static str,
        /// The reason.
        reason: &'static str,
    },

    /// A bookkeeping attribute of the stored item is invalid. Another program wrote it. Nothing was written.
    #[error("attribute `{attribute}` of an item in table `{table}` is corrupt: {reason}")]
    Corrupt {
        /// The table.
        table: Arc<str>,
        /// The attribute.
        attribute: &'static str,
        /// The reason.
        reason: &'static str,
    },

    /// The item has the last version that a `u64` can hold. Nothing was written.
    #[error("an item in table `{table}` is at the last version, {}; no further write can be counted", u64::MAX)]
    VersionExhausted {
        /// The table.
        table: Arc<str>,
    },

    /// A write changes or compares so many attributes that its expression is longer than DynamoDB allows. Nothing was
    /// written.
    #[error(
        "a write to table `{table}` needs an expression of {bytes} bytes, and DynamoDB takes 4096 bytes and 300 operators: {remedy}"
    )]
    ExpressionTooLong {
        /// The table.
        table: Arc<str>,
        /// The bytes of the expression.
        bytes: usize,
        /// A remedy.
        remedy: &'static str,
    },

    /// The outcome of a write is unknown: a reply was lost, and the item no longer shows whether the write was
    /// applied.
    ///
    /// Read the item to see its present state. A later write is safe, because its own condition decides. Repeating
    /// this write may apply it twice.
    #[error(
        "it cannot be told whether a write to table `{table}` was applied ({attempts} requests in {elapsed:.1?}); \
         read the item before writing again{}", because(.last.as_deref())
    )]
    Indeterminate {
        /// The table. For a transaction: all its tables, separated by commas.
        table: Arc<str>,
        /// The version that the write rested on, or `None` for a create and a transaction.
        expected: Option<u64>,
        /// The last known version of the item, or `None` if it was absent or not seen.
        found: Option<u64>,
        /// Requests sent.
        attempts: u32,
        /// Time since the operation began.
        elapsed: Duration,
        /// The failure that ended the call, or `None` if the item itself showed that the outcome is unknown. The message
        /// contains it.
        last: Option<Box<Error>>,
    },

    /// The deadline, the number of attempts or the retry budget was reached. Nothing was written.
    #[error("gave up after {attempts} requests in {elapsed:.1?}: {last}")]
    Exhausted {
        /// Requests sent.
        attempts: u32,
        /// Time since the operation began.
        elapsed: Duration,
        /// The failure of the last attempt. The message contains it.
        last: Box<Error>,
    },

    /// DynamoDB refused the request because of a transaction on the same item. It appears inside
    /// [`Error::Exhausted`].
    #[error("a transaction was at work on the item ({0})")]
    Contention(Refusal),

    /// DynamoDB or the table had no capacity left. It appears inside [`Error::Exhausted`].
    #[error("throttled ({0})")]
    Throttled(Refusal),

    /// No usable answer came: no connection, a timeout, a 5xx, or an unreadable body. It appears inside
    /// [`Error::Exhausted`] and [`Error::Indeterminate`]. The release of a lock returns it directly if the runtime of
    /// the lock was shut down.
    #[error("no usable answer: {0}")]
    Unavailable(Unavailable),

    /// The table does not exist in this account and Region. Nothing was written.
    #[error(
        "table `{table}` does not exist in this account and Region; create it, or name another with `Repository::table`"
    )]
    TableNotFound {
        /// The table.
        table: Arc<str>,
        /// Requests sent.
        attempts: u32,
        /// Time since the operation began.
        elapsed: Duration,
    },

    /// The key of the table differs from the key of the type. Nothing was written.
    ///
    /// [`Repository::create_table`](crate::Repository::create_table) compares both keys and reports the difference.
    /// Every other call learns it from DynamoDB, with less detail.
    #[error("the key of table `{table}` differs from the key of its type: {reason}")]
    TableMismatch {
        /// The table.
        table: Arc<str>,
        /// The difference.
        reason: String,
    },

    /// The configuration of the client does not allow a request: it has no credentials, no Region or no endpoint.
    /// Nothing was written.
    ///
    /// The first request of a call returns this error, and it is not repeated.
    #[error("the client is not configured to send requests: {0}")]
    Misconfigured(Misconfigured),

    /// A setting of the call is out of its range. Nothing was sent.
    #[error("{0}")]
    InvalidSetting(InvalidSetting),

    /// An item is larger than DynamoDB stores. Nothing was written.
    ///
    /// For an item of a transaction, the error is [`InvalidTransaction::ItemTooLarge`].
    #[error(
        "the item in table `{table}` is too large: this write has {bytes} bytes of it, and DynamoDB stores 409600 \
         (400 KB); keep large content elsewhere, in S3 for example"
    )]
    ItemTooLarge {
        /// The table.
        table: Arc<str>,
        /// The size of the data in the write, by DynamoDB's rules: the whole item for a create or replace, the new values
        /// for an update.
        bytes: usize,
        /// Requests sent.
        attempts: u32,
        /// Time since the operation began.
        elapsed: Duration,
    },

    /// DynamoDB refused the request for good: validation, access, limits. Nothing was written.
    #[error("refused ({0})")]
    Rejected(Refusal),

    /// A stored item does not fit the struct. Nothing was written.
    #[error("{} does not fit its struct: {}", .0, .0.reason())]
    Decode(#[source] CodecError),

    /// A value cannot be stored. Nothing was written.
    #[error("{} cannot be stored: {}", .0, .0.reason())]
    Encode(#[source] CodecError),
}

/// A key as far as it may be shown.
fn shown(key: Option<&str>) -> String {
    key.map_or_else(|| "this key".to_owned(), |key| format!("key `{key}`"))
}

fn because(last: Option<&Error>) -> String {
    last.map(|error| format!(": {error}")).unwrap_or_default()
}
