/// Implements the settings of a lease for one builder. A call of `lease_methods!` has the arguments
/// of `limit_methods!`, and also names the struct with the fields `options` and `owner`.
macro_rules! lease_methods {
    ($this:ident, $lease:tt, $limits:tt, $example:tt, $($(#[$more:meta])* $method:ident;)+) => {
        $($crate::lease::lease_methods!(@$method $this $lease $limits $example $(#[$more])*);)+
    };
    (@ttl $this:ident [$lease:expr] $limits:tt $example:tt $(#[$more:meta])*) => {
        setter! { $this, [$lease.options], $example,
            /// Sets the ttl: the time for which a lease lasts without a heartbeat. The ttl must be
            /// between a millisecond and 366 days. The guard sends a heartbeat whenever a third of
            /// the ttl has passed. If the ttl is out of range, a call that acquires a lease fails
            /// with [`Error::InvalidSetting`](crate::Error::InvalidSetting).
            $(#[$more])*
            ".ttl(std::time::Duration::from_secs(30))"
            fn ttl(ttl: ::std::time::Duration) { ttl = ttl }
        }
    };
    (@expiry $this:ident [$lease:expr] $limits:tt $example:tt $(#[$more:meta])*) => {
        setter! { $this, [$lease.options], $example,
            /// Sets the rule that decides when a lease has expired. All callers that use the same
            /// table must set the same expiry rule.
            $(#[$more])*
            ".expiry(dynalock::Expiry::Observed)"
            fn expiry(expiry: $crate::lease::Expiry) { expiry = expiry }
        }
    };
    (@owner $this:ident $lease:tt $limits:tt $example:tt $(#[$more:meta])*) => {
        setter! { $this, $lease, $example,
            /// Sets the label of the holder, for example the name of a host or a worker. The error
            /// [`Error::Locked`](crate::Error::Locked) shows the label of the holder to other
            /// callers. Two callers may have the same label, because each grant also has a random
            /// nonce.
            $(#[$more])*
            r#".owner("worker-7")"#
            fn owner(label: impl Into<::std::sync::Arc<str>>) { owner = label.into() }
        }
    };
    (@max_hold $this:ident [$lease:expr] $limits:tt $example:tt $(#[$more:meta])*) => {
        setter! { $this, [$lease.options], $example,
            /// Limits the total time for which heartbeats renew a lease, counted from the grant.
            /// With `max_hold`, a holder that makes no progress cannot keep a lease for ever.
            $(#[$more])*
            ".max_hold(std::time::Duration::from_secs(3600))"
            fn max_hold(longest: ::std::time::Duration) { max_hold = Some(longest) }
        }
    };
    (@heartbeat $this:ident [$lease:expr] $limits:tt $example:tt $(#[$more:meta])*) => {
        setter! { $this, [$lease.options], $example,
            /// Selects whether a task, a thread or nothing sends the heartbeats.
            $(#[$more])*
            ".heartbeat(dynalock::Heartbeat::Thread)"
            fn heartbeat(heartbeat: impl Into<$crate::lease::Heartbeat>) { heartbeat = heartbeat.into() }
        }
    };
    (@refresh $this:ident [$lease:expr] $limits:tt $example:tt $(#[$more:meta])*) => {
        setter! { $this, [$lease.options], $example,
            /// Sets the shortest and the longest interval between two reads of a call that waits
            /// for a lease. If `min` is zero or above `max`, a call that acquires a lease fails
            /// with [`Error::InvalidSetting`](crate::Error::InvalidSetting).
            $(#[$more])*
            ".refresh(std::time::Duration::from_millis(100), std::time::Duration::from_secs(5))"
            fn refresh(min: ::std::time::Duration, max: ::std::time::Duration) {
                refresh = Some($crate::lease::options::Refresh { min, max })
            }
        }
    };
    (@deadline $this:ident $lease:tt $limits:tt $example:tt $(#[$more:meta])*) => {
        $crate::retry::limit_methods! { @deadline $this $limits $example
            /// The deadline applies separately to each request of a call, including the retries of
            /// the request. The wait for a lease that another caller holds may last longer than the
            /// deadline.
            $(#[$more])*
        }
    };
    (@attempts $this:ident $lease:tt $limits:tt $example:tt $(#[$more:meta])*) => {
        $crate::retry::limit_methods! { @attempts $this $limits $example
            /// The limit of attempts applies separately to each request of a call.
            $(#[$more])*
        }
    };
    (@budget $this:ident $lease:tt $limits:tt $example:tt $(#[$more:meta])*) => {
        $crate::retry::limit_methods! { @budget $this $limits $example
            $(#[$more])*
            ///
            /// The budget also limits the reads of a call that waits for a lease. The budget does
            /// not limit heartbeats and the release, because the holder must always be able to
            /// renew and to release a lease.
        }
    };
    (@attempt_timeout $this:ident $lease:tt $limits:tt $example:tt $(#[$more:meta])*) => {
        $crate::retry::limit_methods! { @attempt_timeout $this $limits $example
            /// `attempt_timeout` does not affect heartbeats, whose timeout depends only on the ttl.
            $(#[$more])*
        }
    };
}

pub(crate) use lease_methods;
