//! The loop that sends plans until the outcome of a write is known.

use std::{mem, sync::Arc, time::Duration};

use super::{
    intent::{Intent, Target},
    key::lease_row_key,
    outcome::AttemptOutcome,
    plan::{Plan, WritePosition},
    stamp::WriteStamps,
};
use crate::{
    codec::{Basis, Item},
    error::{ActionReason, CancellationClass, Error},
    lease::policy::{CompanionWrite, Release, evict_expired_head},
    operation::{Action, ActionReasons, Failure, GetItem, Transact, Write},
    random,
    retry::Attempts,
    telemetry::{LostReply, lost_reply},
    version::{Doubt, Expected, Incarnation, LateCopies, Verdict, revision_in, ring_of, shows, shows_patch, verdict},
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
    pub(crate) intent: &'a dyn Intent,
    pub(crate) attempts: &'a mut Attempts,
    pub(crate) stamps: WriteStamps,
    pub(crate) delivery: Delivery,
    /// How the writes of this call use the separate lease row.
    pub(crate) companion: &'a mut CompanionWrite,
    pub(crate) outcome: AttemptOutcome,
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
    position: WritePosition,
    late: LateCopies,
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
    pub(crate) fn plan(&mut self) -> Result<Plan, Error> {
        let clause = self.intent.clause(self.stamps.id.repeats, *self.companion);
        self.intent.plan(self.stamps.next(), &clause)
    }

    /// Sends the first plan. If its outcome is unknown, or if another plan may succeed, sends
    /// further plans of the same intent until the outcome is known.
    pub(crate) async fn send(mut self, first: Plan) -> Result<WriteResult<Applied>, Error> {
        let result = self.send_until_known(first).await;
        if self.outcome == AttemptOutcome::Unknown {
            lost_reply(self.found_out(&result));
        }
        result
    }

    /// Returns what the result shows about the attempts whose replies were lost.
    fn found_out(&self, result: &Result<WriteResult<Applied>, Error>) -> LostReply {
        // A delete without a condition may be applied twice. Both attempts have the same effect.
        let is_repeatable = matches!(self.intent.target().expected, Expected::Anything);
        match result {
            // A new plan is applied only if no earlier attempt was applied.
            Ok(WriteResult::Applied(Applied { proof: Proof::Reply, .. }))
                if self.delivery == Delivery::Plain && !self.intent.is_relative() && !is_repeatable =>
            {
                LostReply::NotApplied
            }
            Ok(WriteResult::Applied(_)) => LostReply::Applied,
            Ok(WriteResult::Conflict(_)) => LostReply::NotApplied,
            Err(_) => LostReply::Unknown,
        }
    }

    /// Sends plans until the outcome is known.
    async fn send_until_known(&mut self, first: Plan) -> Result<WriteResult<Applied>, Error> {
        let client = self.attempts.connection().client.clone();
        // This `Writer` has not sent a request yet. If the deadline has passed, the write was
        // therefore certainly not applied.
        self.attempts.check_time()?;
        let mut request = self.request(first)?;
        loop {
            let PlannedRequest { content, facts } = request;
            let (answer, transact) = match content {
                WireForm::Write(write) => (self.attempts.attempt(Box::pin(write.send(&client))).await, None),
                WireForm::Transact(transact) => {
                    let sent = self.attempts.attempt(Box::pin(transact.send(&client))).await;
                    (sent.map(|()| None), Some(transact))
                }
            };
            let failure = match answer {
                Ok(item) => return Ok(WriteResult::Applied(Applied { proof: Proof::Reply, next: facts.next, item })),
                Err(Failure::Cancelled(reasons)) if !facts.is_refused_by_row(&reasons) => reasons.into_failure(),
                Err(failure) => failure,
            };
            let judged = match failure {
                // The boxes in these arms keep the future small, because most writes are not
                // refused. Only the refusal by a lease row is still a cancellation here.
                Failure::Cancelled(reasons) => Box::pin(self.judge_lease_row(&facts, reasons.into_vec())).await?,
                Failure::Condition(item) => Box::pin(self.judge_condition(&facts, item)).await?,
                // Without a token, another attempt of the patch could apply the changes twice.
                failure if failure.leaves_doubt() && self.delivery == Delivery::Plain && self.intent.is_relative() => {
                    return Box::pin(self.find_patch(failure)).await;
                }
                failure => {
                    Box::pin(self.pause(failure)).await?;
                    // While the outcome of a request with a token is unknown, the same request is
                    // sent again, because DynamoDB refuses other content under this token.
                    if let (Delivery::Once, Some(transact)) = (self.delivery, transact) {
                        // When DynamoDB has forgotten the token, another attempt could apply a
                        // patch twice.
                        if self.intent.is_relative() && self.outcome.may_apply_twice(self.attempts) {
                            return Err(self.stop(self.attempts.too_late()));
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
            let plan = self.plan().map_err(|error| self.stop(error))?;
            request = self.request(plan).map_err(|error| self.stop(error))?;
        }
    }

    /// Reads the item after a patch whose outcome is unknown. If the item contains the id of the
    /// patch, the patch was applied. If the item does not contain the id, the outcome stays
    /// unknown: later patches may have pushed the id out, or the request may still arrive.
    async fn find_patch(&mut self, failure: Failure) -> Result<WriteResult<Applied>, Error> {
        self.outcome = AttemptOutcome::Unknown;
        let item_ref = self.intent.item_ref();
        let last = self.attempts.failed(&item_ref.table, failure).map_err(|error| self.stop(error))?;
        if !self.attempts.may_go_on(Duration::ZERO) {
            return Err(self.stop(last));
        }
        // Eight later patches push the id out of the item, so neither the read nor its first
        // repetition is delayed.
        let (get, client) = (item_ref.read()?, self.attempts.connection().client.clone());
        let item = match self.attempts.attempt(Box::pin(get.send(&client))).await {
            Ok(item) => item,
            Err(_) => self.attempts.read(&get).await.map_err(|error| self.stop(error))?,
        };
        match item.filter(|item| shows_patch(item, self.stamps.id)) {
            Some(item) => {
                let proof = ring_of(&item).map_or(Proof::Reply, |ring| Proof::Id(ring.incarnation()));
                Ok(WriteResult::Applied(Applied { proof, next: None, item: Some(item) }))
            }
            None => Err(self.attempts.indeterminate(&item_ref.table, None, None, Some(last))),
        }
    }

    fn request(&mut self, mut plan: Plan) -> Result<PlannedRequest, Error> {
        // The condition of a PutItem compares all lease attributes, with the queue. These
        // attributes may return to the compared state, so DynamoDB may still apply a late copy of a
        // PutItem.
        let is_put = matches!(plan.write.action, Action::Put(_));
        let late = if is_put { LateCopies::MayPass } else { self.intent.target().policy.late() };
        let token = match self.delivery {
            // Each plan contains the time and the beat of its attempt, so the content of each
            // request differs. The SDK generates a token for each request. After a lost reply, the
            // write id shows the outcome.
            Delivery::Plain => None,
            // Each plan gets a new token, because DynamoDB refuses another content under a token
            // that it remembers.
            Delivery::Once => Some(random::token(self.attempts.rng())),
        };
        let facts = PlanFacts { next: plan.next.take(), position: plan.position(0), late };
        let content = if plan.companion.is_none() && token.is_none() {
            WireForm::Write(plan.write)
        } else {
            let transact = Transact::new(plan.into_writes(), token);
            WireForm::Transact(transact.map_err(|why| Error::Rejected(why.after(self.attempts.spent())))?)
        };
        Ok(PlannedRequest { content, facts })
    }

    /// Sleeps after a request whose failure does not end the call, or returns the error that ends
    /// the call.
    async fn pause(&mut self, failure: Failure) -> Result<(), Error> {
        let table = Arc::clone(self.intent.target().table);
        let stop = match failure {
            Failure::Permanent(refusal) if refusal.is_of_item_size() => {
                // The request has moved its write, so the size is the size of another plan.
                match self.plan() {
                    Ok(plan) => Error::ItemTooLarge { table, bytes: plan.bytes(), spent: self.attempts.spent() },
                    Err(error) => error,
                }
            }
            failure => {
                self.outcome = self.outcome.after(&failure);
                match self.attempts.pause(&table, failure).await {
                    Ok(()) => return Ok(()),
                    Err(stop) => stop,
                }
            }
        };
        Err(self.stop(stop))
    }

    /// Returns the error that ends the call. If the outcome of an attempt is unknown, the error is
    /// `Indeterminate`.
    fn stop(&self, error: Error) -> Error {
        let Target { table, expected, .. } = self.intent.target();
        self.outcome.end(self.attempts, table, expected.version(), error)
    }

    /// Interprets a refusal by the condition on the item. Returns `None` if the call should send
    /// another plan.
    async fn judge_condition(
        &mut self,
        facts: &PlanFacts,
        returned: Option<Item>,
    ) -> Result<Option<WriteResult<Applied>>, Error> {
        let item = self.seen(returned).await?;
        match self.judge(facts, item)? {
            // The lease is checked before the version: its holder may have written the item, and
            // the error should then name the lease.
            WriteResult::Conflict(met) if self.intent.target().asks_for_lease_in_item() => {
                match self.intent.refusal(met.as_ref(), facts.position.judged_at, self.attempts.spent()) {
                    Some(refusal) => self.evict(met, refusal).await.map(|()| None),
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
        facts: &PlanFacts,
        mut reasons: Vec<ActionReason>,
    ) -> Result<Option<WriteResult<Applied>>, Error> {
        let item_ref = self.intent.item_ref();
        // The companion write is the last write of the request.
        let row = match reasons.pop().and_then(|row| row.item) {
            Some(row) => Some(row),
            None => {
                let key = lease_row_key(item_ref.model, &item_ref.table, &item_ref.key)?;
                let get = GetItem { table: Arc::clone(&item_ref.table), key, consistent: true };
                self.attempts.read(&get).await.map_err(|error| self.stop(error))?
            }
        };
        let may_pass = self.intent.target().policy.may_pass(item_ref.model, row.as_ref())
            && self.attempts.may_go_on(Duration::ZERO);
        if may_pass {
            self.intent.target().policy.pass_beat(row.as_ref());
            *self.companion = CompanionWrite::RemoveExpired;
        }
        let own = reasons.pop().filter(|own| own.class() == Some(CancellationClass::Conflict));
        let (item, is_refused) = if let Some(own) = own {
            (self.seen(own.item).await?, true)
        } else if self.outcome == AttemptOutcome::Unknown {
            // DynamoDB may not have evaluated the condition on the item, so the item is read. The
            // item shows whether an earlier attempt was applied.
            let item = self.seen(None).await?;
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
        match self.judge(facts, item)? {
            WriteResult::Conflict(_) if may_pass && !is_refused => {
                self.settle_doubt();
                Ok(None)
            }
            WriteResult::Conflict(_) if !may_pass => {
                let spent = self.attempts.spent();
                // If no lease is the reason for the refusal, the call ends because its deadline has
                // passed.
                let refusal = self.intent.refusal(row.as_ref(), facts.position.judged_at, spent);
                let refusal = refusal.unwrap_or_else(|| self.attempts.too_late());
                self.evict(row, refusal).await.map(|()| None)
            }
            result => Ok(Some(result)),
        }
    }

    /// Removes the expired head of the queue that refused the write, so that the call can send
    /// another plan. If the queue has no expired head, returns `refusal`.
    async fn evict(&mut self, met: Option<Item>, refusal: Error) -> Result<(), Error> {
        // All earlier attempts were certainly not applied, so no attempt is in doubt.
        self.settle_doubt();
        let (policy, item_ref) = (self.intent.target().policy, self.intent.item_ref());
        match met {
            Some(met) if evict_expired_head(self.attempts, policy, &item_ref, &met).await? => {
                self.attempts.check_time()
            }
            Some(_) | None => Err(refusal),
        }
    }

    /// Records that no attempt so far was applied, and none will be.
    fn settle_doubt(&mut self) {
        if mem::replace(&mut self.outcome, AttemptOutcome::Known) == AttemptOutcome::Unknown {
            lost_reply(LostReply::NotApplied);
        }
    }

    /// Returns the item that made the condition false. DynamoDB returns this item with the refusal.
    /// If a compatible server did not return the item, this method reads the item.
    async fn seen(&mut self, returned: Option<Item>) -> Result<Option<Item>, Error> {
        if returned.is_some() {
            return Ok(returned);
        }
        let get = self.intent.item_ref().read()?;
        self.attempts.read(&get).await.map_err(|error| self.stop(error))
    }

    /// Decides from a false condition whether the write was applied.
    fn judge(&self, facts: &PlanFacts, item: Option<Item>) -> Result<WriteResult<Applied>, Error> {
        let doubt = match self.delivery {
            _ if self.outcome == AttemptOutcome::Known => Doubt::None,
            Delivery::Once if self.attempts.tokens_are_known() => Doubt::UnderToken,
            Delivery::Once | Delivery::Plain => Doubt::Plain(facts.late),
        };
        let Target { table, model, expected, policy, .. } = self.intent.target();
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
            Verdict::Unknown if self.intent.is_refused_for_good(item.as_ref()) => Verdict::Conflict,
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

impl PlanFacts {
    /// Returns whether the separate lease row has refused the write, and no reason is permanent.
    fn is_refused_by_row(&self, reasons: &ActionReasons) -> bool {
        self.position.refused_lease(reasons.as_slice()).is_some() && reasons.show_conflicts()
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
