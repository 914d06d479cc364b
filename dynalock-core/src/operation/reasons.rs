use aws_sdk_dynamodb::types::CancellationReason;

use crate::error::{ActionReason, CancellationClass, Refusal};

/// The reasons why DynamoDB cancelled a transaction, in the order of the actions of the
/// transaction.
pub(crate) struct ActionReasons {
    reasons: Vec<ActionReason>,
    whole: Refusal,
}

impl ActionReasons {
    /// `whole` is DynamoDB's error for the whole transaction.
    pub(super) fn read(reasons: Option<Vec<CancellationReason>>, whole: Refusal) -> Self {
        let reasons = reasons.unwrap_or_default().into_iter().map(|reason| read(reason, &whole)).collect();
        Self { reasons, whole }
    }

    pub(crate) fn as_slice(&self) -> &[ActionReason] {
        &self.reasons
    }

    pub(crate) fn into_vec(self) -> Vec<ActionReason> {
        self.reasons
    }

    /// Returns `true` if contention and a lack of capacity are the only causes of the cancellation.
    pub(crate) fn pass(&self) -> bool {
        CancellationClass::may_pass(self.reasons.iter().filter_map(ActionReason::class))
    }

    pub(crate) fn key_schema(&self) -> Option<usize> {
        self.reasons.iter().position(|reason| reason.refusal.is_of_key_schema())
    }

    pub(crate) fn show_conflicts(&self) -> bool {
        let has = |class| self.reasons.iter().any(|reason| reason.class() == Some(class));
        has(CancellationClass::Conflict) && !has(CancellationClass::Permanent)
    }

    pub(crate) fn are_contention(&self) -> bool {
        let classes = self.reasons.iter().filter_map(ActionReason::class);
        CancellationClass::of(classes) == CancellationClass::Contention
    }

    pub(crate) fn lack_capacity(&self) -> bool {
        self.reasons.iter().any(|reason| reason.class() == Some(CancellationClass::Capacity))
    }

    /// Returns the reason with the most severe class, or DynamoDB's error for the whole transaction
    /// if the cancellation has no reasons.
    pub(super) fn into_worst(self) -> Result<ActionReason, Refusal> {
        self.reasons.into_iter().max_by_key(|reason| reason.class().map_or(0, severity)).ok_or(self.whole)
    }
}

fn severity(class: CancellationClass) -> u8 {
    match class {
        CancellationClass::Contention => 1,
        CancellationClass::Capacity => 2,
        CancellationClass::Conflict => 3,
        CancellationClass::Permanent | CancellationClass::Mixed => 4,
    }
}

fn read(reason: CancellationReason, whole: &Refusal) -> ActionReason {
    // The message of the whole transaction lists the codes of all reasons.
    let message = reason.message.unwrap_or_else(|| whole.message().to_owned());
    let request_id = whole.request_id().map(str::to_owned);
    ActionReason { refusal: Refusal::new(reason.code.unwrap_or_default(), message, request_id), item: reason.item }
}
