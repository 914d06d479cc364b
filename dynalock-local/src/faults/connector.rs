use std::{
    future,
    io::{self, ErrorKind},
    time::Duration,
};

use aws_sdk_dynamodb::config::{HttpClient, RuntimeComponents, SharedHttpClient};
use aws_smithy_runtime_api::client::{
    http::{HttpConnector, HttpConnectorFuture, HttpConnectorSettings, SharedHttpConnector},
    orchestrator::{HttpRequest, HttpResponse},
    result::ConnectorError,
};
use http::StatusCode;

use super::{Fault, Faults, canned, unprocessed};
use crate::{clock, wire};

/// An HTTP client, or a connector of an HTTP client, that adds faults to the requests which it
/// sends.
#[derive(Debug)]
pub(super) struct Faulty<C> {
    inner: C,
    faults: Faults,
}

impl<C> Faulty<C> {
    pub(super) fn new(inner: C, faults: Faults) -> Self {
        Self { inner, faults }
    }
}

impl HttpClient for Faulty<SharedHttpClient> {
    fn http_connector(&self, settings: &HttpConnectorSettings, components: &RuntimeComponents) -> SharedHttpConnector {
        let inner = self.inner.http_connector(settings, components);

        SharedHttpConnector::new(Faulty::new(inner, self.faults.clone()))
    }
}

impl HttpConnector for Faulty<SharedHttpConnector> {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let body = request.body().bytes().unwrap_or_default();
        let fault = self.faults.plan().next(wire::operation(&request), body);

        match fault {
            None => self.inner.call(request),
            Some(fault) => HttpConnectorFuture::new(inject(fault, self.inner.clone(), request)),
        }
    }
}

async fn inject(
    fault: Fault,
    inner: SharedHttpConnector,
    request: HttpRequest,
) -> Result<HttpResponse, ConnectorError> {
    match fault {
        Fault::LoseRequest => Err(reset()),
        Fault::Refused => Err(refused()),
        Fault::ServerError => Ok(canned::server_error()),
        Fault::Throttle => Ok(canned::refusal("ThrottlingException")),
        Fault::ProvisionedThroughputExceeded => Ok(canned::refusal("ProvisionedThroughputExceededException")),
        Fault::TransactionConflict => Ok(canned::refusal("TransactionConflictException")),
        Fault::TransactionInProgress => Ok(canned::refusal("TransactionInProgressException")),
        Fault::TransactionCanceled(reasons) => Ok(canned::canceled(&reasons)),
        Fault::AccessDenied => Ok(canned::refusal("AccessDeniedException")),
        Fault::Error { code, status } => Ok(canned::error(&code, status_of(status))),
        Fault::NeverAnswer => future::pending().await,

        Fault::LoseReply => inner.call(request).await.and(Err(reset())),
        Fault::ErrorAfterApply => inner.call(request).await.map(|_| canned::server_error()),
        Fault::GarbageAfterApply => inner.call(request).await.map(|_| canned::ok("<html>")),
        Fault::TruncatedAfterApply => inner.call(request).await.map(|_| canned::ok(r#"{"Attributes":{"#)),
        Fault::EmptyAfterApply => inner.call(request).await.map(|_| canned::ok("")),
        Fault::NeverAnswerAfterApply => {
            inner.call(request).await?;
            future::pending().await
        }

        Fault::Unprocessed(count) => unprocessed::leave(count, inner, request).await,
        Fault::Delay(time) => {
            clock::sleep(time).await;
            inner.call(request).await
        }
        Fault::DeliverLate(time) => {
            deliver_in_background(time, inner, request);
            Err(reset())
        }
        Fault::DeliverTwice => deliver_twice(inner, request).await,
    }
}

async fn deliver_twice(inner: SharedHttpConnector, request: HttpRequest) -> Result<HttpResponse, ConnectorError> {
    let copy = request.try_clone();
    let reply = inner.call(request).await;

    if let Some(copy) = copy {
        deliver_in_background(Duration::ZERO, inner, copy);
    }

    reply
}

fn deliver_in_background(after: Duration, inner: SharedHttpConnector, request: HttpRequest) {
    tokio::spawn(async move {
        clock::sleep(after).await;
        // No caller waits for the answer to a request in the background.
        let _ = inner.call(request).await;
    });
}

fn reset() -> ConnectorError {
    ConnectorError::io(io::Error::from(ErrorKind::ConnectionReset).into())
}

fn refused() -> ConnectorError {
    ConnectorError::io(io::Error::from(ErrorKind::ConnectionRefused).into()).never_connected()
}

fn status_of(status: u16) -> StatusCode {
    StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
}
