use std::time::Duration;

use aws_sdk_dynamodb::types::CancellationReason;

/// A fault of one request. "Delivered" means that the request reaches the engine or the wrapped
/// HTTP client.
///
/// "Applied" means that the request is delivered without a change. The engine may still refuse the
/// request.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Fault {
    /// The request is not delivered. The caller sees a connection that was reset, as with
    /// [`LoseReply`](Self::LoseReply).
    LoseRequest,

    /// The request is not delivered, and the error proves this to the caller. The sources of the
    /// error include an [`io::Error`](std::io::Error) of kind
    /// [`ConnectionRefused`](std::io::ErrorKind::ConnectionRefused).
    Refused,

    /// The request is applied. The caller sees a connection that was reset.
    LoseReply,

    /// The request is applied. The answer is status 500, `InternalServerError`.
    ErrorAfterApply,

    /// The request is applied. The answer is status 200 with a body that is not JSON.
    GarbageAfterApply,

    /// The request is applied. The answer is status 200 with incomplete JSON.
    TruncatedAfterApply,

    /// The request is applied. The answer is status 200 without a body. The SDK treats this answer
    /// as a success, although the request may have been refused.
    EmptyAfterApply,

    /// The request is not delivered. The answer is status 500, `InternalServerError`.
    ServerError,

    /// The request is not delivered. The answer is `ThrottlingException`.
    Throttle,

    /// The request is not delivered. The answer is `ProvisionedThroughputExceededException`.
    ProvisionedThroughputExceeded,

    /// The request is not delivered. The answer is `TransactionConflictException`, as if a
    /// transaction were running on the item of a single write.
    TransactionConflict,

    /// The request is not delivered. The answer is `TransactionInProgressException`, as if the
    /// first request with the token were still running.
    TransactionInProgress,

    /// The request is not delivered. The answer is `TransactionCanceledException` with these
    /// reasons. Each action has one reason, in the order of the actions.
    ///
    /// [`Fault::canceled`] makes this fault from codes only.
    TransactionCanceled(Vec<CancellationReason>),

    /// The request is not delivered. The answer is `AccessDeniedException`.
    AccessDenied,

    /// The request is not delivered. The answer is an error with this code and HTTP status. An
    /// invalid status becomes 500.
    Error {
        /// The name of the exception, for example `ValidationException`.
        code: String,
        /// The HTTP status. DynamoDB uses 400 for all errors except its own failures.
        status: u16,
    },

    /// A `BatchGetItem` or `BatchWriteItem` is delivered without its last keys or writes. The field
    /// is the number of keys or writes that are left out. The answer contains these in
    /// `UnprocessedKeys` or `UnprocessedItems`. Requests of other operations pass without a fault.
    ///
    /// If all keys or writes are left out, nothing is delivered. DynamoDB gives an answer without
    /// any processed key or write only if the batch fails for another reason than capacity. If a
    /// batch fails because of capacity, DynamoDB answers with
    /// [`ProvisionedThroughputExceeded`](Self::ProvisionedThroughputExceeded). The tables of a
    /// batch are ordered by their names. A service that checks signatures refuses the shorter
    /// request.
    ///
    /// ```
    /// use dynalock_local::{Fault, Faults};
    ///
    /// let faults = Faults::none();
    /// faults.script_on("BatchGetItem", 0, Fault::Unprocessed(3)); // three keys, once
    /// faults.always(Fault::Unprocessed(1)); // the last key or write of each batch, for ever
    /// ```
    Unprocessed(usize),

    /// The request is delivered and answered after this time on tokio's clock.
    Delay(Duration),

    /// The caller immediately sees a connection that was reset. The request is applied after this
    /// time on tokio's clock.
    DeliverLate(Duration),

    /// The request is applied and answered, and is applied a second time in the background.
    DeliverTwice,

    /// The request is neither delivered nor answered. Only the caller's timeout ends the call.
    NeverAnswer,

    /// The request is applied, and not answered. Only the caller's timeout ends the call.
    NeverAnswerAfterApply,
}

impl Fault {
    /// Returns a cancelled transaction with these codes as its reasons. The code `"None"` stands
    /// for an action that did not cause the cancellation.
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

    /// Returns an error of the service with status 400.
    pub fn error(code: impl Into<String>) -> Self {
        Self::Error { code: code.into(), status: 400 }
    }
}
