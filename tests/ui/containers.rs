//! What serde writes has to be the struct's own fields.

use dynalock::Versioned;
use serde::{Deserialize, Serialize};

#[derive(Clone, Serialize, Deserialize, Versioned)]
#[serde(from = "Plain", into = "Plain")]
#[dynalock(table = "orders")]
struct FromAndInto {
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
#[serde(tag = "type")]
#[dynalock(table = "orders")]
struct Tagged {
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

impl From<Plain> for FromAndInto {
    fn from(Plain { id }: Plain) -> Self {
        Self { id }
    }
}

impl From<FromAndInto> for Plain {
    fn from(FromAndInto { id }: FromAndInto) -> Self {
        Self { id }
    }
}

impl From<Plain> for TryFrom {
    fn from(Plain { id }: Plain) -> Self {
        Self { id }
    }
}

fn main() {}
