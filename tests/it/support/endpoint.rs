//! A DynamoDB behind a URL, through the SDK's own HTTP client.

use std::sync::{Arc, Mutex};

use aws_sdk_dynamodb::{
    Client, Config,
    config::{
        BehaviorVersion, ConfigBag, Credentials, Intercept, Region, RuntimeComponents, SharedHttpClient,
        interceptors::BeforeTransmitInterceptorContextRef,
    },
    error::BoxError,
};

pub(crate) fn client(url: &str) -> Client {
    let config = Config::builder()
        .behavior_version(BehaviorVersion::v2026_01_12())
        .region(Region::new("us-east-1"))
        .credentials_provider(Credentials::new("local", "local", None, None, "test"))
        .endpoint_url(url);
    Client::from_conf(config.build())
}

/// The default HTTP client of the SDK, so that a layer can be put in front of it.
pub(super) async fn http_client(client: &Client) -> SharedHttpClient {
    let seen = Seen::default();
    let config = client.config().to_builder().interceptor(seen.clone()).build();
    Client::from_conf(config).list_tables().send().await.expect("the endpoint answers");
    seen.0.lock().unwrap().take().expect("every request has an HTTP client")
}

#[derive(Debug, Clone, Default)]
struct Seen(Arc<Mutex<Option<SharedHttpClient>>>);

impl Intercept for Seen {
    fn name(&self) -> &'static str {
        "Seen"
    }

    fn read_before_transmit(
        &self,
        _: &BeforeTransmitInterceptorContextRef<'_>,
        components: &RuntimeComponents,
        _: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        *self.0.lock().unwrap() = components.http_client();
        Ok(())
    }
}
