//! Transfers of money between accounts. Each transfer happens completely or not at all, even if
//! other transfers run at the same time.
//!
//! ```text
//! cargo run --example transfer
//! ```
//!
//! Many tasks transfer money at random. Each transfer is a unit of work that reads both accounts,
//! decides, and writes both. The sum of all accounts never changes. At the end, the closure of a
//! unit of work refuses a transfer, and DynamoDB refuses a transaction whose conditions are false.
//! The example prints the reason of each refusal.

#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use std::{error::Error as StdError, process::ExitCode};

use aws_sdk_dynamodb::Client;
use dynalock::{Error, Repository, Transaction, Versioned, transaction::Reason};
use serde::{Deserialize, Serialize};
use tokio::task::JoinSet;

const OWNERS: [&str; 4] = ["alice", "bob", "carol", "dave"];
const OPENING_CENTS: u64 = 10_000;
const TASKS: u64 = 16;
const TRANSFERS_PER_TASK: u64 = 25;

#[derive(Debug, Serialize, Deserialize, Versioned)]
#[dynalock(table = "dynalock-accounts")]
struct Account {
    #[dynalock(partition_key)]
    owner: String,
    cents: u64,
}

/// The reason why a transfer did not happen.
#[derive(Debug, thiserror::Error)]
enum Refused {
    #[error("{0} has no account")]
    NoAccount(String),
    #[error("{owner} has {cents} cents, which is not enough")]
    NotEnough { owner: String, cents: u64 },
    #[error(transparent)]
    Database(#[from] Error),
}

impl Account {
    fn withdraw(&mut self, cents: u64) -> Result<(), Refused> {
        let left = self.cents.checked_sub(cents);
        self.cents = left.ok_or_else(|| Refused::NotEnough { owner: self.owner.clone(), cents: self.cents })?;
        Ok(())
    }
}

/// Moves money from one account to another, unless the first account has too little.
async fn transfer(
    client: &Client,
    accounts: &Repository<Account>,
    from: &str,
    to: &str,
    cents: u64,
) -> Result<(), Refused> {
    dynalock::transact(client, |tx| async move {
        let mut source = tx.get(accounts, from).await?.ok_or_else(|| Refused::NoAccount(from.to_owned()))?;
        let mut target = tx.get(accounts, to).await?.ok_or_else(|| Refused::NoAccount(to.to_owned()))?;
        source.withdraw(cents)?;
        target.cents += cents;
        tx.update(accounts, source);
        tx.update(accounts, target);
        Ok(())
    })
    .await
}

/// Transfers money at random, and returns how many transfers were refused because an account had
/// too little.
async fn move_money(client: Client, accounts: Repository<Account>, seed: u64) -> Result<u64, Refused> {
    let mut rng = fastrand::Rng::with_seed(seed);
    let mut refused = 0;
    for _ in 0..TRANSFERS_PER_TASK {
        let from = rng.usize(..OWNERS.len());
        let to = (from + rng.usize(1..OWNERS.len())) % OWNERS.len();
        match transfer(&client, &accounts, OWNERS[from], OWNERS[to], rng.u64(1..=6_000)).await {
            Ok(()) => {}
            Err(Refused::NotEnough { .. }) => refused += 1,
            Err(error) => return Err(error),
        }
    }
    Ok(refused)
}

/// Commits a transaction whose conditions are false, and prints the reason of the refusal for each
/// operation.
async fn explain_a_refusal(client: &Client, accounts: &Repository<Account>) -> Result<(), Box<dyn StdError>> {
    let (Some(mut alice), Some(bob)) = (accounts.get("alice").await?, accounts.get("bob").await?) else {
        return Err("an account is gone".into());
    };
    // Another caller writes the first account before the commit.
    accounts.update_with("bob", |bob| bob.cents += 1).await?;

    let mut tx = Transaction::new(client);
    alice.cents += 10;
    let deposit = tx.update(accounts, alice);
    let unchanged = tx.check(accounts, &bob);
    let rich = tx.when(accounts, "carol", Account::ATTR.cents.ge(100_000_000));
    let refused = match tx.commit().await {
        Err(Error::Cancelled(refused)) => refused,
        Err(error) => return Err(error.into()),
        Ok(_) => return Err("a transaction with a false condition was committed".into()),
    };

    println!("\nA transaction that was refused as a whole, {:?}:", refused.class());
    if let Reason::None = refused.reason(deposit) {
        println!("  the deposit to alice was innocent");
    }
    if let Reason::Conflict(Some(now)) = refused.reason(unchanged) {
        println!("  bob was read at version {}, and is at version {} now", bob.version(), now.version());
    }
    if let Reason::Conflict(Some(now)) = refused.reason(rich) {
        println!("  carol does not have a million: she has {} cents", now.cents);
    }
    for reason in refused.reasons() {
        println!("  | {} of {}: {}", reason.index(), reason.table(), reason.code());
    }
    Ok(())
}

async fn total(client: &Client, accounts: &Repository<Account>) -> Result<u64, Box<dyn StdError>> {
    let mut all = Transaction::get(client);
    let handles = OWNERS.map(|owner| all.item(accounts, owner));
    let seen = all.fetch().await?;
    let mut total = 0;
    for (owner, handle) in OWNERS.into_iter().zip(handles) {
        let account = seen.get(handle)?.ok_or_else(|| Refused::NoAccount(owner.to_owned()))?;
        println!("  {owner:<6} {:>7} cents, version {}", account.cents, account.version());
        total += account.cents;
    }
    Ok(total)
}

async fn run() -> Result<(), Box<dyn StdError>> {
    let client = dynalock::local::client().await?;
    let accounts = Account::repository(&client);
    accounts.create_table().await?;
    for owner in OWNERS {
        accounts.create(Account { owner: owner.to_owned(), cents: OPENING_CENTS }).await?;
    }

    let mut tasks = JoinSet::new();
    for seed in 0..TASKS {
        tasks.spawn(move_money(client.clone(), accounts.clone(), seed));
    }
    let mut refused = 0;
    while let Some(task) = tasks.join_next().await {
        refused += task??;
    }
    println!("{} transfers by {TASKS} tasks, {refused} of them refused:", TASKS * TRANSFERS_PER_TASK);
    let total = total(&client, &accounts).await?;
    println!("  {total} cents in all, as before");
    if total != OPENING_CENTS * OWNERS.len() as u64 {
        return Err("money was made or lost".into());
    }

    match transfer(&client, &accounts, "alice", "bob", 100_000_000).await {
        Err(Refused::NotEnough { owner, cents }) => println!("\nA million from {owner}? Only {cents} cents are there."),
        other => return Err(format!("alice is no millionaire: {other:?}").into()),
    }
    explain_a_refusal(&client, &accounts).await
}

#[tokio::main]
async fn main() -> ExitCode {
    match run().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("transfer: {error}");
            ExitCode::FAILURE
        }
    }
}
