//! Patches while requests and replies are lost: a patch with an unknown outcome is never sent
//! again, and the item shows whether the patch was applied.

use std::{future::Future, sync::Arc, time::Duration};

use dynalock::{
    Error, Transaction,
    local::{Fault, Faults},
    transact,
};

use crate::support::{
    FAULTS, LOST_REPLIES, Product, Shop, Table, changed, expect_error, millis, n, now, s, secs, settle,
    tally::increment, travel,
};

/// The share of lost replies, and the number of 10,000 patches that may be indeterminate.
fn losses() -> [(Faults, usize); 3] {
    let losses = |seed, rate| Faults::seeded(seed).rate(Fault::LoseReply, rate);
    [(losses(1, 0.01), 5), (losses(5, 0.05), 25), (losses(20, 0.2), 10_000)]
}

/// 4 writers, 500 patches each, at a round trip of 5 ms.
#[tokio::test(start_paused = true)]
async fn patches_at_1_5_and_20_percent_lost_replies_are_applied_at_most_once() {
    for (faults, indeterminate) in losses() {
        let shop = far_away(faults);
        let table = shop.table::<Product>().await;
        let write = |_| table.items.patch("a").add(Product::ATTR.stock, 1).deadline(secs(120));
        let tally = increment(&table, 4, 500, write).await;
        tally.agrees_with(&table).await;
        assert_eq!(tally.done + tally.open, 2_000, "{tally:?}");
        assert!(tally.open * 10_000 <= 2_000 * indeterminate, "{tally:?}");
    }
}

/// The retry budget covers a loss of a third of all requests.
#[tokio::test(start_paused = true)]
async fn patches_exactly_once_are_never_indeterminate() {
    let lost =
        |seed, reply, request| Faults::seeded(seed).rate(Fault::LoseReply, reply).rate(Fault::LoseRequest, request);
    for faults in [lost(1, 0.01, 0.01), lost(5, 0.05, 0.05), lost(20, 0.2, 0.05)] {
        let shop = far_away(faults);
        let table = shop.table::<Product>().await;
        let write = |_| table.items.patch("a").add(Product::ATTR.stock, 1).exactly_once().deadline(secs(120));
        let tally = increment(&table, 4, 500, write).await;
        tally.agrees_with(&table).await;
        assert_eq!((tally.done, tally.open, tally.given_up), (2_000, 0, 0));
    }
}

/// Sends 128 writes of one item at once, and returns the time of the slowest write in milliseconds.
/// The item is busy for half a millisecond with each write, and a request travels for five
/// milliseconds.
async fn slowest_of_128<F: Future<Output = ()> + Send + 'static>(write: impl Fn(&Shop, Table<Product>) -> F) -> u128 {
    let shop = Shop::without_faults();
    let table = one_product(&shop).await;
    let item = Arc::new(tokio::sync::Mutex::new(()));
    shop.rival.before_each("UpdateItem", move || {
        let item = Arc::clone(&item);
        async move {
            travel(millis(5)).await;
            let _one_at_a_time = item.lock().await;
            travel(Duration::from_micros(500)).await;
        }
    });
    let start = now();
    let writes: Vec<_> = (0..128).map(|_| tokio::spawn(write(&shop, table.clone()))).collect();
    for write in writes {
        write.await.unwrap();
    }
    assert_eq!(table.others.get("a").await.unwrap().unwrap().stock, 5 + 128);
    (now() - start).as_millis()
}

#[tokio::test(start_paused = true)]
async fn patches_of_one_item_wait_no_longer_than_blind_updates() {
    let patches = slowest_of_128(|_, table| async move {
        table.items.patch("a").add(Product::ATTR.stock, 1).await.unwrap();
    });
    let by_hand = slowest_of_128(|shop, table| {
        let update = shop.client.update_item().table_name(table.name()).key("sku", s("a"));
        let update = update.update_expression("ADD stock :one").expression_attribute_values(":one", n(1));
        async move { update.send().await.map(drop).unwrap() }
    });
    let (patches, by_hand) = (patches.await, by_hand.await);
    assert!(patches * 10 <= by_hand * 13, "{patches} ms, and {by_hand} ms by hand");
}

#[tokio::test(start_paused = true)]
async fn ten_thousand_keys_patched_once_each_are_hardly_ever_indeterminate() {
    let shop = far_away(Faults::seeded(5).rate(Fault::LoseReply, 0.05).only(["UpdateItem"]));
    let table = shop.table::<Product>().await;
    let mut open = 0;
    for number in 0..10_000 {
        let key = number.to_string();
        table.others.create(Product::new(&key, 0)).await.unwrap();
        match table.items.patch(&*key).add(Product::ATTR.stock, 1).await {
            Ok(product) => assert_eq!(product.stock, 1),
            Err(Error::Indeterminate { .. }) => open += 1,
            Err(error) => panic!("{error:?}"),
        }
    }
    assert!(open <= 5, "{open} of 10,000");
}

fn far_away(faults: Faults) -> Shop {
    let shop = Shop::in_process(faults);
    for operation in ["GetItem", "UpdateItem", "TransactWriteItems"] {
        shop.rival.before_each(operation, || travel(millis(5)));
    }
    shop
}

async fn one_product(shop: &Shop) -> Table<Product> {
    shop.table_of([Product::new("a", 5)]).await
}

#[tokio::test(start_paused = true)]
async fn a_patch_whose_reply_is_lost_is_found_by_its_id() {
    for fault in LOST_REPLIES {
        let shop = Shop::without_faults();
        let table = one_product(&shop).await;
        shop.faults.script_on("UpdateItem", 0, fault.clone());
        let product = table.items.patch("a").add(Product::ATTR.stock, 1).await.unwrap();
        assert_eq!((product.stock, product.version()), (6, 2), "{fault:?}");
        assert_eq!(shop.counts(["UpdateItem", "GetItem"]), [1, 1], "{fault:?}");
        let product = table.items.update(changed(product, |product| product.stock = 7)).await.unwrap();
        assert_eq!(product.version(), 3);
    }
}

#[tokio::test(start_paused = true)]
async fn the_limit_of_attempts_does_not_prevent_the_read_after_a_lost_reply() {
    for fault in LOST_REPLIES {
        for is_read in [true, false] {
            let shop = Shop::without_faults();
            let table = one_product(&shop).await;
            shop.faults.script_on("UpdateItem", 0, fault.clone());
            if !is_read {
                shop.faults.script_on("GetItem", 0, fault.clone());
            }
            match table.items.patch("a").add(Product::ATTR.stock, 1).attempts(1).await {
                Ok(product) => assert!(is_read && product.stock == 6, "{fault:?}"),
                Err(Error::Indeterminate { .. }) => assert!(!is_read, "{fault:?}"),
                Err(error) => panic!("{fault:?}: {error:?}"),
            }
            assert_eq!(shop.counts(["UpdateItem", "GetItem"]), [1, 1], "{fault:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_patch_whose_request_is_lost_is_indeterminate_and_not_sent_again() {
    for fault in [Fault::LoseRequest, Fault::NeverAnswer, Fault::DeliverLate(secs(60))] {
        let shop = Shop::without_faults();
        let table = one_product(&shop).await;
        shop.faults.script_on("UpdateItem", 0, fault.clone());
        let error = table.items.patch("a").add(Product::ATTR.stock, 1).await.unwrap_err();
        // The read that looks for the patch was answered, so it does not count.
        assert_eq!((error.kind(), error.attempts()), ("indeterminate", Some(1)), "{fault:?}: {error:?}");
        assert_eq!(shop.counts(["UpdateItem", "GetItem"]), [1, 1], "{fault:?}");
        settle().await;
        let late = matches!(fault, Fault::DeliverLate(_));
        assert_eq!(table.others.get("a").await.unwrap().unwrap().stock, if late { 6 } else { 5 });
    }
}

/// A refused connection, a throttled request and an error before the write are certain.
#[tokio::test(start_paused = true)]
async fn a_patch_that_was_certainly_not_applied_is_sent_again() {
    for fault in [Fault::Refused, Fault::Throttle, Fault::TransactionConflict] {
        let shop = Shop::without_faults();
        let table = one_product(&shop).await;
        shop.faults.script_on("UpdateItem", 0, fault.clone());
        assert_eq!(table.items.patch("a").add(Product::ATTR.stock, 1).await.unwrap().stock, 6, "{fault:?}");
        assert_eq!(shop.counts(["UpdateItem", "GetItem"]), [2, 0], "{fault:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn no_single_fault_applies_a_patch_twice() {
    for fault in FAULTS {
        for exactly_once in [false, true] {
            let shop = Shop::without_faults();
            let table = one_product(&shop).await;
            shop.faults.script_on(if exactly_once { "TransactWriteItems" } else { "UpdateItem" }, 0, fault.clone());
            let patch = table.items.patch("a").add(Product::ATTR.stock, 1);
            let result = if exactly_once { patch.exactly_once().await } else { patch.await };
            settle().await;
            let stock = table.others.get("a").await.unwrap().unwrap().stock;
            match result {
                Ok(product) => assert_eq!((product.stock, stock), (6, 6), "{fault:?}"),
                Err(Error::Indeterminate { .. }) if !exactly_once => assert!((5..=6).contains(&stock), "{fault:?}"),
                Err(error) => panic!("{fault:?} {exactly_once} {error:?}"),
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn an_id_that_later_patches_pushed_out_is_indeterminate() {
    for (later, is_found) in [(7, true), (8, false)] {
        let shop = Shop::without_faults();
        let table = one_product(&shop).await;
        shop.faults.script_on("UpdateItem", 0, Fault::LoseReply);
        let others = table.others.clone();
        shop.rival.before("GetItem", 0, async move || {
            for _ in 0..later {
                others.patch("a").add(Product::ATTR.stock, 10).await.unwrap();
            }
        });
        match table.items.patch("a").add(Product::ATTR.stock, 1).await {
            Ok(product) => assert!(is_found && product.stock == 76, "{product:?}"),
            Err(Error::Indeterminate { found, .. }) => assert!(!is_found && found == Some(10), "{found:?}"),
            Err(error) => panic!("{error:?}"),
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_register_that_another_program_wiped_is_indeterminate() {
    let shop = Shop::without_faults();
    let table = one_product(&shop).await;
    shop.faults.script_on("UpdateItem", 0, Fault::LoseReply);
    let others = table.others.clone();
    shop.rival.before("GetItem", 0, async move || {
        let product = others.get("a").await.unwrap().unwrap();
        others.replace(product).await.unwrap();
    });
    expect_error!(table.items.patch("a").add(Product::ATTR.stock, 1).await, Error::Indeterminate { .. });
}

#[tokio::test(start_paused = true)]
async fn a_refusal_after_a_lost_reply_under_a_token_is_indeterminate() {
    let shop = Shop::without_faults();
    let table = one_product(&shop).await;
    shop.faults.script_on("TransactWriteItems", 0, Fault::LoseRequest);
    let others = table.others.clone();
    shop.rival.before("TransactWriteItems", 1, async move || {
        others.update_with("a", |product| product.stock = 0).await.unwrap();
    });
    let patch = table.items.patch("a").add(Product::ATTR.stock, -5).when(Product::ATTR.stock.ge(5)).exactly_once();
    expect_error!(patch.await, Error::Indeterminate { .. });
    assert_eq!(table.others.get("a").await.unwrap().unwrap().stock, 0);
}

#[tokio::test(start_paused = true)]
async fn a_condition_that_stays_false_after_a_lost_reply_is_certain() {
    for when in ["update", "delete"] {
        let shop = Shop::without_faults();
        let table = one_product(&shop).await;
        let product = changed(table.items.get("a").await.unwrap().unwrap(), |product| product.stock = 6);
        let operation = if when == "update" { "UpdateItem" } else { "DeleteItem" };
        shop.faults.script_on(operation, 0, Fault::LoseReply);
        let error = match when {
            "update" => table.items.update(product).when(Product::ATTR.stock.eq(6)).await.unwrap_err(),
            _ => table.items.delete(product).when(Product::ATTR.stock.eq(6)).await.unwrap_err(),
        };
        assert!(matches!(error, Error::ConditionFailed(_)), "{error:?}");
        assert_eq!(shop.counts([operation]), [2]);
    }
}

#[tokio::test(start_paused = true)]
async fn an_unchecked_delete_with_a_condition_does_not_take_absence_for_its_own_success() {
    let shop = Shop::without_faults();
    let table = one_product(&shop).await;
    shop.faults.script_on("DeleteItem", 0, Fault::LoseReply);
    expect_error!(table.items.delete_unchecked("a").when(Product::ATTR.stock.eq(5)).await, Error::Indeterminate { .. });
    assert_eq!(table.raw.get("a").await, None);
}

#[tokio::test(start_paused = true)]
async fn a_transaction_of_patches_is_applied_once_over_lost_replies() {
    let shop = Shop::without_faults();
    let table = shop.table_of([Product::new("a", 5), Product::new("b", 5)]).await;
    shop.faults.script_on("TransactWriteItems", 0, Fault::LoseReply);
    let mut tx = Transaction::new(&shop.client);
    tx.patch(&table.items, "a").add(Product::ATTR.stock, -1);
    tx.patch(&table.items, "b").add(Product::ATTR.stock, 1);
    tx.commit().await.unwrap();
    let stock = async |key| table.others.get(key).await.unwrap().unwrap().stock;
    assert_eq!((stock("a").await, stock("b").await), (4, 6));
    shop.faults.script_on("TransactWriteItems", 2, Fault::LoseReply);
    let items = &table.items;
    let unit = transact(&shop.client, |tx| async move {
        let read = tx.get(items, "a").await?.expect("an item");
        tx.patch(items, "b").add(Product::ATTR.stock, i128::from(read.stock));
        tx.patch(items, "a").add(Product::ATTR.stock, i128::from(-read.stock));
        Ok::<_, Error>(())
    });
    unit.await.unwrap();
    assert_eq!((stock("a").await, stock("b").await), (0, 10));
}

/// DynamoDB forgets a token after ten minutes.
#[tokio::test(start_paused = true)]
async fn a_patch_in_doubt_is_not_repeated_after_the_life_of_its_token() {
    let shop = Shop::without_faults();
    let table = one_product(&shop).await;
    shop.faults.always(Fault::ErrorAfterApply);
    let faults = shop.faults.clone();
    let outage = tokio::spawn(async move {
        travel(secs(30)).await;
        faults.clear();
        faults.always(Fault::ServerError);
        travel(secs(11 * 60)).await;
        faults.clear();
    });
    let patch = table.items.patch("a").add(Product::ATTR.stock, 1).exactly_once();
    expect_error!(patch.deadline(secs(20 * 60)).await, Error::Indeterminate { .. });
    outage.await.unwrap();
    assert_eq!(table.others.get("a").await.unwrap().unwrap().stock, 6);
}

#[tokio::test(start_paused = true)]
async fn a_patch_without_any_answer_ends_at_its_deadline() {
    let shop = Shop::without_faults();
    let table = one_product(&shop).await;
    shop.faults.always(Fault::NeverAnswer);
    expect_error!(
        table.items.patch("a").add(Product::ATTR.stock, 1).deadline(secs(3)).await,
        Error::Indeterminate { .. }
    );
    shop.faults.clear();
    shop.faults.always(Fault::Refused);
    expect_error!(table.items.patch("a").add(Product::ATTR.stock, 1).deadline(secs(3)).await, Error::Exhausted { .. });
}
