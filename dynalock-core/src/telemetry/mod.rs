//! Traces and metrics of calls, requests and leases.
//!
//! Each call of the public API runs in [`observe`], which boxes the future of the call, makes a
//! span and counts the call. Each request runs in [`request`], and each event has a function in the
//! module `event`. If a call moves a part of its work to another task, the part runs in
//! [`continued`]. Background tasks run in [`detached`] or [`in_lease`]. Without a `tracing`
//! subscriber and without the feature `metrics`, the functions of this module only run the given
//! future.
//!
//! Spans and events never contain the attributes of an item. The error text in a DEBUG event may
//! contain the name of a lock. The text of an error may contain the key of an item whose type has
//! `#[dynalock(show_key)]`.

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

/// The target of all spans and events of the library. A filter like `dynalock=debug` selects the
/// spans and events with the target `dynalock`.
const TARGET: &str = "dynalock";

/// The value of the span field `db.system.name`.
const SYSTEM: &str = "aws.dynamodb";

/// The value of the metric label `outcome` for a call or a request that succeeded.
const OK: &str = "ok";

/// The value of the metric label `outcome` for a call or a request whose future was dropped.
const DROPPED: &str = "dropped";
