//! The loop that sends attempts of a write until the outcome of the write is known.

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
    version::{Doubt, Expected, Incarnation, LateCopies, Verdict, revision_in, ring_of, shows_any, verdict},
};

pub(crate) enum WriteResult<A, C = Option<Item>> {
    Applied(A),
    /// DynamoDB has applied no attempt of the write, and will apply none later. In a
    /// `WriteResult<A>`, the field is the item that made the condition false, or `None` if the key
    /// had no item.
    Conflict(C),
}

pub(crate) struct Applied {
    pub(crate) proof: Proof,
    pub(crate) next: Option<Basis>,
    /// The item after a patch, if the reply to the patch or a later read has returned the item.
    pub(crate) item: Option<Item>,
}

/// The evidence that DynamoDB has applied a write.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Proof {
    Reply,
    /// The item contains the write id. The field is the incarnation of the item: the random id that
    /// distinguishes the item from earlier items with the same key.
    Id(Incarnation),
    /// The item has no write ids, but its lease attributes show that the write has released the
    /// lease.
    Release,
    /// The write is a delete, and the item is absent. The absence of the item does not prove that
    /// the delete of the call was applied, because another caller may have deleted the item.
    Absence,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Delivery {
    /// A PutItem, UpdateItem or DeleteItem. Each attempt builds a new request. For an item with a
    /// separate lease row, the request is a transaction of the item and its lease row.
    Plain,
    /// A transaction with a ClientRequestToken, which DynamoDB applies at most once in ten minutes.
    Once,
}

pub(crate) struct Writer<'a> {
    pub(crate) intent: &'a dyn Intent,
    pub(crate) attempts: &'a mut Attempts,
    pub(crate) stamps: WriteStamps,
    pub(crate) delivery: Delivery,
    pub(crate) companion: &'a mut CompanionWrite,
    pub(crate) outcome: AttemptOutcome,
}

/// Sending consumes the `Write`, so a retry needs a new `Write`. The library does not copy each
/// `Write` before the first attempt, because retries are rare.
enum WireForm {
    Write(Write),
    Transact(Transact),
}

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

    pub(crate) fn found_out(result: &Result<Self, Error>) -> LostReply {
        match result {
            Ok(Self::Applied(_)) => LostReply::Applied,
            Ok(Self::Conflict(_)) => LostReply::NotApplied,
            Err(_) => LostReply::Unknown,
        }
    }
}

impl Writer<'_> {
    pub(crate) fn plan(&mut self) -> Result<Plan, Error> {
        let clause = self.intent.clause(self.stamps.id.repeats, *self.companion);
        self.intent.plan(self.stamps.next(), &clause)
    }

    pub(crate) async fn send(mut self, first: Plan) -> Result<WriteResult<Applied>, Error> {
        let result = self.send_until_known(first).await;
        if self.outcome == AttemptOutcome::Unknown {
            lost_reply(self.found_out(&result));
        }
        result
    }

    /// Returns a value for telemetry: the outcome of the attempts whose replies were lost, as a
    /// later reply shows it.
    fn found_out(&self, result: &Result<WriteResult<Applied>, Error>) -> LostReply {
        // DynamoDB can apply two attempts of a delete without a condition, so the success of the
        // last attempt proves nothing about earlier attempts.
        let is_repeatable = matches!(self.intent.target().expected, Expected::Anything);
        match result {
            // An applied attempt makes the conditions of all later attempts false, so the success
            // of the last attempt shows that no earlier attempt was applied.
            Ok(WriteResult::Applied(Applied { proof: Proof::Reply, .. }))
                if self.delivery == Delivery::Plain && !self.intent.is_relative() && !is_repeatable =>
            {
                LostReply::NotApplied
            }
            result => WriteResult::found_out(result),
        }
    }

    async fn send_until_known(&mut self, first: Plan) -> Result<WriteResult<Applied>, Error> {
        let client = self.attempts.connection().client.clone();
        // Before the first request, an error proves that DynamoDB has not applied the write.
        self.attempts.check_time()?;
        let (mut content, mut facts) = self.request(first)?;
        loop {
            let (answer, transact) = match content {
                WireForm::Write(write) => (self.attempts.attempt(Box::pin(write.send(&client))).await, None),
                WireForm::Transact(transact) => {
                    let sent = self.attempts.attempt(Box::pin(transact.send(&client))).await;
                    (sent.map(|()| None), Some(transact))
                }
            };
            let failure = match answer {
                Ok(item) => return Ok(WriteResult::Applied(Applied { proof: Proof::Reply, next: facts.next, item })),
                Err(Failure::Cancelled(reasons)) if !facts.is_refused_by_row(&reasons) => {
                    Failure::of_cancelled(reasons)
                }
                Err(failure) => failure,
            };
            let judged = match failure {
                // The boxes keep the future of `send_until_known` small, and cost little because
                // refusals are rare. Only a false condition on a separate lease row leads to the
                // arm `Cancelled`.
                Failure::Cancelled(reasons) => Box::pin(self.judge_lease_row(&facts, reasons.into_vec())).await?,
                Failure::Condition(item) => Box::pin(self.judge_condition(&facts, item)).await?,
                // Without a ClientRequestToken, another attempt of a patch could apply the changes
                // twice.
                failure if failure.leaves_doubt() && self.delivery == Delivery::Plain && self.intent.is_relative() => {
                    return Box::pin(self.find_patch(failure)).await;
                }
                failure => {
                    Box::pin(self.pause(failure)).await?;
                    // DynamoDB refuses a repeated token with different content, so the retry sends
                    // the same request.
                    if let (Delivery::Once, Some(transact)) = (self.delivery, transact) {
                        // After DynamoDB has forgotten the ClientRequestToken, another attempt
                        // could apply a patch twice.
                        if self.intent.is_relative() && self.outcome.may_apply_twice(self.attempts) {
                            return Err(self.stop(self.attempts.too_late()));
                        }
                        content = WireForm::Transact(transact);
                        continue;
                    }
                    None
                }
            };
            if let Some(result) = judged {
                return Ok(result);
            }
            let plan = self.plan().map_err(|error| self.stop(error))?;
            (content, facts) = self.request(plan).map_err(|error| self.stop(error))?;
        }
    }

    /// Reads the item after a patch whose outcome is unknown. If the item contains the patch's
    /// write id, DynamoDB has applied the patch. If the item does not contain the patch's write id,
    /// the outcome stays unknown. DynamoDB may still apply the patch, or later patches may have
    /// removed the write id.
    async fn find_patch(&mut self, failure: Failure) -> Result<WriteResult<Applied>, Error> {
        self.outcome = AttemptOutcome::Unknown;
        let item_ref = self.intent.item_ref();
        let last = self.attempts.failed(&item_ref.table, failure).map_err(|error| self.stop(error))?;
        // A successful read does not count as an attempt, so the first read ignores the limit of
        // attempts.
        if self.attempts.check_time().is_err() {
            return Err(self.stop(last));
        }
        // Eight later patches would remove the write id of this patch from the item, so the first
        // read and its first repetition have no pause.
        let get = item_ref.read()?;
        let item = match self.attempts.read_once(&get).await {
            Ok(item) => item,
            Err(_) if !self.attempts.may_go_on(Duration::ZERO) => return Err(self.stop(last)),
            Err(_) => self.attempts.read(&get).await.map_err(|error| self.stop(error))?,
        };
        let model = self.intent.target().model;
        let found = item.as_ref().and_then(|item| revision_in(item, model.version).version);
        match item.filter(|item| shows_any(Some(item), &[self.stamps.id])) {
            Some(item) => {
                let proof = ring_of(&item).map_or(Proof::Reply, |ring| Proof::Id(ring.incarnation()));
                Ok(WriteResult::Applied(Applied { proof, next: None, item: Some(item) }))
            }
            None => Err(self.attempts.indeterminate(&item_ref.table, None, found, Some(last))),
        }
    }

    fn request(&mut self, mut plan: Plan) -> Result<(WireForm, PlanFacts), Error> {
        // The condition of a PutItem compares all lease attributes, including the queue of the
        // lock. Another writer can restore the compared attributes, so DynamoDB may still apply a
        // delayed duplicate of a refused PutItem.
        let is_put = matches!(plan.write.action, Action::Put(_));
        let late = if is_put { LateCopies::MayPass } else { self.intent.target().policy.late() };
        let token = match self.delivery {
            // The heartbeat number may differ between attempts, so the SDK generates a new token
            // for each attempt. After a lost reply, the write id in the item shows whether DynamoDB
            // has applied the write.
            Delivery::Plain => None,
            Delivery::Once => Some(random::token(self.attempts.rng())),
        };
        let facts = PlanFacts { next: plan.next.take(), position: plan.position(0), late };
        let content = if plan.companion.is_none() && token.is_none() {
            WireForm::Write(plan.write)
        } else {
            let transact = Transact::new(plan.into_writes(), token);
            WireForm::Transact(transact.map_err(|why| Error::Rejected(why.after(self.attempts.spent())))?)
        };
        Ok((content, facts))
    }

    async fn pause(&mut self, failure: Failure) -> Result<(), Error> {
        let table = Arc::clone(self.intent.target().table);
        let stop = match failure {
            Failure::Permanent(refusal) if refusal.is_of_item_size() => {
                // The failed request has consumed the `Write`, so a new `Plan` provides the size of
                // the item.
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

    fn stop(&self, error: Error) -> Error {
        let Target { table, expected, .. } = self.intent.target();
        self.outcome.end(self.attempts, table, expected.version(), error)
    }

    /// Returns `None` if the call should send another attempt of the write.
    async fn judge_condition(
        &mut self,
        facts: &PlanFacts,
        returned: Option<Item>,
    ) -> Result<Option<WriteResult<Applied>>, Error> {
        let item = self.seen(returned).await?;
        match self.judge(facts, item)? {
            // A lease error takes precedence over a version conflict, because the holder of the
            // lease may have changed the version.
            WriteResult::Conflict(met) if self.intent.target().asks_for_lease_in_item() => {
                self.intent.target().policy.learn(met.as_ref());
                match self.intent.lease_error(met.as_ref(), facts.position.judged_at, self.attempts.spent()) {
                    Some(error) => self.evict(met, error).await.map(|()| None),
                    None => Ok(Some(WriteResult::Conflict(met))),
                }
            }
            result => Ok(Some(result)),
        }
    }

    /// Returns `None` if the call should send another attempt of the write.
    async fn judge_lease_row(
        &mut self,
        facts: &PlanFacts,
        mut reasons: Vec<ActionReason>,
    ) -> Result<Option<WriteResult<Applied>>, Error> {
        let item_ref = self.intent.item_ref();
        // The write of the lease row is the last write of the request.
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
            self.intent.target().policy.learn(row.as_ref());
            *self.companion = CompanionWrite::RemoveExpired;
        }
        let own = reasons.pop().filter(|own| own.class() == Some(CancellationClass::Conflict));
        let (item, is_refused) = if let Some(own) = own {
            (self.seen(own.item).await?, true)
        } else if self.outcome == AttemptOutcome::Unknown {
            // DynamoDB may not have evaluated the condition on the item, so the library searches
            // the item for the write id of an earlier attempt.
            let item = self.seen(None).await?;
            let shows_id = shows_any(item.as_ref(), &[self.stamps.id]);
            (item, shows_id)
        } else {
            (None, false)
        };
        // Without a ClientRequestToken, the write id in the item will later show whether DynamoDB
        // has applied an earlier attempt. With a ClientRequestToken, the next attempt has a new
        // token, and DynamoDB does not recognise the next attempt as a repetition. The library must
        // therefore first find out whether DynamoDB has applied an earlier attempt.
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
                self.intent.target().policy.learn(row.as_ref());
                // If no lease caused the refusal, `may_pass` is false only because the call has
                // reached its deadline or its limit of attempts.
                let error = self.intent.lease_error(row.as_ref(), facts.position.judged_at, spent);
                let error = error.unwrap_or_else(|| self.attempts.too_late());
                self.evict(row, error).await.map(|()| None)
            }
            result => Ok(Some(result)),
        }
    }

    /// Removes the expired head of the lock queue, or returns `error` if the queue has no expired
    /// head.
    async fn evict(&mut self, met: Option<Item>, error: Error) -> Result<(), Error> {
        // `judge` has found that DynamoDB has applied no earlier attempt of the write.
        self.settle_doubt();
        let (policy, item_ref) = (self.intent.target().policy, self.intent.item_ref());
        match met {
            Some(met) if evict_expired_head(self.attempts, policy, &item_ref, &met).await? => {
                self.attempts.check_time()
            }
            Some(_) | None => Err(error),
        }
    }

    fn settle_doubt(&mut self) {
        if mem::replace(&mut self.outcome, AttemptOutcome::Known) == AttemptOutcome::Unknown {
            lost_reply(LostReply::NotApplied);
        }
    }

    /// Returns the item that made the condition false. If the refusal contains no item, `seen`
    /// reads the item, because some DynamoDB-compatible servers never return the item with a
    /// refusal.
    async fn seen(&mut self, returned: Option<Item>) -> Result<Option<Item>, Error> {
        if returned.is_some() {
            return Ok(returned);
        }
        let get = self.intent.item_ref().read()?;
        self.attempts.read(&get).await.map_err(|error| self.stop(error))
    }

    fn judge(&self, facts: &PlanFacts, item: Option<Item>) -> Result<WriteResult<Applied>, Error> {
        let doubt = match self.delivery {
            _ if self.outcome == AttemptOutcome::Known => Doubt::None,
            Delivery::Once if self.attempts.tokens_are_known() => Doubt::UnderToken,
            Delivery::Once | Delivery::Plain => Doubt::Plain(facts.late),
        };
        let Target { table, model, expected, policy, .. } = self.intent.target();
        let found = item.as_ref().map(|item| revision_in(item, model.version));
        let shows_id = shows_any(item.as_ref(), &[self.stamps.id]);
        let verdict = match verdict(expected, self.stamps.id, doubt, found.as_ref()) {
            // The function `verdict` reads only the ids in `_writes`, but an item contains the id
            // of a patch in the attributes `_p0` to `_p7`.
            _ if shows_id => Verdict::Applied,
            // The item does not contain the write id, but its lease attributes show a release by
            // the sending holder. Only this write can have released the lease, because the holder
            // sends a separate release only after the write has failed.
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
                let next = facts.next.clone().map(|next| match proof {
                    Proof::Id(incarnation) => next.in_life(incarnation),
                    Proof::Reply | Proof::Release | Proof::Absence => next,
                });
                Ok(WriteResult::Applied(Applied { proof, next, item }))
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
    fn is_refused_by_row(&self, reasons: &ActionReasons) -> bool {
        self.position.refused_lease(reasons.as_slice()).is_some() && reasons.show_conflicts()
    }
}

fn shows_release(release: Option<Release<'_>>, item: Option<&Item>) -> bool {
    let stored = |release: &Release<'_>| item.and_then(|item| item.get(release.attribute));
    release.is_some_and(|release| {
        stored(&release).and_then(|stored| stored.as_s().ok()).is_some_and(|by| by == release.owner)
    })
}
