use dynalock::Versioned;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Versioned)]
#[dynalock(table = "orders")]
#[lockable(tll = "30s")]
struct UnknownKey {
    #[dynalock(partition_key)]
    id: String,
}

#[derive(Serialize, Deserialize, Versioned)]
#[dynalock(table = "orders")]
#[lockable(ttl = 30)]
struct NoUnit {
    #[dynalock(partition_key)]
    id: String,
}

#[derive(Serialize, Deserialize, Versioned)]
#[dynalock(table = "orders")]
#[lockable(ttl = "30")]
struct NoUnitInText {
    #[dynalock(partition_key)]
    id: String,
}

#[derive(Serialize, Deserialize, Versioned)]
#[dynalock(table = "orders")]
#[lockable(owner = "who", until = "who", unit = "minutes", fence = "_writes", beat = "")]
struct Names {
    #[dynalock(partition_key)]
    id: String,
}

#[derive(Serialize, Deserialize, Versioned)]
#[dynalock(table = "orders")]
#[lockable(until = "lockTime", until = "again")]
#[lockable]
struct Twice {
    #[dynalock(partition_key)]
    id: String,
}

#[derive(Serialize, Deserialize, Versioned)]
#[serde(rename_all = "camelCase")]
#[dynalock(table = "orders")]
#[lockable(owner = "lockedBy")]
struct FieldOfThatName {
    #[dynalock(partition_key)]
    id: String,
    locked_by: String,
}

#[derive(Serialize, Deserialize, Versioned)]
#[dynalock(table = "orders")]
#[lockable(separate = "yes", separate)]
struct SeparateHow {
    #[dynalock(partition_key)]
    id: String,
}

#[derive(Serialize, Deserialize, Versioned)]
#[dynalock(table = "orders")]
#[lockable(tombstone)]
struct UnknownFlag {
    #[dynalock(partition_key)]
    id: String,
}

#[derive(Serialize, Deserialize, Versioned)]
#[dynalock(table = "orders")]
struct NotLockable {
    #[dynalock(partition_key)]
    id: String,
}

fn lock(orders: dynalock::Repository<NotLockable>) {
    drop(orders.lock("a"));
}

fn main() {}
