//! The texts of errors about transactions, and the content that they must not show.

use dynalock::{Error, Transaction, error::InvalidTransaction, local::Fault, transact};

use crate::support::{Account, Product, Shop, cancelled, invalid, item, n, s};

const SECRET: &str = "5500005555555559";

fn secret(key: &str) -> Product {
    Product { note: Some(SECRET.to_owned()), ..Product::new(key, 5) }
}

fn keeps_to_itself(error: &Error) {
    let shown = format!("{error} {error:?} {error:#?}");
    assert!(!shown.contains(SECRET), "{shown}");
}

#[tokio::test(start_paused = true)]
async fn a_cancellation_names_the_operations_the_versions_and_what_to_do() {
    let shop = Shop::without_faults();
    let (products, accounts) = (shop.table::<Product>().await, shop.table::<Account>().await);
    let stored = products.others.create(secret("a")).await.unwrap();
    products.others.update_with("a", |product| product.stock = 9).await.unwrap();
    products.raw.put(item([("sku", s("b")), ("stock", n(1)), ("note", s(SECRET))])).await;
    let mut tx = Transaction::new(&shop.client);
    tx.create(&accounts.items, Account::new("innocent", 5));
    tx.check(&products.items, &stored);
    tx.create(&products.items, secret("b"));
    tx.check_exists(&accounts.items, SECRET);
    let error = Error::Cancelled(cancelled(tx.commit().await));
    keeps_to_itself(&error);
    let text = error.to_string();
    let (products, accounts) = (products.name(), accounts.name());
    for part in [
        format!("operation 1 on table `{products}`: its condition is false, expected version 1, found version 2"),
        format!("operation 2 on table `{products}`: its condition is false, found an item without a version"),
        format!("operation 3 on table `{accounts}`: its condition is false, found no item"),
        "; read the items again and decide anew".to_owned(),
    ] {
        assert!(text.contains(&part), "{part:?} in {text:?}");
    }
    assert!(!text.contains("operation 0"), "{text}");
}

#[tokio::test(start_paused = true)]
async fn a_cancellation_names_three_operations_and_counts_the_rest() {
    let (shop, table) = Shop::with_table::<Account>().await;
    let mut tx = Transaction::new(&shop.client);
    for index in 0..10 {
        tx.check_exists(&table.items, index.to_string());
    }
    let text = cancelled(tx.commit().await).to_string();
    assert!(text.contains("operation 2 ") && !text.contains("operation 3 ") && text.contains("and 7 more"), "{text}");
}

#[tokio::test(start_paused = true)]
async fn a_cancellation_of_another_kind_shows_code_and_message() {
    let (shop, table) = Shop::with_table::<Account>().await;
    let mut tx = Transaction::new(&shop.client);
    tx.create(&table.items, Account::new("a", 5));
    shop.faults.script(0, Fault::canceled(["SomethingNew"]));
    let text = cancelled(tx.commit().await).to_string();
    assert!(text.contains("operation 0 on") && text.contains("SomethingNew (injected)"), "{text}");
    assert!(!text.contains("read the items again"), "that would not help: {text}");
}

#[tokio::test(start_paused = true)]
async fn an_unreadable_item_is_not_shown_by_its_reason() {
    let (shop, table) = Shop::with_table::<Product>().await;
    table.raw.put(item([("sku", s("a")), ("note", s(SECRET))])).await;
    let mut tx = Transaction::new(&shop.client);
    let create = tx.create(&table.items, Product::new("a", 5));
    let reason = cancelled(tx.commit().await).reason(create);
    let shown = format!("{reason:?}");
    assert!(shown.starts_with("Unreadable") && !shown.contains(SECRET), "{shown}");
}

#[tokio::test(start_paused = true)]
async fn a_transaction_that_cannot_be_sent_says_what_to_do() {
    let (shop, table) = &Shop::with_table::<Product>().await;
    let unit = async |escape: bool| {
        let unit = transact(&shop.client, |tx| async move {
            tx.create(&table.items, secret("a"));
            if escape {
                return Ok(Some(tx));
            }
            tx.get(&table.items, "a").await?;
            Ok::<_, Error>(None)
        });
        invalid(unit.await)
    };
    let foreign = Transaction::new(&shop.client).create(&table.items, secret("b"));
    let mut other = Transaction::new(&shop.client);
    other.create(&table.items, secret("b"));
    let foreign = other.commit().await.unwrap().get(foreign).unwrap_err();
    assert!(foreign.to_string().contains("use the one that this transaction gave"), "{foreign}");
    keeps_to_itself(&foreign);
    for (why, advice) in [
        (invalid(Transaction::new(&shop.client).commit().await), "add one, or do not commit it"),
        (invalid(Transaction::new(&shop.client).token("").commit().await), "choose another, or leave out `.token(..)`"),
        (unit(false).await, "read it before, and keep the value"),
        (unit(true).await, "await what the closure has spawned, and do not keep `Tx`"),
    ] {
        assert!(why.to_string().contains(advice), "{advice:?} in {why}");
        keeps_to_itself(&Error::InvalidTransaction(why));
    }
    let error = Error::InvalidTransaction(InvalidTransaction::Empty);
    assert_eq!(error.to_string(), "the transaction cannot be sent: it has no operation; add one, or do not commit it");
}

#[tokio::test(start_paused = true)]
async fn a_token_that_was_used_is_one_sentence_that_says_what_to_do() {
    let (shop, table) = Shop::with_table::<Product>().await;
    let create = |key| {
        let mut tx = Transaction::new(&shop.client).token("token");
        tx.create(&table.items, secret(key));
        tx
    };
    create("a").commit().await.unwrap();
    let error = create("b").commit().await.unwrap_err();
    keeps_to_itself(&error);
    let text = error.to_string();
    assert!(text.contains("; give a new content a new token, and use no `HashSet`"), "{text:?}");
    assert!(!text.contains("  "), "{text:?}");
}

#[tokio::test(start_paused = true)]
async fn what_carries_items_is_shown_without_them() {
    let (shop, table) = &Shop::with_table::<Product>().await;
    let mut tx = Transaction::new(&shop.client);
    let create = tx.create(&table.items, secret(SECRET));
    let mut get = Transaction::get(&shop.client);
    let read = get.item(&table.items, SECRET);
    let shown = format!("{tx:?} {create:?} {get:?} {read:?}");
    let done = tx.commit().await.unwrap();
    let seen = get.fetch().await.unwrap();
    let unit = transact(&shop.client, |tx| async move {
        tx.create(&table.items, secret(SECRET));
        Ok::<_, Error>(format!("{tx:?}"))
    });
    let shown = format!("{shown} {done:?} {seen:?} {unit:?}");
    assert!(!shown.contains(SECRET), "{shown}");
    keeps_to_itself(&unit.await.unwrap_err());
}
