//! `dynalock doctor`.

use serde_json::Value;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
    process::Command,
};

use crate::support::{Engine, command, masked, run};

/// Runs the command, and returns its exit code and the states of its checks.
async fn states(command: &mut Command) -> (i32, Vec<(String, String)>) {
    let run = run(command.arg("--json")).await;
    let told: Value = serde_json::from_str(&run.stdout).unwrap();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let checks = told["checks"].as_array().unwrap().iter().map(|check| (text(&check["name"]), text(&check["state"])));
    (run.code, checks.collect())
}

fn state<'a>(checks: &'a [(String, String)], name: &str) -> &'a str {
    checks.iter().find(|(check, _)| check == name).map_or("missing", |(_, state)| state)
}

#[tokio::test]
async fn a_healthy_engine_passes_all_checks() {
    let engine = Engine::start().await;
    engine.run("table create --locks locks --deletion-protection").await.succeeded();
    let run = engine.run("doctor --table locks").await;
    assert_eq!((run.code, run.stderr.as_str()), (0, ""), "{run:?}");
    let checks: Vec<_> = run.stdout.lines().map(masked).collect();
    assert_eq!(checks[0], "ok       region        eu-central-1");
    assert_eq!(checks[1], "ok       credentials   access key any");
    assert_eq!(checks[2], "ok       endpoint      <address> answered in <time>");
    assert_eq!(checks[3], "ok       clock         this clock differs from the server's by at most <time>");
    assert_eq!(checks[4], "ok       table         table `locks` is active, its key is name:S, fits locks by name");
    assert_eq!(
        checks[5..],
        ["ok       time to live  off", "ok       deletion      the table is protected from deletion"]
    );
}

#[tokio::test]
async fn a_warning_is_no_failure() {
    let engine = Engine::with_locks().await;
    let (code, checks) = states(&mut engine.command("doctor --table locks")).await;
    assert_eq!((code, state(&checks, "deletion")), (0, "warning"));
}

#[tokio::test]
async fn without_a_table_the_connection_is_checked() {
    let engine = Engine::start().await;
    let (code, checks) = states(&mut engine.command("doctor")).await;
    let names: Vec<_> = checks.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!((code, names), (0, vec!["region", "credentials", "endpoint", "clock"]));
}

#[tokio::test]
async fn a_missing_table_fails() {
    let engine = Engine::start().await;
    let run = engine.run("doctor --table none").await;
    assert_eq!(run.failed_with(4), "failed: table");
    assert!(run.stdout.contains("failed   table        table `none` does not exist\n"), "{run:?}");
    assert!(run.stdout.contains("-> create it with `dynalock table create`"), "{run:?}");
}

#[tokio::test]
async fn a_time_to_live_that_deletes_leases_fails() {
    let engine = Engine::start().await;
    engine.run("table create items --partition-key id:S --ttl _until").await.succeeded();
    let (code, checks) = states(&mut engine.command("doctor --table items")).await;
    assert_eq!((code, state(&checks, "time to live")), (4, "failed"));
}

#[tokio::test]
async fn missing_credentials_and_a_missing_region_fail() {
    let (code, checks) = states(command("doctor").env_remove("AWS_REGION").env_remove("AWS_SECRET_ACCESS_KEY")).await;
    assert_eq!((code, state(&checks, "region"), state(&checks, "credentials")), (4, "failed", "failed"));
    assert_eq!(checks.len(), 2);
}

#[tokio::test]
async fn an_endpoint_without_a_scheme_fails_in_one_line() {
    let run = run(&mut command("doctor --endpoint-url nonsense")).await;
    let line = run.stdout.lines().find(|line| line.contains("endpoint ")).unwrap();
    assert!(line.contains("endpoint must contain scheme") && !line.contains('{'), "{line}");
    assert_eq!(run.code, 4);
}

#[tokio::test]
async fn an_endpoint_that_does_not_answer_fails() {
    let engine = Engine::start().await;
    let mut command = engine.command("doctor --table locks");
    engine.server.shutdown().await.unwrap();
    let (code, checks) = states(&mut command).await;
    assert_eq!((code, state(&checks, "endpoint"), state(&checks, "table")), (4, "failed", "missing"));
}

/// Answers one request with this status, this header and this body.
async fn answer(status: &str, header: &str, body: &str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let answer = format!(
        "HTTP/1.1 {status}\r\n{header}\r\ncontent-type: application/x-amz-json-1.0\r\n\
         content-length: {}\r\nconnection: close\r\n\r\n{body}",
        body.len()
    );
    tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut request = Vec::new();
        while !request.ends_with(b"}") {
            assert_ne!(stream.read_buf(&mut request).await.unwrap(), 0);
        }
        stream.write_all(answer.as_bytes()).await.unwrap();
    });
    url
}

#[tokio::test]
async fn a_clock_that_differs_from_the_date_of_the_server_fails() {
    let url = answer("200 OK", "date: Thu, 01 Jan 2026 00:00:00 GMT", r#"{"TableNames":[]}"#).await;
    let run = run(&mut command(&format!("doctor --endpoint-url {url}"))).await;
    assert_eq!(run.failed_with(4), "failed: clock");
    assert!(run.stdout.contains(" ahead of the server's\n"), "{run:?}");
}

#[tokio::test]
async fn a_refused_request_tells_about_the_credentials() {
    let body = r#"{"__type":"com.amazon.coral.service#AccessDeniedException","message":"no ListTables"}"#;
    let url = answer("400 Bad Request", "x-amzn-requestid: 1", body).await;
    let (_, checks) = states(&mut command(&format!("doctor --endpoint-url {url}"))).await;
    assert_eq!(state(&checks, "endpoint"), "warning", "{checks:?}");

    let body = r#"{"__type":"com.amazon.coral.service#UnrecognizedClientException","message":"unknown"}"#;
    let url = answer("400 Bad Request", "x-amzn-requestid: 1", body).await;
    let (code, checks) = states(&mut command(&format!("doctor --endpoint-url {url}"))).await;
    assert_eq!((code, state(&checks, "endpoint")), (4, "failed"));
}
