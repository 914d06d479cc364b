//! Random conditions on random items: the library evaluates each condition with the same result as
//! the engine.

use std::collections::BTreeMap;

use aws_sdk_dynamodb::types::AttributeValue;
use dynalock::{
    Error,
    condition::{Attribute, AttributeType, Condition, NumberSet, StringSet},
    private,
};

use crate::support::{Item, Product, Shop, b, item, n, s};

cases! { the_library_evaluates_conditions_as_the_engine_does }

/// The attributes of the items. Each attribute may have a value of any type, or no value.
const NAMES: [&str; 3] = ["x", "y", "z"];

const TYPES: [AttributeType; 10] = [
    AttributeType::S,
    AttributeType::N,
    AttributeType::B,
    AttributeType::Bool,
    AttributeType::Null,
    AttributeType::L,
    AttributeType::M,
    AttributeType::Ss,
    AttributeType::Ns,
    AttributeType::Bs,
];

struct Draw(fastrand::Rng);

impl Draw {
    fn number(&mut self) -> i64 {
        self.0.i64(-2..3)
    }

    fn text(&mut self) -> String {
        (0..self.0.usize(0..3)).map(|_| ['a', 'b', 'ü'][self.0.usize(0..3)]).collect()
    }

    /// A number in one of its notations.
    fn notation(&mut self) -> AttributeValue {
        let number = self.number();
        AttributeValue::N(match self.0.usize(0..3) {
            0 => format!("{number}.0"),
            1 => format!("{}e-1", number * 10),
            _ => number.to_string(),
        })
    }

    fn value(&mut self, depth: u32) -> AttributeValue {
        match self.0.usize(0..if depth == 0 { 8 } else { 10 }) {
            0 | 1 => self.notation(),
            2 => s(&self.text()),
            3 => b(self.text().as_bytes()),
            4 => AttributeValue::Bool(self.0.bool()),
            5 => AttributeValue::Null(true),
            6 => AttributeValue::Ss(vec!["a".to_owned(), format!("b{}", self.text())]),
            7 => AttributeValue::Ns(vec!["7".to_owned(), self.number().to_string()]),
            8 => AttributeValue::L((0..self.0.usize(0..3)).map(|_| self.value(depth - 1)).collect()),
            _ => {
                let entries = (0..self.0.usize(0..3)).map(|at| (NAMES[at].to_owned(), self.value(depth - 1)));
                AttributeValue::M(entries.collect())
            }
        }
    }

    fn item(&mut self, key: &str) -> Item {
        let mut drawn = item([("sku", s(key)), ("stock", n(0))]);
        for name in NAMES {
            if self.0.u8(0..5) > 0 {
                drawn.insert(name.to_owned(), self.value(2));
            }
        }
        drawn
    }

    fn handle<V>(&mut self) -> Attribute<Product, V> {
        private::attribute(NAMES[self.0.usize(0..3)])
    }

    fn condition(&mut self, depth: u32) -> Condition<Product> {
        if depth > 0 {
            return match self.0.usize(0..4) {
                0 => self.condition(depth - 1).and(self.condition(depth - 1)),
                1 => self.condition(depth - 1).or(self.condition(depth - 1)),
                2 => !self.condition(depth - 1),
                _ => self.condition(0),
            };
        }
        let (number, text) = (self.number(), self.text());
        match self.0.usize(0..26) {
            0 => self.handle::<i64>().eq(number),
            1 => self.handle::<i64>().ne(number),
            2 => self.handle::<i64>().lt(number),
            3 => self.handle::<i64>().le(number),
            4 => self.handle::<i64>().gt(number),
            5 => self.handle::<i64>().ge(number),
            6 => self.handle::<i64>().between(number, number + 2),
            7 => self.handle::<i64>().is_in([number, number + 1]),
            8 => self.handle::<String>().begins_with(text),
            9 => self.handle::<String>().contains(text),
            10 => self.handle::<String>().le(text),
            11 => self.handle::<Option<String>>().eq(None),
            12 => self.handle::<Option<String>>().ne(None),
            13 => self.handle::<i64>().exists(),
            14 => self.handle::<i64>().absent(),
            15 => self.handle::<String>().is_type(TYPES[self.0.usize(0..TYPES.len())]),
            16 => self.handle::<Vec<i64>>().contains(number),
            17 => self.handle::<NumberSet<Vec<i64>>>().contains(number),
            18 => self.handle::<StringSet<Vec<String>>>().contains(text),
            19 => self.handle::<Vec<i64>>().index(self.0.usize(0..2)).ge(number),
            20 => self.handle::<String>().size().ge(self.0.u64(0..6)),
            21 => self.handle::<Vec<i64>>().size().ne(2),
            22 => self.handle::<Vec<i64>>().eq(vec![number]),
            23 => self.handle::<BTreeMap<String, i64>>().ne(BTreeMap::from([("x".to_owned(), number)])),
            24 => self.handle::<BTreeMap<String, i64>>().key(NAMES[self.0.usize(0..3)]).le(number),
            _ => self.handle::<BTreeMap<String, Vec<i64>>>().key("x").index(0).ne(number),
        }
    }
}

async fn the_library_evaluates_conditions_as_the_engine_does(shop: &Shop) {
    let table = shop.table::<Product>().await;
    let mut draw = Draw(fastrand::Rng::with_seed(13));
    let mut counts = [0, 0];
    for round in 0..60 {
        let key = round.to_string();
        let drawn = draw.item(&key);
        table.raw.put(drawn.clone()).await;
        for _ in 0..12 {
            let condition = draw.condition(2);
            let expected = private::is_true(&condition, table.raw.get(&key).await.unwrap());
            let patch = table.items.patch(&*key).add(Product::ATTR.stock, 1).when(condition.clone()).attempts(1).await;
            let found = match patch {
                Ok(_) => true,
                Err(Error::ConditionFailed(_)) => false,
                // The engine refused the patch, and the library does not find a reason.
                Err(Error::Exhausted { .. }) => panic!("false by the engine: {condition:?} on {drawn:?}"),
                Err(error) => panic!("{error:?}: {condition:?} on {drawn:?}"),
            };
            assert_eq!(found, expected, "{condition:?} on {drawn:?}");
            counts[usize::from(found)] += 1;
        }
    }
    assert!(counts.iter().all(|count| *count > 100), "{counts:?}");
}
