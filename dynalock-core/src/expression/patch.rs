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

/// The changes and the condition of a patch for items of type `T`.
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
            // The condition of the request requires that the attribute exists, so the patch never
            // adds to this zero.
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
                // Serde reads a missing attribute as the default of the field, so the patch uses
                // the default of the field as the start value.
                Missing::Default(default) => Some(elements_of(encode_attribute(&default())?)),
            };
            Ok(ChangeKind::Extend(end, elements, start))
        });
        // A change that adds no elements would have no effect, so the patch does not contain the
        // change.
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
        // A change with an empty set would have no effect, and DynamoDB refuses an empty set. The
        // patch leaves out a change with an empty set.
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

    /// Returns an error if the library must not send the patch because the patch is invalid.
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
            // If an addition has no `range`, the delta is so large that each sum would be outside
            // the range of the attribute's type.
            if matches!(kind, ChangeKind::Add(sum, _) if sum.range.is_none()) {
                return invalid(InvalidPatch::OutOfRange { attribute: path.to_string() });
            }
            if matches!(kind, ChangeKind::Insert(..) | ChangeKind::Delete(_)) && !path.is_top_level() {
                return invalid(InvalidPatch::NestedSet { attribute: path.to_string() });
            }
            // DynamoDB would refuse a patch with overlapping changes. The library returns an error
            // before it sends the patch, because DynamoDB's error would not name both overlapping
            // attributes.
            if let Some(other) = self.changes[..index].iter().find(|other| other.path.overlaps(path)) {
                let (first, second) = (other.path.to_string(), path.to_string());
                return invalid(InvalidPatch::Overlap { first, second });
            }
        }
        Ok(())
    }

    /// Returns the size of the values in the patch, in bytes, by DynamoDB's rules.
    pub(crate) fn size(&self) -> usize {
        let size = |change: &PatchChange| match &change.kind {
            ChangeKind::Set(value) | ChangeKind::SetIfAbsent(value) | ChangeKind::Insert(value, _) => size_of(value),
            ChangeKind::Extend(_, elements, _) => elements.iter().map(size_of).sum(),
            // The library does not know the sum of an addition before the write, so `size` counts
            // the size of the delta.
            ChangeKind::Add(sum, _) => size_of(&sum.delta),
            ChangeKind::Delete(_) | ChangeKind::Remove | ChangeKind::Fault(_) => 0,
        };
        self.changes.iter().map(size).sum()
    }

    /// Returns the index of each change that replaces a null in `item`. The update expression of a
    /// change for a missing attribute does not work for a stored null, so a second request replaces
    /// the null.
    pub(crate) fn nulls(&self, item: &Item) -> Vec<usize> {
        let is_null = |change: &PatchChange| {
            change.path.find(item).is_some_and(AttributeValue::is_null) && change.value_over_null().is_some()
        };
        self.changes.iter().enumerate().filter(|(_, change)| is_null(change)).map(|(index, _)| index).collect()
    }

    /// Returns the texts that the patch adds to the update expression and to the condition of a
    /// request. `nulls` contains the indexes of the changes that must replace a stored null.
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

    /// Returns the attribute of the first change that the stored item does not allow, and the
    /// reason.
    pub(crate) fn fault(&self, item: &Item) -> Option<(String, PatchFault)> {
        self.changes.iter().find_map(|change| change.fault(item).map(|fault| (change.path.to_string(), fault)))
    }

    /// Applies the changes of the patch to an item in memory. Returns the attribute and the reason
    /// of a change that is impossible although [`fault`](Self::fault) has allowed it: a sum with
    /// too many digits.
    pub(crate) fn apply(&self, item: &mut Item) -> Result<(), (String, PatchFault)> {
        // DynamoDB evaluates all changes of an update on the state of the item before the update.
        let after = self.changes.iter().map(|change| {
            let value = change.value_after(item).map_err(|fault| (change.path.to_string(), fault))?;
            Ok((&change.path, value))
        });
        let (set, mut removed): (Vec<_>, Vec<_>) =
            after.collect::<Result<Vec<_>, _>>()?.into_iter().partition(|(_, value)| value.is_some());
        // The removal of a list element changes the indexes of all later elements in the list, also
        // in the paths that lead through these elements. The loop removes the last value of the
        // item first, so that the other paths stay valid.
        removed.sort_by(|(one, _), (other, _)| other.names().cmp(one.names()));
        for (path, value) in set.into_iter().chain(removed) {
            path.put(item, value);
        }
        Ok(())
    }
}

/// Returns the elements of an encoded list, or no elements for a null.
fn elements_of(list: AttributeValue) -> Vec<AttributeValue> {
    match list {
        AttributeValue::L(elements) => elements,
        _ => Vec::new(),
    }
}

/// Returns a set of the `elements`, or `None` if `elements` is empty.
fn set_of<S: Set, E: SetElement<S>>(elements: impl IntoIterator<Item = E>) -> SerdeResult<Option<AttributeValue>> {
    let elements = elements.into_iter().map(|element| encode_attribute(&element.as_element()));
    let elements: Vec<_> = elements.collect::<SerdeResult<_>>()?;
    if elements.is_empty() {
        return Ok(None);
    }
    let set = S::collect(elements).ok_or_else(|| SerdeError::not_storable("it is not an element of the set"))?;
    Ok(Some(set))
}
