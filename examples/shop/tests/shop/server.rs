//! Tests of how the server stops.

use std::sync::Arc;

use axum::{Router, routing::get};
use shop::http::server::serve;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::{Notify, oneshot},
};

#[tokio::test]
async fn a_server_that_stops_answers_the_requests_in_flight() {
    let (entered, finish) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let (enters, finishes) = (Arc::clone(&entered), Arc::clone(&finish));
    let slow = get(async move || {
        enters.notify_one();
        finishes.notified().await;
        "done"
    });
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (stop, stopped) = oneshot::channel::<()>();
    let router = Router::new().route("/slow", slow);
    let server = tokio::spawn(serve(listener, router, async { drop(stopped.await) }));

    let mut connection = TcpStream::connect(address).await.unwrap();
    connection.write_all(b"GET /slow HTTP/1.1\r\nhost: shop\r\n\r\n").await.unwrap();
    entered.notified().await;
    drop(stop);
    while TcpStream::connect(address).await.is_ok() {
        tokio::task::yield_now().await;
    }
    assert!(!server.is_finished());

    finish.notify_one();
    let mut answer = String::new();
    connection.read_to_string(&mut answer).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 200 OK\r\n") && answer.ends_with("done"), "{answer}");
    server.await.unwrap().unwrap();
}
