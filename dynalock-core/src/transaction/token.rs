//! The ClientRequestToken of a commit, and the search for an earlier commit with the same token.

use std::sync::Arc;

use crate::{
    codec::Item,
    error::Error,
    model::ItemRef,
    operation::TransactGet,
    random,
    retry::Attempts,
    version::{Repeats, WriteId, shows_any},
    write::{operation::Operation, stamp::WriteStamps},
};

/// Returns the ClientRequestToken and the [`WriteStamps`] of a commit. The `WriteStamps` contain
/// the write id of the transaction, and generate the incarnations (random ids) of created items. If
/// the caller has set the token, the library derives the write id and the incarnations from the
/// token. A later commit with the same token then sends the same ids.
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

pub(super) fn known_id(stamps: &WriteStamps) -> Option<WriteId> {
    (stamps.id.repeats == Repeats::Ever).then_some(stamps.id)
}

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

pub(super) async fn is_committed(attempts: &mut Attempts, operations: &[Operation], id: WriteId) -> bool {
    let written = operations.iter().filter(|operation| operation.intent().is_some());
    is_shown(attempts, written.map(|operation| &operation.item_ref), id).await
}

/// Reads items, and returns `true` if one of the items contains the write id `id`. If the read
/// fails, `is_shown` returns `false`.
pub(super) async fn is_shown(attempts: &mut Attempts, items: impl Iterator<Item = &ItemRef>, id: WriteId) -> bool {
    let mut item_refs: Vec<(Arc<str>, Item)> = Vec::new();
    for item_ref in items {
        let Ok(key) = item_ref.key_item() else { continue };
        if !item_refs.iter().any(|(table, known)| *table == item_ref.table && *known == key) {
            item_refs.push((Arc::clone(&item_ref.table), key));
        }
    }
    if item_refs.is_empty() {
        return false;
    }
    // The caller's budget must not prevent the reads, because `false` would mean that no earlier
    // call has committed the transaction.
    attempts.exempt_reads();
    let items = attempts.snapshot(&TransactGet { item_refs }).await.unwrap_or_default();
    items.iter().any(|item| shows_any(item.as_ref(), &[id]))
}

pub(super) fn already_committed(attempts: &Attempts) -> Error {
    Error::AlreadyCommitted { spent: attempts.spent() }
}
