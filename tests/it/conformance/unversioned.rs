//! Items that other programs wrote: without a version, or with a version and without write ids.

use std::collections::BTreeMap;

use dynalock::{Error, Stored, Transaction, Versioned, error::CancellationClass};
use serde::{Deserialize, Serialize};

use crate::support::{Item, Product, Shop, Table, changed, expect_error, item, n, s};

cases![
    an_item_without_a_version_is_read_at_0,
    an_item_without_a_version_is_adopted_by_the_first_update,
    adoption_fails_if_an_attribute_that_it_writes_was_changed,
    adoption_fails_if_an_attribute_that_it_writes_was_added_or_removed,
    adoption_fails_if_any_other_attribute_was_changed,
    adoption_fails_if_another_attribute_of_its_type_was_added,
    adoption_begins_an_incarnation_that_no_earlier_writer_fits,
    adoption_of_an_item_put_without_write_ids_fails_if_its_content_changed,
    an_adopted_value_is_what_is_stored,
    two_contents_of_an_item_without_a_version_have_two_etags,
    an_item_without_write_ids_with_too_many_attributes_to_compare_is_an_error,
    adoption_fails_if_the_item_was_deleted,
    adoption_fails_if_another_program_has_changed_the_item,
    adoption_fails_if_somebody_else_has_adopted_the_item,
    adoption_fails_if_the_alias_of_an_attribute_that_it_writes_was_changed,
    update_with_adopts_what_a_concurrent_program_wrote,
    an_unchanged_unversioned_item_is_deleted_and_replaced,
    touch_of_an_unversioned_item_adopts_it,
    versions_that_others_wrote_are_updated,
    a_version_written_by_others_is_checked,
    an_adopted_item_is_guarded_by_its_incarnation,
];

fn foreign() -> Item {
    item([("sku", s("a")), ("stock", n(5)), ("color", s("red"))])
}

async fn unversioned(shop: &Shop) -> Table<Product> {
    shop.table_of_raw([foreign()]).await
}

async fn read_unversioned(shop: &Shop) -> (Table<Product>, Stored<Product>) {
    let table = unversioned(shop).await;
    let product = table.items.get("a").await.unwrap().unwrap();
    (table, product)
}

async fn an_item_without_a_version_is_read_at_0(shop: &Shop) {
    let (_, product) = read_unversioned(shop).await;
    assert_eq!((product.version(), &*product), (0, &Product::new("a", 5)));
}

async fn an_item_without_a_version_is_adopted_by_the_first_update(shop: &Shop) {
    let (table, product) = read_unversioned(shop).await;
    let product = table.items.update(changed(product, |it| it.stock = 6)).await.unwrap();
    assert_eq!(product.version(), 1);
    let stored = table.raw.get("a").await.unwrap();
    assert_eq!((&stored["_version"], &stored["stock"], &stored["color"]), (&n(1), &n(6), &s("red")));
    let product = table.items.update_with("a", |product| product.stock += 1).await.unwrap();
    assert_eq!((product.version(), product.stock), (2, 7));
}

async fn adoption_fails_if_an_attribute_that_it_writes_was_changed(shop: &Shop) {
    let (table, mut product) = read_unversioned(shop).await;
    table.raw.set("a", "stock", n(50)).await;
    product.stock -= 1;
    let lost = expect_error!(table.items.update(product).await, Error::Conflict(lost) => lost);
    let current = lost.current::<Product>().unwrap().unwrap();
    assert_eq!((current.version(), current.stock), (0, 50));
    assert_eq!(table.raw.get("a").await.unwrap()["stock"], n(50));
}

async fn adoption_fails_if_an_attribute_that_it_writes_was_added_or_removed(shop: &Shop) {
    let (table, mut product) = read_unversioned(shop).await;
    table.raw.set("a", "note", s("theirs")).await;
    product.note = Some("mine".to_owned());
    expect_error!(table.items.update(product).await, Error::Conflict(_));

    let mut product = table.items.get("a").await.unwrap().unwrap();
    table.raw.remove("a", "note").await;
    product.note = Some("mine".to_owned());
    expect_error!(table.items.update(product).await, Error::Conflict(_));
    assert_eq!(table.raw.get("a").await, Some(foreign()));
}

async fn adoption_fails_if_any_other_attribute_was_changed(shop: &Shop) {
    for write in WRITES {
        let (table, product) = read_unversioned(shop).await;
        table.raw.set("a", "color", s("blue")).await;
        write.is_refused(shop, &table, changed(product, |it| it.stock = 6)).await;
        let stored = table.raw.get("a").await.unwrap();
        assert_eq!((&stored["color"], &stored["stock"]), (&s("blue"), &n(5)), "{write:?}");
    }
}

async fn adoption_fails_if_another_attribute_of_its_type_was_added(shop: &Shop) {
    for write in WRITES {
        let (table, product) = read_unversioned(shop).await;
        table.raw.set("a", "note", s("do not lose this")).await;
        write.is_refused(shop, &table, changed(product, |it| it.stock = 6)).await;
        assert_eq!(table.raw.get("a").await.unwrap()["note"], s("do not lose this"), "{write:?}");
    }
}

/// The checked writes of a value that was read.
#[derive(Debug, Clone, Copy)]
enum Write {
    Update,
    Touch,
    Replace,
    Delete,
    Transaction,
    Check,
}

const WRITES: [Write; 6] =
    [Write::Update, Write::Touch, Write::Replace, Write::Delete, Write::Transaction, Write::Check];

impl Write {
    async fn is_refused(self, shop: &Shop, table: &Table<Product>, product: Stored<Product>) {
        let items = &table.items;
        let result = match self {
            Self::Update => items.update(product).await.map(drop),
            Self::Touch => items.touch(product).await.map(drop),
            Self::Replace => items.replace(product).await.map(drop),
            Self::Delete => items.delete(product).await.map(drop),
            Self::Transaction | Self::Check => {
                let mut tx = Transaction::new(&shop.client);
                match self {
                    Self::Check => drop(tx.check(items, &product)),
                    _ => drop(tx.update(items, product)),
                }
                tx.create(items, Product::new("other", 1));
                let refused = expect_error!(tx.commit().await, Error::Cancelled(refused) => refused);
                assert_eq!(refused.class(), CancellationClass::Conflict, "{self:?}");
                return;
            }
        };
        assert!(matches!(result, Err(Error::Conflict(_))), "{self:?}: {result:?}");
    }
}

async fn adoption_begins_an_incarnation_that_no_earlier_writer_fits(shop: &Shop) {
    let table = shop.table::<Product>().await;
    table.items.create(Product::new("a", 0)).await.unwrap();
    let stale = table.items.get("a").await.unwrap().unwrap();
    table.others.update_with("a", |product| product.stock += 10).await.unwrap();
    // Another program removes only the version.
    table.raw.remove("a", "_version").await;
    let adopted = table.others.update_with("a", |product| product.stock += 10).await.unwrap();
    assert_eq!(adopted.version(), stale.version());
    expect_error!(table.items.update(changed(stale, |it| it.stock += 1)).await, Error::Conflict(_));
    assert_eq!(table.raw.get("a").await.unwrap()["stock"], n(20));
}

async fn adoption_of_an_item_put_without_write_ids_fails_if_its_content_changed(shop: &Shop) {
    let put = |stock: i64| item([("sku", s("a")), ("stock", n(stock)), ("_version", n(1))]);
    for write in WRITES {
        let table = shop.table_of_raw::<Product>([put(5)]).await;
        let stale = table.items.get("a").await.unwrap().unwrap();
        // Another program deletes the item and puts a new item with the same version and without
        // write ids.
        table.raw.delete("a").await;
        table.raw.put(put(100)).await;
        write.is_refused(shop, &table, changed(stale, |it| it.stock += 1)).await;
        assert_eq!(table.raw.get("a").await, Some(put(100)), "{write:?}");
    }
}

async fn an_adopted_value_is_what_is_stored(shop: &Shop) {
    let table = unversioned(shop).await;
    let raw = table.raw.clone();
    shop.rival.before("UpdateItem", 0, async move || raw.set("a", "note", s("theirs")).await);
    let product = table.items.update_with("a", |product| product.stock = 6).await.unwrap();
    assert_eq!((product.stock, product.note.as_deref()), (6, Some("theirs")));
    assert_eq!(table.items.get("a").await.unwrap(), Some(product));
}

async fn two_contents_of_an_item_without_a_version_have_two_etags(shop: &Shop) {
    for version in [None, Some(3)] {
        let table = unversioned(shop).await;
        if let Some(version) = version {
            table.raw.set("a", "_version", n(version)).await;
        }
        let before = table.items.get("a").await.unwrap().unwrap().etag();
        assert_eq!(table.items.get("a").await.unwrap().unwrap().etag(), before);
        table.raw.set("a", "color", s("blue")).await;
        assert_ne!(table.items.get("a").await.unwrap().unwrap().etag(), before);
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Versioned)]
#[dynalock(table = "readings")]
struct Readings {
    #[dynalock(partition_key)]
    id: String,
    #[serde(default)]
    seen: u64,
    #[serde(flatten)]
    values: BTreeMap<String, i64>,
}

/// DynamoDB allows 300 operators in a condition.
async fn an_item_without_write_ids_with_too_many_attributes_to_compare_is_an_error(shop: &Shop) {
    for (attributes, fits) in [(146, true), (147, false), (600, false)] {
        let table = shop.table::<Readings>().await;
        let values = (0..attributes).map(|index| (format!("m{index}"), n(index)));
        let stored: Item = values.chain([("id".to_owned(), s("a"))]).collect();
        table.raw.put(stored.clone()).await;
        let readings = changed(table.items.get("a").await.unwrap().unwrap(), |it| it.values.insert("m0".to_owned(), 7));
        let result = table.items.update(readings).await;
        if fits {
            assert_eq!(result.unwrap().version(), 1);
        } else {
            let (operators, remedy) =
                expect_error!(result, Error::ExpressionTooLong { operators, remedy, .. } => (operators, remedy));
            assert!(operators > 300, "{operators}");
            assert!(remedy.contains("compared as a whole") && remedy.contains("send it a `patch`"), "{remedy}");
            assert_eq!(table.raw.get("a").await, Some(stored));
            // A patch adopts the item, as the error advises.
            let patched = table.items.patch("a").set(Readings::ATTR.seen, 1).await.unwrap();
            let updated = changed(patched, |it| it.values.insert("m0".to_owned(), 7));
            assert_eq!(table.items.update(updated).await.unwrap().version(), 2);
        }
    }
}

async fn adoption_fails_if_the_item_was_deleted(shop: &Shop) {
    let (table, mut product) = read_unversioned(shop).await;
    table.raw.delete("a").await;
    product.note = Some("mine".to_owned());
    let lost = expect_error!(table.items.update(product).await, Error::Conflict(lost) => lost);
    assert_eq!(lost.current_item(), None);
    assert_eq!(table.raw.get("a").await, None);
}

async fn adoption_fails_if_another_program_has_changed_the_item(shop: &Shop) {
    let (table, mut product) = read_unversioned(shop).await;
    table.raw.set("a", "stock", n(50)).await;
    product.stock = 6;
    let error = table.items.update(product).await.unwrap_err();
    let text = "expected no version, found no version, with another content or lease";
    assert!(error.to_string().contains(text), "{error}");
    expect_error!(Err::<(), _>(error), Error::Conflict(_));
}

async fn adoption_fails_if_somebody_else_has_adopted_the_item(shop: &Shop) {
    let (table, mut product) = read_unversioned(shop).await;
    table.others.update_with("a", |product| product.note = Some("theirs".to_owned())).await.unwrap();
    product.stock = 6;
    let lost = expect_error!(table.items.update(product).await, Error::Conflict(lost) => lost);
    assert_eq!(lost.current::<Product>().unwrap().unwrap().version(), 1);
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Versioned)]
#[dynalock(table = "aliased")]
struct Aliased {
    #[dynalock(partition_key)]
    sku: String,
    #[serde(alias = "qty")]
    quantity: i64,
}

async fn adoption_fails_if_the_alias_of_an_attribute_that_it_writes_was_changed(shop: &Shop) {
    let table = shop.table_of_raw::<Aliased>([item([("sku", s("a")), ("qty", n(5))])]).await;
    let aliased = table.items.get("a").await.unwrap().unwrap();
    table.raw.set("a", "qty", n(50)).await;
    expect_error!(table.items.update(changed(aliased, |it| it.quantity -= 1)).await, Error::Conflict(_));
    assert_eq!(table.raw.get("a").await, Some(item([("sku", s("a")), ("qty", n(50))])));
}

async fn update_with_adopts_what_a_concurrent_program_wrote(shop: &Shop) {
    let table = unversioned(shop).await;
    let raw = table.raw.clone();
    shop.rival.before("UpdateItem", 0, async move || raw.set("a", "stock", n(50)).await);
    let product = table.items.update_with("a", |product| product.stock += 1).await.unwrap();
    assert_eq!((product.version(), product.stock), (1, 51));
    assert_eq!(shop.counts(["GetItem", "UpdateItem"]), [1, 2]);
}

async fn an_unchanged_unversioned_item_is_deleted_and_replaced(shop: &Shop) {
    let (table, product) = read_unversioned(shop).await;
    assert_eq!(table.items.replace(product).await.unwrap().version(), 1);
    assert_eq!(table.raw.get("a").await.unwrap().get("color"), None);
    table.raw.put(foreign()).await;
    let product = table.items.get("a").await.unwrap().unwrap();
    assert!(table.items.delete(product).await.unwrap().certain);
    assert_eq!(table.raw.get("a").await, None);
}

async fn touch_of_an_unversioned_item_adopts_it(shop: &Shop) {
    let (table, product) = read_unversioned(shop).await;
    assert_eq!(table.items.touch(product).await.unwrap().version(), 1);
    let stored = table.raw.get("a").await.unwrap();
    assert_eq!((&stored["_version"], &stored["stock"], &stored["color"]), (&n(1), &n(5), &s("red")));
}

async fn versions_that_others_wrote_are_updated(shop: &Shop) {
    let table = shop.table::<Product>().await;
    for (stored, after) in [("0", 1), ("1", 2), ("41", 42), ("1.0", 2), ("1e3", 1001)] {
        table.raw.put(item([("sku", s("a")), ("stock", n(5)), ("_version", n(stored))])).await;
        let product = table.items.update_with("a", |product| product.stock = 6).await.unwrap();
        assert_eq!((product.version(), product.stock), (after, 6), "{stored}");
        let mut product = table.items.get("a").await.unwrap().unwrap();
        assert_eq!(product.version(), after);
        product.stock = 7;
        assert_eq!(table.items.update(product).await.unwrap().version(), after + 1);
        table.raw.put(item([("sku", s("a")), ("stock", n(5)), ("_version", n(stored))])).await;
        let product = table.items.get("a").await.unwrap().unwrap();
        assert!(table.items.delete(product).await.unwrap().certain);
    }
}

async fn a_version_written_by_others_is_checked(shop: &Shop) {
    let table = shop.table::<Product>().await;
    for (read, found) in [(0, 1), (1, 0), (7, 8)] {
        table.raw.put(item([("sku", s("a")), ("stock", n(5)), ("_version", n(read))])).await;
        let mut product = table.items.get("a").await.unwrap().unwrap();
        table.raw.set("a", "_version", n(found)).await;
        product.stock = 6;
        let lost = expect_error!(table.items.update(product).await, Error::Conflict(lost) => lost);
        assert_eq!(lost.current::<Product>().unwrap().unwrap().version(), found);
    }
}

async fn an_adopted_item_is_guarded_by_its_incarnation(shop: &Shop) {
    let table = shop.table::<Product>().await;
    let theirs = item([("sku", s("a")), ("stock", n(5)), ("_version", n(1))]);
    table.raw.put(theirs.clone()).await;
    let product = table.items.update_with("a", |product| product.stock = 6).await.unwrap();
    // The other program writes the whole item, and its version happens to be the same.
    table.raw.put(item([("sku", s("a")), ("stock", n(9)), ("_version", n(2))])).await;
    expect_error!(table.items.update(changed(product, |it| it.stock = 7)).await, Error::Conflict(_));
    assert_eq!(table.raw.get("a").await.unwrap()["stock"], n(9));
}
