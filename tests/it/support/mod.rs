//! The environment of the tests, and functions that inspect it.

pub(crate) mod answers;
pub(crate) mod attributes;
mod basket;
mod calls;
pub(crate) mod digest;
pub(crate) mod endpoint;
pub(crate) mod items;
pub(crate) mod kept;
pub(crate) mod layer;
pub(crate) mod leases;
pub(crate) mod order;
pub(crate) mod partial;
pub(crate) mod recorded;
mod refused;
pub(crate) mod repeats;
pub(crate) mod rival;
mod sent;
pub(crate) mod shop;
pub(crate) mod tally;

mod raw;

pub(crate) use attributes::{Item, b, item, n, s};
pub(crate) use basket::{Address, Basket, Part};
pub(crate) use calls::{start, together};
pub(crate) use digest::Digest;
pub(crate) use items::{Account, Line, Open, Product};
pub(crate) use kept::{Archive, Crate, Kept, Parcel, for_both_kinds};
pub(crate) use leases::{SKEW, TTL, acquire, kill, row_of};
pub(crate) use order::Order;
pub(crate) use recorded::Recorded;
pub(crate) use refused::{FAILED, NONE, Refused, cancelled, codes, invalid, met};
pub(crate) use sent::{written, written_by_the_user};
pub(crate) use shop::{Shop, Table};

use std::time::Duration;

use aws_sdk_dynamodb::Client;
use dynalock::{
    Error, Repository, Stored, Transaction, Versioned, error::Lost, local::Fault, lock::Guard, transaction::Committed,
};

pub(crate) const fn secs(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

pub(crate) const fn millis(milliseconds: u64) -> Duration {
    Duration::from_millis(milliseconds)
}

/// Faults after which each request is sent again, and faults that change nothing for the caller.
pub(crate) const FAULTS: [Fault; 14] = [
    Fault::LoseRequest,
    Fault::Refused,
    Fault::LoseReply,
    Fault::ErrorAfterApply,
    Fault::GarbageAfterApply,
    Fault::TruncatedAfterApply,
    Fault::ServerError,
    Fault::Throttle,
    Fault::TransactionConflict,
    Fault::NeverAnswer,
    Fault::NeverAnswerAfterApply,
    Fault::Delay(millis(1_500)),
    Fault::DeliverLate(secs(2)),
    Fault::DeliverTwice,
];

/// The faults that apply a request and lose its reply.
pub(crate) const LOST_REPLIES: [Fault; 5] = [
    Fault::LoseReply,
    Fault::ErrorAfterApply,
    Fault::GarbageAfterApply,
    Fault::EmptyAfterApply,
    Fault::NeverAnswerAfterApply,
];

/// Lets all late requests arrive. Use it only with tokio's paused clock, where it takes no time.
#[expect(clippy::disallowed_methods, reason = "the clock is paused: it goes on when nothing else is left to do")]
pub(crate) async fn settle() {
    tokio::time::sleep(secs(3600)).await;
}

/// Returns the current time, by the clock that a test may pause.
#[expect(clippy::disallowed_methods, reason = "the clock is paused")]
pub(crate) fn now() -> tokio::time::Instant {
    tokio::time::Instant::now()
}

/// Lets this time pass on tokio's paused clock.
#[expect(clippy::disallowed_methods, reason = "the clock is paused")]
pub(crate) async fn travel(time: Duration) {
    tokio::time::sleep(time).await;
}

/// Returns the owner and the fence of the grant that replaced a lost lock.
#[track_caller]
pub(crate) fn stolen_by(lost: &Lost) -> (&str, u64) {
    match lost {
        Lost::Stolen { by, fence, .. } => (by, *fence),
        other => panic!("expected a stolen lock, not {other:?}"),
    }
}

/// Returns the value with a change.
pub(crate) fn changed<V, Out>(mut value: V, change: impl FnOnce(&mut V) -> Out) -> V {
    change(&mut value);
    value
}

/// Adds the operation of this kind for a value that was read.
pub(crate) fn add<T: Versioned>(tx: &mut Transaction, kind: &str, items: &Repository<T>, read: Stored<T>) {
    match kind {
        "update" => drop(tx.update(items, read)),
        "replace" => drop(tx.replace(items, read)),
        "delete" => drop(tx.delete(items, read)),
        "check" => drop(tx.check(items, &read)),
        other => panic!("no operation is called {other}"),
    }
}

/// Commits a transaction of one operation.
pub(crate) async fn commit<Op>(
    client: &Client,
    operation: impl FnOnce(&mut Transaction) -> Op,
) -> Result<Committed, Error> {
    let mut tx = Transaction::new(client);
    drop(operation(&mut tx));
    tx.commit().await
}

/// Commits a transaction of one operation, under a lease.
pub(crate) async fn commit_under<Op>(
    lease: &impl Guard,
    client: &Client,
    operation: impl FnOnce(&mut Transaction) -> Op,
) -> Result<Committed, Error> {
    let guarded = |tx: &mut Transaction| {
        tx.guard(lease);
        drop(operation(tx));
    };
    commit(client, guarded).await
}

/// Asserts the variant of an error, and returns its content.
macro_rules! expect_error {
    ($result:expr, $pattern:pat => $carried:expr) => {
        match $result {
            Err($pattern) => $carried,
            other => panic!("expected {}, not {other:?}", stringify!($pattern)),
        }
    };
    ($result:expr, $pattern:pat) => {
        expect_error!($result, $pattern => ())
    };
}

pub(crate) use expect_error;
