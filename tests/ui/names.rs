//! Each attribute is written by one field, and read back by it.

use dynalock::Versioned;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Versioned)]
#[dynalock(table = "orders")]
struct OneNameForTwo {
    #[dynalock(partition_key)]
    id: String,
    #[serde(rename = "id")]
    number: u64,
}

#[derive(Serialize, Deserialize, Versioned)]
#[dynalock(table = "orders")]
struct NotReadBack {
    #[dynalock(partition_key)]
    id: String,
    #[serde(rename(serialize = "sum", deserialize = "total"))]
    total: u64,
    #[serde(rename(serialize = "currency_code"))]
    currency: String,
}

#[derive(Serialize, Deserialize, Versioned)]
#[serde(rename_all(serialize = "camelCase", deserialize = "snake_case"))]
#[dynalock(table = "orders")]
struct NotReadBackByRule {
    #[dynalock(partition_key)]
    id: String,
    price_cents: u64,
    #[serde(alias = "taxCents")]
    tax_cents: u64,
}

#[derive(Serialize, Deserialize, Versioned)]
#[dynalock(table = "orders")]
struct OnlyWritten {
    #[dynalock(partition_key)]
    id: String,
    #[serde(skip_deserializing)]
    total: u64,
}

#[derive(Serialize, Deserialize, Versioned)]
#[dynalock(table = "orders")]
struct AliasOfAnother {
    #[dynalock(partition_key)]
    id: String,
    #[serde(alias = "total")]
    sum: u64,
    #[serde(default)]
    total: u64,
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
}

#[derive(Serialize, Deserialize, Versioned)]
#[dynalock(table = "orders")]
struct Nameless {
    #[dynalock(partition_key)]
    id: String,
    #[serde(rename = "")]
    total: u64,
}

#[derive(Serialize, Deserialize, Versioned)]
#[dynalock(table = "orders")]
struct FlattenedAndNotRead {
    #[dynalock(partition_key)]
    id: String,
    #[serde(flatten, skip_deserializing)]
    address: Address,
}

#[derive(Default, Serialize)]
struct Address {
    city: String,
}

fn main() {}
