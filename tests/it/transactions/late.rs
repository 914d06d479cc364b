//! Transactions with a lost reply whose retry DynamoDB refuses while a copy of the request can
//! still arrive. The outcome is certain only if the delayed duplicate can never be applied.

use dynalock::{Error, Stored, Transaction, local::Fault};

use crate::support::{Account, Shop, Table, cancelled, changed, expect_error, item, n, s, secs, travel};

/// Sets whether a transaction also has a condition of the user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Condition {
    None,
    /// The condition that `alice` has taken part in a transfer.
    OfTheUser,
}

async fn read(table: &Table<Account>) -> Stored<Account> {
    table.others.get("alice").await.unwrap().unwrap()
}

/// An update of `alice` and a create. The first copy arrives half a minute later.
async fn commit(
    shop: &Shop,
    table: &Table<Account>,
    alice: Stored<Account>,
    condition: Condition,
) -> dynalock::Result<()> {
    let mut tx = Transaction::new(&shop.client);
    tx.update(&table.items, changed(alice, |it| it.cents += 1));
    tx.create(&table.items, Account::new("late", 5));
    if condition == Condition::OfTheUser {
        tx.when(&table.items, "alice", Account::ATTR.transfers.eq(1));
    }
    shop.faults.script_on("TransactWriteItems", 0, Fault::DeliverLate(secs(30)));
    tx.commit().await.map(drop)
}

async fn has_arrived(table: &Table<Account>) -> bool {
    travel(secs(60)).await;
    table.raw.get("late").await.is_some()
}

#[tokio::test(start_paused = true)]
async fn a_false_condition_on_an_item_that_is_updated_too_may_become_true() {
    let (shop, table) = Shop::with_items([Account::new("alice", 5)]).await;
    let result = commit(&shop, &table, read(&table).await, Condition::OfTheUser).await;
    expect_error!(result, Error::Indeterminate { .. });
    table.raw.set("alice", "transfers", n(1)).await;
    assert!(has_arrived(&table).await, "the test can fail");
}

#[tokio::test(start_paused = true)]
async fn the_content_of_an_item_without_a_version_or_without_ids_may_come_back() {
    for version in [None, Some(("_version".to_owned(), n(3)))] {
        let (shop, table) = Shop::with_table::<Account>().await;
        let put = async |cents: i64| {
            let mut alice = item([("owner", s("alice")), ("cents", n(cents)), ("transfers", n(0))]);
            alice.extend(version.clone());
            table.raw.put(alice).await;
        };
        put(5).await;
        let alice = read(&table).await;
        put(7).await;
        expect_error!(commit(&shop, &table, alice, Condition::None).await, Error::Indeterminate { .. });
        put(5).await;
        assert!(has_arrived(&table).await, "the test can fail");
    }
}

#[tokio::test(start_paused = true)]
async fn ids_that_another_program_took_out_may_be_put_back() {
    let (shop, table) = Shop::with_items([Account::new("alice", 5)]).await;
    let (alice, whole) = (read(&table).await, table.raw.get("alice").await.unwrap());
    table.raw.remove("alice", "_writes").await;
    expect_error!(commit(&shop, &table, alice, Condition::None).await, Error::Indeterminate { .. });
    table.raw.put(whole).await;
    assert!(has_arrived(&table).await, "the test can fail");
}

#[tokio::test(start_paused = true)]
async fn a_version_that_another_program_put_back_may_fit_again() {
    let (shop, table) = Shop::with_items([Account::new("alice", 5)]).await;
    let alice = read(&table).await;
    table.others.update_with("alice", |alice| alice.transfers = 0).await.unwrap();
    table.others.touch(read(&table).await).await.unwrap();
    table.raw.set("alice", "_version", n(0)).await;
    expect_error!(commit(&shop, &table, alice, Condition::None).await, Error::Indeterminate { .. });
    table.raw.set("alice", "_version", n(1)).await;
    assert!(has_arrived(&table).await, "the test can fail");
}

#[tokio::test(start_paused = true)]
async fn a_version_that_another_program_counted_is_over() {
    let (shop, table) = Shop::with_items([Account::new("alice", 5)]).await;
    let alice = read(&table).await;
    table.raw.set("alice", "_version", n(2)).await;
    cancelled(commit(&shop, &table, alice, Condition::None).await);
    assert!(!has_arrived(&table).await);
}

#[tokio::test(start_paused = true)]
async fn a_life_that_is_over_never_comes_back() {
    for created_again in [false, true] {
        let (shop, table) = Shop::with_items([Account::new("alice", 5)]).await;
        let alice = read(&table).await;
        table.others.delete_unchecked("alice").await.unwrap();
        if created_again {
            table.others.create(Account::new("alice", 5)).await.unwrap();
        }
        cancelled(commit(&shop, &table, alice, Condition::None).await);
        assert!(!has_arrived(&table).await, "{created_again}");
    }
}
