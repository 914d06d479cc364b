//! The last answer of the server, as an interceptor of the SDK sees it.

use std::{
    fmt,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use aws_sdk_dynamodb::{
    config::{
        ConfigBag, Intercept, RuntimeComponents,
        interceptors::{BeforeDeserializationInterceptorContextRef, BeforeTransmitInterceptorContextRef},
    },
    error::BoxError,
};
use aws_smithy_types::{DateTime, date_time::Format};

use crate::clock;

/// A request and its answer.
#[derive(Debug, Clone)]
pub(super) struct Exchange {
    /// The host name and the port of the server.
    pub(super) host: String,
    /// The time since the epoch at which the request was sent, by the clock of this machine.
    pub(super) sent: Duration,
    pub(super) round_trip: Duration,
    /// The `Date` of the answer in seconds since the epoch, if the answer has one.
    pub(super) date: Option<i64>,
}

/// Keeps the last request of a client and its answer.
#[derive(Clone, Default)]
pub(super) struct Observer(Arc<Mutex<Times>>);

#[derive(Default)]
struct Times {
    host: String,
    sent: Duration,
    started: Option<clock::Instant>,
    last: Option<Exchange>,
}

impl Observer {
    pub(super) fn last(&self) -> Option<Exchange> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).last.clone()
    }
}

impl fmt::Debug for Observer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Observer").finish_non_exhaustive()
    }
}

impl Intercept for Observer {
    fn name(&self) -> &'static str {
        "dynalock-doctor"
    }

    fn read_before_transmit(
        &self,
        context: &BeforeTransmitInterceptorContextRef<'_>,
        _: &RuntimeComponents,
        _: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        let mut times = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let url = context.request().uri();
        let host = url.split_once("://").map_or(url, |(_, rest)| rest);
        host.trim_end_matches('/').clone_into(&mut times.host);
        (times.sent, times.started) = (clock::since_epoch(), Some(clock::now()));
        Ok(())
    }

    fn read_after_transmit(
        &self,
        context: &BeforeDeserializationInterceptorContextRef<'_>,
        _: &RuntimeComponents,
        _: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        let date = context.response().headers().get("date");
        let date = date.and_then(|date| DateTime::from_str(date, Format::HttpDate).ok()).map(|date| date.secs());
        let mut times = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let round_trip = times.started.map(|started| started.elapsed()).unwrap_or_default();
        times.last = Some(Exchange { host: times.host.clone(), sent: times.sent, round_trip, date });
        Ok(())
    }
}
