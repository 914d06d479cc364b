use super::{CancellationClass, Refusal};
use crate::model::Item;

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
