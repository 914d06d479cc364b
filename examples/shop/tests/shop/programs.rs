//! Tests of the programs as processes: their start, their logs, and their end by SIGTERM.

use serde_json::Value;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    process::Command,
};

use crate::support::Program;

const ORDER: &str = r#"{"customer":"alice","lines":{"cup-red":2}}"#;

/// A service without settings.
struct Running {
    program: Program,
    database: String,
    address: String,
}

impl Running {
    async fn start() -> Self {
        let mut program = Command::new(env!("CARGO_BIN_EXE_shop"));
        let mut program = Program::start(program.args(["--port", "0", "--database-port", "0"]));
        let database = program.printed("the database is at ").await;
        let url = program.printed("the shop is at ").await;
        let address = url.strip_prefix("http://").unwrap().trim_end_matches('/').to_owned();
        Self { program, database, address }
    }

    /// Places an order, and returns the answer.
    async fn order(&self) -> String {
        let head = "POST /orders HTTP/1.1\r\nhost: shop\r\nconnection: close\r\ncontent-type: application/json";
        let key = "idempotency-key: 1\r\nx-request-id: seven";
        let request = format!("{head}\r\n{key}\r\ncontent-length: {}\r\n\r\n{ORDER}", ORDER.len());
        let mut connection = TcpStream::connect(&self.address).await.unwrap();
        connection.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        connection.read_to_string(&mut answer).await.unwrap();
        answer
    }

    fn worker(&self, packing: &str) -> Program {
        let mut worker = Command::new(env!("CARGO_BIN_EXE_shop-worker"));
        Program::start(worker.args(["--endpoint-url", &self.database, "--packing", packing]))
    }
}

#[tokio::test]
async fn the_service_and_its_worker_start_without_settings_and_stop_by_sigterm() {
    let mut service = Running::start().await;
    let answer = service.order().await;
    assert!(answer.starts_with("HTTP/1.1 201 Created\r\n"), "{answer}");
    let line: Value = serde_json::from_str(&service.program.logged("answered").await).unwrap();
    let span = &line["span"];
    assert_eq!((&line["status"], &span["id"], &span["route"]), (&201.into(), &"seven".into(), &"/orders".into()));

    let mut worker = service.worker("1");
    let packed: Value = serde_json::from_str(&worker.logged("packed").await).unwrap();
    assert_eq!(packed["job"], "alice/1");
    assert!(worker.terminate().await.success());
    assert!(service.program.terminate().await.success());
}

#[tokio::test]
async fn a_worker_that_is_terminated_releases_its_job() {
    let service = Running::start().await;
    service.order().await;
    let mut first = service.worker("3600000");
    first.logged("took a job").await;
    assert!(first.terminate().await.success());
    // The lease lasts 20 seconds. The second worker takes the job at once, because the first worker
    // has released it.
    let mut second = service.worker("1");
    let taken: Value = serde_json::from_str(&second.logged("took a job").await).unwrap();
    assert_eq!(taken["after_crash"], false);
    second.logged("packed").await;
}
