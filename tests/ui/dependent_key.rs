//! The key type has no parameters.

use dynalock::Versioned;
use serde::{Deserialize, Serialize};

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
