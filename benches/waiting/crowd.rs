//! Clients that acquire, hold and release one lock in turn.

use std::{
    error::Error,
    fmt,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use aws_sdk_dynamodb::Client;
use dynalock::{
    LockGuard, Locks, Wait,
    local::{Database, Faults},
};
use tokio::{task::JoinSet, time::Instant};

use crate::{
    network::Network,
    simulated::{Layer as _, now, sleep},
};

const TTL: Duration = Duration::from_secs(20);
/// The number of grants in the figures of a crowd.
const GRANTS: usize = 3_200;

/// The order in which waiting clients get the lock.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Order {
    Any,
    Fair,
}

impl fmt::Display for Order {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Any => "plain",
            Self::Fair => "fair",
        })
    }
}

impl Order {
    async fn acquire(self, locks: &Locks) -> dynalock::Result<LockGuard> {
        match self {
            Self::Any => locks.acquire("printer").await,
            Self::Fair => locks.acquire("printer").fair().await,
        }
    }
}

/// Clients in several processes. All clients come at about the same time. Each client acquires the
/// lock, holds it and releases it once.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Crowd {
    pub(crate) order: Order,
    pub(crate) processes: usize,
    /// The number of clients in each process.
    pub(crate) clients: usize,
    pub(crate) hold: Duration,
}

impl fmt::Display for Crowd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { order, processes, clients, hold } = self;
        write!(f, "{order} | {processes} | {clients} | {hold:?}")
    }
}

pub(crate) struct Figures {
    /// The median of the hand-overs.
    pub(crate) p50: Duration,
    pub(crate) p99: Duration,
    /// The wall time divided by the sum of all holds.
    pub(crate) wall: f64,
    /// The write units of a grant.
    pub(crate) writes: f64,
    /// The read units of a grant.
    pub(crate) reads: f64,
    pub(crate) parts: Parts,
}

/// The mean parts of a hand-over, in milliseconds. Each part begins where the part before it ends.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Parts {
    /// From the call of `release` until its request reaches DynamoDB.
    pub(crate) release: f64,
    /// Until the next holder's read of the free lock reaches DynamoDB. Zero if the next holder learns
    /// of the release without a read.
    pub(crate) until_read: f64,
    /// Until the request that acquires the lock reaches DynamoDB. Zero in a queue.
    pub(crate) until_acquire: f64,
    /// Until the next holder has the answer.
    pub(crate) answer: f64,
}

/// The moments of all grants.
type Log = Arc<Mutex<Vec<Held>>>;

#[derive(Clone, Copy)]
struct Held {
    process: usize,
    granted: Instant,
    /// The call of `release`.
    released: Instant,
}

impl Parts {
    fn mean(all: &[Self]) -> Self {
        #[expect(clippy::cast_precision_loss, reason = "a few thousand")]
        let mean = |part: fn(&Self) -> f64| all.iter().map(part).sum::<f64>() / all.len() as f64;
        Self {
            release: mean(|parts| parts.release),
            until_read: mean(|parts| parts.until_read),
            until_acquire: mean(|parts| parts.until_acquire),
            answer: mean(|parts| parts.answer),
        }
    }
}

impl Crowd {
    /// Returns the figures of several runs.
    pub(crate) async fn measure(self) -> Result<Figures, Box<dyn Error>> {
        let (mut hand_overs, mut wall, mut writes, mut reads) = (Vec::new(), Duration::ZERO, 0.0, 0.0);
        let mut parts = Vec::new();
        let runs = GRANTS / (self.processes * self.clients);
        for run in 0..runs {
            let (held, faults, networks) = self.run(run as u64).await?;
            let requests: Vec<_> = networks.iter().map(|network| [network.reads(), network.writes()]).collect();
            parts.extend(held.windows(2).map(|pair| self.parts(pair[0], pair[1], &requests)));
            hand_overs.extend(held.windows(2).map(|pair| pair[1].granted.duration_since(pair[0].released)));
            wall += held[held.len() - 1].released.duration_since(held[0].granted);
            for process in faults {
                writes += f64::from(u32::try_from(process.count("UpdateItem"))?);
                reads += read_units(&process);
            }
        }
        hand_overs.sort();
        let grants = f64::from(u32::try_from(hand_overs.len() + runs)?);
        Ok(Figures {
            p50: hand_overs[hand_overs.len() / 2],
            p99: hand_overs[hand_overs.len() * 99 / 100],
            wall: wall.as_secs_f64() / (grants * self.hold.as_secs_f64()),
            writes: writes / grants,
            reads: reads / grants,
            parts: Parts::mean(&parts),
        })
    }

    /// Returns the parts of a hand-over. `requests` has the reads and the writes of each process.
    fn parts(self, last: Held, next: Held, requests: &[[Vec<Instant>; 2]]) -> Parts {
        let [_, writes] = &requests[last.process];
        let released = writes.iter().copied().find(|write| *write >= last.released).unwrap_or(last.released);
        let [reads, writes] = &requests[next.process];
        let newest = |all: &[Instant]| all.iter().copied().rfind(|at| (released..=next.granted).contains(at));
        let acquired = match self.order {
            Order::Any => newest(writes),
            Order::Fair => None,
        };
        let read = newest(reads).filter(|read| acquired.is_none_or(|acquired| *read <= acquired)).unwrap_or(released);
        let acquired = acquired.unwrap_or(read);
        let millis = |from: Instant, to: Instant| to.saturating_duration_since(from).as_secs_f64() * 1_000.0;
        Parts {
            release: millis(last.released, released),
            until_read: millis(released, read),
            until_acquire: millis(read, acquired),
            answer: millis(acquired, next.granted),
        }
    }

    async fn run(self, seed: u64) -> Result<(Vec<Held>, Vec<Faults>, Vec<Network>), Box<dyn Error>> {
        let database = Database::in_memory()?;
        Locks::new(&database.client(), "locks").create_table().await?;
        let log = Log::default();
        let mut clients = JoinSet::new();
        let (mut all, mut networks) = (Vec::new(), Vec::new());
        for process in 0..self.processes {
            let network = Network::new(seed * 1_000 + process as u64);
            let (faults, locks) = self::process(&database, &network);
            all.push(faults);
            networks.push(network);
            for client in 0..self.clients {
                let arrival = Duration::from_millis((process + self.processes * client) as u64);
                clients.spawn(self.client(process, locks.clone(), arrival, Arc::clone(&log)));
            }
        }
        while let Some(client) = clients.join_next().await {
            client??;
        }
        let mut held = log.lock().unwrap_or_else(PoisonError::into_inner).clone();
        held.sort_by_key(|held| held.granted);
        Ok((held, all, networks))
    }

    async fn client(self, process: usize, locks: Locks, arrival: Duration, log: Log) -> dynalock::Result<()> {
        sleep(arrival).await;
        let lock = self.order.acquire(&locks).await?;
        let granted = now();
        sleep(self.hold).await;
        let held = Held { process, granted, released: now() };
        log.lock().unwrap_or_else(PoisonError::into_inner).push(held);
        lock.release().await
    }
}

/// Returns the number of reads of the next waiter, and of each other waiter, while another process
/// holds the lock for this time.
pub(crate) async fn reads(order: Order, hold: Duration) -> Result<(f64, f64), Box<dyn Error>> {
    const WAITERS: u64 = 7;
    const RUNS: u64 = 5;
    let (mut next, mut others) = (0, 0);
    for run in 0..RUNS {
        let database = Database::in_memory()?;
        Locks::new(&database.client(), "locks").create_table().await?;
        let holder = order.acquire(&process(&database, &Network::new(run)).1).await?;
        let mut waiting = JoinSet::new();
        let mut all = Vec::new();
        for waiter in 0..WAITERS {
            let (faults, locks) = process(&database, &Network::new(1_000 * run + waiter + 1));
            all.push(faults);
            waiting.spawn(async move { order.acquire(&locks).await });
            sleep(Duration::from_millis(20)).await;
        }
        sleep(hold).await;
        let counts: Vec<_> = all.iter().map(|faults| faults.count("GetItem")).collect();
        next += counts[0];
        others += counts[1..].iter().sum::<usize>();
        drop((waiting, holder));
    }
    let mean = |count: usize, waiters: u64| -> Result<f64, Box<dyn Error>> {
        Ok(f64::from(u32::try_from(count)?) / f64::from(u32::try_from(waiters * RUNS)?))
    };
    Ok((mean(next, 1)?, mean(others, WAITERS - 1)?))
}

/// Returns the locks of another process, and the log of its requests.
fn process(database: &Database, network: &Network) -> (Faults, Locks) {
    let faults = Faults::none();
    let http = faults.wrap(network.wrap(database.connector()));
    let client = Client::from_conf(database.client().config().to_builder().http_client(http).build());
    let locks = Locks::new(&client, "locks").ttl(TTL).wait(Wait::Forever);
    (faults, locks)
}

/// Returns the read units of a process. The row is smaller than 4 KB, so a consistent read costs
/// one unit.
fn read_units(faults: &Faults) -> f64 {
    let reads = faults.requests().into_iter().filter(|request| request.operation == "GetItem");
    reads.map(|read| if read.json()["ConsistentRead"] == true { 1.0 } else { 0.5 }).sum()
}
