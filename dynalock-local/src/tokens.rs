use std::{
    collections::{HashMap, VecDeque},
    hash::{DefaultHasher, Hash, Hasher},
    sync::{Mutex, PoisonError},
    time::Duration,
};

use tokio::time::Instant;

use crate::clock;

/// The time for which DynamoDB remembers a client request token.
const WINDOW: Duration = Duration::from_mins(10);

/// The client request tokens of successful transactions. Tokio's clock measures the age of the
/// tokens.
///
/// The crate does not use the token support of the local engine, which scans a table of tokens and
/// reads the system clock in each transaction.
#[derive(Debug, Default)]
pub(crate) struct Tokens(Mutex<Table>);

#[derive(Debug, Default)]
struct Table {
    known: HashMap<String, Known>,
    /// The tokens in the order of age, the oldest token first.
    by_age: VecDeque<(Instant, String)>,
}

#[derive(Debug)]
struct Known {
    request: u64,
    reply: String,
}

/// The result of a transaction with a token.
pub(crate) enum Outcome<E> {
    /// The local engine has applied the transaction, for this request or for an earlier request
    /// with the same token and content. The field of `Applied` contains the answer to the
    /// transaction.
    Applied(String),
    /// The local engine refused the transaction.
    Refused(E),
    /// An earlier transaction has used the token of the request for other content.
    Mismatch,
}

impl Tokens {
    /// Returns `true` if a transaction with the token has succeeded.
    pub(crate) fn knows(&self, token: &str) -> bool {
        let mut table = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        table.forget_before(clock::now());

        table.known.contains_key(token)
    }

    /// Runs `apply`, unless a transaction with the same token has already succeeded.
    ///
    /// While `apply` runs, every further request with a client request token waits. If two requests
    /// with the same token and content arrive at the same time, the local engine applies only one
    /// of the two requests.
    pub(crate) fn once<E>(
        &self,
        token: String,
        request: &serde_json::Value,
        apply: impl FnOnce() -> Result<String, E>,
    ) -> Outcome<E> {
        let now = clock::now();
        let request = fingerprint(request);
        let mut table = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        table.forget_before(now);

        match table.known.get(&token) {
            Some(known) if known.request == request => return Outcome::Applied(known.reply.clone()),
            Some(_) => return Outcome::Mismatch,
            None => {}
        }

        match apply() {
            Ok(reply) => {
                table.by_age.push_back((now, token.clone()));
                table.known.insert(token, Known { request, reply: reply.clone() });
                Outcome::Applied(reply)
            }
            Err(error) => Outcome::Refused(error),
        }
    }
}

impl Table {
    fn forget_before(&mut self, now: Instant) {
        while let Some((_, token)) = self.by_age.pop_front_if(|(since, _)| now - *since >= WINDOW) {
            self.known.remove(&token);
        }
    }
}

/// Returns the fingerprint of a request. The fingerprint does not depend on the order of the JSON
/// members in the request.
fn fingerprint(request: &serde_json::Value) -> u64 {
    let mut hasher = DefaultHasher::new();
    request.hash(&mut hasher);
    hasher.finish()
}
