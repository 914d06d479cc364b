//! All errors of a struct come at once, and nothing else fails because of them.

use dynalock::Versioned;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Versioned)]
#[serde(tag = "type")]
#[dynalock(tabel = "orders", write_ids = 2, version = "_writes")]
struct Order<T> {
    #[serde(skip)]
    #[dynalock(partition_key)]
    id: String,
    #[serde(alias = "payload")]
    #[dynalock(hash_key)]
    number: u64,
    payload: T,
}

#[derive(Serialize, Deserialize, Versioned)]
#[dynalock(table = "orders", sort = true)]
struct Line {
    #[dynalock(partition_key)]
    order: String,
    #[dynalock(sort_key)]
    number: u64,
}

#[derive(Serialize, Deserialize, Versioned)]
#[dynalock(tabel = "parcels", key_type = "ParcelId")]
#[lockable(ttl = "long")]
struct Parcel {
    #[dynalock(partition_key)]
    id: String,
}

fn parcel(parcels: &dynalock::Repository<Parcel>) {
    let _ = parcels.lock(ParcelId::from("7"));
}

fn line(client: &aws_sdk_dynamodb::Client, line: &Line) {
    let id = String::from("A-1");
    let _ = (LineKey::from(("A-1", 1)), LineKey::from(line), line.key());
    let _ = (OrderKey::from("A-1"), OrderKey::from(&id), OrderKey::from(id), OrderKey::from(7));
    let _ = Line::repository(client).get(("A-1", 1));
    let _ = Line::MODEL.table;
    let _ = (Line::ATTR.number.ge(1), Order::<u8>::ATTR.payload.eq(1));
}

fn main() {}
