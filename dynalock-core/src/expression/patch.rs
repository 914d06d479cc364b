//! The content of a patch (a write of single attributes): the changes of attributes, and the
//! condition that the caller has added.

use std::sync::Arc;

use aws_sdk_dynamodb::types::AttributeValue;
use serde::Serialize;

use super::{
    AsOperand, Condition, DocumentPath, List, Missing, Number, PatchFault, PatchTexts, Place, Placeholders, Set,
    SetElement,
    change::{ChangeKind, ListEnd, PatchChange, Presence},
    update_operand::sealed::Addition,
};
use crate::{
    codec::{Item, encode_attribute, size_of},
    error::{CodecError, Error, InvalidPatch, SerdeError, SerdeResult},
};

pub(crate) struct PatchContent<T> {
    changes: Vec<PatchChange>,
    condition: Option<Condition<T>>,
}

const NOT_FINITE: &str = "it is not a finite number, and DynamoDB stores no others";

impl<T> Default for PatchContent<T> {
    fn default() -> Self {
        Self { changes: Vec::new(), condition: None }
    }
}

impl<T> PatchContent<T> {
    pub(crate) fn set<P: Place<Item = T>>(&mut self, place: P, value: &impl AsOperand<P::Value>) {
        let value = encode_attribute(&value.as_operand());
        self.push(place.into_path().document, value.map(ChangeKind::Set));
    }

    pub(crate) fn set_if_absent<P: Place<Item = T>>(&mut self, place: P, value: &impl AsOperand<P::Value>) {
        let value = encode_attribute(&value.as_operand());
        self.push(place.into_path().document, value.map(ChangeKind::SetIfAbsent));
    }

    pub(crate) fn add<P>(&mut self, place: P, delta: <P::Value as Number>::Delta)
    where
        P: Place<Item = T, Value: Number>,
    {
        let path = place.into_path();
        let (start, presence) = match path.missing {
            // The patch never uses the start value zero, because DynamoDB refuses the patch if the
            // attribute is missing.
            Missing::Refused => (P::Value::zero(), Presence::Required),
            Missing::Empty => (P::Value::zero(), Presence::Optional),
            Missing::Default(default) => (default(), Presence::Optional),
        };
        let sum = start.add(delta).ok_or_else(|| SerdeError::not_storable(NOT_FINITE));
        self.push(path.document, sum.map(|sum| ChangeKind::Add(Box::new(sum), presence)));
    }

    pub(crate) fn extend<P, E>(&mut self, end: ListEnd, place: P, elements: impl IntoIterator<Item = E>)
    where
        P: Place<Item = T, Value: List + Serialize>,
        E: AsOperand<<P::Value as List>::Element>,
    {
        let path = place.into_path();
        let elements = elements.into_iter().map(|element| encode_attribute(&element.as_operand()));
        let change = elements.collect::<SerdeResult<Vec<_>>>().and_then(|elements| {
            let start = match path.missing {
                Missing::Refused => None,
                Missing::Empty => Some(Vec::new()),
                Missing::Default(default) => Some(elements_of(encode_attribute(&default())?)),
            };
            Ok(ChangeKind::Extend(end, elements, start))
        });
        if !matches!(&change, Ok(ChangeKind::Extend(_, elements, _)) if elements.is_empty()) {
            self.push(path.document, change);
        }
    }

    pub(crate) fn insert<P, E>(&mut self, place: P, elements: impl IntoIterator<Item = E>)
    where
        P: Place<Item = T, Value: Set>,
        E: SetElement<P::Value>,
    {
        let path = place.into_path();
        let presence = match path.missing {
            Missing::Refused => Presence::Required,
            Missing::Empty | Missing::Default(_) => Presence::Optional,
        };
        self.change_set(path.document, set_of::<P::Value, E>(elements), |set| ChangeKind::Insert(set, presence));
    }

    pub(crate) fn delete<P, E>(&mut self, place: P, elements: impl IntoIterator<Item = E>)
    where
        P: Place<Item = T, Value: Set>,
        E: SetElement<P::Value>,
    {
        self.change_set(place.into_path().document, set_of::<P::Value, E>(elements), ChangeKind::Delete);
    }

    fn change_set(
        &mut self,
        path: DocumentPath,
        set: SerdeResult<Option<AttributeValue>>,
        change: impl FnOnce(AttributeValue) -> ChangeKind,
    ) {
        // DynamoDB refuses an empty set, so the patch leaves out a change with an empty set.
        if let Some(set) = set.transpose() {
            self.push(path, set.map(change));
        }
    }

    pub(crate) fn remove<P: Place<Item = T>>(&mut self, place: P) {
        self.push(place.into_path().document, Ok(ChangeKind::Remove));
    }

    pub(crate) fn when(&mut self, condition: Condition<T>) {
        self.condition = Some(match self.condition.take() {
            Some(earlier) => earlier.and(condition),
            None => condition,
        });
    }

    fn push(&mut self, path: DocumentPath, kind: SerdeResult<ChangeKind>) {
        let kind = kind.unwrap_or_else(ChangeKind::Fault);
        self.changes.push(PatchChange { path, kind });
    }

    pub(crate) fn condition(&self) -> Option<&Condition<T>> {
        self.condition.as_ref()
    }

    pub(crate) fn check(&self, table: &Arc<str>) -> Result<(), Error> {
        let invalid = |why| Err(Error::InvalidPatch { table: Arc::clone(table), why });
        if self.changes.is_empty() {
            return invalid(InvalidPatch::Empty);
        }
        for (index, PatchChange { path, kind }) in self.changes.iter().enumerate() {
            if let ChangeKind::Fault(error) = kind {
                let error = error.clone().in_field(&path.to_string());
                return Err(Error::Encode(CodecError::new(Arc::clone(table), error)));
            }
            if matches!(kind, ChangeKind::Add(sum, _) if sum.range.is_none()) {
                return invalid(InvalidPatch::OutOfRange { attribute: path.to_string() });
            }
            if matches!(kind, ChangeKind::Insert(..) | ChangeKind::Delete(_)) && !path.is_top_level() {
                return invalid(InvalidPatch::NestedSet { attribute: path.to_string() });
            }
            // DynamoDB would refuse overlapping changes, but DynamoDB's error would not name both
            // attributes.
            if let Some(other) = self.changes[..index].iter().find(|other| other.path.overlaps(path)) {
                let (first, second) = (other.path.to_string(), path.to_string());
                return invalid(InvalidPatch::Overlap { first, second });
            }
        }
        Ok(())
    }

    pub(crate) fn size(&self) -> usize {
        let size = |change: &PatchChange| match &change.kind {
            ChangeKind::Set(value) | ChangeKind::SetIfAbsent(value) | ChangeKind::Insert(value, _) => size_of(value),
            ChangeKind::Extend(_, elements, _) => elements.iter().map(size_of).sum(),
            // The sum of an addition is not known before the write, so `size` counts the delta.
            ChangeKind::Add(sum, _) => size_of(&sum.delta),
            ChangeKind::Delete(_) | ChangeKind::Remove | ChangeKind::Fault(_) => 0,
        };
        self.changes.iter().map(size).sum()
    }

    /// Returns the indexes of the changes that replace a null in `item`. The first request of a
    /// patch has a condition that is false for a stored null, so a second request replaces the
    /// null.
    pub(crate) fn nulls(&self, item: &Item) -> Vec<usize> {
        let is_null = |change: &PatchChange| {
            change.path.find(item).is_some_and(AttributeValue::is_null) && change.value_over_null().is_some()
        };
        self.changes.iter().enumerate().filter(|(_, change)| is_null(change)).map(|(index, _)| index).collect()
    }

    /// `nulls` contains the indexes of the changes whose attribute is stored as a null. The patch
    /// changes these attributes as if they were missing.
    pub(crate) fn render(&self, nulls: &[usize], table: &Arc<str>, to: &mut Placeholders) -> Result<PatchTexts, Error> {
        let mut texts = PatchTexts::default();
        for (index, change) in self.changes.iter().enumerate() {
            change.render(nulls.contains(&index), &mut texts, to);
        }
        if let Some(condition) = &self.condition {
            texts.conditions.push(condition.render(table, to)?);
        }
        Ok(texts)
    }

    /// Returns the path of the first change that the item does not allow, with the reason.
    pub(crate) fn fault(&self, item: &Item) -> Option<(String, PatchFault)> {
        self.changes.iter().find_map(|change| change.fault(item).map(|fault| (change.path.to_string(), fault)))
    }

    /// Applies the changes to `item`. The caller must first make sure that [`fault`](Self::fault)
    /// returns `None` for `item`. `apply` fails only if a sum has more digits than DynamoDB stores.
    pub(crate) fn apply(&self, item: &mut Item) -> Result<(), (String, PatchFault)> {
        // DynamoDB evaluates all changes of an update on the state of the item before the update.
        let after = self.changes.iter().map(|change| {
            let value = change.value_after(item).map_err(|fault| (change.path.to_string(), fault))?;
            Ok((&change.path, value))
        });
        let (set, mut removed): (Vec<_>, Vec<_>) =
            after.collect::<Result<Vec<_>, _>>()?.into_iter().partition(|(_, value)| value.is_some());
        // The removal of a list element changes the indexes of all later elements in the list. The
        // loop removes later elements first, so that the indexes of earlier elements stay valid.
        removed.sort_by(|(one, _), (other, _)| other.names().cmp(one.names()));
        for (path, value) in set.into_iter().chain(removed) {
            path.put(item, value);
        }
        Ok(())
    }
}

/// The encoded default of an `Option` field can be a null instead of a list.
fn elements_of(list: AttributeValue) -> Vec<AttributeValue> {
    match list {
        AttributeValue::L(elements) => elements,
        _ => Vec::new(),
    }
}

/// Returns `None` if `elements` is empty, because DynamoDB has no empty set.
fn set_of<S: Set, E: SetElement<S>>(elements: impl IntoIterator<Item = E>) -> SerdeResult<Option<AttributeValue>> {
    let elements = elements.into_iter().map(|element| encode_attribute(&element.as_element()));
    let elements: Vec<_> = elements.collect::<SerdeResult<_>>()?;
    if elements.is_empty() {
        return Ok(None);
    }
    let set = S::collect(elements).ok_or_else(|| SerdeError::not_storable("it is not an element of the set"))?;
    Ok(Some(set))
}
