//! The workers, and the figures of their units of work.

use std::{fmt, sync::Arc, time::Duration};

use aws_sdk_dynamodb::{Client, config::retry::RetryConfig};
use dynalock::{Repository, local::Database};
use tokio::{task::JoinSet, time::Instant};

use crate::{
    accounts::{self, Account},
    by_hand,
    network::Network,
    simulated::{Layer as _, now},
};

/// The way in which a unit of work is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    ByHand,
    Library,
}

impl Way {
    pub(crate) const ALL: [Self; 2] = [Self::ByHand, Self::Library];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::ByHand => "textbook loop",
            Self::Library => "`transact`",
        }
    }
}

/// Workers without think time. Each unit of work moves money between two accounts.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Load {
    workers: u64,
    /// The number of processes. Each process has its own client.
    processes: u64,
    accounts: usize,
    /// The number of hot accounts. One of them takes part in each transfer.
    hot: usize,
    /// The time for which a transaction keeps its items busy.
    busy: Duration,
    /// The virtual time of the run.
    time: Duration,
}

/// The figures of a run.
#[derive(Debug)]
pub(crate) struct Figures {
    /// The cost units of all requests, divided by the number of applied units of work.
    pub(crate) cost: f64,
    /// The number of units of work that were applied in a second.
    pub(crate) rate: f64,
    pub(crate) p50: Duration,
    pub(crate) p99: Duration,
    pub(crate) longest: Duration,
    /// The share of units of work that gave up, in percent.
    pub(crate) gave_up: f64,
}

/// A unit of work that has ended.
#[derive(Debug, Clone, Copy)]
struct Ended {
    time: Duration,
    at: Instant,
    is_applied: bool,
}

/// One process, which has its own client.
#[derive(Clone)]
struct Process {
    client: Client,
    accounts: Repository<Account>,
}

impl Load {
    pub(crate) fn of_the_report() -> Self {
        Self {
            workers: 32,
            processes: 4,
            accounts: 20,
            hot: 2,
            busy: Duration::from_millis(5),
            time: Duration::from_mins(1),
        }
    }

    pub(crate) async fn run(self, way: Way) -> Figures {
        let database = Database::in_memory().expect("a database");
        let network = Network::seeded(7);
        let owners: Arc<[String]> = (0..self.accounts).map(|number| format!("account-{number:02}")).collect();
        let all = Account::repository(&database.client());
        all.create_table().await.expect("a table");
        for owner in owners.iter() {
            all.create(Account::new(owner.clone())).await.expect("an account");
        }
        database.transaction_time(self.busy);

        let processes: Vec<_> = (0..self.processes).map(|_| Process::new(&database, &network)).collect();
        let (start, mut workers) = (now(), JoinSet::new());
        for (seed, process) in (0..self.workers).zip(processes.iter().cycle()) {
            workers.spawn(self.work(way, process.clone(), Arc::clone(&owners), seed, start + self.time));
        }
        let ended = workers.join_all().await.concat();
        let figures = self.figures(&ended, network.cost(), start);
        assert_exact(&all, &owners, &ended).await;
        figures
    }

    async fn work(self, way: Way, process: Process, owners: Arc<[String]>, seed: u64, end: Instant) -> Vec<Ended> {
        let (mut rng, mut ended) = (fastrand::Rng::with_seed(seed), Vec::new());
        while now() < end {
            let pair = self.pair(&mut rng).map(|number| owners[number].as_str());
            let started = now();
            let is_applied = match way {
                Way::ByHand => by_hand::transfer(&process.client, pair, &mut rng).await.is_ok(),
                Way::Library => accounts::transfer(&process.client, &process.accounts, pair).await.is_ok(),
            };
            ended.push(Ended { time: now() - started, at: now(), is_applied });
        }
        ended
    }

    /// Returns the accounts of a transfer: a hot one and another one.
    fn pair(self, rng: &mut fastrand::Rng) -> [usize; 2] {
        let mut pair = [rng.usize(..self.hot), rng.usize(self.hot..self.accounts)];
        rng.shuffle(&mut pair);
        pair
    }

    fn figures(self, ended: &[Ended], cost: f64, start: Instant) -> Figures {
        let mut times: Vec<_> = ended.iter().map(|ended| ended.time).collect();
        times.sort_unstable();
        let percentile = |percent: usize| times[(times.len() * percent / 100).min(times.len() - 1)];
        let applied = ended.iter().filter(|ended| ended.is_applied);
        let in_time = applied.clone().filter(|ended| ended.at < start + self.time).count();
        Figures {
            cost: cost / float(applied.clone().count()),
            rate: float(in_time) / self.time.as_secs_f64(),
            p50: percentile(50),
            p99: percentile(99),
            longest: percentile(100),
            gave_up: 100.0 * float(ended.len() - applied.count()) / float(ended.len()),
        }
    }
}

impl Process {
    fn new(database: &Database, network: &Network) -> Self {
        let http = network.wrap(database.connector());
        let config = database.client().config().to_builder().http_client(http).retry_config(RetryConfig::disabled());
        let client = Client::from_conf(config.build());
        Self { accounts: Account::repository(&client), client }
    }
}

/// Panics if an update was lost, or was applied twice.
async fn assert_exact(all: &Repository<Account>, owners: &[String], ended: &[Ended]) {
    let accounts = all.get_many(owners).await.expect("an answer");
    let accounts: Vec<_> = accounts.into_iter().map(|account| account.expect("an account")).collect();
    let applied = ended.iter().filter(|ended| ended.is_applied).count();
    assert_eq!(accounts.iter().map(|account| account.cents).sum::<i64>(), 0);
    assert_eq!(accounts.iter().map(|account| account.transfers).sum::<u64>(), 2 * applied as u64);
}

#[expect(clippy::cast_precision_loss, reason = "counts of a benchmark")]
fn float(count: usize) -> f64 {
    count as f64
}

impl fmt::Display for Load {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { workers, processes, accounts, hot, busy, time } = self;
        write!(
            f,
            "{workers} workers in {processes} processes, without think time; {accounts} items of which {hot} are hot, \
             a hot one in each transfer; items busy for {busy:?}; {time:?} of virtual time."
        )
    }
}
