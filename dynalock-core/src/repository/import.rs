//! The import of values into a table: puts without conditions, up to 25 puts in a `BatchWriteItem`
//! request.

use std::sync::Arc;

use super::{
    Request,
    in_many::{InMany, Numbered},
    request::sealed::Sealed,
    write_stream::{BatchCall, ItemResult, first_failure},
};
use crate::{
    codec::{Basis, Item, Stored, key_of, size},
    error::{Error, Refusal, Result, Unavailable},
    key::Key,
    lease::LeasePolicy,
    model::Versioned,
    operation::{Failure, PutMany},
    retry::{Attempts, Backoff},
    telemetry::{LostReply, lost_reply, observe_as, set_batch},
    version::{Incarnation, WriteId},
    write::{
        intent::{Intent, IntentOf, ItemChange, WholeItem},
        outcome::AttemptOutcome,
        stamp::WriteStamp,
    },
};

/// The put of one value without a condition, for
/// [`Repository::import_unchecked`](super::Repository::import_unchecked).
#[derive(Debug)]
pub struct Import<T> {
    pub(super) value: T,
}

impl<T> Sealed for Import<T> {}

impl<T: Versioned> InMany<T> for Import<T> {
    type Output = Stored<T>;

    const OPERATION: &'static str = "import_unchecked";

    const MOST: usize = PutMany::MOST;

    fn key(&self) -> Key {
        self.value.key()
    }

    fn send(settings: &Request<T, ()>, items: Vec<Numbered<Self>>) -> BatchCall<Stored<T>> {
        let (repository, limits) = (settings.repository.clone(), settings.limits);
        let table = settings.table();
        let call = async move {
            set_batch(items.len());
            let mut attempts = Attempts::new(&repository.connection, limits);
            let open = items.into_iter().map(|Numbered { index, item }| Open {
                index,
                id: WriteId::draw(attempts.rng()),
                // A `BatchWriteItem` request has no conditions, so an import cannot check leases.
                intent: repository.intent(item.value, ItemChange::Create, LeasePolicy::Ignoring),
                outcome: AttemptOutcome::Known,
            });
            let open = open.collect();
            let mut call = ImportCall { table: repository.table, attempts, results: Vec::new() };
            call.write(open).await;
            call.results
        };
        observe_as("import_request", table, call, |results: &Vec<ItemResult<_>>| {
            first_failure(results.iter().map(|item| &item.result))
        })
    }
}

/// One group of up to 25 values of an import.
struct ImportCall<T> {
    table: Arc<str>,
    attempts: Attempts,
    results: Vec<ItemResult<Stored<T>>>,
}

/// A value whose write DynamoDB has not yet confirmed.
struct Open<T> {
    index: usize,
    id: WriteId,
    intent: IntentOf<T>,
    outcome: AttemptOutcome,
}

struct Sent<T> {
    open: Open<T>,
    next: Basis,
}

impl<T: Versioned> ImportCall<T> {
    async fn write(&mut self, mut open: Vec<Open<T>>) {
        let mut backoff = Backoff::default();
        loop {
            if let Err(late) = self.attempts.check_time() {
                return self.fail(open, &late);
            }
            let mut items = Vec::with_capacity(open.len());
            let mut sent = self.plan(open, &mut items);
            if sent.is_empty() {
                return;
            }
            let next_try = match self.attempt(&sent, items).await {
                Ok(left) => {
                    sent = self.settle(sent, &left);
                    if sent.is_empty() {
                        return;
                    }
                    // DynamoDB leaves items of a request unprocessed if the table has no capacity
                    // left, so the library treats unprocessed items like a throttled request.
                    let rest = Refusal::new("UnprocessedItems", "some of the items were not written", None);
                    self.attempts.wait(&mut backoff, Error::Throttled(rest.after(self.attempts.spent()))).await
                }
                // DynamoDB's refusal does not name the invalid item, so the import sends each item
                // alone.
                Err(Failure::Permanent(refusal)) if refusal.is_of_content() && sent.len() > 1 => {
                    for Sent { open, .. } in sent {
                        Box::pin(self.write(vec![open])).await;
                    }
                    return;
                }
                Err(Failure::Permanent(refusal)) if refusal.is_of_item_size() => Err(self.too_large(&sent)),
                Err(failure) => {
                    for sent in &mut sent {
                        sent.open.outcome = sent.open.outcome.after(&failure);
                    }
                    self.attempts.pause(&self.table, failure).await
                }
            };
            open = sent.into_iter().map(|sent| sent.open).collect();
            if let Err(error) = next_try {
                return self.fail(open, &error);
            }
        }
    }

    /// Encodes the values in `open`, and adds the encoded values to `items`. A value that cannot be
    /// encoded gets an error as its result.
    fn plan(&mut self, open: Vec<Open<T>>, items: &mut Vec<Item>) -> Vec<Sent<T>> {
        let mut sent = Vec::with_capacity(open.len());
        for open in open {
            let incarnation = Incarnation::draw(self.attempts.rng());
            match open.intent.whole_item(WriteStamp { id: open.id, incarnation }) {
                Ok(WholeItem { item, next, .. }) => {
                    items.push(item);
                    sent.push(Sent { open, next });
                }
                Err(error) => self.fail(vec![open], &error),
            }
        }
        sent
    }

    /// Returns the keys of the items that DynamoDB left unprocessed.
    async fn attempt(&mut self, sent: &[Sent<T>], items: Vec<Item>) -> Result<Vec<Key>, Failure> {
        let client = self.attempts.connection().client.clone();
        let request = PutMany { table: Arc::clone(&self.table), items };
        // The attempt includes the parsing of the reply, so that an unreadable reply counts as a
        // lost reply.
        let request = async { request.send(&client).await.and_then(|left| unprocessed(&left, sent)) };
        self.attempts.attempt_of(sent.len(), Box::pin(request)).await
    }

    /// Records the results of the written values, and returns the unprocessed values.
    fn settle(&mut self, sent: Vec<Sent<T>>, left: &[Key]) -> Vec<Sent<T>> {
        let (open, written): (Vec<_>, Vec<_>) =
            sent.into_iter().partition(|sent| left.contains(&sent.open.intent.key()));
        let written = written.into_iter().map(|Sent { open, next }| {
            let result = Ok(open.intent.into_stored(Some(next)));
            ItemResult { index: open.index, result }
        });
        self.results.extend(written);
        open
    }

    /// A value that DynamoDB may have written gets `Error::Indeterminate` instead of `error`.
    fn fail(&mut self, open: Vec<Open<T>>, error: &Error) {
        if open.iter().any(|open| open.outcome == AttemptOutcome::Unknown) {
            lost_reply(LostReply::Unknown);
        }
        for Open { index, outcome, .. } in open {
            let error = outcome.end(&self.attempts, &self.table, None, error.clone());
            self.results.push(ItemResult { index, result: Err(error) });
        }
    }

    /// `sent` must contain exactly one value: the value in the refused request.
    fn too_large(&mut self, sent: &[Sent<T>]) -> Error {
        let incarnation = Incarnation::draw(self.attempts.rng());
        let sizes = sent.iter().map(|Sent { open, .. }| {
            let WholeItem { item, .. } = open.intent.whole_item(WriteStamp { id: open.id, incarnation })?;
            Ok(size(&item))
        });
        match sizes.sum::<Result<usize>>() {
            Ok(bytes) => Error::ItemTooLarge { table: Arc::clone(&self.table), bytes, spent: self.attempts.spent() },
            Err(error) => error,
        }
    }
}

/// Returns an error if the reply contains an unprocessed item that was not in the request.
fn unprocessed<T: Versioned>(left: &[Item], sent: &[Sent<T>]) -> Result<Vec<Key>, Failure> {
    const UNKNOWN: &str = "an unprocessed item was not in the request";
    let is_sent = |key: &Key| sent.iter().any(|sent| sent.open.intent.key() == *key);
    let keys = left.iter().map(|item| key_of(T::MODEL, item).filter(is_sent));
    keys.collect::<Option<_>>().ok_or_else(|| Failure::Ambiguous(Unavailable::Unreadable(UNKNOWN.into())))
}
