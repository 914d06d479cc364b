//! A proxy that records the requests to an engine.

use std::{
    net::SocketAddr,
    sync::{Arc, Mutex},
};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt, copy},
    net::{TcpListener, TcpStream},
};

use super::Engine;

/// The bytes that each connection has sent.
#[derive(Debug, Clone, Default)]
pub(crate) struct Recorder {
    sent: Arc<Mutex<Vec<Vec<u8>>>>,
}

impl Recorder {
    /// Starts a proxy in front of an engine, and returns its URL.
    pub(crate) async fn start(&self, engine: &Engine) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let (recorder, server) = (self.clone(), engine.server.local_addr());
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                tokio::spawn(recorder.clone().forward(client, server));
            }
        });
        url
    }

    /// Returns the requests since the last call, as text.
    pub(crate) fn take(&self) -> String {
        let sent = std::mem::take(&mut *self.sent.lock().unwrap());
        sent.iter().map(|bytes| String::from_utf8_lossy(bytes).into_owned()).collect()
    }

    async fn forward(self, client: TcpStream, server: SocketAddr) {
        let connection = {
            let mut sent = self.sent.lock().unwrap();
            sent.push(Vec::new());
            sent.len() - 1
        };
        let (mut from_client, mut to_client) = client.into_split();
        let (mut from_server, mut to_server) = TcpStream::connect(server).await.unwrap().into_split();
        tokio::spawn(async move { copy(&mut from_server, &mut to_client).await });
        let mut bytes = [0; 4096];
        while let Ok(length @ 1..) = from_client.read(&mut bytes).await {
            self.sent.lock().unwrap()[connection].extend_from_slice(&bytes[..length]);
            if to_server.write_all(&bytes[..length]).await.is_err() {
                return;
            }
        }
    }
}
