//! A lease lasts from a second to a year.

use dynalock::Versioned;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Versioned)]
#[dynalock(table = "orders")]
#[lockable(ttl = "99999999999999m")]
struct TooManyMinutes {
    #[dynalock(partition_key)]
    id: String,
}

#[derive(Serialize, Deserialize, Versioned)]
#[dynalock(table = "orders")]
#[lockable(ttl = "31622400001ms")]
struct OverAYear {
    #[dynalock(partition_key)]
    id: String,
}

#[derive(Serialize, Deserialize, Versioned)]
#[dynalock(table = "orders")]
#[lockable(ttl = "527040m")]
struct AYear {
    #[dynalock(partition_key)]
    id: String,
}

#[derive(Serialize, Deserialize, Versioned)]
#[dynalock(table = "orders")]
#[lockable(ttl = "0s")]
struct NoTime {
    #[dynalock(partition_key)]
    id: String,
}

fn main() {}
