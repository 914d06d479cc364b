//! Creates, updates and deletes of many items: each item is checked separately.

use dynalock::{
    Error,
    error::InvalidSetting,
    local::{Fault, Faults},
    request::Deleted,
};

use super::{Crowd, all, products, stocks};
use crate::support::{Archive, LOST_REPLIES, Product, Shop, expect_error, millis, now, secs, travel};

#[tokio::test(start_paused = true)]
async fn a_thousand_items_are_created_over_lost_replies_and_throttling() {
    let faults = Faults::seeded(7).rate(Fault::LoseReply, 0.01).rate(Fault::Throttle, 0.01).only(["PutItem"]);
    let shop = Shop::in_process(faults);
    let table = shop.table::<Product>().await;
    let created = all(table.items.create_many(products(1_000)).await);
    assert_eq!(stocks(&created), (0..1_000).collect::<Vec<_>>());
    assert!(created.iter().all(|product| product.version() == 1));
    assert!(shop.faults.count("PutItem") > 1_000);
    assert_eq!(table.others.scan().count().await.unwrap(), 1_000);
}

#[tokio::test(start_paused = true)]
async fn a_lost_reply_is_resolved_for_its_item_alone() {
    for fault in LOST_REPLIES {
        let shop = Shop::in_process(Faults::none());
        let table = shop.table::<Product>().await;
        shop.faults.script_on("PutItem", 3, fault.clone());
        let created = all(table.items.create_many(products(10)).await);
        assert_eq!(stocks(&created), (0..10).collect::<Vec<_>>(), "{fault:?}");
        assert_eq!(shop.counts(["PutItem"]), [11], "{fault:?}");
        let changed = created.into_iter().map(|mut product| {
            product.stock += 1;
            product
        });
        shop.faults.script_on("UpdateItem", 3, fault.clone());
        let updated = all(table.items.update_many(changed).await);
        assert!(updated.iter().all(|product| product.version() == 2), "{fault:?}");
        assert_eq!(shop.counts(["UpdateItem"]), [11], "{fault:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_number_of_requests_at_the_same_time_is_bounded() {
    let shop = Shop::in_process(Faults::none());
    let table = shop.table::<Product>().await;
    let crowd = Crowd::of(&shop, "PutItem");
    let updates = Crowd::of(&shop, "UpdateItem");
    let start = now();
    let mut created = all(table.items.create_many(products(40)).await);
    assert_eq!(crowd.most(), 16);
    assert_eq!(start.elapsed().as_millis() / 100, 3, "three rounds of 16");
    for product in &mut created {
        product.stock += 1;
    }
    all(table.items.update_many(created).concurrency(3).await);
    assert_eq!(updates.most(), 3);
    let more = (100..140).map(|number| Product::new(&number.to_string(), number));
    all(table.items.create_many(more).concurrency(1_000).await);
    assert_eq!(crowd.most(), 40);
    all(table.items.create_many((200..203).map(|number| Product::new(&number.to_string(), 1))).concurrency(1).await);
    assert_eq!(crowd.most(), 1);
}

#[tokio::test(start_paused = true)]
async fn the_deadline_is_that_of_one_item() {
    let shop = Shop::in_process(Faults::none());
    let table = shop.table::<Product>().await;
    let _slow = Crowd::of(&shop, "PutItem");
    let start = now();
    all(table.items.create_many(products(40)).concurrency(2).deadline(millis(150)).await);
    assert!(start.elapsed() >= secs(2), "{:?}", start.elapsed());
}

#[tokio::test(start_paused = true)]
async fn a_conflict_in_the_middle_is_the_result_of_its_item_alone() {
    let shop = Shop::in_process(Faults::none());
    let table = shop.table::<Product>().await;
    let mut read = all(table.others.create_many(products(20)).await);
    table.others.update_with("7", |product| product.note = Some("first".into())).await.unwrap();
    table.raw.delete("8").await;
    for product in &mut read {
        product.stock += 100;
    }
    let results = table.items.update_many(read).await;
    for (number, result) in (0..).zip(results) {
        match (number, result) {
            (7, result) => {
                let conflict = expect_error!(result, Error::Conflict(conflict) => conflict);
                assert_eq!((conflict.expected(), conflict.found()), (Some(1), Some(2)));
            }
            (8, result) => {
                let conflict = expect_error!(result, Error::Conflict(conflict) => conflict);
                assert_eq!(conflict.found(), None);
            }
            (_, result) => assert_eq!(result.unwrap().stock, number + 100),
        }
    }
    assert_eq!(shop.counts(["UpdateItem"]), [20]);
}

#[tokio::test(start_paused = true)]
async fn values_with_one_key_are_written_in_their_order() {
    let shop = Shop::in_process(Faults::none());
    let table = shop.table::<Product>().await;
    // The first request is the slowest. If a later request did not wait for the answer to the first
    // request, it would overtake the first request.
    shop.rival.before("PutItem", 0, || travel(millis(900)));
    let values = [("a", 1), ("b", 2), ("a", 3), ("c", 4), ("a", 5)];
    let mut results = table.items.create_many(values.map(|(sku, stock)| Product::new(sku, stock))).await.into_iter();
    let mut next = || results.next().unwrap();
    let (first, second) = (next().unwrap(), next().unwrap());
    assert_eq!((first.stock, second.stock), (1, 2));
    let exists = expect_error!(next(), Error::AlreadyExists(conflict) => conflict);
    assert_eq!(exists.found(), Some(1));
    assert_eq!(next().unwrap().stock, 4);
    expect_error!(next(), Error::AlreadyExists(_));
    assert_eq!(table.items.get("a").await.unwrap().unwrap().stock, 1);

    let [mut one, mut other] = [first.clone(), first];
    (one.stock, other.stock) = (7, 8);
    shop.rival.before("UpdateItem", 0, || travel(millis(900)));
    let mut results = table.items.update_many([one, other]).await.into_iter();
    assert_eq!(results.next().unwrap().unwrap().stock, 7);
    expect_error!(results.next().unwrap(), Error::Conflict(_));
}

#[tokio::test(start_paused = true)]
async fn a_failed_item_does_not_hold_back_the_next_one_with_its_key() {
    let shop = Shop::in_process(Faults::none());
    let table = shop.table::<Product>().await;
    shop.faults.script_on("PutItem", 0, Fault::AccessDenied);
    let mut results = table.items.create_many([Product::new("a", 1), Product::new("a", 2)]).await.into_iter();
    expect_error!(results.next().unwrap(), Error::Rejected(_));
    assert_eq!(results.next().unwrap().unwrap().stock, 2);
}

#[tokio::test(start_paused = true)]
async fn items_that_are_throttled_for_ever_each_end_at_their_deadline() {
    let shop = Shop::in_process(Faults::none());
    let table = shop.table::<Product>().await;
    shop.faults.always(Fault::Throttle);
    let start = now();
    let results = table.items.create_many(products(4)).concurrency(2).await;
    assert_eq!(results.len(), 4);
    for result in results {
        let last = expect_error!(result, Error::Exhausted { last, .. } => last);
        assert!(matches!(*last, Error::Throttled(_)), "{last:?}");
    }
    assert!((secs(5)..=secs(10)).contains(&start.elapsed()), "{:?}", start.elapsed());
    shop.faults.clear();
    assert_eq!(table.others.scan().count().await.unwrap(), 0);
}

#[tokio::test(start_paused = true)]
async fn deletes_of_many_are_checked() {
    let shop = Shop::in_process(Faults::none());
    let table = shop.table::<Product>().await;
    let read = all(table.others.create_many(products(10)).await);
    table.others.update_with("4", |product| product.stock = 9).await.unwrap();
    shop.faults.script_on("DeleteItem", 0, Fault::LoseReply);
    let mut uncertain = 0;
    for (number, result) in table.items.delete_many(read).await.into_iter().enumerate() {
        match number {
            4 => expect_error!(result, Error::Conflict(_)),
            _ => {
                let Deleted { certain, .. } = result.unwrap();
                uncertain += usize::from(!certain);
            }
        }
    }
    assert_eq!(uncertain, 1, "the delete whose reply was lost");
    let left = table.others.scan().collect().await.unwrap();
    assert_eq!(stocks(&left), [9]);
}

#[tokio::test(start_paused = true)]
async fn an_empty_batch_sends_nothing() {
    let shop = Shop::in_process(Faults::none());
    let table = shop.table::<Product>().await;
    assert!(table.items.create_many([]).await.is_empty());
    assert!(table.items.update_many([]).await.is_empty());
    assert!(table.items.delete_many([]).await.is_empty());
    assert!(table.items.import_unchecked([]).await.is_empty());
    assert!(table.items.create_many([]).stream().next().await.is_none());
    assert_eq!(shop.requests(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_setting_that_allows_no_request_is_the_error_of_each_item() {
    let shop = Shop::in_process(Faults::none());
    let table = shop.table::<Product>().await;
    for result in table.items.create_many(products(2)).concurrency(0).await {
        expect_error!(result, Error::InvalidSetting(InvalidSetting::Concurrency));
    }
    for result in table.items.import_unchecked(products(2)).attempts(0).await {
        expect_error!(result, Error::InvalidSetting(InvalidSetting::Attempts));
    }
    for result in table.items.import_unchecked(products(2)).deadline(millis(0)).await {
        expect_error!(result, Error::Exhausted { .. });
    }
    for result in table.items.create_many(products(2)).deadline(millis(0)).await {
        expect_error!(result, Error::Exhausted { .. });
    }
    assert_eq!(shop.requests(), 0);
}

#[tokio::test(start_paused = true)]
async fn values_without_changes_send_nothing() {
    let shop = Shop::in_process(Faults::none());
    let table = shop.table::<Product>().await;
    let read = all(table.others.create_many(products(3)).await);
    let same = all(table.items.update_many(read.clone()).await);
    assert_eq!(same, read);
    assert_eq!(shop.requests(), 0);
}

#[tokio::test(start_paused = true)]
async fn items_with_separate_leases_are_created_in_transactions() {
    let shop = Shop::in_process(Faults::none());
    let table = shop.table::<Archive>().await;
    let held = table.others.lock("b").await;
    expect_error!(held, Error::NotFound { .. });
    let created = all(table.items.create_many(["a", "b"].map(|id| Archive::new(id, 1))).await);
    assert_eq!(created.len(), 2);
    assert_eq!(shop.counts(["TransactWriteItems", "PutItem"]), [2, 0]);

    let _held = table.others.lock("b").await.unwrap();
    let mut changed = created;
    for archive in &mut changed {
        archive.items = 2;
    }
    let mut results = table.items.update_many(changed.clone()).await.into_iter();
    assert_eq!(results.next().unwrap().unwrap().version(), 2);
    expect_error!(results.next().unwrap(), Error::Locked(_));
    let results = table.items.update_many(changed.into_iter().skip(1)).ignoring_lease().await;
    assert_eq!(all(results)[0].version(), 2);
}

#[tokio::test(start_paused = true)]
async fn each_item_may_be_written_exactly_once() {
    let shop = Shop::in_process(Faults::none());
    let table = shop.table::<Product>().await;
    shop.faults.script_on("TransactWriteItems", 1, Fault::LoseReply);
    all(table.items.create_many(products(3)).exactly_once().await);
    let tokens = shop.sent("TransactWriteItems").iter().map(|sent| sent["ClientRequestToken"].to_string()).collect();
    let tokens: std::collections::BTreeSet<String> = tokens;
    assert_eq!((tokens.len(), shop.faults.count("TransactWriteItems")), (3, 4));
}
