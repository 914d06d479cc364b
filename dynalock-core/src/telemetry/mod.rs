//! Traces and metrics.
//!
//! Each call of the public API runs in [`observe`], which boxes the call, makes the span of the call
//! and counts the call. Each request runs in [`request`], and each
//! event has a function in `event`. A task that works for a call runs in [`continued`], and other
//! background work runs in [`detached`] or [`in_lease`].
//!
//! Spans and events contain no item. Only the text of an error, at the level DEBUG, may contain the
//! name of a lock, or the key of an item whose type has `#[dynalock(show_key)]`.

mod call;
mod event;
mod metric;
mod request;

pub(crate) use call::{
    BoxedCall, CallFailure, consumed, continued, current_span, detached, failure, follow, in_lease, observe,
    observe_as, observe_closure, set_batch, set_table,
};
pub(crate) use event::{
    LostReply, background_failed, batch, conflict, heartbeat_failed, lease_lost, lease_span, lock_waited, lost_reply,
    queue_position, retry,
};
#[cfg(feature = "metrics")]
pub use metric::describe;
pub(crate) use request::request;

/// The target of all spans and events. A filter such as `dynalock=debug` selects it.
const TARGET: &str = "dynalock";

/// The value of `db.system.name`.
const SYSTEM: &str = "aws.dynamodb";

/// The outcome of a call or a request without an error.
const OK: &str = "ok";

/// The outcome of a call or a request whose future was dropped.
const DROPPED: &str = "dropped";
