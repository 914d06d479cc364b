//! `DynamoDBMapper` of the AWS SDK for Java v1, with `@DynamoDBVersionAttribute`.
//!
//! `DynamoDBMapper` stores a bool as a number, unless its conversion schema is `V2`.

use std::collections::BTreeSet;

use dynalock::Versioned;
use serde::{Deserialize, Serialize};

use super::{Address, Bit, Line, OtherOrder, Status};

cases_of!(Order);

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Versioned)]
#[serde(rename_all = "camelCase")]
#[dynalock(table = "orders", index(name = "by_status", partition_key = "status", sort_key = "placed_at"))]
struct Order {
    #[dynalock(partition_key)]
    customer: String,
    #[dynalock(sort_key)]
    number: u64,
    status: Status,
    total: i64,
    weight: f64,
    paid: Bit,
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
    placed_at: String,
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

impl OtherOrder for Order {
    const FIXTURE: &str = include_str!("fixtures/dynamodb_mapper.json");
    const FIRST_VERSION: u64 = 1;

    fn orders() -> [Self; 2] {
        let full = Self {
            customer: "alice".to_owned(),
            number: 7,
            status: Status::Placed,
            total: 13_912,
            weight: 1.5,
            paid: Bit(true),
            note: Some("Ring twice".to_owned()),
            placed_at: "2026-03-01T08:26:00.000Z".to_owned(),
            tags: ["fragile", "gift"].map(str::to_owned).into(),
            parcels: [1, 2].into(),
            address: Some(Address { street: "1 High Street".to_owned(), zip: None }),
            lines: vec![Line { sku: "85123A".to_owned(), quantity: 6 }],
            receipt: vec![0, 1, 254, 255],
            version: Self::FIRST_VERSION,
        };
        let sparse = Self {
            number: 8,
            status: Status::Open,
            total: 2,
            weight: 2.0,
            paid: Bit(false),
            note: None,
            placed_at: "2026-03-01T08:26:00.250Z".to_owned(),
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
        self.status = Status::Delivered;
        self.total += 1;
        self.weight = 2.5;
        self.paid = Bit(false);
        self.note = Some("Ring once".to_owned());
        self.placed_at.replace_range(..4, "2027");
        self.tags.insert("large".to_owned());
        self.parcels.insert(3);
        self.address.as_mut().unwrap().street = "2 High Street".to_owned();
        self.lines[0].quantity += 1;
        self.receipt[0] = 7;
    }
}
