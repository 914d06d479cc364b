//! A headless Chromium, driven by the DevTools protocol.

use std::{env, path::PathBuf, process::Stdio, time::Duration};

use base64::{Engine, prelude::BASE64_STANDARD};
use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::{
    io::{AsyncBufReadExt, BufReader},
    net::TcpStream,
    process::{Child, Command},
    time::{sleep, timeout},
};
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, connect_async, tungstenite::Message};

const LONGEST: Duration = Duration::from_mins(1);
const NAMES: [&str; 3] = ["chromium", "chromium-browser", "google-chrome"];

/// A browser with one page. The drop of a `Browser` kills its process.
pub(super) struct Browser {
    socket: WebSocketStream<MaybeTlsStream<TcpStream>>,
    session: String,
    sent: u64,
    faults: Vec<String>,
    _process: Child,
    _profile: TempDir,
}

/// Returns the browser of this machine.
pub(super) fn find() -> Option<PathBuf> {
    let folders: Vec<PathBuf> = env::split_paths(&env::var_os("PATH")?).collect();
    NAMES.iter().flat_map(|name| folders.iter().map(move |folder| folder.join(name))).find(|program| program.exists())
}

impl Browser {
    pub(super) async fn start(program: &PathBuf) -> Self {
        let profile = tempfile::tempdir().unwrap();
        let mut command = Command::new(program);
        // The sandbox of Chromium does not start for root. `/dev/shm` is small in containers.
        command.args(["--headless", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu", "--no-first-run"]);
        command.args(["--disable-background-networking", "--disable-component-update", "--no-proxy-server"]);
        command.args(["--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1", "--window-size=760,900"]);
        command.args(["--remote-debugging-port=0", "about:blank"]);
        command.arg(format!("--user-data-dir={}", profile.path().display()));
        let mut process = command.stdout(Stdio::null()).stderr(Stdio::piped()).kill_on_drop(true).spawn().unwrap();
        let mut log = BufReader::new(process.stderr.take().unwrap()).lines();
        let url = timeout(LONGEST, async {
            loop {
                let line = log.next_line().await.unwrap().expect("the browser starts");
                if let Some(url) = line.strip_prefix("DevTools listening on ") {
                    return url.to_owned();
                }
            }
        });
        let url = url.await.expect("the browser starts");
        tokio::spawn(async move { while let Ok(Some(_)) = log.next_line().await {} });
        let (socket, _) = connect_async(url).await.unwrap();
        let mut browser =
            Self { socket, session: String::new(), sent: 0, faults: Vec::new(), _process: process, _profile: profile };
        let page = browser.call("Target.createTarget", json!({"url": "about:blank"})).await;
        let attach = json!({"targetId": page["targetId"], "flatten": true});
        let attached = browser.call("Target.attachToTarget", attach).await;
        browser.session = attached["sessionId"].as_str().unwrap().to_owned();
        for domain in ["Runtime", "Log", "Page", "Network"] {
            browser.call(&format!("{domain}.enable"), json!({})).await;
        }
        browser
    }

    pub(super) async fn open(&mut self, url: &str) {
        self.call("Page.navigate", json!({"url": url})).await;
    }

    /// Returns the value of an expression of JavaScript.
    pub(super) async fn evaluate(&mut self, expression: &str) -> Value {
        let answer = self.call("Runtime.evaluate", json!({"expression": expression, "returnByValue": true})).await;
        answer["result"]["value"].clone()
    }

    /// Waits until an expression is true.
    pub(super) async fn until(&mut self, expression: &str) {
        // While the browser loads a page, there is no document, so the expression may fail at
        // first.
        let expression = format!("(() => {{ try {{ return {expression}; }} catch {{ return false; }} }})()");
        for _ in 0..600 {
            if self.evaluate(&expression).await == true {
                return;
            }
            sleep(Duration::from_millis(50)).await;
        }
        panic!("never true: {expression}; the page is {}", self.evaluate("document.body.innerText").await);
    }

    pub(super) async fn text(&mut self, id: &str) -> String {
        self.of(id, "innerText").await
    }

    pub(super) async fn value(&mut self, id: &str) -> String {
        self.of(id, "value").await
    }

    async fn of(&mut self, id: &str, property: &str) -> String {
        let value = self.evaluate(&format!("document.getElementById('{id}').{property}")).await;
        value.as_str().expect("a text").to_owned()
    }

    /// Selects the text of an input field, and types `text` in its place.
    pub(super) async fn fill(&mut self, id: &str, text: &str) {
        self.evaluate(&format!("document.getElementById('{id}').select()")).await;
        self.call("Input.insertText", json!({"text": text})).await;
    }

    /// Clicks the middle of an element with the mouse.
    pub(super) async fn click(&mut self, id: &str) {
        let middle = format!(
            "(() => {{ const it = document.getElementById('{id}'); it.scrollIntoView({{ block: 'center' }}); \
             const at = it.getBoundingClientRect(); return [at.x + at.width / 2, at.y + at.height / 2]; }})()"
        );
        let at = self.evaluate(&middle).await;
        for kind in ["mousePressed", "mouseReleased"] {
            let event = json!({"type": kind, "x": at[0], "y": at[1], "button": "left", "clickCount": 1});
            self.call("Input.dispatchMouseEvent", event).await;
        }
    }

    pub(super) async fn resize(&mut self, width: u32, height: u32) {
        let size = json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": true});
        self.call("Emulation.setDeviceMetricsOverride", size).await;
    }

    /// Cuts the browser off from the network, or connects it again.
    pub(super) async fn offline(&mut self, offline: bool) {
        let network = json!({"offline": offline, "latency": 0, "downloadThroughput": -1, "uploadThroughput": -1});
        self.call("Network.emulateNetworkConditions", network).await;
    }

    /// Returns a PNG of the whole page.
    pub(super) async fn screenshot(&mut self) -> Vec<u8> {
        let image = self.call("Page.captureScreenshot", json!({"captureBeyondViewport": true})).await;
        BASE64_STANDARD.decode(image["data"].as_str().unwrap()).unwrap()
    }

    /// Returns the errors of the page so far: exceptions, errors in the console, and refusals of
    /// the content security policy. A response with an error status is not an error of the page.
    pub(super) fn faults(&self) -> &[String] {
        &self.faults
    }

    /// Sends a command, and returns its result.
    async fn call(&mut self, method: &str, parameters: Value) -> Value {
        self.sent += 1;
        let mut command = json!({"id": self.sent, "method": method, "params": parameters});
        if !self.session.is_empty() {
            command["sessionId"] = json!(self.session);
        }
        self.socket.send(Message::text(command.to_string())).await.unwrap();
        timeout(LONGEST, self.answer(method)).await.unwrap_or_else(|_| panic!("no answer to {method}"))
    }

    async fn answer(&mut self, method: &str) -> Value {
        loop {
            let message = self.socket.next().await.expect("the browser runs").unwrap();
            let Message::Text(text) = message else { continue };
            let mut message: Value = serde_json::from_str(&text).unwrap();
            if message["id"] == self.sent {
                assert!(message["error"].is_null(), "{method}: {message}");
                return message["result"].take();
            }
            let event = &message["params"];
            let is_fault = match message["method"].as_str() {
                Some("Runtime.exceptionThrown") => true,
                Some("Runtime.consoleAPICalled") => event["type"] == "error",
                Some("Log.entryAdded") => event["entry"]["level"] == "error" && event["entry"]["source"] != "network",
                _ => false,
            };
            if is_fault {
                self.faults.push(event.to_string());
            }
        }
    }
}
