//! ElectroDB. It composes the keys of the table and of the index from other attributes, in lower
//! case. It has no version check, so its program checks and increments an attribute.

use std::collections::BTreeSet;

use dynalock::{KeyAttribute, Stored, Versioned, condition::AsPrefix};
use serde::{Deserialize, Serialize};

use super::{Address, Line, OtherOrder, Status, table_of};
use crate::support::{Shop, changed};

cases_of!(Order: its_items_are_queried_by_their_composed_keys, a_change_of_an_index_key_is_a_change_of_its_parts);

/// A key that ElectroDB composes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, KeyAttribute)]
struct Composed(String);

impl Composed {
    fn of_customer(customer: &str) -> Self {
        Self(format!("$shop#customer_{}", customer.to_lowercase()))
    }

    fn of_number(number: u64) -> Self {
        Self(format!("$order_1#number_{number:06}"))
    }

    fn of_status(status: Status) -> Self {
        Self(format!("$shop#status_{status:?}").to_lowercase())
    }

    fn of_placed_at(placed_at: &str) -> Self {
        Self(format!("$order_1#placedat_{}", placed_at.to_lowercase()))
    }
}

impl AsPrefix<Composed> for &str {
    fn as_prefix(&self) -> impl Serialize {
        self
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Versioned)]
#[serde(rename_all = "camelCase")]
#[dynalock(table = "orders", index(name = "by_status", partition_key = "gsi1pk", sort_key = "gsi1sk"))]
struct Order {
    #[dynalock(partition_key)]
    pk: Composed,
    #[dynalock(sort_key)]
    sk: Composed,
    gsi1pk: Composed,
    gsi1sk: Composed,
    /// ElectroDB skips an item without these two attributes.
    #[serde(rename = "__edb_e__")]
    entity: String,
    #[serde(rename = "__edb_v__")]
    model_version: String,
    customer: String,
    number: u64,
    status: Status,
    total: i64,
    weight: f64,
    paid: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
    placed_at: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    expires_at: Option<u64>,
    #[serde(default, with = "serde_dynamo::string_set", skip_serializing_if = "BTreeSet::is_empty")]
    tags: BTreeSet<String>,
    #[serde(default, with = "serde_dynamo::number_set", skip_serializing_if = "BTreeSet::is_empty")]
    parcels: BTreeSet<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    address: Option<Address>,
    lines: Vec<Line>,
    #[serde(default, with = "serde_bytes", skip_serializing_if = "Vec::is_empty")]
    receipt: Vec<u8>,
    #[dynalock(version)]
    version: u64,
}

impl Order {
    /// Changes the status, and the key of the index that is composed from it.
    fn set_status(&mut self, status: Status) {
        self.status = status;
        self.gsi1pk = Composed::of_status(status);
    }

    /// Changes the time of the order, and the key of the index that is composed from it.
    fn set_placed_at(&mut self, placed_at: &str) {
        self.placed_at = placed_at.to_owned();
        self.gsi1sk = Composed::of_placed_at(placed_at);
    }
}

impl OtherOrder for Order {
    const FIXTURE: &str = include_str!("fixtures/electrodb.json");
    const FIRST_VERSION: u64 = 1;
    const FIXED: &[&str] = &["pk", "sk", "customer", "number", "__edb_e__", "__edb_v__"];

    fn orders() -> [Self; 2] {
        let placed_at = "2026-03-01T08:26:00Z".to_owned();
        let full = Self {
            pk: Composed::of_customer("alice"),
            sk: Composed::of_number(7),
            gsi1pk: Composed::of_status(Status::Placed),
            gsi1sk: Composed::of_placed_at(&placed_at),
            entity: "order".to_owned(),
            model_version: "1".to_owned(),
            customer: "alice".to_owned(),
            number: 7,
            status: Status::Placed,
            total: 13_912,
            weight: 1.5,
            paid: true,
            note: Some("Ring twice".to_owned()),
            placed_at,
            expires_at: Some(2_087_942_400),
            tags: ["fragile", "gift"].map(str::to_owned).into(),
            parcels: [1, 2].into(),
            address: Some(Address { street: "1 High Street".to_owned(), zip: None }),
            lines: vec![Line { sku: "85123A".to_owned(), quantity: 6 }],
            receipt: vec![0, 1, 254, 255],
            version: Self::FIRST_VERSION,
        };
        let sparse = Self {
            sk: Composed::of_number(8),
            gsi1pk: Composed::of_status(Status::Open),
            number: 8,
            status: Status::Open,
            total: 2,
            weight: 2.0,
            paid: false,
            note: None,
            expires_at: None,
            tags: BTreeSet::new(),
            parcels: BTreeSet::new(),
            address: None,
            lines: Vec::new(),
            receipt: Vec::new(),
            ..full.clone()
        };
        [full, sparse]
    }

    fn add(&mut self, cents: i64) {
        self.total += cents;
    }

    fn rewrite(&mut self) {
        self.set_status(Status::Delivered);
        self.set_placed_at("2027-03-01T08:26:00Z");
        self.total += 1;
        self.weight = 2.5;
        self.paid = false;
        self.note = Some("Ring once".to_owned());
        self.expires_at = Some(2_087_942_401);
        self.tags.insert("large".to_owned());
        self.parcels.insert(3);
        self.address.as_mut().unwrap().street = "2 High Street".to_owned();
        self.lines[0].quantity += 1;
        self.receipt[0] = 7;
    }
}

async fn its_items_are_queried_by_their_composed_keys(shop: &Shop) {
    let table = table_of::<Order>(shop).await;
    let [full, sparse] = Order::orders();
    let orders = || table.items.query(Composed::of_customer("Alice"));
    let all = orders().sort_prefix("$order_1#").collect().await.unwrap();
    assert_eq!(all.into_iter().map(Stored::into_inner).collect::<Vec<_>>(), [full.clone(), sparse.clone()]);
    let late = orders().sort(Composed::of_number(8)..).first().await.unwrap().unwrap();
    assert_eq!(*late, sparse);
    let placed = table.items.query_index(Order::INDEX.by_status, Composed::of_status(Status::Placed));
    let newest = placed.sort_prefix("$order_1#placedat_2026-03").first().await.unwrap().unwrap();
    assert_eq!(*newest, full);
}

/// ElectroDB writes the key of an index with each change of a part of the key. A program of this
/// library does the same, or the index lists the item under its old status.
async fn a_change_of_an_index_key_is_a_change_of_its_parts(shop: &Shop) {
    let table = table_of::<Order>(shop).await;
    let [full, _] = Order::orders();
    let by_status = |status| table.items.query_index(Order::INDEX.by_status, Composed::of_status(status)).first();
    let placed = by_status(Status::Placed).await.unwrap().unwrap();
    table.items.update(changed(placed, |order| order.set_status(Status::Shipped))).await.unwrap();
    assert!(by_status(Status::Placed).await.unwrap().is_none());
    assert_eq!(by_status(Status::Shipped).await.unwrap().unwrap().number, full.number);
    let a = Order::ATTR;
    let delivered = table.items.patch((full.pk, full.sk)).set(a.status, Status::Delivered);
    delivered.set(a.gsi1pk, Composed::of_status(Status::Delivered)).when(a.status.eq(Status::Shipped)).await.unwrap();
    assert_eq!(by_status(Status::Delivered).await.unwrap().unwrap().status, Status::Delivered);
}
