//! Write skew: each of two decisions is correct for the items that it read, but both decisions
//! together are wrong.

use std::sync::atomic::{AtomicU32, Ordering::SeqCst};

use dynalock::{Error, Stored, Transaction, transact};

use crate::support::{Account, FAILED, NONE, Shop, Table, cancelled, changed, codes, commit, n};

cases![
    two_people_that_leave_at_the_same_time_do_not_both_leave,
    without_the_check_both_leave,
    with_a_check_the_second_is_refused,
];

/// Two people are on call. Each person may leave only while the other person stays.
async fn on_call(shop: &Shop) -> Table<Account> {
    shop.table_of(["alice", "bob"].map(|owner| Account::new(owner, 1))).await
}

async fn left(table: &Table<Account>) -> [bool; 2] {
    let left = async |owner| table.raw.get(owner).await.unwrap()["cents"] == n(0);
    [left("alice").await, left("bob").await]
}

/// Bob leaves directly before the write of alice's decision.
fn bob_leaves(shop: &Shop, table: &Table<Account>) {
    let (client, items) = (shop.plain.clone(), table.others.clone());
    shop.rival.before("TransactWriteItems", 0, async move || {
        let items = &items;
        let unit = transact(&client, |tx| async move {
            let alice = tx.get(items, "alice").await?.unwrap();
            let bob = tx.get(items, "bob").await?.unwrap();
            assert_eq!((alice.cents, bob.cents), (1, 1));
            tx.update(items, changed(bob, |it| it.cents = 0));
            Ok::<_, Error>(())
        });
        unit.await.unwrap();
    });
}

async fn two_people_that_leave_at_the_same_time_do_not_both_leave(shop: &Shop) {
    let table = &on_call(shop).await;
    bob_leaves(shop, table);
    let runs = &AtomicU32::new(0);
    let unit = transact(&shop.client, |tx| async move {
        runs.fetch_add(1, SeqCst);
        let alice = tx.get(&table.items, "alice").await?.unwrap();
        let bob = tx.get(&table.items, "bob").await?.unwrap();
        if bob.cents == 1 {
            tx.update(&table.items, changed(alice, |it| it.cents = 0));
        }
        Ok::<_, Error>(())
    });
    unit.await.unwrap();
    assert_eq!(left(table).await, [false, true]);
    assert!(runs.load(SeqCst) > 1);
}

/// Makes the same decision based on two plain reads.
async fn alice_decides(table: &Table<Account>) -> (Stored<Account>, Stored<Account>) {
    let mut alice = table.items.get("alice").await.unwrap().unwrap();
    let bob = table.items.get("bob").await.unwrap().unwrap();
    assert_eq!(bob.cents, 1);
    alice.cents = 0;
    (alice, bob)
}

async fn without_the_check_both_leave(shop: &Shop) {
    let table = on_call(shop).await;
    bob_leaves(shop, &table);
    let (alice, _) = alice_decides(&table).await;
    commit(&shop.client, |tx| tx.update(&table.items, alice)).await.unwrap();
    assert_eq!(left(&table).await, [true, true], "the tests beside this one can fail");
}

async fn with_a_check_the_second_is_refused(shop: &Shop) {
    let table = on_call(shop).await;
    bob_leaves(shop, &table);
    let (alice, bob) = alice_decides(&table).await;
    let mut tx = Transaction::new(&shop.client);
    tx.update(&table.items, alice);
    tx.check(&table.items, &bob);
    assert_eq!(codes(&cancelled(tx.commit().await)), [NONE, FAILED]);
    assert_eq!(left(&table).await, [false, true]);
}
