//! The span and the counters of one call.

use std::{
    fmt,
    future::Future,
    pin::Pin,
    sync::{
        Arc, Mutex, OnceLock, PoisonError,
        atomic::{AtomicBool, AtomicU32, Ordering},
    },
};

use futures_util::{FutureExt, future::Either};
use tracing::{
    Instrument, Span,
    field::{Empty, display},
    level_filters::LevelFilter,
};

use super::{
    DROPPED, OK, SYSTEM, TARGET,
    metric::{CALL_DURATION, CALLS, CONFLICTS, count, measure},
};
use crate::{
    clock::{self, Instant},
    cost::Capacity,
    error::{Error, Result},
};

tokio::task_local! {
    /// The call for which the current task works.
    static CURRENT: Arc<Call>;
}

/// A call of the public API, or a piece of background work.
pub(super) struct Call {
    pub(super) operation: &'static str,
    /// The table. The tables of a unit of work are known only at its commit.
    table: OnceLock<Arc<str>>,
    span: Span,
    started: Instant,
    requests: AtomicU32,
    conflicts: AtomicU32,
    retries: AtomicU32,
    /// The capacity that the call has consumed, or `None` if the call is not metered.
    consumed: Mutex<Option<Capacity>>,
    has_ended: AtomicBool,
}

/// The name of a call in a trace: the operation and its table.
struct SpanName<'a> {
    operation: &'static str,
    table: &'a str,
}

impl fmt::Display for SpanName<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.table {
            "" => f.write_str(self.operation),
            table => write!(f, "{} {table}", self.operation),
        }
    }
}

/// The failure of a call whose closure can also fail.
pub(crate) enum CallFailure<E> {
    /// The library returned an error.
    Library(Error),
    /// The closure of the caller returned an error.
    Closure(E),
}

impl<E> From<Error> for CallFailure<E> {
    fn from(error: Error) -> Self {
        Self::Library(error)
    }
}

impl<E: From<Error>> CallFailure<E> {
    /// Returns the error for the caller.
    pub(crate) fn into_error(self) -> E {
        match self {
            Self::Library(error) => error.into(),
            Self::Closure(error) => error,
        }
    }
}

impl<E> CallFailure<E> {
    /// Returns the error type of a result.
    pub(crate) fn of<O>(result: &Result<O, Self>) -> Option<&'static str> {
        match result {
            Ok(_) => None,
            Err(Self::Library(error)) => Some(error.kind()),
            Err(Self::Closure(_)) => Some("closure"),
        }
    }
}

/// Makes the span of a call. The level is a constant of the place where a span is made, so a macro
/// is needed.
macro_rules! call_span {
    ($level:ident, $operation:expr, $table:expr $(, parent: $parent:expr)?) => {
        tracing::span!(
            target: TARGET,
            $(parent: $parent,)?
            tracing::Level::$level,
            "call",
            otel.name = display(SpanName { operation: $operation, table: $table }),
            otel.kind = "client",
            otel.status_code = Empty,
            db.system.name = SYSTEM,
            db.operation.name = $operation,
            db.collection.name = (!$table.is_empty()).then_some($table),
            db.operation.batch.size = Empty,
            "error.type" = Empty,
            dynalock.requests = Empty,
            dynalock.conflicts = Empty,
            dynalock.retries = Empty,
            dynalock.read_units = Empty,
            dynalock.write_units = Empty,
        )
    };
}

/// The boxed future of a call.
pub(crate) type BoxedCall<'f, O> = Pin<Box<dyn Future<Output = O> + Send + 'f>>;

/// Runs a call of the public API in a span of its own. A call on several tables has an empty
/// `table` until [`set_table`].
pub(crate) fn observe<'f, O>(
    operation: &'static str,
    table: Arc<str>,
    call: impl Future<Output = Result<O>> + Send + 'f,
) -> BoxedCall<'f, Result<O>> {
    observe_as(operation, table, call, failure)
}

/// Runs a call like [`observe`], if the closure of the caller can also fail.
pub(crate) fn observe_closure<'f, O, E: From<Error>>(
    operation: &'static str,
    table: Arc<str>,
    call: impl Future<Output = Result<O, CallFailure<E>>> + Send + 'f,
) -> BoxedCall<'f, Result<O, E>> {
    let call = Box::pin(call);
    Box::pin(async move { observe_as(operation, table, call, CallFailure::of).await.map_err(CallFailure::into_error) })
}

/// Runs a call like [`observe`]. The function `error_type` returns the type of the error in the
/// output.
pub(crate) fn observe_as<'f, F: Future + Send + 'f>(
    operation: &'static str,
    table: Arc<str>,
    call: F,
    error_type: fn(&F::Output) -> Option<&'static str>,
) -> BoxedCall<'f, F::Output> {
    // The future of a call has many kilobytes. A box that is made first keeps the layers around the
    // future from copying it.
    let call = Box::pin(call);
    if !is_observed() {
        return call;
    }
    let span = call_span!(INFO, operation, &*table);
    Box::pin(run(Call::new(operation, table, span), call, error_type))
}

/// Returns whether a program can observe calls. Without a subscriber and without the feature
/// `metrics`, a call costs no span and no counter.
pub(super) fn is_observed() -> bool {
    cfg!(feature = "metrics") || LevelFilter::current() != LevelFilter::OFF
}

/// Runs background work of the current call, which may end after the call. The span of the work
/// follows from the span of the call.
pub(crate) fn detached<F: Future>(
    operation: &'static str,
    table: Arc<str>,
    work: F,
    error_type: fn(&F::Output) -> Option<&'static str>,
) -> impl Future<Output = F::Output> {
    if !is_observed() {
        return Either::Left(work);
    }
    let span = call_span!(DEBUG, operation, &*table, parent: None);
    span.follows_from(current_span());
    Either::Right(run(Call::new(operation, table, span), work, error_type))
}

/// Runs background work for a lease that is held. The span of the work is a child of the span of the
/// lease.
pub(crate) fn in_lease<O, F>(
    lease: &Span,
    operation: &'static str,
    table: Arc<str>,
    work: F,
) -> impl Future<Output = Result<O>> + use<O, F>
where
    F: Future<Output = Result<O>>,
{
    if !is_observed() {
        return Either::Left(work);
    }
    // The lease may have been granted before the subscriber was set. An explicit parent would then
    // be unknown to the subscriber, and the registry of `tracing-subscriber` would panic.
    let span = lease.in_scope(|| call_span!(DEBUG, operation, &*table));
    Either::Right(run(Call::new(operation, table, span), work, failure))
}

/// Returns the future of a task that works for the current call. The task may end after the call.
pub(crate) fn continued<F: Future>(work: F) -> impl Future<Output = F::Output> {
    match current() {
        None => Either::Left(work),
        Some(call) => {
            let span = call.span.clone();
            Either::Right(CURRENT.scope(call, work.instrument(span)))
        }
    }
}

/// Returns the span of the current call.
pub(crate) fn current_span() -> Span {
    current().map_or_else(Span::none, |call| call.span.clone())
}

/// Records that the current call works for another call.
pub(crate) fn follow(to: &Span) {
    current_span().follows_from(to);
}

/// Records the tables of the current call.
pub(crate) fn set_table(table: Arc<str>) {
    if let Some(call) = current() {
        call.span.record("db.collection.name", &*table);
        call.span.record("otel.name", display(SpanName { operation: call.operation, table: &table }));
        // A unit of work may run several times. Its first tables name it.
        let _ = call.table.set(table);
    }
}

/// Records the number of items of the current call. A single item is not a batch.
pub(crate) fn set_batch(items: usize) {
    if items > 1 {
        current_span().record("db.operation.batch.size", items);
    }
}

/// Adds the capacity that a request of a metered call has consumed.
pub(crate) fn consumed(capacity: Capacity) {
    if let Some(call) = current() {
        *call.consumed.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert_default() += capacity;
    }
}

/// Returns the current call.
pub(super) fn current() -> Option<Arc<Call>> {
    CURRENT.try_with(Arc::clone).ok()
}

fn run<F: Future>(
    call: Call,
    work: F,
    error_type: fn(&F::Output) -> Option<&'static str>,
) -> impl Future<Output = F::Output> {
    let (span, call) = (call.span.clone(), Arc::new(call));
    let ended = Arc::clone(&call);
    CURRENT.scope(call, work.inspect(move |output| ended.end(error_type(output))).instrument(span))
}

/// Returns the type of the error in a result.
pub(crate) fn failure<O>(result: &Result<O>) -> Option<&'static str> {
    result.as_ref().err().map(Error::kind)
}

impl Call {
    fn new(operation: &'static str, table: Arc<str>, span: Span) -> Self {
        Self {
            operation,
            table: if table.is_empty() { OnceLock::new() } else { table.into() },
            span,
            started: clock::now(),
            requests: AtomicU32::new(0),
            conflicts: AtomicU32::new(0),
            retries: AtomicU32::new(0),
            consumed: Mutex::new(None),
            has_ended: AtomicBool::new(false),
        }
    }

    /// Returns the table, or an empty text for a call without a known table.
    pub(super) fn table(&self) -> Arc<str> {
        self.table.get().cloned().unwrap_or_default()
    }

    /// Counts a request, and returns its number in the call.
    pub(super) fn count_request(&self) -> u32 {
        self.requests.fetch_add(1, Ordering::Relaxed) + 1
    }

    pub(super) fn count_conflict(&self) {
        self.conflicts.fetch_add(1, Ordering::Relaxed);
        count!(CONFLICTS, "operation" => self.operation, "table" => self.table());
    }

    pub(super) fn count_retry(&self) {
        self.retries.fetch_add(1, Ordering::Relaxed);
    }

    /// Records the end of the call. Only the first end counts.
    fn end(&self, error_type: Option<&'static str>) {
        if self.has_ended.swap(true, Ordering::Relaxed) {
            return;
        }
        // A call that makes one attempt reports the conflict as its error.
        if error_type == Some("conflict") {
            self.count_conflict();
        }
        if let Some(error_type) = error_type {
            self.span.record("error.type", error_type);
            self.span.record("otel.status_code", "ERROR");
        }
        self.span.record("dynalock.requests", self.requests.load(Ordering::Relaxed));
        self.span.record("dynalock.conflicts", self.conflicts.load(Ordering::Relaxed));
        self.span.record("dynalock.retries", self.retries.load(Ordering::Relaxed));
        if let Some(Capacity { read, write }) = *self.consumed.lock().unwrap_or_else(PoisonError::into_inner) {
            self.span.record("dynalock.read_units", read.as_f64());
            self.span.record("dynalock.write_units", write.as_f64());
        }
        let (operation, table, outcome) = (self.operation, self.table(), error_type.unwrap_or(OK));
        count!(CALLS, "operation" => operation, "table" => Arc::clone(&table), "outcome" => outcome);
        let took = clock::now().duration_since(self.started);
        measure!(CALL_DURATION, took.as_secs_f64(), "operation" => operation, "table" => table);
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        self.end(Some(DROPPED));
    }
}
