//! A DynamoDB whose answers a test sets.

use std::{
    fmt,
    sync::{Arc, Mutex},
    time::Duration,
};

use aws_sdk_dynamodb::{
    Client,
    config::{HttpClient, RuntimeComponents},
};
use aws_smithy_runtime_api::client::{
    http::{HttpConnector, HttpConnectorFuture, HttpConnectorSettings, SharedHttpConnector},
    orchestrator::{HttpRequest, HttpResponse},
};
use aws_smithy_types::body::SdkBody;
use dynalock::local::Database;
use serde_json::{Value, json};

use super::travel;

type Answer = dyn Fn(usize, &Value) -> Value + Send + Sync;

/// Answers each request by a function of its number and its body. If the answer is null, the
/// request is never answered.
#[derive(Clone)]
pub(crate) struct Answers {
    answer: Arc<Answer>,
    asked: Arc<Mutex<Vec<Value>>>,
    delay: Duration,
}

impl Answers {
    pub(crate) fn new(answer: impl Fn(usize, &Value) -> Value + Send + Sync + 'static) -> Self {
        Self { answer: Arc::new(answer), asked: Arc::default(), delay: Duration::ZERO }
    }

    /// Sets the time that each answer takes, on the paused clock.
    pub(crate) fn after(self, delay: Duration) -> Self {
        Self { delay, ..self }
    }

    pub(crate) fn client(&self) -> Client {
        let config = Database::in_memory().expect("a database").client().config().to_builder();
        Client::from_conf(config.http_client(self.clone()).build())
    }

    /// Returns the requests so far.
    pub(crate) fn asked(&self) -> Vec<Value> {
        self.asked.lock().unwrap().clone()
    }
}

/// Returns an error of the service, as an answer.
pub(crate) fn refusal(code: &str, message: &str) -> Value {
    json!({ "__type": format!("com.amazonaws.dynamodb.v20120810#{code}"), "message": message })
}

impl HttpClient for Answers {
    fn http_connector(&self, _: &HttpConnectorSettings, _: &RuntimeComponents) -> SharedHttpConnector {
        SharedHttpConnector::new(self.clone())
    }
}

impl HttpConnector for Answers {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let body: Value = serde_json::from_slice(request.body().bytes().expect("a body")).expect("JSON");
        let number = {
            let mut asked = self.asked.lock().unwrap();
            asked.push(body.clone());
            asked.len() - 1
        };
        let (answer, delay) = ((self.answer)(number, &body), self.delay);
        HttpConnectorFuture::new(async move {
            if !delay.is_zero() {
                travel(delay).await;
            }
            if answer.is_null() {
                std::future::pending::<()>().await;
            }
            let status = if answer.get("__type").is_some() { 400 } else { 200 };
            Ok(HttpResponse::new(status.try_into().expect("a status"), SdkBody::from(answer.to_string())))
        })
    }
}

impl fmt::Debug for Answers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Answers")
    }
}
