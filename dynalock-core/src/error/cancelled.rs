use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use super::{ActionReason, CancellationClass, Refusal, Spent};
use crate::{
    key::Key,
    model::{Item, ItemRef, Model},
    version::version_in,
};

/// The cancellation of a transaction, with a reason for each operation. DynamoDB has applied no
/// operation of a cancelled transaction.
///
/// The method [`reason`](Self::reason) takes the handle of an operation, and returns the
/// cancellation reason of this operation. The method [`reasons`](Self::reasons) returns the
/// cancellation reasons of all operations of the transaction.
#[derive(Clone)]
pub struct Cancelled(Arc<CancelledParts>);

/// The id of a transaction, unique in this process. The handle of an operation contains the id of
/// its transaction, so that the library can refuse the handle of another transaction.
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
    /// One entry for each operation, in the order in which the caller added the operations.
    operations: Vec<(ItemRef, ActionReason)>,
    spent: Spent,
}

/// One operation of a cancelled transaction, with its cancellation reason.
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

    pub(crate) fn transaction(&self) -> TransactionId {
        self.0.transaction
    }

    /// Returns the cancellation reasons of all operations, in the order in which the caller added
    /// the operations. For an operation that did not cause the cancellation,
    /// [`OperationReason::class`] returns `None`.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # fn example(cancelled: &dynalock::error::Cancelled) {
    /// for reason in cancelled.reasons().filter(|reason| reason.class().is_some()) {
    ///     println!("operation {} failed: {}", reason.index(), reason.code());
    /// }
    /// # }
    /// ```
    pub fn reasons(&self) -> impl ExactSizeIterator<Item = OperationReason<'_>> {
        self.0.operations.iter().enumerate().map(|(index, (item_ref, reported))| OperationReason {
            index,
            item_ref,
            reported,
        })
    }

    /// Returns the [`CancellationClass`] that all reasons of the cancellation have in common, or
    /// `Mixed` if the reasons have different classes.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # fn example(cancelled: &dynalock::error::Cancelled) {
    /// use dynalock::error::CancellationClass;
    ///
    /// if cancelled.class() == CancellationClass::Conflict {
    ///     println!("an item has changed: read the items again");
    /// }
    /// # }
    /// ```
    pub fn class(&self) -> CancellationClass {
        CancellationClass::of(self.reasons().filter_map(|reason| reason.class()))
    }

    pub(super) fn is_retryable(&self) -> bool {
        CancellationClass::may_pass(self.reasons().filter_map(|reason| reason.class()))
    }

    /// Returns the number of requests that the failed call sent, and the duration of the failed
    /// call.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # fn example(cancelled: &dynalock::error::Cancelled) {
    /// let spent = cancelled.spent();
    /// println!("{} requests in {:?}", spent.attempts, spent.elapsed);
    /// # }
    /// ```
    pub fn spent(&self) -> &Spent {
        &self.0.spent
    }
}

impl<'c> OperationReason<'c> {
    /// Returns the index of the operation in the transaction. The operation that the caller added
    /// first has the index 0.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # fn example(reason: dynalock::error::OperationReason<'_>) {
    /// println!("the transaction failed at its operation {}", reason.index());
    /// # }
    /// ```
    pub fn index(&self) -> usize {
        self.index
    }

    /// Returns the name of the table that contains the item of the operation.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # fn example(reason: dynalock::error::OperationReason<'_>) {
    /// println!("the item is in the table {}", reason.table());
    /// # }
    /// ```
    pub fn table(&self) -> &'c str {
        &self.item_ref.table
    }

    /// Returns the key of the item of the operation.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # fn example(reason: dynalock::error::OperationReason<'_>) {
    /// // A key may contain user data that does not belong in a log file.
    /// println!("the item has the key {}", reason.key());
    /// # }
    /// ```
    pub fn key(&self) -> &'c Key {
        &self.item_ref.key
    }

    /// Returns the reason code from DynamoDB, for example `ConditionalCheckFailed`. For an
    /// operation that did not cause the cancellation, the code is the text `None`.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # fn example(reason: dynalock::error::OperationReason<'_>) {
    /// if reason.code() == "ConditionalCheckFailed" {
    ///     println!("the item has changed");
    /// }
    /// # }
    /// ```
    pub fn code(&self) -> &'c str {
        self.reported.refusal.code()
    }

    /// Returns DynamoDB's message for the reason code.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # fn example(reason: dynalock::error::OperationReason<'_>) {
    /// println!("{}: {}", reason.code(), reason.message());
    /// # }
    /// ```
    pub fn message(&self) -> &'c str {
        self.reported.refusal.message()
    }

    /// Returns the class of the reason code, or `None` if the operation did not cause the
    /// cancellation.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # fn example(reason: dynalock::error::OperationReason<'_>) {
    /// use dynalock::error::CancellationClass;
    ///
    /// let has_changed = reason.class() == Some(CancellationClass::Conflict);
    /// # }
    /// ```
    pub fn class(&self) -> Option<CancellationClass> {
        self.reported.class()
    }

    /// Returns the stored attributes of the item for which the condition of the operation was
    /// false. Returns `None` if the key had no item, or if the operation did not fail with a false
    /// condition.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # fn example(reason: dynalock::error::OperationReason<'_>) {
    /// let stock = reason.current_item().and_then(|item| item.get("stock"));
    /// # }
    /// ```
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

/// The largest number of failed operations that the message of a cancellation names.
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
