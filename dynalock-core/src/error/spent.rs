use std::{fmt, sync::Arc, time::Duration};

use crate::cost::Cost;

/// The effort of a failed call: the number of requests, the time from the start of the call to the
/// error, and the consumed capacity.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Spent {
    /// The number of requests that the call has sent, except the reads that DynamoDB has answered.
    pub attempts: u32,
    /// The time from the start of the call to the error.
    pub elapsed: Duration,
    /// The capacity that the call has consumed, or `None` if the call was not
    /// [metered](crate::Repository::metered). If a [`Combining`](crate::request::Combining) call
    /// ends at its own deadline, `cost` is `None`, because the call shares its requests with other
    /// calls.
    pub cost: Option<Arc<Cost>>,
    /// `true` if the call sent no further request because the retry budget was empty. The clones of
    /// a repository share one retry budget of 100 retries. Each success returns half a retry to the
    /// budget, and each second returns ten retries.
    pub out_of_retries: bool,
}

impl Spent {
    pub(crate) fn new(attempts: u32, elapsed: Duration) -> Self {
        Self { attempts, elapsed, cost: None, out_of_retries: false }
    }

    pub(crate) fn with_cost(self, cost: Option<Cost>) -> Self {
        Self { cost: cost.map(Arc::new), ..self }
    }
}

impl fmt::Display for Spent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { attempts, elapsed, cost, out_of_retries } = self;
        let requests = if *attempts == 1 { "request" } else { "requests" };
        write!(f, "{attempts} {requests} in {elapsed:.1?}")?;
        if let Some(cost) = cost {
            write!(f, ", {cost}")?;
        }
        if *out_of_retries { f.write_str(", with an empty retry budget") } else { Ok(()) }
    }
}
