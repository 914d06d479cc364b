use dynalock::{Error, Repository, Transaction, Versioned, Wait, local::Faults};
use serde::{Deserialize, Serialize};

use super::{Drum, HOUR, kill};
use crate::support::{Shop, Table, expect_error, item, n, s};

/// By what somebody asks.
#[derive(Debug, Clone, Copy)]
enum Ask {
    Lock,
    Try,
    Any,
    Fair,
}

impl Ask {
    /// The fence of a lease that is released again.
    async fn fence(self, items: &Repository<Drum>) -> u64 {
        let lease = match self {
            Self::Lock => items.lock("a").await,
            Self::Try => items.try_lock("a").await,
            Self::Any => items.lock_any(["missing", "a"]).await,
            Self::Fair => items.lock("a").fair().await,
        };
        let lease = lease.unwrap_or_else(|error| panic!("{self:?}: {error}"));
        let fence = lease.fence();
        lease.release().await.unwrap();
        fence
    }
}

/// How an item goes.
#[derive(Debug, Clone, Copy)]
enum Death {
    Delete,
    Unchecked,
    /// While somebody holds it, who learns nothing of it.
    Ignoring,
    Transaction,
    Unit,
    Guarded,
    /// Another program, or time to live.
    Foreign,
    /// A put of another program over it.
    Overwritten,
}

impl Death {
    const ALL: [Self; 8] = [
        Self::Delete,
        Self::Unchecked,
        Self::Ignoring,
        Self::Transaction,
        Self::Unit,
        Self::Guarded,
        Self::Foreign,
        Self::Overwritten,
    ];

    /// The highest fence by then.
    async fn of(self, shop: &Shop, table: &Table<Drum>) -> Option<u64> {
        let items = &table.items;
        let stored = items.get("a").await.unwrap().unwrap();
        let mut tx = Transaction::new(&shop.client);
        match self {
            Self::Delete => assert!(items.delete(stored).await.unwrap().certain),
            Self::Unchecked => items.delete_unchecked("a").await.unwrap(),
            Self::Ignoring => {
                let lease = items.lock("a").heartbeat(false).await.unwrap();
                let fence = lease.fence();
                items.delete(stored).ignoring_lease().await.unwrap();
                kill(lease);
                return Some(fence);
            }
            Self::Transaction => {
                tx.delete(items, stored);
                tx.create(items, Drum::new("b"));
                tx.commit().await.unwrap();
                items.delete_unchecked("b").await.unwrap();
            }
            Self::Unit => dynalock::transact(&shop.client, |tx| async move {
                let stored = tx.get(items, "a").await?.expect("an item");
                tx.delete(items, stored);
                Ok::<_, Error>(())
            })
            .await
            .unwrap(),
            Self::Guarded => {
                let lease = items.lock("a").heartbeat(false).fair().await.unwrap();
                let fence = lease.fence();
                tx.guard(&lease);
                tx.delete(items, stored);
                tx.commit().await.unwrap();
                expect_error!(lease.extend().await, Error::Lost(_));
                return Some(fence);
            }
            Self::Foreign => table.raw.delete("a").await,
            Self::Overwritten => table.raw.put(item([("id", s("a")), ("litres", n(7))])).await,
        }
        None
    }
}

#[tokio::test(start_paused = true)]
async fn fences_grow_over_all_lives_of_an_item_whatever_clocks_show() {
    for death in Death::ALL {
        let shop = Shop::in_process(Faults::none());
        let table = shop.table::<Drum>().await;
        let mut last = 0;
        let mut ahead = HOUR;
        for (life, ask) in [Ask::Lock, Ask::Fair, Ask::Any, Ask::Try, Ask::Fair, Ask::Lock].into_iter().enumerate() {
            if table.raw.get("a").await.is_none() {
                table.others.create(Drum::new("a")).await.unwrap();
            }
            // Each life begins by a clock that stands an hour before that of the last one.
            let granter = table.items.clone().clock_ahead_by_millis(ahead);
            for _ in 0..2 {
                let fence = ask.fence(&granter).await;
                assert!(fence > last, "{death:?}, {ask:?}, life {life}: {fence} after {last}");
                last = fence;
            }
            last = death.of(&shop, &table).await.unwrap_or(last).max(last);
            ahead -= HOUR;
        }
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Versioned)]
#[dynalock(table = "drums")]
#[lockable(ttl = "10s")]
struct Forgotten {
    #[dynalock(partition_key)]
    id: String,
    litres: u32,
}

#[tokio::test(start_paused = true)]
async fn without_a_tombstone_a_clock_that_is_behind_begins_below() {
    let shop = Shop::in_process(Faults::none());
    let table = shop.table::<Forgotten>().await;
    let behind = table.items.clone().clock_ahead_by_millis(-HOUR);
    let mut fences = Vec::new();
    for granter in [&table.items, &behind] {
        table.others.create(Forgotten { id: "a".to_owned(), litres: 0 }).await.unwrap();
        fences.push(granter.lock("a").await.unwrap().release().await.map(|stored| stored.version()).unwrap());
        let fence: u64 = table.raw.get("a").await.unwrap()["_fence"].as_n().unwrap().parse().unwrap();
        fences.push(fence);
        table.others.delete_unchecked("a").await.unwrap();
    }
    assert!(fences[3] < fences[1], "{fences:?}");
}

#[tokio::test(start_paused = true)]
async fn the_first_grant_of_a_life_costs_two_requests_more_and_three_by_a_clock_that_is_behind() {
    let shop = Shop::in_process(Faults::none());
    let table = shop.table::<Drum>().await;
    let (update, transact, delete) = ("UpdateItem", "TransactWriteItems", "DeleteItem");
    for (granter, seeds) in [(0, 1), (-HOUR, 2)] {
        let granter = table.items.clone().clock_ahead_by_millis(granter);
        let stored = table.others.create(Drum::new("a")).await.unwrap();
        let [updates, transactions] = shop.counts([update, transact]);
        for (asked, seeded) in [(2, seeds), (4, seeds)] {
            let lease = granter.lock("a").heartbeat(false).await.unwrap();
            assert_eq!(shop.counts([update, transact]), [updates + asked, transactions + seeded]);
            // The seed is no write of the item's data.
            assert_eq!(lease.release().await.unwrap().version(), stored.version());
        }
        let deletes = shop.counts([delete]);
        let stored = table.items.get("a").await.unwrap().unwrap();
        let mut tx = Transaction::new(&shop.client);
        tx.delete(&table.items, stored.clone());
        tx.create(&table.items, Drum::new("b"));
        tx.commit().await.unwrap();
        assert_eq!(shop.actions().len(), 2, "a delete needs no row");
        table.items.delete_unchecked("b").await.unwrap();
        assert_eq!(shop.counts([delete]), deletes.map(|count| count + 1));
    }
}

#[tokio::test(start_paused = true)]
async fn the_row_has_a_fence_and_nothing_else_and_is_no_item() {
    let shop = Shop::in_process(Faults::none());
    let table = shop.table::<Drum>().await;
    let stored = table.items.create(Drum::new("a")).await.unwrap();
    table.items.delete(stored).await.unwrap();
    assert_eq!(table.raw.get("a#lock").await, None, "nobody has leased it");
    table.items.create(Drum::new("a")).await.unwrap();
    let lease = table.items.lock("a").await.unwrap();
    let row = table.raw.get("a#lock").await.unwrap();
    let mut names: Vec<_> = row.keys().map(String::as_str).collect();
    names.sort_unstable();
    assert_eq!(names, ["_fence", "id"]);
    assert_eq!(row["_fence"], n(lease.fence() - 1 + (1 << 32)));
    lease.release().await.unwrap();
    table.items.delete_unchecked("a").await.unwrap();
    assert_eq!(table.raw.get("a#lock").await.as_ref(), Some(&row));

    let sent = shop.requests();
    expect_error!(table.items.get("a#lock").await, Error::InvalidKey { attribute: "id", .. });
    expect_error!(table.items.create(Drum::new("a#lock")).await, Error::InvalidKey { .. });
    expect_error!(table.items.delete_unchecked("a#lock").await, Error::InvalidKey { .. });
    expect_error!(table.items.lock("a#lock").await, Error::InvalidKey { .. });
    let mut tx = Transaction::new(&shop.client);
    tx.check_exists(&table.items, "a#lock");
    expect_error!(tx.commit().await, Error::InvalidKey { .. });
    assert_eq!(shop.requests(), sent);
}

#[tokio::test(start_paused = true)]
async fn a_lease_is_in_the_item_as_ever() {
    let shop = Shop::in_process(Faults::none());
    let table = shop.table::<Drum>().await;
    expect_error!(table.items.lock("a").await, Error::NotFound { .. });
    expect_error!(table.items.lock("a").fair().await, Error::NotFound { .. });
    assert_eq!(table.raw.get("a#lock").await, None);
    // One that another program has written, without a version.
    table.raw.put(item([("id", s("a")), ("litres", n(7))])).await;
    let mut lease = table.items.lock("a").await.unwrap();
    lease.update(|it| it.litres += 1).await.unwrap();
    assert_eq!(lease.litres, 8);
    let stored = table.others.get("a").await.unwrap().unwrap();
    expect_error!(table.others.delete(stored.clone()).await, Error::Locked(_));
    let mut tx = Transaction::new(&shop.plain);
    tx.delete(&table.others, stored);
    tx.create(&table.others, Drum::new("b"));
    expect_error!(tx.commit().await, Error::Locked(_));
    expect_error!(table.others.lock("a").wait(Wait::No).await, Error::Locked(_));
    let stored = lease.commit(|it| it.litres += 1).await.unwrap();
    assert_eq!((stored.litres, stored.version()), (9, 2));
    let stored = table.others.replace(stored).await.unwrap();
    let kept = table.raw.get("a").await.unwrap();
    assert!(kept.contains_key("_fence"), "{kept:?}");
    table.others.delete(stored).await.unwrap();
}
