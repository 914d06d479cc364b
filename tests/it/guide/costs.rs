//! The table of costs, compared with the capacity that the engine reports.

use dynalock::{Locks, Repository, Transaction, Versioned, private::ClockAhead as _, transact};
use serde::{Deserialize, Serialize};

use super::{
    book::{chapter, table},
    meter::{Meter, Units},
};
use crate::support::{Account, Archive, Order, Parcel, Product, Shop, changed, kill, start};

/// An item that keeps few write ids.
#[derive(Debug, Clone, Serialize, Deserialize, Versioned)]
#[dynalock(table = "small", write_ids = 4)]
struct Small {
    #[dynalock(partition_key)]
    id: String,
    count: u64,
}

/// A database behind a meter.
struct Metered {
    shop: Shop,
    meter: Meter,
    client: aws_sdk_dynamodb::Client,
}

impl Metered {
    fn new() -> Self {
        let (shop, meter) = (Shop::without_faults(), Meter::default());
        let client = meter.on(&shop.client);
        Self { shop, meter, client }
    }

    /// Makes a table with these items. Returns the repository behind the meter, and the plain one.
    async fn items<T: Versioned>(&self, items: impl IntoIterator<Item = T>) -> (Repository<T>, Repository<T>) {
        let table = self.shop.table_of(items).await;
        (Repository::new(&self.client).table(table.name()), table.others)
    }

    async fn locks(&self) -> Locks {
        self.shop.locks().await;
        Locks::new(&self.client, "locks")
    }
}

/// Sends a call on a single item.
async fn on_one_item(to: &Metered, call: &str) {
    let (products, others) = to.items([Product::new("a", 1)]).await;
    let stored = products.get("a").await.unwrap().unwrap();
    let edited = changed(stored.clone(), |product| product.stock = 7);
    to.meter.take();
    match call {
        "`get`" => drop(products.get("a").await.unwrap()),
        "`get` with `.eventually_consistent()`" => drop(products.get("a").eventually_consistent().await.unwrap()),
        "`create`" => drop(products.create(Product::new("c", 1)).await.unwrap()),
        "`update`" => drop(products.update(edited).await.unwrap()),
        "`update` without a change" => drop(products.update(stored).await.unwrap()),
        "`replace`" => drop(products.replace(edited).await.unwrap()),
        "`touch`" => drop(products.touch(stored).await.unwrap()),
        "`delete`" => drop(products.delete(stored).await.unwrap()),
        "`patch`" => drop(products.patch("a").add(Product::ATTR.stock, 1).await.unwrap()),
        "`update` with `.exactly_once()`" => drop(products.update(edited).exactly_once().await.unwrap()),
        "`patch` with `.exactly_once()`" => {
            drop(products.patch("a").add(Product::ATTR.stock, 1).exactly_once().await.unwrap());
        }
        "`update_with`" => drop(products.update_with("a", |product| product.stock += 1).await.unwrap()),
        "`update_with` after one conflict" => {
            to.shop.rival.before("UpdateItem", 0, move || async move { drop(others.touch(stored).await.unwrap()) });
            products.update_with("a", |product| product.stock += 1).await.unwrap();
        }
        other => on_many_items(to, other).await,
    }
}

/// Sends a call on several items.
async fn on_many_items(to: &Metered, call: &str) {
    let (orders, _) = to.items((1..=10).map(|number| Order::new("alice", number, 5))).await;
    let (accounts, _) = to.items([Account::new("a", 50), Account::new("b", 50)]).await;
    let (products, _) = to.items([Product::new("a", 1)]).await;
    to.meter.take();
    match call {
        "`get_many` of 10 items" => drop(orders.get_many((1..=10).map(|number| ("alice", number))).await.unwrap()),
        "`query` of 10 items of 100 bytes" => drop(orders.query("alice").collect().await.unwrap()),
        "`create_many` of 10 items" => {
            let created = orders.create_many((1..=10).map(|number| Order::new("bob", number, 5))).await;
            assert!(created.iter().all(Result::is_ok), "{created:?}");
        }
        "`import_unchecked` of 10 items" => {
            let created = orders.import_unchecked((1..=10).map(|number| Order::new("bob", number, 5))).await;
            assert!(created.iter().all(Result::is_ok), "{created:?}");
        }
        "32 concurrent `update_with` of one `combining()` handle" => {
            let handle = products.combining();
            let calls = start((0..32).map(|_| handle.update_with("a", |product| product.stock += 1)));
            for call in calls {
                call.await.unwrap().unwrap();
            }
        }
        "`Transaction::get` of 2 items" => {
            let mut get = Transaction::get(&to.client);
            let _a = get.item(&accounts, "a");
            let _b = get.item(&accounts, "b");
            drop(get.fetch().await.unwrap());
        }
        "`transact` that reads 2 items and updates both" => {
            let accounts = &accounts;
            let unit = transact(&to.client, |tx| async move {
                for owner in ["a", "b"] {
                    let account = tx.get(accounts, owner).await?.expect("an account");
                    tx.update(accounts, changed(account, |account| account.cents += 1));
                }
                Ok::<_, dynalock::Error>(())
            });
            unit.await.unwrap();
        }
        other => on_leases(to, other).await,
    }
}

/// Acquires leases and locks.
async fn on_leases(to: &Metered, call: &str) {
    let (parcels, _) = to.items([Parcel::new("a", 1)]).await;
    let (archives, _) = to.items([Archive::new("a", 1)]).await;
    let locks = to.locks().await;
    to.meter.take();
    match call {
        "`lock` of an item and `release`" => drop(parcels.lock("a").await.unwrap().release().await.unwrap()),
        "`lock` of an item, `update` and `commit`" => {
            let mut parcel = parcels.lock("a").await.unwrap();
            parcel.update(|parcel| parcel.items += 1).await.unwrap();
            parcel.commit(|parcel| parcel.items += 1).await.unwrap();
        }
        "`update_with` of a type with `separate`" => {
            archives.update_with("a", |archive| archive.items += 1).await.unwrap();
        }
        "`lock` of an item with `separate`, and `release`" => {
            drop(archives.lock("a").await.unwrap().release().await.unwrap());
        }
        "one heartbeat" => {
            let held = locks.acquire("a").await.unwrap();
            to.meter.take();
            held.extend().await.unwrap();
            kill(held);
        }
        "`acquire` of a name and `release`" => locks.acquire("a").await.unwrap().release().await.unwrap(),
        "`acquire` with `.fair()` and `release`" => locks.acquire("a").fair().await.unwrap().release().await.unwrap(),
        "`acquire_all` of 2 names and `release`" => {
            locks.acquire_all(["a", "b"]).await.unwrap().release().await.unwrap();
        }
        other => panic!("the chapter has a row that no test measures: {other}"),
    }
}

fn units(row: &[String]) -> (String, Units) {
    let [call, reads, writes, ..] = row else { panic!("a short row: {row:?}") };
    (call.clone(), Units { reads: reads.parse().unwrap(), writes: writes.parse().unwrap() })
}

#[tokio::test]
async fn the_calls_of_the_guide_cost_what_it_says() {
    let expected: Vec<_> = table(&chapter("costs.md"), "## Units").iter().map(|row| units(row)).collect();
    let mut measured = Vec::new();
    for (call, _) in &expected {
        let to = Metered::new();
        on_one_item(&to, call).await;
        measured.push((call.clone(), to.meter.take()));
    }
    assert_eq!(measured, expected);
}

/// Returns the bytes of `_writes` in an item of this kind.
async fn bytes_of_write_ids(kind: &str) -> usize {
    let (shop, products) = Shop::with_items([Product::new("a", 1)]).await;
    let small = shop.table_of([Small { id: "a".to_owned(), count: 0 }]).await;
    for _ in 0..20 {
        products.items.update_with("a", |product| product.stock += 1).await.unwrap();
        small.items.update_with("a", |small| small.count += 1).await.unwrap();
    }
    let raw = match kind {
        "written more often" => products.raw,
        "written more often, with `#[dynalock(write_ids = 4)]`" => small.raw,
        "written less often than every 15 minutes" => {
            let later = products.items.clone().clock_ahead_by_millis(16 * 60 * 1_000);
            later.update_with("a", |product| product.stock += 1).await.unwrap();
            products.raw
        }
        other => panic!("the chapter has a row that no test measures: {other}"),
    };
    raw.get("a").await.unwrap()["_writes"].as_b().unwrap().as_ref().len()
}

#[tokio::test]
async fn the_write_ids_of_an_item_are_as_large_as_the_guide_says() {
    for row in table(&chapter("costs.md"), "## What `_writes` contains") {
        let bytes = bytes_of_write_ids(&row[0]).await;
        assert!(row[1].ends_with(&format!(" {bytes} bytes")), "{row:?}: {bytes}");
    }
}
