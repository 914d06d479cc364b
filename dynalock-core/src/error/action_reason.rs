use super::Refusal;
use crate::model::Item;

/// The class of a cancellation, or of one reason of a cancellation. The class shows whether a
/// repetition of the transaction may succeed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum CancellationClass {
    /// The condition of an operation was false. The caller must read the items of the transaction
    /// again before a new attempt.
    Conflict,
    /// Another transaction was running on an item of the cancelled transaction. A later attempt of
    /// the cancelled transaction may succeed.
    Contention,
    /// DynamoDB or the table had no capacity left. A later attempt of the cancelled transaction may
    /// succeed.
    Capacity,
    /// DynamoDB would refuse each later attempt of the cancelled transaction.
    Permanent,
    /// The operations of the transaction failed for reasons of different classes.
    Mixed,
}

#[derive(Clone)]
pub(crate) struct ActionReason {
    pub(crate) refusal: Refusal,
    /// The item for which the condition of the action was false. `item` is `None` if the key had no
    /// item, or if the reason is not a false condition.
    pub(crate) item: Option<Item>,
}

impl ActionReason {
    pub(crate) fn innocent() -> Self {
        Self { refusal: Refusal::new("None", "", None), item: None }
    }

    pub(crate) fn conflict(item: Option<Item>) -> Self {
        Self { refusal: Refusal::new("ConditionalCheckFailed", "the conditional request failed", None), item }
    }

    pub(crate) fn class(&self) -> Option<CancellationClass> {
        match self.refusal.code() {
            // DynamoDB uses the code `None` for an action that did not cause the cancellation.
            "None" => None,
            "ConditionalCheckFailed" => Some(CancellationClass::Conflict),
            "TransactionConflict" => Some(CancellationClass::Contention),
            "ProvisionedThroughputExceeded" | "ThrottlingError" => Some(CancellationClass::Capacity),
            // A code that the `match` does not name counts as permanent, for example
            // `ValidationError` or a future code of DynamoDB.
            _ => Some(CancellationClass::Permanent),
        }
    }
}

impl CancellationClass {
    pub(crate) fn of(reasons: impl Iterator<Item = Self>) -> Self {
        // A cancellation without reasons counts as permanent, because nothing shows that a
        // repetition could succeed.
        reasons.reduce(|one, other| if one == other { one } else { Self::Mixed }).unwrap_or(Self::Permanent)
    }

    /// Returns `true` if only other running transactions or a lack of capacity caused the
    /// cancellation. Returns `false` if `reasons` is empty.
    pub(crate) fn may_pass(reasons: impl Iterator<Item = Self>) -> bool {
        let mut reasons = reasons.peekable();
        reasons.peek().is_some() && reasons.all(|class| matches!(class, Self::Contention | Self::Capacity))
    }
}
