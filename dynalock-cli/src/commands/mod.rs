//! The commands, one file each.

mod completions;
mod doctor;
mod item;
pub(crate) mod locks;
mod queue;
mod table;

use crate::{
    args::{Cli, Command},
    connection,
    failure::Failure,
    output::Output,
};

pub(crate) async fn run(cli: Cli) -> Result<(), Failure> {
    let Cli { target, format, command } = cli;
    let output = Output::new(&format);
    match command {
        Command::Locks(command) => locks::run(command, &connection::client(&target).await, output).await,
        Command::Queue(command) => queue::run(command, &connection::client(&target).await, output).await,
        Command::Item(command) => item::run(command, &connection::client(&target).await, output).await,
        Command::Table(command) => table::run(command, &connection::client(&target).await, output).await,
        Command::Doctor(args) => doctor::run(&args, &target, output).await,
        Command::Completions { shell } => completions::run(shell),
    }
}
