use std::sync::Arc;

use super::{Attempts, TOKEN_LIFE, mismatch};
use crate::{
    error::{ActionReason, CancellationClass, Error, Spent},
    operation::{ActionReasons, Failure, Transact},
    version::{Doubt, Expected, Revision, Verdict, WriteId, revision_in, verdict},
};

/// What marks the writes of a transaction, and what they rest on.
#[derive(Clone, Copy)]
pub(crate) struct TransactionAim<'a> {
    pub(crate) id: WriteId,
    pub(crate) token: TokenOrigin,
    /// By write: what its condition rests on.
    pub(crate) rests: &'a [Rests<'a>],
}

/// Where a ClientRequestToken comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TokenOrigin {
    /// It was drawn for this evaluation alone.
    Drawn,
    /// It is the caller's, who may have used it before.
    Given,
}

/// What the condition of one write rests on.
#[derive(Clone, Copy)]
pub(crate) struct Rests<'a> {
    /// `None` if it rests on something other than a revision, like absence.
    pub(crate) revision: Option<&'a Revision>,
    pub(crate) version_attribute: &'static str,
}

/// What became of a transaction.
pub(crate) enum Transacted {
    Applied,
    /// Nothing was applied, for these reasons of its actions.
    Cancelled(Vec<ActionReason>),
}

impl Attempts {
    /// Sends a transaction until its outcome is known, each time under the same token: DynamoDB applies it at most once in ten
    /// minutes. `cancelled` makes an error of reasons that were met to the end.
    pub(crate) async fn transact(
        &mut self,
        transact: &Transact,
        table: &Arc<str>,
        aim: TransactionAim<'_>,
        cancelled: impl Fn(Vec<ActionReason>, Spent) -> Error,
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
                Err(Failure::Cancelled(reasons)) if !in_doubt && reasons.key_schema().is_some() => {
                    return Err(self.of_key_schema(transact, reasons));
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

    /// The error of a transaction whose table, of one of its actions, has another key.
    fn of_key_schema(&self, transact: &Transact, reasons: ActionReasons) -> Error {
        let index = reasons.key_schema().unwrap_or_default();
        let refusal = reasons.into_vec().swap_remove(index).refusal;
        mismatch(transact.table(index), &refusal.after(self.spent()))
    }

    /// What a cancellation proves; `None` if it cannot be told. The reason of each write is read like the refusal of a single write under a
    /// token. One write that shows this transaction's id, or one whose condition can never hold again, decides for the whole.
    fn judge_cancelled(&self, reasons: ActionReasons, aim: TransactionAim<'_>, in_doubt: bool) -> Option<Transacted> {
        let reasons = reasons.into_vec();
        if !in_doubt {
            return Some(Transacted::Cancelled(reasons));
        }
        let judged = |(reason, rests): (&ActionReason, &Rests<'_>)| {
            let found = reason.item.as_ref().map(|item| revision_in(item, rests.version_attribute));
            let is_refused = reason.class() == Some(CancellationClass::Conflict);
            let expected = rests.revision.filter(|_| is_refused).map_or(Expected::Absent, Expected::Unchanged);
            verdict(expected, aim.id, Doubt::UnderToken, found.as_ref())
        };
        let verdicts: Vec<_> = reasons.iter().zip(aim.rests).map(judged).collect();
        let knows_token = self.elapsed() < TOKEN_LIFE;
        match verdicts.contains(&Verdict::Applied) {
            // If this call had been applied, DynamoDB would have recognized its token. An earlier one has left the id.
            true if knows_token && aim.token == TokenOrigin::Given => Some(Transacted::Cancelled(reasons)),
            true => Some(Transacted::Applied),
            false if knows_token && verdicts.contains(&Verdict::Conflict) => Some(Transacted::Cancelled(reasons)),
            false => None,
        }
    }
}
