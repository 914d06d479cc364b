use std::{sync::Arc, time::Duration};

use super::{Effort, TOKEN_LIFE};
use crate::{
    codec::ring_of,
    error::{CancellationClass, Error},
    operation::{Failure, Reason, Reasons, Transact},
    version::{Revision, WriteId},
};

/// What marks the writes of a transaction, and what they rest on.
#[derive(Clone, Copy)]
pub(crate) struct TransactionAim<'a> {
    pub(crate) id: WriteId,
    /// By write: the revision that its condition rests on.
    pub(crate) rests: &'a [Option<&'a Revision>],
}

/// What became of a transaction.
pub(crate) enum Transacted {
    Applied,
    /// Nothing was applied, for these reasons of its actions.
    Cancelled(Vec<Reason>),
}

impl Effort {
    /// Sends a transaction until its outcome is known, each time under the same token: DynamoDB applies it at most once in ten
    /// minutes. `cancelled` makes an error of reasons that were met to the end.
    pub(crate) async fn transact(
        &mut self,
        transact: &Transact,
        table: &Arc<str>,
        aim: TransactionAim<'_>,
        cancelled: impl Fn(Vec<Reason>, (u32, Duration)) -> Error,
    ) -> Result<Transacted, Error> {
        let client = self.connection.client.clone();
        let mut in_doubt = false;
        if self.left().is_zero() {
            return Err(self.too_late());
        }
        loop {
            let paused = match self.attempt_of(transact.len(), Box::pin(transact.send(&client))).await {
                Ok(()) => return Ok(Transacted::Applied),
                Err(Failure::Cancelled(reasons)) if reasons.pass() => {
                    let costs = reasons.lack_capacity();
                    let last = cancelled(reasons.into_vec(), self.spent());
                    self.pause_after(last, costs).await
                }
                Err(Failure::Cancelled(reasons)) => match self.judge_cancelled(reasons, aim, in_doubt) {
                    Some(outcome) => return Ok(outcome),
                    None => return Err(self.indeterminate(table, None, None, None)),
                },
                Err(failure) => {
                    in_doubt |= failure.leaves_doubt();
                    self.pause(table, failure).await
                }
            };
            match paused {
                Ok(()) => {}
                Err(stop) if in_doubt => return Err(self.indeterminate(table, None, None, Some(stop))),
                Err(stop) => return Err(stop),
            }
        }
    }

    /// What a cancellation proves; nothing if it cannot be told.
    ///
    /// A transaction that had been applied would have succeeded again, while DynamoDB knows its token; after that, its id in an item that it
    /// wrote shows it. Where an attempt is in doubt, that it was not applied before is not enough: DynamoDB remembers the tokens of transactions that have
    /// happened, so a late copy of one that was refused may still be applied. Not if one of its conditions can never hold again: the item has
    /// another version than it rested on, in the same life, or that life is over.
    fn judge_cancelled(&self, reasons: Reasons, aim: TransactionAim<'_>, in_doubt: bool) -> Option<Transacted> {
        let ring = |reason: &Reason| reason.item.as_ref().and_then(ring_of);
        let reasons = reasons.into_vec();
        if in_doubt && reasons.iter().any(|reason| ring(reason).is_some_and(|ring| ring.contains(aim.id))) {
            return Some(Transacted::Applied);
        }
        let is_final = |(reason, rests): (&Reason, Option<&Revision>)| {
            reason.class() == Some(CancellationClass::Conflict)
                && rests.is_some_and(|revision| revision.is_over(reason.item.is_some(), ring(reason).as_ref()))
        };
        let is_certain = || self.elapsed() < TOKEN_LIFE && reasons.iter().zip(aim.rests.iter().copied()).any(is_final);
        (!in_doubt || is_certain()).then_some(Transacted::Cancelled(reasons))
    }
}
