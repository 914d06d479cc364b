use std::{fmt, time::Duration};

/// The number of requests that a failed call sent, and the time from its start to the error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Spent {
    /// The number of requests that the call sent. A read of an item counts only if it got no
    /// answer.
    pub attempts: u32,
    /// The time since the start of the call.
    pub elapsed: Duration,
}

impl Spent {
    pub(crate) fn new(attempts: u32, elapsed: Duration) -> Self {
        Self { attempts, elapsed }
    }
}

impl fmt::Display for Spent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { attempts, elapsed } = self;
        let requests = if *attempts == 1 { "request" } else { "requests" };
        write!(f, "{attempts} {requests} in {elapsed:.1?}")
    }
}
