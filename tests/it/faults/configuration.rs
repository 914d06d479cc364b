//! Clients whose configuration prevents each request.

use std::{
    sync::atomic::{AtomicU32, Ordering},
    time::Duration,
};

use aws_credential_types::provider::{error::CredentialsError, future::ProvideCredentials as ProvideCredentialsFuture};
use aws_sdk_dynamodb::{
    Client, Config,
    config::{BehaviorVersion, Builder, Credentials, ProvideCredentials, Region},
};
use dynalock::{
    Error, Locks, Repository, Transaction,
    error::{Misconfigured, Spent, Unavailable},
    local::{Database, Fault},
};

use crate::support::{Product, Shop, expect_error, now, secs};

fn config() -> Builder {
    Config::builder().behavior_version(BehaviorVersion::v2026_01_12())
}

fn credentials() -> Credentials {
    Credentials::new("any", "any", None, None, "test")
}

fn region() -> Region {
    Region::new("us-east-1")
}

fn misconfigured<T: std::fmt::Debug>(result: Result<T, Error>) -> Misconfigured {
    expect_error!(result, Error::Misconfigured(why) => why)
}

/// Asserts the error of each kind of call. Each call ends immediately, and sends no request.
async fn all_calls(client: &Client) -> Vec<Misconfigured> {
    let items = Repository::<Product>::new(client);
    let started = now();
    let mut tx = Transaction::new(client);
    tx.create(&items, Product::new("a", 5));
    let unit = dynalock::transact(client, |tx| {
        let items = &items;
        async move { tx.get(items, "a").await.map(drop) }
    });
    let whys = vec![
        misconfigured(items.get("a").await),
        misconfigured(items.create(Product::new("a", 5)).await),
        misconfigured(items.create(Product::new("a", 5)).exactly_once().await),
        misconfigured(items.update_with("a", |product| product.stock = 6).await),
        misconfigured(items.delete_unchecked("a").await),
        misconfigured(items.create_table().await),
        misconfigured(tx.commit().await),
        misconfigured(unit.await),
        misconfigured(Locks::new(client, "locks").acquire("report").await),
        misconfigured(Locks::new(client, "locks").acquire("report").fair().await),
    ];
    assert_eq!(started.elapsed(), Duration::ZERO, "no call waits");
    whys
}

#[tokio::test(start_paused = true)]
async fn a_client_without_credentials_fails_at_once_and_asks_for_them() {
    let connector = Database::in_memory().unwrap().connector();
    for why in all_calls(&Client::from_conf(config().region(region()).http_client(connector).build())).await {
        assert!(matches!(why, Misconfigured::Credentials(_)), "{why:?}");
        assert!(why.to_string().contains("`aws_config::load_defaults`"), "{why}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_client_without_a_region_fails_at_once_and_asks_for_one() {
    let local = config().credentials_provider(credentials()).endpoint_url("http://127.0.0.1:1");
    let aws = config().credentials_provider(credentials());
    let wrong = config().credentials_provider(credentials()).region(Region::new("not a region"));
    for config in [local, aws, wrong] {
        for why in all_calls(&Client::from_conf(config.build())).await {
            assert!(matches!(why, Misconfigured::Region(_)), "{why:?}");
            assert!(why.to_string().contains("AWS_REGION"), "{why}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn an_endpoint_url_that_is_not_valid_fails_at_once_and_is_named() {
    for url in ["not a url", "localhost:8000", "http://", "ftp://127.0.0.1"] {
        let config = config().credentials_provider(credentials()).region(region()).endpoint_url(url);
        for why in all_calls(&Client::from_conf(config.build())).await {
            assert!(matches!(why, Misconfigured::Endpoint(_)), "{url}: {why:?}");
            assert!(why.to_string().contains("`http://127.0.0.1:8000`"), "{why}");
        }
    }
}

#[tokio::test]
async fn a_host_name_without_an_address_fails_at_once_and_is_no_lost_write() {
    // A label of a host name has at most 63 characters, so no name server is asked.
    let url = format!("http://{}.invalid", "a".repeat(64));
    let config = config().credentials_provider(credentials()).region(region()).endpoint_url(url);
    let items = Repository::<Product>::new(&Client::from_conf(config.build()));
    for result in [
        items.get("a").await.map(drop),
        items.create(Product::new("a", 5)).await.map(drop),
        items.create(Product::new("a", 5)).exactly_once().await.map(drop),
        items.delete_unchecked("a").await,
    ] {
        let why = misconfigured(result);
        assert!(matches!(why, Misconfigured::Host(_)), "{why:?}");
        assert!(why.to_string().contains("`endpoint_url`"), "{why}");
    }
}

/// A provider of credentials that fails this number of times, and then answers.
#[derive(Debug)]
struct Provider {
    failures: AtomicU32,
    error: fn() -> CredentialsError,
}

impl ProvideCredentials for Provider {
    fn provide_credentials<'a>(&'a self) -> ProvideCredentialsFuture<'a>
    where
        Self: 'a,
    {
        let fails =
            self.failures.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1)).is_ok();
        ProvideCredentialsFuture::ready(if fails { Err((self.error)()) } else { Ok(credentials()) })
    }
}

/// The products of an engine, behind this provider.
async fn products(failures: u32, error: fn() -> CredentialsError) -> Repository<Product> {
    let database = Database::in_memory().unwrap();
    Product::repository(&database.client()).create_table().await.unwrap();
    let provider = Provider { failures: AtomicU32::new(failures), error };
    let config = config().region(region()).credentials_provider(provider).http_client(database.connector());
    Repository::new(&Client::from_conf(config.build()))
}

#[tokio::test(start_paused = true)]
async fn a_provider_that_has_no_credentials_is_asked_once() {
    for error in
        [CredentialsError::not_loaded_no_source, || CredentialsError::invalid_configuration("no profile `prod`")]
    {
        let items = products(1, error).await;
        let why = misconfigured(items.create(Product::new("a", 5)).await);
        assert!(matches!(why, Misconfigured::Credentials(_)), "{why:?}");
        items.create(Product::new("a", 5)).await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn a_provider_that_fails_for_a_moment_is_asked_again() {
    for error in [|| CredentialsError::provider_timed_out(secs(5)), || CredentialsError::provider_error("503")] {
        products(3, error).await.create(Product::new("a", 5)).await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn requests_that_were_never_sent_are_not_counted() {
    let items = products(u32::MAX, || CredentialsError::provider_error("503")).await;
    for result in [items.get("a").await.map(drop), items.create(Product::new("a", 5)).attempts(3).await.map(drop)] {
        let error = result.unwrap_err();
        assert!(error.to_string().starts_with("gave up after 0 requests"), "{error}");
        let last =
            expect_error!(Err::<(), _>(error), Error::Exhausted { spent: Spent { attempts: 0, .. }, last, .. } => last);
        expect_error!(Err::<(), _>(*last), Error::Unavailable(Unavailable::Credentials(_)));
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_error_counts_the_requests_before_it() {
    let (shop, table) = Shop::with_table::<Product>().await;
    shop.faults.always(Fault::ServerError);
    let last = expect_error!(table.items.get("a").attempts(3).await, Error::Exhausted { last, .. } => last);
    let refusal = expect_error!(Err::<(), _>(*last), Error::Unavailable(Unavailable::Server(refusal)) => refusal);
    assert_eq!(refusal.spent().attempts, 3);
    assert!(refusal.spent().elapsed > Duration::ZERO);
}
