//! The rules for attempts with an unknown outcome, for writes of one item, transactions and
//! imports.

use std::sync::Arc;

use crate::{error::Error, operation::Failure, retry::Attempts};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AttemptOutcome {
    Known,
    /// The reply to an attempt was lost. DynamoDB may have applied the attempt, or may still apply
    /// the attempt.
    Unknown,
}

impl AttemptOutcome {
    pub(crate) fn after(self, failure: &Failure) -> Self {
        if failure.leaves_doubt() { Self::Unknown } else { self }
    }

    pub(crate) fn end(self, attempts: &Attempts, table: &Arc<str>, expected: Option<u64>, stop: Error) -> Error {
        match self {
            Self::Known => stop,
            Self::Unknown => attempts.indeterminate(table, expected, None, Some(stop)),
        }
    }

    /// Returns `true` if DynamoDB could apply both an earlier attempt with an unknown outcome and
    /// the next attempt. While DynamoDB remembers a ClientRequestToken, it does not apply a second
    /// attempt with this token.
    pub(crate) fn may_apply_twice(self, attempts: &Attempts) -> bool {
        self == Self::Unknown && !attempts.tokens_are_known()
    }
}
