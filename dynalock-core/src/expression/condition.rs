//! What must be true of the stored item.

use std::collections::BTreeSet;

use aws_sdk_dynamodb::{primitives::Blob, types::AttributeValue};

use super::{Joined, Placeholders};
use crate::{
    codec::{Item, State},
    model::Model,
    version::WRITES,
};

/// There is no item under the key, whatever its version attribute says.
pub(crate) fn absent(model: &Model, to: &mut Placeholders) -> String {
    format!("attribute_not_exists({})", to.name(model.partition_key.name))
}

/// There is an item under the key.
pub(crate) fn exists(model: &Model, to: &mut Placeholders) -> String {
    format!("attribute_exists({})", to.name(model.partition_key.name))
}

/// The item is as it was read: the same version in the same incarnation.
///
/// Nothing but its content identifies an item that was read without a version or without write ids. Such an item must have every attribute
/// of its image, and none of the others that the type knows or that the write names in `written`.
pub(crate) fn unchanged<'a>(
    model: &'a Model,
    State { revision, image }: &'a State,
    written: impl IntoIterator<Item = &'a str>,
    to: &mut Placeholders,
) -> String {
    let mut terms = Joined::new("", " AND ");
    let version = to.name(model.version);
    match revision.version {
        Some(number) => terms.push(format_args!("{version} = {}", to.value(AttributeValue::N(number.to_string())))),
        None => {
            terms.push(format_args!("attribute_exists({})", to.name(model.partition_key.name)));
            terms.push(format_args!("attribute_not_exists({version})"));
        }
    }
    let blob = |bytes: &[u8]| AttributeValue::B(Blob::new(bytes));
    match (image, &revision.ring) {
        (None, Some(ring)) => {
            let incarnation = to.value(blob(ring.incarnation().as_bytes()));
            terms.push(format_args!("begins_with({}, {incarnation})", to.name(WRITES)));
        }
        (Some(_), Some(ring)) => {
            terms.push(format_args!("{} = {}", to.name(WRITES), to.value(blob(ring.as_bytes()))));
        }
        (_, None) => terms.push(format_args!("attribute_not_exists({})", to.name(WRITES))),
    }
    if let Some(image) = image {
        same_content(model, image, written, &mut terms, to);
    }
    terms.finish()
}

/// The item has the attributes of the image and no others, as far as they are named. The order is fixed: a transaction that is made again
/// under its token has to be the same.
fn same_content<'a>(
    model: &'a Model,
    image: &'a Item,
    written: impl IntoIterator<Item = &'a str>,
    terms: &mut Joined,
    to: &mut Placeholders,
) {
    let stored = image.keys().map(String::as_str);
    let names: BTreeSet<&str> = stored.chain(model.attributes.iter().copied()).chain(written).collect();
    let is_content = |name: &&str| *name != model.version && *name != WRITES && !model.is_key(name);
    for name in names.into_iter().filter(is_content) {
        same_attribute(name, image, terms, to);
    }
}

/// The attribute is as it is in the item: equal, or absent.
fn same_attribute(name: &str, item: &Item, terms: &mut Joined, to: &mut Placeholders) {
    match item.get(name) {
        Some(value) => terms.push(format_args!("{} = {}", to.name(name), to.value(value.clone()))),
        None => terms.push(format_args!("attribute_not_exists({})", to.name(name))),
    }
}

/// Each of these attributes is as it is in the item: equal, or absent.
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
