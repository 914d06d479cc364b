//! Counts the requests by an interceptor of the SDK.

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
    operation::{
        batch_get_item::BatchGetItemOutput, get_item::GetItemOutput, transact_write_items::TransactWriteItemsError,
        update_item::UpdateItemError,
    },
};
use aws_smithy_runtime_api::client::{
    interceptors::context::{Error, Output},
    orchestrator::HttpRequest,
};

/// Counts the requests of all clients that [`counted`](Self::counted) returns. Each attempt counts
/// as one request. All clones share the counts.
#[derive(Debug, Clone, Default)]
pub(crate) struct Traffic(Arc<Counters>);

#[derive(Debug, Default)]
struct Counters {
    requests: AtomicU64,
    reads: AtomicU64,
    writes: AtomicU64,
    conflicts: AtomicU64,
}

/// The counts at one moment.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Totals {
    pub(crate) requests: u64,
    /// The number of requests that read.
    pub(crate) reads: u64,
    /// The number of writes whose answer says that they were applied.
    pub(crate) writes: u64,
    /// The number of writes that DynamoDB refused, because an item had changed since it was read,
    /// or because another transaction was running on the item.
    pub(crate) conflicts: u64,
}

impl Traffic {
    /// Returns a client with the configuration of `client` and with this counter. The counter also
    /// counts the requests of dynalock, which uses the configuration of the client.
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
    /// Returns the number of requests that wrote, or tried to write.
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
            Some(Ok(output)) if !is_read(output) => drop(self.0.writes.fetch_add(1, Relaxed)),
            Some(Err(error)) if error.as_operation_error().is_some_and(is_conflict) => {
                self.0.conflicts.fetch_add(1, Relaxed);
            }
            Some(_) | None => {}
        }
        Ok(())
    }
}

fn is_read(output: &Output) -> bool {
    output.downcast_ref::<GetItemOutput>().is_some() || output.downcast_ref::<BatchGetItemOutput>().is_some()
}

fn is_conflict(error: &Error) -> bool {
    let update = error.downcast_ref().is_some_and(UpdateItemError::is_conditional_check_failed_exception);
    update || error.downcast_ref().is_some_and(TransactWriteItemsError::is_transaction_canceled_exception)
}

/// DynamoDB's protocol names the operation in a header. The warehouse example reads only by GetItem
/// and BatchGetItem.
fn reads(request: &HttpRequest) -> bool {
    request.headers().get("x-amz-target").is_some_and(|target| target.ends_with("GetItem"))
}
