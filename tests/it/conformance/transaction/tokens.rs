//! Tokens of the caller: a transaction that is repeated with its token is applied once.

use dynalock::{Error, Stored, Transaction, error::Spent};

use crate::support::{Account, Item, Product, Shop, Table, cancelled, codes, expect_error, n};

cases![
    the_same_transaction_under_one_token_happens_once,
    another_content_under_a_known_token_is_refused,
    another_content_under_a_token_that_an_item_shows_was_committed_before,
    the_same_content_under_another_token_is_another_transaction,
    a_token_of_a_refused_transaction_may_be_used_again,
];

/// Returns a transfer. Each process that has read the same values makes the same transfer.
fn transfer(shop: &Shop, table: &Table<Account>, from: &Stored<Account>, to: &Stored<Account>) -> Transaction {
    let (mut from, mut to) = (from.clone(), to.clone());
    from.cents -= 3;
    to.cents += 3;
    let mut tx = Transaction::new(&shop.client);
    tx.update(&table.items, from);
    tx.update(&table.items, to);
    tx.create(&table.items, Account::new("carol", 0));
    tx
}

async fn accounts(table: &Table<Account>) -> [Stored<Account>; 2] {
    let create = async |owner| table.others.create(Account::new(owner, 10)).await.unwrap();
    [create("alice").await, create("bob").await]
}

async fn stored(table: &Table<Account>) -> Vec<Option<Item>> {
    let mut items = Vec::new();
    for owner in ["alice", "bob", "carol"] {
        items.push(table.raw.get(owner).await);
    }
    items
}

async fn the_same_transaction_under_one_token_happens_once(shop: &Shop) {
    let table = shop.table::<Account>().await;
    let [alice, bob] = accounts(&table).await;
    let token = table.name();
    transfer(shop, &table, &alice, &bob).token(token).commit().await.unwrap();
    let after = stored(&table).await;
    assert_eq!(after[0].as_ref().unwrap()["cents"], n(7));
    // Another process has read the same values. This process makes the same transfer, although
    // other callers have written the accounts since the read.
    table.others.update_with("bob", |bob| bob.cents += 100).await.unwrap();
    let before = stored(&table).await;
    let again = transfer(shop, &table, &alice, &bob).token(token).commit().await;
    again.unwrap();
    assert_eq!(stored(&table).await, before);
    let sent = shop.sent("TransactWriteItems");
    assert_eq!(sent.len(), 2);
    assert_eq!(sent[0], sent[1], "the ids and incarnations too");
}

async fn another_content_under_a_known_token_is_refused(shop: &Shop) {
    let table = shop.table::<Account>().await;
    let [alice, bob] = accounts(&table).await;
    // A deleted item shows no write id.
    let delete = |account: &Stored<Account>| {
        let mut tx = Transaction::new(&shop.client).token(table.name());
        tx.delete(&table.items, account.clone());
        tx
    };
    delete(&alice).commit().await.unwrap();
    expect_error!(delete(&bob).commit().await, Error::TokenReused { spent: Spent { attempts: 1, .. }, .. });
    assert_eq!(stored(&table).await.iter().map(Option::is_some).collect::<Vec<_>>(), [false, true, false]);
}

async fn another_content_under_a_token_that_an_item_shows_was_committed_before(shop: &Shop) {
    let table = shop.table::<Account>().await;
    let [alice, bob] = accounts(&table).await;
    let token = table.name();
    transfer(shop, &table, &alice, &bob).token(token).commit().await.unwrap();
    let before = stored(&table).await;
    let mut other = transfer(shop, &table, &alice, &bob).token(token);
    other.check_exists(&table.items, "dave");
    expect_error!(other.commit().await, Error::AlreadyCommitted { spent: Spent { attempts: 1, .. }, .. });
    expect_error!(transfer(shop, &table, &bob, &alice).token(token).commit().await, Error::AlreadyCommitted { .. });
    assert_eq!(stored(&table).await, before);
}

async fn the_same_content_under_another_token_is_another_transaction(shop: &Shop) {
    let table = shop.table::<Product>().await;
    let create = || {
        let mut tx = Transaction::new(&shop.client);
        tx.create(&table.items, Product::new("a", 5));
        tx
    };
    create().token(format!("{}-1", table.name())).commit().await.unwrap();
    cancelled(create().token(format!("{}-2", table.name())).commit().await);
    create().token(format!("{}-1", table.name())).commit().await.unwrap();
    // Without a caller's token, each commit generates its own token.
    cancelled(create().commit().await);
    cancelled(create().commit().await);
    let sent = shop.sent("TransactWriteItems");
    assert_ne!(sent[3]["ClientRequestToken"], sent[4]["ClientRequestToken"]);
    assert_eq!(table.raw.get("a").await.unwrap()["_version"], n(1));
}

async fn a_token_of_a_refused_transaction_may_be_used_again(shop: &Shop) {
    let table = shop.table_of([Product::new("a", 5)]).await;
    let create = |stock| {
        let mut tx = Transaction::new(&shop.client).token(table.name());
        tx.create(&table.items, Product::new("a", stock));
        tx
    };
    assert_eq!(codes(&cancelled(create(6).commit().await)), ["ConditionalCheckFailed"]);
    // The token may be used again with the same content, and with other content.
    assert_eq!(codes(&cancelled(create(6).commit().await)), ["ConditionalCheckFailed"]);
    assert_eq!(codes(&cancelled(create(7).commit().await)), ["ConditionalCheckFailed"]);
    table.raw.delete("a").await;
    create(7).commit().await.unwrap();
    assert_eq!(table.raw.get("a").await.unwrap()["stock"], n(7));
}
