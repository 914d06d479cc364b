use aws_sdk_dynamodb::types::CancellationReason;

use super::classify::Failure;
use crate::error::{ActionReason, CancellationClass, Refusal, class_of};

/// Why a transaction was cancelled: one reason for each action, in their order.
pub(crate) struct ActionReasons {
    reasons: Vec<ActionReason>,
    whole: Refusal,
}

impl ActionReasons {
    /// The reasons of a cancellation, which says this as a whole.
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

    /// Whether the same request may succeed later: each reason that is not None is contention or capacity.
    pub(crate) fn pass(&self) -> bool {
        CancellationClass::may_pass(self.reasons.iter().filter_map(ActionReason::class))
    }

    /// The index of the action whose key does not fit its table, if there is one.
    pub(crate) fn key_schema(&self) -> Option<usize> {
        self.reasons.iter().position(|reason| reason.refusal.is_of_key_schema())
    }

    /// Whether conditions were false, and nothing is wrong that stays wrong.
    pub(crate) fn show_conflicts(&self) -> bool {
        let has = |class| self.reasons.iter().any(|reason| reason.class() == Some(class));
        has(CancellationClass::Conflict) && !has(CancellationClass::Permanent)
    }

    /// Whether capacity is among the reasons.
    pub(crate) fn lack_capacity(&self) -> bool {
        self.reasons.iter().any(|reason| reason.class() == Some(CancellationClass::Capacity))
    }

    /// The worst of them, as the failure of the whole request.
    pub(crate) fn into_failure(self) -> Failure {
        let worst = self.reasons.into_iter().max_by_key(|reason| reason.class().map_or(0, severity));
        let Some(ActionReason { refusal, item }) = worst else { return Failure::Permanent(self.whole) };
        match class_of(refusal.code()) {
            Some(CancellationClass::Conflict) => Failure::Condition(item),
            Some(CancellationClass::Contention) => Failure::Contention(refusal),
            Some(CancellationClass::Capacity) => Failure::Capacity(refusal),
            Some(CancellationClass::Permanent | CancellationClass::Mixed) | None => Failure::Permanent(refusal),
        }
    }
}

/// Which of several reasons decides what to do.
fn severity(class: CancellationClass) -> u8 {
    match class {
        CancellationClass::Contention => 1,
        CancellationClass::Capacity => 2,
        CancellationClass::Conflict => 3,
        CancellationClass::Permanent | CancellationClass::Mixed => 4,
    }
}

/// The part of one action in a cancellation, which says `whole` as a whole.
fn read(reason: CancellationReason, whole: &Refusal) -> ActionReason {
    let message = reason.message.unwrap_or_else(|| whole.message().to_owned());
    let request_id = whole.request_id().map(str::to_owned);
    ActionReason { refusal: Refusal::new(reason.code.unwrap_or_default(), message, request_id), item: reason.item }
}
