use std::time::Duration;

use aws_sdk_dynamodb::Client;
use dynalock::private::{LockModel, TimeToLive, lease_of, time_to_live};
use serde_json::{Value, json};

use super::{
    Item,
    place::Place,
    value::{item_to_json, to_text},
};
use crate::{
    args::ItemArgs,
    clock,
    commands::locks::lease_lines,
    failure::Failure,
    lock::Lock,
    output::{DIM, Output, RED, duration, pairs, print, print_json, shown},
};

/// The attributes of the library, for which the text shows the meaning in place of the value.
const BOOKKEEPING: [&str; 9] = ["_writes", "_p0", "_p1", "_p2", "_p3", "_p4", "_p5", "_p6", "_p7"];

/// An item with its table, its lease and its time to live.
struct Shown<'a> {
    args: &'a ItemArgs,
    place: Place,
    item: Item,
    lease: Option<Lock>,
    expires: Option<Expiry>,
}

/// The time to live of an item.
struct Expiry {
    attribute: String,
    /// `None` if the item has no time to live.
    time: Option<TimeToLive>,
}

pub(crate) async fn run(args: &ItemArgs, client: &Client, output: Output) -> Result<(), Failure> {
    let place = Place::of(client, args).await?;
    let item = place.read_existing(client).await?;
    let mut lease = lease_of(&place.name, &item);
    if lease.is_none() {
        lease = place.read_lease_row(client).await?.and_then(|row| lease_of(&place.name, &row));
    }
    let expires = place.time_to_live(client).await?.map(|attribute| {
        let time = time_to_live(&attribute, &item);
        Expiry { attribute, time }
    });
    let shown = Shown { args, place, item, lease: lease.map(Lock::from), expires };
    match output.is_json {
        true => print_json(&shown.to_json()),
        false => print(&shown.to_text(output)),
    }
}

impl Shown<'_> {
    fn to_json(&self) -> Value {
        let time = self.expires.as_ref().and_then(|expires| expires.time);
        json!({
            "table": self.place.table,
            "key": item_to_json(&self.place.key),
            "version": self.version(),
            "expires_at": time.map(|time| moment(time.at)),
            "expired": time.is_some_and(|time| time.is_over),
            "lease": self.lease.as_ref().map(Lock::to_json),
            "item": item_to_json(&self.item),
        })
    }

    fn version(&self) -> Option<u64> {
        self.item.get(&self.args.version_attribute)?.as_n().ok()?.parse().ok()
    }

    fn to_text(&self, output: Output) -> String {
        let version = self.version().map_or_else(
            || format!("none in `{}`: another program wrote the item", shown(&self.args.version_attribute)),
            |version| version.to_string(),
        );
        let mut lines =
            vec![("table", shown(&self.place.table)), ("key", self.place.name.clone()), ("version", version)];
        lines.extend(self.expires.as_ref().map(|expires| ("expires", expires.to_text(output))));
        match &self.lease {
            None => lines.push(("lease", output.paint(DIM, "never leased"))),
            Some(lease) => {
                let lease_lines = lease_lines(lease, output).into_iter();
                lines.extend(lease_lines.map(|(name, value)| (if name == "state" { "lease" } else { name }, value)));
                lines.push(("waiting", lease.waiters.len().to_string()));
            }
        }
        format!("{}\n{}", pairs(output, lines), self.attributes(output))
    }

    /// Returns a line for each attribute of the user: first the key attributes, then all further
    /// attributes in the order of their names.
    fn attributes(&self, output: Output) -> String {
        let is_bookkeeping = |name: &str| {
            let of_library = BOOKKEEPING.contains(&name) || LockModel::DEFAULT.names().contains(&name);
            of_library || name == self.args.version_attribute
        };
        let mut names: Vec<_> = self.item.keys().filter(|name| !is_bookkeeping(name)).collect();
        let keys = &self.place.key_names;
        names.sort_by_key(|name| (keys.iter().position(|key| key == *name).unwrap_or(keys.len()), *name));
        let lines: Vec<_> = names.into_iter().map(|name| (shown(name), to_text(&self.item[name], 0))).collect();
        pairs(output, lines.iter().map(|(name, value)| (name.as_str(), value.clone())))
    }
}

impl Expiry {
    fn to_text(&self, output: Output) -> String {
        let attribute = shown(&self.attribute);
        let Some(TimeToLive { at, is_over }) = self.time else {
            return format!("never: the item has no time in `{attribute}`");
        };
        let (time, now) = (Duration::from_secs(at), clock::since_epoch());
        let (at, distance) = (moment(at), duration(now.abs_diff(time)));
        match (is_over, time < now) {
            (true, _) => output.paint(RED, &format!("{at} ({distance} ago): calls treat the item as absent")),
            // DynamoDB never deletes an item whose time to live is more than five years ago.
            (false, true) => format!("{at} ({distance} ago): calls do not treat the item as expired"),
            (false, false) => format!("{at} (in {distance})"),
        }
    }
}

fn moment(epoch_seconds: u64) -> String {
    i64::try_from(epoch_seconds).map_or_else(|_| format!("{epoch_seconds} s"), clock::rfc3339)
}
