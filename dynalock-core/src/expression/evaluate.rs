//! Evaluates conditions on an item, as DynamoDB does.
//!
//! After a refusal, DynamoDB returns the item that made the condition false, but does not name the
//! part of the condition that was false. To find the false part, the library evaluates each part of
//! the condition on the item that DynamoDB returned.

use std::{cmp::Ordering, collections::BTreeSet};

use aws_sdk_dynamodb::{primitives::Blob, types::AttributeValue};

use super::user::{Operand, Test};
use crate::{
    codec::{Item, type_of},
    number,
};

impl Test {
    pub(super) fn is_true(&self, item: &Item) -> bool {
        match self {
            Self::Exists(path) => path.find(item).is_some(),
            Self::Absent(path) => path.find(item).is_none(),
            Self::Compare(left, operator, right) => match left.value(item) {
                Some(left) => compare(&left, operator, right),
                // A missing attribute has no value, and a number, for example, has no size. A
                // comparison of a missing value or size is true only with the operator `<>`.
                None => *operator == "<>",
            },
            Self::Between(left, low, high) => left.value(item).is_some_and(|value| is_between(&value, low, high)),
            Self::In(path, operands) => {
                path.find(item).is_some_and(|value| operands.iter().any(|operand| equal(value, operand)))
            }
            Self::Function(function, path, operand) => {
                path.find(item).is_some_and(|value| apply(function, value, operand))
            }
            // The library never sends a condition with a `Fault` to DynamoDB.
            Self::Fault(..) => false,
            Self::All(tests) => tests.iter().all(|test| test.is_true(item)),
            Self::Any(tests) => tests.iter().any(|test| test.is_true(item)),
            Self::Not(test) => !test.is_true(item),
        }
    }
}

impl Operand {
    fn value(&self, item: &Item) -> Option<AttributeValue> {
        match self {
            Self::Value(path) => path.find(item).cloned(),
            Self::Size(path) => path.find(item).and_then(size).map(|size| AttributeValue::N(size.to_string())),
        }
    }
}

pub(super) fn size(value: &AttributeValue) -> Option<usize> {
    match value {
        // DynamoDB Local counts the size of a string in UTF-16 code units, and not in bytes.
        AttributeValue::S(text) => Some(text.encode_utf16().count()),
        AttributeValue::B(bytes) => Some(bytes.as_ref().len()),
        AttributeValue::L(list) => Some(list.len()),
        AttributeValue::M(map) => Some(map.len()),
        AttributeValue::Ss(set) | AttributeValue::Ns(set) => Some(set.len()),
        AttributeValue::Bs(set) => Some(set.len()),
        _ => None,
    }
}

fn compare(left: &AttributeValue, operator: &str, right: &AttributeValue) -> bool {
    match operator {
        "=" => equal(left, right),
        "<>" => !equal(left, right),
        _ => order(left, right).is_some_and(|order| match operator {
            "<" => order.is_lt(),
            "<=" => order.is_le(),
            ">" => order.is_gt(),
            _ => order.is_ge(),
        }),
    }
}

pub(super) fn is_between(value: &AttributeValue, low: &AttributeValue, high: &AttributeValue) -> bool {
    compare(value, ">=", low) && compare(value, "<=", high)
}

fn order(left: &AttributeValue, right: &AttributeValue) -> Option<Ordering> {
    match (left, right) {
        // DynamoDB orders strings by UTF-8 bytes, and not by the rules of a human language.
        (AttributeValue::S(left), AttributeValue::S(right)) => Some(left.as_bytes().cmp(right.as_bytes())),
        (AttributeValue::N(left), AttributeValue::N(right)) => number::compare(left, right),
        (AttributeValue::B(left), AttributeValue::B(right)) => Some(left.as_ref().cmp(right.as_ref())),
        _ => None,
    }
}

fn equal(left: &AttributeValue, right: &AttributeValue) -> bool {
    match (left, right) {
        (AttributeValue::N(left), AttributeValue::N(right)) => same_number(left, right),
        (AttributeValue::L(left), AttributeValue::L(right)) => {
            left.len() == right.len() && left.iter().zip(right).all(|(left, right)| equal(left, right))
        }
        (AttributeValue::M(left), AttributeValue::M(right)) => {
            let same = |(name, left): (&String, _)| right.get(name).is_some_and(|right| equal(left, right));
            left.len() == right.len() && left.iter().all(same)
        }
        (AttributeValue::Ss(left), AttributeValue::Ss(right)) => texts(left) == texts(right),
        (AttributeValue::Ns(left), AttributeValue::Ns(right)) => numbers(left) == numbers(right),
        (AttributeValue::Bs(left), AttributeValue::Bs(right)) => blobs(left) == blobs(right),
        (left, right) => left == right,
    }
}

fn same_number(left: &str, right: &str) -> bool {
    number::compare(left, right) == Some(Ordering::Equal)
}

pub(super) fn texts(set: &[String]) -> BTreeSet<String> {
    set.iter().cloned().collect()
}

/// In a DynamoDB set, two notations of one number, for example `1` and `1.0`, are equal elements.
pub(super) fn numbers(set: &[String]) -> BTreeSet<String> {
    set.iter().cloned().map(number::canonical).collect()
}

pub(super) fn blobs(set: &[Blob]) -> BTreeSet<&[u8]> {
    set.iter().map(AsRef::as_ref).collect()
}

fn apply(function: &str, value: &AttributeValue, operand: &AttributeValue) -> bool {
    match function {
        "attribute_type" => operand.as_s().is_ok_and(|expected| expected == type_of(value)),
        "begins_with" => match (value, operand) {
            (AttributeValue::S(text), AttributeValue::S(prefix)) => text.starts_with(prefix),
            (AttributeValue::B(bytes), AttributeValue::B(prefix)) => bytes.as_ref().starts_with(prefix.as_ref()),
            _ => false,
        },
        _ => contains(value, operand),
    }
}

fn contains(value: &AttributeValue, part: &AttributeValue) -> bool {
    match (value, part) {
        (AttributeValue::S(text), AttributeValue::S(part)) => text.contains(part),
        (AttributeValue::B(bytes), AttributeValue::B(part)) => {
            let (bytes, part) = (bytes.as_ref(), part.as_ref());
            // The slice method `windows` panics for a window of zero bytes.
            part.is_empty() || bytes.windows(part.len()).any(|window| window == part)
        }
        (AttributeValue::Ss(set), AttributeValue::S(element)) => set.contains(element),
        (AttributeValue::Ns(set), AttributeValue::N(element)) => set.iter().any(|known| same_number(known, element)),
        (AttributeValue::Bs(set), AttributeValue::B(element)) => set.contains(element),
        (AttributeValue::L(list), element) => list.iter().any(|known| equal(known, element)),
        _ => false,
    }
}
