//! The fields with times: one of each, of a type that holds an epoch time, always under one name.

use dynalock::Versioned;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Versioned)]
#[dynalock(table = "sessions")]
struct Twice {
    #[dynalock(partition_key)]
    id: String,
    #[dynalock(expires)]
    until: u64,
    #[dynalock(expires)]
    ends: u64,
    #[dynalock(created_at)]
    created: u64,
    #[dynalock(created_at)]
    made: u64,
    #[dynalock(updated_at, created_at)]
    both: u64,
}

#[derive(Serialize, Deserialize, Versioned)]
#[dynalock(table = "sessions")]
struct OfAKey {
    #[dynalock(partition_key, created_at)]
    id: u64,
    #[dynalock(sort_key, expires)]
    until: u64,
}

#[derive(Serialize, Deserialize, Versioned)]
#[dynalock(table = "sessions", expires = "until")]
struct OtherValues {
    #[dynalock(partition_key)]
    id: String,
    #[dynalock(expires = "millis")]
    until: u64,
    #[dynalock(created_at = "milliseconds")]
    created: u64,
    #[dynalock(updated_at = 3)]
    updated: u64,
    #[dynalock(update_at)]
    changed: u64,
}

#[derive(Serialize, Deserialize, Versioned)]
#[dynalock(table = "sessions")]
struct OtherNames {
    #[dynalock(partition_key)]
    id: String,
    #[dynalock(expires)]
    #[serde(alias = "ttl")]
    until: Option<u64>,
    #[dynalock(created_at)]
    #[serde(skip)]
    created: u64,
    #[dynalock(updated_at)]
    #[serde(rename(serialize = "changed", deserialize = "updated"))]
    updated: u64,
}

#[derive(Serialize, Deserialize, Versioned)]
#[dynalock(table = "sessions")]
struct OfOtherCode {
    #[dynalock(partition_key)]
    id: String,
    #[dynalock(expires)]
    #[serde(with = "text")]
    until: u64,
}

mod text {
    pub fn serialize<S: serde::Serializer>(number: &u64, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(number)
    }

    pub fn deserialize<'de, D: serde::Deserializer<'de>>(from: D) -> Result<u64, D::Error> {
        let text: String = serde::Deserialize::deserialize(from)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

fn main() {}
