//! Classifies failed requests. Only `classify` interprets an `SdkError`.

use std::{error::Error as StdError, io};

use aws_credential_types::provider::error::CredentialsError;
use aws_sdk_dynamodb::{
    error::{ProvideErrorMetadata, SdkError},
    operation::RequestId,
};
use aws_smithy_runtime_api::{
    client::{orchestrator::HttpResponse, result::DispatchFailure},
    http::HttpError,
};

use super::{ActionReasons, capacity::OverBudget};
use crate::{
    codec::Item,
    error::{InvalidSetting, Misconfigured, Refusal, Unavailable},
};

/// The failure of a request. Each variant stands for one reaction of the retry loop.
pub(crate) enum Failure {
    /// The condition was false. The field is the item with which DynamoDB evaluated the condition.
    Condition(Option<Item>),
    /// DynamoDB cancelled a transaction. The field has a reason for each action.
    Cancelled(ActionReasons),
    /// The token was used for a transaction with other content. The retry loop stops.
    TokenReused,
    /// Another transaction is running on the item. The retry loop sends the request again.
    Contention(Refusal),
    /// DynamoDB throttled the request. The retry loop waits, then sends the request again.
    Capacity(Refusal),
    /// The request never reached the server. The retry loop waits, then sends the request again.
    Unsent(Unavailable),
    /// An earlier copy of the request is still running. The retry loop sends the request again
    /// under the same token, and treats the outcome as unknown.
    InProgress(Refusal),
    /// The request may have been applied. The retry loop sends the write again with the same write
    /// id, and treats the outcome as unknown.
    Ambiguous(Unavailable),
    /// The client cannot send any request, because of its configuration. The retry loop stops.
    Misconfigured(Misconfigured),
    /// A limit of the call is out of its range. The retry loop stops.
    InvalidSetting(InvalidSetting),
    /// The request would pass the budget of its call, and was not sent. The retry loop stops.
    OverBudget(OverBudget),
    /// The table of the request does not exist. The retry loop stops.
    NoTable,
    /// DynamoDB refused the request, and would refuse it again. The retry loop stops.
    Permanent(Refusal),
}

impl Failure {
    /// Returns whether the request may have been applied already, or may still be applied later.
    pub(crate) fn leaves_doubt(&self) -> bool {
        matches!(self, Self::Ambiguous(_) | Self::InProgress(_))
    }

    /// Returns the failure of a request that exceeded its timeout. A request without an answer may
    /// have been applied.
    pub(crate) fn timeout() -> Self {
        Self::Ambiguous(Unavailable::Timeout)
    }

    /// Returns the failure of a request that the SDK could not build, because of its content or its
    /// configuration.
    pub(crate) fn not_constructed(error: &(dyn StdError + 'static)) -> Self {
        if let Some(over) = causes(error).find_map(|cause| cause.downcast_ref::<OverBudget>()) {
            return Self::OverBudget(*over);
        }
        match misconfigured(error) {
            Some(why) => Self::Misconfigured(why),
            None => Self::Permanent(not_constructed(error)),
        }
    }

    /// Converts the failure of a request that never left the SDK into a failure that says so. A
    /// request that never left the SDK was certainly not applied.
    pub(crate) fn unsent(self) -> Self {
        match self {
            Self::Ambiguous(Unavailable::Connection(why)) => Self::Unsent(Unavailable::NotSent(why)),
            Self::Ambiguous(why) => Self::Unsent(why),
            failure => failure,
        }
    }
}

/// The error type of one SDK operation. Some errors of an operation contain data in addition to
/// their error code.
pub(crate) trait ServiceFailure: StdError + ProvideErrorMetadata + RequestId + Send + Sync + 'static {
    /// Returns the failure for an error that carries data, for example the item of a false
    /// condition. Returns `None` for an error without data.
    fn modelled(&mut self) -> Option<Failure> {
        None
    }
}

/// Returns the failure for an error of the SDK. Only this function interprets errors of the SDK.
pub(crate) fn classify<E: ServiceFailure>(error: SdkError<E, HttpResponse>) -> Failure {
    match error {
        SdkError::ConstructionFailure(_) => Failure::not_constructed(&error),
        // The request may have been applied before the timeout of the SDK ended the wait for its
        // reply.
        SdkError::TimeoutError(_) => Failure::timeout(),
        SdkError::DispatchFailure(failure) => dispatch(&failure),
        SdkError::ResponseError(context) => {
            // `into_source` takes the error out of the SDK's type, so the error can be searched for
            // `EmptyAnswer`.
            let source = SdkError::<E, _>::ResponseError(context).into_source();
            let reason = source.map_or_else(|_| "no reason given".into(), |source| unreadable(source.as_ref()));
            Failure::Ambiguous(Unavailable::Unreadable(reason.into()))
        }
        SdkError::ServiceError(context) => {
            let status = context.raw().status().as_u16();
            service(status, context.into_err())
        }
        // The SDK may add variants to `SdkError`. A request with an unknown failure may have been
        // applied.
        unknown => Failure::Ambiguous(Unavailable::Unreadable(chain(&unknown).into())),
    }
}

/// The error for a response without a body. DynamoDB's shortest body is `{}`. If the body is empty,
/// a proxy has cut the response or has answered instead of DynamoDB.
#[derive(Debug, thiserror::Error)]
#[error("it has no content")]
pub(crate) struct EmptyAnswer;

fn unreadable(error: &(dyn StdError + 'static)) -> String {
    let empty = causes(error).find_map(|cause| cause.downcast_ref::<EmptyAnswer>());
    empty.map_or_else(|| chain(error), ToString::to_string)
}

fn dispatch(failure: &DispatchFailure) -> Failure {
    // Without an error of the connector, nothing shows whether the request was sent.
    let Some(error) = failure.as_connector_error() else {
        return Failure::Ambiguous(Unavailable::Connection("no reason given".into()));
    };
    // The order of these tests matters. A refused connection proves that the request was not sent.
    // A timeout proves nothing, so the tests for exact causes come first.
    if was_refused(error) {
        return Failure::Unsent(Unavailable::Refused);
    }
    if let Some(why) = misconfigured(error) {
        return Failure::Misconfigured(why);
    }
    if let Some(failed) = causes(error).find_map(|cause| cause.downcast_ref::<CredentialsError>()) {
        return Failure::Unsent(Unavailable::Credentials(chain(failed).into()));
    }
    if failure.is_timeout() {
        return Failure::timeout();
    }
    if was_not_connected(error) {
        return Failure::Unsent(Unavailable::Connection(chain(error).into()));
    }
    Failure::Ambiguous(Unavailable::Connection(chain(error).into()))
}

/// Returns the wrong or missing part of the client's configuration, or `None` if the configuration
/// did not cause the failure.
///
/// The SDK and its HTTP client keep most of these error types private, so this function compares
/// their texts. The test `faults::configuration` compares the texts with the SDK. If the SDK
/// changes a text, no promise breaks: the request is then repeated until the deadline.
fn misconfigured(error: &(dyn StdError + 'static)) -> Option<Misconfigured> {
    const NO_IDENTITY: &str = "no identity resolver";
    const NO_REGION: [&str; 3] = ["Missing Region", "missing signing region", "invalid value for field: `region`"];
    const NO_SCHEME: &str = "unsupported scheme";
    const NO_ADDRESS: &str = "failed to lookup address information";
    const FOR_NOW: &str = "Temporary failure in name resolution";
    causes(error).find_map(|cause| {
        let text = cause.to_string();
        let why = || chain(cause).into();
        match cause.downcast_ref::<CredentialsError>() {
            Some(CredentialsError::CredentialsNotLoaded(_) | CredentialsError::InvalidConfiguration(_)) => {
                return Some(Misconfigured::Credentials(why()));
            }
            // A credentials provider that failed or timed out may succeed the next time, so the
            // failure is not permanent.
            Some(_) => return None,
            None => {}
        }
        if text.contains(NO_IDENTITY) {
            // The SDK's message gives advice to authors of the SDK, so this text replaces it.
            return Some(Misconfigured::Credentials("the configuration has no provider".into()));
        }
        if NO_REGION.iter().any(|known| text.contains(known)) {
            return Some(Misconfigured::Region(why()));
        }
        if cause.is::<HttpError>() || text.starts_with(NO_SCHEME) {
            return Some(Misconfigured::Endpoint(why()));
        }
        // A name server that does not answer may answer later. A host name that does not exist is
        // an error of the configuration.
        (text.contains(NO_ADDRESS) && !text.contains(FOR_NOW)).then(|| Misconfigured::Host(why()))
    })
}

/// Returns whether the HTTP client failed before it had a connection. In this failure, the request
/// was certainly not sent. The type of this error is private, so the function compares its text.
fn was_not_connected(error: &(dyn StdError + 'static)) -> bool {
    causes(error).any(|cause| cause.to_string() == "client error (Connect)")
}

/// Returns whether the server refused the connection. In this failure, the request was certainly
/// not sent.
fn was_refused(error: &(dyn StdError + 'static)) -> bool {
    causes(error)
        .filter_map(|error| error.downcast_ref::<io::Error>())
        .any(|error| error.kind() == io::ErrorKind::ConnectionRefused)
}

fn service<E: ServiceFailure>(status: u16, mut error: E) -> Failure {
    const TIMEOUT: u16 = 408;
    const TOO_MANY: u16 = 429;
    if let Some(failure) = error.modelled() {
        return failure;
    }
    let refusal = refusal(&error);
    // The order of the arms matters. The HTTP status of the response decides first, because
    // DynamoDB may have applied a write that it answered with status 2xx or 5xx.
    match (refusal.code(), status) {
        (_, 200..300) => Failure::Ambiguous(Unavailable::Unreadable(chain(&error).into())),
        (_, TIMEOUT | 500..) => Failure::Ambiguous(Unavailable::Server(refusal)),
        ("TransactionInProgressException", _) => Failure::InProgress(refusal),
        ("TransactionConflictException" | "ReplicatedWriteConflictException", _) => Failure::Contention(refusal),
        ("ProvisionedThroughputExceededException" | "ThrottlingException" | "RequestLimitExceeded", _)
        | (_, TOO_MANY) => Failure::Capacity(refusal),
        ("ResourceNotFoundException", _) => Failure::NoTable,
        ("IdempotentParameterMismatchException", _) => Failure::TokenReused,
        _ => Failure::Permanent(refusal),
    }
}

/// Returns the refusal for a request that the SDK could not build.
pub(super) fn not_constructed(error: &(dyn StdError + 'static)) -> Refusal {
    Refusal::new("the request could not be made", chain(error), None)
}

/// Returns the code, the message and the request id of a service error.
pub(crate) fn refusal<E: ProvideErrorMetadata + RequestId>(error: &E) -> Refusal {
    Refusal::new(
        error.code().unwrap_or("an error without a code"),
        error.message().unwrap_or("no message"),
        error.request_id().map(str::to_owned),
    )
}

/// Returns the texts of an error and of its causes. Texts with a brace are left out, because such a
/// text of the SDK may contain a whole request with its item.
fn chain(error: &(dyn StdError + 'static)) -> String {
    let texts: Vec<_> = causes(error).map(ToString::to_string).filter(|text| !text.contains('{')).collect();
    texts.join(": ")
}

fn causes<'e>(error: &'e (dyn StdError + 'static)) -> impl Iterator<Item = &'e (dyn StdError + 'static)> {
    std::iter::successors(Some(error), |&error| StdError::source(error))
}
