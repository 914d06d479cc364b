use dynalock::{
    Error, Transaction,
    error::{InvalidTransaction, Lost},
    local::Fault,
};

use super::{action, actions};
use crate::support::{
    Archive, Product, SKEW, Shop, TTL, changed, codes, commit_under, expect_error, invalid, kill, met, millis, n,
    stolen_by, travel,
};

#[tokio::test(start_paused = true)]
async fn a_transaction_in_the_way_is_waited_for() {
    let (shop, table) = Shop::with_two::<Archive>().await;
    for reasons in [["None", "TransactionConflict"], ["TransactionConflict", "None"]] {
        shop.faults.script_on("TransactWriteItems", 0, Fault::canceled(reasons));
        table.items.update_with("a", |it| it.items += 1).await.unwrap();
    }
    assert_eq!(table.raw.get("a").await.unwrap()["items"], n(7));
    let stored = table.items.get("a").await.unwrap().unwrap();
    shop.faults.script_on("TransactWriteItems", 0, Fault::canceled(["None", "TransactionConflict"]));
    let mut tx = Transaction::new(&shop.client).attempts(1);
    tx.replace(&table.items, stored);
    let last = expect_error!(tx.commit().await, Error::Exhausted { last, .. } => last);
    let cancelled = expect_error!(Err::<(), _>(*last), Error::Cancelled(cancelled) => cancelled);
    assert_eq!(codes(&cancelled), ["TransactionConflict"]);
}

#[tokio::test(start_paused = true)]
async fn a_transaction_brings_the_row_of_each_item_that_it_writes() {
    let (shop, table) = Shop::with_two::<Archive>().await;
    let products = shop.table::<Product>().await;
    let [first, second] = ["a", "b"].map(|id| table.items.get(id));
    let (mut stale, second) = (first.await.unwrap().unwrap(), second.await.unwrap().unwrap());
    stale.items = 6;
    let mut tx = Transaction::new(&shop.client);
    let create = tx.create(&products.items, Product::new("p", 1));
    let update = tx.update(&table.items, stale.clone());
    tx.check(&table.items, &second);
    let place = tx.create(&table.items, Archive::new("c", 1));
    let done = tx.commit().await.unwrap();
    let kinds: Vec<_> = shop.actions().into_iter().map(|(kind, _)| kind).collect();
    assert_eq!(kinds, ["Put", "Update", "ConditionCheck", "ConditionCheck", "Put", "ConditionCheck"]);
    let updated = done.get(update).unwrap();
    assert_eq!((done.get(create).unwrap().version(), updated.version(), done.get(place).unwrap().version()), (1, 2, 1));

    // The reasons are those of the calls, although the request has other actions between them.
    let mut tx = Transaction::new(&shop.client);
    tx.delete(&table.items, updated);
    tx.update(&table.items, stale);
    let result = tx.commit().await;
    expect_error!(result, Error::InvalidTransaction(InvalidTransaction::SameItem { first: 0, second: 1, .. }));
    table.others.update_with("b", |it| it.items = 9).await.unwrap();
    let mut tx = Transaction::new(&shop.client);
    tx.create(&table.items, Archive::new("d", 1));
    let changed = changed(second, |it| it.items = 1);
    let update = tx.update(&table.items, changed);
    tx.create(&table.items, Archive::new("a", 1));
    let cancelled = expect_error!(tx.commit().await, Error::Cancelled(cancelled) => cancelled);
    assert_eq!(codes(&cancelled), ["None", "ConditionalCheckFailed", "ConditionalCheckFailed"]);
    let now = met(&cancelled, &update).unwrap();
    assert_eq!((now.items, now.version()), (9, 2));
}

#[tokio::test(start_paused = true)]
async fn the_rows_count_among_the_hundred_items_of_a_transaction() {
    let (shop, table) = Shop::with_two::<Archive>().await;
    let mut tx = Transaction::new(&shop.client);
    for id in 0..51 {
        tx.create(&table.items, Archive::new(&format!("n{id}"), 1));
    }
    let why = invalid(tx.commit().await);
    assert!(matches!(why, InvalidTransaction::TooManyItems { items: 102, .. }), "{why:?}");
    assert!(why.to_string().contains("a separate lease row counts as an item"), "{why}");
    let mut tx = Transaction::new(&shop.client);
    for id in 0..50 {
        tx.create(&table.items, Archive::new(&format!("n{id}"), 1));
    }
    tx.commit().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_transaction_under_a_guard_asks_the_row_once_and_happens_only_while_the_lease_is_held() {
    let (shop, table) = Shop::with_two::<Archive>().await;
    let lease = table.items.lock("a").heartbeat(false).await.unwrap();
    let check = "ConditionCheck";
    let stored = table.items.get("a").await.unwrap().unwrap();
    commit_under(&lease, &shop.client, |tx| tx.create(&table.items, Archive::new("c", 1))).await.unwrap();
    assert_eq!(actions(&shop), [action(check, "a#lock"), action("Put", "c"), action(check, "c#lock")]);
    let mut tx = Transaction::new(&shop.client);
    tx.check(&table.items, &stored);
    tx.update(&table.items, stored.clone());
    tx.guard(&lease);
    tx.guard(&lease);
    tx.commit().await.unwrap();
    assert_eq!(actions(&shop), [action(check, "a"), action(check, "a#lock")]);

    travel(TTL + SKEW + millis(10)).await;
    let next = table.others.lock("a").await.unwrap();
    let result = commit_under(&lease, &shop.client, |tx| tx.create(&table.items, Archive::new("d", 1))).await;
    expect_error!(result, Error::Lost(Lost::Stolen { .. }));
    drop(next);
    assert_eq!(table.raw.get("d").await, None);
}

#[tokio::test(start_paused = true)]
async fn a_unit_of_work_runs_again_after_a_conflict_and_happens_under_a_guard() {
    let (shop, table) = Shop::with_two::<Archive>().await;
    let items = &table.items;
    shop.rival.before_through(&table.others, "TransactWriteItems", 0, async |others| {
        others.update_with("a", |it| it.items += 100).await.unwrap();
    });
    let lease = &items.lock("b").heartbeat(false).await.unwrap();
    let add = async || {
        dynalock::transact(&shop.client, |tx| async move {
            tx.guard(lease);
            for id in ["a", "b"] {
                let it = changed(tx.get(items, id).await?.expect("an item"), |it| it.items += 1);
                tx.update(items, it);
            }
            Ok::<_, Error>(())
        })
        .await
    };
    add().await.unwrap();
    let pages = async |id| table.others.get(id).await.unwrap().unwrap().items;
    assert_eq!((pages("a").await, pages("b").await), (106, 6));
    travel(TTL + SKEW + millis(10)).await;
    let next = table.others.lock("b").await.unwrap();
    let lost = expect_error!(add().await, Error::Lost(lost) => lost);
    assert_eq!(stolen_by(&lost), (next.owner(), next.fence()));
}

#[tokio::test(start_paused = true)]
async fn a_transaction_with_a_callers_token_is_refused_until_the_expired_lease_is_removed() {
    let (shop, table) = Shop::with_two::<Archive>().await;
    kill(table.others.lock("a").await.unwrap());
    travel(TTL + SKEW + millis(10)).await;
    let stored = table.items.get("a").await.unwrap().unwrap();
    let commit = async || {
        let mut tx = Transaction::new(&shop.client).token("order-7");
        tx.replace(&table.items, stored.clone());
        tx.commit().await.map(drop)
    };
    // A transaction with other content would need another token.
    expect_error!(commit().await, Error::Locked(_));
    table.others.lock("a").await.unwrap().release().await.unwrap();
    commit().await.unwrap();
}
