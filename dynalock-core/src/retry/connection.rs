use std::{
    io,
    sync::{
        Arc, Mutex, PoisonError, Weak,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use aws_sdk_dynamodb::{
    Client,
    config::{
        ConfigBag, Intercept, RuntimeComponents, SharedInterceptor,
        interceptors::{
            AfterDeserializationInterceptorContextRef, BeforeSerializationInterceptorContextMut,
            BeforeTransmitInterceptorContextRef,
        },
        retry::{RetryConfig, RetryPartition},
    },
    error::BoxError,
};

use super::{
    call_cost::ConnectionMeter, local_waiters::LocalWaiters, pace::Contenders, pending::PendingWork,
    retry_budget::RetryBudget, thread::Thread,
};
use crate::{
    codec::Item,
    operation::{EmptyAnswer, IN_FLIGHT, MeteredRequest, keep_body},
};

/// The client and the state that all calls of one repository share.
#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) client: Client,
    /// The user's client, from which this connection was made.
    origin: Client,
    pub(super) retry_budget: RetryBudget,
    pub(super) round_trip: RoundTrip,
    pub(super) contenders: Contenders,
    /// The queue entries whose removal is not complete, by table and key of the row.
    pub(crate) abandoned: PendingWork<(Arc<str>, Item)>,
    /// The calls that wait for locks. The heartbeat thread has the same calls.
    pub(crate) local_waiters: LocalWaiters,
    /// The meter of all calls, or `None` if the calls are not metered.
    pub(crate) meter: Option<ConnectionMeter>,
    thread: Mutex<Weak<Thread>>,
}

impl Connection {
    /// Makes a connection from the user's client, with the SDK's own retries switched off. If the
    /// SDK repeated a write that DynamoDB has already applied, DynamoDB would refuse the
    /// repetition, and the write would look like a conflict.
    pub(crate) fn over(client: &Client) -> Self {
        let mut config = client
            .config()
            .to_builder()
            .retry_config(RetryConfig::disabled())
            .retry_partition(RetryPartition::new("dynalock"));
        // A permanent interceptor is cheaper: the SDK looks up any other interceptor in the
        // configuration for each of its two dozen hooks.
        config.push_interceptor(SharedInterceptor::permanent(Passage));
        Self {
            client: Client::from_conf(config.build()),
            origin: client.clone(),
            retry_budget: RetryBudget::full(),
            round_trip: RoundTrip::default(),
            contenders: Contenders::default(),
            abandoned: PendingWork::default(),
            local_waiters: LocalWaiters::default(),
            meter: None,
            thread: Mutex::default(),
        }
    }

    /// Makes a connection with this meter from the same client of the user.
    pub(crate) fn with_meter(&self, meter: ConnectionMeter) -> Self {
        let local_waiters = self.local_waiters.clone();
        Self { local_waiters, meter: Some(meter), ..Self::over(&self.origin) }
    }

    /// Returns the heartbeat thread of this connection. The first call starts the thread.
    pub(crate) fn thread(&self) -> io::Result<Arc<Thread>> {
        // The connection keeps a weak reference, so that the thread ends with its last lock.
        let mut started = self.thread.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(thread) = started.upgrade() {
            return Ok(thread);
        }
        let (local_waiters, meter) = (self.local_waiters.clone(), self.meter.clone());
        let connection = Self { local_waiters, meter, ..Self::over(&self.origin) };
        let thread = Arc::new(Thread::start(connection)?);
        *started = Arc::downgrade(&thread);
        Ok(thread)
    }

    /// Returns the smoothed round trip time of the requests.
    pub(crate) fn round_trip(&self) -> Duration {
        self.round_trip.get()
    }

    /// Returns whether the connection was made from this client or a clone of it. Clones of a
    /// client share their configuration.
    pub(crate) fn is_over(&self, client: &Client) -> bool {
        std::ptr::eq(self.origin.config(), client.config())
    }
}

/// The smoothed round trip time of RFC 6298. Each sample has a weight of one eighth.
#[derive(Debug, Default)]
pub(super) struct RoundTrip(AtomicU64);

impl RoundTrip {
    /// The smallest value of the round trip time, which is also its value before the first answer.
    /// Pauses are multiples of the round trip time, so the round trip time must not be zero.
    const LEAST: Duration = Duration::from_millis(1);

    pub(super) fn get(&self) -> Duration {
        Duration::from_nanos(self.0.load(Ordering::Relaxed)).max(Self::LEAST)
    }

    pub(super) fn sample(&self, sample: Duration) {
        let sample = u64::try_from(sample.as_nanos()).unwrap_or(u64::MAX);
        // If two samples arrive at the same time, one of them may be lost. For an average, this
        // does not matter.
        let old = self.0.load(Ordering::Relaxed);
        let new = if old == 0 { sample } else { old - old / 8 + sample / 8 };
        self.0.store(new, Ordering::Relaxed);
    }
}

/// The interceptor of the library. The interceptor keeps the body of a request that may be
/// repeated, records that a request is sent, asks metered requests for their consumed capacity, and
/// refuses an answer without content.
#[derive(Debug)]
struct Passage;

impl Intercept for Passage {
    fn name(&self) -> &'static str {
        "Passage"
    }

    fn modify_before_serialization(
        &self,
        context: &mut BeforeSerializationInterceptorContextMut<'_>,
        _: &RuntimeComponents,
        _: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        let asked = metered(|request| request.ask(context.input_mut()));
        Ok(asked.transpose().map(drop)?)
    }

    fn read_after_serialization(
        &self,
        context: &BeforeTransmitInterceptorContextRef<'_>,
        _: &RuntimeComponents,
        _: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        // After the serialization, the body is complete: the signature is not part of the body.
        keep_body(context.request());
        Ok(())
    }

    fn read_before_transmit(
        &self,
        _: &BeforeTransmitInterceptorContextRef<'_>,
        _: &RuntimeComponents,
        _: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        // A request outside an attempt has no such value, and needs none.
        let _ = IN_FLIGHT.try_with(|in_flight| in_flight.departed.set(true));
        metered(MeteredRequest::depart);
        Ok(())
    }

    /// Reads the consumed capacity, and refuses a successful response without a body. The SDK would accept a response without a
    /// body, and report a write as applied and a read as "no item".
    fn read_after_deserialization(
        &self,
        context: &AfterDeserializationInterceptorContextRef<'_>,
        _: &RuntimeComponents,
        _: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        let response = context.response();
        let is_empty = response.body().bytes().is_some_and(<[u8]>::is_empty);
        if response.status().is_success() && is_empty {
            return Err(EmptyAnswer.into());
        }
        if let Ok(output) = context.output_or_error() {
            metered(|request| request.read(output));
        }
        Ok(())
    }
}

/// Calls a function with the metered request of this task. Returns `None` if the task sends no
/// metered request.
fn metered<O>(call: impl FnOnce(&MeteredRequest) -> O) -> Option<O> {
    IN_FLIGHT.try_with(|in_flight| in_flight.metered.as_deref().map(call)).ok().flatten()
}
