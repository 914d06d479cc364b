use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use super::{ActionReason, Refusal, Spent};
use crate::{
    key::Key,
    model::{Item, ItemRef, Model},
    version::version_in,
};

/// The cancellation of a transaction, with a reason for each operation. DynamoDB has applied no
/// operation of the transaction.
///
/// [`reason`](Self::reason) returns the reason for one operation by its handle.
/// [`reasons`](Self::reasons) returns the reasons for all operations.
#[derive(Clone)]
pub struct Cancelled(Arc<CancelledParts>);

/// The number of a transaction, unique in this process. By this number, a transaction recognises a
/// handle that belongs to another transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TransactionId(u64);

impl TransactionId {
    pub(crate) fn next() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Self(NEXT.fetch_add(1, Ordering::Relaxed))
    }
}

struct CancelledParts {
    transaction: TransactionId,
    /// The operations in the order of the calls, each with its reason. Operations on the same item
    /// were sent as one action, so they have the same reason.
    operations: Vec<(ItemRef, ActionReason)>,
    spent: Spent,
}

/// The class of a cancellation, or of one of its reasons. The class says what a caller should do
/// next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum CancellationClass {
    /// A condition was false. The caller must read the items again before a new attempt.
    Conflict,
    /// Another transaction was running on an item. The same transaction may succeed later.
    Contention,
    /// DynamoDB or the table had no capacity left. The same transaction may succeed later.
    Capacity,
    /// DynamoDB would refuse the same transaction whenever it is sent.
    Permanent,
    /// The reasons of the cancellation have several classes.
    Mixed,
}

/// One operation of a cancelled transaction, with its reason.
#[derive(Clone, Copy)]
pub struct OperationReason<'c> {
    index: usize,
    item_ref: &'c ItemRef,
    reported: &'c ActionReason,
}

impl Cancelled {
    pub(crate) fn new(transaction: TransactionId, operations: Vec<(ItemRef, ActionReason)>, spent: Spent) -> Self {
        Self(Arc::new(CancelledParts { transaction, operations, spent }))
    }

    /// Returns the id of the cancelled transaction.
    pub(crate) fn transaction(&self) -> TransactionId {
        self.0.transaction
    }

    /// Returns a reason for each operation, in the order of the calls. For an operation that did
    /// not cause the cancellation, [`OperationReason::class`] is `None`.
    pub fn reasons(&self) -> impl ExactSizeIterator<Item = OperationReason<'_>> {
        self.0.operations.iter().enumerate().map(|(index, (item_ref, reported))| OperationReason {
            index,
            item_ref,
            reported,
        })
    }

    /// Returns the [`CancellationClass`] that all cancellation reasons share, or `Mixed` if the
    /// reasons differ in their class.
    pub fn class(&self) -> CancellationClass {
        CancellationClass::of(self.reasons().filter_map(|reason| reason.class()))
    }

    /// Returns whether the same transaction may succeed later: each failed operation met contention
    /// or a lack of capacity.
    pub(super) fn is_retryable(&self) -> bool {
        CancellationClass::may_pass(self.reasons().filter_map(|reason| reason.class()))
    }

    /// Returns the number of requests that the call sent, and the time that the call took.
    pub fn spent(&self) -> Spent {
        self.0.spent.clone()
    }
}

impl CancellationClass {
    pub(crate) fn of(reasons: impl Iterator<Item = Self>) -> Self {
        // A cancellation without any reason counts as permanent, because nothing suggests that a
        // repetition would succeed.
        reasons.reduce(|one, other| if one == other { one } else { Self::Mixed }).unwrap_or(Self::Permanent)
    }

    /// Returns whether the same request may succeed later. The result is `true` if there is at
    /// least one reason, and each reason is contention or a lack of capacity.
    pub(crate) fn may_pass(reasons: impl Iterator<Item = Self>) -> bool {
        let mut reasons = reasons.peekable();
        reasons.peek().is_some() && reasons.all(|class| matches!(class, Self::Contention | Self::Capacity))
    }
}

impl<'c> OperationReason<'c> {
    /// Returns the index of the operation in the order of the calls. The first operation has the
    /// index 0.
    pub fn index(&self) -> usize {
        self.index
    }

    /// Returns the table of the item.
    pub fn table(&self) -> &'c str {
        &self.item_ref.table
    }

    /// Returns the key of the item.
    pub fn key(&self) -> &'c Key {
        &self.item_ref.key
    }

    /// Returns DynamoDB's code, for example `ConditionalCheckFailed`. For an operation that did not
    /// cause the cancellation, the code is the text `None`.
    pub fn code(&self) -> &'c str {
        self.reported.refusal.code()
    }

    /// Returns DynamoDB's message.
    pub fn message(&self) -> &'c str {
        self.reported.refusal.message()
    }

    /// Returns the class of the code, or `None` if the operation did not cause the cancellation.
    pub fn class(&self) -> Option<CancellationClass> {
        self.reported.class()
    }

    /// Returns the stored attributes of the item that made the condition false, or `None` if no
    /// item made the condition false.
    pub fn current_item(&self) -> Option<&'c Item> {
        self.reported.item.as_ref()
    }

    pub(crate) fn refusal(&self) -> &'c Refusal {
        &self.reported.refusal
    }

    pub(crate) fn item_ref(&self) -> &'c ItemRef {
        self.item_ref
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

/// The number of operations that a message lists.
const SHOWN: usize = 3;

impl fmt::Display for OperationReason<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ItemRef { table, model, expected, .. } = self.item_ref;
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

debug_fields!(Cancelled, self => {
    class: self.class(),
    reasons: self.reasons().collect::<Vec<_>>(),
    spent: self.0.spent,
});

debug_fields!(OperationReason<'_>, self => {
    index: self.index,
    table: self.item_ref.table,
    code: self.code(),
    found: self.version(self.item_ref.model),
});
