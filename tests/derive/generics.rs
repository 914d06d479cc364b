//! Structs with type parameters and where clauses.

use std::fmt::Debug;

use dynalock::{Versioned, private::Model};
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use crate::key;

#[derive(Debug, PartialEq, Serialize, Deserialize, Versioned)]
#[dynalock(table = "envelopes")]
struct Envelope<P>
where
    P: Clone,
{
    #[dynalock(partition_key)]
    id: String,
    payload: P,
}

#[test]
fn a_where_clause_passes_through() {
    let envelope = Envelope { id: "a".to_owned(), payload: 7 };

    assert_eq!(Envelope::<u8>::MODEL, Envelope::<String>::MODEL);
    assert_eq!(key::<Envelope<i32>>("a"), envelope.key());
    assert_eq!(key::<Envelope<i32>>(&envelope), envelope.key());
}

/// A generic caller names only the bounds that the item needs.
fn model<P>() -> &'static Model
where
    P: Clone + Serialize + DeserializeOwned + Send + Sync + 'static,
{
    Envelope::<P>::MODEL
}

#[test]
fn a_generic_caller_needs_only_what_an_item_needs() {
    assert_eq!(model::<Vec<u8>>().table, "envelopes");
}

#[derive(Debug, PartialEq, Serialize, Deserialize, Versioned)]
#[serde(bound(serialize = "P: Serialize", deserialize = "P: DeserializeOwned"))]
#[dynalock(table = "measurements")]
struct Measurement<P: Debug + Default = u32, const CHANNELS: usize = 4> {
    #[dynalock(partition_key)]
    sensor: String,
    #[dynalock(version)]
    rev: u64,
    values: Vec<P>,
}

#[test]
fn bounds_defaults_and_constants_pass_through() {
    let mut measurement = Measurement::<u8, 2> { sensor: "a".to_owned(), rev: 0, values: vec![1, 2] };
    measurement.mirror_version(3);

    assert_eq!(measurement.rev, 3);
    assert_eq!(key::<Measurement>("a"), measurement.key());
}

mod shelf {
    pub(super) struct P;
}

/// `shelf::P` is not the type parameter `P`.
type Named = <shelf::P as Name>::Of;

trait Name {
    type Of;
}

impl Name for shelf::P {
    type Of = String;
}

#[derive(Debug, PartialEq, Serialize, Deserialize, Versioned)]
#[dynalock(table = "labels", index(name = "by_name", partition_key = "name", sort_key = "id"))]
struct Label<P> {
    #[dynalock(partition_key)]
    id: <shelf::P as Name>::Of,
    #[dynalock(sort_key)]
    name: Named,
    payload: P,
}

#[test]
fn the_type_of_a_key_may_be_a_path_that_ends_like_a_parameter() {
    let label = Label { id: "a".to_owned(), name: "b".to_owned(), payload: 1 };
    assert_eq!(key::<Label<i32>>(("a", "b")), label.key());
    assert_eq!(Label::<i32>::INDEX.by_name.name(), "by_name");
}
