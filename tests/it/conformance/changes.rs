//! The detection of changes, compared with the items that serde writes before and after.

use std::{
    collections::{BTreeMap, HashMap},
    fmt::Debug,
};

use dynalock::Versioned;
use fastrand::Rng;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::support::{Item, Shop, attributes::json, written_by_the_user};

cases![
    changes_of_scalars_and_options_are_what_serde_writes_differently,
    changes_of_nested_values_are_what_serde_writes_differently,
    changes_of_flattened_values_are_what_serde_writes_differently,
    changes_of_values_with_functions_of_their_own_are_what_serde_writes_differently,
    a_map_in_another_order_is_no_change,
];

/// A type whose values a seed makes and changes.
trait Mutable: Versioned + Clone + PartialEq + Debug {
    fn draw(rng: &mut Rng) -> Self;

    /// Changes a part of the value, or nothing.
    fn mutate(&mut self, rng: &mut Rng);
}

/// Writes random changes, and compares each request with the difference of serde's items.
async fn agrees_with_serde<T: Mutable>(shop: &Shop)
where
    T::Key: From<String>,
{
    let table = shop.table::<T>().await;
    for seed in 0..60 {
        let mut rng = Rng::with_seed(seed);
        let id = seed.to_string();
        let mut stored = table.items.create(T::draw(&mut rng).with_id(&id)).await.unwrap();
        for step in 0..4 {
            let before = stored.clone().into_inner();
            let sent = shop.sent("UpdateItem").len();
            let mut mutation = rng.clone();
            let mut after = before.clone();
            after.mutate(&mut rng);
            stored = if step % 2 == 0 {
                stored.mutate(&mut mutation);
                table.items.update(stored).await.unwrap()
            } else {
                table.items.update_with(id.clone(), |value| value.mutate(&mut mutation)).await.unwrap()
            };
            assert_eq!(*stored, after);
            let expected = difference(&before, &after);
            let updates = shop.sent("UpdateItem");
            match &updates[sent..] {
                [] => assert_eq!(expected, BTreeMap::new(), "{before:?} {after:?}"),
                [update] => assert_eq!(written_by_the_user(update, "_version"), expected, "{before:?} {after:?}"),
                more => panic!("{} updates for one change", more.len()),
            }
            assert_eq!(table.items.get(id.clone()).await.unwrap().as_ref(), Some(&stored));
        }
    }
}

trait WithId: Sized {
    fn with_id(self, id: &str) -> Self;
}

impl<T: Mutable> WithId for T {
    fn with_id(self, id: &str) -> Self {
        let mut json = serde_json::to_value(&self).unwrap();
        json["id"] = id.into();
        serde_json::from_value(json).unwrap()
    }
}

fn difference<T: Serialize>(before: &T, after: &T) -> BTreeMap<String, Option<Value>> {
    let [before, after] = [before, after].map(|value| {
        let item: Item = serde_dynamo::to_item(value).unwrap();
        item
    });
    let changed = after.iter().filter(|(name, value)| before.get(*name).map(json) != Some(json(value)));
    let gone = before.keys().filter(|name| !after.contains_key(*name));
    changed
        .map(|(name, value)| (name.clone(), Some(json(value))))
        .chain(gone.map(|name| (name.clone(), None)))
        .collect()
}

/// Draws a new value for a field, in one of three cases.
fn maybe<F>(rng: &mut Rng, field: &mut F, draw: impl FnOnce(&mut Rng) -> F) {
    if rng.u8(..3) == 0 {
        *field = draw(rng);
    }
}

fn text(rng: &mut Rng) -> String {
    ["0", "x", "1", "größe"][rng.usize(..4)].to_owned()
}

fn map(rng: &mut Rng) -> HashMap<String, i64> {
    (0..rng.usize(..5)).map(|_| (["a", "b", "c", "d"][rng.usize(..4)].to_owned(), rng.i64(..3))).collect()
}

#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, Versioned)]
#[serde(rename_all = "camelCase")]
#[dynalock(table = "scalars")]
struct Scalars {
    #[dynalock(partition_key)]
    id: String,
    a_number: i64,
    a_float: f64,
    a_flag: bool,
    a_text: String,
    a_char: char,
    null_if_none: Option<u8>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[expect(clippy::option_option, reason = "a missing one, a null and a number")]
    absent_if_none: Option<Option<u8>>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    absent_if_empty: Vec<u8>,
    #[serde(skip)]
    never: u64,
}

impl Mutable for Scalars {
    fn draw(rng: &mut Rng) -> Self {
        let mut drawn = Self { a_char: 'a', ..Self::default() };
        drawn.mutate(rng);
        drawn
    }

    fn mutate(&mut self, rng: &mut Rng) {
        maybe(rng, &mut self.a_number, |rng| [0, -1, i64::MIN, i64::MAX][rng.usize(..4)]);
        maybe(rng, &mut self.a_float, |rng| [0.0, 1.0, 1.5, 0.1 + 0.2][rng.usize(..4)]);
        maybe(rng, &mut self.a_flag, Rng::bool);
        maybe(rng, &mut self.a_text, text);
        maybe(rng, &mut self.a_char, |rng| ['a', 'ß'][rng.usize(..2)]);
        maybe(rng, &mut self.null_if_none, |rng| rng.bool().then(|| rng.u8(..2)));
        maybe(rng, &mut self.absent_if_none, |rng| rng.bool().then(|| Some(rng.u8(..2))));
        maybe(rng, &mut self.absent_if_empty, |rng| vec![1; rng.usize(..3)]);
    }
}

async fn changes_of_scalars_and_options_are_what_serde_writes_differently(shop: &Shop) {
    agrees_with_serde::<Scalars>(shop).await;
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
enum Shape {
    Unit,
    Newtype(u8),
    Tuple(u8, String),
    Struct { a: Option<u8>, b: Vec<Shape> },
}

fn shape(rng: &mut Rng) -> Shape {
    match rng.u8(..4) {
        0 => Shape::Unit,
        1 => Shape::Newtype(rng.u8(..2)),
        2 => Shape::Tuple(rng.u8(..2), text(rng)),
        _ => Shape::Struct { a: rng.bool().then_some(1), b: (0..rng.usize(..2)).map(|_| shape(rng)).collect() },
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Versioned)]
#[dynalock(table = "nested")]
struct Nested {
    #[dynalock(partition_key)]
    id: String,
    shape: Shape,
    list: Vec<Shape>,
    map: HashMap<String, i64>,
    deep: BTreeMap<String, Vec<HashMap<String, i64>>>,
    pair: (u8, Option<String>),
    unit: (),
}

impl Mutable for Nested {
    fn draw(rng: &mut Rng) -> Self {
        Self {
            id: String::new(),
            shape: shape(rng),
            list: Vec::new(),
            map: map(rng),
            deep: BTreeMap::from([("x".to_owned(), vec![map(rng), map(rng)])]),
            pair: (0, None),
            unit: (),
        }
    }

    fn mutate(&mut self, rng: &mut Rng) {
        maybe(rng, &mut self.shape, shape);
        maybe(rng, &mut self.list, |rng| (0..rng.usize(..3)).map(|_| shape(rng)).collect());
        maybe(rng, &mut self.map, map);
        if rng.u8(..3) == 0 {
            self.deep.entry(text(rng)).or_default().push(map(rng));
        }
        maybe(rng, &mut self.pair, |rng| (rng.u8(..2), rng.bool().then(|| text(rng))));
    }
}

async fn changes_of_nested_values_are_what_serde_writes_differently(shop: &Shop) {
    agrees_with_serde::<Nested>(shop).await;
}

#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
struct Address {
    street: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    zip: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Versioned)]
#[dynalock(table = "flattened")]
struct Flattened {
    #[dynalock(partition_key)]
    id: String,
    #[serde(flatten)]
    address: Address,
    #[serde(flatten)]
    rest: HashMap<String, i64>,
}

impl Mutable for Flattened {
    fn draw(rng: &mut Rng) -> Self {
        Self { id: String::new(), address: Address::default(), rest: map(rng) }
    }

    fn mutate(&mut self, rng: &mut Rng) {
        maybe(rng, &mut self.address.street, text);
        maybe(rng, &mut self.address.zip, |rng| rng.bool().then(|| text(rng)));
        maybe(rng, &mut self.rest, map);
    }
}

async fn changes_of_flattened_values_are_what_serde_writes_differently(shop: &Shop) {
    agrees_with_serde::<Flattened>(shop).await;
}

mod cents {
    use serde::{Deserialize, Deserializer, Serializer};

    /// Writes dollars as text, so that two values with the same dollars are the same text.
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
    pub(super) fn serialize<S: Serializer>(cents: &u64, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&(cents / 100).to_string())
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse::<u64>().map(|dollars| 100 * dollars).map_err(serde::de::Error::custom)
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Versioned)]
#[dynalock(table = "custom")]
struct Custom {
    #[dynalock(partition_key)]
    id: String,
    #[serde(with = "cents")]
    price: u64,
    #[serde(with = "serde_dynamo::string_set")]
    tags: Vec<String>,
    #[serde(serialize_with = "cents::serialize", deserialize_with = "cents::deserialize")]
    deposit: u64,
}

impl Mutable for Custom {
    fn draw(_: &mut Rng) -> Self {
        Self { id: String::new(), price: 0, tags: vec!["x".to_owned()], deposit: 0 }
    }

    fn mutate(&mut self, rng: &mut Rng) {
        maybe(rng, &mut self.price, |rng| 100 * rng.u64(..3));
        // The set has one member, because DynamoDB returns members in any order.
        maybe(rng, &mut self.tags, |rng| vec!["x".to_owned().min(text(rng))]);
        maybe(rng, &mut self.deposit, |rng| 100 * rng.u64(..2));
    }
}

async fn changes_of_values_with_functions_of_their_own_are_what_serde_writes_differently(shop: &Shop) {
    agrees_with_serde::<Custom>(shop).await;

    // A field that serde does not write is no change.
    let (table, custom) = shop.created(Custom::draw(&mut Rng::with_seed(0)).with_id("a")).await;
    assert_eq!(table.items.update_with("a", |custom| custom.price += 99).await.unwrap().version(), 1);
    assert_eq!(table.items.get("a").await.unwrap(), Some(custom));
}

async fn a_map_in_another_order_is_no_change(shop: &Shop) {
    let table = shop.table::<Nested>().await;
    let names: Vec<String> = (0..50).map(|number| number.to_string()).collect();
    let value = Nested {
        map: names.iter().map(|name| (name.clone(), 1)).collect(),
        deep: BTreeMap::from([("x".to_owned(), vec![names.iter().map(|name| (name.clone(), 1)).collect()])]),
        ..Nested::draw(&mut Rng::with_seed(0)).with_id("a")
    };
    table.items.create(value.clone()).await.unwrap();
    let rebuild = |nested: &mut Nested| {
        nested.map = names.iter().rev().map(|name| (name.clone(), 1)).collect();
        nested.deep =
            BTreeMap::from([("x".to_owned(), vec![names.iter().rev().map(|name| (name.clone(), 1)).collect()])]);
    };
    let same = table.items.update_with("a", rebuild).await.unwrap();
    assert_eq!((same.version(), &*same), (1, &value));
    assert_eq!(shop.counts(["UpdateItem"]), [0]);
}
