use std::sync::Arc;

use super::{
    acquisition::{Acquired, Acquisition, AttemptResult, Caller, Order, Stop, at_the_end, release_later, wait},
    spec::AcquireSpec,
};
use crate::{
    clock::{self, Instant},
    codec::Item,
    error::Error,
    lease::{
        grant::{Grant, GrantFields},
        held_grant::KeptGrant,
        record::{GrantKind, LockRecord},
        row::AcquireFields,
    },
    retry::{Answered, Backoff},
};

pub(super) async fn acquire_any(specs: &[AcquireSpec], caller: &mut Caller) -> Result<KeptGrant, Stop> {
    let mut all: Vec<_> = specs.iter().map(|spec| Acquisition::new(spec, Order::Any, spec.owner())).collect();
    let granted = acquire_first(&mut all, caller).await;
    granted.map_err(|stop| at_the_end(stop, &all))
}

async fn acquire_first(all: &mut [Acquisition<'_>], caller: &mut Caller) -> Result<KeptGrant, Stop> {
    loop {
        let mut missing = None;
        for acquisition in &mut *all {
            match acquisition.attempt().await {
                Ok(Some(granted)) => return Ok(granted),
                Ok(None) => {}
                Err(error @ Error::NotFound { .. }) => {
                    acquisition.observer.forget();
                    // An attempt that found no item may have acquired and released a lease in a
                    // separate row. With a new owner text, a delayed duplicate of the release
                    // cannot end the next grant.
                    acquisition.owner = acquisition.spec.owner();
                    missing = Some(error);
                }
                Err(error) => return Err(error.into()),
            }
        }
        if let Some(error) = missing
            && all.iter().all(|acquisition| acquisition.observer.record().is_none())
        {
            return Err(error.into());
        }
        // The code boxes the futures of rare steps, so that the future of an acquire call stays
        // small.
        Box::pin(wait(all, caller)).await?;
    }
}

impl Acquisition<'_> {
    /// Returns `None` if another caller still holds the lock.
    async fn attempt(&mut self) -> Result<Option<KeptGrant>, Error> {
        let mut backoff = Backoff::default();
        self.begin_attempt();
        loop {
            match self.attempt_once().await? {
                AttemptResult::Granted(acquired) => return self.keep(acquired).await.map(Some),
                AttemptResult::Denied(record) => {
                    self.observe(record);
                    // An acquire request can take over the ended lease of an owner, but cannot
                    // remove the expired head of a queue.
                    if !Box::pin(self.evict_expired_head()).await? {
                        return Ok(None);
                    }
                }
                AttemptResult::GrantOver => {
                    Box::pin(self.pause_before_retry(&mut backoff)).await?;
                    // DynamoDB may still grant the lock to a delayed duplicate of the last attempt,
                    // so the next attempt has a new owner text.
                    self.owner = self.spec.owner();
                    self.begin_attempt();
                }
            }
        }
    }

    async fn attempt_once(&self) -> Result<AttemptResult<Acquired, LockRecord>, Error> {
        let Self { spec, owner, .. } = self;
        let expired = &self.observer.expired();
        let mut attempts = self.attempts();
        let mut sent = clock::now();
        let mut now = 0;
        let request = || {
            // Each repetition of the acquire request contains a new time, so the granted lease
            // begins at the last repetition.
            sent = clock::now();
            now = spec.options.now();
            let fields = AcquireFields { owner, until: spec.options.until(), now, payload: spec.payload.as_deref() };
            spec.row.acquire(&fields, expired)
        };
        let answer = match attempts.write(request).await {
            Ok(answer) => answer,
            Err(error) => {
                // If the reply to the acquire request was lost, DynamoDB may have granted the lock.
                if attempts.is_in_doubt() || !matches!(error, Error::BudgetExceeded { .. }) {
                    spec.give_back(owner);
                }
                return Err(error);
            }
        };
        let (met, is_applied) = match answer {
            Answered::Applied(before) => (before, true),
            Answered::Refused(None) if spec.row.is_item() => return Err(spec.not_found(attempts.spent())),
            Answered::Refused(met) => (met, false),
        };
        let record = LockRecord::of(&spec.row.layout, met.as_ref());
        if is_applied {
            let fence = record.fence.unwrap_or(now).saturating_add(1);
            let taken_over = record.fence.filter(|_| record.owner.is_some()).or_else(|| self.taken_over_before(fence));
            // If the answer to the acquire request took half a ttl or longer, the call first renews
            // the lease by a heartbeat.
            if clock::now().duration_since(sent) < spec.options.ttl / 2 {
                let grant = self.grant(fence, taken_over, sent);
                return Ok(AttemptResult::Granted(Acquired { grant, row: met }));
            }
            return Box::pin(self.confirm(self.grant(fence, taken_over, clock::now()), met)).await;
        }
        match record.fence {
            // DynamoDB granted the lock to an earlier attempt whose reply was lost. The row of the
            // lock no longer shows whether the previous holder released the lock.
            Some(fence) if record.owner.as_deref() == Some(owner) => {
                Box::pin(self.confirm(self.grant(fence, fence.checked_sub(1), clock::now()), met)).await
            }
            _ if record.is_held_by_another(owner) => Ok(AttemptResult::Denied(record)),
            // If the row of the lock stores the call's owner text as released, an earlier grant to
            // the call has already ended.
            _ => Ok(AttemptResult::GrantOver),
        }
    }

    /// Renews the lease of a granted lock if the answer to the acquire request was slow, or if the
    /// time of the grant is unknown after a lost reply.
    async fn confirm(
        &self,
        grant: Arc<Grant>,
        row: Option<Item>,
    ) -> Result<AttemptResult<Acquired, LockRecord>, Error> {
        match self.beat_in_time(&grant, None).await {
            Ok(()) => Ok(AttemptResult::Granted(Acquired { grant, row })),
            Err(Error::Lost(lost)) if lost.is_over() => Ok(AttemptResult::GrantOver),
            Err(error) => {
                release_later(&grant);
                Err(error)
            }
        }
    }

    pub(super) fn grant(&self, fence: u64, taken_over: Option<u64>, sent: Instant) -> Arc<Grant> {
        let AcquireSpec { connection, row, options, limits, .. } = self.spec;
        let fields = GrantFields::new(GrantKind::Plain, Arc::clone(&self.owner), fence, sent);
        Grant::new(connection, limits.deadline, row.clone(), *options, GrantFields { taken_over, ..fields })
    }
}
