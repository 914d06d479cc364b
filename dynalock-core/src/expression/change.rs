//! One change of a patch: the texts that the change adds to the expressions of the request, and the
//! reason for which an item does not allow the change.

use aws_sdk_dynamodb::types::AttributeValue;

use super::{DocumentPath, PathRequirement, Placeholders, Value, evaluate::is_between, update_operand::Sum};
use crate::{
    codec::{Item, type_of},
    error::SerdeError,
};

/// One change of a patch.
#[derive(Clone)]
pub(super) struct PatchChange {
    pub(super) path: DocumentPath,
    pub(super) kind: ChangeKind,
}

#[derive(Clone)]
pub(super) enum ChangeKind {
    Set(AttributeValue),
    SetIfAbsent(AttributeValue),
    Add(Box<Sum>, Presence),
    /// The new elements of a list, and the list that takes the place of a missing attribute.
    Extend(ListEnd, Vec<AttributeValue>, Option<Vec<AttributeValue>>),
    Insert(AttributeValue, Presence),
    Delete(AttributeValue),
    Remove,
    /// The error of a value that cannot be encoded. A patch with a value that cannot be encoded is
    /// never sent.
    Fault(SerdeError),
}

/// Whether a change requires that its attribute exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Presence {
    Required,
    Optional,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ListEnd {
    Front,
    Back,
}

/// The parts of the update expression and of the condition that the changes of a patch add.
#[derive(Default)]
pub(crate) struct PatchTexts {
    pub(crate) set: Vec<String>,
    pub(crate) add: Vec<String>,
    pub(crate) delete: Vec<String>,
    pub(crate) remove: Vec<String>,
    pub(crate) conditions: Vec<String>,
}

/// The reason why an item in its stored state does not allow a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PatchFault {
    /// The result would be outside the range of the attribute's type.
    OutOfRange,
    /// The item does not allow the change, for the reason in this text.
    Unfit(&'static str),
}

const MISSING: &str = "it is missing, and its struct requires it";
const OTHER_TYPE: &str = "it is stored with another type than its struct says";
const NO_PARENT: &str = "the struct or map that contains it is missing, or is stored with another type";
const NO_ELEMENT: &str = "the list is missing or does not have this element";
const ALIAS: &str = "it is stored under an alias; change this attribute with `update_with`, or call `replace`, which stores it under its name";

impl PatchChange {
    pub(super) fn treats_null_as_absent(&self) -> bool {
        match &self.kind {
            ChangeKind::SetIfAbsent(_) => true,
            ChangeKind::Add(sum, presence) => *presence == Presence::Optional && sum.from_null.is_some(),
            ChangeKind::Extend(_, _, start) => start.is_some(),
            ChangeKind::Set(_)
            | ChangeKind::Insert(..)
            | ChangeKind::Delete(_)
            | ChangeKind::Remove
            | ChangeKind::Fault(_) => false,
        }
    }

    pub(super) fn render(&self, is_null: bool, texts: &mut PatchTexts, to: &mut Placeholders) {
        let path = self.path.render(to);
        let of_type = |name: &str, to: &mut Placeholders| {
            format!("attribute_type({path}, {})", to.value(AttributeValue::S(name.to_owned())))
        };
        // `if_not_exists` would keep the null. The value that replaces the null is known in
        // advance, so the expression sets this value directly.
        if let (true, Some(value)) = (is_null, self.value_over_null()) {
            texts.set.push(format!("{path}={}", to.value(value)));
            texts.conditions.push(of_type("NULL", to));
            self.require(texts, to);
            return;
        }
        match &self.kind {
            ChangeKind::Set(value) => texts.set.push(format!("{path}={}", to.value(value.clone()))),
            ChangeKind::SetIfAbsent(value) => {
                texts.set.push(format!("{path}=if_not_exists({path},{})", to.value(value.clone())));
                // `if_not_exists` would keep a null, so the condition refuses an item with a null.
                texts.conditions.push(format!("NOT {}", of_type("NULL", to)));
            }
            ChangeKind::Add(sum, presence) => {
                let Sum { delta, range, start, .. } = &**sum;
                // Without a start value, the comparison below is false for a missing attribute, so
                // DynamoDB refuses the patch.
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
                // If the attribute is not a list, `list_append` fails with an error that does not
                // return the item. A false condition returns the item.
                let is_list = of_type("L", to);
                texts.conditions.push(or_absent(start.is_some(), &path, is_list));
            }
            ChangeKind::Insert(set, presence) => {
                // If the attribute has another type, ADD also fails with an error that does not
                // return the item.
                texts.add.push(format!("{path} {}", to.value(set.clone())));
                let is_set = of_type(type_of(set), to);
                texts.conditions.push(or_absent(*presence == Presence::Optional, &path, is_set));
            }
            ChangeKind::Delete(set) => {
                // DELETE from a missing set changes nothing, so the attribute may be missing.
                texts.delete.push(format!("{path} {}", to.value(set.clone())));
                let is_set = of_type(type_of(set), to);
                texts.conditions.push(or_absent(true, &path, is_set));
            }
            ChangeKind::Remove => texts.remove.push(path.clone()),
            // `PatchContent::check` has already returned this error, so the patch is never sent.
            ChangeKind::Fault(_) => {}
        }
        self.require(texts, to);
    }

    /// Adds the conditions that the path of the change requires, for example that a parent exists.
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

    /// Returns the value with which the change replaces a null. A null counts as zero or as an empty
    /// list, even if the field has another default.
    pub(super) fn value_over_null(&self) -> Option<AttributeValue> {
        match &self.kind {
            ChangeKind::SetIfAbsent(value) => Some(value.clone()),
            ChangeKind::Add(sum, _) => sum.from_null.clone(),
            ChangeKind::Extend(_, elements, _) => Some(AttributeValue::L(elements.clone())),
            ChangeKind::Set(_)
            | ChangeKind::Insert(..)
            | ChangeKind::Delete(_)
            | ChangeKind::Remove
            | ChangeKind::Fault(_) => None,
        }
    }

    pub(super) fn fault(&self, item: &Item) -> Option<PatchFault> {
        // The conditions of the path are checked first, because a missing parent is the reason for
        // a missing attribute.
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
        // The change treats the null as absent: the next request of the patch replaces the null.
        if self.treats_null_as_absent() && value.is_some_and(AttributeValue::is_null) {
            return None;
        }
        match &self.kind {
            ChangeKind::Add(sum, presence) => match value {
                // `start` is `None` if the result for a missing attribute would be out of range.
                None if *presence == Presence::Optional && sum.start.is_none() => Some(PatchFault::OutOfRange),
                Some(AttributeValue::Null(_)) if *presence == Presence::Optional => Some(PatchFault::OutOfRange),
                Some(AttributeValue::N(_)) => {
                    let fits =
                        sum.range.as_ref().zip(value).is_some_and(|((low, high), value)| is_between(value, low, high));
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

/// Returns `condition`. If `may_be_absent` is set, the returned condition is also true for an
/// absent attribute.
fn or_absent(may_be_absent: bool, path: &str, condition: String) -> String {
    match may_be_absent {
        true => format!("(attribute_not_exists({path}) OR {condition})"),
        false => condition,
    }
}
