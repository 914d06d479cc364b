//! The content of a patch: atomic changes of attributes, and conditions.

use std::sync::Arc;

use aws_sdk_dynamodb::types::AttributeValue;
use serde::Serialize;

use super::{
    AsOperand, Condition, DocumentPath, List, Missing, Number, PathRequirement, Place, Placeholders, Set, SetElement,
    Value,
    evaluate::{is_between, type_of},
    update_operand::{Sum, sealed::Addition},
};
use crate::{
    codec::{Item, encode_attribute, size_of},
    error::{CodecError, Error, InvalidPatch, SerdeError, SerdeResult},
};

/// The changes and the condition of a patch of an item of type `T`.
pub(crate) struct PatchContent<T> {
    changes: Vec<PatchChange>,
    condition: Option<Condition<T>>,
}

/// One change of a patch.
#[derive(Clone)]
struct PatchChange {
    path: DocumentPath,
    kind: ChangeKind,
}

#[derive(Clone)]
enum ChangeKind {
    Set(AttributeValue),
    SetIfAbsent(AttributeValue),
    Add(Sum, Presence),
    /// The new elements of a list, and the list from which a missing attribute starts.
    Extend(ListEnd, Vec<AttributeValue>, Option<Vec<AttributeValue>>),
    Insert(AttributeValue, Presence),
    Delete(AttributeValue),
    Remove,
    /// A value that cannot be encoded.
    Fault(SerdeError),
}

/// Whether the change requires that the attribute exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Presence {
    Required,
    Optional,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ListEnd {
    Front,
    Back,
}

/// The expressions of a patch, without those of the library.
#[derive(Default)]
pub(crate) struct PatchTexts {
    pub(crate) set: Vec<String>,
    pub(crate) add: Vec<String>,
    pub(crate) delete: Vec<String>,
    pub(crate) remove: Vec<String>,
    pub(crate) conditions: Vec<String>,
}

/// The reason why an item refuses a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PatchFault {
    /// The result would leave the range of the type.
    OutOfRange,
    /// The item cannot be patched.
    Unfit(&'static str),
}

const NOT_FINITE: &str = "it is not a finite number, and DynamoDB stores no others";
const MISSING: &str = "it is missing, and its struct requires it";
const OTHER_TYPE: &str = "it is stored with another type than its struct says";
const NO_PARENT: &str = "the struct or map that contains it is missing";
const NO_ELEMENT: &str = "the list does not have this element";
const ALIAS: &str =
    "it is stored under an alias; read and write the item once with `update_with` and `touch`, which renames it";

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
            Missing::Refused => (P::Value::zero(), Presence::Required),
            Missing::Empty => (P::Value::zero(), Presence::Optional),
            Missing::Default(default) => (default(), Presence::Optional),
        };
        let sum = start.add(delta).ok_or_else(|| SerdeError::not_storable(NOT_FINITE));
        self.push(path.document, sum.map(|sum| ChangeKind::Add(sum, presence)));
    }

    pub(crate) fn append<P, E>(&mut self, place: P, elements: impl IntoIterator<Item = E>)
    where
        P: Place<Item = T, Value: List + Serialize>,
        E: AsOperand<<P::Value as List>::Element>,
    {
        self.extend(ListEnd::Back, place, elements);
    }

    pub(crate) fn prepend<P, E>(&mut self, place: P, elements: impl IntoIterator<Item = E>)
    where
        P: Place<Item = T, Value: List + Serialize>,
        E: AsOperand<<P::Value as List>::Element>,
    {
        self.extend(ListEnd::Front, place, elements);
    }

    fn extend<P, E>(&mut self, end: ListEnd, place: P, elements: impl IntoIterator<Item = E>)
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
        // DynamoDB accepts an empty list, but such a change has no effect.
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
        // DynamoDB refuses an empty set, and such a change has no effect.
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

    /// Returns the condition of the caller.
    pub(crate) fn condition(&self) -> Option<&Condition<T>> {
        self.condition.as_ref()
    }

    /// Returns an error if the patch cannot be sent.
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
            if let ChangeKind::Add(Sum { range: None, .. }, _) = kind {
                return invalid(InvalidPatch::OutOfRange { attribute: path.to_string() });
            }
            if let Some(other) = self.changes[..index].iter().find(|other| other.path.overlaps(path)) {
                let (first, second) = (other.path.to_string(), path.to_string());
                return invalid(InvalidPatch::Overlap { first, second });
            }
        }
        Ok(())
    }

    /// Returns the size of the new values, in bytes.
    pub(crate) fn size(&self) -> usize {
        let size = |change: &PatchChange| match &change.kind {
            ChangeKind::Set(value) | ChangeKind::SetIfAbsent(value) | ChangeKind::Insert(value, _) => size_of(value),
            ChangeKind::Extend(_, elements, _) => elements.iter().map(size_of).sum(),
            ChangeKind::Add(sum, _) => size_of(&sum.delta),
            ChangeKind::Delete(_) | ChangeKind::Remove | ChangeKind::Fault(_) => 0,
        };
        self.changes.iter().map(size).sum()
    }

    /// Returns the indexes of the changes whose attribute is stored as a null, although the change
    /// treats a null as absent. An expression cannot treat both alike, so the patch is then sent
    /// again with a condition on the null.
    pub(crate) fn nulls(&self, item: &Item) -> Vec<usize> {
        let is_null = |change: &PatchChange| {
            change.treats_null_as_absent() && change.path.find(item).is_some_and(AttributeValue::is_null)
        };
        self.changes.iter().enumerate().filter(|(_, change)| is_null(change)).map(|(index, _)| index).collect()
    }

    /// Returns the expressions. `nulls` are the changes whose attribute is stored as a null.
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

    /// Returns the first change that the item refuses, with its attribute.
    pub(crate) fn fault(&self, item: &Item) -> Option<(String, PatchFault)> {
        self.changes.iter().find_map(|change| change.fault(item).map(|fault| (change.path.to_string(), fault)))
    }
}

/// Returns the elements of an encoded list. A null is an empty list.
fn elements_of(list: AttributeValue) -> Vec<AttributeValue> {
    match list {
        AttributeValue::L(elements) => elements,
        _ => Vec::new(),
    }
}

/// Returns a set of these elements, or `None` if there are none.
fn set_of<S: Set, E: SetElement<S>>(elements: impl IntoIterator<Item = E>) -> SerdeResult<Option<AttributeValue>> {
    let elements = elements.into_iter().map(|element| encode_attribute(&element.as_element()));
    let elements: Vec<_> = elements.collect::<SerdeResult<_>>()?;
    if elements.is_empty() {
        return Ok(None);
    }
    let set = S::collect(elements).ok_or_else(|| SerdeError::not_storable("it is not an element of the set"))?;
    Ok(Some(set))
}

impl PatchChange {
    fn treats_null_as_absent(&self) -> bool {
        match &self.kind {
            ChangeKind::SetIfAbsent(_) => true,
            ChangeKind::Add(sum, presence) => *presence == Presence::Optional && sum.start.is_some(),
            ChangeKind::Extend(_, _, start) => start.is_some(),
            ChangeKind::Set(_)
            | ChangeKind::Insert(..)
            | ChangeKind::Delete(_)
            | ChangeKind::Remove
            | ChangeKind::Fault(_) => false,
        }
    }

    fn render(&self, is_null: bool, texts: &mut PatchTexts, to: &mut Placeholders) {
        let path = self.path.render(to);
        let of_type = |name: &str, to: &mut Placeholders| {
            format!("attribute_type({path}, {})", to.value(AttributeValue::S(name.to_owned())))
        };
        if let (true, Some(value)) = (is_null, self.from_absent()) {
            texts.set.push(format!("{path}={}", to.value(value)));
            texts.conditions.push(of_type("NULL", to));
            self.require(texts, to);
            return;
        }
        match &self.kind {
            ChangeKind::Set(value) => texts.set.push(format!("{path}={}", to.value(value.clone()))),
            ChangeKind::SetIfAbsent(value) => {
                texts.set.push(format!("{path}=if_not_exists({path},{})", to.value(value.clone())));
                texts.conditions.push(format!("NOT {}", of_type("NULL", to)));
            }
            ChangeKind::Add(Sum { delta, range, start }, presence) => {
                let start = start.as_ref().filter(|_| *presence == Presence::Optional);
                let delta = to.value(delta.clone());
                texts.set.push(match start {
                    Some((start, _)) => {
                        format!("{path}=if_not_exists({path},{})+{delta}", to.value(start.clone()))
                    }
                    None => format!("{path}={path}+{delta}"),
                });
                // The comparison is also false for a value that is not a number.
                let Some((low, high)) = range else { return };
                let between = format!("{path} BETWEEN {} AND {}", to.value(low.clone()), to.value(high.clone()));
                texts.conditions.push(or_absent(start.is_some(), &path, between));
            }
            ChangeKind::Extend(end, elements, start) => {
                let elements = to.value(AttributeValue::L(elements.clone()));
                let list = match start {
                    Some(start) => {
                        format!("if_not_exists({path},{})", to.value(AttributeValue::L(start.clone())))
                    }
                    None => path.clone(),
                };
                texts.set.push(match end {
                    ListEnd::Front => format!("{path}=list_append({elements},{list})"),
                    ListEnd::Back => format!("{path}=list_append({list},{elements})"),
                });
                let is_list = of_type("L", to);
                texts.conditions.push(or_absent(start.is_some(), &path, is_list));
            }
            ChangeKind::Insert(set, presence) => {
                texts.add.push(format!("{path} {}", to.value(set.clone())));
                let is_set = of_type(type_of(set), to);
                texts.conditions.push(or_absent(*presence == Presence::Optional, &path, is_set));
            }
            ChangeKind::Delete(set) => {
                texts.delete.push(format!("{path} {}", to.value(set.clone())));
                let is_set = of_type(type_of(set), to);
                texts.conditions.push(or_absent(true, &path, is_set));
            }
            ChangeKind::Remove => texts.remove.push(path.clone()),
            // `check` has returned the error.
            ChangeKind::Fault(_) => {}
        }
        self.require(texts, to);
    }

    /// Adds the requirements of the path.
    fn require(&self, texts: &mut PatchTexts, to: &mut Placeholders) {
        for requirement in self.path.requirements() {
            texts.conditions.push(match requirement {
                PathRequirement::Map(path) => {
                    let map: Value = to.value(AttributeValue::S("M".to_owned()));
                    format!("attribute_type({}, {map})", path.render(to))
                }
                PathRequirement::Element(path) => format!("attribute_exists({})", path.render(to)),
                PathRequirement::NoAlias(path) => format!("attribute_not_exists({})", path.render(to)),
            });
        }
    }

    /// Returns the value after the change of an attribute that is absent or a null.
    fn from_absent(&self) -> Option<AttributeValue> {
        match &self.kind {
            ChangeKind::SetIfAbsent(value) => Some(value.clone()),
            ChangeKind::Add(sum, _) => sum.start.as_ref().map(|(_, sum)| sum.clone()),
            ChangeKind::Extend(end, elements, start) => {
                let start = start.clone()?;
                let (first, second) = match end {
                    ListEnd::Front => (elements.clone(), start),
                    ListEnd::Back => (start, elements.clone()),
                };
                Some(AttributeValue::L([first, second].concat()))
            }
            ChangeKind::Set(_)
            | ChangeKind::Insert(..)
            | ChangeKind::Delete(_)
            | ChangeKind::Remove
            | ChangeKind::Fault(_) => None,
        }
    }

    fn fault(&self, item: &Item) -> Option<PatchFault> {
        let unmet = self.path.requirements().into_iter().find_map(|requirement| match requirement {
            PathRequirement::Map(path) => {
                let is_map = path.find(item).is_some_and(|value| type_of(value) == "M");
                (!is_map).then_some(NO_PARENT)
            }
            PathRequirement::Element(path) => path.find(item).is_none().then_some(NO_ELEMENT),
            PathRequirement::NoAlias(path) => path.find(item).map(|_| ALIAS),
        });
        if let Some(reason) = unmet {
            return Some(PatchFault::Unfit(reason));
        }
        let value = self.path.find(item);
        let typed = |expected: &str, presence: Presence| match value {
            None if presence == Presence::Required => Some(PatchFault::Unfit(MISSING)),
            Some(value) if type_of(value) != expected => Some(PatchFault::Unfit(OTHER_TYPE)),
            None | Some(_) => None,
        };
        // A null counts as absent. The patch is then sent again.
        if self.treats_null_as_absent() && value.is_some_and(AttributeValue::is_null) {
            return None;
        }
        match &self.kind {
            ChangeKind::Add(Sum { range, start, .. }, presence) => match value {
                None if *presence == Presence::Optional && start.is_none() => Some(PatchFault::OutOfRange),
                Some(AttributeValue::N(_)) => {
                    let fits =
                        range.as_ref().zip(value).is_some_and(|((low, high), value)| is_between(value, low, high));
                    (!fits).then_some(PatchFault::OutOfRange)
                }
                _ => typed("N", *presence),
            },
            ChangeKind::Extend(_, _, start) => {
                typed("L", if start.is_some() { Presence::Optional } else { Presence::Required })
            }
            ChangeKind::Insert(set, presence) => typed(type_of(set), *presence),
            ChangeKind::Delete(set) => typed(type_of(set), Presence::Optional),
            ChangeKind::Set(_) | ChangeKind::SetIfAbsent(_) | ChangeKind::Remove | ChangeKind::Fault(_) => None,
        }
    }
}

/// Returns a condition that is also true for a missing attribute, if it may be missing.
fn or_absent(may_be_absent: bool, path: &str, condition: String) -> String {
    match may_be_absent {
        true => format!("(attribute_not_exists({path}) OR {condition})"),
        false => condition,
    }
}
