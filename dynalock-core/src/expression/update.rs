//! What an UpdateItem does.

use aws_sdk_dynamodb::{primitives::Blob, types::AttributeValue};

use super::Placeholders;
use crate::{
    codec::Changes,
    model::Model,
    version::{Revision, WRITES},
};

/// The changes, and the bookkeeping of the revision that the write makes. The aliases of what is written are removed: serde would
/// refuse an item with both as a duplicate field, and read a removed attribute back from its alias.
pub(crate) fn update(model: &Model, changes: Changes, next: &Revision, to: &mut Placeholders) -> String {
    let mut remove: Vec<String> = changes.remove.iter().map(|name| to.name(name)).collect();
    remove.extend(changes.names().flat_map(|name| model.aliases_of(name)).map(|alias| to.name(alias)));
    remove.sort_unstable();
    remove.dedup();

    let mut set: Vec<String> = Vec::with_capacity(changes.set.len() + 2);
    let mut assign = |name: &str, value: AttributeValue| {
        set.push(format!("{}={}", to.name(name), to.value(value)));
    };
    for (name, value) in changes.set {
        assign(&name, value);
    }
    assign(model.version, AttributeValue::N(next.number().to_string()));
    if let Some(ring) = &next.ring {
        assign(WRITES, AttributeValue::B(Blob::new(ring.as_bytes())));
    }

    match remove.is_empty() {
        true => format!("SET {}", set.join(",")),
        false => format!("SET {} REMOVE {}", set.join(","), remove.join(",")),
    }
}
