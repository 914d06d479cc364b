use std::{sync::Arc, time::Duration};

use tokio::sync::watch;

use super::{
    request::Duplicate,
    status::{QueueStatus, WaitEstimate},
};
use crate::{
    clock::{self, Instant},
    codec::Item,
    error::Error,
    lease::{
        acquire::{
            acquisition::{Acquired, Acquisition, Order},
            spec::AcquireSpec,
        },
        grant::{Grant, GrantFields},
        held_grant::KeptGrant,
        options::Expiry,
        record::{GrantKind, LockRecord},
    },
    retry::{RowSource, SeenRow},
};

pub(super) struct Ticket<'a> {
    pub(super) acquisition: Acquisition<'a>,
    state: TicketState,
    /// The latest time at which the call's entry was certainly not the head of the queue, or `None`
    /// if no such time is known.
    last_other: Option<Instant>,
    estimate: Option<WaitEstimate>,
}

enum TicketState {
    /// The call's entry waits in the queue. The `usize` is the smallest number of entries ahead of
    /// the call's entry in all reads of the queue so far.
    Waiting(usize),
    /// The call's entry is the head of the queue.
    Head { row: Option<Item>, record: Box<LockRecord> },
    /// The call renews the lease of the held lock while the call waits for other locks.
    Held(KeptGrant),
}

impl<'a> Ticket<'a> {
    pub(super) fn new(spec: &'a AcquireSpec, most: usize, owner: &Arc<str>) -> Self {
        let acquisition = Acquisition::new(spec, Order::Fair { most }, Arc::clone(owner));
        Self { acquisition, state: TicketState::Waiting(usize::MAX), last_other: None, estimate: None }
    }

    pub(super) fn waiting_behind(&self) -> Option<usize> {
        match &self.state {
            TicketState::Waiting(index) => Some(*index),
            TicketState::Head { .. } | TicketState::Held(_) => None,
        }
    }

    pub(super) fn into_grant(self) -> Option<KeptGrant> {
        match self.state {
            TicketState::Held(kept) => Some(kept),
            TicketState::Waiting(_) | TicketState::Head { .. } => None,
        }
    }

    /// `sent` is a time just before the call sent the enter request, so the call's entry was not
    /// the head of the queue at `sent`.
    pub(super) fn began_waiting(&mut self, sent: Instant) {
        self.last_other = Some(sent);
    }

    /// Returns `true` if the queue in the row contains the call's entry.
    pub(super) fn saw(&mut self, SeenRow { item, sent, source }: SeenRow) -> bool {
        let record = self.record(item.as_ref());
        match (source, record.place_of(&self.acquisition.owner)) {
            // An outdated read may show the entry at the head before other callers removed the
            // entry and a delayed duplicate added the entry again. In such an outdated row, the
            // lease of the entry may have started before `last_other`.
            (RowSource::EventualRead, Some(0)) => self.last_other = None,
            // A removal of the head proves that the call's entry was not the head before the
            // removal.
            (RowSource::ConsistentRead, Some(1..)) | (RowSource::Removal | RowSource::RemovalForOthers, Some(_)) => {
                self.last_other = Some(sent);
            }
            (RowSource::EventualRead | RowSource::ConsistentRead, _) | (_, None) => {}
        }
        self.move_to(item, record)
    }

    /// Returns `false` if the call must confirm the position of its entry by a consistent read.
    pub(super) fn saw_elsewhere(&mut self, seen: SeenRow) -> bool {
        let place = self.record(seen.item.as_ref()).place_of(&self.acquisition.owner);
        (seen.source != RowSource::EventualRead || place.is_some_and(|index| index > 0)) && self.saw(seen)
    }

    fn record(&self, row: Option<&Item>) -> LockRecord {
        LockRecord::of(&self.acquisition.spec.row.layout, row)
    }

    /// Returns `true` if the queue in the row contains the call's entry.
    pub(super) fn move_to(&mut self, row: Option<Item>, record: LockRecord) -> bool {
        let Some(index) = record.place_of(&self.acquisition.owner) else { return false };
        match (&self.state, index) {
            (TicketState::Waiting(_), 0) => self.state = TicketState::Head { row, record: Box::new(record) },
            (TicketState::Waiting(before), _) => {
                self.state = TicketState::Waiting(index.min(*before));
                self.acquisition.observe(record);
            }
            // Later reads cannot change the position of an entry that is already the head of the
            // queue.
            (TicketState::Head { .. } | TicketState::Held(_), _) => {}
        }
        true
    }

    /// Returns `false` if other callers have removed the call's queue entry, or if the call has
    /// lost the lock.
    pub(super) async fn advance(&mut self, duplicate: Duplicate) -> Result<bool, Error> {
        match &mut self.state {
            TicketState::Waiting(_) => Ok(true),
            TicketState::Head { row, record } => {
                let (row, record) = (row.take(), record.clone());
                let Some(grant) = self.grant(&record, duplicate).await? else { return Ok(false) };
                self.state = TicketState::Held(self.acquisition.keep(Acquired { grant, row }).await?);
                Ok(true)
            }
            TicketState::Held(KeptGrant { guard, .. }) => {
                let grant = &guard.grant;
                // The background heartbeats of a held lock may be off, or may have ended at
                // `max_hold`.
                if grant.remaining() < self.acquisition.spec.options.ttl / 2 {
                    match self.acquisition.beat_in_time(grant, None).await {
                        Ok(()) | Err(Error::Lost(_)) => {}
                        Err(error) => return Err(error),
                    }
                }
                Ok(!grant.remaining().is_zero())
            }
        }
    }

    /// Returns `None` if other callers have removed the call's entry.
    async fn grant(&self, record: &LockRecord, duplicate: Duplicate) -> Result<Option<Arc<Grant>>, Error> {
        let AcquireSpec { connection, row, options, payload, limits, .. } = self.acquisition.spec;
        let now = clock::now();
        let fresh = self.since(record, now).filter(|since| now.duration_since(*since) < options.ttl / 2);
        let fence = GrantKind::Fair.fence(record.fence.unwrap_or(0));
        let fields = GrantFields {
            kind: GrantKind::Fair,
            owner: Arc::clone(&self.acquisition.owner),
            fence,
            taken_over: self.acquisition.taken_over_before(fence),
            beat: record.beat.unwrap_or(0),
            waiters: record.waiters(),
            duplicate,
            sent: fresh.unwrap_or(now),
        };
        let grant = Grant::new(connection, limits.deadline, row.clone(), *options, fields);
        if fresh.is_none() || payload.is_some() {
            match self.acquisition.beat_in_time(&grant, payload.as_deref()).await {
                Ok(()) => {}
                Err(Error::Lost(lost)) if lost.is_over() => return Ok(None),
                Err(error) => return Err(error),
            }
        }
        Ok(Some(grant))
    }

    /// Returns the time at which the lease of the queue's first entry began, or `None` if the time
    /// is unknown. The specification `queue/protocol.md` defines the start of the lease.
    fn since(&self, record: &LockRecord, now: Instant) -> Option<Instant> {
        let options = &self.acquisition.spec.options;
        let Expiry::Clock { max_skew } = options.expiry else { return self.last_other };
        let age = options.now().saturating_sub(record.head_since().unwrap_or(0));
        let turn = now.checked_sub(Duration::from_millis(age))?;
        self.last_other.map(|seen| seen.min(turn)).max(turn.checked_sub(max_skew))
    }

    pub(super) fn report(&mut self, progress: &watch::Sender<Option<QueueStatus>>) {
        if let (Some(index), Some(record)) = (self.waiting_behind(), self.acquisition.observer.record()) {
            let estimate = self.estimate.get_or_insert_with(|| WaitEstimate::new(index));
            QueueStatus::new(record, index, estimate).report(progress);
        }
    }

    pub(super) fn pause(&mut self) -> Option<Duration> {
        let index = self.waiting_behind()?;
        Some(self.acquisition.pause_in_queue(index))
    }

    pub(super) fn evicted(&self) -> Error {
        let (spec, spent) = (self.acquisition.spec, self.acquisition.spent());
        Error::Evicted { table: Arc::clone(&spec.row.table), name: spec.shown_name(), spent }
    }
}
