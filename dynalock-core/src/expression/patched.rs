//! Applies a patch to an item in memory, as DynamoDB does.

use aws_sdk_dynamodb::{primitives::Blob, types::AttributeValue};

use super::{
    change::{ChangeKind, ListEnd, PatchChange, PatchFault},
    evaluate::{blobs, numbers, size, texts},
};
use crate::{codec::Item, number};

const TOO_PRECISE: &str = "the sum has more than 38 digits, and DynamoDB stores no more";

impl PatchChange {
    /// Returns the value after the change, or `None` if the change removes the value.
    /// [`fault`](Self::fault) must return `None` for `item`.
    pub(super) fn value_after(&self, item: &Item) -> Result<Option<AttributeValue>, PatchFault> {
        let stored = self.path.find(item);
        if let (true, Some(value)) = (stored.is_some_and(AttributeValue::is_null), self.value_over_null()) {
            return Ok(Some(value));
        }
        Ok(match (&self.kind, stored) {
            (ChangeKind::Set(value), _) | (ChangeKind::SetIfAbsent(value), None) => Some(value.clone()),
            (ChangeKind::Add(sum, _), Some(stored)) => {
                let numbers = stored.as_n().ok().zip(sum.delta.as_n().ok());
                let sum = numbers.and_then(|(stored, delta)| number::sum(stored, delta));
                Some(AttributeValue::N(sum.ok_or(PatchFault::Unfit(TOO_PRECISE))?))
            }
            (ChangeKind::Add(sum, _), None) => sum.start.as_ref().map(|(_, sum)| sum.clone()),
            (ChangeKind::Extend(end, elements, start), stored) => {
                let list = stored.and_then(|stored| stored.as_l().ok()).or(start.as_ref());
                let (list, new) = (list.map_or(&[][..], Vec::as_slice), elements.as_slice());
                Some(AttributeValue::L(match end {
                    ListEnd::Front => [new, list].concat(),
                    ListEnd::Back => [list, new].concat(),
                }))
            }
            (ChangeKind::Insert(set, _), Some(stored)) => Some(united(stored, set)),
            (ChangeKind::Insert(set, _), None) => Some(set.clone()),
            // DynamoDB has no empty set.
            (ChangeKind::Delete(set), Some(stored)) => Some(without(stored, set)).filter(|left| size(left) != Some(0)),
            (ChangeKind::SetIfAbsent(_) | ChangeKind::Fault(_), stored) => stored.cloned(),
            (ChangeKind::Delete(_), None) | (ChangeKind::Remove, _) => None,
        })
    }
}

/// `one` and `other` must be sets of the same type.
fn united(one: &AttributeValue, other: &AttributeValue) -> AttributeValue {
    match (one, other) {
        (AttributeValue::Ss(one), AttributeValue::Ss(other)) => {
            AttributeValue::Ss(texts(one).union(&texts(other)).cloned().collect())
        }
        (AttributeValue::Ns(one), AttributeValue::Ns(other)) => {
            AttributeValue::Ns(numbers(one).union(&numbers(other)).cloned().collect())
        }
        (AttributeValue::Bs(one), AttributeValue::Bs(other)) => {
            AttributeValue::Bs(blobs(one).union(&blobs(other)).map(|bytes| Blob::new(*bytes)).collect())
        }
        (one, _) => one.clone(),
    }
}

/// `set` and `gone` must be sets of the same type.
fn without(set: &AttributeValue, gone: &AttributeValue) -> AttributeValue {
    match (set, gone) {
        (AttributeValue::Ss(set), AttributeValue::Ss(gone)) => {
            AttributeValue::Ss(texts(set).difference(&texts(gone)).cloned().collect())
        }
        (AttributeValue::Ns(set), AttributeValue::Ns(gone)) => {
            AttributeValue::Ns(numbers(set).difference(&numbers(gone)).cloned().collect())
        }
        (AttributeValue::Bs(set), AttributeValue::Bs(gone)) => {
            AttributeValue::Bs(blobs(set).difference(&blobs(gone)).map(|bytes| Blob::new(*bytes)).collect())
        }
        (set, _) => set.clone(),
    }
}
