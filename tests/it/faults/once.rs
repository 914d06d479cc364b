//! `exactly_once`: a write as a transaction of one action, with a token.

use std::time::Duration;

use dynalock::{
    Error, Pace, Result, Stored,
    local::{Fault, Faults},
};

use crate::support::{
    Archive, Product, Shop, Table, changed, expect_error, millis, n, repeats::Repeated, secs, settle, tally::increment,
    travel,
};

fn tokens(shop: &Shop) -> Vec<String> {
    let token = |request: &serde_json::Value| request["ClientRequestToken"].as_str().unwrap().to_owned();
    shop.sent("TransactWriteItems").iter().map(token).collect()
}

#[tokio::test(start_paused = true)]
async fn each_write_is_a_transaction_of_one() {
    let (shop, table) = Shop::with_table::<Product>().await;
    let product = changed(table.items.create(Product::new("a", 5)).exactly_once().await.unwrap(), |it| it.stock = 6);
    let product = table.items.update(product).exactly_once().await.unwrap();
    let product = table.items.replace(product).exactly_once().await.unwrap();
    let product = table.items.touch(product).exactly_once().await.unwrap();
    assert_eq!((product.stock, product.version()), (6, 4));
    let product = table.items.update_with("a", |product| product.stock += 1).exactly_once().await.unwrap();
    assert_eq!(table.others.get("a").await.unwrap(), Some(product.clone()));
    assert!(table.items.delete(product).exactly_once().await.unwrap().certain);
    assert_eq!(shop.counts(["TransactWriteItems", "PutItem", "UpdateItem", "DeleteItem"]), [6, 0, 0, 0]);
    let sent = tokens(&shop);
    assert!((1..sent.len()).all(|at| !sent[..at].contains(&sent[at])), "a token of its own for each write: {sent:?}");
    for transaction in shop.sent("TransactWriteItems") {
        assert_eq!(transaction["TransactItems"].as_array().unwrap().len(), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn a_token_stays_over_the_attempts_of_one_evaluation_and_is_new_for_the_next() {
    let (shop, table) = Shop::with_items([Product::new("a", 5)]).await;
    for (nth, fault) in [
        (0, Fault::LoseRequest),
        (1, Fault::Throttle),
        (2, Fault::TransactionInProgress),
        (3, Fault::canceled(["TransactionConflict"])),
        (5, Fault::LoseReply),
        (6, Fault::ServerError),
    ] {
        shop.faults.script_on("TransactWriteItems", nth, fault);
    }
    let others = table.others.clone();
    // The fifth request meets a conflict, so the closure runs again.
    shop.rival.before("TransactWriteItems", 4, async move || {
        others.update_with("a", |product| product.stock += 100).await.unwrap();
    });
    let product = table.items.update_with("a", |product| product.stock += 1).exactly_once().await.unwrap();
    assert_eq!((product.stock, product.version()), (106, 3));
    let sent = tokens(&shop);
    assert_eq!(sent.len(), 8);
    assert!(sent[..5].iter().all(|token| *token == sent[0]), "{sent:?}");
    assert!(sent[5..].iter().all(|token| *token == sent[5]), "{sent:?}");
    assert_ne!(sent[0], sent[5]);
    assert_eq!(table.raw.get("a").await.unwrap()["stock"], n(106));
}

/// The create of the upsert is refused, because another caller creates the item first. The network
/// repeats the create after the item was deleted.
#[tokio::test(start_paused = true)]
async fn an_upsert_returns_the_item_of_its_repeated_create() {
    let copy = Repeated::first("TransactWriteItems");
    let shop = Shop::below(Faults::none(), &copy);
    let table = shop.table::<Product>().await;
    shop.rival.before_through(&table.others, "TransactWriteItems", 0, async |others| {
        others.create(Product::new("a", 100)).await.unwrap();
    });
    shop.rival.before_through(&table.others, "TransactWriteItems", 1, async |others| {
        others.delete_unchecked("a").await.unwrap();
        copy.arrive().await;
    });
    let upsert = table.items.upsert_with("a", || Product::new("a", 0), |product| product.stock += 1);
    let product = upsert.exactly_once().await.unwrap();
    assert_eq!((product.stock, table.others.get("a").await.unwrap()), (1, Some(product)));
}

#[tokio::test(start_paused = true)]
async fn lost_replies_under_contention_leave_nothing_open_while_some_reply_comes() {
    for (seed, fault) in [
        (1, Fault::LoseReply),
        (2, Fault::DeliverTwice),
        (3, Fault::DeliverLate(millis(200))),
        (4, Fault::ErrorAfterApply),
        (5, Fault::GarbageAfterApply),
        (6, Fault::NeverAnswerAfterApply),
        (7, Fault::LoseRequest),
        (8, Fault::EmptyAfterApply),
    ] {
        let shop = Shop::in_process(Faults::seeded(seed).rate(fault.clone(), 0.2));
        let table = shop.table::<Product>().await;
        let tally = increment(&table, 4, 50, |_| {
            table.items.update_with("a", |product| product.stock += 1).exactly_once().deadline(secs(600))
        })
        .await;
        settle().await;
        tally.agrees_with(&table).await;
        assert_eq!((tally.done, tally.open, tally.given_up), (200, 0, 0), "{fault:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_update_under_more_writes_than_the_item_keeps_ids_is_still_recognised() {
    let (shop, table) = Shop::with_table::<Product>().await;
    let mut product = table.others.create(Product::new("a", 0)).await.unwrap();
    shop.faults.script_on("TransactWriteItems", 0, Fault::LoseReply);
    shop.rival.before_through(&table.others, "TransactWriteItems", 1, async |others| {
        for _ in 0..20 {
            others.update_with("a", |product| product.stock += 100).await.unwrap();
        }
    });
    product.note = Some("mine".to_owned());
    let product = table.items.update(product).exactly_once().await.unwrap();
    assert_eq!(product.version(), 2);
    let stored = table.others.get("a").await.unwrap().unwrap();
    assert_eq!((stored.stock, stored.note.as_deref()), (2_000, Some("mine")));
}

#[tokio::test(start_paused = true)]
async fn a_delete_whose_reply_was_lost_is_certain() {
    let (shop, table) = Shop::with_table::<Product>().await;
    let product = table.others.create(Product::new("a", 0)).await.unwrap();
    shop.faults.script_on("TransactWriteItems", 0, Fault::LoseReply);
    assert!(table.items.delete(product).exactly_once().await.unwrap().certain);
}

#[tokio::test(start_paused = true)]
async fn conflicts_are_the_same_as_without() {
    let (_, table) = Shop::with_table::<Product>().await;
    let stale = table.others.create(Product::new("a", 5)).await.unwrap();
    let current = table.others.update_with("a", |product| product.stock = 9).await.unwrap();
    let changed = changed(stale.clone(), |it| it.stock = 6);
    let result = table.items.create(Product::new("a", 1)).exactly_once().await;
    let met = expect_error!(result, Error::AlreadyExists(met) => met);
    assert_eq!(met.current::<Product>().unwrap(), Some(current.clone()));
    let lost = expect_error!(table.items.update(changed).exactly_once().await, Error::Conflict(lost) => lost);
    assert_eq!(lost.current::<Product>().unwrap(), Some(current.clone()));
    expect_error!(table.items.delete(stale).exactly_once().await, Error::Conflict(_));
    assert_eq!(table.others.get("a").await.unwrap(), Some(current));
}

#[tokio::test(start_paused = true)]
async fn every_code_of_a_cancellation_means_what_it_says() {
    for (code, permanent) in [
        ("TransactionConflict", false),
        ("ProvisionedThroughputExceeded", false),
        ("ThrottlingError", false),
        ("ItemCollectionSizeLimitExceeded", true),
        ("ValidationError", true),
        ("NewCode", true),
        ("None", true),
    ] {
        let (shop, table) = Shop::with_table::<Product>().await;
        shop.faults.script_on("TransactWriteItems", 0, Fault::canceled([code]));
        let result = table.items.create(Product::new("a", 5)).exactly_once().await;
        if permanent {
            let refusal = expect_error!(result, Error::Rejected(refusal) => refusal);
            assert_eq!(refusal.code(), code);
            assert_eq!(shop.counts(["TransactWriteItems"]), [1]);
        } else {
            assert_eq!(result.unwrap().version(), 1, "{code}");
            assert_eq!(shop.counts(["TransactWriteItems"]), [2]);
        }

        shop.faults.clear();
        shop.faults.always(Fault::canceled([code]));
        let error = table.items.create(Product::new("b", 5)).exactly_once().await.unwrap_err();
        match (error, code) {
            (Error::Exhausted { last, .. }, "TransactionConflict") => {
                assert!(matches!(*last, Error::Contention(_)), "{last:?}");
            }
            (Error::Exhausted { last, .. }, _) if !permanent => {
                assert!(matches!(*last, Error::Throttled(_)), "{last:?}");
            }
            (Error::Rejected(_), _) if permanent => {}
            (other, _) => panic!("{code}: {other:?}"),
        }
        assert_eq!(table.raw.get("b").await, None);
    }
}

/// Runs an upsert that may create the item. The first copy of the request arrives late. Before it
/// arrives, another caller creates the item and deletes it again.
async fn upsert_with_another_life(
    delays: [Fault; 3],
    life: Duration,
) -> (Shop, Table<Product>, Result<Stored<Product>>) {
    let (shop, table) = Shop::with_table::<Product>().await;
    for (nth, fault) in delays.into_iter().enumerate() {
        shop.faults.script_on("TransactWriteItems", nth, fault);
    }
    let items = table.items.clone();
    let upsert = tokio::spawn(async move {
        let upsert = items.upsert_with("a", || Product::new("a", 0), |product| product.stock += 1);
        upsert.exactly_once().pace(Pace::Economy).await
    });
    travel(millis(10)).await;
    let theirs = table.others.create(Product::new("a", 100)).await.unwrap();
    travel(life).await;
    table.others.delete(theirs).await.unwrap();
    let result = upsert.await.unwrap();
    settle().await;
    (shop, table, result)
}

#[tokio::test(start_paused = true)]
async fn an_upsert_is_not_applied_twice_when_its_create_arrives_late() {
    let mut open = 0;
    for _ in 0..20 {
        let delays = [Fault::DeliverLate(millis(70)), Fault::Delay(millis(50)), Fault::Delay(millis(0))];
        let (_, table, result) = upsert_with_another_life(delays, millis(50)).await;
        let stock = table.others.get("a").await.unwrap().map(|product| product.stock);
        assert!(matches!(stock, None | Some(1)), "{stock:?} after {result:?}");
        open += usize::from(matches!(result, Err(Error::Indeterminate { .. })));
    }
    assert!(open > 0, "the test can fail");
}

#[tokio::test(start_paused = true)]
async fn an_upsert_returns_what_is_stored_or_says_that_it_cannot_tell() {
    let delays = [Fault::DeliverLate(millis(300)), Fault::Delay(millis(50)), Fault::Delay(millis(400))];
    let (_, table, result) = upsert_with_another_life(delays, millis(90)).await;
    expect_error!(result, Error::Indeterminate { expected: None, found: Some(1), .. });
    assert_eq!(table.others.get("a").await.unwrap().unwrap().stock, 1, "the delayed duplicate was applied");
}

#[tokio::test(start_paused = true)]
async fn a_create_in_doubt_is_not_called_locked_by_a_lease_that_may_end() {
    for once in [false, true] {
        let (shop, table) = Shop::with_items([Archive::new("a", 1)]).await;
        let lease = table.others.lock("a").await.unwrap();
        table.others.delete_unchecked("a").await.unwrap();
        shop.faults.script_on("TransactWriteItems", 0, Fault::DeliverLate(secs(5)));
        let create = table.items.create(Archive::new("a", 9));
        let result = if once { create.exactly_once().await } else { create.await };
        expect_error!(result, Error::Indeterminate { expected: None, .. });
        drop(lease);
        settle().await;
        assert_eq!(table.others.get("a").await.unwrap().unwrap().items, 9, "the delayed duplicate was applied");
    }
}
