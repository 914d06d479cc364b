//! A client of the in-process DynamoDB whose requests take as long as requests to a near Region.

use std::time::Duration;

use aws_sdk_dynamodb::{
    Client,
    config::{HttpClient, RuntimeComponents, SharedHttpClient},
};
use aws_smithy_runtime_api::client::{
    http::{HttpConnector, HttpConnectorFuture, HttpConnectorSettings, SharedHttpConnector},
    orchestrator::HttpRequest,
};
use dynalock::local::{Database, Faults};

/// Half a round trip.
const ONE_WAY: Duration = Duration::from_millis(3);

/// Returns a client whose requests pass through the network and then through `faults`.
pub(crate) fn client(database: &Database, faults: &Faults) -> Client {
    let slow = SharedHttpClient::new(Distant(faults.wrap(database.connector())));
    let config = database.client().config().to_builder().http_client(slow).build();
    Client::from_conf(config)
}

/// An HTTP client, or one of its connectors, at the other end of the network.
#[derive(Debug)]
struct Distant<C>(C);

impl HttpClient for Distant<SharedHttpClient> {
    fn http_connector(&self, settings: &HttpConnectorSettings, components: &RuntimeComponents) -> SharedHttpConnector {
        SharedHttpConnector::new(Distant(self.0.http_connector(settings, components)))
    }
}

impl HttpConnector for Distant<SharedHttpConnector> {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let inner = self.0.clone();
        HttpConnectorFuture::new(async move {
            tokio::time::sleep(ONE_WAY).await;
            let answer = inner.call(request).await;
            tokio::time::sleep(ONE_WAY).await;
            answer
        })
    }
}
