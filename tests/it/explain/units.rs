//! The units of explained requests, compared with the capacity that the engine reports.

use aws_sdk_dynamodb::types::AttributeValue;
use dynalock::{Repository, Transaction, Versioned, request::Explained};

use crate::{
    guide::meter::{Meter, Units},
    support::{Archive, Item, Product, Shop, Table, changed},
};

const KB: usize = 1024;

/// A table behind a meter.
struct Metered<T> {
    meter: Meter,
    client: aws_sdk_dynamodb::Client,
    items: Repository<T>,
    table: Table<T>,
}

impl<T: Versioned> Metered<T> {
    async fn new() -> Self {
        let (shop, meter) = (Shop::without_faults(), Meter::default());
        let (client, table) = (meter.on(&shop.client), shop.table::<T>().await);
        let items = Repository::new(&client).table(table.name());
        Self { meter, client, items, table }
    }

    /// Returns the size of the item `a`.
    async fn size(&self) -> usize {
        bytes(&self.table.raw.get("a").await.expect("an item"))
    }

    /// Asserts that the requests since the last call cost what was explained.
    fn cost(&self, explained: &Explained, bytes: usize) {
        let units =
            Units { reads: explained.read_units(bytes).as_f64(), writes: explained.write_units(bytes).as_f64() };
        assert_eq!(self.meter.take(), units, "{bytes} bytes: {explained}");
    }
}

/// Returns the size of an item as DynamoDB counts it. The numbers of these items have one digit.
fn bytes(item: &Item) -> usize {
    let value = |value: &AttributeValue| match value {
        AttributeValue::S(text) => text.len(),
        AttributeValue::N(number) if number.len() <= 2 => 2,
        AttributeValue::B(bytes) => bytes.as_ref().len(),
        AttributeValue::Null(_) => 1,
        other => panic!("an item of these tests has no {other:?}"),
    };
    item.iter().map(|(name, of)| name.len() + value(of)).sum()
}

/// Makes a product whose item has this size after a create.
fn product(size: usize) -> Product {
    // The other attributes of a new item have 52 bytes, which the test verifies.
    Product { note: Some("n".repeat(size - 52)), ..Product::new("a", 5) }
}

#[tokio::test]
async fn a_write_costs_what_it_explains_around_each_kilobyte() {
    for size in [KB - 1, KB, KB + 1, 2 * KB, 2 * KB + 1, 4 * KB, 4 * KB + 1] {
        let it = Metered::<Product>::new().await;
        let create = it.items.create(product(size));
        let explained = create.explain().unwrap();
        create.await.unwrap();
        assert_eq!(it.size().await, size);
        it.cost(&explained, size);

        let stored = it.table.others.get("a").await.unwrap().unwrap();
        let update = it.items.update(changed(stored, |product| product.stock = 6));
        let explained = update.explain().unwrap();
        update.await.unwrap();
        // The update adds a write id, so the item after the update is larger.
        let after = it.size().await;
        it.cost(&explained, after);

        let stored = it.table.others.get("a").await.unwrap().unwrap();
        let update = it.items.update(changed(stored, |product| product.stock = 7)).exactly_once();
        let explained = update.explain().unwrap();
        update.await.unwrap();
        let after = it.size().await;
        it.cost(&explained, after);

        let stored = it.table.others.get("a").await.unwrap().unwrap();
        let delete = it.items.delete(stored);
        let explained = delete.explain().unwrap();
        delete.await.unwrap();
        it.cost(&explained, after);
    }
}

#[tokio::test]
async fn a_patch_in_a_transaction_costs_its_write_and_its_read() {
    for size in [KB - 200, 3 * KB, 4 * KB - 40, 4 * KB] {
        let it = Metered::<Product>::new().await;
        it.items.create(product(size)).await.unwrap();
        it.meter.take();
        for is_once in [false, true] {
            let patch = it.items.patch("a").set(Product::ATTR.stock, 7);
            let patch = if is_once { patch.exactly_once() } else { patch };
            let explained = patch.explain().unwrap();
            patch.await.unwrap();
            let after = it.size().await;
            it.cost(&explained, after);
        }
    }
}

#[tokio::test]
async fn a_read_costs_what_it_explains_around_each_block_of_four_kilobytes() {
    for size in [KB, 4 * KB, 4 * KB + 1, 8 * KB, 8 * KB + 1] {
        let it = Metered::<Product>::new().await;
        it.items.create(product(size)).await.unwrap();
        it.meter.take();
        for read in [it.items.get("a"), it.items.get("a").eventually_consistent()] {
            let explained = read.explain().unwrap();
            read.await.unwrap();
            it.cost(&explained, size);
        }
        let many = it.items.get_many(["a"]);
        let explained = many.explain().unwrap();
        many.await.unwrap();
        it.cost(&explained, size);
        let mut get = Transaction::get(&it.client);
        let _a = get.item(&it.items, "a");
        let explained = get.explain().unwrap();
        get.fetch().await.unwrap();
        it.cost(&explained, size);
        for query in [it.items.query("a"), it.items.query("a").eventually_consistent()] {
            let explained = query.explain().unwrap();
            query.clone().collect().await.unwrap();
            it.cost(&explained, size);
            let explained = query.explain_count().unwrap();
            query.count().await.unwrap();
            it.cost(&explained, size);
        }
    }
}

#[tokio::test]
async fn a_missing_item_costs_one_unit() {
    let it = Metered::<Product>::new().await;
    let (get, delete) = (it.items.get("a"), it.items.delete_unchecked("a"));
    let explained = get.explain().unwrap();
    get.await.unwrap();
    it.cost(&explained, 0);
    let explained = delete.explain().unwrap();
    delete.await.unwrap();
    it.cost(&explained, 0);
}

#[tokio::test]
async fn a_transaction_costs_twice_and_the_row_of_a_lease_counts() {
    for size in [KB, KB + 1, 3 * KB] {
        let it = Metered::<Product>::new().await;
        let mut tx = Transaction::new(&it.client);
        tx.create(&it.items, product(size));
        let explained = tx.explain().unwrap();
        tx.commit().await.unwrap();
        it.cost(&explained, size);
        let mut tx = Transaction::new(&it.client);
        tx.check_exists(&it.items, "a");
        let explained = tx.explain().unwrap();
        tx.commit().await.unwrap();
        it.cost(&explained, size);
    }
    let it = Metered::<Archive>::new().await;
    for label in ["short".to_owned(), "n".repeat(3 * KB)] {
        it.items.delete_unchecked("a").await.unwrap();
        it.items.create(Archive { label: Some(label), ..Archive::new("a", 1) }).await.unwrap();
        let stored = it.table.others.get("a").await.unwrap().unwrap();
        it.meter.take();
        let update = it.items.update(changed(stored, |archive| archive.items = 2));
        let explained = update.explain().unwrap();
        update.await.unwrap();
        let after = it.size().await;
        it.cost(&explained, after);
    }
}
