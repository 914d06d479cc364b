//! The cause of each request.

use std::future::IntoFuture;

use dynalock::{
    Error, Repository, Stored, Transaction,
    cost::{Capacity, Units},
    local::{Fault, Faults},
    transact,
};

use super::{Metered, cost_of, shown};
use crate::support::{Account, Product, Table, changed, millis, secs, start, travel};

/// Another caller touches the item before the `nth` write of the code under test.
async fn touch_before(to: &Metered, others: &Repository<Product>, operation: &str, nth: usize) {
    let stored = others.get("a").await.unwrap().unwrap();
    to.shop.rival.before_through(others, operation, nth, |others| async move {
        others.touch(stored).await.unwrap();
    });
}

async fn sell(products: &Repository<Product>) -> Result<Stored<Product>, Error> {
    products.update_with("a", |product| product.stock -= 1).await
}

/// Runs one case, and returns the cost by cause.
async fn cost_of_case(case: &str) -> String {
    let to = Metered::new();
    let (products, Table { others, .. }) = to.items([Product::new("a", 10)]).await;
    conflict(&to, &products, &others, case).await;
    shown(cost_of(&products))
}

async fn conflict(to: &Metered, products: &Repository<Product>, others: &Repository<Product>, case: &str) {
    let stored = others.get("a").await.unwrap().unwrap();
    match case {
        "a conflict, an immediate attempt" => {
            touch_before(to, others, "UpdateItem", 0).await;
            sell(products).await.unwrap();
        }
        "a conflict, a sleep and a read" => {
            touch_before(to, others, "UpdateItem", 0).await;
            let call = products.update_with("a", |product| product.stock -= 1);
            call.pace(dynalock::Pace::Economy).await.unwrap();
        }
        "a conflict that the caller gets" => {
            others.touch(stored.clone()).await.unwrap();
            let error = products.update(changed(stored, |product| product.stock = 1)).await.unwrap_err();
            assert!(matches!(error, Error::Conflict(_)), "{error:?}");
            assert_eq!(shown(error.cost().unwrap()), shown(cost_of(products)));
        }
        "a create over an item" => drop(products.create(Product::new("a", 1)).await.unwrap_err()),
        other => loss(to, products, others, other).await,
    }
}

async fn loss(to: &Metered, products: &Repository<Product>, others: &Repository<Product>, case: &str) {
    let script = |operation, fault| to.shop.faults.script_on(operation, 0, fault);
    match case {
        "a lost reply to a write" => {
            script("UpdateItem", Fault::LoseReply);
            sell(products).await.unwrap();
        }
        "a lost reply to a read" => {
            script("GetItem", Fault::LoseReply);
            sell(products).await.unwrap();
        }
        "a lost reply, then a throttled request" => {
            script("UpdateItem", Fault::LoseReply);
            to.shop.faults.script_on("UpdateItem", 1, Fault::Throttle);
            sell(products).await.unwrap();
        }
        "a throttled request" => {
            script("UpdateItem", Fault::Throttle);
            sell(products).await.unwrap();
        }
        "a refused connection" => {
            script("UpdateItem", Fault::Refused);
            sell(products).await.unwrap();
        }
        "a lost reply to a patch" => {
            script("UpdateItem", Fault::LoseReply);
            products.patch("a").add(Product::ATTR.stock, -1).await.unwrap();
        }
        other => transaction(to, products, others, other).await,
    }
}

async fn transaction(to: &Metered, products: &Repository<Product>, others: &Repository<Product>, case: &str) {
    match case {
        "a lost reply to a transaction" => {
            to.shop.faults.script_on("TransactWriteItems", 0, Fault::LoseReply);
            let mut tx = Transaction::new(&to.shop.client);
            tx.create(products, Product::new("b", 1));
            tx.create(products, Product::new("c", 1));
            tx.commit().await.unwrap();
        }
        "a cancelled transaction" => {
            let mut tx = Transaction::new(&to.shop.client);
            tx.create(products, Product::new("a", 1));
            tx.create(products, Product::new("b", 1));
            let error = tx.commit().await.unwrap_err();
            assert!(matches!(error, Error::Cancelled(_)), "{error:?}");
            assert_eq!(shown(error.cost().unwrap()), shown(cost_of(products)));
        }
        "a unit of work that runs twice" => {
            let (accounts, _) = to.items([Account::new("a", 1)]).await;
            touch_before(to, others, "TransactWriteItems", 0).await;
            let accounts = &accounts;
            let unit = transact(&to.shop.client, |tx| async move {
                let product = tx.get(products, "a").await?.expect("a product");
                let account = tx.get(accounts, "a").await?.expect("an account");
                tx.update(products, changed(product, |product| product.stock -= 1));
                tx.update(accounts, changed(account, |account| account.cents += 1));
                Ok::<_, Error>(())
            });
            unit.await.unwrap();
        }
        other => panic!("an unknown case: {other}"),
    }
}

#[tokio::test(start_paused = true)]
async fn each_request_has_the_cause_that_the_docs_say() {
    let expected = [
        ("a conflict, an immediate attempt", "useful 1r 1w, conflicts 0r 1w"),
        ("a conflict, a sleep and a read", "useful 1r 1w, conflicts 1r 1w"),
        ("a conflict that the caller gets", "conflicts 0r 1w"),
        ("a create over an item", "conflicts 0r 1w"),
        ("a lost reply to a write", "useful 1r 1w, retries 0r 1w"),
        ("a lost reply to a read", "useful 1r 1w, retries 1r 0w"),
        ("a lost reply, then a throttled request", "useful 1r 1w, retries 0r 1w"),
        ("a throttled request", "useful 1r 1w"),
        ("a refused connection", "useful 1r 1w"),
        ("a lost reply to a patch", "useful 0r 1w, retries 1r 0w"),
        ("a lost reply to a transaction", "useful 0r 4w, retries 0r 4w"),
        ("a cancelled transaction", "conflicts 0r 4w"),
        ("a unit of work that runs twice", "useful 1r 2w, conflicts 0r 2w"),
    ];
    let mut measured = Vec::new();
    for (case, _) in expected {
        measured.push((case, cost_of_case(case).await));
    }
    assert_eq!(measured, expected.map(|(case, cost)| (case, cost.to_owned())));
}

/// An item of two and a half kilobytes. The engine reports the cost of an applied write of this
/// item, and the library estimates the cost of a refused write of this item.
#[tokio::test]
async fn a_refused_write_is_estimated_by_the_item_that_refused_it() {
    let to = Metered::new();
    let large = Product { note: Some("n".repeat(2_500)), ..Product::new("a", 1) };
    let (products, Table { others, .. }) = to.items([large]).await;
    let stored = products.get("a").await.unwrap().unwrap();
    let before = cost_of(&products);
    let newer = products.update(changed(stored.clone(), |product| product.stock = 2)).await.unwrap();
    let applied = cost_of(&products).useful.write;
    assert_eq!((before.useful.write, applied), (Units::ZERO, Units::whole(3)));

    products.update(changed(stored.clone(), |product| product.stock = 3)).await.unwrap_err();
    assert_eq!(cost_of(&products).conflicts.write, applied);

    // If the new item of a create is larger than the stored item, the create is charged by the size
    // of the new item.
    let small = Product::new("a", 1);
    products.create(small).await.unwrap_err();
    assert_eq!(cost_of(&products).conflicts.write, Units::whole(6));
    let larger = Product { note: Some("n".repeat(4_500)), ..Product::new("a", 1) };
    products.create(larger).await.unwrap_err();
    assert_eq!(cost_of(&products).conflicts.write, Units::whole(11));

    let mut tx = Transaction::new(&to.shop.client);
    tx.update(&products, changed(stored, |product| product.stock = 3));
    tx.commit().await.unwrap_err();
    assert_eq!(cost_of(&products).conflicts.write, Units::whole(17));
    assert_eq!(others.get("a").await.unwrap().unwrap().version(), newer.version());
}

/// The library estimates a lost write by the item that the call has read. The engine has applied
/// this write.
#[tokio::test(start_paused = true)]
async fn a_lost_write_is_estimated_by_the_item_that_the_call_has_seen() {
    let to = Metered::new();
    let large = Product { note: Some("n".repeat(2_500)), ..Product::new("a", 1) };
    let (products, _) = to.items([large]).await;
    to.bill.take();
    to.shop.faults.script_on("UpdateItem", 0, Fault::LoseReply);

    sell(&products).await.unwrap();

    assert_eq!(shown(cost_of(&products)), "useful 1r 3w, retries 0r 3w");
    // The bill counts one unit for the refusal of the repeated write, but the refusal costs 3 units
    // for this item.
    let Capacity { read, write } = to.bill.take();
    assert_eq!((read, write), (Units::whole(1), Units::whole(4)));
}

#[tokio::test(start_paused = true)]
async fn a_request_whose_future_is_dropped_is_counted() {
    let to = Metered::new();
    let (products, _) = to.items([Product::new("a", 10)]).await;
    to.bill.take();
    to.shop.rival.before("UpdateItem", 0, || travel(secs(3_600)));

    let sale = products.update_with("a", |product| product.stock -= 1);
    let sale = tokio::spawn(sale.into_future());
    travel(millis(500)).await;
    sale.abort();

    assert!(sale.await.unwrap_err().is_cancelled());
    assert_eq!(shown(cost_of(&products)), "useful 1r 1w");
    assert_eq!(products.meter().unwrap().report().calls, 1);
}

/// 16 writers of one item. Each refused write is a conflict, and each applied write is useful.
#[tokio::test(start_paused = true)]
async fn the_costs_of_a_crowd_are_useful_or_conflicts() {
    let to = Metered::new();
    let (products, Table { others, .. }) = to.items([Product::new("a", 0)]).await;
    for operation in ["GetItem", "UpdateItem"] {
        to.shop.rival.before_each(operation, || travel(millis(5)));
    }
    to.bill.take();
    let sales = start((0..16).map(|_| products.update_with("a", |product| product.stock += 1).deadline(secs(60))));
    for sale in sales {
        sale.await.unwrap().unwrap();
    }

    let cost = cost_of(&products);
    assert_eq!((cost.useful.read, cost.useful.write), (Units::whole(16), Units::whole(16)));
    assert!(cost.conflicts.write > Units::whole(16), "{cost}");
    assert_eq!(cost.useful + cost.conflicts, cost.total());
    assert_eq!(cost.total(), to.bill.take());
    assert_eq!(others.get("a").await.unwrap().unwrap().stock, 16);
    assert_eq!(products.meter().unwrap().report().calls, 16);
}

/// Under lost replies, the engine applies each request, so the estimates are exact.
#[tokio::test(start_paused = true)]
async fn the_sum_of_all_causes_is_what_the_engine_charges_under_lost_replies() {
    for seed in 0..5 {
        let to = Metered::behind(Faults::seeded(seed));
        let (products, Table { others, .. }) = to.items([Product::new("a", 0)]).await;
        let _ = to.shop.faults.clone().rate(Fault::LoseReply, 0.2).rate(Fault::Throttle, 0.1);
        to.bill.take();
        for _ in 0..50 {
            let sale = products.update_with("a", |product| product.stock += 1).deadline(secs(60));
            sale.await.unwrap();
        }
        to.shop.faults.clear();

        let cost = cost_of(&products);
        assert_eq!(cost.total(), to.bill.take(), "seed {seed}: {cost}");
        assert_eq!((cost.useful.read, cost.useful.write), (Units::whole(50), Units::whole(50)), "seed {seed}: {cost}");
        assert!(cost.retries.write > Units::ZERO, "seed {seed}: {cost}");
        assert_eq!(cost.conflicts, Capacity::default(), "seed {seed}: {cost}");
        assert_eq!(others.get("a").await.unwrap().unwrap().stock, 50);
    }
}
