use std::{fmt, future::Future, pin::Pin, time::Duration};

use super::Repository;
use crate::{
    lock::Stance,
    model::{Lockable, Versioned},
    retry::{Limits, Pace},
};

/// A call that has not been sent: set what it needs, then `.await` it.
///
/// `K` is the kind of call, and decides what the future gives. It becomes a future by `IntoFuture`, boxed and `Send`. A function or a macro that
/// takes a future, such as `tokio::spawn` or `tokio::join!`, gets `.into_future()` or an async block:
///
/// ```
/// # use dynalock_core as dynalock;
/// use std::future::IntoFuture;
///
/// use dynalock::{Repository, Versioned};
///
/// fn in_the_background<T: Versioned>(items: &Repository<T>, stored: dynalock::Stored<T>) {
///     tokio::spawn(items.touch(stored).into_future());
/// }
///
/// fn two_in_the_background<T: Versioned>(items: Repository<T>, first: T, second: T) {
///     tokio::spawn(async move {
///         items.create(first).await?;
///         items.create(second).await
///     });
/// }
/// ```
///
/// The deadline counts from the first poll. A call that is
/// dropped before its end may have been applied, or not: nothing is sent afterwards, but what was sent may arrive.
#[must_use = "a request does nothing until it is awaited"]
pub struct Request<T, K> {
    pub(super) repository: Repository<T>,
    pub(super) limits: Limits,
    pub(super) once: bool,
    pub(super) stance: Stance,
    pub(super) kind: K,
}

/// What a request becomes when it is awaited.
pub(super) type Pending<'f, O> = Pin<Box<dyn Future<Output = O> + Send + 'f>>;

impl<T: Versioned, K> Request<T, K> {
    pub(super) fn new(repository: Repository<T>, limits: Limits, kind: K) -> Self {
        let stance = Stance::outside(T::MODEL, repository.terms);
        Self { repository, limits, once: false, stance, kind }
    }
}

impl<T, K> Request<T, K> {
    /// The time that the call may take over all its requests and pauses.
    pub fn deadline(mut self, deadline: Duration) -> Self {
        self.limits.deadline = deadline;
        self
    }

    /// How many requests may fail or meet a conflict before the call gives up, at least 1; without a limit, the deadline alone ends it. A call with 0 is
    /// [`Error::InvalidSetting`](crate::Error::InvalidSetting).
    ///
    /// Mind that under contention many attempts in a short time are normal: a deadline says better what is meant.
    pub fn attempts(mut self, attempts: u32) -> Self {
        self.limits.attempts = Some(attempts);
        self
    }

    /// How the call answers conflicts.
    pub fn pace(mut self, pace: Pace) -> Self {
        self.limits.pace = pace;
        self
    }
}

/// The kinds of call that write on a condition.
pub trait Checked: sealed::Sealed {}

pub(super) mod sealed {
    pub trait Sealed {}
}

impl<T, K: Checked> Request<T, K> {
    /// Sends each write as a transaction of one under a ClientRequestToken, which DynamoDB applies at most once in ten minutes, at twice
    /// the write units.
    ///
    /// [`Error::Indeterminate`](crate::Error::Indeterminate) remains for two cases. Either no reply came at all. Or a reply was lost, and
    /// the next attempt met something that may pass: an item in the way of a create, a lease, or an item without `_writes`. A late copy of
    /// the first attempt may still be applied then.
    pub fn exactly_once(mut self) -> Self {
        self.once = true;
        self
    }
}

impl<T: Lockable, K: Checked> Request<T, K> {
    /// Writes whether somebody holds a lease on the item or not. The holder, who counts on being alone, goes
    /// on from it at its next write.
    pub fn ignoring_lease(mut self) -> Self {
        self.stance = Stance::Ignoring;
        self
    }
}

impl<T, K> fmt::Debug for Request<T, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Request")
            .field("kind", &std::any::type_name::<K>())
            .field("repository", &self.repository)
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}
