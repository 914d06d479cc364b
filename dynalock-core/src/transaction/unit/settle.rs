//! The end of a run of the closure: the commit, and the decision about whether the closure runs
//! again.

use aws_sdk_dynamodb::Client;

use super::{
    Tx,
    run::{ItemOrigin, Known, KnownItem, Run, UnitShared},
};
use crate::{
    clock::{self, Instant},
    codec::{Item, same_state, size, state_of},
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

/// The state of one unit of work during all runs of its closure.
pub(super) struct Unit {
    id: TransactionId,
    session: UnitShared,
    attempts: Option<Attempts>,
    snapshot: bool,
    /// The write ids of all runs that have sent their writes.
    sent: Vec<WriteId>,
    /// The time at which the last run of the closure started.
    began: Instant,
    /// The items that the next run of the closure gets without a read from DynamoDB.
    known: Known,
    /// `true` if all items in `known` were read at the same moment.
    as_of_one_moment: bool,
}

/// The next step of a unit of work after a run of its closure.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// The unit of work returns the result of the closure.
    Done,
    /// The unit of work starts another run of the closure.
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

    /// Starts a run of the closure with the items in `known`.
    pub(super) fn begin(&mut self) -> Tx {
        let known = std::mem::take(&mut self.known);
        self.began = clock::now();
        Tx::new(Run { id: self.id, session: self.session.clone(), known, pending: Vec::new() })
    }

    /// Ends a run of the closure that returned an error. `abort` sends no write.
    pub(super) async fn abort(&mut self, run: Run) -> Result<Next, Error> {
        let (known, _) = self.resume(run)?;
        self.without_writing(known).await
    }

    /// Ends a run of the closure that returned `Ok`, and sends the writes that the closure has
    /// recorded.
    pub(super) async fn commit(&mut self, run: Run) -> Result<Next, Error> {
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
            Ok(CommitResult::Everything) => Ok(Next::Done),
            Ok(CommitResult::Nothing) => self.without_writing(known).await,
            // DynamoDB refused the commit because another transaction was running on one of its
            // items. `known` stays empty, so the next run of the closure reads all items from
            // DynamoDB.
            Err(Error::Cancelled(refused)) if refused.class() == CancellationClass::Contention => {
                self.as_of_one_moment = false;
                Ok(Next::Again)
            }
            Err(Error::Cancelled(refused)) => self.after_refusal(known, refused, pauses).await,
            Err(error) => Err(error),
        }
    }

    /// Takes the items and the recorded operations out of a run of the closure that has ended.
    /// Returns an error if the closure has read an item with the write id of an earlier run. DynamoDB
    /// refused the request of the earlier run, but later applied a duplicate of the request, and the
    /// unit of work no longer has the result of the earlier run.
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

    /// Ends a run of the closure that has written nothing. A closure that reads several items one
    /// after another may see states of the items that never existed at the same moment. With
    /// [`snapshot`](super::UnitOfWork::snapshot), a TransactGetItems request checks that no item of
    /// the run has changed since the closure read it. Without `snapshot`, the closure runs again
    /// with new reads if it has used items that an earlier run of the closure had read.
    async fn without_writing(&mut self, known: Known) -> Result<Next, Error> {
        let reads: Vec<_> = known.reads().collect();
        let kept = reads.iter().filter(|held| held.origin == ItemOrigin::Kept).count();
        let together = reads.len() < 2 || (self.as_of_one_moment && kept == reads.len());
        if together || (kept == 0 && !self.snapshot) {
            return Ok(Next::Done);
        }
        if !self.snapshot {
            // `known` stays empty, so the next run of the closure reads all items from DynamoDB.
            return Ok(Next::Again);
        }
        let item_refs: Vec<_> = reads.iter().map(|held| &held.item_ref).collect();
        let attempts = self.attempts.get_or_insert_with(|| self.session.attempts());
        let items = snapshot::fetch(attempts, &item_refs).await?;
        let same = reads.iter().zip(&items).all(|(held, item)| is_as_read(held, item.as_ref()));
        if same {
            return Ok(Next::Done);
        }
        // TransactGetItems returns all items from the same moment. If the next run of the closure
        // reads only the items that TransactGetItems returned, the unit of work sends no further
        // TransactGetItems request.
        let kept = reads.iter().zip(items);
        self.known = kept.map(|(held, item)| KnownItem::kept(held.item_ref.clone(), item)).collect();
        self.as_of_one_moment = true;
        Ok(Next::Again)
    }

    /// Sends the writes of a run of the closure, with a check of each item that the closure has
    /// only read.
    async fn write(&mut self, pending: Vec<PendingOperation>, known: &Known) -> Result<CommitResult, Error> {
        let attempts = self.attempts.get_or_insert_with(|| self.session.attempts());
        attempts.ran_since(self.began);
        let asked = pending.iter().any(|operation| !operation.is_write);
        let mut operations = resolve(attempts, self.id, pending, None).await?;
        for operation in &mut operations {
            if let Some(held) = known.read_of(&operation.item_ref) {
                // The result of `adapt` does not matter, because `assemble` makes a new request in
                // any case.
                let _ = operation.adapt(held.item.as_ref())?;
            }
        }
        add_checks(&mut operations, known)?;
        set_table(table_names(operations.iter().map(|operation| &operation.item_ref.table)));
        set_batch(operations.len());

        let (token, mut stamps) = token_and_stamps(None, attempts);
        let assembly = assemble(&operations, &mut stamps)?;
        // If a run of the closure changes no item and calls no method such as `check`, the commit
        // sends no transaction.
        if !assembly.writes_anything() && !asked {
            return Ok(CommitResult::Nothing);
        }
        self.sent.push(stamps.id);
        match OnlyWrite::of(&operations, &assembly) {
            // The commit sends a write without a token only if the write requires the state of the
            // item that the closure has read. Without a ClientRequestToken, a repeated create or
            // delete could undo a write that another caller made after the first attempt.
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

    /// Decides what the unit of work does after DynamoDB has refused the commit. Returns
    /// [`Next::Again`] if another run of the closure can have another result. `slept_before` is
    /// the number of pauses before the commit.
    async fn after_refusal(&mut self, known: Known, refused: Cancelled, slept_before: u32) -> Result<Next, Error> {
        let is_permanent = |reason: OperationReason<'_>| reason.class() == Some(CancellationClass::Permanent);
        let changed = refused.reasons().filter(|reason| has_changed(reason, &known));
        // The length of the pause depends on the size of the largest changed item, because a
        // refused write of a larger item consumes more write units.
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
        Ok(Next::Again)
    }
}

/// Says whether the commit after a run of the closure has sent a request.
enum CommitResult {
    Everything,
    /// The closure changed no item and asked for no check, so the commit sent no request.
    Nothing,
}

/// Adds a check of each item that the closure has read, unless a write of the item already requires
/// the state that the closure has read.
fn add_checks(operations: &mut Vec<Operation>, known: &Known) -> Result<(), Error> {
    for KnownItem { item_ref, item, .. } in known.reads() {
        let mut writes = operations.iter().filter(|operation| operation.item_ref.is(&item_ref.table, &item_ref.key));
        let read = item.as_ref().map(|item| state_of(item_ref.model, &item_ref.table, item)).transpose()?;
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

/// Returns the next step of a commit after `TransactionConflict`. Another run of the closure sends
/// another request, so DynamoDB could apply a delayed duplicate of the refused request as well. If
/// the commit changes an item that the closure has read, DynamoDB applies only one of the two
/// requests, because the change makes the condition of the other request false. Without such a
/// change, the commit sends the same request again, and its token prevents a second application.
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

/// Sends a single update or replace as a plain conditional write, which costs half as much as a
/// transaction.
async fn write_alone(
    attempts: &mut Attempts,
    id: TransactionId,
    only: &OnlyWrite<'_>,
    assembly: Assembly,
    stamps: WriteStamps,
    runs: &[WriteId],
) -> Result<(), Error> {
    // A companion write is the operation on the separate lease row that accompanies a write of an
    // item. The library writes an item with a separate lease row by a transaction, so a plain write
    // has no companion write.
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
        // DynamoDB has applied a delayed duplicate of an earlier run of the closure.
        WriteResult::Conflict(item) if shows_any(item.as_ref(), runs) => {
            Err(attempts.indeterminate(only.target().table, None, None, None))
        }
        WriteResult::Conflict(item) => {
            let reason = ActionReason::conflict(item);
            Err(Error::Cancelled(Cancelled::new(id, only.parts(&reason), attempts.spent())))
        }
    }
}

/// Returns `true` if the condition on an item was false, and the item has changed since the closure
/// read the item. If the item has changed, another run of the closure may have another result.
fn has_changed(reason: &OperationReason<'_>, known: &Known) -> bool {
    reason.class() == Some(CancellationClass::Conflict)
        && known.read_of(reason.item_ref()).is_some_and(|held| !is_as_read(held, reason.current_item()))
}

/// Returns the item that the next run of the closure uses instead of a read. If the condition on
/// the item caused the cancellation, the returned item has the content that DynamoDB returned with
/// the cancellation. Returns `None` if the next run must read the item.
fn carried(held: KnownItem, refused: &Cancelled) -> Option<KnownItem> {
    let KnownItem { item_ref, item, .. } = held;
    let is_of = |reason: &OperationReason<'_>| {
        reason.class() == Some(CancellationClass::Conflict) && reason.item_ref().is(&item_ref.table, &item_ref.key)
    };
    match refused.reasons().find(is_of) {
        None => Some(KnownItem::kept(item_ref, item)),
        // A refusal without an item is ambiguous: either the key has no item, or the server does
        // not return the item.
        Some(reason) => reason.current_item().map(|item| KnownItem::kept(item_ref, Some(item.clone()))),
    }
}

fn is_as_read(held: &KnownItem, now: Option<&Item>) -> bool {
    same_state(held.item_ref.model, held.item.as_ref(), now)
}
