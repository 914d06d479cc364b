//! A payout that must not be made twice, even if its workers die or are paused at any moment.
//!
//! ```text
//! cargo run --example payout
//! ```
//!
//! A payout is an item. The worker that holds the lease of the item sends the money to the bank.
//! The bank is a system outside of DynamoDB, so DynamoDB cannot protect it. The bank remembers the
//! highest fence that it has seen, and refuses each request with a lower fence. A worker is paused
//! in the middle of its work for longer than its lease lasts. Another worker takes the payout over
//! and pays. When the first worker continues, the bank refuses its request, and DynamoDB refuses
//! its write.

#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use std::{
    collections::HashMap,
    error::Error as StdError,
    process::ExitCode,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use dynalock::{Error, Expiry, LeaseGuard, Repository, Versioned, Wait};
use serde::{Deserialize, Serialize};

/// The time after which a lease ends without a heartbeat. A short ttl lets the example end soon.
const TTL: Duration = Duration::from_secs(1);

/// The maximum difference between the clocks of the workers' machines.
const MAX_SKEW: Duration = Duration::from_millis(200);

#[derive(Debug, Serialize, Deserialize, Versioned)]
#[dynalock(table = "dynalock-payouts")]
#[lockable]
struct Payout {
    #[dynalock(partition_key)]
    id: String,
    cents: u64,
    receipt: Option<String>,
}

/// The bank, which is a system outside DynamoDB. The bank cannot see the lease, but can compare
/// fences.
#[derive(Debug, Default)]
struct Bank {
    transfers: Mutex<Vec<String>>,
    fences: Mutex<HashMap<String, u64>>,
}

#[derive(Debug, thiserror::Error)]
#[error("the bank refuses fence {given}: it has seen {seen}")]
struct TooOld {
    given: u64,
    seen: u64,
}

impl Bank {
    /// Records the fence of the worker of a payout, and refuses the fence of an earlier worker.
    /// Each worker calls `enter` before any other method, because the bank can refuse earlier
    /// workers only if it knows the newest fence.
    fn enter(&self, payout: &str, fence: u64) -> Result<(), TooOld> {
        let mut fences = self.fences.lock().unwrap_or_else(PoisonError::into_inner);
        let seen = fences.entry(payout.to_owned()).or_default();
        if fence < *seen {
            return Err(TooOld { given: fence, seen: *seen });
        }
        *seen = fence;
        Ok(())
    }

    fn transfer(&self, payout: &str, cents: u64, fence: u64) -> Result<String, TooOld> {
        self.enter(payout, fence)?;
        let mut transfers = self.transfers.lock().unwrap_or_else(PoisonError::into_inner);
        transfers.push(format!("{cents} cents for {payout}"));
        Ok(format!("receipt {}", transfers.len()))
    }
}

/// Pays the payout, unless it has already been paid.
async fn pay(mut payout: LeaseGuard<Payout>, bank: &Bank, stand_still: Duration) -> Result<(), Box<dyn StdError>> {
    let (id, cents, fence) = (payout.id.clone(), payout.cents, payout.fence());
    if payout.receipt.is_some() {
        payout.release().await?;
        return Ok(());
    }
    bank.enter(&id, fence)?;
    stop_the_world(stand_still).await;
    let receipt = bank.transfer(&id, cents, fence)?;
    payout.update(|payout| payout.receipt = Some(receipt.clone())).await?;
    payout.release().await?;
    Ok(())
}

/// Blocks the thread, like a machine that swaps or is moved to another host. A blocked thread sends
/// no heartbeat.
#[expect(clippy::disallowed_methods, reason = "the world of this example is stopped by the clock")]
async fn stop_the_world(duration: Duration) {
    tokio::time::sleep(duration).await;
}

async fn run() -> Result<(), Box<dyn StdError>> {
    let client = dynalock::local::client().await?;
    let payouts: Repository<Payout> = Payout::repository(&client).expiry(Expiry::Clock { max_skew: MAX_SKEW });
    payouts.create_table().await?;
    payouts.create(Payout { id: "rent".to_owned(), cents: 80_000, receipt: None }).await?;
    let bank = Bank::default();

    let first = payouts.lock("rent").ttl(TTL).owner("worker 1").heartbeat(false).await?;
    println!("worker 1 holds the payout under fence {}", first.fence());
    match payouts.lock("rent").owner("worker 2").wait(Wait::No).await {
        Err(Error::Locked(held)) => println!("worker 2 has to wait: {held}"),
        other => return Err(format!("worker 1 holds it: {other:?}").into()),
    }

    let slow = pay(first, &bank, 3 * TTL);
    let takeover = async {
        let second = payouts.lock("rent").ttl(TTL).owner("worker 2").await?;
        match second.acquired_after_crash() {
            Some(fence) => println!("worker 2 takes over from fence {fence}, under fence {}", second.fence()),
            None => return Err("worker 1 has released it".into()),
        }
        pay(second, &bank, Duration::ZERO).await
    };
    let (slow, takeover) = tokio::join!(slow, takeover);
    takeover?;
    match slow {
        Err(refused) => println!("worker 1 wakes up: {refused}"),
        Ok(()) => return Err("worker 1 has paid, too".into()),
    }

    let payout = payouts.get("rent").await?.ok_or("the payout is gone")?;
    let transfers = bank.transfers.into_inner().unwrap_or_else(PoisonError::into_inner);
    println!("the bank has transferred {transfers:?}, and the payout has {:?}", payout.receipt);
    match transfers.len() {
        1 => Ok(()),
        times => Err(format!("it was paid {times} times").into()),
    }
}

#[tokio::main]
async fn main() -> ExitCode {
    match run().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("payout: {error}");
            ExitCode::FAILURE
        }
    }
}
