//! Calls that end at their budget.

use dynalock::{
    Error, Transaction,
    cost::Units,
    local::{Fault, Faults},
    transact,
};

use super::{Metered, cost_of, shown};
use crate::support::{Archive, Order, Product, Shop, Table, changed, expect_error, secs, start};

#[tokio::test]
async fn a_request_that_would_pass_the_budget_is_not_sent() {
    let (shop, Table { items, .. }) = Shop::with_items([Product::new("a", 1)]).await;
    let error = items.update_with("a", |product| product.stock += 1).budget(1).await.unwrap_err();
    let Error::BudgetExceeded { budget, needed, spent, .. } = &error else { panic!("{error:?}") };
    assert_eq!((*budget, *needed), (Units::whole(1), Units::whole(1)));
    assert_eq!(shown(**spent.cost.as_ref().unwrap()), "useful 1r 0w");
    assert_eq!(shop.counts(["GetItem", "UpdateItem"]), [1, 0]);
    assert!(!error.is_retryable());
    let text = error.to_string();
    assert!(
        text.starts_with("the next request needs 1 units, and would pass the budget of 1 (0 requests in "),
        "{text}"
    );
    assert!(text.ends_with("s, 1 read and 0 write units)"), "{text}");

    items.update_with("a", |product| product.stock += 1).budget(2).await.unwrap();
    let error = items.get("a").budget(0).await.unwrap_err();
    assert!(matches!(error, Error::BudgetExceeded { .. }), "{error:?}");
    assert_eq!((error.attempts(), error.cost().map(shown)), (Some(0), Some(String::new())));
}

/// The call has read the item, so it knows what a write of the item costs.
#[tokio::test]
async fn a_write_is_estimated_by_the_item_that_was_read() {
    let large = Product { note: Some("n".repeat(5_000)), ..Product::new("a", 1) };
    let (shop, Table { items, .. }) = Shop::with_items([large]).await;
    let error = items.update_with("a", |product| product.stock += 1).budget(6).await.unwrap_err();
    let Error::BudgetExceeded { needed, spent, .. } = &error else { panic!("{error:?}") };
    assert_eq!((*needed, shown(**spent.cost.as_ref().unwrap())), (Units::whole(5), "useful 2r 0w".to_owned()));
    assert_eq!(shop.counts(["UpdateItem"]), [0]);
}

/// The separate row of a lease is small, however large its item is.
#[tokio::test]
async fn the_row_of_a_lease_is_not_estimated_by_its_item() {
    let large = Archive { label: Some("n".repeat(100_000)), ..Archive::new("a", 1) };
    let (_, Table { items, .. }) = Shop::with_items([large]).await;
    // The read costs 25 units, the item 196 in the transaction, and the row 2.
    items.update_with("a", |archive| archive.items += 1).budget(25 + 196 + 2).await.unwrap();
    expect_error!(
        items.update_with("a", |archive| archive.items += 1).budget(25 + 196 + 1).await,
        Error::BudgetExceeded { .. }
    );
}

#[tokio::test]
async fn a_budget_that_is_set_after_an_explanation_applies() {
    let (shop, Table { items, .. }) = Shop::with_items([Product::new("a", 1)]).await;
    let items = items.metered();
    let mut tx = Transaction::new(&shop.client);
    tx.patch(&items, "a").add(Product::ATTR.stock, 1);
    let units = tx.explain().unwrap().write_units(100);
    assert_eq!(units, Units::whole(2));
    expect_error!(tx.budget(1).commit().await, Error::BudgetExceeded { .. });
}

/// After the patch, the library reads the item, because the reply to a transaction does not contain
/// the item.
#[tokio::test]
async fn a_budget_does_not_stop_the_read_after_a_patch() {
    let (_, Table { items, .. }) = Shop::with_items([Product::new("a", 1)]).await;
    let product = items.patch("a").add(Product::ATTR.stock, 1).exactly_once().budget(2).await.unwrap();
    assert_eq!(product.stock, 2);
}

#[tokio::test]
async fn a_repository_has_a_budget_for_each_call() {
    let (_, Table { items, .. }) = Shop::with_items([Product::new("a", 1)]).await;
    let items = items.budget(1);
    items.get("a").await.unwrap();
    items.get("a").await.unwrap();
    expect_error!(items.update_with("a", |product| product.stock += 1).await, Error::BudgetExceeded { .. });
    let created = items.create_many((0..3).map(|stock| Product::new(&format!("c{stock}"), stock))).await;
    assert!(created.iter().all(Result::is_ok), "{created:?}");
}

/// With `combining`, the budget of the repository applies to a batch. Each call of the batch gets the
/// error, with the requests of the batch.
#[tokio::test]
async fn combined_calls_share_the_budget_of_their_batch() {
    let (shop, Table { items, .. }) = Shop::with_items([Product::new("a", 1)]).await;
    let handle = items.budget(1).combining();
    for call in start((0..8).map(|_| handle.update_with("a", |product| product.stock += 1))) {
        let error = call.await.unwrap().unwrap_err();
        assert!(matches!(error, Error::BudgetExceeded { .. }), "{error:?}");
    }
    assert_eq!(shop.counts(["UpdateItem"]), [0]);
}

/// Retries stop at the budget. The error of a write that may have been applied is indeterminate,
/// and the error of a write that was certainly not applied is not.
#[tokio::test(start_paused = true)]
async fn nothing_is_lost_at_the_budget_under_lost_replies() {
    let shop = Shop::in_process(Faults::none());
    let table = shop.table_of([Product::new("a", 0)]).await;
    let (mut applied, mut open) = (0, 0);
    for seed in 0..200_u64 {
        let replies = [(seed % 3 == 0).then_some(Fault::LoseReply), (seed % 7 == 0).then_some(Fault::LoseRequest)];
        for (nth, fault) in replies.into_iter().enumerate() {
            if let Some(fault) = fault {
                shop.faults.script_on("UpdateItem", nth, fault);
            }
        }
        let budget = 2 + seed % 2;
        match table.items.update_with("a", |product| product.stock += 1).budget(budget).await {
            Ok(_) => applied += 1,
            Err(Error::Indeterminate { last, spent, .. }) => {
                assert!(matches!(last.as_deref(), Some(Error::BudgetExceeded { .. })), "{last:?}");
                assert!(spent.cost.unwrap().total().total() <= Units::whole(budget));
                open += 1;
            }
            Err(error) => panic!("{error:?}"),
        }
        shop.faults.clear();
    }
    let stock = table.others.get("a").await.unwrap().unwrap().stock;
    assert!(open > 20, "{open}");
    assert!((applied..=applied + open).contains(&stock), "{applied} + {open}: {stock}");
}

/// Makes a table of ten pages. Three items of 300 KB are a page of a scan.
async fn large(to: &Metered) -> Table<Product> {
    let table = to.shop.table().await;
    for number in 0..30 {
        let note = Some("n".repeat(300 * 1024));
        table.others.create(Product { note, ..Product::new(&format!("{number:02}"), number) }).await.unwrap();
    }
    table
}

#[tokio::test]
async fn a_scan_of_ten_pages_ends_at_its_budget_after_what_it_has_read() {
    let to = Metered::new();
    let products = large(&to).await.items.metered();
    let scanned = to.shop.faults.count("Scan");
    let mut stream = products.scan().budget(500).stream();
    let mut read = 0;
    let error = loop {
        match stream.next().await.expect("the stream ends with an error") {
            Ok(_) => read += 1,
            Err(error) => break error,
        }
    };

    let Error::BudgetExceeded { needed, spent, .. } = &error else { panic!("{error:?}") };
    let cost = spent.cost.as_ref().unwrap().total();
    assert_eq!((read, to.shop.faults.count("Scan") - scanned), (6, 2));
    assert!(cost.read + *needed > Units::whole(500) && cost.read <= Units::whole(500), "{error}");
    assert!(stream.next().await.is_none());
}

/// The first page is always estimated by the least that a page costs, so it may pass the budget.
#[tokio::test]
async fn a_page_ends_early_at_its_budget_and_its_token_goes_on() {
    let to = Metered::new();
    let products = large(&to).await.items.metered();
    let (mut seen, mut token, mut pages) = (Vec::new(), None, 0);
    loop {
        let page = products.scan().limit(10).budget(400).page(token).await.unwrap();
        assert!(page.items.len() <= 10);
        seen.extend(page.items.into_iter().map(|item| item.unwrap().stock));
        pages += 1;
        token = page.next;
        if token.is_none() {
            break;
        }
    }
    seen.sort_unstable();
    assert_eq!(seen, (0..30).collect::<Vec<_>>());
    assert!(pages > 4, "{pages}");
}

#[tokio::test]
async fn a_transaction_and_a_unit_of_work_end_at_their_budget() {
    let to = Metered::new();
    let (orders, _) = to.items([Order::new("alice", 1, 5), Order::new("alice", 2, 5)]).await;
    let mut tx = Transaction::new(&to.shop.client).budget(3);
    tx.create(&orders, Order::new("bob", 1, 5));
    tx.create(&orders, Order::new("bob", 2, 5));
    let error = tx.commit().await.unwrap_err();
    let Error::BudgetExceeded { needed, .. } = &error else { panic!("{error:?}") };
    assert_eq!(*needed, Units::whole(4));

    let mut get = Transaction::get(&to.shop.client).budget(3);
    let _first = get.item(&orders, ("alice", 1));
    let _second = get.item(&orders, ("alice", 2));
    assert!(matches!(get.fetch().await, Err(Error::BudgetExceeded { .. })));
    assert_eq!(cost_of(&orders).total().total(), Units::ZERO);

    let orders = &orders;
    let unit = transact(&to.shop.client, |tx| async move {
        for number in [1, 2] {
            let order = tx.get(orders, ("alice", number)).await?.expect("an order");
            tx.update(orders, changed(order, |order| order.cents += 1));
        }
        Ok::<_, Error>(())
    });
    let error = unit.budget(5).await.unwrap_err();
    assert!(matches!(error, Error::BudgetExceeded { .. }), "{error:?}");
    assert_eq!((error.cost().map(shown), shown(cost_of(orders))), (Some("useful 2r 0w".into()), "useful 2r 0w".into()));
    assert_eq!(to.shop.counts(["TransactWriteItems", "TransactGetItems"]), [0, 0]);
}

#[tokio::test]
async fn parallel_requests_share_the_budget_of_their_call() {
    let to = Metered::new();
    let products = large(&to).await.items.metered();
    let mut stream = products.scan().segments(4).budget(300).deadline(secs(30)).stream();
    let mut last = None;
    while let Some(item) = stream.next().await {
        last = Some(item.map(|_| ()));
    }
    assert!(matches!(last, Some(Err(Error::BudgetExceeded { .. }))), "{last:?}");
}
