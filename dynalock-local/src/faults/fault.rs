use std::time::Duration;

use aws_sdk_dynamodb::types::CancellationReason;

/// What happens to one request.
///
/// "Applied" means delivered to the engine, or to whatever stands behind the faults: that may still refuse it.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Fault {
    /// Never delivered; the caller sees a connection that was reset, as with [`LoseReply`](Self::LoseReply).
    LoseRequest,

    /// Never delivered, and the caller can know it: an [`io::Error`](std::io::Error) of kind
    /// [`ConnectionRefused`](std::io::ErrorKind::ConnectionRefused) is among the sources of the error.
    Refused,

    /// Applied; the caller sees a connection that was reset.
    LoseReply,

    /// Applied; the answer is status 500, `InternalServerError`.
    ErrorAfterApply,

    /// Applied; the answer is status 200 with a body that is not JSON.
    GarbageAfterApply,

    /// Applied; the answer is status 200 with JSON that ends in the middle.
    TruncatedAfterApply,

    /// Applied; the answer is status 200 without a body, which the SDK takes for an answer without content: a success, though the request may have
    /// been refused.
    EmptyAfterApply,

    /// Not delivered; the answer is status 500, `InternalServerError`.
    ServerError,

    /// Not delivered; the answer is `ThrottlingException`.
    Throttle,

    /// Not delivered; the answer is `ProvisionedThroughputExceededException`.
    ProvisionedThroughputExceeded,

    /// Not delivered; the answer is `TransactionConflictException`: a single write met a running transaction.
    TransactionConflict,

    /// Not delivered; the answer is `TransactionInProgressException`: the token's first request still runs.
    TransactionInProgress,

    /// Not delivered; the answer is `TransactionCanceledException` with these reasons, one for each action in its order.
    ///
    /// [`Fault::canceled`] makes one from codes alone.
    TransactionCanceled(Vec<CancellationReason>),

    /// Not delivered; the answer is `AccessDeniedException`.
    AccessDenied,

    /// Not delivered; the answer is an error with this code and HTTP status. A status that HTTP does not know is 500.
    Error {
        /// The exception's name, `ValidationException` for example.
        code: String,
        /// The HTTP status; DynamoDB answers with 400 whatever is not its own failure.
        status: u16,
    },

    /// A `BatchGetItem` or `BatchWriteItem` is delivered without this many of its last keys or writes, and the answer names them in
    /// `UnprocessedKeys` or `UnprocessedItems`. Other operations pass.
    ///
    /// If all of them are left, nothing is delivered. DynamoDB answers that with
    /// [`ProvisionedThroughputExceeded`](Self::ProvisionedThroughputExceeded) if the capacity is exceeded, and so only if it fails otherwise.
    /// The tables of a batch count in the order of their names. A service that checks signatures refuses the shorter request.
    ///
    /// ```
    /// use dynalock_local::{Fault, Faults};
    ///
    /// let faults = Faults::none();
    /// faults.script_on("BatchGetItem", 0, Fault::Unprocessed(3)); // three keys, once
    /// faults.always(Fault::Unprocessed(1)); // the last key or write of each batch, for ever
    /// ```
    Unprocessed(usize),

    /// Delivered after this time on tokio's clock, and answered.
    Delay(Duration),

    /// The caller sees a connection that was reset at once; the request is applied after this time on tokio's clock.
    DeliverLate(Duration),

    /// Applied, answered, and applied once more in the background.
    DeliverTwice,

    /// Never delivered, never answered: the call ends by the caller's timeout or not at all.
    NeverAnswer,

    /// Applied, never answered.
    NeverAnswerAfterApply,
}

impl Fault {
    /// A cancelled transaction with these codes as its reasons; `"None"` stands for an action that was not to blame.
    ///
    /// ```
    /// use dynalock_local::Fault;
    ///
    /// let fault = Fault::canceled(["None", "TransactionConflict"]);
    /// ```
    pub fn canceled(codes: impl IntoIterator<Item = impl Into<String>>) -> Self {
        let reason = |code| CancellationReason::builder().code(code).build();

        Self::TransactionCanceled(codes.into_iter().map(reason).collect())
    }

    /// An error of the service with status 400.
    pub fn error(code: impl Into<String>) -> Self {
        Self::Error { code: code.into(), status: 400 }
    }
}
