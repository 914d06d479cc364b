//! One transaction with each kind of write, as a transaction and as a unit of work.

use dynalock::{Error, Result, Transaction, transact};

use crate::support::{Account, Item, Shop, Table, changed, secs};

/// The way in which the transaction is committed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    Commit,
    Transact,
}

pub(super) const WAYS: [Way; 2] = [Way::Commit, Way::Transact];

/// The stored state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stored {
    /// The state before the transaction.
    Before,
    /// The state after one transaction.
    After,
}

/// Makes the table before the transaction. The items `update`, `delete` and `check` exist, and
/// `create` does not.
pub(super) async fn purse() -> (Shop, Table<Account>) {
    Shop::with_items(["update", "delete", "check"].map(|owner| Account::new(owner, 5))).await
}

/// Updates, creates, deletes and checks the items within a minute.
pub(super) async fn run(shop: &Shop, table: &Table<Account>, way: Way) -> Result<()> {
    match way {
        Way::Commit => transaction(shop, table).await.deadline(secs(60)).commit().await.map(drop),
        Way::Transact => {
            let unit = transact(&shop.client, |tx| async move {
                let mut update = tx.get(&table.items, "update").await?.expect("an item");
                let delete = tx.get(&table.items, "delete").await?.expect("an item");
                let _ = tx.get(&table.items, "check").await?;
                update.cents += 1;
                tx.update(&table.items, update);
                tx.create(&table.items, Account::new("create", 5));
                tx.delete(&table.items, delete);
                Ok::<_, Error>(())
            });
            unit.deadline(secs(60)).await
        }
    }
}

/// Makes the same transaction with values that were read elsewhere.
pub(super) async fn transaction(shop: &Shop, table: &Table<Account>) -> Transaction {
    let read = async |owner| table.others.get(owner).await.unwrap().expect("an item");
    let update = changed(read("update").await, |it| it.cents += 1);
    let mut tx = Transaction::new(&shop.client);
    tx.update(&table.items, update);
    tx.create(&table.items, Account::new("create", 5));
    tx.delete(&table.items, read("delete").await);
    tx.check(&table.items, &read("check").await);
    tx
}

/// Returns the stored state. Panics if a part of a transaction, or more than one transaction, was
/// applied.
pub(super) async fn stored(table: &Table<Account>) -> Stored {
    let mut items = Vec::new();
    for owner in ["update", "create", "delete", "check"] {
        items.push(table.raw.get(owner).await.as_ref().map(version_and_cents));
    }
    let items: Vec<_> =
        items.iter().map(|item| item.as_ref().map(|(version, cents)| (version.as_str(), cents.as_str()))).collect();
    let there = Some(("1", "5"));
    if items == [there, None, there, there] {
        Stored::Before
    } else if items == [Some(("2", "6")), there, None, there] {
        Stored::After
    } else {
        panic!("neither before nor after: {items:?}")
    }
}

fn version_and_cents(item: &Item) -> (String, String) {
    let number = |name: &str| item[name].as_n().expect("a number").clone();
    (number("_version"), number("cents"))
}
