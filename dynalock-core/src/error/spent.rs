use std::{fmt, sync::Arc, time::Duration};

use crate::cost::Cost;

/// The number of requests that a failed call has sent, the time from its start to its error, and
/// the capacity that it has consumed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Spent {
    /// The number of requests that the call has sent. An answered read of an item does not count.
    pub attempts: u32,
    /// The time from the start of the call to the error.
    pub elapsed: Duration,
    /// The capacity that the call has consumed, or `None` if the call was not
    /// [metered](crate::Repository::metered). A combined call that ends at its own deadline has no
    /// cost, because its requests belong to a batch of several calls.
    pub cost: Option<Arc<Cost>>,
}

impl Spent {
    pub(crate) fn new(attempts: u32, elapsed: Duration) -> Self {
        Self { attempts, elapsed, cost: None }
    }

    /// Adds the cost of the call, or `None` if the library has not counted its cost.
    pub(crate) fn with_cost(self, cost: Option<Cost>) -> Self {
        Self { cost: cost.map(Arc::new), ..self }
    }
}

impl fmt::Display for Spent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { attempts, elapsed, cost } = self;
        let requests = if *attempts == 1 { "request" } else { "requests" };
        write!(f, "{attempts} {requests} in {elapsed:.1?}")?;
        match cost {
            Some(cost) => write!(f, ", {cost}"),
            None => Ok(()),
        }
    }
}
