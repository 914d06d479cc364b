//! An election: one of several processes is the leader and works, and the other processes wait. If
//! the leader dies, another process takes over when the lease of the leader has ended.
//!
//! ```text
//! cargo run --example leader
//! ```
//!
//! The command starts a `DynamoDB` on a loopback port and three workers. The command then kills the
//! leader like `kill -9`, and prints which worker takes over, and when. DynamoDB refuses a late
//! write of the killed leader.
//!
//! To start the processes by hand, use a terminal for each process. Ctrl-C ends a process and
//! releases its lease:
//!
//! ```text
//! cargo run --example leader -- --serve 8000
//! cargo run --example leader -- --endpoint http://127.0.0.1:8000 --name alice
//! ```

#![expect(clippy::print_stdout, reason = "an example shows what it does")]
#![expect(clippy::disallowed_methods, reason = "an example lives in real time")]

use std::{
    env,
    error::Error as StdError,
    process::{ExitCode, Stdio},
    time::{Duration, Instant},
};

use aws_sdk_dynamodb::{
    Client, Config,
    config::{BehaviorVersion, Credentials, Region},
};
use clap::Parser;
use dynalock::{Error, Expiry, LockGuard, LockToken, Locks, Versioned, Wait, local, transact};
use serde::{Deserialize, Serialize};
use tokio::{
    io::{AsyncBufReadExt, BufReader},
    process::{Child, Command},
    sync::mpsc,
};

const TTL: Duration = Duration::from_secs(2);
/// All workers are on one machine, so their clocks are the same.
const MAX_SKEW: Duration = Duration::from_millis(200);
const LOCK: &str = "leader";
const WORKERS: [&str; 3] = ["alice", "bob", "carol"];

type Failure = Box<dyn StdError>;

/// Lets one of several processes work at a time, as their leader.
#[derive(Debug, Parser)]
struct Args {
    /// Serve a `DynamoDB` on this port of the loopback address, for workers that are started by
    /// hand.
    #[arg(long, value_name = "PORT", conflicts_with = "endpoint")]
    serve: Option<u16>,
    /// Run one worker, on the `DynamoDB` at this URL, with any region and credentials.
    #[arg(long, value_name = "URL", requires = "name")]
    endpoint: Option<String>,
    /// The name of the worker.
    #[arg(long, requires = "endpoint")]
    name: Option<String>,
}

fn connect(url: &str) -> Client {
    let config = Config::builder()
        .behavior_version(BehaviorVersion::v2026_01_12())
        .endpoint_url(url)
        .region(Region::new("us-east-1"))
        .credentials_provider(Credentials::new("any", "any", None, None, "leader"));
    Client::from_conf(config.build())
}

async fn create_tables(client: &Client) -> Result<(), Error> {
    locks_of(client).create_table().await?;
    Work::repository(client).create_table().await
}

fn locks_of(client: &Client) -> Locks {
    Locks::new(client, "dynalock-leaders").ttl(TTL).expiry(Expiry::Clock { max_skew: MAX_SKEW })
}

/// Runs a worker. The worker waits for the lock, then works until it is told to stop or has lost
/// the lock.
async fn work(url: &str, name: &str) -> Result<(), Failure> {
    let client = connect(url);
    let locks = locks_of(&client);
    println!("{name} waits");
    create_tables(&client).await?;
    let held = locks.acquire(LOCK).owner(name).wait(Wait::Forever).await?;
    println!("{name} leads fence={} token={}", held.fence(), held.token());
    let steps = held.run(async {
        for step in 1_u32.. {
            write(&client, &held).await?;
            println!("{name} did step {step}");
            tokio::time::sleep(Duration::from_millis(250)).await;
        }
        Ok::<_, Failure>(())
    });
    tokio::select! {
        ended = steps => ended??,
        stop = tokio::signal::ctrl_c() => stop?,
    }
    held.release().await?;
    println!("{name} has stepped down");
    Ok(())
}

/// The counter of the steps that all leaders have done.
#[derive(Debug, Serialize, Deserialize, Versioned)]
#[dynalock(table = "leader-work")]
struct Work {
    #[dynalock(partition_key)]
    name: String,
    steps: u64,
}

/// Counts a step if `held` is still the last grant of the lock. One transaction checks the grant
/// and writes the count.
async fn write(client: &Client, held: &LockGuard) -> Result<(), Error> {
    let works = &Work::repository(client);
    let count = transact(client, |tx| async move {
        tx.guard(held);
        match tx.get(works, LOCK).await? {
            Some(mut work) => {
                work.steps += 1;
                tx.update(works, work);
            }
            None => tx.create(works, Work { name: LOCK.to_owned(), steps: 1 }),
        }
        Ok(())
    });
    count.await
}

/// The text that a leader prints when it starts.
struct Leader {
    name: String,
    fence: u64,
    token: String,
}

fn leader_in(line: &str) -> Option<Leader> {
    let (name, rest) = line.split_once(" leads fence=")?;
    let (fence, token) = rest.split_once(" token=")?;
    Some(Leader { name: name.to_owned(), fence: fence.parse().ok()?, token: token.to_owned() })
}

/// Starts a worker as a separate process, and sends each line of its output to `lines`.
fn start(url: &str, name: &str, lines: &mpsc::UnboundedSender<String>) -> Result<Child, Failure> {
    let mut command = Command::new(env::current_exe()?);
    let mut child =
        command.args(["--endpoint", url, "--name", name]).stdout(Stdio::piped()).kill_on_drop(true).spawn()?;
    let output = child.stdout.take().ok_or("the worker has no output")?;
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

/// Prints the output of the workers, until one worker is the leader and has done some steps.
async fn watch(lines: &mut mpsc::UnboundedReceiver<String>, steps: usize) -> Result<(Leader, Instant), Failure> {
    let mut leader = None;
    let mut left = steps;
    while let Some(line) = lines.recv().await {
        println!("  {}", line.split(" token=").next().unwrap_or_default());
        match leader_in(&line) {
            Some(new) => leader = Some((new, Instant::now())),
            None if line.contains(" did step ") => left = left.saturating_sub(1),
            None => {}
        }
        if left == 0
            && let Some(leader) = leader.take()
        {
            return Ok(leader);
        }
    }
    Err("all workers have ended".into())
}

async fn show() -> Result<(), Failure> {
    let server = local::serve(([127, 0, 0, 1], 0).into()).await?;
    let client = connect(&server.url());
    let locks = locks_of(&client);
    create_tables(&client).await?;
    println!("Three workers on {}, a lease is {TTL:?}:", server.url());
    let (lines, mut said) = mpsc::unbounded_channel();
    let mut workers = Vec::new();
    for name in WORKERS {
        workers.push((name, start(&server.url(), name, &lines)?));
    }
    let (first, _) = watch(&mut said, 3).await?;

    // The main process resumes the grant of the leader. After the leader is killed, the main
    // process sends a write with the grant, like a delayed write of the leader.
    let token: LockToken = first.token.parse()?;
    let begun = locks.clone().heartbeat(false).resume(token.clone()).await?;
    println!("kill -9 {}", first.name);
    let (_, victim) = workers.iter_mut().find(|(name, _)| *name == first.name).ok_or("no such worker")?;
    victim.kill().await?;
    let killed = Instant::now();
    let (second, since) = watch(&mut said, 2).await?;
    let took = since.saturating_duration_since(killed);
    println!(
        "{} took over after {took:.1?}, at most a lease and the skew, with the next fence: {}",
        second.name, second.fence
    );
    if took > TTL + MAX_SKEW + Duration::from_secs(1) || second.fence <= first.fence {
        return Err("that was too late, or under an old fence".into());
    }

    println!("What {} had begun comes late:", first.name);
    match (write(&client, &begun).await, locks.resume(token).await) {
        (Err(Error::Lost(_)), Err(Error::Lost(why))) => println!("  its write is refused, and so is its token: {why}"),
        (written, resumed) => return Err(format!("it was let in: {written:?}, {resumed:?}").into()),
    }
    Ok(())
}

/// Serves an empty database until the program is ended.
async fn serve(port: u16) -> Result<(), Failure> {
    let server = local::serve(([127, 0, 0, 1], port).into()).await?;
    println!("A DynamoDB on {}, until Ctrl-C", server.url());
    tokio::signal::ctrl_c().await?;
    server.shutdown().await?;
    Ok(())
}

#[tokio::main]
async fn main() -> ExitCode {
    let args = Args::parse();
    let ended = match (&args.endpoint, &args.name, args.serve) {
        (Some(url), Some(name), _) => work(url, name).await,
        (_, _, Some(port)) => serve(port).await,
        _ => show().await,
    };
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("leader: {error}");
            ExitCode::FAILURE
        }
    }
}
