use super::{CancellationClass, Refusal};
use crate::model::Item;

/// The reason that a cancelled transaction gives for one action.
#[derive(Clone)]
pub(crate) struct ActionReason {
    pub(crate) refusal: Refusal,
    /// The item that made the condition false, or `None` if the key had no item.
    pub(crate) item: Option<Item>,
}

/// Returns the class of the code in a cancellation reason. Returns `None` for the code of an action
/// that did not cause the cancellation.
pub(crate) fn class_of(code: &str) -> Option<CancellationClass> {
    match code {
        "None" => None,
        "ConditionalCheckFailed" => Some(CancellationClass::Conflict),
        "TransactionConflict" => Some(CancellationClass::Contention),
        "ProvisionedThroughputExceeded" | "ThrottlingError" => Some(CancellationClass::Capacity),
        // Examples are `ItemCollectionSizeLimitExceeded` and `ValidationError`. DynamoDB may add
        // further codes.
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
