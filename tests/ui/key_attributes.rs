//! Keys and the version are always there, under one name, as their type writes them.

use dynalock::Versioned;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Versioned)]
#[dynalock(table = "orders")]
struct Skipped {
    #[serde(skip)]
    #[dynalock(partition_key)]
    id: String,
    #[serde(skip_serializing)]
    #[dynalock(sort_key)]
    number: u64,
    #[serde(skip_deserializing)]
    #[dynalock(version)]
    rev: u64,
}

#[derive(Serialize, Deserialize, Versioned)]
#[dynalock(table = "orders")]
struct SometimesSkipped {
    #[serde(skip_serializing_if = "String::is_empty", default)]
    #[dynalock(partition_key)]
    id: String,
}

#[derive(Serialize, Deserialize, Versioned)]
#[dynalock(table = "orders")]
struct Flattened {
    #[serde(flatten)]
    #[dynalock(partition_key)]
    id: Id,
}

#[derive(Serialize, Deserialize)]
struct Id {
    id: String,
}

impl dynalock::KeyAttribute for Id {
    const TYPE: dynalock::table::KeyType = dynalock::table::KeyType::S;

    fn to_key_value(&self) -> dynalock::table::KeyValue {
        dynalock::table::KeyValue::S(self.id.clone())
    }
}

#[derive(Serialize, Deserialize, Versioned)]
#[dynalock(table = "orders")]
struct Renamed {
    #[serde(rename(serialize = "ID", deserialize = "id"), alias = "ID")]
    #[dynalock(partition_key)]
    id: String,
    #[serde(rename(deserialize = "no"))]
    #[dynalock(sort_key)]
    number: u64,
    #[serde(rename(serialize = "rev"))]
    #[dynalock(version)]
    version: u64,
}

#[derive(Serialize, Deserialize, Versioned)]
#[serde(rename_all(serialize = "camelCase"))]
#[dynalock(table = "orders")]
struct RenamedByRule {
    #[dynalock(partition_key)]
    order_id: String,
}

#[derive(Serialize, Deserialize, Versioned)]
#[dynalock(table = "orders")]
struct SerializedOtherwise {
    #[serde(with = "hex")]
    #[dynalock(partition_key)]
    id: u64,
    #[serde(serialize_with = "hex::serialize")]
    #[dynalock(sort_key)]
    number: u64,
    #[serde(deserialize_with = "hex::deserialize")]
    #[dynalock(version)]
    rev: u64,
}

mod hex {
    pub fn serialize<S: serde::Serializer>(number: &u64, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(&format_args!("{number:x}"))
    }

    pub fn deserialize<'de, D: serde::Deserializer<'de>>(from: D) -> Result<u64, D::Error> {
        serde::Deserialize::deserialize(from)
    }
}

#[derive(Serialize, Deserialize, Versioned)]
#[dynalock(table = "orders")]
struct Aliased {
    #[serde(alias = "order_id")]
    #[dynalock(partition_key)]
    id: String,
    #[serde(alias = "version")]
    #[dynalock(version)]
    rev: u64,
}

fn main() {}
