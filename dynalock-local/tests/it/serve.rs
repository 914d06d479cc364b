use std::{
    io::ErrorKind,
    net::{Ipv4Addr, SocketAddr, TcpStream},
};

use aws_sdk_dynamodb::{
    Client, Config,
    config::{BehaviorVersion, Credentials, Region},
    types::KeysAndAttributes,
};
use aws_smithy_http_client::Builder;
use dynalock_local::{Database, Error, Fault, Faults, Server};

use crate::table::{Table, code, item, n, s};

const ANY_PORT: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 0);

/// Returns a client over HTTP, as a user makes it, behind `faults`.
fn client_of(server: &Server, faults: &Faults) -> Client {
    let config = Config::builder()
        .behavior_version(BehaviorVersion::v2026_01_12())
        .endpoint_url(server.url())
        .region(Region::new("us-east-1"))
        .credentials_provider(Credentials::new("any", "any", None, None, "test"))
        .http_client(faults.wrap(Builder::new().build_http()));

    Client::from_conf(config.build())
}

#[tokio::test]
async fn clients_over_http_share_a_database() {
    let server = dynalock_local::serve(ANY_PORT).await.unwrap();
    let table = Table::create(client_of(&server, &Faults::none()), "table").await;
    let other = table.with(client_of(&server, &Faults::none()));

    table.put(item([("k", s("a")), ("n", n(1))])).await;
    other.increment("a").send().await.unwrap();
    let taken = other.put_request(item([("k", s("a"))])).condition_expression("attribute_not_exists(k)").send().await;

    assert_eq!(table.n("a").await, Some(n(2)));
    assert_eq!(code(&taken), Some("ConditionalCheckFailedException"));
}

#[tokio::test]
async fn clients_over_http_and_in_the_process_share_a_database() {
    let database = Database::in_memory().unwrap();
    let server = database.serve(ANY_PORT).await.unwrap();
    let table = Table::create(database.client(), "table").await;

    table.with(client_of(&server, &Faults::none())).increment("a").send().await.unwrap();

    assert_eq!(table.n("a").await, Some(n(1)));
}

#[tokio::test]
async fn faults_stand_in_front_of_a_real_connector() {
    let server = dynalock_local::serve(ANY_PORT).await.unwrap();
    let faults = Faults::none();
    let table = Table::create(client_of(&server, &faults), "table").await;
    faults.script(0, Fault::LoseReply);
    faults.script(2, Fault::ServerError);

    table.increment("a").send().await.unwrap();
    table.increment("a").send().await.unwrap();

    assert_eq!(faults.count("UpdateItem"), 4);
    assert_eq!(table.n("a").await, Some(n(3)));
}

#[tokio::test]
async fn keys_of_a_batch_are_left_unprocessed_over_http_too() {
    let server = dynalock_local::serve(ANY_PORT).await.unwrap();
    let faults = Faults::none();
    let table = Table::create(client_of(&server, &faults), "table").await;
    table.increment("a").send().await.unwrap();
    faults.script_on("BatchGetItem", 0, Fault::Unprocessed(1));
    let keys = KeysAndAttributes::builder().keys(item([("k", s("a"))])).keys(item([("k", s("b"))])).build().unwrap();

    let read = table.client.batch_get_item().request_items("table", keys).send().await.unwrap();

    assert_eq!(read.responses.unwrap()["table"], [item([("k", s("a")), ("n", n(1))])]);
    assert_eq!(read.unprocessed_keys.unwrap()["table"].keys(), [item([("k", s("b"))])]);
}

#[tokio::test]
async fn other_addresses_than_loopback_are_refused() {
    let everywhere = SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0));

    let error = dynalock_local::serve(everywhere).await.unwrap_err();

    assert!(matches!(error, Error::NotLoopback(addr) if addr == everywhere));
}

#[tokio::test]
async fn a_port_is_served_once() {
    let server = dynalock_local::serve(ANY_PORT).await.unwrap();

    let error = dynalock_local::serve(server.local_addr()).await.unwrap_err();

    assert!(matches!(error, Error::Listen { source, .. } if source.kind() == ErrorKind::AddrInUse));
}

#[tokio::test]
async fn a_server_that_was_shut_down_listens_no_more() {
    let database = Database::in_memory().unwrap();
    let server = database.serve(ANY_PORT).await.unwrap();
    let addr = server.local_addr();
    Table::create(client_of(&server, &Faults::none()), "table").await;

    server.shutdown().await.unwrap();

    assert_eq!(TcpStream::connect(addr).unwrap_err().kind(), ErrorKind::ConnectionRefused);
    assert_eq!(database.client().list_tables().send().await.unwrap().table_names(), ["table"]);
}

#[tokio::test]
async fn a_server_that_was_dropped_listens_no_more() {
    let server = dynalock_local::serve(ANY_PORT).await.unwrap();
    let addr = server.local_addr();

    drop(server);
    while TcpStream::connect(addr).is_ok() {
        tokio::task::yield_now().await;
    }
}
