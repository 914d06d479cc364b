//! The macro `guard_methods`, which implements the same methods for the guards of locks and of
//! leases.

/// Implements the methods that read, renew and watch the grant of a guard.
///
/// | part of a macro call | meaning |
/// |---|---|
/// | `self, [self.held.grant],` | the grant of the guard |
/// | `{ /// .. "locks.acquire(name)" /// .. },` | the example: the lines around its statements, and the request whose result is the guard |
/// | `/// ..` `fence;` | a method, and more sentences of its documentation. For `extend`, more errors |
macro_rules! guard_methods {
    ($this:ident, $grant:tt, $example:tt, $($(#[$more:meta])* $method:ident;)+) => {
        $($crate::lease::guard_methods!(@$method $this $grant $example $(#[$more])*);)+
    };
    (@fence $this:ident [$grant:expr]
     { $(#[$open:meta])* $request:literal $(#[$close:meta])* } $(#[$more:meta])*) => {
        /// Returns the fence: a number that grows with each grant, even after releases and crashes.
        /// If the holder sends requests to another system, pass the fence with each request. A
        /// system that receives the fence can refuse a request whose fence is lower than the
        /// highest fence that the system has received.
        $(#[$more])*
        ///
        /// # Examples
        ///
        $(#[$open])*
        #[doc = concat!("let held = ", $request, ".await?;")]
        /// println!("fence {}", held.fence());
        $(#[$close])*
        pub fn fence(&$this) -> u64 {
            $grant.fence
        }
    };
    (@owner $this:ident [$grant:expr]
     { $(#[$open:meta])* $request:literal $(#[$close:meta])* } $(#[$more:meta])*) => {
        /// Returns the label of the holder, or the random nonce of the grant if the holder has no
        /// label.
        $(#[$more])*
        ///
        /// # Examples
        ///
        $(#[$open])*
        #[doc = concat!("let held = ", $request, r#".owner("worker-7").await?;"#)]
        /// assert_eq!(held.owner(), "worker-7");
        $(#[$close])*
        pub fn owner(&$this) -> &str {
            $crate::lease::owner::Owner::parse(&$grant.owner).label
        }
    };
    (@nonce $this:ident [$grant:expr]
     { $(#[$open:meta])* $request:literal $(#[$close:meta])* } $(#[$more:meta])*) => {
        /// Returns the nonce of the grant: a random text that distinguishes the grant from all
        /// other grants.
        $(#[$more])*
        ///
        /// # Examples
        ///
        $(#[$open])*
        #[doc = concat!("let held = ", $request, ".await?;")]
        /// println!("grant {}", held.nonce());
        $(#[$close])*
        pub fn nonce(&$this) -> &str {
            $crate::lease::owner::Owner::parse(&$grant.owner).nonce
        }
    };
    (@acquired_after_crash $this:ident [$grant:expr]
     { $(#[$open:meta])* $request:literal $(#[$close:meta])* } $(#[$more:meta])*) => {
        /// Returns the fence of the previous holder if the call took over an expired lease, and
        /// `None` if the lease was free. A holder whose lease expired may have left its work
        /// unfinished.
        ///
        /// `Some(fence)` is only a hint that the previous holder crashed. If the reply to the
        /// acquire request was lost, a normal release by the previous holder can look like a crash.
        /// If another caller removed the expired lease of the previous holder,
        /// `acquired_after_crash` returns `None`. If your program must notice every crash, store in
        /// your data whether the work is finished.
        $(#[$more])*
        ///
        /// # Examples
        ///
        $(#[$open])*
        #[doc = concat!("let held = ", $request, ".await?;")]
        /// if let Some(fence) = held.acquired_after_crash() {
        ///     println!("the holder with fence {fence} did not finish");
        /// }
        $(#[$close])*
        pub fn acquired_after_crash(&$this) -> Option<u64> {
            $grant.taken_over
        }
    };
    (@remaining $this:ident [$grant:expr]
     { $(#[$open:meta])* $request:literal $(#[$close:meta])* } $(#[$more:meta])*) => {
        /// Returns the time after which another caller can acquire the lease if the holder does not
        /// renew the lease. The remaining time of a lost lease is zero.
        $(#[$more])*
        ///
        /// # Examples
        ///
        $(#[$open])*
        #[doc = concat!("let held = ", $request, ".await?;")]
        /// println!("{:?} left", held.remaining());
        $(#[$close])*
        pub fn remaining(&$this) -> ::std::time::Duration {
            $grant.remaining()
        }
    };
    (@extend $this:ident [$grant:expr]
     { $(#[$open:meta])* $request:literal $(#[$close:meta])* } $(#[$more:meta])*) => {
        /// Renews the lease by sending one heartbeat.
        ///
        /// # Examples
        ///
        $(#[$open])*
        #[doc = concat!("let held = ", $request, ".heartbeat(false).await?;")]
        /// held.extend().await?;
        $(#[$close])*
        ///
        /// # Errors
        ///
        /// - [`Error::Lost`](crate::Error::Lost): the lease is lost.
        /// - [`Error::Corrupt`](crate::Error::Corrupt): another program wrote a heartbeat number
        ///   (`_beat`) that no heartbeat can exceed.
        $(#[$more])*
        ///
        /// # Cancel safety
        ///
        /// The caller may drop the future of `extend` at any time. A heartbeat that `extend` sent
        /// before the drop of the future may still renew the lease.
        pub async fn extend(&$this) -> $crate::Result<()> {
            $crate::telemetry::observe("extend", ::std::sync::Arc::clone(&$grant.row.table), $grant.beat()).await
        }
    };
    (@lost $this:ident [$grant:expr]
     { $(#[$open:meta])* $request:literal $(#[$close:meta])* } $(#[$more:meta])*) => {
        /// Waits until the lease is lost, and returns the reason. The future of `lost` completes
        /// before another caller can acquire the lease.
        $(#[$more])*
        ///
        /// # Examples
        ///
        $(#[$open])*
        #[doc = concat!("let held = ", $request, ".await?;")]
        /// tokio::select! {
        ///     lost = held.lost() => println!("stop: {lost}"),
        ///     () = async { /* the work */ } => println!("done"),
        /// }
        $(#[$close])*
        ///
        /// # Cancel safety
        ///
        /// The caller may drop the future of `lost` at any time. The future of `lost` can outlive
        /// the guard, and does not renew the lease.
        pub fn lost(&$this) -> impl Future<Output = $crate::error::Lost> + Send + 'static {
            let grant = ::std::sync::Arc::clone(&$grant);
            async move { grant.lost().await }
        }
    };
    (@run $this:ident [$grant:expr]
     { $(#[$open:meta])* $request:literal $(#[$close:meta])* } $(#[$more:meta])*) => {
        /// Runs `work`. If the lease is lost, `run` drops `work` before another caller can acquire
        /// the lease. `run` checks the clock before each poll of `work`, but cannot interrupt a
        /// running poll.
        $(#[$more])*
        ///
        /// # Examples
        ///
        $(#[$open])*
        #[doc = concat!("let held = ", $request, ".await?;")]
        /// let pages = held.run(async { 7 }).await?;
        $(#[$close])*
        ///
        /// # Errors
        ///
        /// - [`Error::Lost`](crate::Error::Lost): the lease was lost, and `work` was dropped.
        ///
        /// # Cancel safety
        ///
        /// If the caller drops the future of `run`, `work` is dropped too, but the lease is not
        /// released.
        pub async fn run<O>(&$this, work: impl Future<Output = O> + Send) -> $crate::Result<O> {
            $crate::lease::held_grant::run($grant.lost(), work).await
        }
    };
}

pub(crate) use guard_methods;
