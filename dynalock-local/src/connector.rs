use std::{fmt, sync::Arc};

use aws_sdk_dynamodb::config::{HttpClient, RuntimeComponents};
use aws_smithy_runtime_api::client::{
    http::{HttpConnector, HttpConnectorFuture, HttpConnectorSettings, SharedHttpConnector},
    orchestrator::HttpRequest,
};

use crate::{dispatch, tokens::Tokens, wire};

/// Replaces the HTTP client of the SDK. It passes each request to the engine in the process.
///
/// There is no socket and no thread: the engine answers on the task that sends the request. Before
/// a request is applied, it yields to the scheduler once, so that tasks on one thread race.
/// Timeouts of the SDK work as usual, because the SDK measures them itself.
#[derive(Clone)]
pub struct Connector {
    engine: dynoxide::Database,
    tokens: Arc<Tokens>,
}

impl Connector {
    pub(crate) fn new(engine: dynoxide::Database, tokens: Arc<Tokens>) -> Self {
        Self { engine, tokens }
    }
}

impl HttpConnector for Connector {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let Self { engine, tokens } = self.clone();

        HttpConnectorFuture::new(async move {
            tokio::task::yield_now().await;

            let operation = wire::operation(&request);
            let body = request.body().bytes().unwrap_or_default();

            Ok(dispatch::answer(&engine, &tokens, operation, body))
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
