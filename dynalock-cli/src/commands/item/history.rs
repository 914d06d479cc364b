use aws_sdk_dynamodb::Client;
use dynalock::private::WriteHistory;
use serde_json::{Value, json};

use super::place::Place;
use crate::{
    args::HistoryArgs,
    clock,
    failure::Failure,
    output::{DIM, Grid, Output, PLAIN, hex, pairs, print, print_json, print_json_line, shown},
};

pub(crate) async fn run(args: &HistoryArgs, client: &Client, output: Output) -> Result<(), Failure> {
    let place = Place::of(client, &args.item).await?;
    let version = args.item.version_attribute.as_str();
    let history = WriteHistory::read(&place.read_existing(client).await?, version);
    match (output.is_json, args.follow) {
        (true, false) => print_json(&to_json(&history))?,
        (true, true) => print_json_line(&to_json(&history))?,
        (false, _) => print(&to_text(&place, &history, output))?,
    }
    if args.follow { follow(args, client, &place, history, output).await } else { Ok(()) }
}

/// Prints a line for each change, until the process ends.
async fn follow(
    args: &HistoryArgs,
    client: &Client,
    place: &Place,
    history: WriteHistory,
    output: Output,
) -> Result<(), Failure> {
    let mut last = Some(history);
    loop {
        clock::sleep(args.interval).await;
        let item = place.read(client).await?;
        let history = item.map(|item| WriteHistory::read(&item, &args.item.version_attribute));
        if history == last {
            continue;
        }
        match output.is_json {
            true => print_json_line(&history.as_ref().map_or(Value::Null, to_json))?,
            false => print(&format!("{}  {}\n", clock::moment(), change(last.as_ref(), history.as_ref())))?,
        }
        last = history;
    }
}

/// Describes the writes between two reads of the item.
fn change(before: Option<&WriteHistory>, after: Option<&WriteHistory>) -> String {
    let Some(after) = after else { return "deleted".to_owned() };
    let version =
        |history: &WriteHistory| history.version.map_or_else(|| "none".to_owned(), |version| version.to_string());
    let Some(before) = before else { return format!("created again with version {}", version(after)) };
    let writes = after.writes.iter().filter(|write| !before.writes.contains(write)).map(|write| ("write", write.id));
    let patches = after.patches.iter().filter(|id| !before.patches.contains(id)).map(|id| ("patch", *id));
    let ids: Vec<_> = writes.chain(patches).map(|(kind, id)| format!("{kind} {}", hex(&id))).collect();
    let by = if ids.is_empty() { "without an id: by another program".to_owned() } else { ids.join(", ") };
    let begun = if before.incarnation == after.incarnation { "" } else { " in a new incarnation" };
    format!("version {} -> {}{begun}  {by}", version(before), version(after))
}

/// Returns the highest version that a write can have made. The newest write has the position 0.
fn version_at_most(history: &WriteHistory, position: usize) -> Option<u64> {
    history.version?.checked_sub(u64::try_from(position).ok()?)
}

fn to_json(history: &WriteHistory) -> Value {
    let writes = history.writes.iter().enumerate().map(|(position, write)| {
        json!({
            "id": hex(&write.id),
            "version_at_most": version_at_most(history, position),
            "under_a_token": write.is_of_token,
        })
    });
    json!({
        "version": history.version,
        "incarnation": history.incarnation.map(|incarnation| hex(&incarnation)),
        "last_time": history.last_time.map(|time| clock::rfc3339(time.into())),
        "writes": writes.collect::<Vec<_>>(),
        "patches": history.patches.iter().map(|id| hex(id)).collect::<Vec<_>>(),
    })
}

fn to_text(place: &Place, history: &WriteHistory, output: Output) -> String {
    let none = |text: &str| output.paint(DIM, text);
    let lines = [
        ("table", shown(&place.table)),
        ("key", place.name.clone()),
        ("version", history.version.map_or_else(|| none("none"), |version| version.to_string())),
        ("incarnation", history.incarnation.map_or_else(|| none("none: no `_writes`"), |id| hex(&id))),
        ("last time", history.last_time.map_or_else(|| none("none"), |time| clock::rfc3339(time.into()))),
    ];
    let mut grid = Grid::new(&["VERSION", "KIND", "ID"]);
    for (position, write) in history.writes.iter().enumerate() {
        let version = version_at_most(history, position).map_or_else(String::new, |version| format!("<= {version}"));
        let kind = if write.is_of_token { "write under a token" } else { "write" };
        grid.row([(version.as_str(), PLAIN), (kind, PLAIN), (hex(&write.id).as_str(), DIM)]);
    }
    for id in &history.patches {
        grid.row([("", PLAIN), ("patch", PLAIN), (hex(id).as_str(), DIM)]);
    }
    let remark = "DynamoDB keeps no earlier values: only the ids of the last writes are left.";
    format!("{}\n{}\n{}\n", pairs(output, lines), grid.to_text(output), none(remark))
}

#[cfg(test)]
mod tests {
    use dynalock::private::RememberedWrite;

    use super::*;

    fn history(version: u64, writes: &[u8], patches: &[u8]) -> WriteHistory {
        let write = |id: &u8| RememberedWrite { id: [*id; 8], is_of_token: false };
        WriteHistory {
            version: Some(version),
            incarnation: Some([9; 8]),
            last_time: Some(0),
            writes: writes.iter().map(write).collect(),
            patches: patches.iter().map(|id| [*id; 8]).collect(),
        }
    }

    #[test]
    fn a_change_names_the_new_ids() {
        let change = |before, after| change(Some(&before), Some(&after));
        assert_eq!(
            change(history(2, &[2, 1], &[]), history(4, &[3, 2, 1], &[4])),
            "version 2 -> 4  write 0303030303030303, patch 0404040404040404"
        );
        assert_eq!(
            change(history(2, &[1], &[]), history(3, &[1], &[])),
            "version 2 -> 3  without an id: by another program"
        );
    }

    #[test]
    fn a_delete_and_a_create_are_changes() {
        assert_eq!(change(Some(&history(1, &[1], &[])), None), "deleted");
        assert_eq!(change(None, Some(&history(1, &[1], &[]))), "created again with version 1");
    }

    #[test]
    fn the_version_of_a_write_is_an_upper_bound() {
        let history = history(2, &[3, 2, 1], &[]);
        assert_eq!([0, 1, 2, 3].map(|position| version_at_most(&history, position)), [Some(2), Some(1), Some(0), None]);
    }
}
