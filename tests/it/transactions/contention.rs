//! Transactions that meet other transactions on the same items.

use aws_sdk_dynamodb::Client;
use dynalock::{
    Error, Transaction,
    local::{Database, Fault, Faults},
    transact,
};

use tokio::task::JoinSet;

use crate::support::{Account, Shop, Table, changed, expect_error, millis, repeats::Repeated, settle, travel};

const TRANSACT: &str = "TransactWriteItems";

fn contention() -> Fault {
    Fault::canceled(["TransactionConflict", "None"])
}

fn bodies(shop: &Shop) -> Vec<Vec<u8>> {
    let requests = shop.faults.requests();
    requests.iter().filter(|request| request.operation == TRANSACT).map(|request| request.body().to_vec()).collect()
}

/// Moves a cent from one account to the other.
async fn transfer(client: &Client, table: &Table<Account>, [from, to]: [&str; 2]) -> dynalock::Result<()> {
    transact(client, |tx| async move {
        let mut source = tx.get(&table.items, from).await?.expect("an account");
        let mut target = tx.get(&table.items, to).await?.expect("an account");
        source.cents -= 1;
        target.cents += 1;
        source.transfers += 1;
        target.transfers += 1;
        tx.update(&table.items, source);
        tx.update(&table.items, target);
        Ok(())
    })
    .await
}

async fn alice_and_bob() -> (Shop, Table<Account>) {
    Shop::with_items(["alice", "bob"].map(|owner| Account::new(owner, 5))).await
}

async fn cents(table: &Table<Account>) -> [i64; 2] {
    let mut cents = [0; 2];
    for (cents, owner) in cents.iter_mut().zip(["alice", "bob"]) {
        *cents = table.others.get(owner).await.unwrap().unwrap().cents;
    }
    cents
}

#[tokio::test(start_paused = true)]
async fn after_contention_the_closure_runs_again_on_items_read_anew() {
    let (shop, table) = alice_and_bob().await;
    shop.faults.script_on(TRANSACT, 0, contention());
    // The other transaction changes the item on which it was running.
    shop.rival.before_through(&table.others, TRANSACT, 0, async |others| {
        let pay = others.update_with("alice", |alice| alice.cents += 100).into_future();
        tokio::spawn(pay).await.unwrap().unwrap();
    });
    transfer(&shop.client, &table, ["alice", "bob"]).await.unwrap();
    let sent = bodies(&shop);
    assert_eq!((sent.len(), cents(&table).await), (2, [104, 6]));
    assert_ne!(sent[0], sent[1]);
}

#[tokio::test(start_paused = true)]
async fn a_request_in_doubt_meets_contention_and_keeps_its_token() {
    for lost in [Fault::LoseReply, Fault::LoseRequest, Fault::NeverAnswerAfterApply, Fault::TransactionInProgress] {
        let (shop, table) = alice_and_bob().await;
        shop.faults.script_on(TRANSACT, 0, lost.clone());
        shop.faults.script_on(TRANSACT, 1, contention());
        transfer(&shop.client, &table, ["alice", "bob"]).await.unwrap();
        let sent = bodies(&shop);
        assert_eq!((sent.len(), cents(&table).await), (3, [4, 6]), "{lost:?}");
        assert!(sent.iter().all(|body| *body == sent[0]), "{lost:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_delayed_duplicate_of_a_refused_run_and_the_next_run_are_not_both_applied() {
    let copy = Repeated::first(TRANSACT);
    let database = Database::in_memory().unwrap();
    let shop = Shop::below_on(&database, Faults::none(), &copy);
    let table = shop.table_of([Account::new("alice", 5), Account::new("bob", 5)]).await;
    database.transaction_time(millis(5));
    // Another transaction runs on `alice` when the first request arrives.
    let accounts = table.others.clone();
    shop.rival.before_through(&shop.plain, TRANSACT, 0, async move |client| {
        let mut tx = Transaction::new(&client);
        tx.check_exists(&accounts, "alice");
        tokio::spawn(tx.commit());
        travel(millis(1)).await;
    });
    shop.rival.before_through(&table.others, TRANSACT, 1, async move |_| {
        travel(millis(5)).await;
        copy.arrive().await;
    });
    let result = transfer(&shop.client, &table, ["alice", "bob"]).await;
    expect_error!(result, Error::Indeterminate { .. });
    assert_eq!(cents(&table).await, [4, 6]);
}

#[tokio::test(start_paused = true)]
async fn a_commit_meets_contention_and_sends_the_same_again() {
    let (shop, table) = alice_and_bob().await;
    for nth in 0..3 {
        shop.faults.script_on(TRANSACT, nth, contention());
    }
    let mut tx = Transaction::new(&shop.client);
    for owner in ["alice", "bob"] {
        let account = table.others.get(owner).await.unwrap().unwrap();
        tx.update(&table.items, changed(account, |account| account.cents += 1));
    }
    tx.commit().await.unwrap();
    let sent = bodies(&shop);
    assert_eq!((sent.len(), cents(&table).await), (4, [6, 6]));
    assert!(sent.iter().all(|body| *body == sent[0]));
}

#[tokio::test(start_paused = true)]
async fn contention_without_end_is_exhausted() {
    let (shop, table) = alice_and_bob().await;
    let table = &table;
    shop.faults.always(contention());
    let unit = transact(&shop.client, |tx| async move {
        tx.create(&table.items, Account::new("carol", 5));
        tx.check_exists(&table.items, "alice");
        Ok::<_, Error>(())
    });
    let result = unit.attempts(4).await;
    let (attempts, last) = expect_error!(result, Error::Exhausted { spent, last, .. } => (spent.attempts, last));
    assert_eq!((attempts, shop.counts([TRANSACT])), (4, [4]));
    assert!(matches!(*last, Error::Cancelled(_)), "{last:?}");
}

#[tokio::test(start_paused = true)]
async fn a_closure_that_changes_an_item_through_a_repository_conflicts_with_itself() {
    let (shop, table) = alice_and_bob().await;
    let table = &table;
    let unit = transact(&shop.client, |tx| async move {
        let alice = tx.get(&table.items, "alice").await?.expect("an account");
        let mut bob = tx.get(&table.items, "bob").await?.expect("an account");
        table.items.update_with("alice", |alice| alice.transfers += 1).await?;
        bob.cents += alice.cents;
        tx.update(&table.items, bob);
        Ok::<_, Error>(())
    });
    let last = expect_error!(unit.attempts(20).await, Error::Exhausted { last, .. } => last);
    assert!(matches!(*last, Error::Cancelled(_)), "{last:?}");
    assert_eq!(cents(table).await, [5, 5]);
}

/// Lets workers transfer money between a hot account and the others, while transactions take time.
/// Each transfer must be acknowledged within the default deadline.
async fn crowd(faults: Faults) {
    const WORKERS: u64 = 16;
    const TRANSFERS: u64 = 4;
    let owners: Vec<_> = (0..10).map(|number| number.to_string()).collect();
    let database = Database::in_memory().unwrap();
    let shop = Shop::on(&database, faults);
    let table = shop.table_of(owners.iter().map(|owner| Account::new(owner, 0))).await;
    database.transaction_time(millis(5));
    let mut workers = JoinSet::new();
    for seed in 0..WORKERS {
        let (client, table, owners) = (shop.client.clone(), table.clone(), owners.clone());
        workers.spawn(async move {
            let mut rng = fastrand::Rng::with_seed(seed);
            for _ in 0..TRANSFERS {
                let (hot, cold) = (rng.usize(..2), rng.usize(2..10));
                transfer(&client, &table, [&owners[hot], &owners[cold]]).await.unwrap();
            }
        });
    }
    workers.join_all().await;
    settle().await;
    let (mut cents, mut transfers) = (0, 0);
    for owner in &owners {
        let account = table.others.get(owner).await.unwrap().unwrap();
        assert_eq!(account.version(), 1 + account.transfers);
        cents += account.cents;
        transfers += account.transfers;
    }
    assert_eq!((cents, transfers), (0, 2 * WORKERS * TRANSFERS));
}

#[tokio::test(start_paused = true)]
async fn a_crowd_around_two_accounts_ends_with_exact_sums() {
    crowd(Faults::none()).await;
}

#[tokio::test(start_paused = true)]
async fn a_crowd_ends_with_exact_sums_while_replies_are_lost() {
    for (seed, lost) in (0..).zip([Fault::LoseReply, Fault::ErrorAfterApply, Fault::GarbageAfterApply]) {
        crowd(Faults::seeded(seed).rate(lost, 0.05).only([TRANSACT])).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_crowd_ends_with_exact_sums_while_applied_transactions_are_never_answered() {
    for seed in 0..3 {
        crowd(Faults::seeded(seed).rate(Fault::NeverAnswerAfterApply, 0.05).only([TRANSACT])).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_crowd_ends_with_exact_sums_while_transactions_arrive_twice() {
    for seed in 0..3 {
        crowd(Faults::seeded(seed).rate(Fault::DeliverTwice, 0.2).only([TRANSACT])).await;
    }
}
