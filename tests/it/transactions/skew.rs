//! Write skew with real concurrency. Write skew happens only to callers that do not check the items
//! that they read.

use dynalock::{Error, transact};

use crate::support::{Account, Shop, Table, changed, commit, secs};

/// People on call. Each person may leave only while another person stays.
async fn on_call(shop: &Shop, round: usize) -> Table<Account> {
    shop.table_of(owners(round).map(|owner| Account::new(&owner, 1))).await
}

fn owners(round: usize) -> [String; 2] {
    [format!("alice {round}"), format!("bob {round}")]
}

async fn staying(table: &Table<Account>, round: usize) -> i64 {
    let mut staying = 0;
    for owner in owners(round) {
        staying += table.others.get(owner).await.unwrap().unwrap().cents;
    }
    staying
}

async fn leave_in_a_unit(shop: &Shop, table: &Table<Account>, me: String, other: String) {
    let (me, other) = (&me, &other);
    let unit = transact(&shop.client, |tx| async move {
        let mine = tx.get(&table.items, me.as_str()).await?.unwrap();
        if tx.get(&table.items, other.as_str()).await?.unwrap().cents == 1 {
            tx.update(&table.items, changed(mine, |it| it.cents = 0));
        }
        Ok::<_, Error>(())
    });
    unit.deadline(secs(60)).await.unwrap();
}

async fn leave_without_a_check(shop: &Shop, table: &Table<Account>, me: String, other: String) {
    let mine = table.items.get(me.as_str()).await.unwrap().unwrap();
    if table.items.get(other).await.unwrap().unwrap().cents == 1 {
        commit(&shop.client, |tx| tx.update(&table.items, changed(mine, |it| it.cents = 0))).await.unwrap();
    }
}

/// Both people decide at the same time in each round. Returns the people that stay.
macro_rules! rounds {
    ($leave:path) => {{
        let shop = Shop::without_faults();
        let mut stayed = Vec::new();
        for round in 0..40 {
            let table = on_call(&shop, round).await;
            let [alice, bob] = owners(round);
            tokio::join!(
                $leave(&shop, &table, alice.clone(), bob.clone()),
                $leave(&shop, &table, bob.clone(), alice.clone())
            );
            stayed.push(staying(&table, round).await);
        }
        stayed
    }};
}

#[tokio::test]
async fn of_two_people_that_leave_at_the_same_time_one_stays() {
    let stayed = rounds!(leave_in_a_unit);
    assert!(stayed.iter().all(|staying| *staying == 1), "{stayed:?}");
}

#[tokio::test]
async fn without_the_check_nobody_stays() {
    let stayed = rounds!(leave_without_a_check);
    assert!(stayed.contains(&0), "the test above can fail");
}
