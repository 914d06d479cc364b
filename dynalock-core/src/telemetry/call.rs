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
    cost::{Capacity, Cause, Cost},
    error::{Error, Result},
};

tokio::task_local! {
    /// The telemetry of the call to which the current tokio task belongs.
    static CURRENT: Arc<Call>;
}

/// The telemetry of a call of the public API, or of a background task.
pub(super) struct Call {
    pub(super) operation: &'static str,
    /// The tables of a unit of work are known only at the commit.
    table: OnceLock<Arc<str>>,
    span: Span,
    started: Instant,
    requests: AtomicU32,
    conflicts: AtomicU32,
    retries: AtomicU32,
    /// `None` if the library does not count the capacity of the call.
    cost: Mutex<Option<Cost>>,
    has_ended: AtomicBool,
}

fn span_name(operation: &str, table: &str) -> impl fmt::Display {
    fmt::from_fn(move |f| match table {
        "" => f.write_str(operation),
        table => write!(f, "{operation} {table}"),
    })
}

pub(crate) enum CallFailure<E> {
    Library(Error),
    Closure(E),
}

impl<E> From<Error> for CallFailure<E> {
    fn from(error: Error) -> Self {
        Self::Library(error)
    }
}

impl<E: From<Error>> CallFailure<E> {
    pub(crate) fn into_error(self) -> E {
        match self {
            Self::Library(error) => error.into(),
            Self::Closure(error) => error,
        }
    }
}

impl<E> CallFailure<E> {
    pub(crate) fn of<O>(result: &Result<O, Self>) -> Option<&'static str> {
        match result {
            Ok(_) => None,
            Err(Self::Library(error)) => Some(error.kind()),
            Err(Self::Closure(_)) => Some("closure"),
        }
    }
}

/// A macro is necessary, because `tracing` requires the level of a span as a constant.
macro_rules! call_span {
    ($level:ident, $operation:expr, $table:expr $(, parent: $parent:expr)?) => {
        tracing::span!(
            target: TARGET,
            $(parent: $parent,)?
            tracing::Level::$level,
            "call",
            otel.name = display(span_name($operation, $table)),
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
            dynalock.cost = Empty,
        )
    };
}

pub(crate) type BoxedCall<'f, O> = Pin<Box<dyn Future<Output = O> + Send + 'f>>;

/// For a call on several tables, `table` is empty, and [`set_table`] later records the names of the
/// tables.
pub(crate) fn observe<'f, O>(
    operation: &'static str,
    table: Arc<str>,
    call: impl Future<Output = Result<O>> + Send + 'f,
) -> BoxedCall<'f, Result<O>> {
    observe_as(operation, table, call, failure)
}

pub(crate) fn observe_closure<'f, O, E: From<Error>>(
    operation: &'static str,
    table: Arc<str>,
    call: impl Future<Output = Result<O, CallFailure<E>>> + Send + 'f,
) -> BoxedCall<'f, Result<O, E>> {
    let call = Box::pin(call);
    Box::pin(async move {
        let span = call_span!(INFO, operation, &*table);
        in_span(span, operation, table, call, CallFailure::of).await.map_err(CallFailure::into_error)
    })
}

/// The function `error_type` returns the short name of the error in the call's output, or `None`
/// for a success.
pub(crate) fn observe_as<'f, F: Future + Send + 'f>(
    operation: &'static str,
    table: Arc<str>,
    call: F,
    error_type: fn(&F::Output) -> Option<&'static str>,
) -> BoxedCall<'f, F::Output> {
    // The code boxes the future before the wrappers, because each wrapper would copy an unboxed
    // future of many kilobytes.
    let call = Box::pin(call);
    match is_observed() {
        true => Box::pin(in_span(call_span!(INFO, operation, &*table), operation, table, call, error_type)),
        false => call,
    }
}

pub(super) fn is_observed() -> bool {
    cfg!(feature = "metrics") || LevelFilter::current() != LevelFilter::OFF
}

/// Runs a background task that the current call has started, and that may end after the call.
pub(crate) fn detached<F: Future>(
    operation: &'static str,
    table: Arc<str>,
    work: F,
    error_type: fn(&F::Output) -> Option<&'static str>,
) -> impl Future<Output = F::Output> {
    let span = call_span!(DEBUG, operation, &*table, parent: None);
    span.follows_from(current_span());
    in_span(span, operation, table, work, error_type)
}

pub(crate) fn in_lease<O, F>(
    lease: &Span,
    operation: &'static str,
    table: Arc<str>,
    work: F,
) -> impl Future<Output = Result<O>> + use<O, F>
where
    F: Future<Output = Result<O>>,
{
    // An explicit parent span that is older than the `tracing` subscriber would make the registry
    // of `tracing-subscriber` panic, so the code uses `in_scope`.
    let span = lease.in_scope(|| call_span!(DEBUG, operation, &*table));
    in_span(span, operation, table, work, failure)
}

/// Runs `work` in the span of the current call, and counts the requests of `work` for the current
/// call.
pub(crate) fn continued<F: Future>(work: F) -> impl Future<Output = F::Output> {
    match current() {
        None => Either::Left(work),
        Some(call) => {
            let span = call.span.clone();
            Either::Right(CURRENT.scope(call, work.instrument(span)))
        }
    }
}

pub(crate) fn current_span() -> Span {
    current().map_or_else(Span::none, |call| call.span.clone())
}

/// Records that the span of the current call follows from the span `to`.
pub(crate) fn follow(to: &Span) {
    current_span().follows_from(to);
}

pub(crate) fn set_table(table: Arc<str>) {
    if let Some(call) = current() {
        call.span.record("db.collection.name", &*table);
        call.span.record("otel.name", display(span_name(call.operation, &table)));
        // A unit of work may commit several times, and the metrics name the tables of the first
        // commit.
        let _ = call.table.set(table);
    }
}

pub(crate) fn set_batch(items: usize) {
    if items > 1 {
        current_span().record("db.operation.batch.size", items);
    }
}

pub(crate) fn charge(cause: Cause, capacity: Capacity) {
    if let Some(call) = current() {
        call.cost.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert_default().charge(cause, capacity);
    }
}

pub(super) fn current() -> Option<Arc<Call>> {
    CURRENT.try_with(Arc::clone).ok()
}

fn in_span<F: Future>(
    span: Span,
    operation: &'static str,
    table: Arc<str>,
    work: F,
    error_type: fn(&F::Output) -> Option<&'static str>,
) -> impl Future<Output = F::Output> {
    if !is_observed() {
        return Either::Left(work);
    }
    let call = Arc::new(Call::new(operation, table, span.clone()));
    let ended = Arc::clone(&call);
    Either::Right(CURRENT.scope(call, work.inspect(move |output| ended.end(error_type(output))).instrument(span)))
}

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
            cost: Mutex::new(None),
            has_ended: AtomicBool::new(false),
        }
    }

    /// Returns the names of the tables of the call, or an empty text if no table is known.
    pub(super) fn table(&self) -> Arc<str> {
        self.table.get().cloned().unwrap_or_default()
    }

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

    /// A second call of `end` has no effect.
    fn end(&self, error_type: Option<&'static str>) {
        if self.has_ended.swap(true, Ordering::Relaxed) {
            return;
        }
        // A call that does not retry after a conflict returns the conflict as an error, so `end`
        // counts the conflict.
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
        if let Some(cost) = *self.cost.lock().unwrap_or_else(PoisonError::into_inner) {
            let Capacity { read, write } = cost.total();
            self.span.record("dynalock.read_units", read.as_f64());
            self.span.record("dynalock.write_units", write.as_f64());
            self.span.record("dynalock.cost", display(cost));
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
