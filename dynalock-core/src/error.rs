//! What can go wrong, by what the caller does next.

use std::{fmt, sync::Arc, time::Duration};

use crate::{
    codec::{Item, Stored, decode, key_item},
    key::Key,
    model::{Model, Versioned},
};

/// The result of an operation on a table.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why an operation did not happen, or is not known to have happened.
///
/// Neither `Display` nor `Debug` shows the content of an item: what a conflict carries is behind
/// [`Conflict::current`], and what serde says of a value behind [`CodecError::detail`].
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The item is not as it was read: somebody else wrote or deleted it. Nothing was written.
    ///
    /// Read again, or start from [`Conflict::current`]; `update_with` does that by itself.
    #[error("{0}")]
    Conflict(Conflict),

    /// A create met an item under its key, versioned or not. Nothing was written.
    #[error("{0}")]
    AlreadyExists(Conflict),

    /// There is no item under the key to update.
    #[error("no item under this key in table `{table}` ({attempts} attempts in {elapsed:?})")]
    NotFound {
        /// The table.
        table: Arc<str>,
        /// Requests sent before, reads that were answered not counted.
        attempts: u32,
        /// Time since the operation began.
        elapsed: Duration,
    },

    /// The key of a value differs from the key that its item was read under. Nothing was written.
    ///
    /// DynamoDB cannot change a key: create an item under the new one and delete the old one.
    #[error("the key of an item in table `{table}` was changed; create an item under the new key and delete this one")]
    KeyChanged {
        /// The table.
        table: Arc<str>,
    },

    /// A key cannot be sent: it is empty, or serde writes it differently from what its `KeyAttribute` says.
    #[error("the key attribute `{attribute}` of table `{table}` cannot be used: {reason}")]
    InvalidKey {
        /// The table.
        table: Arc<str>,
        /// The attribute.
        attribute: &'static str,
        /// What is wrong with it.
        reason: &'static str,
    },

    /// A bookkeeping attribute of the stored item is not what it must be; another program wrote it. Nothing was written.
    #[error("attribute `{attribute}` of an item in table `{table}` is corrupt: {reason}")]
    Corrupt {
        /// The table.
        table: Arc<str>,
        /// The attribute.
        attribute: &'static str,
        /// What is wrong with it.
        reason: &'static str,
    },

    /// The item is at the last version that a `u64` can hold. Nothing was written.
    #[error("an item in table `{table}` is at the last version, {}; no further write can be counted", u64::MAX)]
    VersionExhausted {
        /// The table.
        table: Arc<str>,
    },

    /// Whether the write was applied cannot be told: a reply was lost, and the item no longer shows it.
    ///
    /// Read the item to see what it is now. A write after this one is safe, since its own condition decides; repeating this
    /// one may apply it twice.
    #[error(
        "it cannot be told whether a write to table `{table}` was applied ({attempts} attempts in {elapsed:?}); \
         read the item before writing again{}", because(.last.as_deref())
    )]
    Indeterminate {
        /// The table.
        table: Arc<str>,
        /// The version that the write rested on; none for a create.
        expected: Option<u64>,
        /// The version that the item had when it was last seen; none if it was absent or not seen.
        found: Option<u64>,
        /// Requests sent.
        attempts: u32,
        /// Time since the operation began.
        elapsed: Duration,
        /// The failure that ended it; none if the item itself showed that it cannot be told.
        #[source]
        last: Option<Box<Error>>,
    },

    /// The deadline, the number of attempts or the retry budget was reached. Nothing was written.
    #[error("gave up after {attempts} attempts in {elapsed:?}: {last}")]
    Exhausted {
        /// Requests sent.
        attempts: u32,
        /// Time since the operation began.
        elapsed: Duration,
        /// What the last attempt met.
        #[source]
        last: Box<Error>,
    },

    /// DynamoDB refused the request because of a transaction on the same item. Seen inside [`Error::Exhausted`].
    #[error("a transaction was at work on the item ({0})")]
    Contention(Refusal),

    /// DynamoDB or the table had no capacity left. Seen inside [`Error::Exhausted`].
    #[error("throttled ({0})")]
    Throttled(Refusal),

    /// No usable answer came: no connection, a timeout, a 5xx, an unreadable body. Seen inside [`Error::Exhausted`] and
    /// [`Error::Indeterminate`].
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

    /// The table exists with another key than the type describes.
    #[error("table `{table}` has another key than its type: {reason}")]
    TableMismatch {
        /// The table.
        table: Arc<str>,
        /// What differs.
        reason: String,
    },

    /// DynamoDB refused the request for good: validation, access, limits. Nothing was written.
    #[error("refused ({0})")]
    Rejected(Refusal),

    /// A stored item does not fit the struct. Nothing was written.
    #[error("{0} does not fit its struct; `CodecError::detail` says why and may quote content")]
    Decode(CodecError),

    /// A value cannot be stored. Nothing was written.
    #[error("{0} cannot be stored; `CodecError::detail` says why and may quote content")]
    Encode(CodecError),
}

fn because(last: Option<&Error>) -> String {
    last.map(|error| format!(": {error}")).unwrap_or_default()
}

/// A write that lost, and the item that it lost to.
#[derive(Clone)]
pub struct Conflict(Box<ConflictParts>);

#[derive(Clone)]
struct ConflictParts {
    model: &'static Model,
    table: Arc<str>,
    key: Key,
    item: Option<Item>,
    attempts: u32,
    elapsed: Duration,
}

impl Conflict {
    pub(crate) fn new(
        model: &'static Model,
        table: Arc<str>,
        key: Key,
        item: Option<Item>,
        (attempts, elapsed): (u32, Duration),
    ) -> Self {
        Self(Box::new(ConflictParts { model, table, key, item, attempts, elapsed }))
    }

    /// The item as DynamoDB saw it when it refused the write; nothing if there was none. No request is made.
    ///
    /// # Errors
    ///
    /// [`Error::Decode`] and [`Error::Corrupt`] if it does not fit `T`; [`Conflict::current_item`] shows it then.
    pub fn current<T: Versioned>(&self) -> Result<Option<Stored<T>>> {
        let Some(item) = self.0.item.clone() else { return Ok(None) };
        let (value, basis) = decode(&self.0.table, item)?;
        Ok(Some(Stored::new(value, basis)))
    }

    /// The attributes of that item as they are stored.
    pub fn current_item(&self) -> Option<&Item> {
        self.0.item.as_ref()
    }

    /// The table.
    pub fn table(&self) -> &str {
        &self.0.table
    }

    /// The key.
    pub fn key(&self) -> &Key {
        &self.0.key
    }

    /// The key's attributes under their names.
    pub fn key_item(&self) -> Item {
        key_item(self.0.model, &self.0.key)
    }

    /// Requests sent.
    pub fn attempts(&self) -> u32 {
        self.0.attempts
    }

    /// Time since the operation began.
    pub fn elapsed(&self) -> Duration {
        self.0.elapsed
    }
}

impl fmt::Display for Conflict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = if self.0.item.is_some() { "is not as expected" } else { "is gone" };
        let ConflictParts { table, attempts, elapsed, .. } = &*self.0;
        write!(f, "the item in table `{table}` {state} ({attempts} attempts in {elapsed:?})")
    }
}

impl fmt::Debug for Conflict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Conflict")
            .field("table", &self.0.table)
            .field("item", &self.0.item.as_ref().map(|_| ".."))
            .field("attempts", &self.0.attempts)
            .field("elapsed", &self.0.elapsed)
            .finish_non_exhaustive()
    }
}

/// DynamoDB's own words for a refusal, and what had been tried by then.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{code}: {message}; request {}, {attempts} attempts in {elapsed:?}", .request_id.as_deref().unwrap_or("without an id"))]
pub struct Refusal {
    code: String,
    message: String,
    request_id: Option<String>,
    attempts: u32,
    elapsed: Duration,
}

impl Refusal {
    pub(crate) fn new(code: impl Into<String>, message: impl Into<String>, request_id: Option<String>) -> Self {
        Self { code: code.into(), message: message.into(), request_id, attempts: 0, elapsed: Duration::ZERO }
    }

    pub(crate) fn after(self, (attempts, elapsed): (u32, Duration)) -> Self {
        Self { attempts, elapsed, ..self }
    }

    /// The error code, `ValidationException` for example.
    pub fn code(&self) -> &str {
        &self.code
    }

    /// The message.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// The id that AWS support asks for.
    pub fn request_id(&self) -> Option<&str> {
        self.request_id.as_deref()
    }

    /// Requests sent.
    pub fn attempts(&self) -> u32 {
        self.attempts
    }

    /// Time since the operation began.
    pub fn elapsed(&self) -> Duration {
        self.elapsed
    }
}

/// Why no usable answer came.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum Unavailable {
    /// The connection was refused: the request was never sent.
    #[error("the connection was refused; is the endpoint right, and is the server running?")]
    Refused,
    /// The connection could not be made, or broke. Whether the request was applied is open.
    #[error("the connection failed: {0}")]
    Connection(Arc<str>),
    /// No answer came in time. Whether the request was applied is open.
    #[error("no answer came in time")]
    Timeout,
    /// The table is there, but not active yet.
    #[error("the table is not active yet")]
    NotActive,
    /// DynamoDB answered with a server error. Whether the request was applied is open.
    #[error("a server error ({0})")]
    Server(Refusal),
    /// The answer could not be read. Whether the request was applied is open.
    #[error("the answer could not be read: {0}")]
    Unreadable(Arc<str>),
}

/// A value that serde could not read from an item, or not write into one.
#[derive(Clone)]
pub struct CodecError(Box<(Arc<str>, Option<String>, serde_dynamo::Error)>);

impl CodecError {
    pub(crate) fn new(table: Arc<str>, attribute: Option<String>, detail: serde_dynamo::Error) -> Self {
        Self(Box::new((table, attribute, detail)))
    }

    /// The table.
    pub fn table(&self) -> &str {
        &self.0.0
    }

    /// The attribute, where it is known.
    pub fn attribute(&self) -> Option<&str> {
        self.0.1.as_deref()
    }

    /// What serde says. It may quote the content of the item.
    pub fn detail(&self) -> &serde_dynamo::Error {
        &self.0.2
    }
}

impl fmt::Display for CodecError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.attribute() {
            Some(attribute) => write!(f, "attribute `{attribute}` of an item of table `{}`", self.table()),
            None => write!(f, "an item of table `{}`", self.table()),
        }
    }
}

impl fmt::Debug for CodecError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CodecError").field("table", &self.0.0).field("attribute", &self.0.1).finish_non_exhaustive()
    }
}
