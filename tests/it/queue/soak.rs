//! Several processes use one queue on a served engine. The test kills processes at random, like
//! `kill -9`.
//!
//! Each worker is another process of this test program. An environment variable makes the process a
//! worker. `DYNALOCK_SOAK_SECONDS` sets the duration.

#![expect(clippy::print_stdout, reason = "that is how a worker reports to the test")]

use std::{
    collections::BTreeSet,
    env,
    process::Stdio,
    time::{Duration, Instant},
};

use dynalock::{Error, Expiry, Locks, Repository, Transaction, Versioned, Wait, local};
use serde::{Deserialize, Serialize};
use tokio::{
    io::{AsyncBufReadExt, BufReader},
    process::{Child, Command},
    sync::mpsc,
};

use crate::support::{changed, endpoint, millis, secs};

const TTL: Duration = secs(1);
/// All workers are on one machine, so their clocks are the same.
const MAX_SKEW: Duration = millis(100);
const WORKERS: usize = 5;
/// The test whose child processes are the workers. A child finds the URL of the engine in its
/// environment.
const SOAK: &str = "queue::soak::processes_that_are_killed_at_random_leave_the_queue_in_order";
const URL: &str = "DYNALOCK_SOAK_URL";

#[derive(Debug, Serialize, Deserialize, Versioned)]
#[dynalock(table = "pages")]
struct Printed {
    #[dynalock(partition_key)]
    printer: String,
    pages: u64,
}

fn at(url: &str) -> (Locks, Repository<Printed>, aws_sdk_dynamodb::Client) {
    let client = endpoint::client(url);
    let locks = Locks::new(&client, "locks").ttl(TTL).wait(Wait::Forever).expiry(Expiry::Clock { max_skew: MAX_SKEW });
    (locks, Printed::repository(&client), client)
}

/// The work of a child process. The child process prints a page for each turn in the queue, until
/// it is killed.
async fn print_pages(url: &str) {
    let (locks, printed, client) = at(url);
    loop {
        let held = match locks.acquire("printer").fair().await {
            Ok(held) => held,
            // A busy machine may pause a process for longer than a lease.
            Err(Error::Evicted { .. }) => continue,
            Err(other) => panic!("{other:?}"),
        };
        let page = changed(printed.get("printer").await.unwrap().unwrap(), |it| it.pages += 1);
        let mut print = Transaction::new(&client);
        print.guard(&held);
        print.update(&printed, page);
        match print.commit().await {
            Ok(_) => println!("printed {}", held.fence()),
            Err(Error::Lost(_)) => println!("lost {}", held.fence()),
            // No other worker may have written under this lock.
            Err(other) => println!("broken {other:?}"),
        }
        held.release().await.unwrap();
    }
}

fn start(url: &str, lines: &mpsc::UnboundedSender<String>) -> Child {
    let mut command = Command::new(env::current_exe().unwrap());
    let command = command.args(["--exact", SOAK, "--nocapture"]).env(URL, url);
    let mut child = command.stdout(Stdio::piped()).kill_on_drop(true).spawn().unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap()).lines();
    let lines = lines.clone();
    tokio::spawn(async move {
        while let Ok(Some(line)) = output.next_line().await {
            drop(lines.send(line));
        }
    });
    child
}

#[tokio::test]
#[expect(clippy::disallowed_methods, reason = "processes live in real time")]
async fn processes_that_are_killed_at_random_leave_the_queue_in_order() {
    if let Ok(url) = env::var(URL) {
        return print_pages(&url).await;
    }
    let server = local::serve(([127, 0, 0, 1], 0).into()).await.unwrap();
    let (locks, printed, _) = at(&server.url());
    locks.create_table().await.unwrap();
    printed.create_table().await.unwrap();
    printed.create(Printed { printer: "printer".to_owned(), pages: 0 }).await.unwrap();

    let (lines, mut said) = mpsc::unbounded_channel();
    let mut workers: Vec<_> = (0..WORKERS).map(|_| start(&server.url(), &lines)).collect();
    let seconds = env::var("DYNALOCK_SOAK_SECONDS").ok().and_then(|seconds| seconds.parse().ok()).unwrap_or(12);
    let mut rng = fastrand::Rng::with_seed(7);
    let started = Instant::now();
    let mut kills = 0;
    while started.elapsed() < secs(seconds) {
        tokio::time::sleep(millis(rng.u64(200..1_200))).await;
        let victim = &mut workers[rng.usize(..WORKERS)];
        victim.kill().await.unwrap();
        *victim = start(&server.url(), &lines);
        kills += 1;
    }
    for mut worker in workers {
        worker.kill().await.unwrap();
    }
    drop(lines);

    let mut fences = BTreeSet::new();
    let mut told = Vec::new();
    while let Some(line) = said.recv().await {
        assert!(!line.starts_with("broken "), "{line}");
        if let Some(fence) = line.strip_prefix("printed ") {
            told.push(fence.parse::<u64>().unwrap());
        }
    }
    let doubled: Vec<_> = told.iter().filter(|fence| !fences.insert(**fence)).collect();
    assert!(doubled.is_empty(), "{doubled:?}");
    // All workers have been killed. A new caller is served after at most one lease for each entry
    // that is left.
    let standing = u32::try_from(locks.queue("printer").await.unwrap().len()).unwrap();
    let last = locks.acquire("printer").fair().wait((TTL + MAX_SKEW) * standing + secs(20)).await.unwrap();
    assert!(last.fence() > *fences.last().unwrap(), "{last:?}");
    assert_eq!(locks.queue("printer").await.unwrap().len(), 1);
    let pages = printed.get("printer").await.unwrap().unwrap().pages;
    let told = u64::try_from(told.len()).unwrap();
    // The page of a killed worker may be missing in its output.
    assert!((told..=told + kills + 5).contains(&pages), "{pages} pages, {told} told, {kills} killed");
    assert!(told > 20, "{told}");
}
