//! Classifies failed requests. `classify` is the only place that interprets an `SdkError`.

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

use super::ActionReasons;
use crate::{
    codec::Item,
    error::{InvalidSetting, Misconfigured, Refusal, Unavailable},
};

/// The failure of a request. Each variant stands for one next step of the retry loop.
pub(crate) enum Failure {
    /// The condition was false. The field is the item that DynamoDB compared.
    Condition(Option<Item>),
    /// A transaction was cancelled. The field has a reason for each action.
    Cancelled(ActionReasons),
    /// The token belongs to a transaction with other content: stop.
    TokenReused,
    /// A transaction is running on the item: send the request again.
    Contention(Refusal),
    /// No capacity was left: back off.
    Capacity(Refusal),
    /// The request never reached the server: back off.
    Unsent(Unavailable),
    /// An earlier copy of the request is running: send the request again under the same token, and
    /// treat the outcome as unknown.
    InProgress(Refusal),
    /// The request may have been applied: send it again under the same write id, and treat the
    /// outcome as unknown.
    Ambiguous(Unavailable),
    /// The client cannot send any request: stop.
    Misconfigured(Misconfigured),
    /// A limit of the call is out of its range: stop.
    InvalidSetting(InvalidSetting),
    /// The table does not exist: stop.
    NoTable,
    /// The same request would fail again: stop.
    Permanent(Refusal),
}

impl Failure {
    /// Returns whether the request may have been applied, or may still be.
    pub(crate) fn leaves_doubt(&self) -> bool {
        matches!(self, Self::Ambiguous(_) | Self::InProgress(_))
    }

    /// Returns the failure of a request that took longer than its timeout. The request may have
    /// been applied.
    pub(crate) fn timeout() -> Self {
        Self::Ambiguous(Unavailable::Timeout)
    }

    /// Returns the failure of a request that the SDK could not build, because of its content or its
    /// configuration.
    pub(crate) fn not_constructed(error: &(dyn StdError + 'static)) -> Self {
        match misconfigured(error) {
            Some(why) => Self::Misconfigured(why),
            None => Self::Permanent(not_constructed(error)),
        }
    }

    /// Returns the failure, changed for a request that never left the SDK.
    pub(crate) fn unsent(self) -> Self {
        match self {
            Self::Ambiguous(Unavailable::Connection(why)) => Self::Unsent(Unavailable::NotSent(why)),
            Self::Ambiguous(why) => Self::Unsent(why),
            failure => failure,
        }
    }
}

/// The errors of one SDK operation that need more than their error code.
pub(crate) trait ServiceFailure: StdError + ProvideErrorMetadata + RequestId + Send + Sync + 'static {
    /// Returns the failure for an error with additional data, for example the item of a false
    /// condition.
    fn modelled(&mut self) -> Option<Failure>;
}

/// Returns the failure for an error of the SDK. No other function does this mapping.
pub(crate) fn classify<E: ServiceFailure>(error: SdkError<E, HttpResponse>) -> Failure {
    match error {
        SdkError::ConstructionFailure(_) => Failure::not_constructed(&error),
        SdkError::TimeoutError(_) => Failure::timeout(),
        SdkError::DispatchFailure(failure) => dispatch(&failure),
        SdkError::ResponseError(context) => {
            let source = SdkError::<E, _>::ResponseError(context).into_source();
            let reason = source.map_or_else(|_| "no reason given".into(), |source| unreadable(source.as_ref()));
            Failure::Ambiguous(Unavailable::Unreadable(reason.into()))
        }
        SdkError::ServiceError(context) => {
            let status = context.raw().status().as_u16();
            service(status, context.into_err())
        }
        // `SdkError` may get new variants. A request with an unknown failure may have been applied.
        unknown => Failure::Ambiguous(Unavailable::Unreadable(chain(&unknown).into())),
    }
}

/// A response without a body. DynamoDB's shortest body is `{}`, so a proxy has cut the response or
/// answered itself.
#[derive(Debug, thiserror::Error)]
#[error("it has no content")]
pub(crate) struct EmptyAnswer;

fn unreadable(error: &(dyn StdError + 'static)) -> String {
    let empty = causes(error).find_map(|cause| cause.downcast_ref::<EmptyAnswer>());
    empty.map_or_else(|| chain(error), ToString::to_string)
}

fn dispatch(failure: &DispatchFailure) -> Failure {
    let Some(error) = failure.as_connector_error() else {
        return Failure::Ambiguous(Unavailable::Connection("no reason given".into()));
    };
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

/// Returns the part of the configuration that is missing, if that is the cause of the failure.
///
/// The SDK and its HTTP client keep most of these errors private, so their texts are compared. The
/// test `faults::configuration` compares these texts with the SDK. If a text changes, no promise
/// breaks: the request is then repeated until the deadline.
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
            // A provider that timed out or failed may succeed the next time.
            Some(_) => return None,
            None => {}
        }
        if text.contains(NO_IDENTITY) {
            // The advice in the SDK's message is for authors of the SDK, so it is replaced.
            return Some(Misconfigured::Credentials("the configuration has no provider".into()));
        }
        if NO_REGION.iter().any(|known| text.contains(known)) {
            return Some(Misconfigured::Region(why()));
        }
        if cause.is::<HttpError>() || text.starts_with(NO_SCHEME) {
            return Some(Misconfigured::Endpoint(why()));
        }
        (text.contains(NO_ADDRESS) && !text.contains(FOR_NOW)).then(|| Misconfigured::Host(why()))
    })
}

/// Returns whether the HTTP client failed before it had a connection, judged by its message.
/// Nothing was sent then.
fn was_not_connected(error: &(dyn StdError + 'static)) -> bool {
    causes(error).any(|cause| cause.to_string() == "client error (Connect)")
}

/// Returns whether `connect` was refused. Nothing was sent then.
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

/// Returns the message of the SDK for a request that it could not build.
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

/// Returns the texts of an error and its causes. Texts that print a structure are left out, because
/// the SDK prints whole requests there, with their items.
fn chain(error: &(dyn StdError + 'static)) -> String {
    let texts: Vec<_> = causes(error).map(ToString::to_string).filter(|text| !text.contains('{')).collect();
    texts.join(": ")
}

fn causes<'e>(error: &'e (dyn StdError + 'static)) -> impl Iterator<Item = &'e (dyn StdError + 'static)> {
    std::iter::successors(Some(error), |&error| StdError::source(error))
}
