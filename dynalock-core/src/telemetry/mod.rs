//! The telemetry of calls, requests and leases: spans, events and metrics. [`continued`] runs the
//! part of a call that the library moves to another task. [`detached`] and [`in_lease`] run
//! background tasks.
//!
//! Spans and events never contain the attributes of an item. The error text in a DEBUG event may
//! contain the name of a lock, or the key of an item whose type has `#[dynalock(show_key)]`.

mod call;
mod event;
mod metric;
mod request;

pub(crate) use call::{
    BoxedCall, CallFailure, charge, continued, current_span, detached, failure, follow, in_lease, observe, observe_as,
    observe_closure, set_batch, set_table,
};
pub(crate) use event::{
    LostReply, background_failed, batch, conflict, heartbeat_failed, lease_lost, lease_span, lock_waited, lost_reply,
    queue_position, retry,
};
#[cfg(feature = "metrics")]
pub use metric::describe;
pub(crate) use request::request;

/// A filter like `dynalock=debug` selects the spans and events of the library.
const TARGET: &str = "dynalock";

const SYSTEM: &str = "aws.dynamodb";

const OK: &str = "ok";

const DROPPED: &str = "dropped";
