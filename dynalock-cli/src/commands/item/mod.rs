//! `dynalock item`.

mod history;
mod place;
mod show;
mod value;

use std::collections::HashMap;

use aws_sdk_dynamodb::{Client, types::AttributeValue};

use crate::{args::ItemCommand, failure::Failure, output::Output};

type Item = HashMap<String, AttributeValue>;

pub(crate) async fn run(command: ItemCommand, client: &Client, output: Output) -> Result<(), Failure> {
    match command {
        ItemCommand::Show(args) => show::run(&args, client, output).await,
        ItemCommand::History(args) => history::run(&args, client, output).await,
    }
}
