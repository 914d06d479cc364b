//! The errors of this crate. Each variant of [`Error`] stands for one reaction of the caller, for
//! example to read the item again.

mod action_reason;
mod cancelled;
mod codec;
mod conflict;
mod invalid;
mod kind;
mod lock;
mod misconfigured;
mod parse;
mod refusal;
mod setting;
mod spent;
#[cfg(test)]
mod tests;

pub(crate) use action_reason::{ActionReason, class_of};
pub(crate) use cancelled::TransactionId;
pub use cancelled::{CancellationClass, Cancelled, OperationReason};
pub use codec::{CodecError, CodecReason};
pub(crate) use codec::{SerdeError, SerdeResult};
pub use conflict::Conflict;
pub use invalid::{InvalidPatch, InvalidTransaction};
pub use lock::{Locked, Lost};
pub use misconfigured::Misconfigured;
pub use parse::{ParseEtagError, ParseLockTokenError};
pub use refusal::{Refusal, Unavailable};
pub use setting::InvalidSetting;
pub use spent::Spent;

use std::{sync::Arc, time::Duration};

use crate::cost::{Cost, Units};

/// The result of a call.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The reason why a call did not succeed, or why its outcome is unknown.
///
/// Neither `Display` nor `Debug` shows the content of an item. Two methods return content:
/// [`Conflict::current`] returns the item of a conflict, and [`CodecError::detail`] returns the
/// error text of a hand-written `Serialize` or `Deserialize`. The key of an item is shown only if
/// its type has `#[dynalock(show_key)]`. The messages of DynamoDB are passed on unchanged.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The item has changed since it was read: another caller wrote or deleted it. Nothing was
    /// written.
    ///
    /// Read the item again, or start from the item that [`Conflict::current`] returns. A call to
    /// `update_with` reads the item again and repeats the change without help of the caller.
    #[error("{0}")]
    Conflict(Conflict),

    /// A create found an item with the same key, possibly an item without a version. Nothing was
    /// written.
    #[error("an item is already stored under {} in table `{}`; update it, or use `upsert_with`", .0.shown_key(), .0.table())]
    AlreadyExists(Conflict),

    /// The condition that the caller added to a single write is false. Nothing was written, and
    /// the call does not repeat the write.
    #[error("the condition of a write is false for the item under {} in table `{}`; read it and decide again", .0.shown_key(), .0.table())]
    ConditionFailed(Conflict),

    /// The result of an `add` in a patch would be outside the range of the attribute's type.
    /// Nothing was written.
    #[error("a patch of table `{table}` would leave the range of `{attribute}` ({spent}); add a smaller number")]
    #[non_exhaustive]
    OutOfRange {
        /// The table.
        table: Arc<str>,
        /// The name of the attribute, or the path of the value inside the attribute.
        attribute: String,
        /// The number of requests that the call sent, and the time that the call took.
        spent: Spent,
    },

    /// The stored item does not allow a patch: an attribute has another type than the struct says,
    /// a required attribute or the parent of a path is missing, or an attribute is stored under an
    /// alias. Nothing was written.
    #[error("a patch cannot change `{attribute}` of an item in table `{table}`: {reason} ({spent})")]
    #[non_exhaustive]
    Unpatchable {
        /// The table.
        table: Arc<str>,
        /// The name of the attribute, or the path of the value inside the attribute.
        attribute: String,
        /// The reason for the refusal, and what the caller can do.
        reason: &'static str,
        /// The number of requests that the call sent, and the time that the call took.
        spent: Spent,
    },

    /// The patch is invalid. The call sent no request.
    #[error("a patch of table `{table}` cannot be sent: {why}")]
    #[non_exhaustive]
    InvalidPatch {
        /// The table.
        table: Arc<str>,
        /// The reason.
        why: InvalidPatch,
    },

    /// DynamoDB cancelled a transaction. DynamoDB applied no operation of the transaction.
    ///
    /// [`Cancelled::reason`] returns the cause for each operation, with the item that made a
    /// condition false. A call to [`transact`](crate::transact) runs its closure again without help
    /// of the caller.
    #[error("{0}")]
    Cancelled(Cancelled),

    /// The transaction is invalid. The call sent no request for the commit.
    #[error("the transaction cannot be sent: {0}")]
    InvalidTransaction(InvalidTransaction),

    /// The handle of an operation was used with the result of another transaction. The error
    /// `ForeignHandle` does not show whether one of the two transactions was committed.
    #[error("the handle belongs to another transaction; use the one that this transaction gave")]
    ForeignHandle,

    /// An item shows that an earlier call committed a transaction with the same token. This call
    /// wrote nothing.
    #[error(
        "a transaction with this token was committed before ({spent}); \
         read the items to see what it left"
    )]
    #[non_exhaustive]
    AlreadyCommitted {
        /// The number of requests that the call sent, and the time that the call took.
        spent: Spent,
    },

    /// A transaction with other content was committed with the same ClientRequestToken in the last
    /// ten minutes. This call wrote nothing.
    ///
    /// Read the items before you send the new content with a new token. A transaction that is
    /// repeated with its old token, for example after a crash, must have the same content. The
    /// order of a `HashSet` or a `HashMap` differs in each process, and so does the content of the
    /// request. Use a `BTreeSet`, a `BTreeMap` or a `Vec`, whose order is fixed. If an item shows
    /// that the earlier transaction was committed, the error is [`Error::AlreadyCommitted`]
    /// instead.
    #[error(
        "another content was committed under this token in the last ten minutes ({spent}); \
         give a new content a new token, and use no `HashSet` or `HashMap` in values that have to be the same again"
    )]
    #[non_exhaustive]
    TokenReused {
        /// The number of requests that the call sent, and the time that the call took.
        spent: Spent,
    },

    /// Another caller holds the lock, and the wait of this call is over.
    #[error("{0}")]
    Locked(Box<Locked>),

    /// The fair queue already has the maximum number of entries, so the caller got no place in the
    /// queue.
    ///
    /// Call again later, or allow a longer queue with
    /// [`Acquire::max_queue`](crate::lock::Acquire::max_queue).
    #[error(
        "the queue of a lock in table `{table}` is full: {waiting} callers wait behind the holder ({spent}); \
         call again later"
    )]
    #[non_exhaustive]
    QueueFull {
        /// The table.
        table: Arc<str>,
        /// The number of waiters, without the holder.
        waiting: usize,
        /// The number of requests that the call sent, and the time that the call took.
        spent: Spent,
    },

    /// The caller has lost its place in the fair queue, and does not hold the lock. The caller
    /// became the head of the queue, but sent no heartbeat for a whole ttl. Another caller then
    /// removed the entry of this caller from the queue.
    ///
    /// Either the caller's process or runtime was paused for a whole ttl, or the caller could not
    /// reach DynamoDB. A new call enters the queue at its end.
    #[error(
        "the place in the queue of a lock in table `{table}` is lost, because the caller became the head and sent no heartbeat \
         for a whole ttl ({spent}); call again to enter at the end of the queue"
    )]
    #[non_exhaustive]
    Evicted {
        /// The table.
        table: Arc<str>,
        /// The number of requests that the call sent, and the time that the call took.
        spent: Spent,
    },

    /// The caller no longer holds the lock. Another caller may already hold the lock.
    #[error("the lock is lost: {0}")]
    Lost(#[from] Lost),

    /// The call needs an item, but the table has no item with the key.
    #[error("no item under {} in table `{table}`; create it, or use `upsert_with`", shown(.key.as_deref()))]
    #[non_exhaustive]
    NotFound {
        /// The table.
        table: Arc<str>,
        /// The key of the item, or `None` if the type has no `#[dynalock(show_key)]`.
        key: Option<Arc<str>>,
        /// The number of requests that the call sent, and the time that the call took.
        spent: Spent,
    },

    /// The key of a value differs from the key of the item that it was read from. Nothing was
    /// written.
    ///
    /// DynamoDB cannot change a key. Create an item with the new key, and delete the old item.
    #[error("the key of an item in table `{table}` was changed; create an item under the new key and delete this one")]
    #[non_exhaustive]
    KeyChanged {
        /// The table.
        table: Arc<str>,
    },

    /// A key is invalid. Either the key is empty, or serde writes another value than its
    /// `KeyAttribute` returns.
    #[error("the key attribute `{attribute}` of table `{table}` cannot be used: {reason}")]
    #[non_exhaustive]
    InvalidKey {
        /// The table.
        table: Arc<str>,
        /// The attribute.
        attribute: &'static str,
        /// The reason.
        reason: &'static str,
    },

    /// An attribute of the library in the stored item, for example `_writes`, is invalid, because
    /// another program wrote the attribute. Nothing was written.
    #[error("attribute `{attribute}` of an item in table `{table}` is corrupt: {reason}")]
    #[non_exhaustive]
    Corrupt {
        /// The table.
        table: Arc<str>,
        /// The attribute.
        attribute: &'static str,
        /// The reason.
        reason: &'static str,
    },

    /// The version of the item is the largest `u64`, so a write cannot increment the version.
    /// Nothing was written.
    #[error(
        "an item in table `{table}` has the largest possible version, {}; no further write can increment it",
        u64::MAX
    )]
    #[non_exhaustive]
    VersionExhausted {
        /// The table.
        table: Arc<str>,
    },

    /// A write changes or compares too many attributes, so its expression is longer than DynamoDB
    /// allows. Nothing was written.
    #[error(
        "a write to table `{table}` needs an expression of {bytes} bytes, and DynamoDB takes 4096 bytes and 300 operators: {remedy}"
    )]
    #[non_exhaustive]
    ExpressionTooLong {
        /// The table.
        table: Arc<str>,
        /// The length of the expression in bytes.
        bytes: usize,
        /// A text that says how the caller can avoid this error.
        remedy: &'static str,
    },

    /// The outcome of a write is unknown: the write may or may not have been applied. The reply to
    /// a request was lost, and the item does not show whether the request was applied.
    ///
    /// Read the item to see its current state. A new write that starts from the current state
    /// cannot overwrite other changes, because its condition requires this state. If you repeat the
    /// write without a look at the item, the change may be applied twice.
    #[error(
        "a write to table `{table}` may or may not have been applied, and the item does not show the outcome ({spent}); \
         read the item before writing again{}", because(.last.as_deref())
    )]
    #[non_exhaustive]
    Indeterminate {
        /// The name of the table. For a transaction, the names of all its tables, separated by
        /// commas.
        table: Arc<str>,
        /// The version that the write required, or `None` for a create and a transaction.
        expected: Option<u64>,
        /// The last known version of the item, or `None` if the item was absent or was not read.
        found: Option<u64>,
        /// The number of requests that the call sent, and the time that the call took.
        spent: Spent,
        /// The failure that ended the call, or `None` if the call ended because the item does not
        /// show the outcome. The message of this error contains the message of the failure.
        last: Option<Box<Error>>,
    },

    /// The call ended at its deadline, at its maximum number of attempts, or because the retry
    /// budget was empty. Nothing was written.
    #[error("gave up after {spent}: {}", last_failure(last))]
    #[non_exhaustive]
    Exhausted {
        /// The number of requests that the call sent, and the time that the call took.
        spent: Spent,
        /// The failure of the last attempt. The message of the error contains the message of the
        /// failure.
        last: Box<Error>,
    },

    /// The next request of the call would pass its [budget](crate::Repository::budget), so the call
    /// ended without this request. No item was written.
    ///
    /// The call has consumed the units in `spent`. A call for locks removes the places in queues that
    /// it may have left. Allow more units, or continue later. If the
    /// outcome of an earlier write of the call is unknown, the error is
    /// [`Error::Indeterminate`], and `BudgetExceeded` is its cause.
    #[error("the next request needs {needed} units, and would pass the budget of {budget} ({spent})")]
    #[non_exhaustive]
    BudgetExceeded {
        /// The budget of the call: read units and write units together.
        budget: Units,
        /// The estimated units of the request that was not sent.
        needed: Units,
        /// The number of requests that the call sent, the time that the call took, and its cost.
        spent: Spent,
    },

    /// DynamoDB refused the request because a transaction is running on the same item. `Contention`
    /// appears only as the cause inside [`Error::Exhausted`].
    #[error("another transaction was running on the item ({0})")]
    Contention(Refusal),

    /// DynamoDB or the table had no capacity left for the request. `Throttled` appears only as the
    /// cause inside [`Error::Exhausted`].
    #[error("throttled ({0})")]
    Throttled(Refusal),

    /// DynamoDB sent no usable answer: the connection failed, the request timed out, or the answer
    /// was unreadable or had an HTTP status 5xx. `Unavailable` appears as the cause inside
    /// [`Error::Exhausted`] and [`Error::Indeterminate`]. Two calls return `Unavailable` directly:
    /// the release of a lock whose runtime was shut down, and the acquire of a lock whose heartbeat
    /// thread could not be started.
    #[error("no usable answer: {0}")]
    Unavailable(Unavailable),

    /// The table does not exist in this account and Region. Nothing was written.
    #[error("table `{table}` does not exist in this call_cost and Region; create it, or use the name of another table")]
    #[non_exhaustive]
    TableNotFound {
        /// The table.
        table: Arc<str>,
        /// The number of requests that the call sent, and the time that the call took.
        spent: Spent,
    },

    /// The table has no index with this name. Nothing was read.
    ///
    /// [`Repository::create_table`](crate::Repository::create_table) creates a new table with its
    /// indexes, but adds no index to an existing table. DynamoDB's `UpdateTable` can add a global
    /// index to an existing table. A local index can be created only together with its table.
    #[error(
        "table `{table}` has no index `{index}` ({spent}); `create_table` creates the indexes of a new table; add a \
         global index to this one with UpdateTable, and create the table anew for a local index"
    )]
    #[non_exhaustive]
    IndexNotFound {
        /// The table.
        table: Arc<str>,
        /// The name of the index.
        index: &'static str,
        /// The number of requests that the call sent, and the time that the call took.
        spent: Spent,
    },

    /// The key attributes of the table differ from those of the struct. Nothing was written.
    ///
    /// [`Repository::create_table`](crate::Repository::create_table) compares the key attributes
    /// and reports the difference. In calls other than `create_table`, DynamoDB reports the
    /// difference with less detail.
    #[error("the key of table `{table}` differs from the key of its type: {reason}")]
    #[non_exhaustive]
    TableMismatch {
        /// The table.
        table: Arc<str>,
        /// The difference.
        reason: String,
    },

    /// The configuration of the client is incomplete: the credentials, the Region or the endpoint
    /// are missing or invalid. Nothing was written.
    ///
    /// The call does not repeat a request that fails in this way.
    #[error("the client is not configured to send requests: {0}")]
    Misconfigured(Misconfigured),

    /// A page token belongs to another query, or was not made by this library. Nothing was read.
    ///
    /// Request the first page again, with `None` as the token.
    #[error("the page token cannot be used for this query of table `{table}`: {reason}; ask for the first page again")]
    #[non_exhaustive]
    PageToken {
        /// The table.
        table: Arc<str>,
        /// The reason.
        reason: &'static str,
    },

    /// A setting of the call is outside its range. The call sent no request.
    #[error("{0}")]
    InvalidSetting(InvalidSetting),

    /// An item is larger than DynamoDB can store. Nothing was written.
    ///
    /// If the item belongs to a transaction, the error is [`InvalidTransaction::ItemTooLarge`]
    /// instead.
    #[error(
        "the item in table `{table}` is too large: this write has {bytes} bytes of it, and DynamoDB stores 409600 \
         (400 KB); keep large content elsewhere, in S3 for example"
    )]
    #[non_exhaustive]
    ItemTooLarge {
        /// The table.
        table: Arc<str>,
        /// The size of the data in the write, by DynamoDB's rules. For a create or a put, this
        /// number is the size of the whole item. For an update, this number is the size of the key,
        /// and of the names and new values of the changed attributes.
        bytes: usize,
        /// The number of requests that the call sent, and the time that the call took.
        spent: Spent,
    },

    /// DynamoDB refused the request because of its content, the access rights of the caller or a
    /// limit. DynamoDB would also refuse a repetition of the request. Nothing was written.
    #[error("refused ({0})")]
    Rejected(Refusal),

    /// Serde cannot read a stored item into the struct. Nothing was written.
    #[error("{} does not fit its struct: {}", .0, .0.reason())]
    Decode(#[source] CodecError),

    /// DynamoDB cannot store a value of the caller, or serde cannot write the value. Nothing was
    /// written.
    #[error("{} cannot be stored: {}", .0, .0.reason())]
    Encode(#[source] CodecError),
}

impl Error {
    /// Returns the number of requests that the call sent, or `None` if the error does not contain
    /// this number.
    ///
    /// Errors with a [`Spent`], a [`Conflict`], a [`Cancelled`], a [`Locked`] or a [`Refusal`]
    /// contain the number.
    pub fn attempts(&self) -> Option<u32> {
        self.facts().spent.map(|spent| spent.attempts)
    }

    /// Returns the time from the start of the call to the error, or `None` if the error does not
    /// contain this time.
    pub fn elapsed(&self) -> Option<Duration> {
        self.facts().spent.map(|spent| spent.elapsed)
    }

    /// Converts the result of an acquire that does not wait: the error [`Error::Locked`] becomes
    /// `None`.
    pub(crate) fn none_if_locked<G>(acquired: Result<G>) -> Result<Option<G>> {
        match acquired {
            Ok(guard) => Ok(Some(guard)),
            Err(Self::Locked(_)) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Returns the capacity that the call has consumed, or `None` if the call was not
    /// [metered](crate::Repository::metered) or the error does not contain its cost.
    ///
    /// # Examples
    ///
    /// ```
    /// # fn example(error: &dynalock_core::Error) {
    /// if let Some(cost) = error.cost() {
    ///     println!("the failed call has cost {cost}");
    /// }
    /// # }
    /// ```
    pub fn cost(&self) -> Option<Cost> {
        self.facts().spent.and_then(|spent| spent.cost.as_deref().copied())
    }

    /// Returns whether the call may succeed if the caller repeats the same call later.
    ///
    /// The failed call has already made its own retries, so wait before you repeat the call.
    ///
    /// | error | `is_retryable` | reason |
    /// |---|---|---|
    /// | [`Exhausted`](Self::Exhausted) | `true` | the deadline, the attempts or the retry budget ended the call |
    /// | [`Contention`](Self::Contention), [`Throttled`](Self::Throttled) | `true` | the other transaction ends, and capacity comes back |
    /// | [`Unavailable`](Self::Unavailable) | `true`, except [`Unavailable::RuntimeEnded`] | DynamoDB may answer the next request; a guard whose runtime ended is gone |
    /// | [`Cancelled`](Self::Cancelled) | `true` if each reason is contention or a lack of capacity | no condition was false |
    /// | [`Locked`](Self::Locked) | `true` | the holder releases the lock, or its lease ends |
    /// | [`QueueFull`](Self::QueueFull), [`Evicted`](Self::Evicted) | `true` | the call can enter the queue later |
    /// | [`Indeterminate`](Self::Indeterminate) | `false` | the write may have been applied, and would be applied twice |
    /// | [`Conflict`](Self::Conflict), [`AlreadyExists`](Self::AlreadyExists), [`NotFound`](Self::NotFound) | `false` | the caller decides anew from the current item |
    /// | [`AlreadyCommitted`](Self::AlreadyCommitted), [`TokenReused`](Self::TokenReused) | `false` | the token is used |
    /// | [`Lost`](Self::Lost) | `false` | the lock has to be acquired anew |
    /// | [`BudgetExceeded`](Self::BudgetExceeded) | `false` | the same call would consume its whole budget again |
    /// | all others | `false` | the call, its data, the table or the client has to be changed |
    pub fn is_retryable(&self) -> bool {
        self.facts().is_retryable
    }
}

/// Returns the text of a key for a message. Without `#[dynalock(show_key)]`, the key is `None`, and
/// the result is the text `this key`.
fn shown(key: Option<&str>) -> String {
    key.map_or_else(|| "this key".to_owned(), |key| format!("key `{key}`"))
}

/// Returns the message of the failure that ended a call, with advice for a call that met a conflict
/// at each attempt.
fn last_failure(last: &Error) -> String {
    match last {
        Error::Conflict(conflict) => format!(
            "{}; if many callers change this item, use `patch` or `combining()`, or a longer deadline",
            conflict.difference()
        ),
        last => last.to_string(),
    }
}

fn because(last: Option<&Error>) -> String {
    last.map(|error| format!(": {error}")).unwrap_or_default()
}
