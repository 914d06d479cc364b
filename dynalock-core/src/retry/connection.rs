use std::{
    cell::Cell,
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
        interceptors::{AfterDeserializationInterceptorContextRef, BeforeTransmitInterceptorContextRef},
        retry::{RetryConfig, RetryPartition},
    },
    error::BoxError,
};

use super::{budget::Budget, pending::PendingWork, thread::Thread};
use crate::{
    codec::Item,
    operation::{EmptyAnswer, keep_body},
};

/// What all calls through one repository share.
#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) client: Client,
    /// The client that it was made from.
    origin: Client,
    pub(super) budget: Budget,
    pub(super) round_trip: RoundTrip,
    /// Places in queues that are given up, by the table and the key of the row, and could not be removed so far.
    pub(crate) abandoned: PendingWork<(Arc<str>, Item)>,
    thread: Mutex<Weak<Thread>>,
}

impl Connection {
    /// The same client, with the SDK's own retries switched off: they would answer a write that was applied with its own effect.
    pub(crate) fn over(client: &Client) -> Self {
        let mut config = client
            .config()
            .to_builder()
            .retry_config(RetryConfig::disabled())
            .retry_partition(RetryPartition::new("dynalock"));
        // One that can be switched off is looked up in the configuration for each of its two dozen hooks.
        config.push_interceptor(SharedInterceptor::permanent(Passage));
        Self {
            client: Client::from_conf(config.build()),
            origin: client.clone(),
            budget: Budget::full(),
            round_trip: RoundTrip::default(),
            abandoned: PendingWork::default(),
            thread: Mutex::default(),
        }
    }

    /// The heartbeat thread of this connection. The first caller starts it.
    pub(crate) fn thread(&self) -> io::Result<Arc<Thread>> {
        let mut started = self.thread.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(thread) = started.upgrade() {
            return Ok(thread);
        }
        let thread = Arc::new(Thread::start(&self.origin)?);
        *started = Arc::downgrade(&thread);
        Ok(thread)
    }

    /// Whether it was made from this client or a clone of it: clones share their configuration.
    pub(crate) fn is_over(&self, client: &Client) -> bool {
        std::ptr::eq(self.origin.config(), client.config())
    }
}

/// The smoothed round trip time of RFC 6298: each sample moves it by an eighth.
#[derive(Debug, Default)]
pub(super) struct RoundTrip(AtomicU64);

impl RoundTrip {
    /// What is assumed before the first answer, and the least that is: sleeps are made of it.
    const LEAST: Duration = Duration::from_millis(1);

    pub(super) fn get(&self) -> Duration {
        Duration::from_nanos(self.0.load(Ordering::Relaxed)).max(Self::LEAST)
    }

    pub(super) fn sample(&self, sample: Duration) {
        let sample = u64::try_from(sample.as_nanos()).unwrap_or(u64::MAX);
        let old = self.0.load(Ordering::Relaxed);
        let new = if old == 0 { sample } else { old - old / 8 + sample / 8 };
        self.0.store(new, Ordering::Relaxed);
    }
}

tokio::task_local! {
    /// Whether the request that this task is sending has left: not while credentials are fetched and it is signed.
    pub(super) static DEPARTED: Cell<bool>;
}

/// What happens to each request on its way: the body of one that may have to be sent again as it is gets kept, its departure is noted, and an
/// answer without content is refused.
#[derive(Debug)]
struct Passage;

impl Intercept for Passage {
    fn name(&self) -> &'static str {
        "Passage"
    }

    fn read_after_serialization(
        &self,
        context: &BeforeTransmitInterceptorContextRef<'_>,
        _: &RuntimeComponents,
        _: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        keep_body(context.request());
        Ok(())
    }

    fn read_before_transmit(
        &self,
        _: &BeforeTransmitInterceptorContextRef<'_>,
        _: &RuntimeComponents,
        _: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        // Outside of an attempt nobody asks.
        let _ = DEPARTED.try_with(|departed| departed.set(true));
        Ok(())
    }

    /// The SDK takes no content for an answer with nothing in it: "applied" for a write, "no item" for a read.
    fn read_after_deserialization(
        &self,
        context: &AfterDeserializationInterceptorContextRef<'_>,
        _: &RuntimeComponents,
        _: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        let response = context.response();
        let is_empty = response.body().bytes().is_some_and(<[u8]>::is_empty);
        match response.status().is_success() && is_empty {
            true => Err(EmptyAnswer.into()),
            false => Ok(()),
        }
    }
}
