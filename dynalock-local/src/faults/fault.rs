use std::time::Duration;

use aws_sdk_dynamodb::types::CancellationReason;

/// A fault that a request can meet. In the descriptions of the faults, the engine stands for the
/// receiver of the requests: the engine of a [`Database`](crate::Database), or an HTTP client in
/// [`Faults::wrap`](crate::Faults::wrap).
///
/// "The engine applies the request" means that the engine receives the request unchanged. The
/// engine may still refuse the request, for example because of a false condition.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Fault {
    /// The request is lost and does not reach the engine. The caller sees a reset connection, and
    /// cannot distinguish a lost request from a lost reply ([`LoseReply`](Self::LoseReply)).
    LoseRequest,

    /// The request does not reach the engine, and the error tells the caller that the request was
    /// not sent. The sources of the error of a refused connection include an
    /// [`io::Error`](std::io::Error) of kind
    /// [`ConnectionRefused`](std::io::ErrorKind::ConnectionRefused).
    Refused,

    /// The engine applies the request, but the reply is lost: the caller sees a reset connection.
    LoseReply,

    /// The engine applies the request, but the answer is status 500, `InternalServerError`.
    ErrorAfterApply,

    /// The engine applies the request, but the answer is status 200 with a body that is not JSON.
    GarbageAfterApply,

    /// The engine applies the request, but the answer is status 200 with incomplete JSON.
    TruncatedAfterApply,

    /// The engine applies the request, but the answer is status 200 without a body. The SDK treats
    /// an answer without a body as a success, although the engine may have refused the request.
    EmptyAfterApply,

    /// The request does not reach the engine, and the answer is status 500, `InternalServerError`.
    ServerError,

    /// The request does not reach the engine, and the answer is `ThrottlingException`.
    Throttle,

    /// The request does not reach the engine, and the answer is
    /// `ProvisionedThroughputExceededException`.
    ProvisionedThroughputExceeded,

    /// The request does not reach the engine, and the answer is `TransactionConflictException`, as
    /// if a transaction were running on the item of a single write.
    TransactionConflict,

    /// The request does not reach the engine, and the answer is `TransactionInProgressException`,
    /// as if the first request with the same token were still running.
    TransactionInProgress,

    /// The request does not reach the engine, and the answer is `TransactionCanceledException`. The
    /// field of `TransactionCanceled` contains one reason for each action of the transaction, in
    /// the order of the actions.
    ///
    /// [`Fault::canceled`] makes a `TransactionCanceled` fault from the codes of the reasons.
    TransactionCanceled(Vec<CancellationReason>),

    /// The request does not reach the engine, and the answer is `AccessDeniedException`.
    AccessDenied,

    /// The request does not reach the engine, and the answer is an error with the given code and
    /// HTTP status. An invalid HTTP status becomes 500.
    Error {
        /// The name of the exception, for example `ValidationException`.
        code: String,
        /// The HTTP status of the answer. DynamoDB uses status 400 for all errors except internal
        /// failures.
        status: u16,
    },

    /// A `BatchGetItem` or `BatchWriteItem` reaches the engine without the last keys or writes of
    /// the batch. The number of missing keys or writes is the field of `Unprocessed`. The answer
    /// contains the missing keys or writes in `UnprocessedKeys` or `UnprocessedItems`. A request
    /// that is not a batch, for example a `PutItem`, reaches the engine without a fault.
    ///
    /// If the fault removes all keys or writes of a batch, the engine receives no request. DynamoDB
    /// never returns all keys or writes of a batch as unprocessed: if its capacity allows none of
    /// them, DynamoDB answers with
    /// [`ProvisionedThroughputExceeded`](Self::ProvisionedThroughputExceeded). If the batch has
    /// several tables, the fault first removes keys or writes of the table whose name is last in
    /// the alphabet. A service that checks the signature of a request refuses the shortened batch,
    /// because the signature was made for the whole batch.
    ///
    /// ```
    /// use dynalock_local::{Fault, Faults};
    ///
    /// let faults = Faults::none();
    /// faults.script_on("BatchGetItem", 0, Fault::Unprocessed(3)); // three keys, once
    /// faults.always(Fault::Unprocessed(1)); // the last key or write of each batch, for ever
    /// ```
    Unprocessed(usize),

    /// The request reaches the engine only after a delay on tokio's clock. The caller gets the
    /// answer of the engine.
    Delay(Duration),

    /// The caller immediately sees a reset connection, but the engine applies the request after a
    /// delay on tokio's clock.
    DeliverLate(Duration),

    /// The engine applies the request twice. The caller gets the answer to the first delivery, and
    /// the second delivery runs in the background.
    DeliverTwice,

    /// The request does not reach the engine, and no answer comes. The call of the caller ends only
    /// by a timeout.
    NeverAnswer,

    /// The engine applies the request, but no answer comes. The call of the caller ends only by a
    /// timeout.
    NeverAnswerAfterApply,
}

impl Fault {
    /// Returns a `TransactionCanceled` fault whose reasons have the given codes. The code `"None"`
    /// stands for an action that did not cause the cancellation.
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

    /// Returns a fault with an error code as the answer, and the HTTP status 400.
    ///
    /// ```
    /// use dynalock_local::Fault;
    ///
    /// let fault = Fault::error("ItemCollectionSizeLimitExceededException");
    /// ```
    pub fn error(code: impl Into<String>) -> Self {
        Self::Error { code: code.into(), status: 400 }
    }
}
