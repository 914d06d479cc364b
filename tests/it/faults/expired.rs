//! Creates over an expired item. DynamoDB refuses the first request of the create, and the network
//! repeats the request after the expired item was deleted.

use std::time::{SystemTime, UNIX_EPOCH};

use dynalock::{
    Error, Pace, Result, Stored, Versioned,
    local::{Fault, Faults},
};
use serde::{Deserialize, Serialize};

use crate::support::{Shop, Table, changed, expect_error, repeats::Repeated};

/// The operation by which a create is sent.
const REQUESTS: [&str; 2] = ["PutItem", "TransactWriteItems"];

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Versioned)]
#[dynalock(table = "coupons")]
struct Coupon {
    #[dynalock(partition_key)]
    code: String,
    uses: i64,
    #[serde(default)]
    #[dynalock(created_at = "millis")]
    created: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[dynalock(expires)]
    until: Option<u64>,
}

impl Coupon {
    fn new() -> Self {
        Self { code: "a".to_owned(), uses: 0, created: 0, until: None }
    }

    #[expect(clippy::disallowed_methods, reason = "a time to live is a time of day")]
    fn expired() -> Self {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
        Self { until: Some(now.as_secs() - 100), ..Self::new() }
    }
}

/// Makes a table with an expired coupon. The first request of `operation` is kept.
async fn shop(operation: &'static str) -> (Repeated, Shop, Table<Coupon>) {
    let copy = Repeated::first(operation);
    let shop = Shop::below(Faults::none(), &copy);
    let table = shop.table().await;
    table.others.create(Coupon::expired()).await.unwrap();
    (copy, shop, table)
}

/// Creates the coupon by a PutItem or by a transaction.
async fn create(table: &Table<Coupon>, operation: &str) -> Result<Stored<Coupon>> {
    let create = table.items.clone().pace(Pace::Economy).create(Coupon::new());
    if operation == "PutItem" { create.await } else { create.exactly_once().await }
}

/// Deletes the stored coupon before the `nth` request of `operation`, and lets the copy arrive.
fn repeat_before(operation: &str, nth: usize, copy: &Repeated, shop: &Shop, table: &Table<Coupon>) {
    let copy = copy.clone();
    shop.rival.before_through(&table.others, operation, nth, async move |others| {
        others.delete_unchecked("a").await.unwrap();
        copy.arrive().await;
    });
}

async fn stored(table: &Table<Coupon>) -> Option<Stored<Coupon>> {
    table.others.get("a").await.unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_create_returns_the_item_of_its_repeated_request() {
    for operation in REQUESTS {
        let (copy, shop, table) = shop(operation).await;
        repeat_before(operation, 1, &copy, &shop, &table);
        let created = create(&table, operation).await.unwrap();
        assert_eq!(stored(&table).await.as_ref(), Some(&created), "{operation}");
        let used = table.items.update(changed(created, |coupon| coupon.uses += 1)).await.unwrap();
        assert_eq!((used.uses, used.version()), (1, 2));
    }
}

#[tokio::test(start_paused = true)]
async fn a_create_returns_its_repeated_request_also_under_later_writes() {
    for operation in REQUESTS {
        let (copy, shop, table) = shop(operation).await;
        shop.rival.before_through(&table.others, operation, 1, async |others| {
            others.delete_unchecked("a").await.unwrap();
            copy.arrive().await;
            others.update_with("a", |coupon| coupon.uses += 10).await.unwrap();
        });
        let created = create(&table, operation).await.unwrap();
        assert_eq!((created.uses, created.version()), (0, 1));
        let stale = changed(created, |coupon| coupon.uses += 1);
        expect_error!(table.items.update(stale).await, Error::Conflict(_));
        assert_eq!(stored(&table).await.unwrap().uses, 10, "{operation}");
    }
}

/// The write over the expired item is applied, but its reply is lost.
#[tokio::test(start_paused = true)]
async fn a_create_returns_its_repeated_request_also_after_a_lost_reply() {
    let (copy, shop, table) = shop("PutItem").await;
    shop.faults.script_on("PutItem", 1, Fault::LoseReply);
    repeat_before("PutItem", 2, &copy, &shop, &table);
    let created = create(&table, "PutItem").await.unwrap();
    assert_eq!(stored(&table).await, Some(created));
}

/// Another expired item refuses the write over the first one, so the create reads the item again.
#[tokio::test(start_paused = true)]
async fn a_create_returns_the_item_of_its_repeated_request_from_a_read() {
    for operation in REQUESTS {
        let (copy, shop, table) = shop(operation).await;
        shop.rival.before_through(&table.others, operation, 1, async |others| {
            others.create(Coupon::expired()).await.unwrap();
        });
        repeat_before("GetItem", 0, &copy, &shop, &table);
        let created = create(&table, operation).await.unwrap();
        assert_eq!(stored(&table).await.as_ref(), Some(&created), "{operation}");
    }
}

/// The read finds no item, and the create meets an expired item.
#[tokio::test(start_paused = true)]
async fn an_upsert_over_an_expired_item_adds_once_if_its_create_is_repeated() {
    let (copy, shop, table) = shop("PutItem").await;
    table.others.delete_unchecked("a").await.unwrap();
    shop.rival.before_through(&table.others, "PutItem", 0, async |others| {
        others.create(Coupon::expired()).await.unwrap();
    });
    repeat_before("PutItem", 1, &copy, &shop, &table);
    let used = table.items.upsert_with("a", Coupon::new, |coupon| coupon.uses += 1).await.unwrap();
    assert_eq!((used.uses, stored(&table).await), (1, Some(used)));
}
