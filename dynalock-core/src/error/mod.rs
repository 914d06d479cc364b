//! The errors of the library. The variants of [`Error`] differ in what the caller should do next:
//! after [`Error::Conflict`], for example, the caller reads the item again.

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

pub(crate) use action_reason::ActionReason;
pub use action_reason::CancellationClass;
pub(crate) use cancelled::TransactionId;
pub use cancelled::{Cancelled, OperationReason};
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

/// The result of a call of the library.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The reason why a call did not succeed, or why the outcome of a call is unknown.
///
/// Neither `Display` nor `Debug` shows the content of an item. [`Conflict::current`] and
/// [`Cancelled::reason`] return stored items, and the text of [`CodecError::detail`] may quote
/// content of an item. The text of an error shows the key of an item only if the type of the item
/// has `#[dynalock(show_key)]`. If DynamoDB sent a message, the text of the error contains the
/// message unchanged.
///
/// # Examples
///
/// ```
/// # use dynalock_core as dynalock;
/// # mod shop { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest/shop.rs")); }
/// # use shop::Product;
/// # async fn example(products: &dynalock::Repository<Product>, edited: dynalock::Stored<Product>) {
/// use dynalock::Error;
///
/// match products.update(edited).await {
///     Ok(product) => println!("saved as version {}", product.version()),
///     Err(Error::Conflict(_)) => println!("another user was faster: show the new values"),
///     Err(Error::Indeterminate { .. }) => println!("read the product, to see whether it was saved"),
///     Err(error) if error.is_retryable() => println!("try again later: {error}"),
///     Err(error) => println!("not saved: {error}"),
/// }
/// # }
/// ```
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The item has changed since the program read the item: another caller has written or deleted
    /// the item. The failed call has written nothing.
    ///
    /// After a conflict, read the item again, or start from the item that [`Conflict::current`]
    /// returns. The method `update_with` reads the item and repeats the change after each conflict.
    #[error("{}; read it again, or use `update_with`", .0.difference())]
    Conflict(Conflict),

    /// A create found a stored item with the key of the new item. The failed create has written
    /// nothing. The stored item may come from a program that does not use dynalock, and may have no
    /// version.
    #[error("an item is already stored under {} in table `{}`; update it, or use `upsert_with`", .0.shown_key(), .0.table())]
    AlreadyExists(Conflict),

    /// The condition that the caller has added to a single write is false. The failed call has
    /// written nothing, and the library has not repeated the write.
    #[error("the condition of a write is false for the item under {} in table `{}`; read it and decide again", .0.shown_key(), .0.table())]
    ConditionFailed(Conflict),

    /// The result of an `add` in a patch would be outside the range of the attribute's type. The
    /// failed patch has written nothing.
    #[error("a patch of table `{table}` would leave the range of `{attribute}` ({spent}); add a smaller number")]
    #[non_exhaustive]
    OutOfRange {
        /// The name of the table.
        table: Arc<str>,
        /// The name of the attribute, or the path of the value inside the attribute.
        attribute: String,
        /// The number of requests that the failed call sent, and the duration of the failed call.
        spent: Spent,
    },

    /// The patch does not fit the stored item, so the failed call has written nothing. Possible
    /// causes of `Unpatchable` are an attribute with another type than the field of the struct, and
    /// an attribute under an alias of the field. Another possible cause of `Unpatchable` is a
    /// missing attribute that the patch requires, or a missing value on the document path of a
    /// change.
    #[error("a patch cannot change `{attribute}` of an item in table `{table}`: {reason} ({spent})")]
    #[non_exhaustive]
    Unpatchable {
        /// The name of the table.
        table: Arc<str>,
        /// The name of the attribute, or the path of the value inside the attribute.
        attribute: String,
        /// The reason why the patch does not fit the stored item, with advice for the caller.
        reason: &'static str,
        /// The number of requests that the failed call sent, and the duration of the failed call.
        spent: Spent,
    },

    /// The patch is invalid. The failed call has sent no request.
    #[error("a patch of table `{table}` cannot be sent: {why}")]
    #[non_exhaustive]
    InvalidPatch {
        /// The name of the table.
        table: Arc<str>,
        /// The reason why the patch is invalid.
        why: InvalidPatch,
    },

    /// DynamoDB has cancelled a transaction, and has applied no operation of the transaction.
    ///
    /// [`Cancelled::reason`] returns the cancellation reason of an operation. If the condition of
    /// the operation was false, the reason contains the stored item. After a conflict with another
    /// writer, the function [`transact`](crate::transact) runs the closure of the caller again.
    #[error("{0}")]
    Cancelled(Cancelled),

    /// The transaction is invalid. The failed call has sent no request for the commit.
    #[error("the transaction cannot be sent: {0}")]
    InvalidTransaction(InvalidTransaction),

    /// The caller has used the handle of one transaction with the result of another transaction, or
    /// the handle of one read with the result of another read. `ForeignHandle` does not show
    /// whether a transaction was committed.
    #[error("the handle belongs to another transaction; use the one that this transaction gave")]
    ForeignHandle,

    /// An earlier call has already committed a transaction with the token of the failed call. The
    /// failed call has written nothing.
    #[error(
        "a transaction with this token was committed before ({spent}); \
         read the items to see what it left"
    )]
    #[non_exhaustive]
    AlreadyCommitted {
        /// The number of requests that the failed call sent, and the duration of the failed call.
        spent: Spent,
    },

    /// In the last ten minutes, DynamoDB has committed a transaction with the ClientRequestToken of
    /// the failed call, but with other content. The failed call has written nothing.
    ///
    /// Read the items of the transaction before you send a changed transaction with a new token. A
    /// program that repeats a transaction with the same token, for example after a crash, must send
    /// the same content. Each process writes a `HashSet` or a `HashMap` in a different order, so a
    /// transaction with a `HashSet` or a `HashMap` has different content in another process. The
    /// content of a `BTreeSet`, a `BTreeMap` or a `Vec` has a fixed order. If an item of the
    /// transaction contains the write id of an earlier transaction with the same token, the call
    /// returns [`Error::AlreadyCommitted`] instead of `TokenReused`.
    #[error(
        "another content was committed under this token in the last ten minutes ({spent}); \
         give a new content a new token, and use no `HashSet` or `HashMap` in values that have to be the same again"
    )]
    #[non_exhaustive]
    TokenReused {
        /// The number of requests that the failed call sent, and the duration of the failed call.
        spent: Spent,
    },

    /// Another caller holds the lock, and the failed call has waited for the maximum waiting time.
    #[error("{0}")]
    Locked(Box<Locked>),

    /// The caller cannot enter the fair queue of the lock, because the queue already has the
    /// maximum number of entries, including the holder's entry.
    ///
    /// The caller can repeat the call later, or allow a longer queue with
    /// [`Acquire::max_queue`](crate::lock::Acquire::max_queue).
    #[error(
        "the queue of {} in table `{table}` is full: {waiting} callers wait behind the holder ({spent}); \
         call again later",
        shown_lock(.name.as_deref())
    )]
    #[non_exhaustive]
    QueueFull {
        /// The name of the table that stores the lock.
        table: Arc<str>,
        /// The name of the lock. For a lease on an item, `name` is the key of the item, or `None` if
        /// the type has no `#[dynalock(show_key)]`.
        name: Option<Arc<str>>,
        /// The number of waiters in the queue, without the holder.
        waiting: usize,
        /// The number of requests that the failed call sent, and the duration of the failed call.
        spent: Spent,
    },

    /// The caller is no longer in the fair queue of the lock, and does not hold the lock. The
    /// caller's entry was at the front of the queue, but the caller sent no heartbeat for a whole
    /// ttl, so another caller removed the entry.
    ///
    /// A waiter sends no heartbeat if the waiter's process or runtime is paused, or if the waiter
    /// cannot reach DynamoDB. A repetition of the failed call enters the queue at the end.
    #[error(
        "the place in the queue of {} in table `{table}` is lost, because the caller became the head and sent no heartbeat \
         for a whole ttl ({spent}); call again to enter at the end of the queue",
        shown_lock(.name.as_deref())
    )]
    #[non_exhaustive]
    Evicted {
        /// The name of the table that stores the lock.
        table: Arc<str>,
        /// The name of the lock. For a lease on an item, `name` is the key of the item, or `None` if
        /// the type has no `#[dynalock(show_key)]`.
        name: Option<Arc<str>>,
        /// The number of requests that the failed call sent, and the duration of the failed call.
        spent: Spent,
    },

    /// The caller has lost the lock, and another caller may already hold the lock.
    #[error("the lock is lost: {0}")]
    Lost(Lost),

    /// The call needs an existing item, but the table has no item with the given key.
    #[error("no item under {} in table `{table}`; create it, or use `upsert_with`", shown(.key.as_deref()))]
    #[non_exhaustive]
    NotFound {
        /// The name of the table.
        table: Arc<str>,
        /// The key of the item, or `None` if the type has no `#[dynalock(show_key)]`.
        key: Option<Arc<str>>,
        /// The number of requests that the failed call sent, and the duration of the failed call.
        spent: Spent,
    },

    /// The key of the written value differs from the key of the item that the caller has read, or
    /// from the key in the call. `KeyChanged` is also the error for an etag of another item. The
    /// failed call has written nothing.
    ///
    /// DynamoDB cannot change the key of an item. To change a key, create an item with the new key,
    /// and delete the old item.
    #[error(
        "the key of a value in table `{table}` differs from the key of the item that was read; \
         to change a key, create an item under the new key and delete the old item; an etag is valid only for its own item"
    )]
    #[non_exhaustive]
    KeyChanged {
        /// The name of the table.
        table: Arc<str>,
    },

    /// A key is invalid. Either the key is empty, or the key is longer than DynamoDB allows, or
    /// serde and the `KeyAttribute` implementation convert the key to different values.
    #[error("the key attribute `{attribute}` of table `{table}` cannot be used: {reason}")]
    #[non_exhaustive]
    InvalidKey {
        /// The name of the table.
        table: Arc<str>,
        /// The name of the key attribute.
        attribute: &'static str,
        /// The reason why the key is invalid.
        reason: &'static str,
    },

    /// A program that does not use dynalock has written one of the library's own attributes, for
    /// example `_writes`, with an invalid value. The failed call has written nothing, unless
    /// `applied` is `true`.
    #[error("attribute `{attribute}` of {} is corrupt: {reason}{}", shown_item(table, key.as_deref()), applied_text(*applied))]
    #[non_exhaustive]
    Corrupt {
        /// The name of the table.
        table: Arc<str>,
        /// The key of the item, or `None` if the type has no `#[dynalock(show_key)]`. For the row of
        /// a lock, `key` is also `None`.
        key: Option<Arc<str>>,
        /// The name of the invalid attribute.
        attribute: &'static str,
        /// The reason why the attribute is invalid.
        reason: &'static str,
        /// `true` if DynamoDB has applied the write of the failed call, and the item after the write
        /// is corrupt.
        applied: bool,
    },

    /// The version of the item is the largest `u64`, so no write can increment the version. The
    /// failed call has written nothing.
    #[error(
        "an item in table `{table}` has the largest possible version, {}; no further write can increment it",
        u64::MAX
    )]
    #[non_exhaustive]
    VersionExhausted {
        /// The name of the table.
        table: Arc<str>,
    },

    /// A write changes or compares too many attributes, so the expression of the write is longer
    /// than DynamoDB allows. The failed call has written nothing.
    #[error(
        "a write to table `{table}` needs an expression of {bytes} bytes with {operators} operators, and DynamoDB takes 4096 \
         bytes with 300 operators: {remedy}"
    )]
    #[non_exhaustive]
    ExpressionTooLong {
        /// The name of the table.
        table: Arc<str>,
        /// The length of the expression in bytes.
        bytes: usize,
        /// The number of operators and functions in the expression, as DynamoDB counts them.
        operators: usize,
        /// Advice for the caller on how to shorten the expression.
        remedy: &'static str,
    },

    /// DynamoDB may or may not have applied a write of the failed call. The reply to a request was
    /// lost, and the item does not show whether DynamoDB applied the request.
    ///
    /// DynamoDB may refuse a request, and later apply a delayed duplicate of the same request. A
    /// unit of work or a [`Combining`](crate::request::Combining) call then fails with
    /// `Indeterminate`.
    ///
    /// Read the item to see the current state of the item. A write that starts from a new read of
    /// the item is safe. DynamoDB refuses such a write if another caller has changed the item since
    /// the read. If you repeat the write without a read of the item, DynamoDB may apply the change
    /// twice.
    #[error(
        "a write to table `{table}` may or may not have been applied, and the item does not show the outcome ({spent}); \
         read the item before writing again{}", because(.last.as_deref())
    )]
    #[non_exhaustive]
    Indeterminate {
        /// The name of the table. For a transaction, `table` contains the names of all tables,
        /// separated by commas.
        table: Arc<str>,
        /// The version that the write required, or `None` for a create and a transaction.
        expected: Option<u64>,
        /// The last known version of the item. `found` is `None` if the item was absent, had no
        /// version, or was not read.
        found: Option<u64>,
        /// The number of requests that the failed call sent, and the duration of the failed call.
        spent: Spent,
        /// The failure that ended the call. `None` means that no failure ended the call: the stored
        /// item did not show whether DynamoDB had applied the write. The message of `Indeterminate`
        /// contains the message of `last`.
        last: Option<Box<Error>>,
    },

    /// The failed call has reached its deadline or its maximum number of attempts, or the retry
    /// budget was empty. The failed call has written nothing.
    #[error("gave up after {spent}: {}", last_failure(last))]
    #[non_exhaustive]
    Exhausted {
        /// The number of requests that the failed call sent, and the duration of the failed call.
        spent: Spent,
        /// The failure of the last attempt. The message of `Exhausted` contains the message of
        /// `last`.
        last: Box<Error>,
    },

    /// The next request of the call would exceed the [budget](crate::Repository::budget) of the
    /// call, so the call has ended without the next request. The failed call has written no item.
    ///
    /// The field `spent` contains the capacity units that the failed call has consumed. If the call
    /// was waiting in the queues of locks, the call has removed its own entries from the queues.
    /// After `BudgetExceeded`, the caller can repeat the call with a larger budget. If the outcome
    /// of an earlier write of the call is unknown, the call returns [`Error::Indeterminate`]
    /// instead. Its field `last` then contains `BudgetExceeded`.
    #[error("the next request needs {needed} units, and would pass the budget of {budget} ({spent})")]
    #[non_exhaustive]
    BudgetExceeded {
        /// The capacity budget of the call, for read units and write units together.
        budget: Units,
        /// The estimated capacity units of the request that the call did not send.
        needed: Units,
        /// The number of requests, the duration and the cost of the failed call.
        spent: Spent,
    },

    /// DynamoDB refused a request because a transaction was running on an item of the request.
    /// `Contention` appears only as the cause inside [`Error::Exhausted`] or
    /// [`Error::Indeterminate`].
    #[error("another transaction was running on the item ({0})")]
    Contention(Refusal),

    /// DynamoDB or the table had no capacity left for the request. `Throttled` appears only as the
    /// cause inside [`Error::Exhausted`] or [`Error::Indeterminate`].
    #[error("throttled ({0})")]
    Throttled(Refusal),

    /// The call has received no usable answer: the connection failed, the request timed out, or the
    /// answer was unreadable or had an HTTP status 5xx. A call returns `Unavailable` directly, or
    /// as the cause inside [`Error::Exhausted`] or [`Error::Indeterminate`].
    #[error("no usable answer: {0}")]
    Unavailable(Unavailable),

    /// The table does not exist in the account and Region of the client. The failed call has
    /// written nothing.
    #[error("table `{table}` does not exist in this account and Region; create it, or use the name of another table")]
    #[non_exhaustive]
    TableNotFound {
        /// The name of the table.
        table: Arc<str>,
        /// The number of requests that the failed call sent, and the duration of the failed call.
        spent: Spent,
    },

    /// The query or scan names an index that the table does not have. The failed call has read
    /// nothing.
    ///
    /// [`Repository::create_table`](crate::Repository::create_table) creates a new table with all
    /// indexes of the type, but adds no index to an existing table. DynamoDB's `UpdateTable` can
    /// add a global index to an existing table. DynamoDB creates a local index only together with
    /// the table.
    #[error(
        "table `{table}` has no index `{index}` ({spent}); `create_table` creates the indexes of a new table; add a \
         global index to this one with UpdateTable, and create the table anew for a local index"
    )]
    #[non_exhaustive]
    IndexNotFound {
        /// The name of the table.
        table: Arc<str>,
        /// The name of the index.
        index: &'static str,
        /// The number of requests that the failed call sent, and the duration of the failed call.
        spent: Spent,
    },

    /// The key attributes of the table, or of the index that the call reads, differ from the key
    /// attributes of the struct. The failed call has written nothing.
    ///
    /// [`Repository::create_table`](crate::Repository::create_table) compares the key attributes
    /// and the time to live of the table with the struct, and reports the first difference. If a
    /// call other than `create_table` returns `TableMismatch`, the error contains DynamoDB's
    /// message. [`Repository::verify_table`](crate::Repository::verify_table) compares the table
    /// and its indexes with the struct, and reports all differences.
    #[error("{}table `{table}` does not fit its type: {reason}", of_index(*index))]
    #[non_exhaustive]
    TableMismatch {
        /// The name of the table.
        table: Arc<str>,
        /// The name of the index that the call reads, or `None` if the call uses the table itself.
        index: Option<&'static str>,
        /// The difference between the struct and the table or the index.
        reason: String,
    },

    /// The configuration of the client is incomplete: the credentials, the Region or the endpoint
    /// are missing or invalid. The failed call has written nothing.
    ///
    /// The library does not repeat a request that fails because of the configuration.
    #[error("the client is not configured to send requests: {0}")]
    Misconfigured(Misconfigured),

    /// The page token in the call comes from another query, is malformed, or has a wrong signature.
    /// The failed call has read nothing.
    ///
    /// To continue after the error `PageToken`, request the first page of the query, with `None` as
    /// the page token.
    #[error("the page token cannot be used for this query of table `{table}`: {reason}; ask for the first page again")]
    #[non_exhaustive]
    PageToken {
        /// The name of the table.
        table: Arc<str>,
        /// The reason why the page token is invalid.
        reason: &'static str,
    },

    /// The value of a setting of the call is outside the allowed range. The failed call has sent no
    /// request.
    #[error("{0}")]
    InvalidSetting(InvalidSetting),

    /// An item is larger than DynamoDB can store. The failed call has written nothing.
    ///
    /// If the item is part of a transaction, the commit returns
    /// [`InvalidTransaction::ItemTooLarge`] instead of `ItemTooLarge`.
    #[error(
        "the item in table `{table}` is too large: this write has {bytes} bytes of it, and DynamoDB stores 409600 \
         (400 KB); keep large content elsewhere, in S3 for example"
    )]
    #[non_exhaustive]
    ItemTooLarge {
        /// The name of the table.
        table: Arc<str>,
        /// The size of the data in the write, in bytes, by DynamoDB's rules. For a create or a put,
        /// `bytes` is the size of the whole item. For an update, `bytes` is the size of the key,
        /// and of the names and new values of the changed attributes.
        bytes: usize,
        /// The number of requests that the failed call sent, and the duration of the failed call.
        spent: Spent,
    },

    /// DynamoDB refused a request because of the content of the request, the access rights of the
    /// caller or a limit. DynamoDB would refuse the same request again. The failed call has written
    /// nothing.
    #[error("refused ({0})")]
    Rejected(Refusal),

    /// Serde cannot read a stored item into the struct. The failed call has written nothing, unless
    /// [`is_applied`](CodecError::is_applied) returns `true`.
    #[error("{} does not fit its struct: {}{}", .0, .0.reason(), applied_text(.0.is_applied()))]
    Decode(CodecError),

    /// Serde cannot serialize a value that the caller passed, or DynamoDB cannot store the value.
    /// The failed call has written nothing.
    #[error("{} cannot be stored: {}", .0, .0.reason())]
    Encode(CodecError),
}

impl From<Lost> for Error {
    fn from(lost: Lost) -> Self {
        Self::Lost(lost)
    }
}

impl Error {
    /// Returns the number of requests that the failed call has sent, except the reads that DynamoDB
    /// has answered. Returns `None` if the error does not contain the number of requests.
    ///
    /// Errors with a [`Spent`], a [`Conflict`], a [`Cancelled`], a [`Locked`] or a [`Refusal`]
    /// contain the number of requests.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # fn example(error: &dynalock::Error) {
    /// if let Some(attempts) = error.attempts() {
    ///     println!("the call failed after {attempts} requests");
    /// }
    /// # }
    /// ```
    pub fn attempts(&self) -> Option<u32> {
        self.facts().spent.map(|spent| spent.attempts)
    }

    /// Returns the time from the start of the call to the error, or `None` if the error does not
    /// contain the duration of the call.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # fn example(error: &dynalock::Error) {
    /// if let Some(elapsed) = error.elapsed() {
    ///     println!("the call failed after {elapsed:?}");
    /// }
    /// # }
    /// ```
    pub fn elapsed(&self) -> Option<Duration> {
        self.facts().spent.map(|spent| spent.elapsed)
    }

    pub(crate) fn none_if_locked<G>(acquired: Result<G>) -> Result<Option<G>> {
        match acquired {
            Ok(guard) => Ok(Some(guard)),
            Err(Self::Locked(_)) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Returns the capacity that the failed call has consumed. Returns `None` if the call was not
    /// [metered](crate::Repository::metered), or if the error does not contain the cost of the
    /// call.
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

    /// Returns `true` if a later repetition of the failed call may succeed.
    ///
    /// The failed call has already sent its own retries, so the caller should wait before a
    /// repetition of the call.
    ///
    /// | error | `is_retryable` | reason |
    /// |---|---|---|
    /// | [`Exhausted`](Self::Exhausted) | `true` | the call reached a limit: the deadline, the number of attempts or the retry budget |
    /// | [`Contention`](Self::Contention), [`Throttled`](Self::Throttled) | `true` | the running transaction may have ended, or the table may have capacity again |
    /// | [`Unavailable`](Self::Unavailable) | `true`, except [`Unavailable::RuntimeEnded`] | DynamoDB may answer the next request; a lock cannot be acquired or released while its runtime does not run |
    /// | [`Cancelled`](Self::Cancelled) | `true` if each reason is contention or a lack of capacity | no condition was false |
    /// | [`Locked`](Self::Locked) | `true` | the holder may release the lock, or the lease of the holder may end |
    /// | [`QueueFull`](Self::QueueFull), [`Evicted`](Self::Evicted) | `true` | a later call can enter the queue |
    /// | [`Indeterminate`](Self::Indeterminate) | `false` | DynamoDB may have applied the write, and a repetition of the call could apply the write a second time |
    /// | [`Conflict`](Self::Conflict), [`AlreadyExists`](Self::AlreadyExists), [`NotFound`](Self::NotFound) | `false` | the caller must decide from the current item what to write |
    /// | [`AlreadyCommitted`](Self::AlreadyCommitted), [`TokenReused`](Self::TokenReused) | `false` | DynamoDB has already committed a transaction with the token |
    /// | [`Lost`](Self::Lost) | `false` | the caller must acquire the lock with a new call |
    /// | [`BudgetExceeded`](Self::BudgetExceeded) | `false` | a repetition of the call would consume the whole budget |
    /// | an error that this table does not name | `false` | the caller must change the call, the data, the table or the client |
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # fn example(error: &dynalock::Error) {
    /// // A web service answers 503 (try again later) or 500.
    /// let status = if error.is_retryable() { 503 } else { 500 };
    /// # }
    /// ```
    pub fn is_retryable(&self) -> bool {
        self.facts().is_retryable
    }
}

/// `key` is `None` for a type without `#[dynalock(show_key)]`.
fn shown(key: Option<&str>) -> String {
    key.map_or_else(|| "this key".to_owned(), |key| format!("key `{key}`"))
}

/// `key` is `None` for a type without `#[dynalock(show_key)]`.
fn shown_item(table: &str, key: Option<&str>) -> String {
    match key {
        Some(key) => format!("the item under `{key}` of table `{table}`"),
        None => format!("an item of table `{table}`"),
    }
}

/// Says after an error of a read that the write of the same call was applied.
fn applied_text(is_applied: bool) -> &'static str {
    if is_applied { "; DynamoDB has applied the write of the call, so do not repeat the call" } else { "" }
}

fn of_index(name: Option<&str>) -> String {
    name.map(|name| format!("index `{name}` of ")).unwrap_or_default()
}

/// `name` is `None` for the lease on an item of a type without `#[dynalock(show_key)]`.
fn shown_lock(name: Option<&str>) -> String {
    name.map_or_else(|| "a lock".to_owned(), |name| format!("the lock `{name}`"))
}

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
