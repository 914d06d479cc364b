//! The items of the benchmark, and the unit of work that moves money between two of them.

use aws_sdk_dynamodb::Client;
use dynalock::{Error, Repository, Versioned};
use serde::{Deserialize, Serialize};

/// An account of about 400 bytes.
#[derive(Debug, Clone, Serialize, Deserialize, Versioned)]
#[dynalock(table = "accounts")]
pub(crate) struct Account {
    #[dynalock(partition_key)]
    pub(crate) owner: String,
    pub(crate) cents: i64,
    /// The number of transfers of this account.
    pub(crate) transfers: u64,
    pub(crate) address: String,
}

impl Account {
    pub(crate) fn new(owner: String) -> Self {
        Self { owner, cents: 0, transfers: 0, address: "x".repeat(200) }
    }
}

/// Moves a cent from one account to the other, by the library.
pub(crate) async fn transfer(
    client: &Client,
    accounts: &Repository<Account>,
    [from, to]: [&str; 2],
) -> Result<(), Error> {
    dynalock::transact(client, |tx| async move {
        let mut source = tx.get(accounts, from).await?.expect("an account");
        let mut target = tx.get(accounts, to).await?.expect("an account");
        source.cents -= 1;
        target.cents += 1;
        source.transfers += 1;
        target.transfers += 1;
        tx.update(accounts, source);
        tx.update(accounts, target);
        Ok(())
    })
    .await
}
