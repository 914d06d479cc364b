/// The error for a string that is not a valid etag.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not an etag of an item: it was shortened, edited, or made by another program")]
pub struct ParseEtagError;

/// The error for a string that is not a valid lock token.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not a token of a lock: it was shortened, edited, or made by another program")]
pub struct ParseLockTokenError;
