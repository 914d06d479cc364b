//! The types of the fields with times, which rustc checks.

use std::time::SystemTime;

use dynalock::Versioned;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Versioned)]
#[dynalock(table = "sessions")]
struct Session {
    #[dynalock(partition_key)]
    id: String,
    #[dynalock(created_at)]
    created: SystemTime,
    #[dynalock(updated_at)]
    updated: u32,
    #[dynalock(expires)]
    until: String,
}

#[derive(Serialize, Deserialize, Versioned)]
#[dynalock(table = "sessions")]
struct AllAreFine {
    #[dynalock(partition_key)]
    id: String,
    #[dynalock(created_at)]
    created: Option<u64>,
    #[dynalock(updated_at = "millis")]
    updated: i64,
    #[dynalock(expires)]
    #[serde(skip_serializing_if = "Option::is_none")]
    until: Option<u32>,
}

fn main() {}
