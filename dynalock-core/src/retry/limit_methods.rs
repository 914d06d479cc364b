/// Implements the methods that set the [`Limits`](crate::retry::Limits) of a call, for one builder.
/// The arguments of `limit_methods!` are the variable `self`, the `Limits` of the builder, an
/// example for `setter!`, and the names of the methods.
macro_rules! limit_methods {
    ($this:ident, $limits:tt, $example:tt, $($(#[$more:meta])* $method:ident;)+) => {
        $($crate::retry::limit_methods!(@$method $this $limits $example $(#[$more])*);)+
    };
    (@deadline $this:ident $limits:tt $example:tt $(#[$more:meta])*) => {
        setter! { $this, $limits, $example,
            /// Sets the deadline, which limits the total time of requests, retries and pauses.
            $(#[$more])*
            ".deadline(std::time::Duration::from_secs(8))"
            fn deadline(deadline: ::std::time::Duration) { deadline = deadline }
        }
    };
    (@attempts $this:ident $limits:tt $example:tt $(#[$more:meta])*) => {
        setter! { $this, $limits, $example,
            /// Limits the number of requests that a call sends. Successful reads do not count as
            /// attempts. If the caller does not set `attempts`, the library repeats failed requests
            /// until the deadline. With `attempts(0)`, a call fails with
            /// [`Error::InvalidSetting`](crate::Error::InvalidSetting).
            $(#[$more])*
            ".attempts(10)" fn attempts(attempts: u32) { attempts = Some(attempts) }
        }
    };
    (@budget $this:ident $limits:tt $example:tt $(#[$more:meta])*) => {
        setter! { $this, $limits, $example,
            /// Limits the capacity units that a call may consume: read units and write units
            /// together. Before each request, the library estimates the units of the request, as
            /// the [module `cost`](crate::cost) describes. If a request would exceed the budget,
            /// the library does not send the request, and the call fails with
            /// [`Error::BudgetExceeded`](crate::Error::BudgetExceeded). For a call with a budget,
            /// the library counts the consumed units even if the program has not called
            /// [`metered`](crate::Repository::metered). Without a budget, a call may consume any
            /// number of capacity units.
            $(#[$more])*
            ".budget(100)" fn budget(units: u64) { budget = Some(units) }
        }
    };
    (@attempt_timeout $this:ident $limits:tt $example:tt $(#[$more:meta])*) => {
        setter! { $this, $limits, $example,
            /// Sets the timeout of the first attempt of a request. Each attempt without an answer
            /// doubles the timeout of the next attempt, up to eight times the first timeout. For a
            /// request with several items, each further item adds 20 milliseconds to the timeout.
            /// With a timeout of zero, a call fails with
            /// [`Error::InvalidSetting`](crate::Error::InvalidSetting).
            $(#[$more])*
            ".attempt_timeout(std::time::Duration::from_millis(1500))"
            fn attempt_timeout(timeout: ::std::time::Duration) { attempt_timeout = timeout }
        }
    };
    (@pace $this:ident $limits:tt $example:tt $(#[$more:meta])*) => {
        setter! { $this, $limits, $example,
            /// Sets the pace: how long a call sleeps after a conflict before the next attempt.
            $(#[$more])*
            ".pace(dynalock::Pace::Latency)" fn pace(pace: $crate::retry::Pace) { pace = Some(pace) }
        }
    };
}

pub(crate) use limit_methods;
