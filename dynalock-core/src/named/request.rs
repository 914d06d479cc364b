use std::{fmt, future::IntoFuture, marker::PhantomData, pin::Pin, sync::Arc, time::Duration};

use tokio::sync::watch;

use super::{guard::LockGuard, guard_set::LockSetGuard, locks::Locks};
use crate::{
    error::{Error, InvalidTransaction, Result},
    lease::{
        acquire::{
            call::{AcquireCall, AcquireMode},
            spec::AcquireSpec,
        },
        held_grant::Background,
        options::{Expiry, Heartbeat, Wait},
        order::{AnyOrder, Fair},
        queue::{QueueStatus, QueueTicket, enter::QueueLimits},
    },
};

/// A request for a lock that has not been sent: set what it needs, then `.await` it. `O` is what it gives, `N` what it names, and `Q` the order in
/// which those who ask are served.
#[must_use = "a lock is not asked for until this is awaited"]
pub struct Acquire<O, N = Arc<str>, Q = AnyOrder> {
    locks: Locks,
    names: N,
    payload: Option<Arc<[u8]>>,
    order: Q,
    gives: PhantomData<fn() -> O>,
}

impl<O, N> Acquire<O, N> {
    pub(super) fn new(locks: &Locks, names: N) -> Self {
        Self { locks: locks.clone(), names, payload: None, order: AnyOrder, gives: PhantomData }
    }

    /// First come, first served: whoever asks stands in a queue, and is served in its order. Plain and fair requests for one lock exclude each
    /// other; a plain one is granted only when nobody waits in the queue.
    ///
    /// Each acquisition costs two write units while the row is below a kilobyte, with up to about 25 waiters. With a
    /// ttl of 2 seconds it costs 2.35. Each further kilobyte costs two more. The next waiter reads the row every
    /// quarter of a second, and waiters farther behind read it less often. The last caller that leaves needs one more
    /// cheap read. Then only the fence stays in the row, and the owner in `_released` if its request had to be sent
    /// again.
    ///
    /// A dead holder is removed from the queue when its lease has ended, and a dead waiter within a ttl of its turn. A
    /// client that loses its connection during a request gives up its place as soon as DynamoDB answers again. Until
    /// then, its further calls for this queue end with their deadline.
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// use std::time::Duration;
    ///
    /// use dynalock::{Error, Wait};
    ///
    /// # async fn print(locks: &dynalock::Locks) -> dynalock::Result<()> {
    /// match locks.acquire("printer").fair().wait(Wait::For(Duration::from_secs(60))).await {
    ///     Ok(printer) => printer.release().await,
    ///     Err(Error::Locked(locked)) => Ok(println!("`{}` still prints", locked.owner)),
    ///     Err(error) => Err(error),
    /// }
    /// # }
    /// ```
    pub fn fair(self) -> Acquire<O, N, Fair> {
        let Self { locks, names, payload, gives, .. } = self;
        Acquire { locks, names, payload, order: Fair::default(), gives }
    }
}

impl<O, N, Q> Acquire<O, N, Q> {
    /// How long the lock lasts without a heartbeat.
    pub fn ttl(mut self, ttl: Duration) -> Self {
        self.locks = self.locks.ttl(ttl);
        self
    }

    /// The name under which others see the holder.
    pub fn owner(mut self, name: impl Into<Arc<str>>) -> Self {
        self.locks = self.locks.owner(name);
        self
    }

    /// When a lock whose holder does not renew it may be taken over.
    pub fn expiry(mut self, expiry: Expiry) -> Self {
        self.locks = self.locks.expiry(expiry);
        self
    }

    /// The longest time for which it is renewed.
    pub fn max_hold(mut self, longest: Duration) -> Self {
        self.locks = self.locks.max_hold(longest);
        self
    }

    /// What renews it in the background; where nothing does, [`LockGuard::extend`] does.
    pub fn heartbeat(mut self, heartbeat: impl Into<Heartbeat>) -> Self {
        self.locks = self.locks.heartbeat(heartbeat);
        self
    }

    /// Something for whoever looks at the lock, or takes it over after a crash. It stays when the lock is released.
    pub fn payload(mut self, payload: impl Into<Vec<u8>>) -> Self {
        self.payload = Some(payload.into().into());
        self
    }

    fn spec(&self, name: &Arc<str>) -> Result<AcquireSpec> {
        self.locks.options.check()?;
        let label = self.locks.row_name(name)?;
        let row = self.locks.row_named(&label);
        let Locks { connection, options, wait, owner, limits, .. } = self.locks.clone();
        let (payload, background) = (self.payload.clone(), Background::start(options.heartbeat, &connection)?);
        Ok(AcquireSpec { connection, row, label, options, wait, name: owner, payload, limits, background })
    }
}

impl<Q> Acquire<LockGuard, Arc<str>, Q> {
    /// How long to wait while somebody else holds it: [`Locks::wait`].
    pub fn wait(mut self, wait: impl Into<Wait>) -> Self {
        self.locks = self.locks.wait(wait);
        self
    }
}

impl<Q> Acquire<LockSetGuard, Vec<Arc<str>>, Q> {
    /// How long to wait while somebody else holds one of them: [`Locks::wait`].
    pub fn wait(mut self, wait: impl Into<Wait>) -> Self {
        self.locks = self.locks.wait(wait);
        self
    }

    /// Each lock once, in the order of their names.
    fn spec_all(&mut self) -> Result<Vec<AcquireSpec>> {
        self.names.sort_unstable();
        self.names.dedup();
        match self.names.len() {
            0 => Err(Error::InvalidTransaction(InvalidTransaction::Empty)),
            items @ 101.. => Err(Error::InvalidTransaction(InvalidTransaction::TooManyItems { items })),
            _ => self.names.iter().map(|name| self.spec(name)).collect(),
        }
    }
}

impl<O, N> Acquire<O, N, Fair> {
    /// How many may stand in the queue, the holder counted: 100 by default, and at least 1. A caller who comes later gets [`Error::QueueFull`].
    pub fn max_queue(mut self, most: usize) -> Self {
        self.order = Fair { most };
        self
    }
}

impl<O> Acquire<O, Arc<str>> {
    fn acquire_plain(&self, wait: Wait) -> Result<impl Future<Output = Result<LockGuard>> + Send + 'static> {
        let spec = AcquireSpec { wait, ..self.spec(&self.names)? };
        Ok(acquire_one(spec, AcquireMode::Any))
    }
}

impl<O> Acquire<O, Arc<str>, Fair> {
    fn acquire_fair(
        &self,
        wait: Wait,
        progress: watch::Sender<Option<QueueStatus>>,
    ) -> Result<impl Future<Output = Result<LockGuard>> + Send + 'static> {
        let spec = AcquireSpec { wait, ..self.spec(&self.names)? };
        let limits = QueueLimits { most: self.order.most(wait)?, transaction: self.locks.limits_of_all };
        Ok(acquire_one(spec, AcquireMode::Queue(limits, progress)))
    }
}

/// Acquires one lock in a task, which starts now.
fn acquire_one(spec: AcquireSpec, mode: AcquireMode) -> impl Future<Output = Result<LockGuard>> + Send + 'static {
    let row_name = Arc::clone(&spec.label);
    AcquireCall { locks: vec![spec], mode }.acquire_one(|kept| Ok(LockGuard::new(row_name, kept)))
}

/// Acquires all locks in a task, which starts now.
fn acquire_all(
    locks: Vec<AcquireSpec>,
    mode: AcquireMode,
) -> impl Future<Output = Result<LockSetGuard>> + Send + 'static {
    let row_names: Vec<_> = locks.iter().map(|spec| Arc::clone(&spec.label)).collect();
    AcquireCall { locks, mode }.acquire(|all| {
        let guards = row_names.into_iter().zip(all).map(|(row_name, kept)| LockGuard::new(row_name, kept));
        Ok(LockSetGuard::new(guards.collect()))
    })
}

impl Acquire<LockGuard, Arc<str>, Fair> {
    /// Takes a place in the queue, and gives it at once: to see how the wait goes.
    ///
    /// # Errors
    ///
    /// As of awaiting the request, as far as they show before there is a place: [`Error::QueueFull`], [`Error::Locked`] while somebody holds
    /// the lock without the queue, [`Error::InvalidKey`], [`Error::TableNotFound`], [`Error::Rejected`], [`Error::Exhausted`].
    pub async fn enter(self) -> Result<QueueTicket<LockGuard>> {
        let (progress, mut seen) = watch::channel(None);
        let answer = self.acquire_fair(self.locks.wait, progress)?;
        // The first report, or the end of whoever reports.
        if seen.changed().await.is_ok() {
            return Ok(QueueTicket::new(answer, seen));
        }
        let held = answer.await?;
        Ok(QueueTicket::new(std::future::ready(Ok(held)), seen))
    }
}

impl IntoFuture for Acquire<LockGuard> {
    type Output = Result<LockGuard>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move { self.acquire_plain(self.locks.wait)?.await })
    }
}

impl IntoFuture for Acquire<LockGuard, Arc<str>, Fair> {
    type Output = Result<LockGuard>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move { self.acquire_fair(self.locks.wait, watch::Sender::new(None))?.await })
    }
}

impl IntoFuture for Acquire<LockSetGuard, Vec<Arc<str>>> {
    type Output = Result<LockSetGuard>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send>>;

    fn into_future(mut self) -> Self::IntoFuture {
        Box::pin(async move {
            let locks = self.spec_all()?;
            acquire_all(locks, AcquireMode::All(self.locks.limits_of_all)).await
        })
    }
}

impl IntoFuture for Acquire<LockSetGuard, Vec<Arc<str>>, Fair> {
    type Output = Result<LockSetGuard>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send>>;

    fn into_future(mut self) -> Self::IntoFuture {
        Box::pin(async move {
            let (locks, most) = (self.spec_all()?, self.order.most(self.locks.wait)?);
            let limits = QueueLimits { most, transaction: self.locks.limits_of_all };
            acquire_all(locks, AcquireMode::Queue(limits, watch::Sender::new(None))).await
        })
    }
}

impl IntoFuture for Acquire<Option<LockGuard>> {
    type Output = Result<Option<LockGuard>>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move { if_free(self.acquire_plain(Wait::No)?.await) })
    }
}

impl IntoFuture for Acquire<Option<LockGuard>, Arc<str>, Fair> {
    type Output = Result<Option<LockGuard>>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move { if_free(self.acquire_fair(Wait::No, watch::Sender::new(None))?.await) })
    }
}

fn if_free(acquired: Result<LockGuard>) -> Result<Option<LockGuard>> {
    match acquired {
        Ok(held) => Ok(Some(held)),
        Err(Error::Locked(_)) => Ok(None),
        Err(error) => Err(error),
    }
}

impl<O, N: fmt::Debug, Q: fmt::Debug> fmt::Debug for Acquire<O, N, Q> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { locks, names, order, .. } = self;
        let mut shown = f.debug_struct("Acquire");
        shown.field("names", names).field("locks", locks).field("order", order).finish_non_exhaustive()
    }
}
