//! The end of a run of the closure: the commit, and the decision whether the closure runs again.

use aws_sdk_dynamodb::Client;

use super::{
    Tx,
    run::{ItemOrigin, Known, KnownItem, Run, UnitShared},
};
use crate::{
    clock::{self, Instant},
    codec::{Item, State, expired_state_of, same_state, size, state_of},
    error::{ActionReason, CancellationClass, Cancelled, Error, OperationReason, TransactionId},
    lease::policy::CompanionWrite,
    model::ItemRef,
    operation::{Action, table_names},
    retry::{AfterConflict, Attempts, Limits},
    telemetry::{set_batch, set_table},
    transaction::{
        commit::{AfterContention, Commit},
        link::Link,
        pending::PendingOperation,
        resolve::resolve,
        snapshot,
        token::token_and_stamps,
    },
    version::{Expected, WriteId, shows_any},
    write::{
        assembly::{Assembly, OnlyWrite, assemble},
        check::Requirement,
        intent::Intent,
        operation::{Operation, OperationKind},
        outcome::AttemptOutcome,
        plan::WritePosition,
        send::{Delivery, WriteResult, Writer},
        stamp::WriteStamps,
    },
};

pub(super) struct Unit {
    id: TransactionId,
    session: UnitShared,
    attempts: Option<Attempts>,
    snapshot: bool,
    /// The write ids of all runs that have sent their writes.
    sent: Vec<WriteId>,
    began: Instant,
    /// The items that the next run of the closure gets without a read from DynamoDB.
    known: Known,
    /// `true` if DynamoDB has returned all items in `known` from the same moment.
    as_of_one_moment: bool,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum AfterRun {
    Done,
    Again,
}

impl Unit {
    pub(super) fn new(client: Client, limits: Limits, snapshot: bool) -> Self {
        Self {
            id: TransactionId::next(),
            session: UnitShared { link: Link::new(client), limits, started: clock::now(), attempts: 0 },
            attempts: None,
            snapshot,
            sent: Vec::new(),
            began: clock::now(),
            known: Known::default(),
            as_of_one_moment: false,
        }
    }

    pub(super) fn begin(&mut self) -> Tx {
        let known = std::mem::take(&mut self.known);
        self.began = clock::now();
        Tx::new(Run { id: self.id, session: self.session.clone(), known, pending: Vec::new() })
    }

    pub(super) async fn abort(&mut self, run: Run) -> Result<AfterRun, Error> {
        let (known, _) = self.resume(run)?;
        self.without_writing(known).await
    }

    pub(super) async fn commit(&mut self, run: Run) -> Result<AfterRun, Error> {
        let (known, pending) = self.resume(run)?;
        if pending.is_empty() {
            return self.without_writing(known).await;
        }
        let pauses = self.attempts.as_ref().map_or(0, Attempts::pauses);
        let sent = self.write(pending, &known).await;
        if let Some(attempts) = &self.attempts {
            self.session.attempts = attempts.spent().attempts;
        }
        match sent {
            Ok(CommitResult::Everything) => Ok(AfterRun::Done),
            Ok(CommitResult::Nothing) => self.without_writing(known).await,
            // `known` stays empty, so the next run of the closure reads all items from DynamoDB.
            Err(Error::Cancelled(refused)) if refused.class() == CancellationClass::Contention => {
                self.as_of_one_moment = false;
                Ok(AfterRun::Again)
            }
            Err(Error::Cancelled(refused)) => self.after_refusal(known, refused, pauses).await,
            Err(error) => Err(error),
        }
    }

    /// Takes the items and the recorded operations out of a run that has ended. Returns
    /// `Error::Indeterminate` if the closure has read an item with the write id of an earlier run.
    /// In this case, DynamoDB has applied a delayed duplicate of the earlier run's request, and the
    /// library no longer has the result of the earlier run.
    fn resume(&mut self, run: Run) -> Result<(Known, Vec<PendingOperation>), Error> {
        let Run { session, known, pending, .. } = run;
        self.session = session;
        if let Some(attempts) = &mut self.attempts {
            attempts.set_sent(self.session.attempts);
            if known.reads().any(|held| shows_any(held.item.as_ref(), &self.sent)) {
                let tables = table_names(known.reads().map(|held| &held.item_ref.table));
                return Err(attempts.indeterminate(&tables, None, None, None));
            }
        }
        Ok((known, pending))
    }

    /// Ends a run of the closure that has written nothing, and decides whether the closure runs
    /// again. A closure that reads several items one after another may see states of the items that
    /// never existed at the same moment. With [`snapshot`](super::UnitOfWork::snapshot), the
    /// closure runs again if a TransactGetItems request returns another state of an item than the
    /// run has read. Without `snapshot`, the closure runs again with new reads if it has used items
    /// of an earlier run.
    async fn without_writing(&mut self, known: Known) -> Result<AfterRun, Error> {
        let reads: Vec<_> = known.reads().collect();
        let kept = reads.iter().filter(|held| held.origin == ItemOrigin::Kept).count();
        let together = reads.len() < 2 || (self.as_of_one_moment && kept == reads.len());
        if together || (kept == 0 && !self.snapshot) {
            return Ok(AfterRun::Done);
        }
        if !self.snapshot {
            // `known` stays empty, so the next run of the closure reads all items from DynamoDB.
            return Ok(AfterRun::Again);
        }
        let item_refs: Vec<_> = reads.iter().map(|held| &held.item_ref).collect();
        let attempts = self.attempts.get_or_insert_with(|| self.session.attempts());
        let items = snapshot::fetch(attempts, &item_refs).await?;
        let same = reads.iter().zip(&items).all(|(held, item)| is_as_read(held, item.as_ref()));
        if same {
            return Ok(AfterRun::Done);
        }
        // The items of a TransactGetItems come from one moment, so a next run that reads no other
        // items needs no further TransactGetItems.
        let kept = reads.iter().zip(items);
        self.known = kept.map(|(held, item)| KnownItem::kept(held.item_ref.clone(), item)).collect();
        self.as_of_one_moment = true;
        Ok(AfterRun::Again)
    }

    async fn write(&mut self, pending: Vec<PendingOperation>, known: &Known) -> Result<CommitResult, Error> {
        let attempts = self.attempts.get_or_insert_with(|| self.session.attempts());
        attempts.ran_since(self.began);
        let asked = pending.iter().any(|operation| !operation.is_write);
        let mut operations = resolve(attempts, self.id, pending, None).await?;
        for operation in &mut operations {
            if let Some(held) = known.read_of(&operation.item_ref) {
                // `assemble` makes a new request in any case.
                let _ = operation.adapt(held.item.as_ref())?;
            }
        }
        add_checks(&mut operations, known)?;
        set_table(table_names(operations.iter().map(|operation| &operation.item_ref.table)));
        set_batch(operations.len());

        let (token, mut stamps) = token_and_stamps(None, attempts);
        let assembly = assemble(&operations, &mut stamps)?;
        if !assembly.writes_anything() && !asked {
            return Ok(CommitResult::Nothing);
        }
        self.sent.push(stamps.id);
        match OnlyWrite::of(&operations, &assembly) {
            // Without a ClientRequestToken, a repeated create or delete could undo a write that
            // another caller made after the first attempt. Only a write that requires the state of
            // the item can go without a token.
            Some(only) if matches!(only.target().expected, Expected::Unchanged(_)) => {
                write_alone(attempts, self.id, &only, assembly, stamps, &self.sent).await?;
            }
            Some(_) | None => {
                let after_contention = after_contention(&operations, &assembly);
                let commit = Commit {
                    attempts,
                    transaction: self.id,
                    operations: &mut operations,
                    assembly,
                    stamps,
                    token,
                    runs: &self.sent,
                    after_contention,
                    outcome: AttemptOutcome::Known,
                };
                commit.run().await?;
            }
        }
        Ok(CommitResult::Everything)
    }

    /// Decides whether the closure runs again after a refused commit. The closure runs again if an
    /// item has changed since the closure read the item. `slept_before` is the number of pauses
    /// before the commit.
    async fn after_refusal(&mut self, known: Known, refused: Cancelled, slept_before: u32) -> Result<AfterRun, Error> {
        let is_permanent = |reason: OperationReason<'_>| reason.class() == Some(CancellationClass::Permanent);
        let changed = refused.reasons().filter(|reason| has_changed(reason, &known));
        // A refused write of a larger item consumes more write units, so the pause depends on the
        // size of the largest changed item.
        let Some(bytes) = changed.map(|reason| reason.current_item().map_or(0, size)).max() else {
            return Err(Error::Cancelled(refused));
        };
        // If DynamoDB can never accept one of the operations, each further run of the closure would
        // fail.
        if refused.reasons().any(is_permanent) {
            return Err(Error::Cancelled(refused));
        }
        let attempts = self.attempts.get_or_insert_with(|| self.session.attempts());
        self.as_of_one_moment = false;
        // Items that the closure read before a sleep may be outdated.
        let slept = attempts.pauses() > slept_before;
        let paused = attempts.pause_after_conflict(bytes).await;
        if paused == AfterConflict::NoTimeLeft {
            return Err(attempts.exhausted(Error::Cancelled(refused)));
        }
        if paused == AfterConflict::AtOnce && !slept {
            self.known = known.held.into_iter().filter_map(|held| carried(held, &refused)).collect();
        }
        Ok(AfterRun::Again)
    }
}

enum CommitResult {
    Everything,
    /// The closure changed no item and asked for no check.
    Nothing,
}

/// Adds a check of each item that the closure has read, unless a write of the item already requires
/// the same state.
fn add_checks(operations: &mut Vec<Operation>, known: &Known) -> Result<(), Error> {
    for KnownItem { item_ref, item, .. } in known.reads() {
        let mut writes = operations.iter().filter(|operation| operation.item_ref.is(&item_ref.table, &item_ref.key));
        let read = item.as_ref().map(|item| state_read(item_ref, item)).transpose()?;
        let covered = match &read {
            None => writes.filter_map(Operation::expected).any(|expected| matches!(expected, Expected::Absent)),
            read => writes.any(|operation| operation.expected().is_some() && operation.rests_on() == read.as_ref()),
        };
        if !covered {
            let expected = read.as_ref().map(|read| read.revision.number());
            let requirement = read.map_or(Requirement::Absent { expired: None }, Requirement::Unchanged);
            let item_ref = ItemRef { expected, ..item_ref.clone() };
            operations.push(Operation::new(item_ref, OperationKind::Check(requirement)));
        }
    }
    Ok(())
}

fn state_read(item_ref: &ItemRef, item: &Item) -> Result<State, Error> {
    let ItemRef { model, table, expiry, .. } = item_ref;
    if expiry.is_over(model, item) { expired_state_of(model, table, item) } else { state_of(model, table, item) }
}

/// Returns `ReadAgain` if the transaction changes an item on the condition that the item has not
/// changed since its read. Another run of the closure sends a request with a new token. DynamoDB
/// cannot apply both the new request and a delayed duplicate of the refused request. As soon as
/// DynamoDB applies one of the two requests, the condition of the other request is false. Returns
/// `SendAgain` if the transaction changes no item on this condition. The commit then repeats the
/// request with the same token, so DynamoDB applies the request only once.
fn after_contention(operations: &[Operation], assembly: &Assembly) -> AfterContention {
    let changes_a_read_item = |(operation, position): (&Operation, &WritePosition)| {
        let expected = operation.intent().map(|intent| intent.target().expected);
        // An update that changes no attribute is sent as a check.
        let is_check = matches!(assembly.writes[position.write].action, Action::Check);
        matches!(expected, Some(Expected::Unchanged(_))) && !is_check
    };
    match operations.iter().zip(&assembly.positions).any(changes_a_read_item) {
        true => AfterContention::ReadAgain,
        false => AfterContention::SendAgain,
    }
}

/// Sends a single update or replace as a plain conditional write. A plain write consumes half the
/// write units of a transaction.
async fn write_alone(
    attempts: &mut Attempts,
    id: TransactionId,
    only: &OnlyWrite<'_>,
    assembly: Assembly,
    stamps: WriteStamps,
    runs: &[WriteId],
) -> Result<(), Error> {
    // A plain write has no separate lease row.
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
        // DynamoDB has applied a delayed duplicate of the request of an earlier run of the closure.
        WriteResult::Conflict(item) if shows_any(item.as_ref(), runs) => {
            Err(attempts.indeterminate(only.target().table, None, None, None))
        }
        WriteResult::Conflict(item) => {
            let reason = ActionReason::conflict(item);
            Err(Error::Cancelled(Cancelled::new(id, only.parts(&reason), attempts.spent())))
        }
    }
}

/// Returns `true` if DynamoDB refused the operation because the item has changed since the closure
/// read it.
fn has_changed(reason: &OperationReason<'_>, known: &Known) -> bool {
    reason.class() == Some(CancellationClass::Conflict)
        && known.read_of(reason.item_ref()).is_some_and(|held| !is_as_read(held, reason.current_item()))
}

/// Returns the item that the next run of the closure uses instead of a read, or `None` if the next
/// run must read the item.
fn carried(held: KnownItem, refused: &Cancelled) -> Option<KnownItem> {
    let KnownItem { item_ref, item, .. } = held;
    let is_of = |reason: &OperationReason<'_>| {
        reason.class() == Some(CancellationClass::Conflict) && reason.item_ref().is(&item_ref.table, &item_ref.key)
    };
    match refused.reasons().find(is_of) {
        None => Some(KnownItem::kept(item_ref, item)),
        // A refusal without an item is ambiguous: either the key has no item, or the server does
        // not return items.
        Some(reason) => reason.current_item().map(|item| KnownItem::kept(item_ref, Some(item.clone()))),
    }
}

fn is_as_read(held: &KnownItem, now: Option<&Item>) -> bool {
    same_state(held.item_ref.model, held.item.as_ref(), now)
}
