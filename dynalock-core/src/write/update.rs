use aws_sdk_dynamodb::{primitives::Blob, types::AttributeValue};

use crate::{
    codec::Changes,
    expression::{Joined, NamePlaceholder, Placeholders},
    lease::clause::{LeaseClause, LeaseUpdate},
    model::Model,
    version::{Revision, WRITES},
};

/// Returns an update expression that writes the changes, the next version, and the new content of
/// the attribute `_writes` (the ids of the item's last writes). The expression also removes the
/// serde aliases of each changed attribute. If an item contained both an attribute and its alias,
/// serde would report a duplicate field. If an item still contained the alias of an
/// attribute that the update removes, serde would read the alias in place of the attribute.
pub(crate) fn update(
    model: &Model,
    changes: Changes,
    next: &Revision,
    clause: &LeaseClause,
    to: &mut Placeholders,
) -> String {
    let mut remove: Vec<NamePlaceholder> = changes.remove.iter().map(|name| to.name(name)).collect();
    remove.extend(changes.names().flat_map(|name| model.aliases_of(name)).map(|alias| to.name(alias)));
    let LeaseUpdate { set: lease, remove: ended, leave } = clause.effect(model, to);
    remove.extend(ended);
    // DynamoDB refuses an expression that removes an attribute twice.
    remove.sort_unstable();
    remove.dedup();

    let mut terms = Joined::new("SET ", ",");
    let mut assign = |name: &str, value: AttributeValue| {
        terms.assign(to.name(name), to.value(value));
    };
    for (name, value) in changes.set {
        assign(&name, value);
    }
    assign(model.version, AttributeValue::N(next.number().to_string()));
    if let Some(ring) = &next.ring {
        assign(WRITES, AttributeValue::B(Blob::new(ring.as_bytes())));
    }
    for (name, value) in lease {
        terms.assign(name, value);
    }
    let set = terms.finish();
    if remove.is_empty() {
        return set;
    }

    let mut terms = Joined::new(&format!("{set} REMOVE "), ",");
    for name in &remove {
        terms.push(format_args!("{name}"));
    }
    if let Some(queue) = leave {
        terms.push(format_args!("{queue}[0]"));
    }
    terms.finish()
}
