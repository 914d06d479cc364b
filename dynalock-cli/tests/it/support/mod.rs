//! The fixtures: a served engine, runs of the command, a terminal.

#[cfg(unix)]
pub(crate) mod pty;
pub(crate) mod recorder;
mod text;

use std::{process::Stdio, time::Duration};

use aws_sdk_dynamodb::{Client, types::AttributeValue};
use dynalock::{
    Heartbeat, LockToken, Locks, Repository, Versioned,
    local::{Database, Server},
};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::process::Command;

pub(crate) use text::masked;
#[cfg(unix)]
pub(crate) use text::masked_json;

/// The lease of a holder that does not end during a test.
pub(crate) const LONG: Duration = Duration::from_mins(10);

/// The item of the tests.
#[derive(Debug, Clone, Serialize, Deserialize, Versioned)]
#[dynalock(table = "products")]
pub(crate) struct Product {
    #[dynalock(partition_key)]
    pub(crate) sku: String,
    pub(crate) stock: i64,
    #[dynalock(expires)]
    pub(crate) sold_until: Option<u64>,
}

/// A served engine.
pub(crate) struct Engine {
    pub(crate) database: Database,
    pub(crate) server: Server,
    pub(crate) client: Client,
}

/// The end of a command.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Engine {
    pub(crate) async fn start() -> Self {
        let database = Database::in_memory().unwrap();
        let server = database.serve(([127, 0, 0, 1], 0).into()).await.unwrap();
        Self { client: database.client(), database, server }
    }

    /// Starts an engine with the table `locks`.
    pub(crate) async fn with_locks() -> Self {
        let engine = Self::start().await;
        engine.locks().create_table().await.unwrap();
        engine
    }

    /// Starts an engine with a table of items.
    pub(crate) async fn with_products() -> (Self, Repository<Product>) {
        let engine = Self::start().await;
        let products = Product::repository(&engine.client);
        products.create_table().await.unwrap();
        (engine, products)
    }

    /// Returns locks whose holders send no heartbeats.
    pub(crate) fn locks(&self) -> Locks {
        Locks::new(&self.client, "locks").ttl(LONG).heartbeat(Heartbeat::Off)
    }

    /// Lets an owner hold a lock until the end of the test.
    pub(crate) async fn hold(&self, name: &str, owner: &str) -> LockToken {
        self.locks().acquire(name).owner(owner).await.unwrap().detach()
    }

    /// Writes the row of a lock whose holder died long ago.
    pub(crate) async fn hold_until_past(&self, name: &str, owner: &str) {
        let row = [
            ("name", AttributeValue::S(name.to_owned())),
            ("_owner", AttributeValue::S(format!("{owner}:0123456789abcdef"))),
            ("_fence", AttributeValue::N("1795346342123".to_owned())),
            ("_beat", AttributeValue::N("3".to_owned())),
            ("_until", AttributeValue::N("1795346362123".to_owned())),
        ];
        let row = row.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        self.client.put_item().table_name("locks").set_item(Some(row)).send().await.unwrap();
    }

    /// Makes the command with these arguments, on this engine.
    pub(crate) fn command(&self, args: &str) -> Command {
        let mut command = command(args);
        command.env("AWS_ENDPOINT_URL", self.server.url());
        command
    }

    /// Runs the command with these arguments on this engine, without a terminal.
    pub(crate) async fn run(&self, args: &str) -> Run {
        run(&mut self.command(args)).await
    }

    /// Runs the command with `--json`, which must succeed.
    pub(crate) async fn json(&self, args: &str) -> Value {
        let Run { code, stdout, stderr } = self.run(&format!("{args} --json")).await;
        assert_eq!((code, stderr.as_str()), (0, ""), "{args}");
        serde_json::from_str(&stdout).unwrap()
    }
}

/// Makes the command with these arguments, which are separated by spaces. The environment contains
/// only what the command needs.
pub(crate) fn command(args: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_dynalock"));
    command.args(args.split_whitespace()).env_clear().envs(environment());
    command.stdin(Stdio::null()).kill_on_drop(true);
    command
}

/// Returns the environment of the command. The configuration of the user is not part of it.
pub(crate) fn environment() -> [(&'static str, &'static str); 7] {
    [
        ("AWS_ACCESS_KEY_ID", "any"),
        ("AWS_SECRET_ACCESS_KEY", "any"),
        ("AWS_REGION", "eu-central-1"),
        ("AWS_CONFIG_FILE", "/nonexistent"),
        ("AWS_SHARED_CREDENTIALS_FILE", "/nonexistent"),
        ("AWS_EC2_METADATA_DISABLED", "true"),
        ("TERM", "xterm-256color"),
    ]
}

pub(crate) async fn run(command: &mut Command) -> Run {
    let output = command.output().await.unwrap();
    Run {
        code: output.status.code().unwrap(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

impl Run {
    /// Asserts that the command failed with this code and one line on stderr, and returns the line.
    #[track_caller]
    pub(crate) fn failed_with(&self, code: i32) -> &str {
        assert_eq!(self.code, code, "{self:?}");
        let line = self.stderr.lines().last().unwrap_or_default();
        line.strip_prefix("dynalock: ").unwrap_or_else(|| panic!("{self:?}"))
    }

    /// Asserts that the arguments are wrong.
    #[track_caller]
    pub(crate) fn failed_with_usage(&self) {
        assert_eq!(self.code, 2, "{self:?}");
        assert!(self.stderr.starts_with("error: "), "{self:?}");
    }

    /// Asserts that the command succeeded without a message, and returns its masked output.
    #[track_caller]
    pub(crate) fn succeeded(&self) -> String {
        assert_eq!((self.code, self.stderr.as_str()), (0, ""), "{self:?}");
        masked(&self.stdout)
    }
}
