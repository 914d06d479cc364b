//! Units of work that return without a write. The result of a unit of work is based on items that
//! existed at the same moment, if the unit can know this.

use std::sync::atomic::{AtomicU32, Ordering::SeqCst};

use dynalock::{Repository, Transaction, Tx, transact};

use crate::support::{Account, Refused, Shop, Table, n};

cases![
    items_of_one_run_may_be_of_different_moments,
    a_snapshot_is_validated_and_decided_anew,
    a_snapshot_that_is_whole_costs_one_request_more,
    a_snapshot_of_one_item_costs_nothing_more,
    a_snapshot_that_grows_is_validated_again,
    a_refusal_on_kept_and_fresh_items_is_decided_anew,
    a_refusal_on_kept_items_of_different_moments_is_decided_anew,
    a_result_without_writes_on_kept_and_fresh_items_is_decided_anew,
];

/// Accounts that together hold 100 at each moment.
async fn accounts(shop: &Shop) -> Table<Account> {
    shop.table_of([("a", 60), ("b", 30), ("c", 10), ("log", 0)].map(|(owner, cents)| Account::new(owner, cents))).await
}

/// Lets another caller move 10 from one account to another, in one transaction, before the `nth`
/// request of an operation.
fn moves(shop: &Shop, table: &Table<Account>, operation: &str, nth: usize, from: &'static str, to: &'static str) {
    let (client, items) = (shop.plain.clone(), table.others.clone());
    shop.rival.before(operation, nth, async move || {
        let mut from = items.get(from).await.unwrap().unwrap();
        let mut to = items.get(to).await.unwrap().unwrap();
        from.cents -= 10;
        to.cents += 10;
        let mut tx = Transaction::new(&client);
        tx.update(&items, from);
        tx.update(&items, to);
        tx.commit().await.unwrap();
    });
}

async fn sum<const N: usize>(tx: &Tx, items: &Repository<Account>, owners: [&str; N]) -> Result<i64, Refused> {
    let mut sum = 0;
    for owner in owners {
        sum += tx.get(items, owner).await?.unwrap().cents;
    }
    Ok(sum)
}

async fn items_of_one_run_may_be_of_different_moments(shop: &Shop) {
    let table = &accounts(shop).await;
    moves(shop, table, "GetItem", 1, "a", "b");
    let unit = transact(&shop.client, |tx| async move { sum(&tx, &table.items, ["a", "b", "c"]).await });
    assert_eq!(unit.await.unwrap(), 110, "as documented: nothing was written, and no snapshot asked for");
    assert_eq!((shop.counts(["GetItem"]), shop.requests()), ([3], 3));
}

async fn a_snapshot_is_validated_and_decided_anew(shop: &Shop) {
    for refuse in [false, true] {
        let table = &accounts(shop).await;
        moves(shop, table, "GetItem", 1, "a", "b");
        let before = shop.counts(["GetItem", "TransactGetItems", "TransactWriteItems"]);
        let runs = &AtomicU32::new(0);
        let unit = transact(&shop.client, |tx| async move {
            runs.fetch_add(1, SeqCst);
            let sum = sum(&tx, &table.items, ["a", "b", "c"]).await?;
            if refuse { Refused::here(sum.to_string()) } else { Ok(sum) }
        });
        match unit.snapshot().await {
            Ok(sum) => assert_eq!((refuse, sum), (false, 100)),
            Err(Refused::Here(why)) => assert_eq!((refuse, &*why), (true, "100")),
            Err(Refused::There(error)) => panic!("{error:?}"),
        }
        let after = shop.counts(["GetItem", "TransactGetItems", "TransactWriteItems"]);
        assert_eq!(runs.load(SeqCst), 2);
        assert_eq!([after[0] - before[0], after[1] - before[1], after[2] - before[2]], [3, 1, 0]);
    }
}

async fn a_snapshot_that_is_whole_costs_one_request_more(shop: &Shop) {
    let table = &accounts(shop).await;
    let unit = transact(&shop.client, |tx| async move {
        assert_eq!(tx.get(&table.items, "nobody").await?, None);
        sum(&tx, &table.items, ["a", "b", "c"]).await
    });
    assert_eq!(unit.snapshot().await.unwrap(), 100);
    assert_eq!((shop.counts(["GetItem", "TransactGetItems"]), shop.requests()), ([4, 1], 5));
}

async fn a_snapshot_of_one_item_costs_nothing_more(shop: &Shop) {
    let table = &accounts(shop).await;
    let unit = transact(&shop.client, |tx| async move { sum(&tx, &table.items, ["a", "a"]).await });
    assert_eq!(unit.snapshot().await.unwrap(), 120);
    assert_eq!((shop.counts(["GetItem"]), shop.requests()), ([1], 1));
}

async fn a_snapshot_that_grows_is_validated_again(shop: &Shop) {
    let table = &accounts(shop).await;
    moves(shop, table, "GetItem", 1, "a", "b");
    moves(shop, table, "GetItem", 2, "a", "c");
    let unit = transact(&shop.client, |tx| async move {
        let two = sum(&tx, &table.items, ["a", "b"]).await?;
        // The first run sees 60 and 40.
        if two == 100 { Ok::<_, Refused>(-1) } else { Ok(two + sum(&tx, &table.items, ["c"]).await?) }
    });
    assert_eq!(unit.snapshot().await.unwrap(), 100);
    assert_eq!(shop.counts(["GetItem", "TransactGetItems"]), [3, 2]);
}

/// A unit of work that writes in its first run. After a conflict, the unit also reads one more
/// account. The unit returns an error if the sum of the accounts has changed, although the sum is
/// the same at each moment.
async fn look_closer(
    shop: &Shop,
    table: &Table<Account>,
    closer: impl Fn(i64) -> Result<i64, Refused> + Sync,
) -> (Result<i64, Refused>, u32) {
    let runs = &AtomicU32::new(0);
    let closer = &closer;
    let unit = transact(&shop.client, |tx| async move {
        let run = runs.fetch_add(1, SeqCst);
        let two = sum(&tx, &table.items, ["a", "b"]).await?;
        if run == 0 {
            tx.create(&table.items, Account::new("new", two));
            return Ok(0);
        }
        closer(two + sum(&tx, &table.items, ["c"]).await?)
    });
    let result = unit.await;
    (result, runs.load(SeqCst))
}

async fn a_refusal_on_kept_and_fresh_items_is_decided_anew(shop: &Shop) {
    let table = accounts(shop).await;
    moves(shop, &table, "TransactWriteItems", 0, "a", "b");
    moves(shop, &table, "GetItem", 2, "a", "c");
    let check = |sum| if sum == 100 { Ok(sum) } else { Refused::here(format!("{sum}, and it must be 100")) };
    let (result, runs) = look_closer(shop, &table, check).await;
    assert_eq!((result.unwrap(), runs), (100, 3), "the second run saw 50, 40 and 20");
    assert_eq!(table.raw.get("new").await, None);
    assert_eq!(shop.counts(["GetItem", "TransactWriteItems"]), [6, 1]);
}

async fn a_result_without_writes_on_kept_and_fresh_items_is_decided_anew(shop: &Shop) {
    let table = accounts(shop).await;
    moves(shop, &table, "TransactWriteItems", 0, "a", "b");
    moves(shop, &table, "GetItem", 2, "a", "c");
    let (result, runs) = look_closer(shop, &table, Ok).await;
    assert_eq!((result.unwrap(), runs), (100, 3), "the second run saw 50, 40 and 20");
}

async fn a_refusal_on_kept_items_of_different_moments_is_decided_anew(shop: &Shop) {
    let table = &accounts(shop).await;
    // The first run reads all items, the second run only the items that it writes, and the third
    // run reads all items again.
    moves(shop, table, "TransactWriteItems", 0, "a", "log");
    moves(shop, table, "TransactWriteItems", 1, "a", "b");
    let runs = &AtomicU32::new(0);
    let unit = transact(&shop.client, |tx| async move {
        let run = runs.fetch_add(1, SeqCst);
        let owners = if run == 1 { &["a"][..] } else { &["a", "b", "c", "log"] };
        let mut sum = 0;
        for owner in owners {
            sum += tx.get(&table.items, *owner).await?.unwrap().cents;
        }
        match (run, sum) {
            (0 | 1, _) => {
                tx.create(&table.items, Account::new("new", sum));
                Ok(0)
            }
            (_, 100) => Ok(sum),
            _ => Refused::here(format!("{sum}, and it must be 100")),
        }
    });
    assert_eq!(unit.await.unwrap(), 100);
    assert_eq!(runs.load(SeqCst), 4, "the third run saw `b` as it was in the first");
    assert_eq!(table.raw.get("new").await, None);
    assert_eq!(table.raw.get("b").await.unwrap()["cents"], n(40));
}
