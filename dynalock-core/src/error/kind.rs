//! The properties of each error variant, for example a short name for traces and metrics.

use super::{Error, Lost, Spent, Unavailable};

pub(super) struct Facts<'a> {
    kind: &'static str,
    pub(super) is_retryable: bool,
    pub(super) spent: Option<&'a Spent>,
}

impl Error {
    /// Returns a short name of the error variant, for example `conflict` or `not_found`. The short
    /// name is the value of `error.type` in traces and of `outcome` in metrics. The short name
    /// contains no data of the error, and does not change in later versions of the library.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # mod shop { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest/shop.rs")); }
    /// # use shop::Product;
    /// # async fn example(products: &dynalock::Repository<Product>, product: dynalock::Stored<Product>) {
    /// if let Err(error) = products.update(product).await {
    ///     println!("the update failed: {}", error.kind());
    /// }
    /// # }
    /// ```
    pub fn kind(&self) -> &'static str {
        self.facts().kind
    }

    pub(super) fn facts(&self) -> Facts<'_> {
        // The `match` has no `_` arm, so a new variant compiles only with a decision about each
        // property.
        let (kind, is_retryable, spent) = match self {
            Self::Conflict(conflict) => ("conflict", false, Some(conflict.spent())),
            Self::AlreadyExists(conflict) => ("already_exists", false, Some(conflict.spent())),
            Self::ConditionFailed(conflict) => ("condition_failed", false, Some(conflict.spent())),
            Self::OutOfRange { spent, .. } => ("out_of_range", false, Some(spent)),
            Self::Unpatchable { spent, .. } => ("unpatchable", false, Some(spent)),
            Self::InvalidPatch { .. } => ("invalid_patch", false, None),
            Self::Cancelled(cancelled) => ("cancelled", cancelled.is_retryable(), Some(cancelled.spent())),
            Self::InvalidTransaction(_) => ("invalid_transaction", false, None),
            Self::ForeignHandle => ("foreign_handle", false, None),
            Self::AlreadyCommitted { spent } => ("already_committed", false, Some(spent)),
            Self::TokenReused { spent } => ("token_reused", false, Some(spent)),
            Self::Locked(locked) => ("locked", true, Some(&locked.spent)),
            Self::QueueFull { spent, .. } => ("queue_full", true, Some(spent)),
            Self::Evicted { spent, .. } => ("evicted", true, Some(spent)),
            Self::Lost(_) => ("lost", false, None),
            Self::NotFound { spent, .. } => ("not_found", false, Some(spent)),
            Self::KeyChanged { .. } => ("key_changed", false, None),
            Self::InvalidKey { .. } => ("invalid_key", false, None),
            Self::Corrupt { .. } => ("corrupt", false, None),
            Self::VersionExhausted { .. } => ("version_exhausted", false, None),
            Self::ExpressionTooLong { .. } => ("expression_too_long", false, None),
            Self::Indeterminate { spent, .. } => ("indeterminate", false, Some(spent)),
            Self::Exhausted { spent, .. } => ("exhausted", true, Some(spent)),
            Self::BudgetExceeded { spent, .. } => ("budget_exceeded", false, Some(spent)),
            Self::Contention(refusal) => ("contention", true, Some(refusal.spent())),
            Self::Throttled(refusal) => ("throttled", true, Some(refusal.spent())),
            Self::Unavailable(Unavailable::Server(refusal)) => ("unavailable", true, Some(refusal.spent())),
            Self::Unavailable(Unavailable::RuntimeEnded) => ("unavailable", false, None),
            Self::Unavailable(_) => ("unavailable", true, None),
            Self::TableNotFound { spent, .. } => ("table_not_found", false, Some(spent)),
            Self::IndexNotFound { spent, .. } => ("index_not_found", false, Some(spent)),
            Self::TableMismatch { .. } => ("table_mismatch", false, None),
            Self::Misconfigured(_) => ("misconfigured", false, None),
            Self::PageToken { .. } => ("page_token", false, None),
            Self::InvalidSetting(_) => ("invalid_setting", false, None),
            Self::ItemTooLarge { spent, .. } => ("item_too_large", false, Some(spent)),
            Self::Rejected(refusal) => ("rejected", false, Some(refusal.spent())),
            Self::Decode(_) => ("decode", false, None),
            Self::Encode(_) => ("encode", false, None),
        };
        Facts { kind, is_retryable, spent }
    }
}

impl Lost {
    /// Returns a short name of the reason, for the label `reason` of the metric
    /// `dynalock_leases_lost_total`.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Self::Stolen { .. } => "stolen",
            Self::Expired => "expired",
            Self::Released => "released",
            Self::Deleted => "deleted",
            Self::Unreachable(_) => "unreachable",
        }
    }
}
