use std::{borrow::Borrow, fmt, sync::Arc};

use super::{Error, Refusal, Result, Spent};
use crate::{
    codec::{Item, Stored, decode, version_in},
    key::Key,
    model::{Model, Versioned},
    operation::Reason as Reported,
    transaction::{Op, Subject, TransactionId},
};

/// A transaction that DynamoDB cancelled, with a reason for each of its operations. Nothing was written.
///
/// [`reason`](Self::reason) returns the reason of one operation by its handle. [`reasons`](Self::reasons) returns
/// those of all operations.
#[derive(Clone)]
pub struct Cancelled(Arc<CancelledParts>);

struct CancelledParts {
    transaction: TransactionId,
    /// In the order of the calls; those that became one action share its reason.
    operations: Vec<(Subject, Reported)>,
    spent: Spent,
}

/// The part of one operation in a cancellation.
#[non_exhaustive]
pub enum Reason<T> {
    /// The operation was not a cause of the cancellation.
    None,
    /// The condition of the operation was false: the item has changed since it was read, or the operation's own
    /// condition does not hold. The variant holds the item as DynamoDB saw it, or `None` if there was no item.
    Conflict(Option<Stored<T>>),
    /// Like [`Conflict`](Self::Conflict), with an item that does not fit its struct.
    #[non_exhaustive]
    Unreadable {
        /// The item as it is stored.
        item: Item,
        /// [`Error::Decode`] or [`Error::Corrupt`].
        error: Error,
    },
    /// Another transaction was running on the item until the call gave up.
    Contention(Refusal),
    /// DynamoDB or the table had no capacity left until the call gave up.
    Capacity(Refusal),
    /// The items with this partition key have reached 10 GB, the limit of a table with local secondary indexes.
    ItemCollectionTooLarge(Refusal),
    /// DynamoDB does not accept the operation: a key or index attribute has the wrong type, or the item would grow
    /// beyond 400 KB.
    Invalid(Refusal),
    /// The refusal has a code that this version of the library does not know.
    Unknown(Refusal),
    /// The handle belongs to another transaction.
    ForeignHandle,
}

/// The class of a cancellation, or of one reason of it. It tells the caller the next step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum CancellationClass {
    /// A condition was false: read again and decide again.
    Conflict,
    /// Another transaction was running on an item: the same request may succeed later.
    Contention,
    /// No capacity was left: the same request may succeed later.
    Capacity,
    /// DynamoDB would refuse the same request again.
    Permanent,
    /// The reasons have several classes.
    Mixed,
}

/// One operation of a cancelled transaction.
#[derive(Clone, Copy)]
pub struct OperationReason<'c> {
    index: usize,
    subject: &'c Subject,
    reported: &'c Reported,
}

impl Cancelled {
    pub(crate) fn new(transaction: TransactionId, operations: Vec<(Subject, Reported)>, spent: Spent) -> Self {
        Self(Arc::new(CancelledParts { transaction, operations, spent }))
    }

    /// Returns why the operation of a handle was refused, with the item that it met. No request is made.
    pub fn reason<T: Versioned, Out>(&self, operation: impl Borrow<Op<T, Out>>) -> Reason<T> {
        match operation.borrow().index_in(self.0.transaction).and_then(|index| self.0.operations.get(index)) {
            Some((subject, reported)) => Reason::read(subject, reported),
            None => Reason::ForeignHandle,
        }
    }

    /// Returns a reason for each operation, in the order of the calls, also for operations that were not a cause.
    pub fn reasons(&self) -> impl ExactSizeIterator<Item = OperationReason<'_>> {
        self.0.operations.iter().enumerate().map(|(index, (subject, reported))| OperationReason {
            index,
            subject,
            reported,
        })
    }

    /// Returns the class of all reasons together.
    pub fn class(&self) -> CancellationClass {
        CancellationClass::of(self.reasons().filter_map(|reason| reason.class()))
    }

    /// Whether every guilty operation met contention or a lack of capacity.
    pub(super) fn is_retryable(&self) -> bool {
        CancellationClass::may_pass(self.reasons().filter_map(|reason| reason.class()))
    }

    /// The requests that the call sent, and the time that it took.
    pub fn spent(&self) -> Spent {
        self.0.spent
    }
}

impl<T: Versioned> Reason<T> {
    fn read(subject: &Subject, reported: &Reported) -> Self {
        let refusal = || reported.refusal.clone();
        match reported.class() {
            None => Self::None,
            Some(CancellationClass::Conflict) => match reported.item.clone() {
                None => Self::Conflict(None),
                Some(item) => match decode(&subject.table, item.clone()) {
                    Ok((value, basis)) => Self::Conflict(Some(Stored::new(value, basis))),
                    Err(error) => Self::Unreadable { item, error },
                },
            },
            Some(CancellationClass::Contention) => Self::Contention(refusal()),
            Some(CancellationClass::Capacity) => Self::Capacity(refusal()),
            Some(CancellationClass::Permanent | CancellationClass::Mixed) => match reported.refusal.code() {
                "ItemCollectionSizeLimitExceeded" => Self::ItemCollectionTooLarge(refusal()),
                "ValidationError" => Self::Invalid(refusal()),
                _ => Self::Unknown(refusal()),
            },
        }
    }
}

impl CancellationClass {
    pub(crate) fn of(reasons: impl Iterator<Item = Self>) -> Self {
        // A cancellation without a reason is one that nobody knows how to mend.
        reasons.reduce(|one, other| if one == other { one } else { Self::Mixed }).unwrap_or(Self::Permanent)
    }

    /// Whether the same request may succeed later: there are reasons, and each is contention or a lack of capacity.
    pub(crate) fn may_pass(reasons: impl Iterator<Item = Self>) -> bool {
        let mut reasons = reasons.peekable();
        reasons.peek().is_some() && reasons.all(|class| matches!(class, Self::Contention | Self::Capacity))
    }
}

impl<'c> OperationReason<'c> {
    /// Returns the index of the operation in the order of the calls. The first index is 0.
    pub fn index(&self) -> usize {
        self.index
    }

    /// Returns the table of the item.
    pub fn table(&self) -> &'c str {
        &self.subject.table
    }

    /// Returns the key of the item.
    pub fn key(&self) -> &'c Key {
        &self.subject.key
    }

    /// Returns DynamoDB's code, for example `ConditionalCheckFailed`. The code is the text `None` for an operation that was
    /// not a cause.
    pub fn code(&self) -> &'c str {
        self.reported.refusal.code()
    }

    /// Returns DynamoDB's message.
    pub fn message(&self) -> &'c str {
        self.reported.refusal.message()
    }

    /// Returns the class of the code, or `None` if the operation was not a cause.
    pub fn class(&self) -> Option<CancellationClass> {
        self.reported.class()
    }

    /// Returns the item that a false condition met, as a `T`, or `None` if there was no item.
    ///
    /// # Errors
    ///
    /// - [`Error::Decode`] or [`Error::Corrupt`]: the item does not fit `T`.
    ///   [`current_item`](Self::current_item) returns it in this case.
    pub fn current<T: Versioned>(&self) -> Result<Option<Stored<T>>> {
        let Some(item) = self.reported.item.clone() else { return Ok(None) };
        let (value, basis) = decode(&self.subject.table, item)?;
        Ok(Some(Stored::new(value, basis)))
    }

    /// Returns the attributes of this item as they are stored.
    pub fn current_item(&self) -> Option<&'c Item> {
        self.reported.item.as_ref()
    }

    pub(crate) fn subject(&self) -> &'c Subject {
        self.subject
    }

    fn version(&self, model: &Model) -> Option<u64> {
        self.current_item().and_then(|item| version_in(item, model.version))
    }
}

impl fmt::Display for Cancelled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let guilty: Vec<_> = self.reasons().filter(|reason| reason.class().is_some()).collect();
        let CancelledParts { operations, spent, .. } = &*self.0;
        write!(f, "the transaction was cancelled ({spent})")?;
        for (nth, reason) in guilty.iter().take(SHOWN).enumerate() {
            write!(f, "{}{reason}", if nth == 0 { ": " } else { "; " })?;
        }
        if guilty.is_empty() {
            write!(f, ": none of its {} operations says why", operations.len())?;
        }
        match guilty.len().saturating_sub(SHOWN) {
            0 => {}
            more => write!(f, "; and {more} more")?,
        }
        match self.class() {
            CancellationClass::Conflict => f.write_str("; read the items again and decide anew, or use `transact`"),
            _ => Ok(()),
        }
    }
}

/// How many operations a message names.
const SHOWN: usize = 3;

impl fmt::Display for OperationReason<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Subject { table, model, expected, .. } = self.subject;
        write!(f, "operation {} on table `{table}`: ", self.index)?;
        match self.class() {
            None => f.write_str("no objection"),
            Some(CancellationClass::Conflict) => {
                f.write_str("its condition is false, ")?;
                if let Some(expected) = expected {
                    write!(f, "expected version {expected}, ")?;
                }
                match (self.version(model), self.current_item()) {
                    (Some(found), _) => write!(f, "found version {found}"),
                    (None, Some(_)) => f.write_str("found an item without a version"),
                    (None, None) => f.write_str("found no item"),
                }
            }
            Some(_) => write!(f, "{} ({})", self.code(), self.message()),
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

impl fmt::Debug for Cancelled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cancelled")
            .field("class", &self.class())
            .field("reasons", &self.reasons().collect::<Vec<_>>())
            .field("spent", &self.0.spent)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for OperationReason<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OperationReason")
            .field("index", &self.index)
            .field("table", &self.subject.table)
            .field("code", &self.code())
            .field("found", &self.version(self.subject.model))
            .finish_non_exhaustive()
    }
}
