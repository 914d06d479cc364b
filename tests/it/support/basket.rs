//! An item with an attribute of each kind that a patch can change.

use std::collections::{BTreeMap, BTreeSet};

use dynalock::{Attributes, Versioned};
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Versioned)]
#[dynalock(table = "baskets")]
pub(crate) struct Basket {
    #[dynalock(partition_key)]
    pub(crate) id: String,
    pub(crate) count: u32,
    #[serde(default = "seven")]
    pub(crate) small: u8,
    pub(crate) balance: i64,
    pub(crate) price: f64,
    pub(crate) limit: Option<u32>,
    #[serde(default = "five")]
    pub(crate) bonus: Option<u32>,
    pub(crate) note: Option<String>,
    #[serde(alias = "label")]
    pub(crate) title: String,
    pub(crate) history: Vec<String>,
    #[serde(default)]
    pub(crate) marks: Vec<u32>,
    #[serde(default, with = "serde_dynamo::string_set", skip_serializing_if = "BTreeSet::is_empty")]
    pub(crate) tags: BTreeSet<String>,
    #[serde(with = "serde_dynamo::number_set")]
    pub(crate) sizes: BTreeSet<u32>,
    pub(crate) address: Address,
    pub(crate) prices: BTreeMap<String, u32>,
    pub(crate) parts: Vec<Part>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Attributes)]
pub(crate) struct Address {
    #[serde(alias = "town")]
    pub(crate) city: String,
    pub(crate) floor: Option<i8>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Attributes)]
pub(crate) struct Part {
    pub(crate) name: String,
    pub(crate) quantity: u16,
}

#[expect(clippy::unnecessary_wraps, reason = "serde needs a function of the type of the field")]
fn five() -> Option<u32> {
    Some(5)
}

fn seven() -> u8 {
    7
}

impl Basket {
    pub(crate) fn new(id: &str) -> Self {
        Self {
            id: id.to_owned(),
            count: 10,
            small: 1,
            balance: 0,
            price: 1.5,
            limit: None,
            bonus: Some(1),
            note: Some("fragile".to_owned()),
            title: "basket".to_owned(),
            history: vec!["made".to_owned()],
            marks: vec![],
            tags: BTreeSet::from(["new".to_owned()]),
            sizes: BTreeSet::from([1, 2]),
            address: Address { city: "Bergen".to_owned(), floor: None },
            prices: BTreeMap::from([("eur".to_owned(), 3)]),
            parts: vec![Part { name: "lid".to_owned(), quantity: 1 }],
        }
    }
}
