//! The settings in the attributes of the struct.

use std::time::Duration;

use dynalock::{
    Versioned,
    private::{Aliases, KeptTimes, KeyModel, LockModel, LockPlace, Model, TimeModel, TimeUnit, TimesModel},
    table::KeyType,
};
use serde::{Deserialize, Serialize};

#[derive(Debug, PartialEq, Serialize, Deserialize, Versioned)]
#[dynalock(table = "orders", version = "rev", write_ids = 8, show_key)]
struct Order {
    #[dynalock(partition_key)]
    customer: String,
    #[dynalock(sort_key)]
    number: u64,
    #[serde(alias = "sum", alias = "amount")]
    total: u64,
}

#[test]
fn what_is_said_is_in_the_model() {
    assert_eq!(
        *Order::MODEL,
        Model {
            table: "orders",
            partition_key: KeyModel { name: "customer", key_type: KeyType::S },
            sort_key: Some(KeyModel { name: "number", key_type: KeyType::N }),
            version: "rev",
            version_is_field: false,
            times: TimesModel::NONE,
            write_ids: 8,
            attributes: &["amount", "customer", "number", "sum", "total"],
            show_key: true,
            aliases: &[Aliases { attribute: "total", aliases: &["amount", "sum"] }],
            flattens: false,
            lock: None,
            indexes: &[],
        }
    );
}

#[derive(Debug, PartialEq, Serialize, Deserialize, Versioned)]
#[dynalock(table = "counters")]
struct Counter {
    #[dynalock(partition_key)]
    id: u32,
}

#[test]
fn what_is_not_said_has_a_default() {
    assert_eq!(
        *Counter::MODEL,
        Model {
            table: "counters",
            partition_key: KeyModel { name: "id", key_type: KeyType::N },
            sort_key: None,
            version: "_version",
            version_is_field: false,
            times: TimesModel::NONE,
            write_ids: 16,
            attributes: &["id"],
            show_key: false,
            aliases: &[],
            flattens: false,
            lock: None,
            indexes: &[],
        }
    );
}

#[derive(Debug, PartialEq, Serialize, Deserialize, Versioned)]
#[dynalock(table = "arn:aws:dynamodb:eu-central-1:123456789012:table/documents")]
struct Document {
    #[dynalock(partition_key)]
    id: String,
    #[dynalock(version)]
    #[serde(rename = "lockVersion", default)]
    version: u64,
}

#[test]
fn a_version_field_mirrors_the_version_under_the_name_serde_writes() {
    let mut document = Document { id: "a".to_owned(), version: 3 };
    document.mirror_version(4);
    assert_eq!(document, Document { id: "a".to_owned(), version: 4 });
    assert_eq!((Document::MODEL.version, Document::MODEL.version_is_field), ("lockVersion", true));
}

#[derive(Debug, PartialEq, Serialize, Deserialize, Versioned)]
#[serde(rename_all = "camelCase")]
#[dynalock(table = "sessions")]
struct Session {
    #[dynalock(partition_key)]
    id: String,
    #[dynalock(created_at = "millis")]
    created_at: u64,
    #[serde(rename = "changed")]
    #[dynalock(updated_at = "seconds")]
    updated_at: Option<i64>,
    #[dynalock(expires)]
    valid_until: Option<u32>,
}

#[test]
fn times_have_the_names_that_serde_writes_and_units() {
    let time = |name, unit| Some(TimeModel { name, unit });
    assert_eq!(
        Session::MODEL.times,
        TimesModel {
            created_at: time("createdAt", TimeUnit::Milliseconds),
            updated_at: time("changed", TimeUnit::Seconds),
            expires: time("validUntil", TimeUnit::Seconds),
        }
    );
    let mut session = Session { id: "a".to_owned(), created_at: 3, updated_at: None, valid_until: Some(7) };
    session.mirror_times(KeptTimes { created_at: Some(-1), updated_at: Some(-1) });
    assert_eq!((session.created_at, session.updated_at), (0, Some(-1)), "a `u64` shows no time before 1970");
    session.mirror_times(KeptTimes::default());
    assert_eq!((session.created_at, session.updated_at, session.valid_until), (0, None, Some(7)));
}

#[test]
fn without_a_version_field_nothing_is_mirrored() {
    let mut counter = Counter { id: 1 };
    counter.mirror_version(7);
    assert_eq!(counter, Counter { id: 1 });
}

#[derive(Debug, PartialEq, Serialize, Deserialize, Versioned)]
#[dynalock(table = "elsewhere", crate = "self::renamed::library")]
struct Elsewhere {
    #[dynalock(partition_key)]
    id: String,
}

mod renamed {
    pub(super) use dynalock as library;
}

#[test]
fn the_library_may_be_elsewhere() {
    assert_eq!(Elsewhere::MODEL.table, "elsewhere");
}

macro_rules! item {
    ($name:ident, $table:literal, $renamed:literal, $ids:literal) => {
        #[derive(Serialize, Deserialize, Versioned)]
        #[dynalock(table = $table, write_ids = $ids)]
        struct $name {
            #[dynalock(partition_key)]
            #[serde(rename = $renamed)]
            id: String,
        }
    };
}

item!(Made, "made-by-a-macro", "made_id", 4);

#[test]
fn literals_may_come_from_a_macro() {
    assert_eq!((Made::MODEL.table, Made::MODEL.partition_key.name), ("made-by-a-macro", "made_id"));
    assert_eq!(Made::MODEL.write_ids, 4);
}

#[test]
fn a_struct_may_be_local_to_a_function() {
    #[derive(Serialize, Deserialize, Versioned)]
    #[dynalock(table = "local")]
    struct Local {
        #[dynalock(partition_key)]
        id: String,
    }

    let local = Local { id: "a".to_owned() };
    assert_eq!(local.key(), LocalKey::from("a").into());
    assert_eq!(crate::key::<Local>(&local), local.key());
}

#[derive(Debug, PartialEq, Serialize, Deserialize, Versioned)]
#[dynalock(table = "counters")]
#[lockable]
struct Leased {
    #[dynalock(partition_key)]
    id: u32,
}

#[derive(Debug, PartialEq, Serialize, Deserialize, Versioned)]
#[dynalock(table = "counters")]
#[lockable(ttl = "90s", owner = "lockedBy", until = "lockTime", unit = "seconds")]
struct Shared<T> {
    #[dynalock(partition_key)]
    id: u32,
    content: T,
}

#[derive(Debug, PartialEq, Serialize, Deserialize, Versioned)]
#[dynalock(table = "counters")]
#[lockable(separate)]
struct Beside<T> {
    #[dynalock(partition_key)]
    id: String,
    content: T,
}

#[test]
fn a_lease_has_names_a_time_a_unit_and_a_place() {
    fn lockable<T: dynalock::Lockable>() -> LockModel {
        T::MODEL.lock.expect("a lease")
    }
    let default = LockModel {
        owner: "_owner",
        fence: "_fence",
        beat: "_beat",
        until: "_until",
        released: "_released",
        crashed: "_crashed",
        queue: "_queue",
        turn: "_turn",
        unit: TimeUnit::Milliseconds,
        ttl: Duration::from_secs(20),
        place: LockPlace::Item,
    };
    assert_eq!(lockable::<Leased>(), default);
    assert_eq!(lockable::<Beside<u8>>(), LockModel { place: LockPlace::Separate, ..default });
    let said = LockModel {
        owner: "lockedBy",
        until: "lockTime",
        unit: TimeUnit::Seconds,
        ttl: Duration::from_secs(90),
        ..default
    };
    assert_eq!(lockable::<Shared<String>>(), said);
}
