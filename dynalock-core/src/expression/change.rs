//! One change of a patch: the text in the update expression, and the reasons why an item does not
//! allow the change.

use aws_sdk_dynamodb::types::AttributeValue;

use super::{DocumentPath, Placeholders, evaluate::is_between, update_operand::Sum, user::Test};
use crate::{
    codec::{Item, type_of},
    error::SerdeError,
};

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
    /// `Extend(end, elements, start)` adds `elements` at the front or at the back of the stored
    /// list. If the attribute is missing, `Extend(end, elements, Some(start))` adds `elements` to
    /// the list `start`. DynamoDB refuses `Extend(end, elements, None)` for a missing attribute.
    Extend(ListEnd, Vec<AttributeValue>, Option<Vec<AttributeValue>>),
    Insert(AttributeValue, Presence),
    Delete(AttributeValue),
    Remove,
    Fault(SerdeError),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Presence {
    Required,
    Optional,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ListEnd {
    Front,
    Back,
}

#[derive(Default)]
pub(crate) struct PatchTexts {
    pub(crate) set: Vec<String>,
    pub(crate) add: Vec<String>,
    pub(crate) delete: Vec<String>,
    pub(crate) remove: Vec<String>,
    pub(crate) conditions: Vec<String>,
}

/// The reason why a stored item does not allow the change of an attribute.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PatchFault {
    OutOfRange,
    /// The text in `Unfit` becomes the field `reason` of
    /// [`Error::Unpatchable`](crate::Error::Unpatchable).
    Unfit(&'static str),
}

const MISSING: &str = "it is missing, and its struct requires it";
const OTHER_TYPE: &str = "it is stored with another type than its struct says";
const NO_PARENT: &str = "the struct or map that contains it is missing, or is stored with another type; set the whole struct or map first, or use `update_with`";
const NO_ELEMENT: &str = "the list is missing or does not have this element";
const ALIAS: &str = "it is stored under an alias; change this attribute with `update_with`, or call `replace`, which stores it under its name";

impl PatchChange {
    pub(super) fn render(&self, is_null: bool, texts: &mut PatchTexts, to: &mut Placeholders) {
        let path = self.path.render(to);
        let of_type = |name: &str, to: &mut Placeholders| {
            format!("attribute_type({path}, {})", to.value(AttributeValue::S(name.to_owned())))
        };
        // The function `if_not_exists` would keep a stored null, because a null exists. For a
        // stored null, the update expression directly sets the value that replaces the null.
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
                // The function `if_not_exists` would keep a stored null, so the request has a
                // condition that is false for a stored null.
                texts.conditions.push(format!("NOT {}", of_type("NULL", to)));
            }
            ChangeKind::Add(sum, presence) => {
                let Sum { delta, range, start, .. } = &**sum;
                // If the attribute is missing and the change has no start value, the condition
                // `BETWEEN` is false, so DynamoDB refuses the patch.
                let start = start.as_ref().filter(|_| *presence == Presence::Optional);
                let delta = to.value(delta.clone());
                texts.set.push(match start {
                    Some((start, _)) => {
                        format!("{path}=if_not_exists({path},{})+{delta}", to.value(start.clone()))
                    }
                    None => format!("{path}={path}+{delta}"),
                });
                // The condition `BETWEEN` is false for a stored value that is not a number.
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
                // contain the item. A false condition on the type of the attribute causes an error
                // that contains the item.
                let is_list = of_type("L", to);
                texts.conditions.push(or_absent(start.is_some(), &path, is_list));
            }
            ChangeKind::Insert(set, presence) => {
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
            // `PatchContent::check` refuses a patch with a `Fault`, so the library never sends the
            // patch.
            ChangeKind::Fault(_) => {}
        }
        self.require(texts, to);
    }

    fn require(&self, texts: &mut PatchTexts, to: &mut Placeholders) {
        for (requirement, _) in self.requirements() {
            // A requirement on the path of a change contains no operand of the caller, so `render`
            // cannot fail.
            texts.conditions.extend(requirement.render(to));
        }
    }

    fn requirements(&self) -> Vec<(Test, &'static str)> {
        // If a field is stored under an alias, a change would store the field a second time.
        let aliases = self.path.aliases().into_iter().map(|alias| (Test::Absent(alias), ALIAS));
        let place = self.path.parent().map(|parent| match self.path.is_element() {
            // If the list does not have the element, DynamoDB would add a new element at the end of
            // the list.
            true => (Test::Exists(self.path.clone()), NO_ELEMENT),
            false => (Test::Function("attribute_type", parent, AttributeValue::S("M".to_owned())), NO_PARENT),
        });
        aliases.chain(place).collect()
    }

    /// Some changes treat a stored null as an absent attribute. For such a change, returns the
    /// value that replaces the null. Returns `None` for any other change. For a stored null, `add`
    /// starts from zero, and `append` and `prepend` start from an empty list, even if the field has
    /// another serde default.
    pub(super) fn value_over_null(&self) -> Option<AttributeValue> {
        match &self.kind {
            ChangeKind::SetIfAbsent(value) => Some(value.clone()),
            ChangeKind::Add(sum, Presence::Optional) => sum.from_null.clone(),
            ChangeKind::Extend(_, elements, Some(_)) => Some(AttributeValue::L(elements.clone())),
            ChangeKind::Set(_)
            | ChangeKind::Add(_, Presence::Required)
            | ChangeKind::Extend(_, _, None)
            | ChangeKind::Insert(..)
            | ChangeKind::Delete(_)
            | ChangeKind::Remove
            | ChangeKind::Fault(_) => None,
        }
    }

    pub(super) fn fault(&self, item: &Item) -> Option<PatchFault> {
        // If the map around the value is missing, the error must report the missing map, and not
        // the missing value.
        if let Some((_, reason)) = self.requirements().into_iter().find(|(requirement, _)| !requirement.is_true(item)) {
            return Some(PatchFault::Unfit(reason));
        }
        let value = self.path.find(item);
        let typed = |expected: &str, presence: Presence| match value {
            None if presence == Presence::Required => Some(PatchFault::Unfit(MISSING)),
            Some(value) if type_of(value) != expected => Some(PatchFault::Unfit(OTHER_TYPE)),
            None | Some(_) => None,
        };
        // If the attribute is a stored null and the change treats a null as absent, the patch sends
        // a second request, which replaces the null.
        if value.is_some_and(AttributeValue::is_null) && self.value_over_null().is_some() {
            return None;
        }
        match &self.kind {
            ChangeKind::Add(sum, presence) => match value {
                // `start` is `None` if an addition to a missing attribute would be out of range.
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

fn or_absent(may_be_absent: bool, path: &str, condition: String) -> String {
    match may_be_absent {
        true => format!("(attribute_not_exists({path}) OR {condition})"),
        false => condition,
    }
}
