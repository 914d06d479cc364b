//! Types that cannot be a key attribute.

use dynalock::{KeyAttribute, Versioned};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, KeyAttribute)]
struct Fields {
    id: String,
}

#[derive(Serialize, Deserialize, KeyAttribute)]
struct Pair(String, u64);

#[derive(Serialize, Deserialize, KeyAttribute)]
struct Unit;

#[derive(Serialize, Deserialize, KeyAttribute)]
struct ListOfBytes(Vec<u8>);

#[derive(Serialize, Deserialize, KeyAttribute)]
struct Array([u8; 4]);

#[derive(Serialize, Deserialize, KeyAttribute)]
struct Hex(#[serde(with = "hex")] u64);

#[derive(Serialize, Deserialize, KeyAttribute)]
struct Float(f64);

#[derive(Clone, Serialize, Deserialize, KeyAttribute)]
#[serde(into = "f64")]
struct IntoFloat(f64);

impl From<IntoFloat> for f64 {
    fn from(float: IntoFloat) -> Self {
        float.0
    }
}

#[derive(Serialize, Deserialize, KeyAttribute)]
enum Shape {
    Empty,
    Circle(u64),
    Square { side: u64 },
}

#[derive(Serialize, Deserialize, KeyAttribute)]
#[serde(tag = "type")]
enum Tagged {
    Open,
}

#[derive(Serialize, Deserialize, KeyAttribute)]
#[serde(untagged)]
enum Untagged {
    Open,
}

#[derive(Serialize, Deserialize, KeyAttribute)]
enum Spellings {
    #[serde(alias = "opened")]
    Open,
    #[serde(rename(serialize = "paid"))]
    Paid,
    #[serde(skip)]
    Cached,
    #[serde(other)]
    Other,
}

#[derive(Serialize, Deserialize, KeyAttribute)]
#[serde(rename_all(serialize = "lowercase"))]
enum Rules {
    Open,
}

#[derive(Serialize, Deserialize, KeyAttribute)]
enum Never {}

#[derive(KeyAttribute)]
enum NeitherUnitNorSerde {
    Circle(u64),
}

#[derive(Serialize, Deserialize, KeyAttribute)]
#[dynalock(table = "skus")]
struct Sku(String);

#[derive(Serialize, Deserialize, Versioned)]
#[dynalock(table = "orders")]
struct NothingElseFails {
    #[dynalock(partition_key)]
    id: Shape,
    #[dynalock(sort_key)]
    number: Pair,
}

macro_rules! newtype {
    ($name:ident($ty:ty)) => {
        #[derive(Serialize, Deserialize, KeyAttribute)]
        struct $name($ty);
    };
}

newtype!(ListFromMacro(Vec<u8>));

mod hex {
    pub fn serialize<S: serde::Serializer>(number: &u64, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(&format_args!("{number:x}"))
    }

    pub fn deserialize<'de, D: serde::Deserializer<'de>>(from: D) -> Result<u64, D::Error> {
        serde::Deserialize::deserialize(from)
    }
}

fn main() {}
