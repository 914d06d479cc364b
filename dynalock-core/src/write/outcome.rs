//! The rules for attempts with an unknown outcome, which apply to writes of one item, to
//! transactions and to imports.

use std::sync::Arc;

use crate::{error::Error, operation::Failure, retry::Attempts};

/// Says whether the outcome of all earlier attempts of a write is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AttemptOutcome {
    /// DynamoDB has answered each attempt that the library has sent.
    Known,
    /// The reply to an attempt was lost. DynamoDB may have applied the attempt whose reply was
    /// lost, or may still apply the attempt.
    Unknown,
}

impl AttemptOutcome {
    /// Returns the [`AttemptOutcome`] of a write after one more attempt of the write has failed.
    pub(crate) fn after(self, failure: &Failure) -> Self {
        if failure.leaves_doubt() { Self::Unknown } else { self }
    }

    /// Returns the error `stop` if DynamoDB has answered each attempt, and [`Error::Indeterminate`]
    /// otherwise.
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
