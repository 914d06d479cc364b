use std::{
    mem,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use crate::{
    codec::size,
    cost::{Capacity, Cause, Charge, Cost, Meter, Units},
    error::{ActionReason, CancellationClass},
    operation::{Allowance, Consumed, Failure, KeyText, MeteredRequest, RequestFacts, SizedItem},
    telemetry,
};

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Purpose {
    #[default]
    Work,
    Acquire,
    /// Requests that read the lock row for a waiting caller, or remove the caller's entry from the
    /// queue.
    Poll,
    Heartbeat,
}

#[derive(Debug, Clone, Copy, Default)]
pub(super) struct CostContext {
    pub(super) purpose: Purpose,
    /// `true` if the next request repeats a request whose reply was lost.
    pub(super) repeats_lost: bool,
    /// `true` if the capacity budget of the call does not apply to reads.
    pub(super) reads_are_exempt: bool,
}

/// `key_text` converts the key of an item into the text that `meter` shows.
#[derive(Debug, Clone)]
pub(crate) struct ConnectionMeter {
    pub(crate) meter: Meter,
    pub(crate) key_text: KeyText,
}

/// A call that uses several [`Attempts`](super::Attempts) has only one `CallCost`.
pub(crate) struct CallCost {
    allowance: Arc<Allowance>,
    state: Mutex<CallCostState>,
}

#[derive(Default)]
struct CallCostState {
    meters: Vec<TableMeter>,
    cost: Cost,
    /// `true` if DynamoDB has refused a write of the call, and has applied no write of the call
    /// since the refusal.
    after_refusal: bool,
    seen: Option<SizedItem>,
    page: Capacity,
}

/// The meter counts only requests to `table`, or the requests to all tables if `table` is `None`.
pub(crate) struct TableMeter {
    table: Option<Arc<str>>,
    by: ConnectionMeter,
    is_counted: bool,
}

impl TableMeter {
    pub(crate) fn new(table: Option<Arc<str>>, by: &ConnectionMeter) -> Self {
        Self { table, by: by.clone(), is_counted: false }
    }
}

impl CallCost {
    pub(crate) fn begin_call(meter: Option<&ConnectionMeter>, budget: Option<u64>) -> Option<Arc<Self>> {
        if meter.is_none() && budget.is_none() {
            return None;
        }
        Some(Self::of_tables(meter.map(|by| TableMeter::new(None, by)), budget))
    }

    pub(crate) fn of_tables(meters: impl IntoIterator<Item = TableMeter>, budget: Option<u64>) -> Arc<Self> {
        let allowance = Arc::new(Allowance::new(budget.map(Units::whole)));
        let meters = meters.into_iter().collect();
        Arc::new(Self { allowance, state: Mutex::new(CallCostState { meters, ..CallCostState::default() }) })
    }

    pub(crate) fn add_meter(&self, table: &Arc<str>, meter: &ConnectionMeter) {
        self.state().meters.push(TableMeter::new(Some(Arc::clone(table)), meter));
    }

    pub(crate) fn cost(&self) -> Cost {
        self.state().cost
    }

    pub(crate) fn budget(&self) -> Units {
        self.allowance.budget().unwrap_or_default()
    }

    pub(super) fn begin_attempt(self: &Arc<Self>, of: CostContext) -> MeteredAttempt {
        let state = self.state();
        let facts = RequestFacts {
            allowance: Arc::clone(&self.allowance),
            keys: state.meters.iter().map(|meter| (meter.table.clone(), meter.by.key_text)).collect(),
            seen: state.seen.clone(),
            page: state.page,
            reads_are_exempt: of.reads_are_exempt,
        };
        let request = Arc::new(MeteredRequest::new(facts));
        MeteredAttempt { call_cost: Arc::clone(self), request, of, outcome: CostOutcome::Lost }
    }

    fn state(&self) -> MutexGuard<'_, CallCostState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl CallCostState {
    fn cause(&self, of: CostContext, outcome: CostOutcome, is_read: bool) -> Cause {
        match of.purpose {
            Purpose::Heartbeat => Cause::Heartbeats,
            _ if of.repeats_lost => Cause::Retries,
            Purpose::Poll => Cause::Polls,
            Purpose::Acquire if outcome == CostOutcome::Refused => Cause::Polls,
            Purpose::Work if outcome == CostOutcome::Refused || (is_read && self.after_refusal) => Cause::Conflicts,
            Purpose::Acquire | Purpose::Work => Cause::Useful,
        }
    }

    fn charge(&mut self, purpose: Purpose, cause: Cause, consumed: Consumed) {
        for share in consumed.shares {
            self.cost.charge(cause, share.capacity);
            telemetry::charge(cause, share.capacity);
            let is_of = |meter: &&mut TableMeter| meter.table.as_ref().is_none_or(|table| **table == *share.table);
            let Some(meter) = self.meters.iter_mut().find(is_of) else { continue };
            meter.by.meter.charge(Charge { cause, key: share.key, capacity: share.capacity });
            // The meter counts neither heartbeats nor the polls of a waiter as calls of the
            // program.
            let is_call = matches!(purpose, Purpose::Work | Purpose::Acquire);
            if is_call && !mem::replace(&mut meter.is_counted, true) {
                meter.by.meter.count_call();
            }
        }
        self.seen = consumed.seen.or_else(|| self.seen.take());
        self.page = consumed.page.unwrap_or(self.page);
    }
}

/// The drop of a `MeteredAttempt` adds the capacity of the request to the cost of the call, even if
/// the future of the request was dropped.
pub(super) struct MeteredAttempt {
    call_cost: Arc<CallCost>,
    pub(super) request: Arc<MeteredRequest>,
    of: CostContext,
    outcome: CostOutcome,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CostOutcome {
    /// DynamoDB sent no readable answer, so the request may have consumed capacity.
    Lost,
    Free,
    Answered,
    /// DynamoDB has refused the request because of a false condition, or because a transaction was
    /// running on an item of the request.
    Refused,
}

impl MeteredAttempt {
    pub(super) fn end<O>(mut self, answer: &Result<O, Failure>) -> CostOutcome {
        self.outcome = match answer {
            _ if self.request.is_answered() => CostOutcome::Answered,
            // Some requests report a refusal by DynamoDB as `Ok`, so an `Ok` without a successful
            // answer is a refusal.
            Ok(_) | Err(Failure::Contention(_)) => CostOutcome::Refused,
            Err(Failure::Condition(item)) => {
                self.request.refuse(&[item.as_ref().map(size)]);
                CostOutcome::Refused
            }
            Err(Failure::Cancelled(reasons)) => {
                let reasons = reasons.as_slice();
                let sizes: Vec<_> = reasons.iter().map(|reason| reason.item.as_ref().map(size)).collect();
                self.request.refuse(&sizes);
                let is_decided = |class| matches!(class, CancellationClass::Conflict | CancellationClass::Contention);
                let is_refused = reasons.iter().filter_map(ActionReason::class).any(is_decided);
                if is_refused { CostOutcome::Refused } else { CostOutcome::Free }
            }
            Err(Failure::Ambiguous(_)) => CostOutcome::Lost,
            Err(_) => CostOutcome::Free,
        };
        self.outcome
    }
}

impl Drop for MeteredAttempt {
    fn drop(&mut self) {
        let consumed = self.request.end(self.outcome == CostOutcome::Free);
        if consumed.shares.is_empty() {
            return;
        }
        let is_read = consumed.shares.iter().all(|share| share.capacity.write.is_zero());
        let mut state = self.call_cost.state();
        let cause = state.cause(self.of, self.outcome, is_read);
        state.charge(self.of.purpose, cause, consumed);
        match self.outcome {
            CostOutcome::Refused => state.after_refusal = true,
            CostOutcome::Answered if !is_read => state.after_refusal = false,
            CostOutcome::Answered | CostOutcome::Lost | CostOutcome::Free => {}
        }
    }
}

debug_fields!(CallCost, self => { cost: self.cost() });
