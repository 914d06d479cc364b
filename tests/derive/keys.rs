//! `#[derive(KeyAttribute)]`: the key of a value equals the value that serde writes.

use std::marker::PhantomData;

use dynalock::{
    Key, KeyAttribute, Versioned,
    table::{KeyType, KeyValue},
};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_dynamo::{AttributeValue, from_attribute_value, to_attribute_value};

/// Asserts the key of a value, and that serde writes and reads the same value.
fn is_key<K: KeyAttribute + Serialize + DeserializeOwned>(key: &K, expected: &KeyValue) {
    assert_eq!((&key.to_key_value(), K::TYPE), (expected, expected.key_type()));
    let stored = match expected.clone() {
        KeyValue::S(text) => AttributeValue::S(text),
        KeyValue::N(digits) => AttributeValue::N(digits),
        KeyValue::B(bytes) => AttributeValue::B(bytes),
    };
    assert_eq!(to_attribute_value::<_, AttributeValue>(key).expect("a value"), stored);
    let read: K = from_attribute_value(stored).expect("what was written");
    assert_eq!(&read.to_key_value(), expected);
}

fn text(text: &str) -> KeyValue {
    KeyValue::S(text.to_owned())
}

fn number(digits: &str) -> KeyValue {
    KeyValue::N(digits.to_owned())
}

#[derive(Serialize, Deserialize, KeyAttribute)]
struct Sku(String);

#[derive(Serialize, Deserialize, KeyAttribute)]
struct Line(u32);

#[derive(Serialize, Deserialize, KeyAttribute)]
struct Outer(Line);

#[derive(Serialize, Deserialize, KeyAttribute)]
#[serde(transparent)]
struct Named {
    name: Box<str>,
}

#[test]
fn a_newtype_is_the_key_that_its_field_is() {
    is_key(&Sku("85123A".to_owned()), &text("85123A"));
    is_key(&Line(7), &number("7"));
    is_key(&Outer(Line(7)), &number("7"));
    is_key(&Named { name: "a".into() }, &text("a"));
}

#[derive(KeyAttribute, Serialize, Deserialize)]
#[serde(transparent)]
struct Id<T>(String, PhantomData<fn() -> T>);

#[derive(KeyAttribute, Serialize, Deserialize)]
struct Wrapped<K>(K);

#[test]
fn a_newtype_may_have_parameters() {
    is_key(&Id::<Vec<u8>>("a".to_owned(), PhantomData), &text("a"));
    is_key(&Wrapped(-3_i64), &number("-3"));
}

#[derive(Clone, Serialize, Deserialize, KeyAttribute)]
#[serde(try_from = "u16", into = "u16")]
struct Even {
    half: u16,
}

impl TryFrom<u16> for Even {
    type Error = &'static str;

    fn try_from(number: u16) -> Result<Self, Self::Error> {
        if number.is_multiple_of(2) { Ok(Self { half: number / 2 }) } else { Err("odd") }
    }
}

impl From<Even> for u16 {
    fn from(even: Even) -> Self {
        2 * even.half
    }
}

#[test]
fn a_type_that_serde_converts_is_the_key_that_it_is_converted_into() {
    is_key(&Even { half: 4 }, &number("8"));
}

#[derive(Serialize, Deserialize, KeyAttribute)]
enum Status {
    Open,
    #[serde(rename = "paid!")]
    Paid,
    r#Loop,
}

#[derive(Serialize, Deserialize, KeyAttribute)]
#[serde(rename_all = "SCREAMING-KEBAB-CASE")]
enum Shouted {
    InTransit,
    #[serde(rename = "arrived")]
    Arrived,
}

#[test]
fn a_unit_enum_is_the_name_that_serde_writes() {
    is_key(&Status::Open, &text("Open"));
    is_key(&Status::Paid, &text("paid!"));
    is_key(&Status::r#Loop, &text("Loop"));
    is_key(&Shouted::InTransit, &text("IN-TRANSIT"));
    is_key(&Shouted::Arrived, &text("arrived"));
}

/// A stand-in for the crate of this name.
mod serde_bytes {
    use std::fmt;

    use serde::{
        Deserializer, Serializer,
        de::{Error, Visitor},
    };

    pub(super) fn serialize<S: Serializer>(bytes: &[u8], to: S) -> Result<S::Ok, S::Error> {
        to.serialize_bytes(bytes)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<u8>, D::Error> {
        struct Bytes;

        impl Visitor<'_> for Bytes {
            type Value = Vec<u8>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("bytes")
            }

            fn visit_bytes<E: Error>(self, bytes: &[u8]) -> Result<Self::Value, E> {
                Ok(bytes.to_vec())
            }
        }

        from.deserialize_byte_buf(Bytes)
    }
}

#[derive(Serialize, Deserialize, KeyAttribute)]
struct Digest(#[serde(with = "serde_bytes")] Vec<u8>);

#[test]
fn bytes_by_serde_bytes_are_a_binary_key() {
    is_key(&Digest(vec![0, 255]), &KeyValue::B(vec![0, 255]));
}

#[derive(Serialize, Deserialize, Versioned)]
#[dynalock(table = "parcels")]
struct Parcel {
    #[dynalock(partition_key)]
    digest: Digest,
    #[dynalock(sort_key)]
    status: Status,
}

#[test]
fn derived_keys_are_the_keys_of_an_item() {
    let parcel = Parcel { digest: Digest(vec![1]), status: Status::Paid };
    let key = Key::new(KeyValue::B(vec![1]), Some(text("paid!")));
    assert_eq!(parcel.key(), key);
    assert_eq!(crate::key::<Parcel>((Digest(vec![1]), Status::Paid)), key);
    assert_eq!(crate::key::<Parcel>((&parcel.digest, &parcel.status)), key);
    let types = Parcel::MODEL.key_attributes().map(|attribute| attribute.key_type);
    assert_eq!(types.collect::<Vec<_>>(), [KeyType::B, KeyType::S]);
}

mod elsewhere {
    pub(super) use dynalock as library;
}

#[derive(Serialize, Deserialize, KeyAttribute)]
#[dynalock(crate = "self::elsewhere::library")]
struct FromElsewhere(u8);

#[test]
fn the_library_may_be_elsewhere() {
    is_key(&FromElsewhere(1), &number("1"));
}

/// A type with the name that the key type of a `Product` would have.
#[derive(Debug, PartialEq)]
struct ProductKey;

#[derive(Serialize, Deserialize, Versioned)]
#[dynalock(table = "products", key_type = "ProductId")]
struct Product {
    #[dynalock(partition_key)]
    sku: String,
}

#[test]
fn the_key_type_may_have_another_name() {
    assert_eq!(ProductKey, ProductKey);
    let product = Product { sku: "a".to_owned() };
    assert_eq!(Key::from(ProductId::from("a")), product.key());
}
