//! `dynalock`: the command line for what dynalock stores in Amazon DynamoDB.

mod args;
mod clock;
mod commands;
mod connection;
mod failure;
mod lock;
mod output;
mod screen;

use std::{
    io::{Write, stderr},
    process::ExitCode,
};

use clap::Parser;

use crate::{args::Cli, failure::Failure};

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    match commands::run(Cli::parse()).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            if let Failure::Reported { message, .. } = &failure {
                // If stderr is closed, only the exit code tells of the failure.
                drop(writeln!(stderr(), "dynalock: {message}"));
            }
            failure.exit_code()
        }
    }
}
