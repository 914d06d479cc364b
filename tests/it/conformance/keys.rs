//! Keys of all types.

use dynalock::{
    Error, Key, KeyAttribute, Versioned,
    table::{KeyType, KeyValue},
};
use serde::{Deserialize, Serialize};

use crate::support::{Digest, Product, Shop, b, commit, expect_error, n, s};

cases![
    an_empty_key_is_refused_without_a_request,
    a_key_is_at_most_as_long_as_dynamodb_allows,
    a_numeric_key_names_its_item,
    a_composite_key_names_its_item,
    a_newtype_is_a_key,
    bytes_are_a_key,
    a_number_with_a_fraction_is_a_key,
    derived_keys_name_their_item,
    a_newtype_whose_serde_disagrees_is_refused_without_a_request,
    a_newtype_of_another_type_than_it_declares_is_refused_without_a_request,
];

async fn an_empty_key_is_refused_without_a_request(shop: &Shop) {
    let table = shop.table::<Product>().await;
    let empty = || Product::new("", 5);
    for result in [
        table.items.get("").await.map(drop),
        table.items.create(empty()).await.map(drop),
        table.items.update_with("", |product| product.stock = 1).await.map(drop),
        table.items.upsert_with("", empty, |product| product.stock = 1).await.map(drop),
        table.items.delete_unchecked("").await,
    ] {
        let attribute = expect_error!(result, Error::InvalidKey { attribute, .. } => attribute);
        assert_eq!(attribute, "sku");
    }
    assert_eq!(shop.requests(), 0);
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Versioned)]
#[dynalock(table = "files")]
struct File {
    #[dynalock(partition_key)]
    folder: String,
    #[dynalock(sort_key)]
    name: String,
}

async fn a_key_is_at_most_as_long_as_dynamodb_allows(shop: &Shop) {
    let table = shop.table::<File>().await;
    // Each of these letters has two bytes.
    let file = |folder: usize, name: usize| File { folder: "ä".repeat(folder), name: "ö".repeat(name) };
    table.items.create(file(1024, 512)).await.unwrap();
    let sent = shop.requests();
    for (too_long, expected) in [(file(1025, 1), "folder"), (file(1, 513), "name")] {
        let key = || (too_long.folder.as_str(), too_long.name.as_str());
        for result in [
            table.items.get(key()).await.map(drop),
            table.items.get_many([("a", "b"), key()]).await.map(drop),
            table.items.create(too_long.clone()).await.map(drop),
            table.items.update_with(key(), |file| file.name.clear()).await.map(drop),
            table.items.delete_unchecked(key()).await,
            commit(&shop.client, |tx| tx.check_exists(&table.items, key())).await.map(drop),
        ] {
            let attribute = expect_error!(result, Error::InvalidKey { attribute, .. } => attribute);
            assert_eq!(attribute, expected);
        }
    }
    expect_error!(table.items.query("ä".repeat(1025)).page(None).await, Error::InvalidKey { attribute: "folder", .. });
    assert_eq!(shop.requests(), sent);
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Versioned)]
#[dynalock(table = "invoices")]
struct Invoice {
    #[dynalock(partition_key)]
    number: i64,
    total: u64,
}

async fn a_numeric_key_names_its_item(shop: &Shop) {
    let table = shop.table::<Invoice>().await;
    for number in [0, -1, 536_365, i64::MAX, i64::MIN] {
        table.items.create(Invoice { number, total: 5 }).await.unwrap();
        let invoice = table.items.update_with(number, |invoice| invoice.total += 1).await.unwrap();
        assert_eq!((invoice.number, invoice.total), (number, 6));
        assert_eq!(table.raw.get_by([("number", n(number))]).await.unwrap()["total"], n(6));
        table.items.delete(invoice).await.unwrap();
        assert_eq!(table.items.get(number).await.unwrap(), None);
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Versioned)]
#[serde(rename_all = "camelCase")]
#[dynalock(table = "lines")]
struct Line {
    #[dynalock(partition_key)]
    invoice_no: String,
    #[dynalock(sort_key)]
    position: u32,
    quantity: i64,
}

async fn a_composite_key_names_its_item(shop: &Shop) {
    let table = shop.table::<Line>().await;
    let line = |position| Line { invoice_no: "536365".to_owned(), position, quantity: 1 };
    for position in [1, 2] {
        table.items.create(line(position)).await.unwrap();
    }
    let met = expect_error!(table.items.create(line(2)).await, Error::AlreadyExists(met) => met);
    let key = Key::new(KeyValue::S("536365".to_owned()), Some(KeyValue::N("2".to_owned())));
    assert_eq!(met.key(), &key);
    let second = table.items.update_with(("536365", 2), |line| line.quantity = 9).await.unwrap();
    assert_eq!(table.items.get(("536365", 1)).await.unwrap().unwrap().quantity, 1);
    assert_eq!(table.items.get(("536365", 2)).await.unwrap(), Some(second.clone()));
    expect_error!(table.items.update_with(("536365", 2), |line| line.position = 3).await, Error::KeyChanged { .. });
    expect_error!(table.items.get(("", 1)).await, Error::InvalidKey { attribute: "invoiceNo", .. });
    table.items.delete(second).await.unwrap();
    table.items.delete_unchecked(("536365", 1)).await.unwrap();
    for position in [1, 2] {
        assert_eq!(table.raw.get_by([("invoiceNo", s("536365")), ("position", n(position))]).await, None);
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Sku(String);

impl KeyAttribute for Sku {
    const TYPE: KeyType = KeyType::S;

    fn to_key_value(&self) -> KeyValue {
        KeyValue::S(self.0.clone())
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Versioned)]
#[dynalock(table = "typed")]
struct Typed {
    #[dynalock(partition_key)]
    sku: Sku,
    stock: i64,
}

async fn a_newtype_is_a_key(shop: &Shop) {
    let table = shop.table::<Typed>().await;
    let sku = Sku("a".to_owned());
    table.items.create(Typed { sku: sku.clone(), stock: 5 }).await.unwrap();
    let typed = table.items.update_with(&sku, |typed| typed.stock = 6).await.unwrap();
    assert_eq!(table.items.get(sku).await.unwrap(), Some(typed));
    assert_eq!(table.raw.get("a").await.unwrap()["stock"], n(6));
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Versioned)]
#[dynalock(table = "blobs")]
struct Content {
    #[dynalock(partition_key)]
    digest: Digest,
    uses: u64,
}

async fn bytes_are_a_key(shop: &Shop) {
    let table = shop.table::<Content>().await;
    let digest = Digest(vec![0, 255, 7]);
    table.items.create(Content { digest: digest.clone(), uses: 1 }).await.unwrap();
    let content = table.items.update_with(digest.clone(), |content| content.uses += 1).await.unwrap();
    assert_eq!(table.items.get(digest).await.unwrap(), Some(content.clone()));
    assert_eq!(table.raw.get_by([("digest", b([0, 255, 7]))]).await.unwrap()["uses"], n(2));
    expect_error!(table.items.get(Digest(Vec::new())).await, Error::InvalidKey { attribute: "digest", .. });
    table.items.delete(content).await.unwrap();
}

/// A number that is not a whole number. Its `KeyAttribute` returns what serde writes.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
struct Price(f64);

impl KeyAttribute for Price {
    const TYPE: KeyType = KeyType::N;

    fn to_key_value(&self) -> KeyValue {
        KeyValue::N(self.0.to_string())
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Versioned)]
#[dynalock(table = "offers")]
struct Offer {
    #[dynalock(partition_key)]
    price: Price,
    uses: u64,
}

async fn a_number_with_a_fraction_is_a_key(shop: &Shop) {
    let table = shop.table::<Offer>().await;
    for price in [0.1, -1.5, 12.34, 0.1 + 0.2, 1e-9, 3.0] {
        table.items.create(Offer { price: Price(price), uses: 1 }).await.unwrap();
        let offer = table.items.update_with(Price(price), |offer| offer.uses += 1).await.unwrap();
        let offer = table.items.replace(offer).await.unwrap();
        assert_eq!(table.items.get(Price(price)).await.unwrap(), Some(offer.clone()));
        assert_eq!(table.raw.get_by([("price", n(price))]).await.unwrap()["uses"], n(2));
        table.items.delete(offer).await.unwrap();
    }
}

/// A type whose `KeyAttribute` returns another value than serde writes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Lowered(String);

impl KeyAttribute for Lowered {
    const TYPE: KeyType = KeyType::S;

    fn to_key_value(&self) -> KeyValue {
        KeyValue::S(self.0.to_lowercase())
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Versioned)]
#[dynalock(table = "lowered")]
struct Disagreeing {
    #[dynalock(partition_key)]
    name: Lowered,
}

async fn a_newtype_whose_serde_disagrees_is_refused_without_a_request(shop: &Shop) {
    let table = shop.table::<Disagreeing>().await;
    let create = table.items.create(Disagreeing { name: Lowered("A".to_owned()) });
    expect_error!(create.await, Error::InvalidKey { attribute: "name", .. });
    assert_eq!(shop.requests(), 0);
    let agreeing = Disagreeing { name: Lowered("a".to_owned()) };
    assert_eq!(table.items.create(agreeing).await.unwrap().version(), 1);
}

/// A type whose `KeyAttribute` declares a number and returns a string.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Confused(String);

impl KeyAttribute for Confused {
    const TYPE: KeyType = KeyType::N;

    fn to_key_value(&self) -> KeyValue {
        KeyValue::S(self.0.clone())
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Versioned)]
#[dynalock(table = "confused")]
struct Confusing {
    #[dynalock(partition_key)]
    name: Confused,
}

async fn a_newtype_of_another_type_than_it_declares_is_refused_without_a_request(shop: &Shop) {
    let table = shop.table::<Confusing>().await;
    let name = || Confused("1".to_owned());
    for result in [
        table.items.create(Confusing { name: name() }).await.map(drop),
        table.items.get(name()).await.map(drop),
        table.items.delete_unchecked(name()).await,
    ] {
        expect_error!(result, Error::InvalidKey { attribute: "name", .. });
    }
    assert_eq!(shop.requests(), 0);
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, KeyAttribute)]
struct Carrier(String);

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, KeyAttribute)]
#[serde(rename_all = "kebab-case")]
enum Leg {
    ToHub,
    #[serde(rename = "last")]
    ToDoor,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Versioned)]
#[dynalock(table = "transports")]
#[lockable]
struct Transport {
    #[dynalock(partition_key)]
    carrier: Carrier,
    #[dynalock(sort_key)]
    leg: Leg,
    parcels: u64,
}

async fn derived_keys_name_their_item(shop: &Shop) {
    let table = shop.table::<Transport>().await;
    let carrier = Carrier("north".to_owned());
    for (leg, name) in [(Leg::ToHub, "to-hub"), (Leg::ToDoor, "last")] {
        let transport = Transport { carrier: carrier.clone(), leg: leg.clone(), parcels: 1 };
        table.items.create(transport).await.unwrap();
        let stored = table.raw.get_by([("carrier", s("north")), ("leg", s(name))]).await.unwrap();
        assert_eq!(stored["parcels"], n(1));
        let lease = table.items.lock((&carrier, leg.clone())).await.unwrap();
        let transport = lease.commit(|transport| transport.parcels += 1).await.unwrap();
        assert_eq!(table.items.get((&carrier, &leg)).await.unwrap(), Some(transport));
    }
    let is_later = Transport::ATTR.leg.ge(Leg::ToDoor);
    let mut tx = dynalock::Transaction::new(&shop.client);
    tx.when(&table.items, (carrier.clone(), Leg::ToHub), is_later);
    tx.commit().await.unwrap();
}
