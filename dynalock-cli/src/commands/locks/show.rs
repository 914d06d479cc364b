use aws_sdk_dynamodb::Client;

use super::read;
use crate::{
    args::LockArgs,
    connection::locks_of,
    failure::Failure,
    lock::Lock,
    output::{DIM, GREEN, Grid, Output, PLAIN, RED, duration, pairs, print, print_json, shown},
};

pub(crate) async fn run(args: &LockArgs, client: &Client, output: Output) -> Result<(), Failure> {
    let lock = read(&locks_of(client, args), args).await?;
    match output.is_json {
        true => print_json(&lock.to_json()),
        false => print(&text(&lock, output)),
    }
}

/// Returns the holder and the waiters of a lock.
pub(crate) fn text(lock: &Lock, output: Output) -> String {
    let mut lines = vec![("lock", shown(&lock.name))];
    lines.extend(lock.namespace.as_deref().map(|namespace| ("namespace", shown(namespace))));
    lines.extend(lease(lock, output));
    let lines = pairs(output, lines);
    if lock.waiters.is_empty() {
        return lines;
    }
    let mut grid = Grid::new(&["POSITION", "WAITER", "WAITS", "TICKET"]);
    for (behind, waiter) in lock.waiters.iter().enumerate() {
        let (position, waits) =
            ((behind + 1).to_string(), waiter.since_entry.map_or_else(|| "unknown".to_owned(), duration));
        grid.row([
            (position.as_str(), PLAIN),
            (waiter.owner.as_str(), PLAIN),
            (waits.as_str(), PLAIN),
            (waiter.ticket.as_str(), DIM),
        ]);
    }
    format!("{lines}\n{}", grid.to_text(output))
}

/// Returns the state of a lease as lines of a name and a value.
pub(crate) fn lease(lock: &Lock, output: Output) -> Vec<(&'static str, String)> {
    let Some(holder) = &lock.holder else {
        return vec![("state", output.paint(DIM, "free")), ("last fence", lock.fence.to_string())];
    };
    let state = match holder.has_expired {
        true => output.paint(RED, "expired: the lease has ended, and the next caller takes the lock over"),
        false => output.paint(GREEN, "held"),
    };
    vec![
        ("state", state),
        ("owner", shown(&holder.owner)),
        ("nonce", shown(&holder.nonce)),
        ("fence", lock.fence.to_string()),
        ("remaining", duration(holder.remaining)),
    ]
}
