//! The cost of one call, and the meters that its requests are added to.

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

/// The purpose of the requests of an [`Attempts`](super::Attempts), which decides their causes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// Reads and writes of items.
    #[default]
    Work,
    /// Attempts to acquire a lock.
    Acquire,
    /// The reads of a caller that waits for a lock, and requests that clean up after it.
    Poll,
    Heartbeat,
}

/// The facts about a call that decide the cause of its next request.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct CostContext {
    pub(super) purpose: Purpose,
    /// `true` if an earlier copy of the request was lost.
    pub(super) repeats_lost: bool,
    /// `true` if a write of the call was applied or has an unknown outcome. The budget then does not
    /// apply to reads, because they find out or return the outcome.
    pub(super) reads_are_exempt: bool,
}

/// The meter of a connection, and the text of the keys of its items.
#[derive(Debug, Clone)]
pub(crate) struct ConnectionMeter {
    pub(crate) meter: Meter,
    pub(crate) key_text: KeyText,
}

/// The cost of a call that is metered. The parts of a call share one value.
pub(crate) struct CallCost {
    allowance: Arc<Allowance>,
    state: Mutex<CallCostState>,
}

#[derive(Default)]
struct CallCostState {
    meters: Vec<TableMeter>,
    cost: Cost,
    /// `true` from a refused write until the next applied write.
    after_refusal: bool,
    seen: Option<SizedItem>,
    page: Capacity,
}

/// A meter of a call, and the table whose costs it gets. `None` as the table stands for all tables.
pub(crate) struct TableMeter {
    table: Option<Arc<str>>,
    by: ConnectionMeter,
    /// `true` if the meter has counted the call.
    is_counted: bool,
}

impl TableMeter {
    pub(crate) fn new(table: Option<Arc<str>>, by: &ConnectionMeter) -> Self {
        Self { table, by: by.clone(), is_counted: false }
    }

    fn is_of(&self, table: &str) -> bool {
        self.table.as_ref().is_none_or(|of| **of == *table)
    }
}

impl CallCost {
    /// Begins the cost of a call. Returns `None` for a call that is not metered.
    pub(crate) fn begin_call(meter: Option<&ConnectionMeter>, budget: Option<u64>) -> Option<Arc<Self>> {
        if meter.is_none() && budget.is_none() {
            return None;
        }
        Some(Self::of_tables(meter.map(|by| TableMeter::new(None, by)), budget))
    }

    /// Begins the cost of a call on the items of several repositories.
    pub(crate) fn of_tables(meters: impl IntoIterator<Item = TableMeter>, budget: Option<u64>) -> Arc<Self> {
        let allowance = Arc::new(Allowance::new(budget.map(Units::whole)));
        let meters = meters.into_iter().collect();
        Arc::new(Self { allowance, state: Mutex::new(CallCostState { meters, ..CallCostState::default() }) })
    }

    /// Adds the meter of another repository.
    pub(crate) fn add_meter(&self, table: &Arc<str>, meter: &ConnectionMeter) {
        self.state().meters.push(TableMeter::new(Some(Arc::clone(table)), meter));
    }

    pub(crate) fn cost(&self) -> Cost {
        self.state().cost
    }

    pub(crate) fn budget(&self) -> Units {
        self.allowance.budget().unwrap_or_default()
    }

    /// Begins a request. The request is charged when the returned value is dropped.
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
            telemetry::consumed(share.capacity);
            let Some(meter) = self.meters.iter_mut().find(|meter| meter.is_of(&share.table)) else { continue };
            meter.by.meter.charge(Charge { cause, key: share.key, capacity: share.capacity });
            // A heartbeat is not a call of the program, and the polls belong to another call.
            let is_call = matches!(purpose, Purpose::Work | Purpose::Acquire);
            if is_call && !mem::replace(&mut meter.is_counted, true) {
                meter.by.meter.count_call();
            }
        }
        self.seen = consumed.seen.or_else(|| self.seen.take());
        self.page = consumed.page.unwrap_or(self.page);
    }
}

/// A metered request between its start and its end. The drop of this value charges the request, so
/// that a request whose future was dropped is charged, too.
pub(super) struct MeteredAttempt {
    call_cost: Arc<CallCost>,
    request: Arc<MeteredRequest>,
    of: CostContext,
    outcome: CostOutcome,
}

/// The end of a request, as far as its cost is concerned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CostOutcome {
    /// DynamoDB sent no usable answer.
    Lost,
    /// The request has consumed nothing.
    Free,
    Answered,
    /// A condition or another transaction refused the request.
    Refused,
}

impl MeteredAttempt {
    pub(super) fn request(&self) -> &Arc<MeteredRequest> {
        &self.request
    }

    pub(super) fn is_read(&self) -> bool {
        self.request.is_read()
    }

    /// Ends the request with this outcome.
    pub(super) fn end<O>(mut self, answer: &Result<O, Failure>) -> CostOutcome {
        self.outcome = match answer {
            _ if self.request.is_answered() => CostOutcome::Answered,
            // The caller has converted a refusal into a value.
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
