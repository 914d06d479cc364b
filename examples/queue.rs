//! A printer and ten clients, which are served in the order of their arrival. One client dies while
//! it waits.
//!
//! ```text
//! cargo run --example queue
//! ```
//!
//! The command starts a `DynamoDB` on a loopback port, and ten clients as separate processes. The
//! command prints the positions of the waiting clients, and kills the fifth client like `kill -9`.
//! At the end, the command checks the order in which the clients were served.
//!
//! To start the processes by hand, use a terminal for each process:
//!
//! ```text
//! cargo run --example queue -- --serve 8000
//! cargo run --example queue -- --endpoint http://127.0.0.1:8000 --name alice
//! ```
//!
//! The example prints the URL of its `DynamoDB`. The command line of dynalock can watch the queue,
//! with any credentials:
//!
//! ```text
//! dynalock queue watch dynalock-queue printer --endpoint-url http://127.0.0.1:8000
//! ```

#![expect(clippy::print_stdout, reason = "an example shows what it does")]
#![expect(clippy::disallowed_methods, reason = "an example lives in real time")]

use std::{
    env,
    error::Error as StdError,
    io::{IsTerminal, stdout},
    process::{ExitCode, Stdio},
    time::{Duration, Instant},
};

use aws_sdk_dynamodb::{
    Client, Config,
    config::{BehaviorVersion, Credentials, Region},
};
use clap::Parser;
use dynalock::{Expiry, Locks, Wait, local};
use tokio::{
    io::{AsyncBufReadExt, BufReader},
    process::{Child, Command},
    sync::mpsc,
};

const TTL: Duration = Duration::from_secs(2);
/// All clients are on one machine, so their clocks are the same.
const MAX_SKEW: Duration = Duration::from_millis(200);
const PRINTER: &str = "printer";
const PAGES: u32 = 3;
const PAGE: Duration = Duration::from_millis(100);
const CLIENTS: [&str; 10] = ["alice", "bob", "carol", "dave", "erin", "frank", "grace", "heidi", "ivan", "judy"];
const VICTIM: usize = 4;

type Failure = Box<dyn StdError>;

/// Lets clients share one printer in first-come, first-served order.
#[derive(Debug, Parser)]
struct Args {
    /// Serve a `DynamoDB` on this port of the loopback address, for clients that are started by
    /// hand.
    #[arg(long, value_name = "PORT", conflicts_with = "endpoint")]
    serve: Option<u16>,
    /// Run one client, on the `DynamoDB` at this URL, with any region and credentials.
    #[arg(long, value_name = "URL", requires = "name")]
    endpoint: Option<String>,
    /// The name of the client.
    #[arg(long, requires = "endpoint")]
    name: Option<String>,
}

fn locks_at(url: &str) -> Locks {
    let config = Config::builder()
        .behavior_version(BehaviorVersion::v2026_01_12())
        .endpoint_url(url)
        .region(Region::new("us-east-1"))
        .credentials_provider(Credentials::new("any", "any", None, None, "queue"));
    Locks::new(&Client::from_conf(config.build()), "dynalock-queue")
        .ttl(TTL)
        .expiry(Expiry::Clock { max_skew: MAX_SKEW })
}

/// Runs a client. The client prints its position while it waits for its turn, and prints a page in
/// its turn.
async fn print(url: &str, name: &str) -> Result<(), Failure> {
    let locks = locks_at(url);
    locks.create_table().await?;
    let mut queued = locks.acquire(PRINTER).owner(name).fair().wait(Wait::Forever).enter().await?;
    while let Some(waiting) = queued.next().await {
        match waiting.estimate {
            Some(estimate) => println!("{name} waits at {}, {estimate:.1?} or so", waiting.position),
            None => println!("{name} waits at {}", waiting.position),
        }
    }
    let printer = queued.await?;
    let after = printer.acquired_after_crash().map(|_| ", after one who died").unwrap_or_default();
    println!("{name} prints under fence {}{after}", printer.fence());
    let pages = async {
        for _ in 0..PAGES {
            tokio::time::sleep(PAGE).await;
        }
    };
    printer.run(pages).await?;
    printer.release().await?;
    println!("{name} is done");
    Ok(())
}

/// Starts a client as a separate process, and sends each line of its output to `lines`.
fn start(url: &str, name: &str, lines: &mpsc::UnboundedSender<String>) -> Result<Child, Failure> {
    let mut command = Command::new(env::current_exe()?);
    let mut child =
        command.args(["--endpoint", url, "--name", name]).stdout(Stdio::piped()).kill_on_drop(true).spawn()?;
    let output = child.stdout.take().ok_or("the client has no output")?;
    let lines = lines.clone();
    tokio::spawn(async move {
        let mut output = BufReader::new(output).lines();
        while let Ok(Some(line)) = output.next_line().await {
            if lines.send(line).is_err() {
                return;
            }
        }
    });
    Ok(child)
}

/// The last output of each client. A terminal shows one line for each client, and any other output
/// shows one line for each change.
struct Board {
    said: Vec<String>,
    is_live: bool,
}

impl Board {
    fn new() -> Self {
        Self { said: vec![String::new(); CLIENTS.len()], is_live: stdout().is_terminal() }
    }

    fn show(&mut self, line: &str) {
        let Some(client) = CLIENTS.iter().position(|name| line.split(' ').next() == Some(name)) else { return };
        if !self.is_live {
            return println!("  {line}");
        }
        let is_first = self.said.iter().all(String::is_empty);
        line.clone_into(&mut self.said[client]);
        if !is_first {
            print!("\u{1b}[{}A", self.said.len());
        }
        for said in &self.said {
            println!("\u{1b}[2K  {said}");
        }
    }
}

async fn show() -> Result<(), Failure> {
    let database = local::serve(([127, 0, 0, 1], 0).into()).await?;
    let locks = locks_at(&database.url());
    locks.create_table().await?;
    println!(
        "Ten clients of one printer on {}, a lease is {TTL:?}; {} will be killed:",
        database.url(),
        CLIENTS[VICTIM]
    );
    let (lines, mut said) = mpsc::unbounded_channel();
    let mut board = Board::new();

    // One client prints while the other clients enter the queue one after the other.
    let first = locks.acquire(PRINTER).owner("a long job").fair().await?;
    let mut clients = Vec::new();
    for name in CLIENTS {
        clients.push(start(&database.url(), name, &lines)?);
        while let Some(line) = said.recv().await {
            board.show(&line);
            if line.starts_with(&format!("{name} waits at ")) {
                break;
            }
        }
    }
    // The channel ends when all clients have ended.
    drop(lines);
    first.release().await?;

    let mut served: Vec<(String, Instant)> = Vec::new();
    while served.len() < CLIENTS.len() - 1 {
        let line = said.recv().await.ok_or("all clients have ended")?;
        board.show(&line);
        if let Some((name, _)) = line.split_once(" prints under fence ") {
            served.push((name.to_owned(), Instant::now()));
            if served.len() == 1 {
                clients[VICTIM].kill().await?;
                board.show(&format!("{} is dead: kill -9", CLIENTS[VICTIM]));
            }
        }
    }
    for (index, client) in clients.iter_mut().enumerate().filter(|(index, _)| *index != VICTIM) {
        if !client.wait().await?.success() {
            return Err(format!("{} has failed", CLIENTS[index]).into());
        }
    }
    check(&locks, &served).await
}

/// Checks that all clients except the killed client were served in the order of their arrival. The
/// killed client delays the clients behind it by one ttl.
async fn check(locks: &Locks, served: &[(String, Instant)]) -> Result<(), Failure> {
    let order: Vec<_> = served.iter().map(|(name, _)| name.as_str()).collect();
    let came: Vec<_> = CLIENTS.into_iter().filter(|name| *name != CLIENTS[VICTIM]).collect();
    let cost = served[VICTIM].1.duration_since(served[VICTIM - 1].1);
    let waiting = locks.queue(PRINTER).await?.len();
    if order != came || waiting > 0 {
        return Err(format!("served were {order:?}, and {waiting} still stand in the queue").into());
    }
    println!(
        "Served in the order in which they came; the dead one has cost the queue {cost:.1?}, a lease and the skew at most."
    );
    Ok(())
}

/// Serves an empty database until the program is ended.
async fn serve(port: u16) -> Result<(), Failure> {
    let database = local::serve(([127, 0, 0, 1], port).into()).await?;
    println!("A DynamoDB on {}, until Ctrl-C", database.url());
    tokio::signal::ctrl_c().await?;
    database.shutdown().await?;
    Ok(())
}

#[tokio::main]
async fn main() -> ExitCode {
    let args = Args::parse();
    let ended = match (&args.endpoint, &args.name, args.serve) {
        (Some(url), Some(name), _) => print(url, name).await,
        (_, _, Some(port)) => serve(port).await,
        _ => show().await,
    };
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("queue: {error}");
            ExitCode::FAILURE
        }
    }
}
