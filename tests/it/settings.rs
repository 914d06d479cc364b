//! Settings that are out of their range, and values that are too large.

use std::time::Duration;

use aws_sdk_dynamodb::types::AttributeValue;
use dynalock::{
    Error, Locks, Transaction, Wait,
    error::{InvalidSetting, InvalidTransaction, Spent},
};

use crate::support::{Crate, Product, Shop, TTL, Table, changed, commit, expect_error, millis};

fn setting<T: std::fmt::Debug>(result: Result<T, Error>) -> InvalidSetting {
    expect_error!(result, Error::InvalidSetting(why) => why)
}

/// An item with its repository, and a table of locks.
async fn crates_and_locks() -> (Shop, Table<Crate>, Locks) {
    let (shop, crates) = Shop::with_items([Crate::new("a", 1)]).await;
    let locks = Locks::new(&shop.client, "locks");
    locks.create_table().await.unwrap();
    (shop, crates, locks)
}

const YEAR: Duration = Duration::from_hours(366 * 24);

#[tokio::test(start_paused = true)]
async fn a_ttl_of_no_time_or_of_more_than_a_year_is_refused() {
    let (shop, crates, locks) = crates_and_locks().await;
    let before = shop.requests();
    for ttl in [Duration::ZERO, Duration::from_micros(999), YEAR + millis(1), Duration::MAX] {
        let locks = locks.clone().ttl(ttl);
        for why in [
            setting(locks.acquire("a").await.map(drop)),
            setting(locks.try_acquire("a").await.map(drop)),
            setting(locks.acquire("a").fair().await.map(drop)),
            setting(locks.acquire("a").fair().enter().await.map(drop)),
            setting(locks.acquire_all(["a", "b"]).await.map(drop)),
            setting(locks.acquire_all(["a", "b"]).fair().await.map(drop)),
            setting(crates.items.lock("a").ttl(ttl).await.map(drop)),
            setting(crates.items.lock("a").ttl(ttl).fair().await.map(drop)),
            setting(crates.items.lock_any(["a"]).ttl(ttl).await.map(drop)),
        ] {
            assert!(matches!(why, InvalidSetting::Ttl { ttl: refused, .. } if refused == ttl), "{why:?}");
            assert!(why.to_string().ends_with("; set another `ttl`"), "{why}");
        }
    }
    assert_eq!(shop.requests(), before);
    locks.acquire("a").ttl(YEAR).await.unwrap().release().await.unwrap();
    locks.acquire("a").ttl(millis(1)).heartbeat(false).await.unwrap().release().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_queue_for_nobody_is_refused() {
    let (shop, crates, locks) = crates_and_locks().await;
    let before = shop.requests();
    for why in [
        setting(locks.acquire("a").fair().max_queue(0).await.map(drop)),
        setting(locks.acquire("a").fair().max_queue(0).wait(Wait::No).await.map(drop)),
        setting(locks.try_acquire("a").fair().max_queue(0).await.map(drop)),
        setting(locks.acquire("a").fair().max_queue(0).enter().await.map(drop)),
        setting(locks.acquire_all(["a", "b"]).fair().max_queue(0).await.map(drop)),
        setting(crates.items.lock("a").fair().max_queue(0).await.map(drop)),
        setting(crates.items.lock("a").fair().max_queue(0).enter().await.map(drop)),
    ] {
        assert_eq!(why, InvalidSetting::MaxQueue);
    }
    assert_eq!(shop.requests(), before);
}

#[tokio::test(start_paused = true)]
async fn calls_that_may_send_nothing_are_refused() {
    let (shop, table) = &Shop::with_table::<Product>().await;
    let stored = table.others.create(Product::new("a", 5)).await.unwrap();
    let items = &table.items;
    let patient = table.items.clone().attempt_timeout(Duration::ZERO);
    let tx = || {
        let mut tx = Transaction::new(&shop.client);
        tx.create(items, Product::new("b", 5));
        tx
    };
    let unit = || dynalock::transact(&shop.client, |tx| async move { tx.get(items, "a").await.map(drop) });
    let mut read = Transaction::get(&shop.client);
    read.item(items, "a");
    for why in [
        setting(items.get("a").attempts(0).await.map(drop)),
        setting(items.create(Product::new("b", 5)).attempts(0).await.map(drop)),
        setting(items.touch(stored.clone()).attempts(0).await.map(drop)),
        setting(items.update_with("a", |product| product.stock = 6).attempts(0).await.map(drop)),
        setting(items.delete_unchecked("a").attempts(0).await),
        setting(items.create_table().attempts(0).await),
        setting(tx().attempts(0).commit().await.map(drop)),
        setting(unit().attempts(0).await),
        setting(read.attempts(0).fetch().await.map(drop)),
    ] {
        assert_eq!(why, InvalidSetting::Attempts);
    }
    for why in [
        setting(patient.get("a").await.map(drop)),
        setting(patient.touch(stored).await.map(drop)),
        setting(tx().attempt_timeout(Duration::ZERO).commit().await.map(drop)),
        setting(unit().attempt_timeout(Duration::ZERO).await),
    ] {
        assert_eq!(why, InvalidSetting::AttemptTimeout);
    }
    assert_eq!(shop.requests(), 0);
}

#[tokio::test(start_paused = true)]
async fn the_debug_text_of_a_token_shows_neither_the_lock_nor_its_owner() {
    let (_, locks, _) = Shop::with_locks().await;
    let guard = locks.acquire("report").owner("worker 7").await.unwrap();
    let fence = guard.fence();
    let text = format!("{:?}", guard.detach());
    assert_eq!(text, format!("LockToken {{ fence: {fence}, ttl: {TTL:?}, .. }}"));
}

#[tokio::test(start_paused = true)]
async fn a_token_of_an_item_is_refused_by_locks_and_says_where_it_belongs() {
    let (shop, crates, locks) = crates_and_locks().await;
    let token = crates.items.lock("a").await.unwrap().detach();
    let before = shop.requests();
    let reason = expect_error!(locks.resume(token.clone()).await, Error::InvalidKey { reason, .. } => reason);
    assert_eq!(reason, "the token is that of a lease on an item; resume it with `Repository::resume`");
    assert_eq!(shop.requests(), before);
    let token_of_name = locks.acquire("a").await.unwrap().detach();
    let reason = expect_error!(crates.items.resume(token_of_name).await, Error::InvalidKey { reason, .. } => reason);
    assert_eq!(reason, "the token is that of a lock by name; resume it with `Locks::resume`");
    crates.items.resume(token).await.unwrap().release().await.unwrap();
}

/// Returns a product whose note has this many bytes.
fn noted(bytes: usize) -> Product {
    Product { note: Some("x".repeat(bytes)), ..Product::new("a", 5) }
}

#[tokio::test(start_paused = true)]
async fn an_item_that_is_too_large_says_its_size_and_the_limit() {
    let (shop, table) = Shop::with_table::<Product>().await;
    let said = |result: Result<(), Error>| {
        let error = result.unwrap_err();
        let text = error.to_string();
        let bytes = expect_error!(
            Err::<(), _>(error),
            Error::ItemTooLarge { table: named, bytes, spent: Spent { attempts: 1, .. }, .. } => {
                assert_eq!(&*named, table.name());
                bytes
            }
        );
        let part = format!("{bytes} bytes of it, and DynamoDB stores 409600 (400 KB); keep large content elsewhere");
        assert!(text.contains(&part), "{part:?} in {text:?}");
        bytes
    };
    let invalid = expect_error!(commit(&shop.client, |tx| tx.create(&table.items, noted(500_000))).await, Error::InvalidTransaction(why) => why);
    let InvalidTransaction::ItemTooLarge { bytes: in_transaction, .. } = invalid else { panic!("{invalid}") };

    let created = said(table.items.create(noted(500_000)).await.map(drop));
    assert_eq!(created, in_transaction);
    assert_eq!(said(table.items.create(noted(500_000)).exactly_once().await.map(drop)), in_transaction);

    let stored = table.others.create(noted(400_000)).await.unwrap();
    let larger = changed(stored.clone(), |it| it.note = Some("x".repeat(500_000)));
    assert!(said(table.items.update(larger.clone()).await.map(drop)) > 500_000);
    assert!(said(table.items.replace(larger).await.map(drop)) > 500_000);
    // The item was already this large.
    table.raw.set("a", "foreign", AttributeValue::S("x".repeat(9_000))).await;
    let grown = table.items.update_with("a", |product| product.note = Some("x".repeat(405_000)));
    assert!((405_000..406_000).contains(&said(grown.await.map(drop))));
    assert_eq!(table.others.get("a").await.unwrap().unwrap().note, stored.note);
}
