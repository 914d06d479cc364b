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
use tokio::runtime::Handle;

use super::{
    call_cost::ConnectionMeter, local_waiters::LocalWaiters, pace::Contenders, pending::PendingWork,
    retry_budget::RetryBudget, runtime_thread::RuntimeThread,
};
use crate::{
    clock,
    operation::{EmptyAnswer, IN_FLIGHT, MeteredRequest, keep_body},
};

#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) client: Client,
    /// The SDK client of the user, from which the library has made the connection.
    origin: Client,
    pub(super) retry_budget: RetryBudget,
    pub(super) round_trip: RoundTrip,
    pub(super) contenders: Contenders,
    /// The lock rows from whose queues background tasks are removing the entries of ended calls.
    pub(crate) abandoned: PendingWork,
    /// The connection of the repository and the connection of the heartbeat thread share
    /// `local_waiters`.
    pub(crate) local_waiters: LocalWaiters,
    pub(crate) meter: Option<ConnectionMeter>,
    heartbeat_thread: Mutex<Weak<HeartbeatThread>>,
}

/// The thread that sends the heartbeats of locks with
/// [`Heartbeat::Thread`](crate::Heartbeat::Thread), and the connection of the thread. The heartbeat
/// thread ends when the last lock that uses the thread is dropped.
#[derive(Debug)]
pub(crate) struct HeartbeatThread {
    thread: RuntimeThread,
    pub(crate) connection: Arc<Connection>,
}

impl Connection {
    /// Switches off the retries of the SDK. If the SDK repeated a write after a lost reply, the
    /// write could conflict with its own first attempt.
    pub(crate) fn over(client: &Client) -> Self {
        let mut config = client
            .config()
            .to_builder()
            .retry_config(RetryConfig::disabled())
            .retry_partition(RetryPartition::new("dynalock"));
        // A permanent interceptor is faster, because the SDK need not check at each hook whether
        // the interceptor is enabled.
        config.push_interceptor(SharedInterceptor::permanent(Passage));
        Self {
            client: Client::from_conf(config.build()),
            origin: client.clone(),
            retry_budget: RetryBudget::full(clock::now()),
            round_trip: RoundTrip::default(),
            contenders: Contenders::default(),
            abandoned: PendingWork::default(),
            local_waiters: LocalWaiters::default(),
            meter: None,
            heartbeat_thread: Mutex::default(),
        }
    }

    pub(crate) fn with_meter(&self, meter: ConnectionMeter) -> Self {
        let local_waiters = self.local_waiters.clone();
        Self { local_waiters, meter: Some(meter), ..Self::over(&self.origin) }
    }

    pub(crate) fn heartbeat_thread(&self) -> io::Result<Arc<HeartbeatThread>> {
        // The weak reference lets the heartbeat thread end when the last lock that uses the thread
        // is dropped.
        let mut started = self.heartbeat_thread.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(heartbeat) = started.upgrade() {
            return Ok(heartbeat);
        }
        let thread = RuntimeThread::start("dynalock-heartbeat")?;
        let (local_waiters, meter) = (self.local_waiters.clone(), self.meter.clone());
        let connection = Arc::new(Self { local_waiters, meter, ..Self::over(&self.origin) });
        let heartbeat = Arc::new(HeartbeatThread { thread, connection });
        *started = Arc::downgrade(&heartbeat);
        Ok(heartbeat)
    }

    pub(crate) fn round_trip(&self) -> Duration {
        self.round_trip.get()
    }

    /// All clones of an SDK client share one configuration.
    pub(crate) fn is_over(&self, client: &Client) -> bool {
        std::ptr::eq(self.origin.config(), client.config())
    }
}

impl HeartbeatThread {
    pub(crate) fn runtime(&self) -> &Handle {
        &self.thread.runtime
    }
}

/// The smoothed round trip time of requests to DynamoDB, computed as in RFC 6298.
#[derive(Debug, Default)]
pub(super) struct RoundTrip(AtomicU64);

impl RoundTrip {
    /// The sleeps after conflicts are multiples of the round trip time, so the round trip time must
    /// not be zero.
    const LEAST: Duration = Duration::from_millis(1);

    pub(super) fn get(&self) -> Duration {
        Duration::from_nanos(self.0.load(Ordering::Relaxed)).max(Self::LEAST)
    }

    pub(super) fn sample(&self, sample: Duration) {
        let sample = u64::try_from(sample.as_nanos()).unwrap_or(u64::MAX);
        // If two requests record a sample at the same time, one of the samples may be lost.
        let old = self.0.load(Ordering::Relaxed);
        let new = if old == 0 { sample } else { old - old / 8 + sample / 8 };
        self.0.store(new, Ordering::Relaxed);
    }
}

/// The interceptor of the library, through which the SDK passes each request and each answer.
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
        // The later signature of the request is not part of the body, so the body is complete at
        // the end of the serialization.
        keep_body(context.request());
        Ok(())
    }

    fn read_before_transmit(
        &self,
        _: &BeforeTransmitInterceptorContextRef<'_>,
        _: &RuntimeComponents,
        _: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        // A request that the library sends without `Attempts` has no `IN_FLIGHT` value, so the code
        // ignores an error of `try_with`.
        let _ = IN_FLIGHT.try_with(|in_flight| in_flight.departed.set(true));
        metered(MeteredRequest::depart);
        Ok(())
    }

    /// `read_after_deserialization` returns an error for a successful response without a body.
    /// Without the error of `read_after_deserialization`, the SDK would treat an empty body as an
    /// applied write or as a missing item.
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

fn metered<O>(call: impl FnOnce(&MeteredRequest) -> O) -> Option<O> {
    IN_FLIGHT.try_with(|in_flight| in_flight.metered.as_deref().map(call)).ok().flatten()
}

#[cfg(test)]
mod tests {
    use std::{future, sync::mpsc};

    use aws_sdk_dynamodb::config::{
        BehaviorVersion, Config, IdentityCache, StalledStreamProtectionConfig, timeout::TimeoutConfig,
    };

    use super::*;

    #[test]
    fn it_is_one_for_all_and_ends_with_its_last_user() {
        let config = Config::builder()
            .behavior_version(BehaviorVersion::v2026_01_12())
            .retry_config(RetryConfig::disabled())
            .timeout_config(TimeoutConfig::disabled())
            .identity_cache(IdentityCache::no_cache())
            .stalled_stream_protection(StalledStreamProtectionConfig::disabled());
        let connection = Connection::over(&Client::from_conf(config.build()));
        let first = connection.heartbeat_thread().unwrap();
        let second = connection.heartbeat_thread().unwrap();
        assert!(Arc::ptr_eq(&first, &second));
        let (lives, ended) = mpsc::channel::<()>();
        first.runtime().spawn(async move {
            future::pending::<()>().await;
            drop(lives);
        });
        drop(first);
        assert_eq!(ended.try_recv(), Err(mpsc::TryRecvError::Empty));
        drop(second);
        // At the end of the thread, the runtime drops the spawned task that owns `lives`.
        assert_eq!(ended.recv(), Err(mpsc::RecvError));
        let next = connection.heartbeat_thread().unwrap();
        assert_eq!(next.runtime().block_on(async { 5 }), 5);
    }
}
