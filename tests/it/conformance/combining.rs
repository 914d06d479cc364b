//! Calls on one key that are written together.

use std::collections::{BTreeMap, BTreeSet};

use dynalock::{Attributes, Error, Stored, Versioned, error::InvalidPatch, request::Combining};
use serde::{Deserialize, Serialize};

use crate::support::{Address, Basket, Part, Product, Refused, Shop, Table, expect_error, item, n, s, start, together};

cases! {
    calls_at_the_same_time_are_one_read_and_one_write,
    each_caller_gets_the_item_as_its_batch_left_it,
    calls_one_after_the_other_are_written_one_after_the_other,
    the_next_batch_starts_from_the_last_one_without_a_read,
    keys_have_separate_queues,
    clones_share_their_queues,
    closures_run_in_the_order_of_their_calls,
    a_batch_that_meets_another_writer_is_applied_to_the_newer_item,
    a_refusal_leaves_its_change_out,
    a_panic_resumes_in_its_caller_alone,
    a_changed_key_is_refused_alone,
    a_missing_item_is_not_found,
    an_upsert_creates_the_item_for_the_calls_behind_it,
    an_upsert_that_loses_to_another_create_updates_that,
    calls_that_change_nothing_write_nothing,
    attributes_of_other_programs_survive,
    an_item_of_another_program_is_adopted,
    patches_do_in_a_batch_what_they_do_alone,
    a_patch_in_a_batch_removes_what_its_paths_named_before_it,
    a_patch_sees_the_calls_before_it,
    a_refused_patch_leaves_its_change_out,
    an_invalid_patch_is_not_sent,
}

async fn products(shop: &Shop, stock: i64) -> (Table<Product>, Combining<Product>) {
    let table = shop.table_of([Product::new("a", stock)]).await;
    let products = table.items.combining();
    (table, products)
}

fn add(
    products: &Combining<Product>,
    count: i64,
) -> impl IntoFuture<Output = Result<Stored<Product>, Error>, IntoFuture: Send> + use<> {
    products.update_with("a", move |product| product.stock += count)
}

async fn calls_at_the_same_time_are_one_read_and_one_write(shop: &Shop) {
    let (table, products) = products(shop, 0).await;
    for result in together((0..8).map(|_| add(&products, 1))).await {
        let product = result.unwrap();
        assert_eq!((product.stock, product.version()), (8, 2));
    }
    assert_eq!(shop.counts(["GetItem", "UpdateItem"]), [1, 1]);
    assert_eq!(table.raw.get("a").await.unwrap()["stock"], n(8));
}

/// If a caller got the item after its own closure, with the version of the batch, the caller's next
/// write would undo the later calls of the batch.
async fn each_caller_gets_the_item_as_its_batch_left_it(shop: &Shop) {
    let (table, products) = products(shop, 0).await;
    let mut results = together((0..8).map(|_| add(&products, 1))).await;
    let mut first = results.swap_remove(0).unwrap();
    assert_eq!(Some(&first), table.others.get("a").await.unwrap().as_ref());
    first.stock += 100;
    let product = table.items.update(first).await.unwrap();
    assert_eq!((product.stock, product.version()), (108, 3));
}

async fn calls_one_after_the_other_are_written_one_after_the_other(shop: &Shop) {
    let (_, products) = products(shop, 0).await;
    for count in 1..=3 {
        let product = add(&products, 1).await.unwrap();
        assert_eq!((product.stock, product.version()), (count, 1 + u64::try_from(count).unwrap()));
    }
    assert_eq!(shop.counts(["GetItem", "UpdateItem"]), [3, 3]);
}

async fn the_next_batch_starts_from_the_last_one_without_a_read(shop: &Shop) {
    let (table, products) = products(shop, 0).await;
    let results = together((0..250).map(|_| add(&products, 1))).await;
    let seen: Vec<_> = results.into_iter().map(|result| result.unwrap()).map(|it| (it.stock, it.version())).collect();
    assert_eq!(seen, [vec![(100, 2); 100], vec![(200, 3); 100], vec![(250, 4); 50]].concat());
    assert_eq!(shop.counts(["GetItem", "UpdateItem"]), [1, 3]);
    assert_eq!(table.raw.get("a").await.unwrap()["stock"], n(250));
}

async fn keys_have_separate_queues(shop: &Shop) {
    let table = shop.table_of(["a", "b"].map(|sku| Product::new(sku, 0))).await;
    let products = table.items.combining();
    let calls = (0..8).map(|nth| products.update_with(["a", "b"][nth % 2], |product| product.stock += 1));
    for result in together(calls).await {
        assert_eq!(result.unwrap().stock, 4);
    }
    assert_eq!(shop.counts(["GetItem", "UpdateItem"]), [2, 2]);
}

async fn clones_share_their_queues(shop: &Shop) {
    let (_, products) = products(shop, 0).await;
    for result in together((0..8).map(|_| add(&products.clone(), 1))).await {
        assert_eq!(result.unwrap().stock, 8);
    }
    assert_eq!(shop.counts(["GetItem", "UpdateItem"]), [1, 1]);
}

async fn closures_run_in_the_order_of_their_calls(shop: &Shop) {
    let (table, products) = products(shop, 0).await;
    let calls =
        (1..=9).map(|digit| products.update_with("a", move |product| product.stock = 10 * product.stock + digit));
    together(calls).await;
    assert_eq!(table.others.get("a").await.unwrap().unwrap().stock, 123_456_789);
}

async fn a_batch_that_meets_another_writer_is_applied_to_the_newer_item(shop: &Shop) {
    let (table, products) = products(shop, 0).await;
    shop.rival.before_through(&table.others, "UpdateItem", 0, async |others| {
        others.update_with("a", |product| product.stock += 100).await.unwrap();
    });
    for result in together((0..8).map(|_| add(&products, 1))).await {
        let product = result.unwrap();
        assert_eq!((product.stock, product.version()), (108, 3));
    }
    assert_eq!(shop.counts(["GetItem", "UpdateItem"]), [1, 2]);
}

fn sell(product: &mut Product, count: i64) -> Result<(), Refused> {
    product.stock -= count;
    if product.stock < 0 { Refused::here(format!("{} too few", -product.stock)) } else { Ok(()) }
}

async fn a_refusal_leaves_its_change_out(shop: &Shop) {
    let (table, products) = products(shop, 5).await;
    let sales = [3, 4, 2, 1].map(|count| products.try_update_with("a", move |product| sell(product, count)));
    let mut results = together(sales).await.into_iter();
    let mut next = || results.next().unwrap();
    assert_eq!(next().unwrap().stock, 0);
    assert_eq!(expect_error!(next(), Refused::Here(why) => why), "2 too few");
    assert_eq!(next().unwrap().stock, 0);
    assert_eq!(expect_error!(next(), Refused::Here(why) => why), "1 too few");
    let product = table.others.get("a").await.unwrap().unwrap();
    assert_eq!((product.stock, product.version()), (0, 2));
    assert_eq!(shop.counts(["GetItem", "UpdateItem"]), [1, 1]);
}

async fn a_panic_resumes_in_its_caller_alone(shop: &Shop) {
    let (table, products) = products(shop, 0).await;
    let calls = (0..3).map(|nth| {
        products.update_with("a", move |product| {
            product.stock += 1;
            assert_ne!(nth, 1, "the second closure panics");
        })
    });
    let mut tasks = start(calls).into_iter();
    let mut next = async || tasks.next().unwrap().await;
    // The report of a panic can take longer than a batch may run, so the third call may be written
    // by another batch.
    let first = next().await.unwrap().unwrap();
    let panic = next().await.unwrap_err().into_panic();
    assert!(panic.downcast_ref::<String>().unwrap().contains("the second closure panics"));
    assert_eq!(next().await.unwrap().unwrap().stock, 2);
    assert!((1..=2).contains(&first.stock), "{first:?}");
    assert_eq!(table.others.get("a").await.unwrap().unwrap().stock, 2);
}

async fn a_changed_key_is_refused_alone(shop: &Shop) {
    let (table, products) = products(shop, 0).await;
    let calls = (0..3).map(|nth| {
        products.update_with("a", move |product| {
            product.stock += 1;
            if nth == 1 {
                product.sku = "b".to_owned();
            }
        })
    });
    let results = together(calls).await;
    assert_eq!(results[0].as_ref().unwrap().stock, 2);
    assert!(matches!(results[1], Err(Error::KeyChanged { .. })));
    assert_eq!(results[2].as_ref().unwrap().stock, 2);
    assert_eq!(table.raw.get("b").await, None);
}

async fn a_missing_item_is_not_found(shop: &Shop) {
    let table = shop.table::<Product>().await;
    let products = table.items.combining();
    for result in together((0..3).map(|_| add(&products, 1))).await {
        expect_error!(result, Error::NotFound { .. });
    }
    let refused = products.try_update_with("a", |product| sell(product, 1)).await;
    expect_error!(refused, Refused::There(Error::NotFound { .. }));
    expect_error!(products.patch("a").add(Product::ATTR.stock, 1).await, Error::NotFound { .. });
    assert_eq!(shop.counts(["GetItem", "UpdateItem", "PutItem"]), [3, 0, 0]);
}

async fn an_upsert_creates_the_item_for_the_calls_behind_it(shop: &Shop) {
    let table = shop.table::<Product>().await;
    let products = table.items.combining();
    let upsert = || products.upsert_with("a", || Product::new("a", 10), |product| product.stock += 1);
    let tasks = [start([add(&products, 1)])].into_iter().flatten();
    let tasks = tasks.chain(start([upsert(), upsert()])).chain(start([add(&products, 1)]));
    let mut results = Vec::new();
    for task in tasks.collect::<Vec<_>>() {
        results.push(task.await.unwrap());
    }
    assert!(matches!(results.remove(0), Err(Error::NotFound { .. })));
    for result in results {
        let product = result.unwrap();
        assert_eq!((product.stock, product.version()), (13, 1));
    }
    assert_eq!(shop.counts(["GetItem", "PutItem"]), [1, 1]);
    let other = products.upsert_with("b", || Product::new("c", 0), |_| ()).await;
    expect_error!(other, Error::KeyChanged { .. });
}

async fn an_upsert_that_loses_to_another_create_updates_that(shop: &Shop) {
    let table = shop.table::<Product>().await;
    let products = table.items.combining();
    shop.rival.before_through(&table.others, "PutItem", 0, async |others| {
        others.create(Product::new("a", 7)).await.unwrap();
    });
    let upserts = (0..3).map(|_| products.upsert_with("a", || Product::new("a", 0), |product| product.stock += 100));
    for result in together(upserts).await {
        let product = result.unwrap();
        assert_eq!((product.stock, product.version()), (307, 2));
    }
    assert_eq!(shop.counts(["GetItem", "PutItem", "UpdateItem"]), [1, 1, 1]);
}

async fn calls_that_change_nothing_write_nothing(shop: &Shop) {
    let (_, products) = products(shop, 5).await;
    for result in together([1, -1, 0].map(|count| add(&products, count))).await {
        let product = result.unwrap();
        assert_eq!((product.stock, product.version()), (5, 1));
    }
    assert_eq!(shop.counts(["GetItem", "UpdateItem"]), [1, 0]);
}

async fn attributes_of_other_programs_survive(shop: &Shop) {
    let (table, products) = products(shop, 0).await;
    let stored = table.raw.get("a").await.unwrap();
    table.raw.put(stored.into_iter().chain([("colour".to_owned(), s("red"))]).collect()).await;
    together((0..150).map(|_| add(&products, 1))).await;
    let stored = table.raw.get("a").await.unwrap();
    assert_eq!((&stored["colour"], &stored["stock"]), (&s("red"), &n(150)));
}

async fn an_item_of_another_program_is_adopted(shop: &Shop) {
    let table = shop.table_of_raw::<Product>([item([("sku", s("a")), ("stock", n(5))])]).await;
    let products = table.items.combining();
    for result in together((0..150).map(|_| add(&products, 1))).await {
        result.unwrap();
    }
    let product = table.others.get("a").await.unwrap().unwrap();
    assert_eq!((product.stock, product.version()), (155, 2));
}

async fn patches_do_in_a_batch_what_they_do_alone(shop: &Shop) {
    let empty = Basket {
        limit: None,
        note: None,
        tags: BTreeSet::new(),
        prices: BTreeMap::new(),
        history: vec![],
        marks: vec![3],
        ..Basket::new("b")
    };
    let table = shop.table_of([Basket::new("a"), empty]).await;
    let twins = shop.table_of([Basket::new("a"), table.others.get("b").await.unwrap().unwrap().into_inner()]).await;
    let baskets = table.items.combining();
    for id in ["a", "b"] {
        // Each line is one patch, sent alone to one table and combined to the other.
        macro_rules! compare {
            ($($change:ident($($argument:expr),*)),* $(,)?) => {{
                let alone = twins.items.patch(id)$(.$change($($argument),*))*.await.unwrap().into_inner();
                let combined = baskets.patch(id)$(.$change($($argument),*))*.await.unwrap().into_inner();
                assert_eq!(combined, alone, "{}", stringify!($($change($($argument),*)),*));
            }};
        }
        let (a, address, part) = (Basket::ATTR, Address::ATTR, Part::ATTR);
        compare!(add(a.count, -3), add(a.balance, -5), add(a.limit, 7), add(a.bonus, 2), add(a.small, 200));
        compare!(add(a.price, 0.1), set(a.title, "crate"));
        compare!(add(a.price, 0.2));
        compare!(set_if_absent(a.note, "first".to_owned()));
        compare!(set_if_absent(a.note, "second".to_owned()));
        compare!(append(a.history, ["packed", "sent"]), prepend(a.marks, [1, 2]));
        compare!(prepend(a.history, ["begun"]), append(a.marks, [9]));
        compare!(insert(a.tags, ["sale", "new"]), insert(a.sizes, [2_u32, 3]));
        compare!(delete(a.tags, ["sale"]));
        compare!(delete(a.tags, ["new", "absent"]));
        compare!(set(a.address.at(address.city), "Oslo"), add(a.address.at(address.floor), 2));
        compare!(add(a.parts.index(0).at(part.quantity), 4), set(a.prices.key("usd"), 5), add(a.prices.key("nok"), 30));
        compare!(append(a.history, ["x", "y", "z"]));
        compare!(remove(a.history.index(0)), remove(a.history.index(1)), set(a.history.index(2), "second"));
        compare!(remove(a.prices.key("usd")), remove(a.note), set(a.limit, None::<u32>));
        compare!(add(a.limit, 1), when(a.prices.key("nok").eq(30)));
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Versioned)]
#[dynalock(table = "shelves")]
struct Shelf {
    #[dynalock(partition_key)]
    id: String,
    rows: Vec<Row>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Attributes)]
struct Row {
    labels: Vec<String>,
    note: Option<String>,
}

/// The removal of a list element must not change the meaning of a path that leads through a later
/// element of the list.
async fn a_patch_in_a_batch_removes_what_its_paths_named_before_it(shop: &Shop) {
    let row =
        |nth| Row { labels: vec![format!("first {nth}"), format!("second {nth}")], note: Some(format!("note {nth}")) };
    let shelf = |id: &str| Shelf { id: id.to_owned(), rows: (0..5).map(row).collect() };
    let table = shop.table_of([shelf("alone"), shelf("combined")]).await;
    let (rows, row) = (Shelf::ATTR.rows, Row::ATTR);
    macro_rules! patched {
        ($items:expr, $id:literal) => {{
            let patch = $items.patch($id).remove(rows.index(3).at(row.note)).remove(rows.index(1));
            patch.remove(rows.index(2).at(row.labels).index(0)).await.unwrap().into_inner().rows
        }};
    }
    let alone = patched!(table.items, "alone");
    assert_eq!(patched!(table.items.combining(), "combined"), alone);
    assert_eq!((alone[1].labels.len(), alone[2].note.as_deref(), alone[3].note.as_deref()), (1, None, Some("note 4")));
}

async fn a_patch_sees_the_calls_before_it(shop: &Shop) {
    let (table, products) = products(shop, 0).await;
    let a = Product::ATTR;
    let tasks = [
        start([add(&products, 5)]),
        start([products.patch("a").add(a.stock, 10).when(a.stock.eq(5))]),
        start([products.update_with("a", |product| product.stock *= 2)]),
    ];
    for task in tasks.into_iter().flatten() {
        assert_eq!(task.await.unwrap().unwrap().stock, 30);
    }
    assert_eq!(table.others.get("a").await.unwrap().unwrap().version(), 2);
}

async fn a_refused_patch_leaves_its_change_out(shop: &Shop) {
    let table = shop.table_of([Basket::new("a")]).await;
    let (baskets, a) = (table.items.combining(), Basket::ATTR);
    let tasks = start([
        baskets.patch("a").add(a.count, -8),
        baskets.patch("a").add(a.count, -8),
        baskets.patch("a").set(a.title, "crate").when(a.count.ge(8)),
        baskets.patch("a").add(a.parts.index(7).at(Part::ATTR.quantity), 1),
        baskets.patch("a").add(a.count, -2),
    ]);
    let mut results = Vec::new();
    for task in tasks {
        results.push(task.await.unwrap());
    }
    assert_eq!(results[0].as_ref().unwrap().count, 0);
    assert!(matches!(&results[1], Err(Error::OutOfRange { attribute, .. }) if attribute == "count"));
    let failed = expect_error!(&results[2], Error::ConditionFailed(failed) => failed);
    assert_eq!(failed.current::<Basket>().unwrap().unwrap().count, 2);
    assert!(matches!(&results[3], Err(Error::Unpatchable { .. })));
    assert_eq!(results[4].as_ref().unwrap().count, 0);
    let stored = table.others.get("a").await.unwrap().unwrap();
    assert_eq!((stored.count, stored.version()), (0, 2));
}

async fn an_invalid_patch_is_not_sent(shop: &Shop) {
    let (_, products) = products(shop, 0).await;
    expect_error!(products.patch("a").await, Error::InvalidPatch { why: InvalidPatch::Empty, .. });
    assert_eq!(shop.requests(), 0);
}
