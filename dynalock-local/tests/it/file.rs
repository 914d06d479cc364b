use std::{
    env,
    io::{self, BufRead, BufReader, Read, Write},
    path::Path,
    process::{Child, Command, Stdio},
};

use aws_sdk_dynamodb::types::AttributeValue;
use dynalock_local::{Database, Error};
use tokio::task::JoinSet;

use crate::table::{Table, item, n, s};

/// The environment variables with the file that [`writer`] writes to, and the number of its writes.
const FILE: &str = "DYNALOCK_LOCAL_TEST_FILE";
const WRITES: &str = "DYNALOCK_LOCAL_TEST_WRITES";

/// The child process of the tests below. It increments a number, and prints each number that was
/// acknowledged.
#[tokio::test]
#[ignore = "run by the tests beside it, in a process of its own"]
async fn writer() {
    let (Ok(file), Ok(writes)) = (env::var(FILE), env::var(WRITES)) else { return };
    let table = Table { client: Database::open(file).unwrap().client(), name: "table".to_owned() };

    for written in 1..=writes.parse::<u64>().unwrap() {
        table.increment("a").send().await.unwrap();
        writeln!(io::stderr(), "{written}").unwrap();
    }
}

fn start_writer(file: &Path, writes: u64) -> Child {
    Command::new(env::current_exe().unwrap())
        .args(["file::writer", "--exact", "--ignored", "--nocapture"])
        .env(FILE, file)
        .env(WRITES, writes.to_string())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

async fn count(file: &Path) -> u64 {
    let table = Table { client: Database::open(file).unwrap().client(), name: "table".to_owned() };
    match table.n("a").await {
        Some(AttributeValue::N(count)) => count.parse().unwrap(),
        _ => 0,
    }
}

#[tokio::test]
async fn a_file_keeps_its_tables_and_items() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("database");
    let stored = item([("k", s("a")), ("n", n("1.5"))]);
    let first = Database::open(&file).unwrap();
    Table::create(first.client(), "table").await.put(stored.clone()).await;
    drop(first);

    let table = Table { client: Database::open(&file).unwrap().client(), name: "table".to_owned() };

    assert_eq!(table.get("a").await, Some(stored));
}

#[tokio::test]
async fn every_acknowledged_write_survives_a_killed_process() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("database");
    Table::create(Database::open(&file).unwrap().client(), "table").await;

    let mut written = 0;
    for round in 1..=4 {
        let mut writer = start_writer(&file, u64::MAX);
        let mut acknowledgements = BufReader::new(writer.stderr.take().unwrap());
        let mut line = String::new();
        for _ in 0..10 * round {
            line.clear();
            acknowledgements.read_line(&mut line).unwrap();
        }
        writer.kill().unwrap();
        let mut rest = String::new();
        acknowledgements.read_to_string(&mut rest).unwrap();
        writer.wait().unwrap();

        let last = rest.lines().last().unwrap_or(line.trim());
        let acknowledged: u64 = last.parse().unwrap();
        let found = count(&file).await - written;
        assert!(found == acknowledged || found == acknowledged + 1, "{found} found, {acknowledged} acknowledged");
        written += found;
    }
}

#[tokio::test]
async fn two_processes_share_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("database");
    Table::create(Database::open(&file).unwrap().client(), "table").await;

    let writers = [start_writer(&file, 200), start_writer(&file, 200)];
    for writer in writers {
        let output = writer.wait_with_output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }

    assert_eq!(count(&file).await, 400);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_handles_share_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("database");
    let first = Database::open(&file).unwrap();
    let second = Database::open(&file).unwrap();
    let table = Table::create(first.client(), "table").await;

    let mut tasks = JoinSet::new();
    for client in [first.client(), second.client(), first.client(), second.client()] {
        let table = table.with(client);
        tasks.spawn(async move {
            for _ in 0..100 {
                table.increment("a").send().await.unwrap();
            }
        });
    }
    tasks.join_all().await;

    assert_eq!(table.n("a").await, Some(n(400)));
}

#[test]
fn what_is_no_database_is_not_opened() {
    let folder = tempfile::tempdir().unwrap();
    let text = folder.path().join("notes.txt");
    std::fs::write(&text, "not a database, but longer than the header of one would be: ".repeat(20)).unwrap();

    let missing_folder = Database::open(folder.path().join("missing/database")).unwrap_err();
    let other_file = Database::open(&text).unwrap_err();
    let nothing = Database::open("").unwrap_err();

    assert!(matches!(missing_folder, Error::Open { .. }));
    assert!(matches!(other_file, Error::Open { path, .. } if path == text));
    assert!(matches!(nothing, Error::Path(path) if path == Path::new("")));
}
