//! The version and the write ids are the repository's, not fields, except for the one that mirrors the version.

use dynalock::Versioned;
use serde::{Deserialize, Serialize};

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
struct TheVersionUnmarked {
    #[dynalock(partition_key)]
    id: String,
    lock_version: u64,
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
}

#[derive(Serialize, Deserialize, Versioned)]
#[dynalock(table = "orders")]
struct WriteIds {
    #[dynalock(partition_key)]
    id: String,
    _writes: u64,
}

#[derive(Serialize, Deserialize, Versioned)]
#[dynalock(table = "orders", version = "_writes")]
struct TheVersionInTheWriteIds {
    #[dynalock(partition_key)]
    id: String,
}

#[derive(Serialize, Deserialize, Versioned)]
#[dynalock(table = "orders", version = "")]
struct NoName {
    #[dynalock(partition_key)]
    id: String,
}

fn main() {}
