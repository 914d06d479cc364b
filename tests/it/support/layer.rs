//! Layers between a client and the engine.

use std::fmt::Debug;

use aws_sdk_dynamodb::config::{HttpClient, RuntimeComponents, SharedHttpClient};
use aws_smithy_runtime_api::client::http::{
    HttpConnector, HttpConnectorFuture, HttpConnectorSettings, SharedHttpConnector,
};
pub(crate) use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse};

/// A layer that sees each request, and may change or answer it.
pub(crate) trait Layer: Debug + Clone + Send + Sync + 'static {
    fn call(&self, request: HttpRequest, inner: &SharedHttpConnector) -> HttpConnectorFuture;

    fn wrap(&self, client: SharedHttpClient) -> SharedHttpClient {
        SharedHttpClient::new(Layered { inner: client, layer: self.clone() })
    }
}

#[derive(Debug)]
struct Layered<C, L> {
    inner: C,
    layer: L,
}

impl<L: Layer> HttpClient for Layered<SharedHttpClient, L> {
    fn http_connector(&self, settings: &HttpConnectorSettings, components: &RuntimeComponents) -> SharedHttpConnector {
        let inner = self.inner.http_connector(settings, components);
        SharedHttpConnector::new(Layered { inner, layer: self.layer.clone() })
    }
}

impl<L: Layer> HttpConnector for Layered<SharedHttpConnector, L> {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        self.layer.call(request, &self.inner)
    }
}
