//! Short names of errors for traces and metrics.

use super::{Error, Lost};

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
        match self {
            Self::Conflict(_) => "conflict",
            Self::AlreadyExists(_) => "already_exists",
            Self::ConditionFailed(_) => "condition_failed",
            Self::OutOfRange { .. } => "out_of_range",
            Self::Unpatchable { .. } => "unpatchable",
            Self::InvalidPatch { .. } => "invalid_patch",
            Self::Cancelled(_) => "cancelled",
            Self::InvalidTransaction(_) => "invalid_transaction",
            Self::ForeignHandle => "foreign_handle",
            Self::AlreadyCommitted { .. } => "already_committed",
            Self::TokenReused { .. } => "token_reused",
            Self::Locked(_) => "locked",
            Self::QueueFull { .. } => "queue_full",
            Self::Evicted { .. } => "evicted",
            Self::Lost(_) => "lost",
            Self::NotFound { .. } => "not_found",
            Self::KeyChanged { .. } => "key_changed",
            Self::InvalidKey { .. } => "invalid_key",
            Self::Corrupt { .. } => "corrupt",
            Self::VersionExhausted { .. } => "version_exhausted",
            Self::ExpressionTooLong { .. } => "expression_too_long",
            Self::Indeterminate { .. } => "indeterminate",
            Self::Exhausted { .. } => "exhausted",
            Self::BudgetExceeded { .. } => "budget_exceeded",
            Self::Contention(_) => "contention",
            Self::Throttled(_) => "throttled",
            Self::Unavailable(_) => "unavailable",
            Self::TableNotFound { .. } => "table_not_found",
            Self::IndexNotFound { .. } => "index_not_found",
            Self::TableMismatch { .. } => "table_mismatch",
            Self::Misconfigured(_) => "misconfigured",
            Self::PageToken { .. } => "page_token",
            Self::InvalidSetting(_) => "invalid_setting",
            Self::ItemTooLarge { .. } => "item_too_large",
            Self::Rejected(_) => "rejected",
            Self::Decode(_) => "decode",
            Self::Encode(_) => "encode",
        }
    }
}

impl Lost {
    /// Returns a short name for the reason of the loss, for metrics.
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
