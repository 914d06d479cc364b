//! Transactions that are refused, and that the network repeats after another writer has deleted the
//! item that caused the refusal.

use std::time::{SystemTime, UNIX_EPOCH};

use aws_sdk_dynamodb::Client;
use dynalock::{
    Error, Pace, Repository, Result, Transaction, Versioned,
    local::{Database, Faults},
    transact,
    transaction::Op,
};
use serde::{Deserialize, Serialize};

use crate::support::{
    Account, Refused, Shop, Table, changed, expect_error, item, millis, n, repeats::Repeated, s, travel,
};

const TRANSACT: &str = "TransactWriteItems";

/// Makes a table with the account `bank`. Another writer creates the account `alice` before the
/// first transaction, which is kept.
async fn refused_once() -> (Repeated, Shop, Table<Account>) {
    let copy = Repeated::first(TRANSACT);
    let shop = Shop::below(Faults::none(), &copy);
    let table = shop.table_of([Account::new("bank", 0)]).await;
    shop.rival.before_through(&table.others, TRANSACT, 0, async |others| {
        others.create(Account::new("alice", 100)).await.unwrap();
    });
    (copy, shop, table)
}

/// Deletes the account `alice`, and lets the copy of the refused transaction arrive.
async fn repeat(copy: Repeated, accounts: Repository<Account>) {
    accounts.delete_unchecked("alice").await.unwrap();
    copy.arrive().await;
}

/// Lets the copy arrive before the `nth` request of `operation`.
fn repeat_before(operation: &str, nth: usize, copy: &Repeated, shop: &Shop, table: &Table<Account>) {
    let copy = copy.clone();
    shop.rival.before_through(&table.others, operation, nth, |others| repeat(copy, others));
}

/// Adds a cent to the account `alice`, or creates the account.
async fn deposit(tx: &dynalock::Tx, accounts: &Repository<Account>) -> Result<()> {
    match tx.get(accounts, "alice").await? {
        Some(mut alice) => {
            alice.cents += 1;
            tx.update(accounts, alice);
        }
        None => tx.create(accounts, Account::new("alice", 1)),
    }
    Ok(())
}

/// Adds a cent to the accounts `alice` and `bank`.
async fn deposit_twice(client: &Client, accounts: &Repository<Account>) -> Result<()> {
    transact(client, |tx| async move {
        deposit(&tx, accounts).await?;
        tx.patch(accounts, "bank").add(Account::ATTR.cents, 1);
        Ok(())
    })
    .await
}

/// Returns the cents of the accounts `alice` and `bank`.
async fn cents(table: &Table<Account>) -> [Option<i64>; 2] {
    let of = async |owner| table.others.get(owner).await.unwrap().map(|account| account.cents);
    [of("alice").await, of("bank").await]
}

#[tokio::test(start_paused = true)]
async fn a_repeated_run_and_the_next_run_are_not_both_applied() {
    let (copy, shop, table) = refused_once().await;
    repeat_before(TRANSACT, 1, &copy, &shop, &table);
    let result = deposit_twice(&shop.client, &table.items).await;
    assert_eq!(cents(&table).await, [Some(1), Some(1)], "the copy of the refused run is applied: {result:?}");
    expect_error!(result, Error::Indeterminate { .. });
}

/// The call may not send another request after the refusal that shows the repeated run.
#[tokio::test(start_paused = true)]
async fn a_repeated_run_is_found_at_the_last_attempt() {
    let (copy, shop, table) = refused_once().await;
    repeat_before(TRANSACT, 1, &copy, &shop, &table);
    let accounts = &table.items;
    let deposit = transact(&shop.client, |tx| async move {
        deposit(&tx, accounts).await?;
        tx.patch(accounts, "bank").add(Account::ATTR.cents, 1);
        Ok::<_, Error>(())
    });
    expect_error!(deposit.attempts(2).await, Error::Indeterminate { .. });
    assert_eq!(cents(&table).await, [Some(1), Some(1)]);
}

/// A closure that does not read the patched item cannot find the repeated run by a read. DynamoDB
/// refuses the first request because another transaction is running.
#[tokio::test(start_paused = true)]
async fn a_patch_without_a_read_is_applied_once_if_its_refused_request_is_repeated() {
    for is_late in [false, true] {
        let copy = Repeated::first(TRANSACT);
        let database = Database::in_memory().unwrap();
        let shop = Shop::below_on(&database, Faults::none(), &copy);
        let table = shop.table_of([Account::new("alice", 100), Account::new("bank", 0)]).await;
        database.transaction_time(millis(5));
        let accounts = table.others.clone();
        shop.rival.before_through(&shop.plain, TRANSACT, 0, async move |client| {
            let mut tx = Transaction::new(&client);
            tx.check_exists(&accounts, "bank");
            tokio::spawn(tx.commit());
            travel(millis(1)).await;
        });
        let early = copy.clone();
        if !is_late {
            shop.rival.before_through(&table.others, TRANSACT, 1, async move |_| {
                travel(millis(5)).await;
                early.arrive().await;
                travel(millis(5)).await;
            });
        }
        let accounts = &table.items;
        let deposit = transact(&shop.client, |tx| async move {
            if let Some(alice) = tx.get(accounts, "alice").await? {
                // The update changes no attribute, so it is only a check.
                tx.update(accounts, alice);
            }
            tx.patch(accounts, "bank").add(Account::ATTR.cents, 1);
            Ok::<_, Error>(())
        });
        deposit.await.unwrap();
        if is_late {
            travel(millis(10)).await;
            copy.arrive().await;
        }
        assert_eq!(cents(&table).await, [Some(100), Some(1)], "{is_late}");
        assert_eq!(shop.counts([TRANSACT]), [2]);
    }
}

#[tokio::test(start_paused = true)]
async fn a_repeated_run_and_a_next_run_with_a_single_update_are_not_both_applied() {
    let (copy, shop, table) = refused_once().await;
    repeat_before("UpdateItem", 0, &copy, &shop, &table);
    repeat_before(TRANSACT, 1, &copy, &shop, &table);
    let accounts = &table.items;
    let result = transact(&shop.client, |tx| async move { deposit(&tx, accounts).await }).await;
    assert_eq!(cents(&table).await, [Some(1), Some(0)], "the copy of the refused run is applied: {result:?}");
    expect_error!(result, Error::Indeterminate { .. });
}

/// The next run finds the item of the repeated run, and takes it for an item of another writer.
#[tokio::test(start_paused = true)]
async fn a_run_that_reads_its_own_repeated_create_ends_the_unit_of_work() {
    for is_error in [false, true] {
        let (copy, shop, table) = refused_once().await;
        // This pace reads again after the conflict.
        repeat_before("GetItem", 1, &copy, &shop, &table);
        let accounts = &table.items;
        let open = transact(&shop.client, |tx| async move {
            match tx.get(accounts, "alice").await? {
                None => tx.create(accounts, Account::new("alice", 1)),
                Some(_) if is_error => return Err(Refused::Here("taken".to_owned())),
                Some(_) => {}
            }
            Ok(())
        });
        let result = open.pace(Pace::Economy).await;
        assert_eq!(cents(&table).await, [Some(1), Some(0)], "{result:?}");
        expect_error!(result, Refused::There(Error::Indeterminate { .. }));
    }
}

/// An item without a version may get back its content, so that the condition of a refused update is
/// true again.
#[tokio::test(start_paused = true)]
async fn a_repeated_update_of_an_item_without_a_version_ends_the_unit_of_work() {
    let copy = Repeated::first("UpdateItem");
    let shop = Shop::below(Faults::none(), &copy);
    let account = |cents: i64| item([("owner", s("alice")), ("cents", n(cents)), ("transfers", n(0))]);
    let table = shop.table_of_raw::<Account>([account(5)]).await;
    shop.rival.before_through(&table.raw, "UpdateItem", 0, async move |raw| raw.put(account(7)).await);
    shop.rival.before_through(&table.raw, "UpdateItem", 1, async move |raw| {
        raw.put(account(5)).await;
        copy.arrive().await;
    });
    let accounts = &table.items;
    let result = transact(&shop.client, |tx| async move { deposit(&tx, accounts).await }).await;
    assert_eq!(table.others.get("alice").await.unwrap().unwrap().cents, 6, "{result:?}");
    expect_error!(result, Error::Indeterminate { .. });
}

#[derive(Debug, Clone, Serialize, Deserialize, Versioned)]
#[dynalock(table = "coupons")]
struct Coupon {
    #[dynalock(partition_key)]
    code: String,
    uses: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[dynalock(expires)]
    until: Option<u64>,
}

impl Coupon {
    fn new(code: &str) -> Self {
        Self { code: code.to_owned(), uses: 0, until: None }
    }

    #[expect(clippy::disallowed_methods, reason = "a time to live is a time of day")]
    fn expired(code: &str) -> Self {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
        Self { until: Some(now.as_secs() - 100), ..Self::new(code) }
    }
}

/// A transaction that creates the coupon `a` over an expired coupon, and counts a use of `b`.
async fn create_over_expired() -> (Repeated, Shop, Table<Coupon>, Transaction, Op<Coupon>) {
    let copy = Repeated::first(TRANSACT);
    let shop = Shop::below(Faults::none(), &copy);
    let table = shop.table_of([Coupon::expired("a"), Coupon::new("b")]).await;
    let mut tx = Transaction::new(&shop.client);
    let created = tx.create(&table.items, Coupon::new("a"));
    tx.patch(&table.items, "b").add(Coupon::ATTR.uses, 1);
    (copy, shop, table, tx, created)
}

async fn is_created(table: &Table<Coupon>) -> (bool, i64) {
    let uses = table.others.get("b").await.unwrap().unwrap().uses;
    (table.others.get("a").await.unwrap().is_some(), uses)
}

#[tokio::test(start_paused = true)]
async fn a_transaction_whose_refused_request_is_repeated_is_not_called_cancelled() {
    let (copy, shop, table, tx, created) = create_over_expired().await;
    shop.rival.before_through(&table.others, TRANSACT, 1, async |others| {
        others.delete_unchecked("a").await.unwrap();
        copy.arrive().await;
    });
    let committed = tx.commit().await.unwrap();
    assert_eq!(is_created(&table).await, (true, 1), "the copy of the refused request is applied");
    let used = changed(committed.get(created).unwrap(), |coupon| coupon.uses += 1);
    assert_eq!(table.items.update(used).await.unwrap().version(), 2);
}
