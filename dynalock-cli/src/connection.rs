//! The SDK client of a command.

use std::time::Duration;

use aws_config::{
    BehaviorVersion, Region, profile::ProfileFileCredentialsProvider, provider_config::ProviderConfig,
    timeout::TimeoutConfig,
};
use aws_sdk_dynamodb::Client;
use dynalock::Locks;

use crate::args::{LockArgs, Target};

/// The longest time of a request, including the retries of the SDK.
const OPERATION_TIMEOUT: Duration = Duration::from_secs(10);

pub(crate) async fn configuration(target: &Target) -> aws_config::SdkConfig {
    let timeouts = TimeoutConfig::builder().operation_timeout(OPERATION_TIMEOUT).build();
    let mut loader = aws_config::defaults(BehaviorVersion::v2026_01_12()).timeout_config(timeouts);
    if let Some(url) = &target.endpoint_url {
        loader = loader.endpoint_url(url);
    }
    if let Some(region) = &target.region {
        loader = loader.region(Region::new(region.clone()));
    }
    if let Some(profile) = &target.profile {
        // In the default chain of the SDK, the keys in the environment come before the profile. With
        // `--profile`, a command must not run in another account, or with a misspelled profile.
        let environment = ProviderConfig::with_default_region().await;
        let credentials = ProfileFileCredentialsProvider::builder().configure(&environment).profile_name(profile);
        loader = loader.profile_name(profile).credentials_provider(credentials.build());
    }
    loader.load().await
}

pub(crate) async fn client(target: &Target) -> Client {
    Client::new(&configuration(target).await)
}

/// Returns a `Locks` for the table and the namespace that the arguments name.
pub(crate) fn locks_of(client: &Client, lock: &LockArgs) -> Locks {
    let locks = Locks::new(client, lock.table.as_str());
    match &lock.namespace {
        Some(namespace) => locks.namespace(namespace.as_str()),
        None => locks,
    }
}
