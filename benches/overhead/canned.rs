//! A transport that answers each operation from memory.

use std::collections::HashMap;

use aws_sdk_dynamodb::{
    Client,
    config::{
        BehaviorVersion, Credentials, HttpClient, Region, RuntimeComponents, StalledStreamProtectionConfig,
        retry::RetryConfig,
    },
};
use aws_smithy_runtime_api::{
    client::{
        http::{HttpConnector, HttpConnectorFuture, HttpConnectorSettings, SharedHttpConnector},
        orchestrator::{HttpRequest, HttpResponse},
    },
    http::StatusCode,
};
use aws_smithy_types::body::SdkBody;

/// Bodies by operation; what is not there is answered with `{}`.
#[derive(Debug, Clone, Default)]
pub(crate) struct Canned(HashMap<&'static str, &'static str>);

impl Canned {
    pub(crate) fn answering(operation: &'static str, body: String) -> Self {
        Self(HashMap::from([(operation, &*body.leak())]))
    }

    pub(crate) fn client(self) -> Client {
        let config = aws_sdk_dynamodb::Config::builder()
            .behavior_version(BehaviorVersion::v2026_01_12())
            .region(Region::new("us-east-1"))
            .credentials_provider(Credentials::new("key", "secret", None, None, "canned"))
            .retry_config(RetryConfig::disabled())
            .stalled_stream_protection(StalledStreamProtectionConfig::disabled())
            .http_client(self)
            .build();
        Client::from_conf(config)
    }
}

impl HttpConnector for Canned {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let target = request.headers().get("x-amz-target").unwrap_or_default();
        let operation = target.rsplit('.').next().unwrap_or_default();
        let body = self.0.get(operation).copied().unwrap_or("{}");
        let mut response = HttpResponse::new(StatusCode::try_from(200).expect("a status"), SdkBody::from(body));
        response.headers_mut().insert("content-type", "application/x-amz-json-1.0");
        HttpConnectorFuture::ready(Ok(response))
    }
}

impl HttpClient for Canned {
    fn http_connector(&self, _: &HttpConnectorSettings, _: &RuntimeComponents) -> SharedHttpConnector {
        SharedHttpConnector::new(self.clone())
    }
}
