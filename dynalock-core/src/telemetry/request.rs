use std::{borrow::Cow, future::Future, pin::Pin, sync::Arc};

use aws_sdk_dynamodb::{
    error::{ProvideErrorMetadata, SdkError},
    operation::RequestId,
};
use tracing::{Instrument, Span, field::Empty};

use super::{
    DROPPED, OK, SYSTEM, TARGET,
    call::{current, is_observed},
    metric::{REQUESTS, count},
};

/// The drop of a `SentRequest` records the outcome of the request.
struct SentRequest {
    name: &'static str,
    table: Arc<str>,
    span: Span,
    /// The outcome is `ok`, the short name of the error, or `dropped` if the future of the request
    /// was dropped, for example after a timeout.
    outcome: Cow<'static, str>,
}

/// `sent` is a pinned reference, because the future of an SDK request takes many kilobytes of
/// memory.
pub(crate) async fn request<O, E>(
    name: &'static str,
    table: &Arc<str>,
    sent: Pin<&mut (impl Future<Output = Result<O, SdkError<E>>> + Send)>,
) -> Result<O, SdkError<E>>
where
    O: RequestId,
    E: ProvideErrorMetadata + RequestId,
{
    if !is_observed() {
        return sent.await;
    }
    let number = current().map(|call| call.count_request());
    let span = tracing::debug_span!(
        target: TARGET,
        "request",
        otel.name = %format_args!("{name} {table}"),
        otel.kind = "client",
        db.system.name = SYSTEM,
        db.operation.name = name,
        db.collection.name = &**table,
        "error.type" = Empty,
        aws.request_id = Empty,
        dynalock.request = number,
    );
    let mut request = SentRequest { name, table: Arc::clone(table), span: span.clone(), outcome: DROPPED.into() };
    let answer = sent.instrument(span).await;
    let (id, outcome) = match &answer {
        Ok(output) => (output.request_id(), OK.into()),
        Err(error) => (error.request_id(), error_type(error)),
    };
    if let Some(id) = id {
        request.span.record("aws.request_id", id);
    }
    request.outcome = outcome;
    answer
}

impl Drop for SentRequest {
    fn drop(&mut self) {
        if self.outcome != OK {
            self.span.record("error.type", &*self.outcome);
        }
        count!(REQUESTS, "request" => self.name, "table" => Arc::clone(&self.table), "outcome" => self.outcome.clone());
    }
}

/// Returns the error code of DynamoDB's answer, or a short name of the problem, for example
/// `timeout`.
fn error_type<E: ProvideErrorMetadata>(error: &SdkError<E>) -> Cow<'static, str> {
    match error {
        SdkError::ConstructionFailure(_) => "not_sent".into(),
        SdkError::TimeoutError(_) => "timeout".into(),
        SdkError::DispatchFailure(_) => "connection".into(),
        SdkError::ServiceError(_) => error.code().map_or("without_code".into(), |code| code.to_owned().into()),
        _ => "unreadable".into(),
    }
}
