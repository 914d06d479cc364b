//! Tables.

use aws_sdk_dynamodb::types::{BillingMode, ProvisionedThroughputDescription, TableDescription};
use dynalock::{Error, Locks, Repository, Transaction, Versioned, table::TableDifference};
use serde::{Deserialize, Serialize};

use crate::support::{Product, Shop, changed, expect_error, secs};

cases![
    create_table_again_is_fine,
    create_table_over_a_table_with_another_key_is_a_mismatch,
    a_table_is_on_demand_and_unprotected_unless_asked_otherwise,
    a_provisioned_table_has_its_units_and_so_do_its_global_indexes,
    a_protected_table_is_not_deleted,
    a_table_of_locks_has_the_same_options,
    a_table_of_a_type_that_expires_has_time_to_live,
    time_to_live_on_another_attribute_is_refused,
    a_created_table_has_no_differences,
    a_table_of_another_type_has_differences,
    every_call_says_that_the_key_of_the_table_differs,
    a_missing_table_is_named,
    the_table_is_named_at_run_time,
];

async fn create_table_again_is_fine(shop: &Shop) {
    let table = shop.absent_table::<Product>();
    for _ in 0..2 {
        table.items.create_table().await.unwrap();
        table.items.upsert_with("a", || Product::new("a", 0), |product| product.stock += 1).await.unwrap();
    }
    assert_eq!(table.items.get("a").await.unwrap().unwrap().stock, 2);
}

#[derive(Debug, Serialize, Deserialize, Versioned)]
#[dynalock(table = "sessions", index(name = "by_user", partition_key = "user"))]
struct Session {
    #[dynalock(partition_key)]
    id: String,
    user: String,
    #[dynalock(expires)]
    until: Option<u64>,
}

#[derive(Debug, Serialize, Deserialize, Versioned)]
#[dynalock(table = "sessions")]
struct Moved {
    #[dynalock(partition_key)]
    id: String,
    #[dynalock(expires)]
    ends: u64,
}

async fn described(shop: &Shop, table: &str) -> TableDescription {
    shop.plain.describe_table().table_name(table).send().await.unwrap().table.unwrap()
}

async fn a_table_is_on_demand_and_unprotected_unless_asked_otherwise(shop: &Shop) {
    let table = shop.table::<Session>().await;
    let described = described(shop, table.name()).await;
    let billing = described.billing_mode_summary().and_then(|billing| billing.billing_mode());
    assert_eq!(billing, Some(&BillingMode::PayPerRequest));
    assert_ne!(described.deletion_protection_enabled, Some(true));
}

async fn a_provisioned_table_has_its_units_and_so_do_its_global_indexes(shop: &Shop) {
    let table = shop.absent_table::<Session>();
    table.items.create_table().provisioned(20, 5).await.unwrap();
    let described = described(shop, table.name()).await;
    let units = |units: Option<&ProvisionedThroughputDescription>| {
        units.map(|units| (units.read_capacity_units, units.write_capacity_units))
    };
    let index = &described.global_secondary_indexes()[0];
    assert_eq!(units(described.provisioned_throughput()), Some((Some(20), Some(5))));
    assert_eq!(units(index.provisioned_throughput()), Some((Some(20), Some(5))));
    // An existing table keeps its billing.
    table.items.create_table().await.unwrap();
    let described = self::described(shop, table.name()).await;
    assert_eq!(units(described.provisioned_throughput()), Some((Some(20), Some(5))));
}

async fn a_protected_table_is_not_deleted(shop: &Shop) {
    let table = shop.absent_table::<Product>();
    table.items.create_table().deletion_protection().await.unwrap();
    shop.plain.delete_table().table_name(table.name()).send().await.unwrap_err();
    assert_eq!(described(shop, table.name()).await.deletion_protection_enabled, Some(true));
}

async fn a_table_of_locks_has_the_same_options(shop: &Shop) {
    let name = shop.absent_table::<Product>().name().to_owned();
    let locks = Locks::new(&shop.client, name.clone());
    locks.create_table().provisioned(7, 9).deletion_protection().deadline(secs(60)).await.unwrap();
    locks.create_table().await.unwrap();
    let described = described(shop, &name).await;
    let units = described.provisioned_throughput().unwrap();
    assert_eq!((units.read_capacity_units, units.write_capacity_units), (Some(7), Some(9)));
    assert_eq!(described.deletion_protection_enabled, Some(true));
    assert_eq!(locks.verify_table().await.unwrap().differences(), []);
}

async fn time_to_live(shop: &Shop, table: &str) -> Option<String> {
    let described = shop.plain.describe_time_to_live().table_name(table).send().await.unwrap();
    described.time_to_live_description.and_then(|described| described.attribute_name)
}

async fn a_table_of_a_type_that_expires_has_time_to_live(shop: &Shop) {
    let table = shop.absent_table::<Session>();
    for _ in 0..2 {
        table.items.create_table().await.unwrap();
        assert_eq!(time_to_live(shop, table.name()).await.as_deref(), Some("until"));
    }
    assert_eq!(shop.counts(["UpdateTimeToLive"]), [1]);
    let products = shop.absent_table::<Product>();
    products.items.create_table().await.unwrap();
    assert_eq!(time_to_live(shop, products.name()).await, None);
}

async fn time_to_live_on_another_attribute_is_refused(shop: &Shop) {
    let table = shop.table::<Session>().await;
    let moved = shop.named::<Moved>(table.name());
    let reason = expect_error!(moved.create_table().await, Error::TableMismatch { index: None, reason, .. } => reason);
    assert!(
        reason.starts_with("time to live is on for the attribute `until`, but the type has the attribute `ends`"),
        "{reason}"
    );
    assert_eq!(shop.counts(["UpdateTimeToLive"]), [0]);
    let report = moved.verify_table().await.unwrap();
    assert!(
        matches!(report.differences(), [TableDifference::TimeToLiveAttribute { expected: "ends", .. }]),
        "{report}"
    );
}

async fn a_created_table_has_no_differences(shop: &Shop) {
    let (sessions, sorted) = (shop.table::<Session>().await, shop.table::<WithSortKey>().await);
    assert_eq!(sessions.items.verify_table().await.unwrap().differences(), []);
    assert_eq!(sorted.items.verify_table().await.unwrap().differences(), []);
}

async fn a_table_of_another_type_has_differences(shop: &Shop) {
    let products = shop.table::<Product>().await;
    let name = products.name();
    let report = shop.named::<OtherName>(name).verify_table().await.unwrap();
    assert!(matches!(report.differences(), [TableDifference::PartitionKeyName { expected: "id", .. }]), "{report}");
    let report = shop.named::<OtherType>(name).verify_table().await.unwrap();
    assert!(matches!(report.differences(), [TableDifference::PartitionKeyType { .. }]), "{report}");
    let report = shop.named::<WithSortKey>(name).verify_table().await.unwrap();
    assert!(matches!(report.differences(), [TableDifference::SortKeyMissing { .. }]), "{report}");
    let report = shop.named::<Session>(name).verify_table().await.unwrap();
    let kinds: Vec<_> = report.differences().iter().map(std::mem::discriminant).collect();
    assert_eq!(kinds.len(), 3, "the key, the index and time to live: {report}");
}

#[derive(Debug, Serialize, Deserialize, Versioned)]
#[dynalock(table = "products")]
struct OtherName {
    #[dynalock(partition_key)]
    id: String,
}

#[derive(Debug, Serialize, Deserialize, Versioned)]
#[dynalock(table = "products")]
struct OtherType {
    #[dynalock(partition_key)]
    sku: u64,
}

#[derive(Debug, Serialize, Deserialize, Versioned)]
#[dynalock(table = "products")]
struct WithSortKey {
    #[dynalock(partition_key)]
    sku: String,
    #[dynalock(sort_key)]
    batch: u64,
}

async fn create_table_over_a_table_with_another_key_is_a_mismatch(shop: &Shop) {
    let products = shop.table::<Product>().await;
    let name = products.name();
    for result in [
        shop.named::<OtherName>(name).create_table().await,
        shop.named::<OtherType>(name).create_table().await,
        shop.named::<WithSortKey>(name).create_table().await,
    ] {
        let table = expect_error!(result, Error::TableMismatch { table, .. } => table);
        assert_eq!(&*table, name);
    }
    let sorted = shop.table::<WithSortKey>().await;
    expect_error!(shop.named::<Product>(sorted.name()).create_table().await, Error::TableMismatch { .. });
}

/// All calls of a repository that send a key.
async fn calls_by_key<T: Versioned>(items: &Repository<T>, key: fn() -> T::Key, value: fn() -> T) -> Vec<Error> {
    vec![
        items.get(key()).await.map(drop).unwrap_err(),
        items.create(value()).await.map(drop).unwrap_err(),
        items.create(value()).exactly_once().await.map(drop).unwrap_err(),
        items.update_with(key(), |_| {}).await.map(drop).unwrap_err(),
        items.delete_unchecked(key()).await.unwrap_err(),
    ]
}

async fn every_call_says_that_the_key_of_the_table_differs(shop: &Shop) {
    let products = shop.table::<Product>().await;
    let name = products.name();
    let (other_name, other_type) = (shop.named::<OtherName>(name), shop.named::<OtherType>(name));
    let mut errors = calls_by_key(&other_name, || "a".into(), || OtherName { id: "a".to_owned() }).await;
    errors.extend(calls_by_key(&other_type, || 7.into(), || OtherType { sku: 7 }).await);
    // For DynamoDB, a put of an item with one more attribute is no mismatch.
    let sorted = shop.named::<WithSortKey>(name);
    errors.push(sorted.get(("a", 7)).await.map(drop).unwrap_err());
    errors.push(sorted.update_with(("a", 7), |_| {}).await.map(drop).unwrap_err());
    errors.push(sorted.delete_unchecked(("a", 7)).await.unwrap_err());

    let mut tx = Transaction::new(&shop.client);
    tx.create(&shop.table::<Product>().await.items, Product::new("a", 5));
    tx.create(&other_name, OtherName { id: "a".to_owned() });
    errors.push(tx.commit().await.map(drop).unwrap_err());
    let mut get = Transaction::get(&shop.client);
    get.item(&other_name, "a");
    errors.push(get.fetch().await.map(drop).unwrap_err());
    let locks = Locks::new(&shop.client, name.to_owned());
    errors.push(locks.acquire("a").await.map(drop).unwrap_err());
    errors.push(locks.acquire_all(["a", "b"]).await.map(drop).unwrap_err());

    for error in errors {
        let text = error.to_string();
        // DynamoDB Local does not name the action of a transaction, so the error names all tables.
        assert!(text.starts_with("table `") && text.contains(name), "{text}");
        assert!(text.contains("` does not fit its type: "), "{text}");
        assert!(text.contains("`verify_table` compares the table with its type"), "{text}");
        expect_error!(Err::<(), _>(error), Error::TableMismatch { index: None, .. });
    }
}

async fn a_missing_table_is_named(shop: &Shop) {
    let table = shop.absent_table::<Product>();
    let known = shop.table::<Product>().await.others.create(Product::new("a", 5)).await.unwrap();
    let changed = changed(known.clone(), |it| it.stock = 6);
    let results = [
        table.items.get("a").await.map(drop),
        table.items.create(Product::new("a", 5)).await.map(drop),
        table.items.update(changed).await.map(drop),
        table.items.replace(known.clone()).await.map(drop),
        table.items.touch(known.clone()).await.map(drop),
        table.items.delete(known).await.map(drop),
        table.items.delete_unchecked("a").await,
        table.items.update_with("a", |product| product.stock = 6).await.map(drop),
        table.items.create(Product::new("a", 5)).exactly_once().await.map(drop),
    ];
    assert_eq!(shop.requests(), results.len(), "one request each");
    for result in results {
        let named = expect_error!(result, Error::TableNotFound { table, .. } => table);
        assert_eq!(&*named, table.name());
    }
}

async fn the_table_is_named_at_run_time(shop: &Shop) {
    let (one, other) = (shop.table::<Product>().await, shop.table::<Product>().await);
    one.items.create(Product::new("a", 1)).await.unwrap();
    other.items.create(Product::new("a", 2)).await.unwrap();
    assert_eq!(one.items.get("a").await.unwrap().unwrap().stock, 1);
    assert_eq!(shop.named::<Product>(other.name()).get("a").await.unwrap().unwrap().stock, 2);
}
