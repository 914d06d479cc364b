//! Transfers between accounts. The sum never changes, and each transfer happens once.

use std::collections::BTreeMap;

use aws_sdk_dynamodb::Client;
use dynalock::{
    Error, Repository, Transaction,
    local::{Fault, Faults},
    transact,
};

use crate::support::{Account, FAULTS, Shop, Table, millis, secs, settle};

const OWNERS: [&str; 4] = ["alice", "bob", "carol", "dave"];
const OPENING: i64 = 10_000;

/// The expected change of an account by the acknowledged transfers.
type Books = BTreeMap<&'static str, (i64, u64)>;

async fn transfer(
    client: &Client,
    accounts: &Repository<Account>,
    [from, to]: [&str; 2],
    cents: i64,
) -> Result<(), Error> {
    let unit = transact(client, |tx| async move {
        let mut source = tx.get(accounts, from).await?.expect("an account");
        let mut target = tx.get(accounts, to).await?.expect("an account");
        source.cents -= cents;
        target.cents += cents;
        source.transfers += 1;
        target.transfers += 1;
        tx.update(accounts, source);
        tx.update(accounts, target);
        Ok(())
    });
    unit.deadline(secs(900)).await
}

/// Makes this number of transfers in one task. Each transfer must be acknowledged.
async fn task(client: Client, accounts: Repository<Account>, seed: u64, transfers: usize) -> Books {
    let mut rng = fastrand::Rng::with_seed(seed);
    let mut books = Books::new();
    for nth in 0..transfers {
        let from = rng.usize(..4);
        let to = (from + rng.usize(1..4)) % 4;
        let cents = rng.i64(1..=50);
        let result = transfer(&client, &accounts, [OWNERS[from], OWNERS[to]], cents).await;
        result.unwrap_or_else(|error| panic!("transfer {nth} of seed {seed}: {error:?}"));
        for (owner, cents) in [(OWNERS[from], -cents), (OWNERS[to], cents)] {
            let (balance, transfers) = books.entry(owner).or_default();
            *balance += cents;
            *transfers += 1;
        }
    }
    books
}

async fn accounts(shop: &Shop) -> Table<Account> {
    shop.table_of(OWNERS.map(|owner| Account::new(owner, OPENING))).await
}

/// Lets tasks transfer money, and compares the accounts with their results.
async fn exactly(shop: &Shop, table: &Table<Account>, tasks: u64, transfers: usize, what: &str) {
    let tasks: Vec<_> =
        (0..tasks).map(|seed| tokio::spawn(task(shop.client.clone(), table.items.clone(), seed, transfers))).collect();
    let mut books = Books::new();
    for task in tasks {
        for (owner, (cents, transfers)) in task.await.unwrap() {
            let all = books.entry(owner).or_default();
            *all = (all.0 + cents, all.1 + transfers);
        }
    }
    shop.faults.clear();
    let mut sum = 0;
    for owner in OWNERS {
        let account = table.others.get(owner).await.unwrap().unwrap();
        let (cents, transfers) = books[owner];
        assert_eq!((account.cents, account.transfers), (OPENING + cents, transfers), "{owner}, {what}");
        assert_eq!(account.version(), 1 + transfers, "{owner}, {what}");
        sum += account.cents;
    }
    assert_eq!(sum, 4 * OPENING, "{what}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sixteen_tasks_transfer_200_times_each_while_the_sum_is_watched() {
    let shop = Shop::without_faults();
    let table = accounts(&shop).await;
    let (client, items) = (shop.plain.clone(), table.others.clone());
    let watch = tokio::spawn(async move {
        let mut sums = Vec::new();
        for _ in 0..100 {
            let mut get = Transaction::get(&client);
            let handles = OWNERS.map(|owner| get.item(&items, owner));
            let seen = get.deadline(secs(60)).fetch().await.unwrap();
            sums.push(handles.map(|handle| seen.get(handle).unwrap().unwrap().cents).iter().sum::<i64>());
        }
        sums
    });
    exactly(&shop, &table, 16, 200, "without faults").await;
    let sums = watch.await.unwrap();
    assert!(sums.iter().all(|sum| *sum == 4 * OPENING), "{sums:?}");
}

/// Returns the faults of any request.
fn faults() -> Vec<Fault> {
    let more = [
        Fault::EmptyAfterApply,
        Fault::Error { code: "ServiceUnavailable".to_owned(), status: 503 },
        Fault::error("RequestLimitExceeded"),
        Fault::ProvisionedThroughputExceeded,
        Fault::TransactionInProgress,
        Fault::DeliverLate(millis(1)),
        Fault::DeliverLate(millis(50)),
    ];
    FAULTS.into_iter().chain(more).collect()
}

/// Returns the faults of transactions only.
fn faults_of_transactions() -> Vec<Fault> {
    let canceled = [
        Fault::canceled(["TransactionConflict", "None"]),
        Fault::canceled(["None", "ThrottlingError"]),
        Fault::canceled(["ProvisionedThroughputExceeded", "TransactionConflict"]),
    ];
    faults().into_iter().chain(canceled).collect()
}

/// Runs four tasks with faults and late requests.
async fn among(faults: Faults, transfers: usize, what: &str) {
    let shop = Shop::in_process(faults);
    let table = accounts(&shop).await;
    exactly(&shop, &table, 4, transfers, what).await;
    settle().await;
    let mut sum = 0;
    for owner in OWNERS {
        sum += table.others.get(owner).await.unwrap().unwrap().cents;
    }
    assert_eq!(sum, 4 * OPENING, "{what}");
}

#[tokio::test(start_paused = true)]
async fn transfers_happen_once_each_under_each_fault() {
    for (seed, fault) in (0..).zip(faults()) {
        let rates = Faults::seeded(seed).rate(fault.clone(), 0.15);
        among(rates, 10, &format!("{fault:?}")).await;
    }
    for (seed, fault) in (100..).zip(faults_of_transactions()) {
        let rates = Faults::seeded(seed).rate(fault.clone(), 0.3).only(["TransactWriteItems"]);
        among(rates, 10, &format!("{fault:?} of transactions")).await;
    }
}

#[tokio::test(start_paused = true)]
async fn transfers_happen_once_each_in_a_storm() {
    for seed in 0..8 {
        let rates = faults().into_iter().fold(Faults::seeded(seed), |rates, fault| rates.rate(fault, 0.02));
        among(rates, 20, &format!("seed {seed}")).await;
        let rates = Faults::seeded(seed).only(["TransactWriteItems"]);
        let rates = faults_of_transactions().into_iter().fold(rates, |rates, fault| rates.rate(fault, 0.02));
        among(rates, 20, &format!("seed {seed}, transactions alone")).await;
    }
}
