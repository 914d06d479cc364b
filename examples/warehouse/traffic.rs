//! What went over the wire, counted by an interceptor of the SDK.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering::Relaxed},
};

use aws_sdk_dynamodb::{
    Client,
    config::{
        ConfigBag, Intercept, RuntimeComponents,
        interceptors::{BeforeTransmitInterceptorContextRef, FinalizerInterceptorContextRef},
    },
    error::BoxError,
    operation::{get_item::GetItemOutput, update_item::UpdateItemError},
};
use aws_smithy_runtime_api::client::orchestrator::HttpRequest;

/// Counts the requests of the clients that it is put into, each attempt as one. A handle: clones count together.
#[derive(Debug, Clone, Default)]
pub(crate) struct Traffic(Arc<Counters>);

#[derive(Debug, Default)]
struct Counters {
    requests: AtomicU64,
    reads: AtomicU64,
    writes: AtomicU64,
    conflicts: AtomicU64,
}

/// What was counted.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Totals {
    pub(crate) requests: u64,
    /// Requests that read.
    pub(crate) reads: u64,
    /// Writes that were applied, by the answer.
    pub(crate) writes: u64,
    /// Writes that were refused, since the item was not as it had been read.
    pub(crate) conflicts: u64,
}

impl Traffic {
    /// The same client, counted. dynalock sends its requests through the configuration of the client that it is given.
    pub(crate) fn counted(&self, client: &Client) -> Client {
        Client::from_conf(client.config().to_builder().interceptor(self.clone()).build())
    }

    pub(crate) fn totals(&self) -> Totals {
        let Counters { requests, reads, writes, conflicts } = &*self.0;
        Totals {
            requests: requests.load(Relaxed),
            reads: reads.load(Relaxed),
            writes: writes.load(Relaxed),
            conflicts: conflicts.load(Relaxed),
        }
    }
}

impl Totals {
    /// Requests that wrote, or tried to.
    pub(crate) fn attempted_writes(&self) -> u64 {
        self.requests - self.reads
    }
}

impl Intercept for Traffic {
    fn name(&self) -> &'static str {
        "warehouse traffic"
    }

    fn read_before_transmit(
        &self,
        context: &BeforeTransmitInterceptorContextRef<'_>,
        _: &RuntimeComponents,
        _: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        self.0.requests.fetch_add(1, Relaxed);
        if reads(context.request()) {
            self.0.reads.fetch_add(1, Relaxed);
        }
        Ok(())
    }

    fn read_after_attempt(
        &self,
        context: &FinalizerInterceptorContextRef<'_>,
        _: &RuntimeComponents,
        _: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        match context.output_or_error() {
            Some(Ok(output)) if output.downcast_ref::<GetItemOutput>().is_none() => {
                self.0.writes.fetch_add(1, Relaxed);
            }
            Some(Err(error)) => {
                let error = error.as_operation_error().and_then(|error| error.downcast_ref::<UpdateItemError>());
                if error.is_some_and(UpdateItemError::is_conditional_check_failed_exception) {
                    self.0.conflicts.fetch_add(1, Relaxed);
                }
            }
            Some(Ok(_)) | None => {}
        }
        Ok(())
    }
}

/// DynamoDB's protocol names the operation in a header.
fn reads(request: &HttpRequest) -> bool {
    request.headers().get("x-amz-target").is_some_and(|target| target.ends_with(".GetItem"))
}
