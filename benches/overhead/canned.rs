//! A transport that answers each operation from memory.

use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
};

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

/// The bytes of all request bodies of this process.
static SENT: AtomicU64 = AtomicU64::new(0);

/// The answers of each operation, one after the other. After the last answer, the first answer
/// follows. An operation without answers gets `{}`.
#[derive(Debug, Clone, Default)]
pub(crate) struct Canned(HashMap<&'static str, Arc<Answers>>);

#[derive(Debug)]
struct Answers {
    all: Vec<Answer>,
    next: AtomicUsize,
}

/// A status and a body.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Answer {
    status: u16,
    body: &'static str,
}

impl Answer {
    pub(crate) const EMPTY: Self = Self { status: 200, body: "{}" };

    pub(crate) fn success(body: String) -> Self {
        Self { status: 200, body: body.leak() }
    }

    pub(crate) fn refusal(body: String) -> Self {
        Self { status: 400, body: body.leak() }
    }
}

impl Canned {
    pub(crate) fn answering(mut self, operation: &'static str, answers: impl Into<Vec<Answer>>) -> Self {
        let answers = Answers { all: answers.into(), next: AtomicUsize::new(0) };
        self.0.insert(operation, Arc::new(answers));
        self
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

/// The bytes of all request bodies so far.
pub(crate) fn bytes_sent() -> u64 {
    SENT.load(Ordering::Relaxed)
}

impl HttpConnector for Canned {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        SENT.fetch_add(request.body().bytes().map_or(0, <[u8]>::len) as u64, Ordering::Relaxed);
        let target = request.headers().get("x-amz-target").unwrap_or_default();
        let operation = target.rsplit('.').next().unwrap_or_default();
        let Answer { status, body } = self.0.get(operation).map_or(Answer::EMPTY, |answers| {
            answers.all[answers.next.fetch_add(1, Ordering::Relaxed) % answers.all.len()]
        });
        let mut response = HttpResponse::new(StatusCode::try_from(status).expect("a status"), SdkBody::from(body));
        response.headers_mut().insert("content-type", "application/x-amz-json-1.0");
        HttpConnectorFuture::ready(Ok(response))
    }
}

impl HttpClient for Canned {
    fn http_connector(&self, _: &HttpConnectorSettings, _: &RuntimeComponents) -> SharedHttpConnector {
        SharedHttpConnector::new(self.clone())
    }
}
