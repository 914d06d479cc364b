//! The full screen of `watch`.

mod session;
mod view;

use std::{
    io::{IsTerminal, stdin, stdout},
    time::Duration,
};

use dynalock::Locks;
use serde_json::json;

use crate::{
    args::{ListArgs, LockArgs},
    clock,
    commands::locks::read_all,
    failure::{Exit, Failure},
    lock::Lock,
    output::{Output, print_json_line, shown},
};

/// The deadline of a request while a user watches.
const DEADLINE: Duration = Duration::from_secs(3);

/// The locks that a user watches.
pub(crate) enum Watched {
    /// All locks of a table.
    Table { locks: Locks, list: ListArgs },
    /// One lock with its queue.
    Queue { locks: Locks, lock: LockArgs },
}

impl Watched {
    /// Returns the same locks, with a shorter deadline for reads, so that the screen soon shows a
    /// failure.
    fn with_deadline(self) -> Self {
        match self {
            Self::Table { locks, list } => Self::Table { locks: locks.deadline(DEADLINE), list },
            Self::Queue { locks, lock } => Self::Queue { locks: locks.deadline(DEADLINE), lock },
        }
    }

    async fn read(&self) -> dynalock::Result<Vec<Lock>> {
        match self {
            Self::Table { locks, list } => read_all(locks, list).await,
            Self::Queue { locks, lock } => {
                let info = locks.inspect(&lock.name).await?;
                Ok(info.into_iter().map(Lock::from).collect())
            }
        }
    }

    fn title(&self) -> String {
        match self {
            Self::Table { list: ListArgs { table, owner: None }, .. } => format!("locks of table `{}`", shown(table)),
            Self::Table { list: ListArgs { table, owner: Some(owner) }, .. } => {
                format!("locks of `{}` in table `{}`", shown(owner), shown(table))
            }
            Self::Queue { lock: LockArgs { table, name, .. }, .. } => {
                format!("queue of lock `{}` in table `{}`", shown(name), shown(table))
            }
        }
    }

    /// Returns the text of a screen without locks.
    fn nothing(&self) -> &'static str {
        match self {
            Self::Table { list: ListArgs { owner: None, .. }, .. } => "The table contains no locks.",
            Self::Table { .. } => "This owner holds no lock and waits for none.",
            Self::Queue { .. } => "This lock was never held, or was retired.",
        }
    }
}

/// Shows locks until the user ends the command. Without a terminal, prints a line of JSON for each
/// update.
pub(crate) async fn watch(watched: Watched, interval: Duration, output: Output) -> Result<(), Failure> {
    let watched = watched.with_deadline();
    if output.is_json {
        return print_lines(&watched, interval).await;
    }
    if !(stdin().is_terminal() && stdout().is_terminal()) {
        let message = "`watch` needs a terminal; add --json to print a line for each update";
        return Err(Failure::new(Exit::Usage, message));
    }
    session::run(&watched, interval, output).await
}

async fn print_lines(watched: &Watched, interval: Duration) -> Result<(), Failure> {
    let mut read = Ok(watched.read().await?);
    loop {
        let line = match read {
            Ok(locks) => json!({ "at": clock::moment(), "locks": locks.iter().map(Lock::to_json).collect::<Vec<_>>() }),
            Err(error) => json!({ "at": clock::moment(), "error": Failure::from(error).to_string() }),
        };
        print_json_line(&line)?;
        clock::sleep(interval).await;
        read = watched.read().await;
    }
}
