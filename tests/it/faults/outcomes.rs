//! Each public write under each fault. The returned result is compared with the stored item.

use std::time::Duration;

use dynalock::{
    Error, Result, Stored,
    error::Unavailable,
    local::{Fault, Faults},
};

use crate::support::{
    LOST_REPLIES, Product, Shop, Table, changed, item, millis, n, repeats::Repeated, s, secs, travel,
};

/// The public writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Write {
    Create,
    Update,
    Replace,
    Touch,
    Delete,
    DeleteUnchecked,
    UpdateWith,
    TryUpdateWith,
    UpsertWithNew,
    UpsertWithOld,
}

use Write::{
    Create, Delete, DeleteUnchecked, Replace, Touch, TryUpdateWith, Update, UpdateWith, UpsertWithNew, UpsertWithOld,
};

const WRITES: [Write; 10] =
    [Create, Update, Replace, Touch, Delete, DeleteUnchecked, UpdateWith, TryUpdateWith, UpsertWithNew, UpsertWithOld];

const OPERATIONS: [&str; 4] = ["PutItem", "UpdateItem", "DeleteItem", "TransactWriteItems"];

impl Write {
    /// Returns whether the write needs an existing item.
    fn needs_an_item(self) -> bool {
        !matches!(self, Create | UpsertWithNew)
    }

    /// Runs the write. With `once`, the write is a transaction of one action.
    async fn run(self, table: &Table<Product>, once: bool) -> Result<Acknowledged> {
        let items = &table.items;
        let mut product = table.others.get("a").await.unwrap();
        if let Some(product) = &mut product
            && matches!(self, Update | Replace)
        {
            product.stock = 6;
        }
        let known = || product.clone().expect("an item");
        macro_rules! send {
            ($request:expr) => {{
                let request = $request;
                if once { request.exactly_once().await } else { request.await }
            }};
        }
        let stored = match self {
            Create => send!(items.create(Product::new("a", 6))),
            Update => send!(items.update(known())),
            Replace => send!(items.replace(known())),
            Touch => send!(items.touch(known())),
            Delete => return send!(items.delete(known())).map(|_| Acknowledged::Gone),
            DeleteUnchecked => return items.delete_unchecked("a").await.map(|()| Acknowledged::Gone),
            UpdateWith => send!(items.update_with("a", |product| product.stock = 6)),
            TryUpdateWith => send!(items.try_update_with("a", |product| {
                product.stock = 6;
                Ok::<_, Error>(())
            })),
            UpsertWithNew | UpsertWithOld => {
                send!(items.upsert_with("a", || Product::new("a", 0), |product| product.stock = 6))
            }
        };
        stored.map(|stored| Acknowledged::At(stored.version(), stored.stock))
    }

    /// The result of a successful write, and the item that is stored after it.
    fn applied(self) -> Acknowledged {
        match self {
            Create | UpsertWithNew => Acknowledged::At(1, 6),
            Update | Replace | UpdateWith | TryUpdateWith | UpsertWithOld => Acknowledged::At(2, 6),
            Touch => Acknowledged::At(2, 5),
            Delete | DeleteUnchecked => Acknowledged::Gone,
        }
    }

    fn not_applied(self) -> Acknowledged {
        if self.needs_an_item() { Acknowledged::At(1, 5) } else { Acknowledged::Gone }
    }
}

/// The stored item after a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Acknowledged {
    /// An item with this version and stock.
    At(u64, i64),
    /// No item.
    Gone,
}

async fn stored(table: &Table<Product>) -> Acknowledged {
    let Some(item) = table.raw.get("a").await else { return Acknowledged::Gone };
    let number = |name: &str| item[name].as_n().unwrap().parse::<i64>().unwrap();
    Acknowledged::At(number("_version").try_into().unwrap(), number("stock"))
}

/// Faults after which the request was never applied.
fn before_it_is_applied() -> Vec<Fault> {
    vec![Fault::Refused, Fault::LoseRequest, Fault::ServerError, Fault::NeverAnswer, Fault::Throttle]
}

/// Faults that hide from the caller that the request was applied.
fn after_it_is_applied() -> Vec<Fault> {
    let more = [Fault::TruncatedAfterApply, Fault::Delay(secs(20))];
    LOST_REPLIES.into_iter().chain(more).collect()
}

/// Each write, also exactly once, under each fault.
fn cases() -> impl Iterator<Item = (Write, bool, Fault)> {
    let faults = || before_it_is_applied().into_iter().chain(after_it_is_applied());
    let writes = WRITES.into_iter().flat_map(|write| [(write, false), (write, true)]);
    writes.flat_map(move |(write, once)| faults().map(move |fault| (write, once, fault)))
}

async fn shop(write: Write) -> (Shop, Table<Product>) {
    let (shop, table) = Shop::with_table::<Product>().await;
    if write.needs_an_item() {
        table.others.create(Product::new("a", 5)).await.unwrap();
    }
    (shop, table)
}

/// Compares a result with the stored item.
fn agrees(result: &Result<Acknowledged>, stored: Acknowledged, write: Write, what: &str) {
    match result {
        Ok(acknowledged) => {
            assert_eq!(*acknowledged, write.applied(), "{what}");
            assert_eq!(stored, write.applied(), "{what}: acknowledged");
        }
        Err(Error::Exhausted { .. } | Error::Rejected(_)) => {
            assert_eq!(stored, write.not_applied(), "{what}: said to be not applied");
        }
        Err(Error::Indeterminate { .. }) => {
            assert!([write.applied(), write.not_applied()].contains(&stored), "{what}: {stored:?}");
        }
        Err(other) => panic!("{what}: {other:?}"),
    }
}

#[tokio::test(start_paused = true)]
async fn every_write_survives_one_fault_of_each_kind() {
    for (write, once, fault) in cases() {
        let (shop, table) = shop(write).await;
        for operation in OPERATIONS {
            shop.faults.script_on(operation, 0, fault.clone());
        }
        let what = format!("{write:?}, {fault:?}, once: {once}");
        let result = write.run(&table, once).await;
        assert!(result.is_ok(), "{what}: {result:?}");
        agrees(&result, stored(&table).await, write, &what);
    }
}

#[tokio::test(start_paused = true)]
async fn no_write_is_reported_as_done_or_undone_against_the_store_while_all_requests_fail() {
    for (write, once, fault) in cases() {
        let (shop, table) = shop(write).await;
        shop.faults.always(fault.clone());
        let what = format!("{write:?}, always {fault:?}, once: {once}");
        let result = write.run(&table, once).await;
        assert!(result.is_err(), "{what}: {result:?}");
        agrees(&result, stored(&table).await, write, &what);
    }
}

#[tokio::test(start_paused = true)]
async fn a_write_whose_every_attempt_fails_is_exhausted_or_indeterminate_by_what_the_faults_prove() {
    for (write, once, fault) in cases() {
        let (shop, table) = shop(write).await;
        for operation in OPERATIONS {
            for nth in 0..50 {
                shop.faults.script_on(operation, nth, fault.clone());
            }
        }
        let what = format!("{write:?}, each write {fault:?}, once: {once}");
        let result = write.run(&table, once).await;
        agrees(&result, stored(&table).await, write, &what);
        match (fault, result) {
            (Fault::Refused, Err(Error::Exhausted { last, .. })) => {
                assert!(matches!(*last, Error::Unavailable(Unavailable::Refused)), "{what}: {last:?}");
            }
            (Fault::Throttle, Err(Error::Exhausted { last, .. })) => {
                assert!(matches!(*last, Error::Throttled(_)), "{what}: {last:?}");
            }
            (Fault::Refused | Fault::Throttle, other) => panic!("{what}: {other:?}"),
            (_, Err(Error::Indeterminate { last: Some(last), .. })) => {
                assert!(matches!(*last, Error::Unavailable(_)), "{what}: {last:?}");
            }
            (_, other) => panic!("{what}: {other:?}"),
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_value_whose_write_failed_is_at_its_old_version_and_can_be_written_again() {
    let (shop, table) = shop(Update).await;
    let product = changed(table.items.get("a").await.unwrap().unwrap(), |it| it.stock = 6);
    for fault in [Fault::Refused, Fault::Throttle] {
        shop.faults.always(fault);
        table.items.update(product.clone()).await.unwrap_err();
        assert_eq!((product.version(), stored(&table).await), (1, Acknowledged::At(1, 5)));
    }
    shop.faults.clear();
    let product = table.items.update(product).await.unwrap();
    assert_eq!((product.version(), stored(&table).await), (2, Acknowledged::At(2, 6)));
}

#[tokio::test(start_paused = true)]
async fn an_error_keeps_content_to_itself_also_when_a_write_fails() {
    const SECRET: &str = "5500005555555559";
    let (shop, table) = shop(Update).await;
    table.raw.set("a", "note", s(SECRET)).await;
    for fault in before_it_is_applied().into_iter().chain(after_it_is_applied()) {
        let product = changed(table.others.get("a").await.unwrap().unwrap(), |it| it.stock += 1);
        shop.faults.always(fault);
        let error = table.items.update(product).await.unwrap_err();
        assert!(!format!("{error} {error:?}").contains(SECRET), "{error} {error:?}");
        shop.faults.clear();
    }
    assert_ne!(table.raw.get("a").await.unwrap()["stock"], n(5));
}

/// Runs an upsert whose create is refused and repeated. The update of the second run is refused
/// after 10 ms, because the item was deleted before the copy of the create arrived.
async fn upsert_with_repeated_create(deadline: Duration) -> (Table<Product>, Stored<Product>) {
    let (copy, shop, table) = Repeated::of_refused_create().await;
    shop.rival.before_through(&table.others, "UpdateItem", 0, async |others| {
        travel(millis(5)).await;
        others.delete_unchecked("a").await.unwrap();
        copy.arrive().await;
    });
    let upsert = table.items.upsert_with("a", || Product::new("a", 0), |product| product.stock += 1);
    let product = upsert.deadline(deadline).await.unwrap();
    (table, product)
}

#[tokio::test(start_paused = true)]
async fn an_upsert_returns_the_item_of_its_repeated_create() {
    let (table, product) = upsert_with_repeated_create(secs(5)).await;
    assert_eq!((product.stock, product.version()), (1, 1));
    let product = table.items.update(changed(product, |product| product.stock += 1)).await.unwrap();
    assert_eq!((product.stock, product.version()), (2, 2));
}

/// Another program restores the content of an item without a version, so the repeated update is
/// applied.
#[tokio::test(start_paused = true)]
async fn an_update_returns_the_item_of_its_repeated_request() {
    let copy = Repeated::first("UpdateItem");
    let shop = Shop::below(Faults::none(), &copy);
    let table = shop.table_of_raw::<Product>([item([("sku", s("a")), ("stock", n(5))])]).await;
    shop.rival.before_through(&table.raw, "UpdateItem", 0, async |raw| raw.set("a", "stock", n(7)).await);
    shop.rival.before_through(&table.raw, "UpdateItem", 1, async |raw| {
        raw.set("a", "stock", n(5)).await;
        copy.arrive().await;
    });
    let product = table.items.update_with("a", |product| product.stock += 1).await.unwrap();
    assert_eq!((product.stock, product.version()), (6, 1));
    assert_eq!(table.others.get("a").await.unwrap(), Some(product));
}

/// The call has no time for another attempt.
#[tokio::test(start_paused = true)]
async fn an_upsert_at_its_deadline_returns_the_item_of_its_repeated_create() {
    let (_, product) = upsert_with_repeated_create(millis(11)).await;
    assert_eq!((product.stock, product.version()), (1, 1));
}
