//! The programs as processes: their start, their logs, and their end by SIGTERM.

use serde_json::Value;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    process::Command,
};

use crate::support::Program;

fn service() -> Program {
    Program::start(Command::new(env!("CARGO_BIN_EXE_shop")).args(["--port", "0", "--database-port", "0"]))
}

/// Sends a request, and returns the answer.
async fn send(address: &str, request: &str) -> String {
    let mut connection = TcpStream::connect(address).await.unwrap();
    connection.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    connection.read_to_string(&mut answer).await.unwrap();
    answer
}

#[tokio::test]
async fn the_service_and_its_worker_start_without_settings_and_stop_by_sigterm() {
    let mut service = service();
    let database = service.printed("the database is at ").await;
    let url = service.printed("the shop is at ").await;
    let address = url.strip_prefix("http://").unwrap().trim_end_matches('/');

    let order = r#"{"customer":"alice","lines":{"cup-red":2}}"#;
    let head = "POST /orders HTTP/1.1\r\nhost: shop\r\nconnection: close\r\ncontent-type: application/json";
    let request = format!(
        "{head}\r\nidempotency-key: 1\r\nx-request-id: seven\r\ncontent-length: {}\r\n\r\n{order}",
        order.len()
    );
    let answer = send(address, &request).await;
    assert!(answer.starts_with("HTTP/1.1 201 Created\r\n"), "{answer}");
    let line: Value = serde_json::from_str(&service.logged("answered").await).unwrap();
    let span = &line["span"];
    assert_eq!((&line["status"], &span["id"], &span["route"]), (&201.into(), &"seven".into(), &"/orders".into()));

    let mut worker = Command::new(env!("CARGO_BIN_EXE_shop-worker"));
    let mut worker = Program::start(worker.args(["--endpoint-url", &database, "--packing", "1"]));
    let packed: Value = serde_json::from_str(&worker.logged("packed").await).unwrap();
    assert_eq!(packed["job"], "alice/1");
    assert!(worker.terminate().await.success());
    assert!(service.terminate().await.success());
}

#[tokio::test]
async fn a_worker_that_is_terminated_releases_its_job() {
    let mut service = service();
    let database = service.printed("the database is at ").await;
    let url = service.printed("the shop is at ").await;
    let order = r#"{"customer":"alice","lines":{"cup-red":2}}"#;
    let head = "POST /orders HTTP/1.1\r\nhost: shop\r\nconnection: close\r\ncontent-type: application/json";
    let request = format!("{head}\r\nidempotency-key: 1\r\ncontent-length: {}\r\n\r\n{order}", order.len());
    send(url.strip_prefix("http://").unwrap().trim_end_matches('/'), &request).await;

    let worker = || Command::new(env!("CARGO_BIN_EXE_shop-worker"));
    let mut first = Program::start(worker().args(["--endpoint-url", &database, "--packing", "3600000"]));
    first.logged("took a job").await;
    assert!(first.terminate().await.success());
    // The lease lasts 20 seconds. The second worker takes the job at once, and not after a crash.
    let mut second = Program::start(worker().args(["--endpoint-url", &database, "--packing", "1"]));
    let taken: Value = serde_json::from_str(&second.logged("took a job").await).unwrap();
    assert_eq!(taken["after_crash"], false);
    second.logged("packed").await;
}
