//! Ends a run of the closure: with a result, with a request, or with another run.

use aws_sdk_dynamodb::Client;

use super::{
    Tx,
    run::{ItemOrigin, Known, KnownItem, Run, UnitShared},
    tx::Handle,
};
use crate::{
    clock::{self, Instant},
    codec::{Item, same_state, size, state_of},
    error::{ActionReason, CancellationClass, Cancelled, Error, OperationReason, TransactionId},
    lease::policy::CompanionWrite,
    model::ItemRef,
    operation::table_names,
    retry::{AfterConflict, Attempts, Limits},
    telemetry::{set_batch, set_table},
    transaction::{
        commit::{self, AfterContention, Commit},
        link::Link,
        pending::{PendingOperation, Purpose},
        snapshot,
    },
    version::{Expected, version_in},
    write::{
        assembly::{Assembly, OnlyWrite, assemble},
        intent::Intent,
        operation::Operation,
        outcome::AttemptOutcome,
        send::{Delivery, WriteResult, Writer},
        stamp::WriteStamps,
    },
};

/// One unit of work, with all runs of its closure.
pub(super) struct Unit {
    id: TransactionId,
    session: UnitShared,
    attempts: Option<Attempts>,
    snapshot: bool,
    /// The token of a run that met contention. The next run uses the same token, so that DynamoDB
    /// applies only one of the two, even if a network delivers a request twice.
    token: Option<String>,
    /// The start of the last run.
    began: Instant,
    /// The items that the next run already knows.
    known: Known,
    /// `true` if all known items are from the same moment.
    as_of_one_moment: bool,
}

/// The next step after a run.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// The unit of work returns the result of the closure.
    Done,
    /// The closure runs again.
    Again,
}

impl Unit {
    pub(super) fn new(client: Client, limits: Limits, snapshot: bool) -> Self {
        Self {
            id: TransactionId::next(),
            session: UnitShared { link: Link::new(client), limits, started: clock::now(), attempts: 0 },
            attempts: None,
            snapshot,
            token: None,
            began: clock::now(),
            known: Known::default(),
            as_of_one_moment: false,
        }
    }

    /// Starts a run with the known items.
    pub(super) fn begin(&mut self) -> (Tx, Handle) {
        let known = std::mem::take(&mut self.known);
        self.began = clock::now();
        Handle::new(Run { id: self.id, session: self.session.clone(), known, pending: Vec::new() })
    }

    /// Ends a run whose closure returned an error. Nothing is written.
    pub(super) async fn abort(&mut self, run: Run) -> Result<Next, Error> {
        let (known, _) = self.resume(run);
        self.without_writing(known).await
    }

    /// Ends a run whose closure returned `Ok`, and sends its writes.
    pub(super) async fn commit(&mut self, run: Run) -> Result<Next, Error> {
        let (known, pending) = self.resume(run);
        if pending.is_empty() {
            return self.without_writing(known).await;
        }
        let pauses = self.attempts.as_ref().map_or(0, Attempts::pauses);
        let sent = self.write(pending, &known).await;
        if let Some(attempts) = &self.attempts {
            self.session.attempts = attempts.spent().attempts;
        }
        match sent {
            Ok(CommitResult::Everything) => Ok(Next::Done),
            Ok(CommitResult::Nothing) => self.without_writing(known).await,
            // The next run reads all items again.
            Err(Error::Cancelled(refused)) if refused.class() == CancellationClass::Contention => {
                self.as_of_one_moment = false;
                Ok(Next::Again)
            }
            Err(Error::Cancelled(refused)) => {
                let slept = self.attempts.as_ref().is_some_and(|attempts| attempts.pauses() > pauses);
                self.token = None;
                // Items that were read before a sleep may be outdated.
                let kept = if slept { Kept::Nothing } else { Kept::Reads };
                self.after_refusal(known, refused, kept).await
            }
            Err(error) => Err(error),
        }
    }

    /// Takes the reads and the operations out of a run that has ended.
    fn resume(&mut self, run: Run) -> (Known, Vec<PendingOperation>) {
        let Run { session, known, pending, .. } = run;
        self.session = session;
        if let Some(attempts) = &mut self.attempts {
            attempts.set_sent(self.session.attempts);
        }
        (known, pending)
    }

    /// Ends a run without writes. A run that reads several items one after another may see states
    /// that never existed together. With [`snapshot`](super::UnitOfWork::snapshot), a request
    /// validates the items of the run. Without `snapshot`, a run that used items of an earlier run
    /// is repeated with newly read items.
    async fn without_writing(&mut self, known: Known) -> Result<Next, Error> {
        let reads: Vec<_> = known.reads().collect();
        let kept = reads.iter().filter(|held| held.origin == ItemOrigin::Kept).count();
        let together = reads.len() < 2 || (self.as_of_one_moment && kept == reads.len());
        if together || (kept == 0 && !self.snapshot) {
            return Ok(Next::Done);
        }
        if !self.snapshot {
            // The next run reads the items again.
            return Ok(Next::Again);
        }
        let item_refs: Vec<_> = reads.iter().map(|held| &held.item_ref).collect();
        let attempts = self.attempts.get_or_insert_with(|| self.session.attempts());
        let items = snapshot::fetch(attempts, &item_refs).await?;
        let same = reads.iter().zip(&items).all(|(held, item)| is_as_read(held, item.as_ref()));
        if same {
            return Ok(Next::Done);
        }
        // The items of the failed validation are from one moment, so the next run starts from them
        // and needs no further validation.
        let kept = reads.iter().zip(items);
        self.known = kept.map(|(held, item)| KnownItem::kept(held.item_ref.clone(), item)).collect();
        self.as_of_one_moment = true;
        Ok(Next::Again)
    }

    /// Sends the writes of a run, with a check of each item that the run only read.
    async fn write(&mut self, pending: Vec<PendingOperation>, known: &Known) -> Result<CommitResult, Error> {
        let attempts = self.attempts.get_or_insert_with(|| self.session.attempts());
        attempts.ran_since(self.began);
        let asked = pending.iter().any(|operation| operation.purpose == Purpose::Check);
        let mut operations = commit::resolve(attempts, self.id, pending, None).await?;
        for operation in &mut operations {
            if let Some(held) = known.read_of(&operation.item_ref) {
                // This is the first plan, whatever the item shows.
                let _ = operation.adapt(held.item.as_ref())?;
            }
        }
        add_checks(&mut operations, known)?;
        set_table(table_names(operations.iter().map(|operation| &operation.item_ref.table)));
        set_batch(operations.len());

        let (drawn, mut stamps) = commit::token_and_stamps(None, attempts);
        let token = self.token.get_or_insert(drawn);
        let assembly = assemble(&operations, &mut stamps)?;
        // A run that changes nothing needs no write. Only checks that the caller asked for must be
        // sent in any case.
        if !assembly.writes_anything() && !asked {
            return Ok(CommitResult::Nothing);
        }
        match OnlyWrite::of(&operations, &assembly) {
            // A plain create or delete must not be repeated after a lost reply. The repetition
            // could undo a write that another caller sent in between.
            Some(only) if matches!(only.target().expected, Expected::Unchanged(_)) => {
                write_alone(attempts, self.id, &only, assembly, stamps).await?;
            }
            Some(_) | None => {
                let commit = Commit {
                    attempts,
                    transaction: self.id,
                    operations: &mut operations,
                    assembly,
                    stamps,
                    token,
                    after_contention: AfterContention::ReadAgain,
                    outcome: AttemptOutcome::Known,
                };
                commit.run().await?;
            }
        }
        Ok(CommitResult::Everything)
    }

    /// Handles a refusal. The closure runs again if another run can have another result.
    async fn after_refusal(&mut self, known: Known, refused: Cancelled, kept: Kept) -> Result<Next, Error> {
        let is_permanent = |reason: OperationReason<'_>| reason.class() == Some(CancellationClass::Permanent);
        let changed = refused.reasons().filter(|reason| has_changed(reason, &known));
        // The largest item decides the pause, because another refusal for this item costs the most.
        let Some(bytes) = changed.map(|reason| reason.current_item().map_or(0, size)).max() else {
            return Err(Error::Cancelled(refused));
        };
        // An operation that DynamoDB never accepts makes each further run fail.
        if refused.reasons().any(is_permanent) {
            return Err(Error::Cancelled(refused));
        }
        let attempts = self.attempts.get_or_insert_with(|| self.session.attempts());
        self.as_of_one_moment = false;
        let paused = attempts.pause_after_conflict(bytes).await;
        if paused == AfterConflict::NoTimeLeft {
            return Err(attempts.exhausted(Error::Cancelled(refused)));
        }
        if paused == AfterConflict::AtOnce && kept == Kept::Reads {
            self.known = known.held.into_iter().filter_map(|held| carried(held, &refused)).collect();
        }
        Ok(Next::Again)
    }
}

/// The items that the next run may start from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kept {
    Reads,
    Nothing,
}

/// The result of a run's commit.
enum CommitResult {
    Everything,
    /// The run changes no item and asked for no check, so nothing was sent.
    Nothing,
}

/// Adds a check of each item that was read, unless a write of the item has the same condition.
fn add_checks(operations: &mut Vec<Operation>, known: &Known) -> Result<(), Error> {
    for KnownItem { item_ref, item, .. } in known.reads() {
        let mut writes = operations.iter().filter(|operation| operation.item_ref.is(&item_ref.table, &item_ref.key));
        let covered = match item {
            None => writes.filter_map(Operation::expected).any(|expected| matches!(expected, Expected::Absent)),
            Some(item) => {
                let read = state_of(item_ref.model, &item_ref.table, item)?;
                writes.any(|operation| operation.expected().is_some() && operation.rests_on() == Some(&read))
            }
        };
        if !covered {
            let version = item.as_ref().map(|item| version_in(item, item_ref.model.version).unwrap_or(0));
            let item_ref = ItemRef { expected: version, ..item_ref.clone() };
            operations.push(Operation::unchanged(item_ref, item.as_ref())?);
        }
    }
    Ok(())
}

/// Sends a single update as a plain conditional write, at half the price of a transaction.
async fn write_alone(
    attempts: &mut Attempts,
    id: TransactionId,
    only: &OnlyWrite<'_>,
    assembly: Assembly,
    stamps: WriteStamps,
) -> Result<(), Error> {
    // Only an item with a separate lease row has a companion write. Such an item is sent by a
    // transaction.
    let mut companion = CompanionWrite::Check;
    let writer = Writer {
        intent: only,
        attempts: &mut *attempts,
        stamps,
        delivery: Delivery::Plain,
        companion: &mut companion,
        outcome: AttemptOutcome::Known,
    };
    match writer.send(assembly.into_plan()).await? {
        WriteResult::Applied(_) => Ok(()),
        WriteResult::Conflict(item) => {
            let reason = ActionReason::conflict(item);
            Err(Error::Cancelled(Cancelled::new(id, only.parts(&reason), attempts.spent())))
        }
    }
}

/// Returns whether the item that refused the write has changed since the run read it. If the item
/// has changed, the closure may have another result.
fn has_changed(reason: &OperationReason<'_>, known: &Known) -> bool {
    reason.class() == Some(CancellationClass::Conflict)
        && known.read_of(reason.item_ref()).is_some_and(|held| !is_as_read(held, reason.current_item()))
}

/// Returns an item for the next run. The content comes from the refusal. If the refusal has no
/// content, it comes from the read of the last run. Returns `None` for an item that must be read
/// again.
fn carried(held: KnownItem, refused: &Cancelled) -> Option<KnownItem> {
    let KnownItem { item_ref, item, .. } = held;
    let is_of = |reason: &OperationReason<'_>| {
        reason.class() == Some(CancellationClass::Conflict) && reason.item_ref().is(&item_ref.table, &item_ref.key)
    };
    match refused.reasons().find(is_of) {
        None => Some(KnownItem::kept(item_ref, item)),
        // A refusal without an item may mean a missing item, or a server that does not return it.
        Some(reason) => reason.current_item().map(|item| KnownItem::kept(item_ref, Some(item.clone()))),
    }
}

fn is_as_read(held: &KnownItem, now: Option<&Item>) -> bool {
    same_state(held.item_ref.model, held.item.as_ref(), now)
}
