//! The rules for attempts whose outcome is unknown. Writes of one item, transactions and imports
//! share these rules.

use std::sync::Arc;

use crate::{error::Error, operation::Failure, retry::Attempts};

/// Whether the outcome of all attempts of a write is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AttemptOutcome {
    /// Each attempt was answered, or was never sent.
    Known,
    /// An attempt may have been applied, or may still be applied.
    Unknown,
}

impl AttemptOutcome {
    /// Returns the outcome after one more attempt, which failed.
    pub(crate) fn after(self, failure: &Failure) -> Self {
        if failure.leaves_doubt() { Self::Unknown } else { self }
    }

    /// Returns the error that ends the call. If the outcome of an attempt is unknown, the error is
    /// `Indeterminate`.
    pub(crate) fn end(self, attempts: &Attempts, table: &Arc<str>, expected: Option<u64>, stop: Error) -> Error {
        match self {
            Self::Known => stop,
            Self::Unknown => attempts.indeterminate(table, expected, None, Some(stop)),
        }
    }

    /// Returns whether DynamoDB could apply another attempt in addition to an attempt with an
    /// unknown outcome, because DynamoDB has forgotten the token of both.
    pub(crate) fn may_apply_twice(self, attempts: &Attempts) -> bool {
        self == Self::Unknown && !attempts.tokens_are_known()
    }
}
