//! Where the tests run, and what they look at.

pub(crate) mod account;
pub(crate) mod answers;
pub(crate) mod attributes;
pub(crate) mod digest;
pub(crate) mod endpoint;
pub(crate) mod line;
pub(crate) mod order;
pub(crate) mod partial;
pub(crate) mod product;
pub(crate) mod refused;
pub(crate) mod rival;
pub(crate) mod sent;
pub(crate) mod shop;

mod raw;

pub(crate) use account::Account;
pub(crate) use attributes::{Item, b, item, n, s};
pub(crate) use digest::Digest;
pub(crate) use line::Line;
pub(crate) use order::Order;
pub(crate) use product::Product;
pub(crate) use shop::{Shop, Table};

use std::time::Duration;

use dynalock::error::Lost;

pub(crate) const fn secs(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

pub(crate) const fn millis(milliseconds: u64) -> Duration {
    Duration::from_millis(milliseconds)
}

/// Lets everything that is still on its way arrive. Only under tokio's paused clock, where it takes no time.
#[expect(clippy::disallowed_methods, reason = "the clock is paused: it goes on when nothing else is left to do")]
pub(crate) async fn settle() {
    tokio::time::sleep(secs(3600)).await;
}

/// This moment, by the clock that a test may pause.
#[expect(clippy::disallowed_methods, reason = "the clock is paused")]
pub(crate) fn now() -> tokio::time::Instant {
    tokio::time::Instant::now()
}

/// The way to a service far away, under tokio's paused clock.
#[expect(clippy::disallowed_methods, reason = "the clock is paused")]
pub(crate) async fn travel(time: Duration) {
    tokio::time::sleep(time).await;
}

/// The owner and the fence of the grant that a lock was lost to.
#[track_caller]
pub(crate) fn stolen_by(lost: &Lost) -> (&str, u64) {
    match lost {
        Lost::Stolen { by, fence, .. } => (by, *fence),
        other => panic!("expected a stolen lock, not {other:?}"),
    }
}

/// Asserts the variant of an error and gives what it carries.
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
