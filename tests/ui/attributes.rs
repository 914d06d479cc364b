//! Each attribute is written by one field and read back by it. Keys and the version are always there, as their type
//! writes them, and the bookkeeping is the repository's.

use dynalock::Versioned;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Versioned)]
#[dynalock(table = "orders")]
struct NotReadBack {
    #[dynalock(partition_key)]
    id: String,
    #[serde(rename = "id")]
    number: u64,
    #[serde(rename(serialize = "sum", deserialize = "total"))]
    total: u64,
    #[serde(rename(serialize = "currency_code"))]
    currency: String,
    #[serde(skip_deserializing)]
    paid: u64,
    #[serde(rename = "")]
    tax: u64,
    #[serde(flatten, skip_deserializing)]
    address: Address,
}

#[derive(Default, Serialize)]
struct Address {
    city: String,
}

#[derive(Serialize, Deserialize, Versioned)]
#[serde(rename_all(serialize = "camelCase", deserialize = "snake_case"))]
#[dynalock(table = "orders")]
struct NotReadBackByRule {
    #[dynalock(partition_key)]
    order_id: String,
    price_cents: u64,
    #[serde(alias = "taxCents")]
    tax_cents: u64,
}

#[derive(Serialize, Deserialize, Versioned)]
#[dynalock(table = "orders")]
struct ReadFromAnother {
    #[dynalock(partition_key)]
    id: String,
    #[serde(rename(serialize = "sum", deserialize = "total"), alias = "sum")]
    sum: u64,
    #[serde(skip_serializing, rename = "discount")]
    rebate: u64,
    #[serde(default)]
    discount: u64,
    total: u64,
    #[serde(alias = "tax")]
    vat: u64,
    #[serde(default)]
    tax: u64,
}

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
struct SometimesSkippedOrAliased {
    #[serde(skip_serializing_if = "String::is_empty", default, alias = "order_id")]
    #[dynalock(partition_key)]
    id: String,
    #[serde(alias = "version")]
    #[dynalock(version)]
    rev: u64,
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
struct WrittenOtherwise {
    #[serde(rename(serialize = "ID", deserialize = "id"), alias = "ID", with = "hex")]
    #[dynalock(partition_key)]
    id: u64,
    #[serde(rename(deserialize = "no"), serialize_with = "hex::serialize")]
    #[dynalock(sort_key)]
    number: u64,
    #[serde(rename(serialize = "rev"), deserialize_with = "hex::deserialize")]
    #[dynalock(version)]
    version: u64,
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
#[dynalock(table = "orders", version = "rev")]
struct TheVersionTwice {
    #[dynalock(partition_key)]
    id: String,
    #[dynalock(version)]
    version: u64,
}

#[derive(Serialize, Deserialize, Versioned)]
#[serde(rename_all = "camelCase")]
#[dynalock(table = "orders", version = "lockVersion")]
#[lockable(owner = "lockedBy")]
struct KeptNames {
    #[dynalock(partition_key)]
    id: String,
    lock_version: u64,
    locked_by: String,
}

#[derive(Serialize, Deserialize, Versioned)]
#[dynalock(table = "orders")]
struct TheDefaultVersion {
    #[dynalock(partition_key)]
    #[serde(rename = "_version")]
    id: String,
}

#[derive(Serialize, Deserialize, Versioned)]
#[dynalock(table = "orders")]
struct ReadFromTheVersion {
    #[dynalock(partition_key)]
    id: String,
    #[serde(alias = "_version")]
    total: u64,
    _writes: u64,
}

fn main() {}
