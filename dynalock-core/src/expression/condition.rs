//! What must be true of the stored item.

use aws_sdk_dynamodb::{primitives::Blob, types::AttributeValue};

use super::{Placeholders, Terms};
use crate::{codec::State, model::Model, version::WRITES};

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
/// An item that was read without a version must still exist without one, and have `compared` as in its image.
pub(crate) fn unchanged<'a>(
    model: &Model,
    State { revision, image }: &State,
    compared: impl IntoIterator<Item = &'a str>,
    to: &mut Placeholders,
) -> String {
    let mut terms = Terms::new("", " AND ");
    let version = to.name(model.version);
    match revision.version {
        Some(number) => terms.push(format_args!("{version} = {}", to.value(AttributeValue::N(number.to_string())))),
        None => {
            terms.push(format_args!("attribute_exists({})", to.name(model.partition_key.name)));
            terms.push(format_args!("attribute_not_exists({version})"));
        }
    }
    match &revision.ring {
        Some(ring) => {
            let incarnation = AttributeValue::B(Blob::new(ring.incarnation().as_bytes()));
            terms.push(format_args!("begins_with({}, {})", to.name(WRITES), to.value(incarnation)));
        }
        None if model.write_ids > 0 => terms.push(format_args!("attribute_not_exists({})", to.name(WRITES))),
        None => {}
    }
    let Some(image) = image else { return terms.finish() };
    for name in compared {
        match image.get(name) {
            Some(value) => terms.push(format_args!("{} = {}", to.name(name), to.value(value.clone()))),
            None => terms.push(format_args!("attribute_not_exists({})", to.name(name))),
        }
    }
    terms.finish()
}
