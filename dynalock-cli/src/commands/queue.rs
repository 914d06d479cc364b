use aws_sdk_dynamodb::Client;

use crate::{
    args::{QueueCommand, QueueWatchArgs},
    connection::locks_of,
    failure::Failure,
    output::Output,
    screen::{self, Watched},
};

pub(crate) async fn run(command: QueueCommand, client: &Client, output: Output) -> Result<(), Failure> {
    let QueueCommand::Watch(QueueWatchArgs { lock, interval }) = command;
    let locks = locks_of(client, &lock);
    screen::watch(Watched::Queue { locks, lock }, interval, output).await
}
