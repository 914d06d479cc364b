//! What must be true of the stored item.

use aws_sdk_dynamodb::{primitives::Blob, types::AttributeValue};

use super::Placeholders;
use crate::{
    codec::Item,
    model::Model,
    version::{Revision, WRITES},
};

/// There is no item under the key, whatever its version attribute says.
pub(crate) fn absent(model: &Model, to: &mut Placeholders) -> String {
    format!("attribute_not_exists({})", to.name(model.partition_key.name))
}

/// The item is as it was read: the same version in the same incarnation.
///
/// An item that was read without a version must still exist without one, and have `compared` as in its image.
pub(crate) fn unchanged<'a>(
    model: &Model,
    revision: &Revision,
    image: Option<&Item>,
    compared: impl IntoIterator<Item = &'a str>,
    to: &mut Placeholders,
) -> String {
    let version = to.name(model.version);
    let mut terms = match revision.version {
        Some(number) => vec![format!("{version} = {}", to.value(AttributeValue::N(number.to_string())))],
        None => {
            let key = to.name(model.partition_key.name);
            vec![format!("attribute_exists({key})"), format!("attribute_not_exists({version})")]
        }
    };
    match &revision.ring {
        Some(ring) => {
            let incarnation = AttributeValue::B(Blob::new(ring.incarnation().as_bytes()));
            let (writes, incarnation) = (to.name(WRITES), to.value(incarnation));
            terms.push(format!("begins_with({writes}, {incarnation})"));
        }
        None if model.write_ids > 0 => terms.push(format!("attribute_not_exists({})", to.name(WRITES))),
        None => {}
    }
    if let Some(image) = image {
        terms.extend(compared.into_iter().map(|name| as_in(image, name, to)));
    }
    terms.join(" AND ")
}

fn as_in(image: &Item, name: &str, to: &mut Placeholders) -> String {
    let placeholder = to.name(name);
    match image.get(name) {
        Some(value) => format!("{placeholder} = {}", to.value(value.clone())),
        None => format!("attribute_not_exists({placeholder})"),
    }
}
