use aws_sdk_dynamodb::Client;
use dynalock::{Locks, table::TableDifference};
use serde_json::Value;

use crate::{
    args::ListArgs,
    failure::{Exit, Failure},
    lock::Lock,
    output::{DIM, GREEN, Grid, Output, PLAIN, RED, YELLOW, duration, print, print_json, shown},
};

pub(crate) async fn run(args: &ListArgs, client: &Client, output: Output) -> Result<(), Failure> {
    let table = Locks::new(client, args.table.as_str());
    let reading = format!("reading the locks of table `{}`", shown(&args.table));
    let locks = output.during(reading, read_all(&table, args)).await?;
    if locks.is_empty() {
        check_key(&table, &args.table).await?;
    }
    if output.is_json {
        return print_json(&Value::Array(locks.iter().map(Lock::to_json).collect()));
    }
    if locks.is_empty() {
        return print("no locks\n");
    }
    print(&grid(&locks).to_text(output))
}

/// Reads the locks of a table, in the order of their names.
pub(crate) async fn read_all(locks: &Locks, args: &ListArgs) -> dynalock::Result<Vec<Lock>> {
    let (mut list, mut found) = (locks.list(), Vec::new());
    while let Some(lock) = list.next().await {
        found.push(Lock::from(lock?));
    }
    if let Some(owner) = &args.owner {
        found.retain(|lock| lock.concerns(owner));
    }
    found.sort_by(|a, b| (&a.name, &a.namespace).cmp(&(&b.name, &b.namespace)));
    Ok(found)
}

/// Returns an error if the key of the table is not the key of a table of locks. Without the error,
/// the empty list of a wrong table would say that nobody holds a lock.
async fn check_key(locks: &Locks, table: &str) -> Result<(), Failure> {
    // A user who may only scan the table gets the empty list.
    let Ok(report) = locks.verify_table().await else { return Ok(()) };
    match report.differences().iter().find(|difference| is_of_key(difference)) {
        Some(difference) => {
            let message = format!("table `{}` is not a table of locks: {difference}", shown(table));
            Err(Failure::new(Exit::Differs, message))
        }
        None => Ok(()),
    }
}

fn is_of_key(difference: &TableDifference) -> bool {
    matches!(
        difference,
        TableDifference::PartitionKeyName { .. }
            | TableDifference::PartitionKeyType { .. }
            | TableDifference::SortKeyUnexpected { .. }
    )
}

fn grid(locks: &[Lock]) -> Grid {
    let has_namespaces = locks.iter().any(|lock| lock.namespace.is_some());
    let titles = ["NAME", "NAMESPACE", "STATE", "OWNER", "REMAINING", "WAITING", "FENCE"];
    let is_shown = |title: &str| has_namespaces || title != "NAMESPACE";
    let mut grid = Grid::new(&titles.into_iter().filter(|title| is_shown(title)).collect::<Vec<_>>());
    for lock in locks {
        let state = match lock.state() {
            "held" => GREEN,
            "expired" => RED,
            _ => DIM,
        };
        let holder = lock.holder.as_ref();
        let remaining = holder.map(|holder| duration(holder.remaining)).unwrap_or_default();
        let (waiting, fence) = (lock.waiters.len().to_string(), lock.fence.to_string());
        let cells = [
            (lock.name.as_str(), PLAIN),
            (lock.namespace.as_deref().unwrap_or_default(), PLAIN),
            (lock.state(), state),
            (holder.map_or("", |holder| &holder.owner), PLAIN),
            (remaining.as_str(), PLAIN),
            (waiting.as_str(), if lock.waiters.is_empty() { DIM } else { YELLOW }),
            (fence.as_str(), DIM),
        ];
        let cells = titles.into_iter().zip(cells).filter(|(title, _)| is_shown(title));
        grid.row(cells.map(|(_, cell)| cell));
    }
    grid
}
