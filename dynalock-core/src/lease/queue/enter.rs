use std::{sync::Arc, time::Duration};

use tokio::sync::watch;

use super::{
    abandon::{abandon_at_the_end, abandon_later, after_abandoned},
    request::Duplicate,
    status::QueueStatus,
    ticket::Ticket,
};
use crate::{
    clock,
    error::Error,
    lease::{
        acquire::{
            acquisition::{Caller, Denial, Stop, at_the_end},
            rows::{denials, read_rows, transact},
            spec::AcquireSpec,
        },
        held_grant::KeptGrant,
        record::{LockRecord, QueueEntry},
    },
    retry::{Answered, Limits, RowSource, SeenRow},
};

pub(crate) struct QueueLimits {
    /// The maximum number of entries in each queue, including the head of the queue.
    pub(crate) most: usize,
    /// The deadline and the other limits of the transaction that adds the call's entry to several
    /// queues.
    pub(crate) transaction: Limits,
}

enum EnterResult {
    Entered(Duplicate),
    /// The call has entered no queue.
    Denied(Vec<Denial>),
}

/// One transaction adds the entries of a call to the queues of all its locks. Two calls that share
/// several locks have the same order in the queue of each shared lock, so the calls cannot
/// deadlock.
pub(crate) async fn acquire_in_order(
    specs: &[AcquireSpec],
    limits: QueueLimits,
    progress: &watch::Sender<Option<QueueStatus>>,
    caller: &mut Caller,
) -> Result<Vec<KeptGrant>, Stop> {
    let owner = specs[0].entry();
    let tickets = specs.iter().map(|spec| Ticket::new(spec, limits.most, &owner)).collect();
    let mut queued = Queued { tickets, owner, limits };
    match queued.acquire(progress, caller).await {
        Ok(()) => Ok(queued.tickets.into_iter().filter_map(Ticket::into_grant).collect()),
        Err(stop) => Err(at_the_end(stop, queued.waiting().map(|ticket| &ticket.acquisition))),
    }
}

struct Queued<'a> {
    tickets: Vec<Ticket<'a>>,
    owner: Arc<str>,
    limits: QueueLimits,
}

impl<'a> Queued<'a> {
    fn waiting(&self) -> impl Iterator<Item = &Ticket<'a>> {
        self.tickets.iter().filter(|ticket| ticket.waiting_behind().is_some())
    }

    fn specs(&self) -> impl Iterator<Item = &'a AcquireSpec> {
        self.tickets.iter().map(|ticket| ticket.acquisition.spec)
    }

    /// A failed call removes its entries from the queues.
    async fn acquire(
        &mut self,
        progress: &watch::Sender<Option<QueueStatus>>,
        caller: &mut Caller,
    ) -> Result<(), Stop> {
        for ticket in &self.tickets {
            after_abandoned(&ticket.acquisition, caller).await?;
        }
        let duplicate = match self.enter(caller).await {
            Ok(duplicate) => duplicate,
            Err(stop) => {
                // Of the errors of `enter`, only `Locked`, `QueueFull` and `NotFound` show that no
                // queue had an entry of the call when DynamoDB refused the last attempt.
                let has_no_entry = matches!(
                    stop,
                    Stop::CallerGone
                        | Stop::Failed(Error::Locked(_) | Error::QueueFull { .. } | Error::NotFound { .. })
                );
                if !has_no_entry {
                    abandon_later(self.specs(), &self.owner, Duplicate::Possible);
                }
                return Err(stop);
            }
        };
        let waited = self.wait_for_turns(duplicate, progress, caller).await;
        match &waited {
            // After `NotFound`, the call has no queue entry to remove: the queue was deleted with
            // the item, or the call has already released the lease.
            Ok(()) | Err(Stop::Failed(Error::NotFound { .. })) => {}
            Err(Stop::Failed(Error::Locked(_))) => abandon_at_the_end(self.specs(), &self.owner, duplicate).await,
            // With a broken connection, each later call could leave another queue entry, so later
            // calls wait for the removal of this entry.
            Err(Stop::Failed(Error::Exhausted { .. })) => {
                abandon_later(self.specs(), &self.owner, Duplicate::Possible);
            }
            // Another caller may have removed the call's entry, but a delayed duplicate may have
            // added the entry again.
            Err(_) => abandon_later(self.specs(), &self.owner, duplicate),
        }
        waited
    }

    async fn enter(&mut self, caller: &mut Caller) -> Result<Duplicate, Stop> {
        loop {
            self.tickets.iter_mut().for_each(|ticket| ticket.acquisition.begin_attempt());
            let denied = match self.enqueue().await? {
                EnterResult::Entered(duplicate) => return Ok(duplicate),
                EnterResult::Denied(denied) => denied,
            };
            for Denial { index, record } in denied {
                self.tickets[index].acquisition.after_denial(record, caller).await?;
            }
            // Other callers compute the end of the head's lease from the time in the entry, so each
            // attempt to enter a queue needs a new entry.
            self.owner = self.tickets[0].acquisition.spec.entry();
            for ticket in &mut self.tickets {
                ticket.acquisition.owner = Arc::clone(&self.owner);
            }
        }
    }

    /// A call for one lock enters the queue by an UpdateItem, which costs half as much as a
    /// transaction.
    async fn enqueue(&mut self) -> Result<EnterResult, Error> {
        match &mut self.tickets[..] {
            [ticket] => enqueue_one(ticket, self.limits.most).await,
            _ => self.enqueue_all().await,
        }
    }

    /// An eventually consistent read costs half as much as a consistent read, but does not prove
    /// the position of the call's entry.
    async fn read(&mut self, needs_proof: bool) -> Result<(), Error> {
        match &mut self.tickets[..] {
            // If only one entry is before the call's entry, the next change of the queue can make
            // the call's entry the head. A consistent read proves that another entry was still the
            // head when the read began.
            [ticket] if needs_proof || ticket.waiting_behind() == Some(1) => read_one(ticket).await,
            [ticket] => read_one_cheaply(ticket).await,
            _ => self.read_all().await,
        }
    }

    /// Waits for the time `pause`. A call for one lock stops waiting if another request of the same
    /// client receives the lock's row.
    async fn sleep(&mut self, pause: Duration, caller: &mut Caller) -> Result<Option<SeenRow>, Stop> {
        if let [ticket] = &mut self.tickets[..] {
            return ticket.acquisition.sleep_until_seen(pause, caller).await;
        }
        // If the wait times out, the error names the first lock for which the call still waits.
        let waiting = self.waiting().next().unwrap_or(&self.tickets[0]);
        waiting.acquisition.sleep(pause, caller).await.map(|()| None)
    }

    async fn enqueue_all(&mut self) -> Result<EnterResult, Error> {
        let first = &self.tickets[0].acquisition;
        let (sent, now) = (clock::now(), first.spec.options.now());
        let mut attempts = first.attempts_within(self.limits.transaction);
        let writes = self.specs().map(|spec| spec.row.enqueue(&self.owner, now, self.limits.most));
        let reasons = transact(&mut attempts, first.spec, writes).await?;
        let is_applied = reasons.is_none();
        let denied = denials(self.specs(), reasons.unwrap_or_default());
        if !is_applied && denied.iter().all(|denial| denial.record.place_of(&self.owner).is_none()) {
            return Ok(EnterResult::Denied(denied));
        }
        // If DynamoDB refused the transaction because a queue already has the call's entry, an
        // earlier attempt added the entry at an unknown time.
        for ticket in self.tickets.iter_mut().filter(|_| is_applied) {
            ticket.began_waiting(sent);
        }
        self.read_all().await?;
        Ok(EnterResult::Entered(Duplicate::Impossible))
    }

    async fn read_all(&mut self) -> Result<(), Error> {
        let mut attempts = self.tickets[0].acquisition.polling();
        let sent = clock::now();
        let rows = read_rows(&mut attempts, self.specs()).await?;
        for (ticket, row) in self.tickets.iter_mut().zip(rows) {
            if !ticket.saw(SeenRow { item: row, sent, source: RowSource::ConsistentRead }) {
                return Err(ticket.evicted());
            }
        }
        Ok(())
    }

    /// Waits until the call holds all of its locks. While the call waits for a lock, the call
    /// renews the locks that it already holds.
    async fn wait_for_turns(
        &mut self,
        duplicate: Duplicate,
        progress: &watch::Sender<Option<QueueStatus>>,
        caller: &mut Caller,
    ) -> Result<(), Stop> {
        if let [Ticket { acquisition, .. }] = &mut self.tickets[..] {
            acquisition.polls.join(&acquisition.owner);
        }
        loop {
            let mut has_evicted = false;
            for ticket in &mut self.tickets {
                if !ticket.advance(duplicate).await? {
                    return Err(ticket.evicted().into());
                }
            }
            for ticket in self.tickets.iter_mut().filter(|ticket| ticket.waiting_behind().is_some()) {
                ticket.report(progress);
                has_evicted |= ticket.acquisition.evict_expired_head().await?;
            }
            let pause = self.tickets.iter_mut().filter_map(Ticket::pause).min();
            let Some(pause) = pause else { return Ok(()) };
            // After the removal of an expired head, the call's entry may already be the head, so
            // the call reads the row without a pause.
            let seen = match has_evicted {
                true => None,
                false => self.sleep(pause, caller).await?,
            };
            let needs_proof = has_evicted || seen.is_some();
            let is_placed = match (&mut self.tickets[..], seen) {
                ([ticket], Some(seen)) => ticket.saw_elsewhere(seen),
                _ => false,
            };
            if !is_placed {
                self.read(needs_proof).await?;
            }
        }
    }
}

async fn enqueue_one(ticket: &mut Ticket<'_>, most: usize) -> Result<EnterResult, Error> {
    let AcquireSpec { row, options, .. } = ticket.acquisition.spec;
    let owner = Arc::clone(&ticket.acquisition.owner);
    let mut attempts = ticket.acquisition.attempts();
    let (mut sent, mut now) = (clock::now(), 0);
    let request = || {
        (sent, now) = (clock::now(), options.now());
        row.enqueue(&owner, now, most)
    };
    let (item, is_applied) = match attempts.write(request).await? {
        Answered::Applied(before) => (before, true),
        Answered::Refused(None) if row.is_item() => return Err(ticket.acquisition.spec.not_found(attempts.spent())),
        Answered::Refused(met) => (met, false),
    };
    let mut record = LockRecord::of(&row.layout, item.as_ref());
    if is_applied {
        // The answer to the UpdateItem contains the row before the update, so the code adds the
        // call's entry.
        record.queue.push(QueueEntry::parse(&owner));
        record.fence.get_or_insert(now);
    }
    let Some(index) = record.place_of(&owner) else {
        return Ok(EnterResult::Denied(vec![Denial { index: 0, record }]));
    };
    // After a lost reply, the entry may have become the head of the queue at an unknown time.
    if is_applied || index > 0 {
        ticket.began_waiting(sent);
    }
    ticket.move_to(item, record);
    Ok(EnterResult::Entered(Duplicate::of(&attempts)))
}

async fn read_one(ticket: &mut Ticket<'_>) -> Result<(), Error> {
    let spec = ticket.acquisition.spec;
    let sent = clock::now();
    let item = ticket.acquisition.polling().read(&spec.row.get(true)).await?;
    let is_missing = item.is_none() && spec.row.is_item();
    let seen = SeenRow { item, sent, source: RowSource::ConsistentRead };
    ticket.acquisition.polls.share(&seen);
    match ticket.saw(seen) {
        true => Ok(()),
        false if is_missing => Err(spec.not_found(ticket.acquisition.spent())),
        false => Err(ticket.evicted()),
    }
}

/// An eventually consistent read may return an older row, so a consistent read must confirm that
/// the call's entry is missing.
async fn read_one_cheaply(ticket: &mut Ticket<'_>) -> Result<(), Error> {
    let sent = clock::now();
    let item = ticket.acquisition.polling().read(&ticket.acquisition.spec.row.get(false)).await?;
    let seen = SeenRow { item, sent, source: RowSource::EventualRead };
    ticket.acquisition.polls.share(&seen);
    match ticket.saw(seen) {
        true => Ok(()),
        false => read_one(ticket).await,
    }
}
