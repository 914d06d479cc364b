//! The token of a commit, and the search for an earlier commit with the same token.

use std::sync::Arc;

use crate::{
    codec::Item,
    error::Error,
    model::ItemRef,
    operation::TransactGet,
    random,
    retry::Attempts,
    version::{Repeats, WriteId, shows},
    write::{operation::Operation, stamp::WriteStamps},
};

/// Returns the caller's token or a generated token, and the generator of the write ids and
/// incarnations. With a token of the caller, the ids are derived from the token, so that the same
/// transaction in another call is the same request.
pub(super) fn token_and_stamps(given: Option<String>, attempts: &mut Attempts) -> (String, WriteStamps) {
    match given {
        Some(token) => {
            let mut rng = random::derived(&token);
            (token, WriteStamps { id: WriteId::of_token(&mut rng), rng })
        }
        None => {
            let mut rng = attempts.rng().fork();
            (random::token(&mut rng), WriteStamps { id: WriteId::draw(&mut rng), rng })
        }
    }
}

/// Returns the write id that an earlier commit with the caller's token has left in its items.
/// Returns `None` if the caller did not set the token.
pub(super) fn known_id(stamps: &WriteStamps) -> Option<WriteId> {
    (stamps.id.repeats == Repeats::Ever).then_some(stamps.id)
}

/// Returns whether an item contains this id, so that the write with this id was applied.
pub(super) fn shows_id(item: Option<&Item>, id: Option<WriteId>) -> bool {
    item.zip(id).is_some_and(|(item, id)| shows(item, id))
}

/// Returns an error if an item, as it was read, contains the write id of the caller's token. An
/// earlier call then committed the transaction.
pub(super) fn refuse_committed(
    attempts: &Attempts,
    operations: &[Operation],
    known: Option<WriteId>,
) -> Result<(), Error> {
    let mut rings = operations.iter().filter_map(|operation| operation.rests_on()?.revision.ring.as_ref());
    match known.is_some_and(|id| rings.any(|ring| ring.contains(id))) {
        true => Err(already_committed(attempts)),
        false => Ok(()),
    }
}

/// Reads the items of the transaction, and returns whether one of them contains the write id of the
/// transaction.
pub(super) async fn is_committed(attempts: &mut Attempts, operations: &[Operation], id: WriteId) -> bool {
    let written = operations.iter().filter(|operation| operation.intent().is_some());
    is_shown(attempts, written.map(|operation| &operation.item_ref), id).await
}

/// Reads these items, and returns whether one of them contains this write id. Returns `false` if
/// the items cannot be read.
pub(super) async fn is_shown(attempts: &mut Attempts, items: impl Iterator<Item = &ItemRef>, id: WriteId) -> bool {
    let mut item_refs: Vec<(Arc<str>, Item)> = Vec::new();
    for item_ref in items {
        let Ok(key) = item_ref.key_item() else { continue };
        // DynamoDB refuses a TransactGetItems that names an item twice.
        if !item_refs.iter().any(|(table, known)| *table == item_ref.table && *known == key) {
            item_refs.push((Arc::clone(&item_ref.table), key));
        }
    }
    if item_refs.is_empty() {
        return false;
    }
    // An error of the budget would look like a transaction that was not committed.
    attempts.exempt_reads();
    let items = attempts.snapshot(&TransactGet { item_refs }).await.unwrap_or_default();
    items.iter().any(|item| shows_id(item.as_ref(), Some(id)))
}

pub(super) fn already_committed(attempts: &Attempts) -> Error {
    Error::AlreadyCommitted { spent: attempts.spent() }
}
