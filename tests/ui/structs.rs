//! An item is a struct with named fields that owns its data, which serde writes as its own fields: one partition key,
//! and at most one sort key and one version.

use dynalock::Versioned;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Versioned)]
#[dynalock(table = "shapes")]
enum Enum {
    Circle { radius: u32 },
    Square { side: u32 },
}

#[derive(Clone, Copy, Versioned)]
#[dynalock(table = "shapes")]
union Union {
    radius: u32,
    side: u32,
}

#[derive(Serialize, Deserialize, Versioned)]
#[dynalock(table = "shapes")]
struct Tuple(#[dynalock(partition_key)] String, u32);

#[derive(Serialize, Deserialize, Versioned)]
#[dynalock(table = "shapes")]
struct Unit;

#[derive(Serialize, Deserialize, Versioned)]
#[dynalock(table = "shapes")]
struct Borrowed<'a, 'b> {
    #[dynalock(partition_key)]
    id: String,
    first: &'a str,
    second: &'b str,
}

#[derive(Clone, Serialize, Deserialize, Versioned)]
#[serde(from = "Plain", into = "Plain", tag = "type")]
#[dynalock(table = "orders")]
struct FromAndIntoAndTagged {
    #[dynalock(partition_key)]
    id: String,
}

#[derive(Serialize, Deserialize, Versioned)]
#[serde(try_from = "Plain")]
#[dynalock(table = "orders")]
struct TryFrom {
    #[dynalock(partition_key)]
    id: String,
}

#[derive(Serialize, Deserialize, Versioned)]
#[serde(transparent)]
#[dynalock(table = "orders")]
struct Transparent {
    #[dynalock(partition_key)]
    id: String,
}

#[derive(Serialize, Deserialize, Versioned)]
#[serde(untagged)]
#[dynalock(table = "orders")]
struct Untagged {
    #[dynalock(partition_key)]
    id: String,
}

#[derive(Serialize, Deserialize, Versioned)]
#[serde(remote = "Plain")]
#[dynalock(table = "orders")]
struct Remote {
    #[dynalock(partition_key)]
    id: String,
}

#[derive(Clone, Serialize, Deserialize)]
struct Plain {
    id: String,
}

impl From<Plain> for FromAndIntoAndTagged {
    fn from(Plain { id }: Plain) -> Self {
        Self { id }
    }
}

impl From<FromAndIntoAndTagged> for Plain {
    fn from(FromAndIntoAndTagged { id }: FromAndIntoAndTagged) -> Self {
        Self { id }
    }
}

impl From<Plain> for TryFrom {
    fn from(Plain { id }: Plain) -> Self {
        Self { id }
    }
}

#[derive(Serialize, Deserialize, Versioned)]
#[dynalock(table = "orders")]
struct NoPartitionKey {
    id: String,
}

#[derive(Serialize, Deserialize, Versioned)]
#[dynalock(table = "orders")]
struct SortKeyAlone {
    #[dynalock(sort_key)]
    number: u64,
}

#[derive(Serialize, Deserialize, Versioned)]
#[dynalock(table = "orders")]
struct TwoOfEach {
    #[dynalock(partition_key)]
    first: String,
    #[dynalock(partition_key)]
    second: String,
    #[dynalock(sort_key)]
    third: String,
    #[dynalock(sort_key)]
    fourth: String,
    #[dynalock(version)]
    fifth: u64,
    #[dynalock(version)]
    sixth: u64,
}

#[derive(Serialize, Deserialize, Versioned)]
#[dynalock(table = "orders")]
struct PartitionKeyAndSortKey {
    #[dynalock(partition_key, sort_key)]
    id: String,
}

#[derive(Serialize, Deserialize, Versioned)]
#[dynalock(table = "orders")]
struct SortKeyAndVersion {
    #[dynalock(partition_key)]
    id: String,
    #[dynalock(sort_key)]
    #[dynalock(version)]
    number: u64,
}

fn main() {}
