//! Units of work with a single write, with lost requests and replies.

use aws_sdk_dynamodb::Client;
use dynalock::{Error, Repository, local::Fault, transact};

use crate::support::{Account, Shop, commit, expect_error, millis, settle, travel};

/// The operations that a delete or a create may be sent as.
fn script(shop: &Shop, nth: usize, fault: &Fault) {
    for operation in ["DeleteItem", "PutItem", "TransactWriteItems"] {
        shop.faults.script_on(operation, nth, fault.clone());
    }
}

/// Deletes the account, and returns its money.
async fn take(client: &Client, accounts: &Repository<Account>) -> Result<Option<i64>, Error> {
    transact(client, |tx| async move {
        let Some(account) = tx.get(accounts, "a").await? else { return Ok::<_, Error>(None) };
        let cents = account.cents;
        tx.delete(accounts, account);
        Ok(Some(cents))
    })
    .await
}

/// Creates the account, if the read finds no account.
async fn give(client: Client, accounts: Repository<Account>, reads: bool) -> Result<(), Error> {
    let accounts = &accounts;
    transact(&client, |tx| async move {
        if !reads || tx.get(accounts, "a").await?.is_none() {
            tx.create(accounts, Account::new("a", 100));
        }
        Ok(())
    })
    .await
}

#[tokio::test(start_paused = true)]
async fn two_units_of_work_never_take_the_same_item() {
    for fault in [Fault::LoseRequest, Fault::LoseReply, Fault::DeliverLate(millis(700)), Fault::DeliverTwice] {
        let (shop, table) = Shop::with_items([Account::new("a", 100)]).await;
        script(&shop, 0, &fault);
        script(&shop, 1, &Fault::Delay(millis(500)));
        let (client, accounts) = (shop.client.clone(), table.items.clone());
        let first = tokio::spawn(async move { take(&client, &accounts).await });
        travel(millis(100)).await;
        let second = take(&shop.plain, &table.others).await.unwrap();
        let first = first.await.unwrap();
        let taken = [first.ok().flatten(), second].into_iter().flatten().count();
        assert_eq!(taken, 1, "{fault:?}");
        settle().await;
        assert_eq!(table.raw.get("a").await, None, "{fault:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_unit_of_work_that_creates_does_not_undo_a_delete() {
    let (shop, table) = Shop::with_table::<Account>().await;
    script(&shop, 0, &Fault::LoseReply);
    script(&shop, 1, &Fault::Delay(millis(500)));
    let create = tokio::spawn(give(shop.client.clone(), table.items.clone(), true));
    travel(millis(100)).await;
    let account = table.others.get("a").await.unwrap().unwrap();
    commit(&shop.plain, |tx| tx.delete(&table.others, account)).await.unwrap();
    create.await.unwrap().unwrap();
    assert_eq!(table.raw.get("a").await, None, "the unit of work had created it before, and somebody took it");
}

#[tokio::test(start_paused = true)]
async fn a_create_in_doubt_that_met_an_item_is_indeterminate_and_may_still_happen() {
    let (shop, table) = Shop::with_table::<Account>().await;
    script(&shop, 0, &Fault::DeliverLate(millis(700)));
    script(&shop, 1, &Fault::Delay(millis(100)));
    let create = tokio::spawn(give(shop.client.clone(), table.items.clone(), false));
    travel(millis(10)).await;
    table.others.create(Account::new("a", 7)).await.unwrap();
    expect_error!(create.await.unwrap(), Error::Indeterminate { .. });
    table.others.delete_unchecked("a").await.unwrap();
    settle().await;
    assert_eq!(table.others.get("a").await.unwrap().unwrap().cents, 100, "the test can fail");
}
