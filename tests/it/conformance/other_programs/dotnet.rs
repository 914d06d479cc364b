//! The object persistence model of the AWS SDK for .NET, with `[DynamoDBVersion]`.
//!
//! The first version of an item is 0. The .NET model stores a bool and an enum as numbers, unless
//! its conversion schema is `V2` or a converter chooses another form.

use std::collections::BTreeSet;

use dynalock::Versioned;
use serde::{Deserialize, Serialize};

use super::{Bit, OtherOrder};

cases_of!(Order);

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Versioned)]
#[serde(rename_all = "PascalCase")]
#[dynalock(table = "orders", index(name = "by_status", partition_key = "status", sort_key = "placed_at"))]
struct Order {
    #[dynalock(partition_key)]
    customer: String,
    #[dynalock(sort_key)]
    number: u64,
    status: u8,
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
    version_number: u64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Address {
    street: String,
    zip: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Line {
    sku: String,
    quantity: u32,
}

impl OtherOrder for Order {
    const FIXTURE: &str = include_str!("fixtures/dotnet.json");
    const FIRST_VERSION: u64 = 0;

    fn orders() -> [Self; 2] {
        let full = Self {
            customer: "alice".to_owned(),
            number: 7,
            status: 1,
            total: 13_912,
            weight: 1.5,
            paid: Bit(true),
            note: Some("Ring twice".to_owned()),
            placed_at: "2026-03-01T08:26:00.000Z".to_owned(),
            tags: ["fragile", "gift"].map(str::to_owned).into(),
            parcels: [1, 2].into(),
            address: Some(Address { street: "1 High Street".to_owned(), zip: Some("N1".to_owned()) }),
            lines: vec![Line { sku: "85123A".to_owned(), quantity: 6 }],
            receipt: vec![0, 1, 254, 255],
            version_number: Self::FIRST_VERSION,
        };
        let sparse = Self {
            number: 8,
            status: 0,
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
        self.status = 3;
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
