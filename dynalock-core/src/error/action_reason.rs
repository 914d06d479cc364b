use super::{CancellationClass, Refusal};
use crate::model::Item;

/// The reason that DynamoDB gives for one action of a cancelled transaction.
#[derive(Clone)]
pub(crate) struct ActionReason {
    pub(crate) refusal: Refusal,
    /// The item that made the condition false, or `None` if the key had no item.
    pub(crate) item: Option<Item>,
}

impl ActionReason {
    /// Makes the [`ActionReason`] of an action that did not cause the cancellation.
    pub(crate) fn innocent() -> Self {
        Self { refusal: Refusal::new("None", "", None), item: None }
    }

    /// Makes the [`ActionReason`] of an action whose condition was false.
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
            // The permanent cancellation codes include `ItemCollectionSizeLimitExceeded` and
            // `ValidationError`. A code that the library does not know counts as permanent, because
            // DynamoDB may add codes.
            _ => Some(CancellationClass::Permanent),
        }
    }
}
