//! `dynalock locks`.

mod breaking;
mod list;
mod show;

use aws_sdk_dynamodb::Client;
use dynalock::Locks;

use crate::{
    args::{LockArgs, LocksCommand, WatchArgs},
    failure::Failure,
    lock::Lock,
    output::Output,
    screen::{self, Watched},
};

pub(crate) use list::read_all;
pub(crate) use show::lease as lease_lines;

pub(crate) async fn run(command: LocksCommand, client: &Client, output: Output) -> Result<(), Failure> {
    match command {
        LocksCommand::List(args) => list::run(&args, client, output).await,
        LocksCommand::Show(args) => show::run(&args, client, output).await,
        LocksCommand::Watch(WatchArgs { list, interval }) => {
            let locks = Locks::new(client, list.table.as_str());
            screen::watch(Watched::Table { locks, list }, interval, output).await
        }
        LocksCommand::Break(args) => breaking::run(&args, client, output).await,
    }
}

/// Reads a lock that must exist.
async fn read(locks: &Locks, args: &LockArgs) -> Result<Lock, Failure> {
    match locks.inspect(&args.name).await? {
        Some(info) => Ok(info.into()),
        None => Err(Failure::lock_not_found(args)),
    }
}
