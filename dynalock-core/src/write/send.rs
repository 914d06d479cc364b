//! The loop that sends plans until the outcome of a write is known.

use std::{mem, sync::Arc, time::Duration};

use super::{
    intent::{Intent, Target},
    key::lease_row_key,
    plan::Plan,
    stamp::WriteStamps,
};
use crate::{
    codec::{Basis, Item},
    error::{ActionReason, CancellationClass, Error},
    lease::policy::{CompanionWrite, Release, evict_expired_head},
    operation::{Action, ActionReasons, Failure, GetItem, Transact, Write},
    retry::Attempts,
    telemetry::{LostReply, lost_reply},
    version::{Doubt, Incarnation, LateCopies, Verdict, revision_in, ring_of, shows, shows_patch, verdict},
};

/// The known outcome of a write.
pub(crate) enum WriteResult<A, C = Option<Item>> {
    /// The write was applied.
    Applied(A),
    /// No attempt was applied, and no late copy of an attempt will be. For a single write, the
    /// field is the item that made the condition false, or `None` if the key had no item.
    Conflict(C),
}

/// A write that was applied.
pub(crate) struct Applied {
    pub(crate) proof: Proof,
    /// The basis of the next write of the item, or `None` for a delete and for a patch.
    pub(crate) next: Option<Basis>,
    /// The item after a patch, if the reply or a later read has returned this item.
    pub(crate) item: Option<Item>,
}

/// The evidence that a write was applied. Only a reply shows which attempt was applied. All other
/// kinds of evidence prove only that one of the attempts was applied.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Proof {
    /// DynamoDB answered the last attempt.
    Reply,
    /// The item contains the write id. The field is the incarnation of the item.
    Id(Incarnation),
    /// The item has no write ids, but its lease attributes show that the commit released the lease.
    Release,
    /// The item that the write deletes is absent. Another caller may have deleted the item.
    Absence,
}

/// The kind of request by which a single write is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Delivery {
    /// A PutItem, UpdateItem or DeleteItem, planned again for each attempt. A write with a
    /// companion write is a transaction.
    Plain,
    /// A transaction with a ClientRequestToken. DynamoDB applies a transaction with a token at most
    /// once in ten minutes.
    Once,
}

/// The attempts of one write of an item.
pub(crate) struct Writer<'a> {
    pub(crate) attempts: &'a mut Attempts,
    pub(crate) stamps: WriteStamps,
    pub(crate) delivery: Delivery,
    /// How the writes of this call use the separate lease row.
    pub(crate) companion: &'a mut CompanionWrite,
    /// `true` if the outcome of an attempt is unknown: the attempt may have been applied, or may
    /// still be applied.
    pub(crate) in_doubt: bool,
}

/// The request that is made from a plan.
struct PlannedRequest {
    content: WireForm,
    facts: PlanFacts,
}

/// The content of a request. An attempt moves the write out of this value. A repetition is rare,
/// and makes a new plan: this costs less than a copy of the write for each attempt.
enum WireForm {
    Write(Write),
    Transact(Transact),
}

/// The data of a plan that the library needs to interpret the answer.
struct PlanFacts {
    next: Option<Basis>,
    judged_at: Option<u64>,
    late: LateCopies,
}

/// The refusal of a transaction by its companion write on the separate lease row.
struct LeaseRowRefusal {
    /// The reason of the write of the item.
    own: ActionReason,
    /// The separate lease row, if its write or check was refused.
    row: Option<Item>,
}

impl<A, C> WriteResult<A, C> {
    pub(crate) fn map<B>(self, applied: impl FnOnce(A) -> B) -> WriteResult<B, C> {
        match self {
            Self::Applied(write) => WriteResult::Applied(applied(write)),
            Self::Conflict(met) => WriteResult::Conflict(met),
        }
    }
}

impl Writer<'_> {
    /// Returns the plan of an attempt that begins now.
    pub(crate) fn plan(&mut self, intent: &dyn Intent) -> Result<Plan, Error> {
        let clause = intent.clause(self.stamps.id.repeats, *self.companion);
        intent.plan(self.stamps.next(), &clause)
    }

    /// Sends the first plan. If its outcome is unknown, or if another plan may succeed, sends
    /// further plans of the same intent until the outcome is known.
    pub(crate) async fn send(mut self, intent: &dyn Intent, first: Plan) -> Result<WriteResult<Applied>, Error> {
        let result = self.send_until_known(intent, first).await;
        if self.in_doubt {
            lost_reply(self.found_out(intent, &result));
        }
        result
    }

    /// Returns what the result shows about the attempts whose replies were lost.
    fn found_out(&self, intent: &dyn Intent, result: &Result<WriteResult<Applied>, Error>) -> LostReply {
        match result {
            // A new plan is applied only if no earlier attempt was applied.
            Ok(WriteResult::Applied(Applied { proof: Proof::Reply, .. }))
                if self.delivery == Delivery::Plain && !intent.is_relative() =>
            {
                LostReply::NotApplied
            }
            Ok(WriteResult::Applied(_)) => LostReply::Applied,
            Ok(WriteResult::Conflict(_)) => LostReply::NotApplied,
            Err(_) => LostReply::Unknown,
        }
    }

    /// Sends plans until the outcome is known.
    async fn send_until_known(&mut self, intent: &dyn Intent, first: Plan) -> Result<WriteResult<Applied>, Error> {
        let client = self.attempts.connection().client.clone();
        // This `Writer` has not sent a request yet. If the deadline has passed, the write was
        // therefore certainly not applied.
        self.attempts.check_time()?;
        let mut request = self.request(intent, first)?;
        loop {
            let PlannedRequest { content, facts } = request;
            let (answer, transact) = match content {
                WireForm::Write(write) => (self.attempts.attempt(Box::pin(write.send(&client))).await, None),
                WireForm::Transact(transact) => {
                    let sent = self.attempts.attempt(Box::pin(transact.send(&client))).await;
                    (sent.map(|()| None), Some(transact))
                }
            };
            let refusal = match answer {
                Ok(item) => return Ok(WriteResult::Applied(Applied { proof: Proof::Reply, next: facts.next, item })),
                Err(Failure::Cancelled(reasons)) => LeaseRowRefusal::of(reasons),
                Err(failure) => Err(failure),
            };
            let judged = match refusal {
                // The boxes in these arms keep the future small, because most writes are not
                // refused.
                Ok(refusal) => Box::pin(self.judge_lease_row(intent, &facts, refusal)).await?,
                Err(Failure::Condition(item)) => Box::pin(self.judge_condition(intent, &facts, item)).await?,
                // Without a token, another attempt of the patch could apply the changes twice.
                Err(failure) if failure.leaves_doubt() && self.delivery == Delivery::Plain && intent.is_relative() => {
                    return Box::pin(self.find_patch(intent, failure)).await;
                }
                Err(failure) => {
                    Box::pin(self.pause(intent, &facts, failure)).await?;
                    // While the outcome of a request with a token is unknown, the same request is
                    // sent again, because DynamoDB refuses other content under this token.
                    if let (Delivery::Once, Some(transact)) = (self.delivery, transact) {
                        // When DynamoDB has forgotten the token, another attempt could apply a
                        // patch twice.
                        if self.in_doubt && intent.is_relative() && !self.attempts.tokens_are_known() {
                            return Err(self.stop(intent, self.attempts.too_late()));
                        }
                        request = PlannedRequest { content: WireForm::Transact(transact), facts };
                        continue;
                    }
                    None
                }
            };
            if let Some(result) = judged {
                return Ok(result);
            }
            let plan = self.plan(intent).map_err(|error| self.stop(intent, error))?;
            request = self.request(intent, plan)?;
        }
    }

    /// Reads the item after a patch whose outcome is unknown. If the item contains the id of the
    /// patch, the patch was applied. If the item does not contain the id, the outcome stays
    /// unknown: later patches may have pushed the id out, or the request may still arrive.
    async fn find_patch(&mut self, intent: &dyn Intent, failure: Failure) -> Result<WriteResult<Applied>, Error> {
        self.in_doubt = true;
        let item_ref = intent.item_ref();
        let last = self.attempts.failed(&item_ref.table, failure).map_err(|error| self.stop(intent, error))?;
        if !self.attempts.may_go_on(Duration::ZERO) {
            return Err(self.stop(intent, last));
        }
        // Eight later patches push the id out of the item, so neither the read nor its first
        // repetition is delayed.
        let (get, client) = (item_ref.read()?, self.attempts.connection().client.clone());
        let item = match self.attempts.attempt(Box::pin(get.send(&client))).await {
            Ok(item) => item,
            Err(_) => self.attempts.read(&get).await.map_err(|error| self.stop(intent, error))?,
        };
        match item.filter(|item| shows_patch(item, self.stamps.id)) {
            Some(item) => {
                let proof = ring_of(&item).map_or(Proof::Reply, |ring| Proof::Id(ring.incarnation()));
                Ok(WriteResult::Applied(Applied { proof, next: None, item: Some(item) }))
            }
            None => Err(self.attempts.indeterminate(&item_ref.table, None, None, Some(last))),
        }
    }

    fn request(&mut self, intent: &dyn Intent, plan: Plan) -> Result<PlannedRequest, Error> {
        let Plan { write, companion, next, judged_at, .. } = plan;
        // The condition of a PutItem compares all lease attributes, with the queue. These
        // attributes may return to the compared state, so DynamoDB may still apply a late copy of a
        // PutItem.
        let is_put = matches!(write.action, Action::Put(_));
        let late = if is_put { LateCopies::MayPass } else { intent.target().policy.late() };
        let token = match self.delivery {
            // Each plan contains the time and the beat of its attempt, so the content of each
            // request differs. The SDK generates a token for each request. After a lost reply, the
            // write id shows the outcome.
            Delivery::Plain => None,
            // Each plan gets a new token, because DynamoDB refuses another content under a token
            // that it remembers.
            Delivery::Once => Some(format!("{:032x}", self.attempts.rng().u128(..))),
        };
        let content = if companion.is_none() && token.is_none() {
            WireForm::Write(write)
        } else {
            let writes = std::iter::once(write).chain(companion.map(|companion| *companion));
            let transact = Transact::new(writes, token);
            WireForm::Transact(transact.map_err(|why| Error::Rejected(why.after(self.attempts.spent())))?)
        };
        Ok(PlannedRequest { content, facts: PlanFacts { next, judged_at, late } })
    }

    /// Sleeps after a request whose failure does not end the call, or returns the error that ends
    /// the call.
    async fn pause(&mut self, intent: &dyn Intent, facts: &PlanFacts, failure: Failure) -> Result<(), Error> {
        let table = Arc::clone(intent.target().table);
        let stop = match failure {
            Failure::Permanent(refusal) if refusal.is_of_item_size() => {
                let spent = self.attempts.spent();
                match intent.bytes(facts.next.as_ref().map(|next| &next.state.revision)) {
                    Ok(bytes) => Error::ItemTooLarge { table, bytes, spent },
                    Err(error) => error,
                }
            }
            failure => {
                self.in_doubt |= failure.leaves_doubt();
                match self.attempts.pause(&table, failure).await {
                    Ok(()) => return Ok(()),
                    Err(stop) => stop,
                }
            }
        };
        Err(self.stop(intent, stop))
    }

    /// Returns the error that ends the call. If the outcome of an attempt is unknown, the error is
    /// `Indeterminate`.
    fn stop(&self, intent: &dyn Intent, error: Error) -> Error {
        if !self.in_doubt {
            return error;
        }
        let Target { table, expected, .. } = intent.target();
        self.attempts.indeterminate(table, expected.version(), None, Some(error))
    }

    /// Interprets a refusal by the condition on the item. Returns `None` if the call should send
    /// another plan.
    async fn judge_condition(
        &mut self,
        intent: &dyn Intent,
        facts: &PlanFacts,
        returned: Option<Item>,
    ) -> Result<Option<WriteResult<Applied>>, Error> {
        let item = self.seen(intent, returned).await?;
        match self.judge(intent, facts, item)? {
            // The lease is checked before the version: its holder may have written the item, and
            // the error should then name the lease.
            WriteResult::Conflict(met) if intent.target().asks_for_lease_in_item() => {
                match intent.refusal(met.as_ref(), facts.judged_at, self.attempts.spent()) {
                    Some(refusal) => self.evict(intent, met, refusal).await.map(|()| None),
                    None => Ok(Some(WriteResult::Conflict(met))),
                }
            }
            result => Ok(Some(result)),
        }
    }

    /// Interprets a refusal by the separate lease row. The write id is checked first, then the
    /// lease, then the version. Returns `None` if the call should send another plan.
    async fn judge_lease_row(
        &mut self,
        intent: &dyn Intent,
        facts: &PlanFacts,
        LeaseRowRefusal { own, row }: LeaseRowRefusal,
    ) -> Result<Option<WriteResult<Applied>>, Error> {
        let item_ref = intent.item_ref();
        let row = match row {
            Some(row) => Some(row),
            None => {
                let key = lease_row_key(item_ref.model, &item_ref.table, &item_ref.key)?;
                let get = GetItem { table: Arc::clone(&item_ref.table), key, consistent: true };
                self.attempts.read(&get).await.map_err(|error| self.stop(intent, error))?
            }
        };
        let may_pass =
            intent.target().policy.may_pass(item_ref.model, row.as_ref()) && self.attempts.may_go_on(Duration::ZERO);
        if may_pass {
            *self.companion = CompanionWrite::RemoveExpired;
        }
        let (item, is_refused) = if own.class() == Some(CancellationClass::Conflict) {
            (self.seen(intent, own.item).await?, true)
        } else if self.in_doubt {
            // DynamoDB may not have evaluated the condition on the item, so the item is read. The
            // item shows whether an earlier attempt was applied.
            let item = self.seen(intent, None).await?;
            let shows_id = item.as_ref().is_some_and(|item| shows(item, self.stamps.id));
            (item, shows_id)
        } else {
            (None, false)
        };
        // Without a token, the next plan can be sent although the outcome of an earlier attempt is
        // unknown, because the write id shows this outcome later. With a token, the outcome must be
        // known first, because the next plan has other content.
        if may_pass && !is_refused && self.delivery == Delivery::Plain {
            return Ok(None);
        }
        match self.judge(intent, facts, item)? {
            WriteResult::Conflict(_) if may_pass && !is_refused => {
                self.settle_doubt();
                Ok(None)
            }
            WriteResult::Conflict(_) if !may_pass => {
                let spent = self.attempts.spent();
                // If no lease is the reason for the refusal, the call ends because its deadline has
                // passed.
                let refusal = intent.refusal(row.as_ref(), facts.judged_at, spent);
                let refusal = refusal.unwrap_or_else(|| self.attempts.too_late());
                self.evict(intent, row, refusal).await.map(|()| None)
            }
            result => Ok(Some(result)),
        }
    }

    /// Removes the expired head of the queue that refused the write, so that the call can send
    /// another plan. If the queue has no expired head, returns `refusal`.
    async fn evict(&mut self, intent: &dyn Intent, met: Option<Item>, refusal: Error) -> Result<(), Error> {
        // All earlier attempts were certainly not applied, so no attempt is in doubt.
        self.settle_doubt();
        let (policy, item_ref) = (intent.target().policy, intent.item_ref());
        match met {
            Some(met) if evict_expired_head(self.attempts, policy, &item_ref, &met).await? => {
                self.attempts.check_time()
            }
            Some(_) | None => Err(refusal),
        }
    }

    /// Records that no attempt so far was applied, and none will be.
    fn settle_doubt(&mut self) {
        if mem::take(&mut self.in_doubt) {
            lost_reply(LostReply::NotApplied);
        }
    }

    /// Returns the item that made the condition false. DynamoDB returns this item with the refusal.
    /// If a compatible server did not return the item, this method reads the item.
    async fn seen(&mut self, intent: &dyn Intent, returned: Option<Item>) -> Result<Option<Item>, Error> {
        if returned.is_some() {
            return Ok(returned);
        }
        let get = intent.item_ref().read()?;
        self.attempts.read(&get).await.map_err(|error| self.stop(intent, error))
    }

    /// Decides from a false condition whether the write was applied.
    fn judge(&self, intent: &dyn Intent, facts: &PlanFacts, item: Option<Item>) -> Result<WriteResult<Applied>, Error> {
        let doubt = match self.delivery {
            _ if !self.in_doubt => Doubt::None,
            Delivery::Once if self.attempts.tokens_are_known() => Doubt::UnderToken,
            Delivery::Once | Delivery::Plain => Doubt::Plain(facts.late),
        };
        let Target { table, model, expected, policy, .. } = intent.target();
        let found = item.as_ref().map(|item| revision_in(item, model.version));
        let shows_patch = item.as_ref().is_some_and(|item| shows_patch(item, self.stamps.id));
        let verdict = match verdict(expected, self.stamps.id, doubt, found.as_ref()) {
            // The function `verdict` reads only the ring, but the id of a patch is in other
            // attributes.
            _ if shows_patch => Verdict::Applied,
            // The item does not contain the write id, but its lease attributes show a release by
            // this holder. Only the commit can have released the lease, because a separate release
            // is sent only after a commit has failed.
            Verdict::Unknown if shows_release(policy.release(model), item.as_ref()) => Verdict::Applied,
            Verdict::Unknown if intent.is_refused_for_good(item.as_ref()) => Verdict::Conflict,
            verdict => verdict,
        };
        match verdict {
            Verdict::Applied => {
                let proof = match found.and_then(|found| found.ring) {
                    Some(ring) => Proof::Id(ring.incarnation()),
                    None if item.is_some() => Proof::Release,
                    None => Proof::Absence,
                };
                Ok(WriteResult::Applied(Applied { proof, next: shown_by(proof, facts.next.clone()), item }))
            }
            Verdict::Conflict => Ok(WriteResult::Conflict(item)),
            Verdict::Unknown => {
                let found = found.and_then(|found| found.version);
                Err(self.attempts.indeterminate(table, expected.version(), found, None))
            }
        }
    }
}

impl LeaseRowRefusal {
    /// Returns the refusal by the lease row, or the failure of the whole transaction.
    fn of(reasons: ActionReasons) -> Result<Self, Failure> {
        // The first action is the write of the item, and the second action is its companion write.
        let is_refused_by_row = match reasons.as_slice() {
            [own, row] => {
                let is_permanent = matches!(own.class(), Some(CancellationClass::Permanent | CancellationClass::Mixed));
                row.class() == Some(CancellationClass::Conflict) && !is_permanent
            }
            _ => false,
        };
        let mut reasons = match is_refused_by_row {
            true => reasons.into_vec().into_iter(),
            false => return Err(reasons.into_failure()),
        };
        let own = reasons.next().unwrap_or_else(ActionReason::innocent);
        Ok(Self { own, row: reasons.next().and_then(|row| row.item) })
    }
}

/// Returns whether the lease attributes of an item show a release by this holder.
fn shows_release(release: Option<Release<'_>>, item: Option<&Item>) -> bool {
    let stored = |release: &Release<'_>| item.and_then(|item| item.get(release.attribute));
    release.is_some_and(|release| {
        stored(&release).and_then(|stored| stored.as_s().ok()).is_some_and(|by| by == release.owner)
    })
}

/// Returns the basis after the attempt that was applied.
fn shown_by(proof: Proof, next: Option<Basis>) -> Option<Basis> {
    match proof {
        Proof::Reply | Proof::Release | Proof::Absence => next,
        Proof::Id(incarnation) => next.map(|next| next.in_life(incarnation)),
    }
}
