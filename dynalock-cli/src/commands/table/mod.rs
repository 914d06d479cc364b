//! `dynalock table`.

mod create;
mod schema;
mod verify;

use aws_sdk_dynamodb::{
    Client,
    types::{TimeToLiveDescription, TimeToLiveStatus},
};

use crate::{args::TableCommand, failure::Failure, output::Output};

pub(crate) async fn run(command: TableCommand, client: &Client, output: Output) -> Result<(), Failure> {
    match command {
        TableCommand::Create(args) => create::run(&args, client, output).await,
        TableCommand::Verify(args) => verify::run(&args, client, output).await,
    }
}

/// Returns the attribute for which time to live is on.
pub(crate) fn attribute_that_is_on(described: TimeToLiveDescription) -> Option<String> {
    let TimeToLiveDescription { time_to_live_status, attribute_name, .. } = described;
    let is_on = matches!(time_to_live_status, Some(TimeToLiveStatus::Enabled | TimeToLiveStatus::Enabling));
    attribute_name.filter(|_| is_on)
}
