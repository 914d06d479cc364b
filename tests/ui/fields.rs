//! Types that the derive refuses: too large numbers, and keys that depend on a type parameter.

use std::collections::HashMap;

use dynalock::Versioned;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Versioned)]
#[dynalock(table = "counters")]
struct Counter {
    #[dynalock(partition_key)]
    id: u128,
    count: i128,
    counts: HashMap<String, Vec<u128>>,
    #[serde(flatten)]
    rest: HashMap<String, i128>,
    #[serde(serialize_with = "text::serialize")]
    read_by_its_type: u128,
}

#[derive(Serialize, Deserialize, Versioned)]
#[dynalock(table = "counters")]
struct TextIsFine {
    #[dynalock(partition_key)]
    id: String,
    #[serde(with = "text")]
    count: u128,
    #[serde(skip)]
    cached: i128,
}

mod text {
    pub fn serialize<S: serde::Serializer>(number: &u128, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(number)
    }

    pub fn deserialize<'de, D: serde::Deserializer<'de>>(from: D) -> Result<u128, D::Error> {
        let text: String = serde::Deserialize::deserialize(from)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

#[derive(Serialize, Deserialize, Versioned)]
#[dynalock(table = "orders")]
struct OfItsParameter<K> {
    #[dynalock(partition_key)]
    id: K,
    #[dynalock(sort_key)]
    number: Wrapped<Box<K>>,
}

#[derive(Serialize, Deserialize, Versioned)]
#[dynalock(table = "orders")]
struct OfItself {
    #[dynalock(partition_key)]
    id: <Self as Named>::Name,
}

type Wrapped<T> = T;

trait Named {
    type Name;
}

impl Named for OfItself {
    type Name = String;
}

fn main() {}
