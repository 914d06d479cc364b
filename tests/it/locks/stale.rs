//! Eventually consistent reads that show an earlier state.

use aws_sdk_dynamodb::{Client, config::SharedHttpClient};
use aws_smithy_runtime_api::client::http::{HttpConnector, HttpConnectorFuture, SharedHttpConnector};
use aws_smithy_types::body::SdkBody;
use dynalock::{Error, Expiry, Locks, Wait, local::Database};
use serde_json::{Value, json};

use crate::support::{
    acquire, expect_error,
    layer::{HttpRequest, HttpResponse, Layer},
    secs,
};

/// Answers each eventually consistent read as if the lock were free.
#[derive(Debug, Clone)]
struct Stale;

impl Layer for Stale {
    fn call(&self, request: HttpRequest, inner: &SharedHttpConnector) -> HttpConnectorFuture {
        let body: Value = serde_json::from_slice(request.body().bytes().unwrap_or_default()).expect("JSON");
        let is_get = request.headers().get("x-amz-target").is_some_and(|target| target.ends_with(".GetItem"));
        if is_get && body["ConsistentRead"] != true {
            let item = json!({ "Item": { "name": body["Key"]["name"], "_fence": { "N": "1" } } });
            let answer = HttpResponse::new(200.try_into().expect("a status"), SdkBody::from(item.to_string()));
            return HttpConnectorFuture::ready(Ok(answer));
        }
        inner.call(request)
    }
}

#[tokio::test(start_paused = true)]
async fn a_stale_read_of_a_free_lock_does_not_expire_its_holder() {
    for is_fair in [false, true] {
        let database = Database::in_memory().unwrap();
        let plain = database.client();
        let locks =
            |client: &Client| Locks::new(client, "locks").ttl(secs(30)).wait(Wait::Forever).expiry(Expiry::Observed);
        locks(&plain).create_table().await.unwrap();
        let held = acquire(&locks(&plain), "report", is_fair).await.unwrap();
        let stale = Stale.wrap(SharedHttpClient::new(database.connector()));
        let client = Client::from_conf(plain.config().to_builder().http_client(stale).build());
        let locked = expect_error!(locks(&client).acquire("report").wait(secs(90)).await, Error::Locked(it) => it);
        assert_eq!(&*locked.owner, held.owner());
        held.extend().await.unwrap();
    }
}
