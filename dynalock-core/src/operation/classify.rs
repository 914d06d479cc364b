//! Classifies failed requests: each class of failure stands for one reaction of the retry loop.

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
    error::{ActionReason, CancellationClass, InvalidSetting, Misconfigured, Refusal, Unavailable},
};

pub(crate) enum Failure {
    /// The condition of the write was false. `Condition` contains the item that DynamoDB returned
    /// with the refusal.
    Condition(Option<Item>),
    Cancelled(ActionReasons),
    /// DynamoDB remembers a transaction with the same token but with other content.
    TokenReused,
    /// Another transaction is running on an item of the request.
    Contention(Refusal),
    /// DynamoDB throttled the request.
    Capacity(Refusal),
    /// The request never reached the server.
    Unsent(Unavailable),
    /// An earlier attempt of the same transaction is still running, so the outcome of the
    /// transaction is unknown.
    InProgress(Refusal),
    /// DynamoDB may or may not have applied the write.
    Ambiguous(Unavailable),
    /// The configuration of the client is wrong, and the client cannot send any request.
    Misconfigured(Misconfigured),
    /// The program has set a limit of the call, for example the number of attempts, to an invalid
    /// value.
    InvalidSetting(InvalidSetting),
    /// The library did not send the request, because the request would exceed the budget of the
    /// call.
    OverBudget(OverBudget),
    NoTable,
    /// DynamoDB refused the request, and would refuse each retry.
    Permanent(Refusal),
}

impl Failure {
    /// Returns `true` if DynamoDB may have applied the failed request, or may still apply the
    /// request later.
    pub(crate) fn leaves_doubt(&self) -> bool {
        matches!(self, Self::Ambiguous(_) | Self::InProgress(_))
    }

    /// Converts a cancelled transaction into one failure. If the cancellation has several reasons,
    /// the failure comes from the reason with the highest `severity`.
    pub(crate) fn of_cancelled(reasons: ActionReasons) -> Self {
        let worst = match reasons.into_worst() {
            Ok(worst) => worst,
            Err(whole) => return Self::Permanent(whole),
        };
        let class = worst.class();
        let ActionReason { refusal, item } = worst;
        match class {
            Some(CancellationClass::Conflict) => Self::Condition(item),
            Some(CancellationClass::Contention) => Self::Contention(refusal),
            Some(CancellationClass::Capacity) => Self::Capacity(refusal),
            Some(CancellationClass::Permanent | CancellationClass::Mixed) | None => Self::Permanent(refusal),
        }
    }

    pub(crate) fn timeout() -> Self {
        Self::Ambiguous(Unavailable::Timeout)
    }

    pub(crate) fn not_constructed(error: &(dyn StdError + 'static)) -> Self {
        if let Some(over) = causes(error).find_map(|cause| cause.downcast_ref::<OverBudget>()) {
            return Self::OverBudget(*over);
        }
        match misconfigured(error) {
            Some(why) => Self::Misconfigured(why),
            None => Self::Permanent(not_constructed(error)),
        }
    }

    /// Converts an unknown outcome into [`Unsent`](Self::Unsent), for a request that never left the
    /// SDK.
    pub(crate) fn unsent(self) -> Self {
        match self {
            Self::Ambiguous(Unavailable::Connection(why)) => Self::Unsent(Unavailable::NotSent(why)),
            Self::Ambiguous(why) => Self::Unsent(why),
            failure => failure,
        }
    }
}

pub(crate) trait ServiceFailure: StdError + ProvideErrorMetadata + RequestId + Send + Sync + 'static {
    /// Returns the failure for an error that contains more than an error code, for example the item
    /// that made a condition false. Returns `None` for an error that `classify` recognises by its
    /// error code alone.
    fn modelled(&mut self) -> Option<Failure> {
        None
    }
}

pub(crate) fn classify<E: ServiceFailure>(error: SdkError<E, HttpResponse>) -> Failure {
    match error {
        SdkError::ConstructionFailure(_) => Failure::not_constructed(&error),
        // DynamoDB may have applied the request before the timeout.
        SdkError::TimeoutError(_) => Failure::timeout(),
        SdkError::DispatchFailure(failure) => dispatch(&failure),
        SdkError::ResponseError(context) => {
            // `into_source` takes the cause out of the SDK's error type. The function `unreadable`
            // can then search the cause for `EmptyAnswer`.
            let source = SdkError::<E, _>::ResponseError(context).into_source();
            let reason = source.map_or_else(|_| "no reason given".into(), |source| unreadable(source.as_ref()));
            Failure::Ambiguous(Unavailable::Unreadable(reason.into()))
        }
        SdkError::ServiceError(context) => {
            let status = context.raw().status().as_u16();
            service(status, context.into_err())
        }
        // A later version of the SDK may add variants to `SdkError`. After an unknown error of the
        // SDK, DynamoDB may have applied the request.
        unknown => Failure::Ambiguous(Unavailable::Unreadable(chain(&unknown).into())),
    }
}

/// The error for a response without a body. The shortest response body of DynamoDB is `{}`, so an
/// empty body comes from a proxy or was truncated.
#[derive(Debug, thiserror::Error)]
#[error("it has no content")]
pub(crate) struct EmptyAnswer;

fn unreadable(error: &(dyn StdError + 'static)) -> String {
    let empty = causes(error).find_map(|cause| cause.downcast_ref::<EmptyAnswer>());
    empty.map_or_else(|| chain(error), ToString::to_string)
}

fn dispatch(failure: &DispatchFailure) -> Failure {
    // Without an error of the HTTP connector, the library cannot know whether the SDK has sent the
    // request.
    let Some(error) = failure.as_connector_error() else {
        return Failure::Ambiguous(Unavailable::Connection("no reason given".into()));
    };
    // Only a refused connection proves that DynamoDB did not receive the request, so this check
    // comes before the check for a timeout.
    let mut io_errors = causes(error).filter_map(|cause| cause.downcast_ref::<io::Error>());
    if io_errors.any(|cause| cause.kind() == io::ErrorKind::ConnectionRefused) {
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
    // The HTTP client had no connection, so the request was not sent. The type of the HTTP client's
    // error is private, so the code compares the text of the error.
    if causes(error).any(|cause| cause.to_string() == "client error (Connect)") {
        return Failure::Unsent(Unavailable::Connection(chain(error).into()));
    }
    Failure::Ambiguous(Unavailable::Connection(chain(error).into()))
}

/// Returns the wrong or missing part of the client's configuration, or `None` if the configuration
/// did not cause the failure.
///
/// The SDK and its HTTP client keep most of their error types private, so `misconfigured` compares
/// the texts of errors. The test `faults::configuration` checks that the SDK still returns the
/// expected texts. If the SDK changes a text, `misconfigured` no longer recognises the error, and
/// the library retries the request until the deadline.
pub fn misconfigured(error: &(dyn StdError + 'static)) -> Option<Misconfigured> {
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
            // A credentials provider that failed or timed out may succeed at the next attempt.
            Some(_) => return None,
            None => {}
        }
        if text.contains(NO_IDENTITY) {
            // The message of the SDK addresses the SDK's own authors, so a text for users replaces
            // the message.
            return Some(Misconfigured::Credentials("the configuration has no provider".into()));
        }
        if NO_REGION.iter().any(|known| text.contains(known)) {
            return Some(Misconfigured::Region(why()));
        }
        if cause.is::<HttpError>() || text.starts_with(NO_SCHEME) {
            return Some(Misconfigured::Endpoint(why()));
        }
        // A name server without an answer may answer later. An unknown host name is an error of the
        // configuration.
        (text.contains(NO_ADDRESS) && !text.contains(FOR_NOW)).then(|| Misconfigured::Host(why()))
    })
}

fn service<E: ServiceFailure>(status: u16, mut error: E) -> Failure {
    const TIMEOUT: u16 = 408;
    const TOO_MANY: u16 = 429;
    if let Some(failure) = error.modelled() {
        return failure;
    }
    let refusal = refusal(&error);
    // With the HTTP statuses 2xx, 408 and 5xx, DynamoDB may have applied the write, so the status
    // decides before the error code.
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

pub(super) fn not_constructed(error: &(dyn StdError + 'static)) -> Refusal {
    Refusal::new("the request could not be made", chain(error), None)
}

pub(crate) fn refusal<E: ProvideErrorMetadata + RequestId>(error: &E) -> Refusal {
    Refusal::new(
        error.code().unwrap_or("an error without a code"),
        error.message().unwrap_or("no message"),
        error.request_id().map(str::to_owned),
    )
}

/// Returns the texts of an error and of its causes. `chain` leaves out each text with a brace,
/// because a text with a brace may contain a whole request with its item.
fn chain(error: &(dyn StdError + 'static)) -> String {
    let texts: Vec<_> = causes(error).map(ToString::to_string).filter(|text| !text.contains('{')).collect();
    texts.join(": ")
}

fn causes<'e>(error: &'e (dyn StdError + 'static)) -> impl Iterator<Item = &'e (dyn StdError + 'static)> {
    std::iter::successors(Some(error), |&error| StdError::source(error))
}
