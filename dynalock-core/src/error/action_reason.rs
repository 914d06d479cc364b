use super::{CancellationClass, Refusal};
use crate::model::Item;

/// The part of one action in a cancellation.
#[derive(Clone)]
pub(crate) struct ActionReason {
    pub(crate) refusal: Refusal,
    /// The item that a condition met, if there was one.
    pub(crate) item: Option<Item>,
}

/// What a code means; nothing for an action that was innocent.
pub(crate) fn class_of(code: &str) -> Option<CancellationClass> {
    match code {
        "None" => None,
        "ConditionalCheckFailed" => Some(CancellationClass::Conflict),
        "TransactionConflict" => Some(CancellationClass::Contention),
        "ProvisionedThroughputExceeded" | "ThrottlingError" => Some(CancellationClass::Capacity),
        // ItemCollectionSizeLimitExceeded, ValidationError, and what may come.
        _ => Some(CancellationClass::Permanent),
    }
}

impl ActionReason {
    /// An action that was not the cause.
    pub(crate) fn innocent() -> Self {
        Self { refusal: Refusal::new("None", "", None), item: None }
    }

    /// An action whose condition was false.
    pub(crate) fn conflict(item: Option<Item>) -> Self {
        Self { refusal: Refusal::new("ConditionalCheckFailed", "the conditional request failed", None), item }
    }

    pub(crate) fn class(&self) -> Option<CancellationClass> {
        class_of(self.refusal.code())
    }
}
