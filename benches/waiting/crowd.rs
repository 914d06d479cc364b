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
const GRANTS: usize = 800;

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
}

/// The moments of all grants.
type Log = Arc<Mutex<Vec<Held>>>;

#[derive(Clone, Copy)]
struct Held {
    granted: Instant,
    /// The call of `release`.
    released: Instant,
}

impl Crowd {
    /// Returns the figures of several runs.
    pub(crate) async fn measure(self) -> Result<Figures, Box<dyn Error>> {
        let (mut hand_overs, mut wall, mut writes, mut reads) = (Vec::new(), Duration::ZERO, 0.0, 0.0);
        let runs = GRANTS / (self.processes * self.clients);
        for run in 0..runs {
            let (held, faults) = self.run(run as u64).await?;
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
        })
    }

    async fn run(self, seed: u64) -> Result<(Vec<Held>, Vec<Faults>), Box<dyn Error>> {
        let database = Database::in_memory()?;
        Locks::new(&database.client(), "locks").create_table().await?;
        let log = Log::default();
        let mut clients = JoinSet::new();
        let mut all = Vec::new();
        for process in 0..self.processes {
            let (faults, locks) = self::process(&database, seed * 1_000 + process as u64);
            all.push(faults);
            for client in 0..self.clients {
                let arrival = Duration::from_millis((process + self.processes * client) as u64);
                clients.spawn(self.client(locks.clone(), arrival, Arc::clone(&log)));
            }
        }
        while let Some(client) = clients.join_next().await {
            client??;
        }
        let mut held = log.lock().unwrap_or_else(PoisonError::into_inner).clone();
        held.sort_by_key(|held| held.granted);
        Ok((held, all))
    }

    async fn client(self, locks: Locks, arrival: Duration, log: Log) -> dynalock::Result<()> {
        sleep(arrival).await;
        let lock = self.order.acquire(&locks).await?;
        let granted = now();
        sleep(self.hold).await;
        let held = Held { granted, released: now() };
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
        let holder = order.acquire(&process(&database, run).1).await?;
        let mut waiting = JoinSet::new();
        let mut all = Vec::new();
        for waiter in 0..WAITERS {
            let (faults, locks) = process(&database, 1_000 * run + waiter + 1);
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
fn process(database: &Database, seed: u64) -> (Faults, Locks) {
    let faults = Faults::none();
    let http = faults.wrap(Network::new(seed).wrap(database.connector()));
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
