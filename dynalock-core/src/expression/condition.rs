//! The conditions that the library adds to writes, so that no write overwrites the change of
//! another caller.

use std::collections::BTreeSet;

use aws_sdk_dynamodb::{primitives::Blob, types::AttributeValue};

use super::{Joined, Placeholders};
use crate::{
    codec::{ComparedContent, Item, State},
    model::Model,
    version::WRITES,
};

/// Returns the condition that the key has no item. The condition tests the partition key and not
/// the version, because an item may have no version.
pub(crate) fn absent(model: &Model, to: &mut Placeholders) -> String {
    format!("attribute_not_exists({})", to.name(model.partition_key.name))
}

pub(crate) fn exists(model: &Model, to: &mut Placeholders) -> String {
    format!("attribute_exists({})", to.name(model.partition_key.name))
}

/// Returns the condition that the item has not expired. An item has expired if its expiry time lies
/// between the two numbers in `over` (in epoch seconds, both included).
pub(crate) fn lives(expires: &str, over: [u64; 2], to: &mut Placeholders) -> String {
    let [first, last] = over.map(|seconds| to.value(AttributeValue::N(seconds.to_string())));
    format!("NOT {} BETWEEN {first} AND {last}", to.name(expires))
}

/// Returns the condition that the stored item has not changed since the read or write that returned
/// the `State`. The condition compares the version of the item and its incarnation (the random id
/// that each create stores). For an expired item, the condition also compares the time to live.
///
/// For an item without a version or without the attribute `_writes`, the condition compares all
/// attributes of an earlier copy of the item with the stored item. An attribute whose
/// name is in `model.attributes` or in `written`, but not in the copy, must be absent from the
/// stored item.
pub(crate) fn unchanged<'a>(
    model: &'a Model,
    State { revision, compared }: &'a State,
    written: impl IntoIterator<Item = &'a str>,
    to: &mut Placeholders,
) -> String {
    let mut terms = Joined::new("", " AND ");
    let version = to.name(model.version);
    match revision.version {
        Some(number) => terms.equal(version, to.value(AttributeValue::N(number.to_string()))),
        None => {
            // A condition that tests only for a missing version would be true for a missing item.
            terms.push(format_args!("attribute_exists({})", to.name(model.partition_key.name)));
            terms.push(format_args!("attribute_not_exists({version})"));
        }
    }
    let blob = |bytes: &[u8]| AttributeValue::B(Blob::new(bytes));
    let compared = compared.as_deref();
    match (compared, &revision.ring) {
        (Some(ComparedContent::Item(_)), Some(ring)) => {
            // An item without a version is unchanged only if the whole attribute `_writes` is
            // unchanged.
            terms.equal(to.name(WRITES), to.value(blob(ring.as_bytes())));
        }
        (_, Some(ring)) => {
            let incarnation = to.value(blob(ring.incarnation().as_bytes()));
            // The attribute `_writes` begins with the incarnation. The write ids in `_writes` need
            // no comparison, because the write ids change only together with the version.
            terms.begins_with(to.name(WRITES), incarnation);
        }
        (_, None) => terms.push(format_args!("attribute_not_exists({})", to.name(WRITES))),
    }
    match (compared, model.times.expires) {
        (Some(ComparedContent::Item(image)), _) => same_content(model, image, written, &mut terms, to),
        (Some(ComparedContent::TimeToLive(time)), Some(expires)) => {
            terms.equal(to.name(expires.name), to.value(time.clone()));
        }
        (Some(ComparedContent::TimeToLive(_)) | None, _) => {}
    }
    terms.finish()
}

/// The `BTreeSet` fixes the order of the terms, because a retry with the same ClientRequestToken
/// must have the same text.
fn same_content<'a>(
    model: &'a Model,
    image: &'a Item,
    written: impl IntoIterator<Item = &'a str>,
    terms: &mut Joined,
    to: &mut Placeholders,
) {
    let stored = image.keys().map(String::as_str);
    let names: BTreeSet<&str> = stored.chain(model.attributes.iter().copied()).chain(written).collect();
    // Other terms of the condition compare the version and `_writes`. The key selects the item, so
    // the condition needs no term for the key.
    let is_content = |name: &&str| *name != model.version && *name != WRITES && !model.is_key(name);
    for name in names.into_iter().filter(is_content) {
        same_attribute(name, image, terms, to);
    }
}

fn same_attribute(name: &str, item: &Item, terms: &mut Joined, to: &mut Placeholders) {
    match item.get(name) {
        Some(value) => terms.equal(to.name(name), to.value(value.clone())),
        None => terms.push(format_args!("attribute_not_exists({})", to.name(name))),
    }
}

pub(crate) fn same_attributes<'n>(
    names: impl IntoIterator<Item = &'n str>,
    item: &Item,
    to: &mut Placeholders,
) -> String {
    let mut terms = Joined::new("", " AND ");
    for name in names {
        same_attribute(name, item, &mut terms, to);
    }
    terms.finish()
}
