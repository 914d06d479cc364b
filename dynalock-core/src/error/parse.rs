/// The error of a text that is no etag of this library.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not an etag of an item: it was cut, edited, or made by something else")]
pub struct ParseEtagError;

/// The text is no token of a lock.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not a token of a lock: it was cut, edited, or made by something else")]
pub struct ParseLockTokenError;
