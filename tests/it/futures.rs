//! Each future of the public API can be spawned, also by generic code.

use std::future::IntoFuture;

use aws_sdk_dynamodb::Client;
use dynalock::{Error, Pace, Repository, Stored, Transaction, Tx, Versioned, transact, transaction::Op};

use crate::support::{Product, Refused, Shop, secs};

/// A value that a test can make and change.
trait Sample: Versioned + Clone {
    fn sample() -> Self;
    fn sample_key() -> Self::Key;
    fn change(&mut self);
}

impl Sample for Product {
    fn sample() -> Self {
        Self::new("a", 0)
    }

    fn sample_key() -> Self::Key {
        "a".into()
    }

    fn change(&mut self) {
        self.stock += 1;
    }
}

async fn spawned<F>(call: F) -> F::Output
where
    F: IntoFuture,
    F::IntoFuture: Send + 'static,
    F::Output: Send + 'static,
{
    tokio::spawn(call.into_future()).await.unwrap()
}

/// Spawns the future of each method, in code that knows nothing about `T`.
async fn each_method<T: Sample>(items: Repository<T>) -> u64 {
    spawned(items.create_table()).await.unwrap();
    assert_eq!(spawned(items.verify_table()).await.unwrap().differences(), []);
    spawned(items.create(T::sample())).await.unwrap();
    let mut stored = spawned(items.get(T::sample_key())).await.unwrap().unwrap();
    spawned(items.get(T::sample_key()).eventually_consistent()).await.unwrap().unwrap();
    stored.change();
    let stored = spawned(items.update(stored)).await.unwrap();
    let stored = spawned(items.replace(stored)).await.unwrap();
    let stored = spawned(items.touch(stored)).await.unwrap();
    assert_eq!(stored.version(), 4);
    spawned(items.update_with(T::sample_key(), T::change)).await.unwrap();
    let refused = spawned(items.try_update_with(T::sample_key(), |_| Refused::here("no"))).await;
    assert!(matches!(refused, Err(Refused::Here(_))));
    let last = spawned(items.upsert_with(T::sample_key(), T::sample, T::change)).await.unwrap();
    let version = last.version();
    let combining = items.combining();
    spawned(combining.update_with(T::sample_key(), T::change)).await.unwrap();
    let refused = spawned(combining.try_update_with(T::sample_key(), |_| Refused::here("no"))).await;
    assert!(matches!(refused, Err(Refused::Here(_))));
    let last = spawned(combining.upsert_with(T::sample_key(), T::sample, T::change)).await.unwrap();
    assert_eq!(last.version(), version + 2);
    spawned(items.delete(last)).await.unwrap();
    spawned(items.delete_unchecked(T::sample_key())).await.unwrap();
    version
}

/// Awaits the same futures inside one future, which holds handles, values and keys while it waits.
async fn all_in_one<T: Sample>(items: Repository<T>) -> Result<u64, Error> {
    let items = &items;
    let mut stored: Stored<T> = items.create(T::sample()).deadline(secs(9)).attempts(9).pace(Pace::Latency).await?;
    stored.change();
    let stored = items.update(stored).exactly_once().await?;
    let key = T::sample_key();
    items
        .try_update_with(key, |value| {
            value.change();
            Ok::<_, Error>(())
        })
        .await?;
    let current = items.get(T::sample_key()).await?.expect("an item");
    assert!(items.update(Stored::assume(T::sample(), stored.etag())).await.is_err());
    items.delete(current).await?;
    Ok(stored.version())
}

#[tokio::test]
async fn every_future_can_be_spawned_also_by_generic_code() {
    let shop = Shop::without_faults();
    let table = shop.absent_table::<Product>();
    assert_eq!(tokio::spawn(each_method(table.items.clone())).await.unwrap(), 6);
    assert_eq!(tokio::spawn(all_in_one(table.items.clone())).await.unwrap().unwrap(), 2);
}

#[tokio::test]
async fn closures_may_borrow_what_lives_as_long_as_the_call() {
    let (_, table) = Shop::with_table::<Product>().await;
    let name = String::from("a");
    let mut runs = 0;
    let init = || Product::new(&name, 0);
    let product = table.items.upsert_with(name.as_str(), init, |product| {
        runs += 1;
        product.stock = i64::try_from(name.len()).unwrap();
    });
    assert_eq!((product.await.unwrap().stock, runs), (1, 1));
}

#[tokio::test]
async fn a_call_that_is_not_awaited_sends_nothing() {
    let (shop, table) = Shop::with_table::<Product>().await;
    drop(table.items.create(Product::new("a", 0)));
    drop(table.items.delete_unchecked("a").into_future());
    assert_eq!(shop.requests(), 0);
}

/// Spawns each future of a transaction, in code that knows nothing about `T`.
async fn each_transaction<T: Sample>(client: Client, items: Repository<T>) -> u64 {
    let mut tx = Transaction::new(&client);
    let create: Op<T> = tx.create(&items, T::sample());
    let mut stored = spawned(tx.commit()).await.unwrap().get(create).unwrap();
    stored.change();
    let mut tx = Transaction::new(&client);
    let update = tx.update(&items, stored);
    let stored = tokio::spawn(async move { tx.commit().await?.get(update) }).await.unwrap().unwrap();
    let mut get = Transaction::get(&client);
    let item = get.item(&items, T::sample_key());
    let seen = spawned(get.fetch()).await.unwrap();
    assert_eq!(seen.get(item).unwrap().unwrap().version(), stored.version());
    let unit = transact(&client, move |tx: Tx| {
        let items = items.clone();
        async move {
            let mut stored = tx.get(&items, T::sample_key()).await?.expect("an item");
            let _ = tx.get_many(&items, [T::sample_key()]).await?;
            stored.change();
            tx.check_exists(&items, T::sample_key());
            write_elsewhere(&tx, &items, stored).await;
            Ok::<_, Refused>(())
        }
    });
    spawned(unit.attempts(9).deadline(secs(9)).pace(Pace::Latency)).await.unwrap();
    stored.version()
}

/// A part of a closure that borrows the handle while it waits.
async fn write_elsewhere<T: Versioned>(tx: &Tx, items: &Repository<T>, stored: Stored<T>) {
    tokio::task::yield_now().await;
    tx.update(items, stored);
}

/// A unit of work inside of one future, which borrows what the future owns.
async fn borrowing<T: Sample>(client: Client, items: Repository<T>) -> Result<u64, Refused>
where
    T::Key: Clone + Sync,
{
    let (items, key) = (&items, &T::sample_key());
    transact(&client, |tx| async move {
        let (one, other) = tokio::try_join!(tx.get(items, key.clone()), tx.get(items, key.clone()))?;
        let mut stored = one.expect("an item");
        assert_eq!(other.map(|other| other.version()), Some(stored.version()));
        stored.change();
        tx.update(items, stored);
        Ok::<_, Refused>(())
    })
    .snapshot()
    .await?;
    let mut tx = Transaction::new(&client);
    let stored = items.get(key.clone()).await?.expect("an item");
    tx.check(items, &stored);
    tx.commit().await?;
    let mut get = Transaction::get(&client);
    let item = get.item(items, key.clone());
    Ok(get.fetch().await?.get(item)?.expect("an item").version())
}

#[tokio::test]
async fn every_future_of_a_transaction_can_be_spawned_also_by_generic_code() {
    let (shop, table) = Shop::with_table::<Product>().await;
    assert_eq!(tokio::spawn(each_transaction(shop.client.clone(), table.items.clone())).await.unwrap(), 2);
    assert_eq!(tokio::spawn(borrowing(shop.client.clone(), table.items.clone())).await.unwrap().unwrap(), 4);
}

#[tokio::test]
async fn a_closure_may_count_and_collect_what_it_does() {
    let (shop, table) = &Shop::with_items([Product::new("a", 5)]).await;
    let mut runs = 0;
    let unit = transact(&shop.client, |tx| {
        runs += 1;
        async move { tx.get(&table.items, "a").await }
    });
    assert_eq!(unit.await.unwrap().unwrap().stock, 5);
    assert_eq!(runs, 1);
}

#[test]
fn requests_repositories_and_values_can_be_shown_without_content() {
    fn shown<T: std::fmt::Debug + Send>(value: &T) -> String {
        format!("{value:?}")
    }
    let shop = Shop::without_faults();
    let items = shop.named::<Product>("products");
    assert!(shown(&items).contains("products"));
    for text in [shown(&items.get("5500005555")), shown(&items.create(Product::new("5500005555", 1)))] {
        assert!(!text.contains("5500005555"), "{text}");
    }
}

#[test]
fn a_repository_is_shared_by_threads_whatever_its_type() {
    fn shared<T: Send + Sync + 'static>() {}
    fn whatever<T: Versioned>() {
        shared::<Repository<T>>();
        shared::<Stored<T>>();
        shared::<Op<T>>();
        shared::<dynalock::transaction::Reason<T>>();
    }
    whatever::<Product>();
    shared::<Error>();
    shared::<Tx>();
    shared::<Transaction>();
    shared::<dynalock::transaction::TransactionGet>();
    shared::<dynalock::transaction::Committed>();
    shared::<dynalock::transaction::Snapshot>();
}

async fn owns<T: Versioned>(items: Repository<T>, key: T::Key) -> bool {
    tokio::spawn(async move { items.get(key).await.is_ok() }).await.unwrap()
}

#[tokio::test]
async fn generic_code_may_move_a_key_into_a_task() {
    let (_, table) = Shop::with_table::<Product>().await;
    assert!(owns(table.items.clone(), "a".into()).await);
}
