//! The end of the server.

use std::time::Duration;

use dynalock::local::Fault;
use shop::http::server::serve;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::oneshot,
};

use crate::support::Service;

#[tokio::test]
async fn a_server_that_stops_answers_the_requests_in_flight() {
    let service = Service::start().await;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (stop, stopped) = oneshot::channel();
    let server = tokio::spawn(serve(listener, service.router.clone(), async { stopped.await.unwrap() }));

    // The read waits in the database for a second.
    service.faults.always(Fault::Delay(Duration::from_millis(900)));
    let mut connection = TcpStream::connect(address).await.unwrap();
    connection.write_all(b"GET /products/cup-red HTTP/1.1\r\nhost: shop\r\n\r\n").await.unwrap();
    while service.faults.count("GetItem") == 0 {
        tokio::task::yield_now().await;
    }
    stop.send(()).unwrap();

    let mut answer = String::new();
    connection.read_to_string(&mut answer).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
    server.await.unwrap().unwrap();
    assert!(TcpStream::connect(address).await.is_err());
}
