//! A unit of work after another caller has written first.

use std::sync::atomic::{AtomicU32, Ordering::SeqCst};

use dynalock::{Error, Pace, transact};

use crate::support::{Account, Refused, Shop, Table, changed, n};

cases![
    an_immediate_retry_reads_nothing_and_one_after_a_pause_everything,
    the_pace_says_how_many_retries_are_immediate,
    a_plain_write_is_retried_without_a_read_too,
    an_item_that_is_gone_is_read_again,
    a_refusal_after_a_conflict_ends_it,
    runs_may_read_other_items,
];

async fn accounts(shop: &Shop) -> Table<Account> {
    shop.table_of(["alice", "bob"].map(|owner| Account::new(owner, 100))).await
}

/// Lets another caller pay a cent to an account before each of the next requests of an operation.
fn interfere(shop: &Shop, table: &Table<Account>, operation: &str, times: usize) {
    for nth in 0..times {
        let others = table.others.clone();
        let owner = ["alice", "bob"][nth % 2];
        shop.rival.before(operation, nth, async move || {
            others.update_with(owner, |account| account.cents += 1).await.unwrap();
        });
    }
}

/// Runs a transfer, and returns how often its closure ran.
async fn transfer(shop: &Shop, table: &Table<Account>, pace: Pace) -> u32 {
    let runs = &AtomicU32::new(0);
    let unit = transact(&shop.client, |tx| async move {
        runs.fetch_add(1, SeqCst);
        let mut from = tx.get(&table.items, "alice").await?.unwrap();
        let mut to = tx.get(&table.items, "bob").await?.unwrap();
        from.cents -= 30;
        to.cents += 30;
        tx.update(&table.items, from);
        tx.update(&table.items, to);
        Ok::<_, Error>(())
    });
    unit.pace(pace).await.unwrap();
    runs.load(SeqCst)
}

async fn an_immediate_retry_reads_nothing_and_one_after_a_pause_everything(shop: &Shop) {
    for (conflicts, reads) in [(0, 2), (1, 2), (2, 2), (3, 2), (4, 4), (16, 4), (17, 6)] {
        let table = accounts(shop).await;
        interfere(shop, &table, "TransactWriteItems", conflicts);
        let before = shop.counts(["GetItem", "TransactWriteItems"]);
        let runs = transfer(shop, &table, Pace::Balanced).await;
        let after = shop.counts(["GetItem", "TransactWriteItems"]);
        assert_eq!(usize::try_from(runs).unwrap(), conflicts + 1);
        assert_eq!([after[0] - before[0], after[1] - before[1]], [reads, conflicts + 1], "{conflicts} conflicts");
        let cents = async |owner| table.others.get(owner).await.unwrap().unwrap().cents;
        let paid = i64::try_from(conflicts).unwrap();
        assert_eq!([cents("alice").await, cents("bob").await], [70 + (paid + 1) / 2, 130 + paid / 2]);
    }
}

async fn the_pace_says_how_many_retries_are_immediate(shop: &Shop) {
    for (pace, reads) in [(Pace::Latency, 2), (Pace::Economy, 8)] {
        let table = accounts(shop).await;
        interfere(shop, &table, "TransactWriteItems", 3);
        let [before] = shop.counts(["GetItem"]);
        assert_eq!(transfer(shop, &table, pace).await, 4);
        assert_eq!(shop.counts(["GetItem"])[0] - before, reads, "{pace:?}");
    }
}

async fn a_plain_write_is_retried_without_a_read_too(shop: &Shop) {
    let table = &accounts(shop).await;
    interfere(shop, table, "UpdateItem", 1);
    let pay = transact(&shop.client, |tx| async move {
        let alice = changed(tx.get(&table.items, "alice").await?.unwrap(), |it| it.cents += 10);
        tx.update(&table.items, alice);
        Ok::<_, Error>(())
    });
    pay.await.unwrap();
    assert_eq!(shop.counts(["GetItem", "UpdateItem", "TransactWriteItems"]), [1, 2, 0]);
    assert_eq!(table.raw.get("alice").await.unwrap()["cents"], n(111));
}

async fn an_item_that_is_gone_is_read_again(shop: &Shop) {
    let table = &accounts(shop).await;
    let raw = table.raw.clone();
    shop.rival.before("TransactWriteItems", 0, async move || raw.delete("bob").await);
    let runs = &AtomicU32::new(0);
    let close = transact(&shop.client, |tx| async move {
        runs.fetch_add(1, SeqCst);
        let mut alice = tx.get(&table.items, "alice").await?.unwrap();
        if let Some(bob) = tx.get(&table.items, "bob").await? {
            alice.cents += bob.cents;
            tx.delete(&table.items, bob);
        }
        tx.update(&table.items, changed(alice, |it| it.transfers += 1));
        Ok::<_, Error>(())
    });
    close.await.unwrap();
    let alice = table.raw.get("alice").await.unwrap();
    assert_eq!((&alice["cents"], &alice["transfers"], runs.load(SeqCst)), (&n(100), &n(1), 2));
    assert_eq!(shop.counts(["GetItem", "TransactWriteItems"]), [3, 2]);
}

async fn a_refusal_after_a_conflict_ends_it(shop: &Shop) {
    let table = &accounts(shop).await;
    shop.rival.before_through(&table.others, "TransactWriteItems", 0, async |others| {
        others.update_with("alice", |alice| alice.cents = 10).await.unwrap();
    });
    let unit = transact(&shop.client, |tx| async move {
        let from = tx.get(&table.items, "alice").await?.unwrap();
        if from.cents < 30 {
            return Refused::here(format!("only {}", from.cents));
        }
        tx.update(&table.items, changed(from, |it| it.cents -= 30));
        tx.create(&table.items, Account::new("carol", 30));
        Ok(())
    });
    assert!(matches!(unit.await, Err(Refused::Here(why)) if why == "only 10"));
    assert_eq!(table.raw.get("alice").await.unwrap()["cents"], n(10));
    assert_eq!(table.raw.get("carol").await, None);
    assert_eq!(shop.counts(["GetItem", "TransactWriteItems"]), [1, 1]);
}

async fn runs_may_read_other_items(shop: &Shop) {
    let table = &accounts(shop).await;
    shop.rival.before_through(&table.others, "TransactWriteItems", 0, async |others| {
        others.update_with("alice", |alice| alice.cents = 0).await.unwrap();
    });
    // The account with enough money pays: alice at first, bob in the end.
    let unit = transact(&shop.client, |tx| async move {
        for owner in ["alice", "bob"] {
            let payer = tx.get(&table.items, owner).await?.unwrap();
            if payer.cents >= 30 {
                tx.update(&table.items, changed(payer, |it| it.cents -= 30));
                tx.create(&table.items, Account::new("carol", 30));
                break;
            }
        }
        Ok::<_, Error>(())
    });
    unit.await.unwrap();
    assert_eq!(table.raw.get("alice").await.unwrap()["cents"], n(0));
    assert_eq!(table.raw.get("bob").await.unwrap()["cents"], n(70));
    let kinds: Vec<_> = shop.actions().into_iter().map(|(kind, _)| kind).collect();
    assert_eq!(kinds, ["Update", "Put", "ConditionCheck"], "that alice has nothing is checked");
}
