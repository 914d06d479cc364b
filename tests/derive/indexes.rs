//! Indexes: the names that serde writes, the types of their keys, and the names of their handles.

use dynalock::{
    Versioned,
    private::{IndexModel, IndexScope, KeyModel, Projection},
    table::KeyType,
};
use serde::{Deserialize, Serialize};

#[derive(Debug, Serialize, Deserialize, Versioned)]
#[serde(rename_all = "camelCase")]
#[dynalock(
    table = "orders",
    index(name = "gsi-1.status", partition_key = "pay_status", sort_key = "placed_at", include(total_cents, r#type))
)]
#[dynalock(index(name = "by_courier", local, all, partition_key = "customer", sort_key = "courier"))]
struct Order {
    #[dynalock(partition_key)]
    customer: String,
    #[dynalock(sort_key)]
    number: u64,
    pay_status: String,
    #[serde(rename = "at")]
    placed_at: i64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    courier: Option<String>,
    total_cents: u64,
    r#type: String,
}

#[derive(Debug, Serialize, Deserialize, Versioned)]
#[dynalock(table = "products")]
struct Product {
    #[dynalock(partition_key)]
    sku: String,
}

fn key(name: &'static str, key_type: KeyType) -> KeyModel {
    KeyModel { name, key_type }
}

#[test]
fn an_index_has_the_names_and_types_that_are_stored() {
    let status = IndexModel {
        name: "gsi-1.status",
        scope: IndexScope::Global,
        partition_key: key("payStatus", KeyType::S),
        sort_key: Some(key("at", KeyType::N)),
        projection: Projection::Include(&["totalCents", "type"]),
    };
    let courier = IndexModel {
        name: "by_courier",
        scope: IndexScope::Local,
        partition_key: key("customer", KeyType::S),
        sort_key: Some(key("courier", KeyType::S)),
        projection: Projection::All,
    };
    assert_eq!(Order::MODEL.indexes, [status, courier]);
    assert_eq!(Product::MODEL.indexes, []);
}

#[test]
fn a_handle_is_named_like_its_index() {
    assert_eq!(Order::INDEX.gsi_1_status.name(), "gsi-1.status");
    assert_eq!(format!("{:?}", Order::INDEX.by_courier), r#"Index("by_courier")"#);
}
