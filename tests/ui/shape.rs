//! An item is a struct with named fields that owns its data.

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

fn main() {}
