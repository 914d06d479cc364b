use dynalock::Error;

use super::{action, actions};
use crate::support::{Archive, SKEW, Shop, TTL, commit, expect_error, kill, millis, travel};

#[tokio::test(start_paused = true)]
async fn a_create_of_an_item_that_was_deleted_under_its_lease_is_refused() {
    let (_, table) = Shop::with_two::<Archive>().await;
    let lease = table.items.lock("a").await.unwrap();
    table.others.delete_unchecked("a").await.unwrap();
    expect_error!(table.others.create(Archive::new("a", 0)).await, Error::Locked(_));
    table.others.create(Archive::new("a", 1)).ignoring_lease().await.unwrap();
    let stored = lease.commit(|it| it.items += 1).await.unwrap();
    assert_eq!(stored.items, 2);
}

#[tokio::test(start_paused = true)]
async fn an_item_that_was_never_leased_has_no_lease_row() {
    let (shop, table) = Shop::with_two::<Archive>().await;
    let stored = table.items.update_with("a", |it| it.items += 1).await.unwrap();
    assert_eq!(actions(&shop), [action("Update", "a"), action("ConditionCheck", "a#lock")]);
    let stored = table.items.replace(stored).await.unwrap();
    assert_eq!(actions(&shop), [action("Put", "a"), action("ConditionCheck", "a#lock")]);
    table.items.delete(stored).await.unwrap();
    assert_eq!(actions(&shop), [action("Delete", "a"), action("ConditionCheck", "a#lock")]);
    table.items.create(Archive::new("a", 1)).await.unwrap();
    assert_eq!(actions(&shop), [action("Put", "a"), action("ConditionCheck", "a#lock")]);
    assert_eq!(table.raw.get("a#lock").await, None);
    let transactions = shop.counts(["TransactWriteItems"]);
    table.items.update_with("a", |it| it.items += 1).ignoring_lease().await.unwrap();
    table.items.delete_unchecked("a").await.unwrap();
    assert_eq!(shop.counts(["TransactWriteItems"]), transactions);
    assert_eq!(shop.counts(["UpdateItem", "DeleteItem"]), [1, 1]);
}

#[tokio::test(start_paused = true)]
async fn a_conflict_is_one_still_with_the_current_item() {
    let (shop, table) = Shop::with_two::<Archive>().await;
    let mut stale = table.items.get("a").await.unwrap().unwrap();
    table.others.update_with("a", |it| it.items = 7).await.unwrap();
    stale.items = 1;
    let conflict = expect_error!(table.items.update(stale.clone()).await, Error::Conflict(conflict) => conflict);
    assert_eq!(conflict.current::<Archive>().unwrap().unwrap().items, 7);
    assert_eq!((conflict.expected(), conflict.found()), (Some(1), Some(2)));
    expect_error!(table.items.create(Archive::new("a", 1)).await, Error::AlreadyExists(_));
    expect_error!(table.items.delete(stale.clone()).exactly_once().await, Error::Conflict(_));

    // Of a dead lease and a conflict, the conflict is the reason.
    kill(table.others.lock("a").await.unwrap());
    travel(TTL + SKEW + millis(10)).await;
    expect_error!(table.items.update(stale.clone()).await, Error::Conflict(_));
    expect_error!(commit(&shop.client, |tx| tx.update(&table.items, stale.clone())).await, Error::Cancelled(_));
    // Of one that is alive, the lease.
    let lease = table.others.lock("a").await.unwrap();
    expect_error!(table.items.update(stale).await, Error::Locked(_));
    lease.release().await.unwrap();
}
