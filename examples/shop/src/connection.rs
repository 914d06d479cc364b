//! The client of DynamoDB.

use aws_sdk_dynamodb::{
    Client,
    config::{BehaviorVersion, Credentials, Region},
};

/// Makes a client of AWS from the environment of the process: the Region, the credentials and
/// `AWS_ENDPOINT_URL`.
pub async fn aws() -> Client {
    Client::new(&aws_config::load_defaults(BehaviorVersion::v2026_01_12()).await)
}

/// Makes a client of the local DynamoDB at `endpoint_url`. A local DynamoDB checks no credentials.
pub async fn local(endpoint_url: &str) -> Client {
    let config = aws_config::defaults(BehaviorVersion::v2026_01_12())
        .endpoint_url(endpoint_url)
        .region(Region::new("us-east-1"))
        .credentials_provider(Credentials::new("local", "local", None, None, "local"));
    Client::new(&config.load().await)
}
