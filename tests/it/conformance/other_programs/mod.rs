//! Tables of other programs. `fixtures` has the items that a program wrote, and the writes that it
//! sent when it changed its first item several times. `makers` has the programs, and the script
//! `make` that makes the fixtures.
//!
//! Each program has its own file, with a struct for its items.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Debug,
};

use aws_sdk_dynamodb::{Client, error::ProvideErrorMetadata, types::AttributeValue};
use aws_smithy_types::body::SdkBody;
use dynalock::{Error, KeyAttribute, Stored, Versioned};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::support::{Item, Shop, Table, attributes::json, expect_error};

/// Makes the cases of one program, whose type is `$order`. The file of a program whose keys are
/// composed has further cases in place of those with the keys `customer` and `status`.
macro_rules! cases_of {
    ($order:ident) => {
        cases_of!($order: its_items_are_queried, its_items_are_patched_and_its_version_check_passes);

        async fn its_items_are_queried(shop: &crate::support::Shop) {
            let table = super::table_of::<$order>(shop).await;
            let [full, sparse] = $order::orders();
            let items = &table.items;
            let values = |orders: Vec<dynalock::Stored<$order>>| {
                orders.into_iter().map(dynalock::Stored::into_inner).collect::<Vec<_>>()
            };
            let all = items.query("alice").collect().await.unwrap();
            assert_eq!(values(all), [full.clone(), sparse.clone()]);
            let late = items.query("alice").sort(8..).collect().await.unwrap();
            assert_eq!(values(late), std::slice::from_ref(&sparse));
            let paid = items.query("alice").filter($order::ATTR.paid.eq(full.paid)).collect().await.unwrap();
            assert_eq!(values(paid), std::slice::from_ref(&full));
            let open = items.query_index($order::INDEX.by_status, sparse.status).collect().await.unwrap();
            assert_eq!(values(open), [sparse]);
            let newest = items.query_index($order::INDEX.by_status, full.status).sort_prefix("2026-03").first().await.unwrap();
            // A program can update an item that the index returned, without a further read.
            let shipped = items.update(crate::support::changed(newest.unwrap(), |order| order.total += 1)).await.unwrap();
            assert_eq!((shipped.total, shipped.version()), (full.total + 1, $order::FIRST_VERSION + 1));
        }

        async fn its_items_are_patched_and_its_version_check_passes(shop: &crate::support::Shop) {
            let table = super::table_of::<$order>(shop).await;
            let [full, _] = $order::orders();
            let key = || super::key_of(&full);
            let a = $order::ATTR;
            let patched = table.items.patch(key()).add(a.total, 5).when(a.paid.eq(full.paid)).await.unwrap();
            assert_eq!((patched.total, patched.version()), (full.total + 5, $order::FIRST_VERSION + 1));
            let writes = super::Fixture::of::<$order>().writes;
            assert!(!super::applies(&shop.plain, table.name(), &writes[0]).await);
            assert!(super::applies(&shop.plain, table.name(), &writes[1]).await);
            let patched = table.items.patch(key()).set(a.placed_at, "2026-04-01T00:00:00Z").await;
            match patched {
                Ok(patched) => assert_eq!(patched.version(), $order::FIRST_VERSION + 3),
                Err(error) => assert!(writes[1]["operation"] == "DeleteItem", "{error:?}"),
            }
        }
    };
    ($order:ident: $($own:ident),*) => {
        cases_of!($order; $($own),*;
            its_items_are_read,
            an_update_changes_the_attributes_that_it_names_alone,
            an_update_of_every_attribute_keeps_their_types,
            its_version_check_sees_a_write_of_this_library,
            its_version_check_passes_on_what_this_library_wrote,
            its_version_check_passes_on_an_item_that_this_library_created,
            a_value_from_before_its_write_conflicts,
        );
    };
    ($order:ident; $($own:ident),*; $($case:ident,)*) => {
        $(
            async fn $case(shop: &crate::support::Shop) {
                super::$case::<$order>(shop).await;
            }
        )*

        cases![$($own,)* $($case),*];
    };
}

mod dotnet;
mod dynamodb_mapper;
mod electrodb;
mod enhanced_client;
mod pynamodb;

/// The orders of one program.
trait OtherOrder: Versioned + Clone + Debug + PartialEq {
    /// The text of the fixture.
    const FIXTURE: &str;
    /// The version that the program gives a new item.
    const FIRST_VERSION: u64;
    /// The attributes that no update changes.
    const FIXED: &[&str] = &[Self::MODEL.partition_key.name, Self::MODEL.sort_key.unwrap().name];

    /// The orders 7 and 8 of "alice". The first order has all attributes, and the second order has
    /// only the attributes of every order.
    fn orders() -> [Self; 2];

    /// Changes the total.
    fn add(&mut self, cents: i64);

    /// Changes all attributes that are not fixed, to values of the same type.
    fn rewrite(&mut self);
}

#[derive(Deserialize)]
struct Fixture {
    items: Vec<Value>,
    /// The first write expects the version of the first item, and each other write expects a
    /// version higher by one.
    writes: Vec<Value>,
}

impl Fixture {
    fn of<O: OtherOrder>() -> Self {
        serde_json::from_str(O::FIXTURE).expect("a fixture")
    }
}

async fn its_items_are_read<O: OtherOrder>(shop: &Shop) {
    let table = table_of::<O>(shop).await;
    for order in O::orders() {
        let read = table.items.get(key_of(&order)).await.unwrap().unwrap();
        assert_eq!((read.version(), &*read), (O::FIRST_VERSION, &order));
    }
}

async fn an_update_changes_the_attributes_that_it_names_alone<O: OtherOrder>(shop: &Shop) {
    let table = table_of::<O>(shop).await;
    for order in O::orders() {
        let before = item_of(&table, &order).await;
        let updated = table.items.update_with(key_of(&order), |order| order.add(5)).await.unwrap();
        let mut after = item_of(&table, &order).await;
        after.remove("_writes").unwrap();
        let is_changed = |name: &&String| before.get(*name) != after.get(*name);
        let changed: BTreeSet<_> =
            before.keys().chain(after.keys()).filter(is_changed).map(|name| name.to_lowercase()).collect();
        assert_eq!(changed, BTreeSet::from(["total".to_owned(), O::MODEL.version.to_lowercase()]));
        assert_eq!(table.items.get(key_of(&order)).await.unwrap(), Some(updated));
    }
}

async fn an_update_of_every_attribute_keeps_their_types<O: OtherOrder>(shop: &Shop) {
    let table = table_of::<O>(shop).await;
    let [full, _] = O::orders();
    let before = item_of(&table, &full).await;
    table.items.update_with(key_of(&full), O::rewrite).await.unwrap();
    let mut after = item_of(&table, &full).await;
    after.remove("_writes").unwrap();
    for (name, value) in &after {
        assert_eq!(before[name] == *value, O::FIXED.contains(&name.as_str()), "{name}");
    }
    let types =
        |item: Item| item.into_iter().map(|(name, value)| (name, type_of(&json(&value)))).collect::<BTreeMap<_, _>>();
    assert_eq!(types(after), types(before));
}

async fn its_version_check_sees_a_write_of_this_library<O: OtherOrder>(shop: &Shop) {
    let [full, _] = O::orders();
    for (index, write) in Fixture::of::<O>().writes.iter().enumerate() {
        let table = table_of::<O>(shop).await;
        updated(&table, &full, index + 1).await;
        let before = item_of(&table, &full).await;
        assert!(!applies(&shop.plain, table.name(), write).await, "{write}");
        assert_eq!(item_of(&table, &full).await, before);
    }
}

async fn its_version_check_passes_on_what_this_library_wrote<O: OtherOrder>(shop: &Shop) {
    let [full, _] = O::orders();
    for (index, write) in Fixture::of::<O>().writes.iter().enumerate().skip(1) {
        let table = table_of::<O>(shop).await;
        let ours = updated(&table, &full, index).await;
        assert!(applies(&shop.plain, table.name(), write).await, "{write}");
        assert!(!applies(&shop.plain, table.name(), write).await, "{write} twice");
        match table.items.get(key_of(&full)).await.unwrap() {
            Some(theirs) => {
                assert_eq!(theirs.version(), ours.version() + 1);
                let next = table.items.update_with(key_of(&full), |order| order.add(1)).await.unwrap();
                assert_eq!(next.version(), ours.version() + 2);
            }
            None => assert_eq!(write["operation"], "DeleteItem"),
        }
    }
}

async fn its_version_check_passes_on_an_item_that_this_library_created<O: OtherOrder>(shop: &Shop) {
    let [full, _] = O::orders();
    let (table, created) = shop.created(full.clone()).await;
    // The write of the program that expects this version.
    let index = usize::try_from(created.version() - O::FIRST_VERSION).unwrap();
    let write = &Fixture::of::<O>().writes[index];
    assert!(applies(&shop.plain, table.name(), write).await, "{write}");
    assert_eq!(table.items.get(key_of(&full)).await.unwrap().unwrap().version(), 2);
}

async fn a_value_from_before_its_write_conflicts<O: OtherOrder>(shop: &Shop) {
    let [full, _] = O::orders();
    for (index, write) in Fixture::of::<O>().writes.iter().enumerate() {
        let table = table_of::<O>(shop).await;
        let mut ours = updated(&table, &full, index).await;
        assert!(applies(&shop.plain, table.name(), write).await, "{write}");
        ours.add(1);
        let lost = expect_error!(table.items.update(ours).await, Error::Conflict(lost) => lost);
        assert_eq!(lost.current_item().is_none(), write["operation"] == "DeleteItem", "{write}");
    }
}

/// A table with the items of the program.
async fn table_of<O: OtherOrder>(shop: &Shop) -> Table<O> {
    let table = shop.table::<O>().await;
    for item in Fixture::of::<O>().items {
        let put = serde_json::json!({ "operation": "PutItem", "Item": item });
        assert!(applies(&shop.plain, table.name(), &put).await);
    }
    table
}

/// Returns the order as this library stores it after this number of updates.
async fn updated<O: OtherOrder>(table: &Table<O>, order: &O, times: usize) -> Stored<O> {
    let mut stored = table.items.get(key_of(order)).await.unwrap().unwrap();
    for _ in 0..times {
        stored.add(1);
        stored = table.items.update(stored).await.unwrap();
    }
    stored
}

fn key_of<O: Versioned>(order: &O) -> O::Key {
    O::typed_key(order.key())
}

/// The stored item of an order.
async fn item_of<O: OtherOrder>(table: &Table<O>, order: &O) -> Item {
    let names = [O::MODEL.partition_key.name, O::MODEL.sort_key.unwrap().name];
    let key = order.key();
    let values: Vec<_> = key.values().map(AttributeValue::from).collect();
    table.raw.get_by([(names[0], values[0].clone()), (names[1], values[1].clone())]).await.unwrap()
}

/// The type of an attribute, with the types of the values inside the attribute.
fn type_of(value: &Value) -> Value {
    let (name, content) = value.as_object().unwrap().iter().next().unwrap();
    let content = match content {
        Value::Array(list) if name == "L" => list.iter().map(type_of).collect(),
        Value::Object(map) => map.iter().map(|(name, value)| (name.clone(), type_of(value))).collect(),
        _ => Value::Null,
    };
    serde_json::json!({ name: content })
}

/// Sends the recorded write of a program unchanged to this table. Returns whether its condition was
/// true.
async fn applies(client: &Client, table: &str, write: &Value) -> bool {
    let mut body = write.clone();
    let operation = body.as_object_mut().unwrap().remove("operation").unwrap();
    body["TableName"] = table.into();
    macro_rules! send {
        ($request:expr) => {{
            let sent = $request.table_name(table).customize().mutate_request(move |request| {
                let body = body.to_string();
                request.headers_mut().insert("content-length", body.len().to_string());
                *request.body_mut() = SdkBody::from(body);
            });
            sent.send().await.map(drop).map_err(|error| error.code().map(str::to_owned))
        }};
    }
    let answer = match operation.as_str().unwrap() {
        "PutItem" => send!(client.put_item()),
        "UpdateItem" => send!(client.update_item()),
        "DeleteItem" => send!(client.delete_item()),
        other => panic!("no program sends {other}"),
    };
    match answer {
        Ok(()) => true,
        Err(code) => {
            assert_eq!(code.as_deref(), Some("ConditionalCheckFailedException"), "{write}");
            false
        }
    }
}

/// A bool that a program stores as the number 0 or 1. A newtype can be compared in conditions,
/// which a field with `#[serde(with)]` cannot.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(from = "u8", into = "u8")]
struct Bit(bool);

impl From<u8> for Bit {
    fn from(bit: u8) -> Self {
        Self(bit != 0)
    }
}

impl From<Bit> for u8 {
    fn from(Bit(bit): Bit) -> Self {
        Self::from(bit)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, KeyAttribute)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
enum Status {
    Open,
    Placed,
    Shipped,
    Delivered,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Address {
    street: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    zip: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Line {
    sku: String,
    quantity: u32,
}
