use std::{fmt, sync::Arc};

use aws_sdk_dynamodb::config::{HttpClient, RuntimeComponents};
use aws_smithy_runtime_api::client::{
    http::{HttpConnector, HttpConnectorFuture, HttpConnectorSettings, SharedHttpConnector},
    orchestrator::HttpRequest,
};

use crate::{service::Service, wire};

/// A replacement for the HTTP client of the SDK. A `Connector` passes each request to the local
/// engine in the process.
///
/// The connector has no socket and no thread: the local engine answers on the task that sends the
/// request. Before the local engine applies a request, the task of the request yields to the
/// scheduler once, so that the requests of several tasks on one thread can interleave. The timeouts
/// of the SDK work as usual, because the SDK itself measures the time.
#[derive(Clone)]
pub struct Connector {
    service: Arc<Service>,
}

impl Connector {
    pub(crate) fn new(service: Arc<Service>) -> Self {
        Self { service }
    }
}

impl HttpConnector for Connector {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let service = Arc::clone(&self.service);

        HttpConnectorFuture::new(async move {
            tokio::task::yield_now().await;

            let operation = wire::operation(&request);
            let body = request.body().bytes().unwrap_or_default();

            service.call(operation, body).await
        })
    }
}

impl HttpClient for Connector {
    fn http_connector(
        &self,
        _settings: &HttpConnectorSettings,
        _components: &RuntimeComponents,
    ) -> SharedHttpConnector {
        SharedHttpConnector::new(self.clone())
    }
}

impl fmt::Debug for Connector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connector").finish_non_exhaustive()
    }
}
