use super::{CancellationClass, Refusal};
use crate::model::Item;

/// The reason that a cancelled transaction gives for one action.
#[derive(Clone)]
pub(crate) struct ActionReason {
    pub(crate) refusal: Refusal,
    /// The item that made the condition false, or `None` if there was no item.
    pub(crate) item: Option<Item>,
}

/// Returns the class of a code, or `None` for an action that did not cause the cancellation.
pub(crate) fn class_of(code: &str) -> Option<CancellationClass> {
    match code {
        "None" => None,
        "ConditionalCheckFailed" => Some(CancellationClass::Conflict),
        "TransactionConflict" => Some(CancellationClass::Contention),
        "ProvisionedThroughputExceeded" | "ThrottlingError" => Some(CancellationClass::Capacity),
        // This arm stands for `ItemCollectionSizeLimitExceeded`, for `ValidationError`, and for
        // codes that DynamoDB may add.
        _ => Some(CancellationClass::Permanent),
    }
}

impl ActionReason {
    /// Returns the reason of an action that did not cause the cancellation.
    pub(crate) fn innocent() -> Self {
        Self { refusal: Refusal::new("None", "", None), item: None }
    }

    /// Returns the reason of an action whose condition was false.
    pub(crate) fn conflict(item: Option<Item>) -> Self {
        Self { refusal: Refusal::new("ConditionalCheckFailed", "the conditional request failed", None), item }
    }

    pub(crate) fn class(&self) -> Option<CancellationClass> {
        class_of(self.refusal.code())
    }
}
