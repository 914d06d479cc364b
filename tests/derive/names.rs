//! The names in the model, compared with the names that serde writes and reads.

use std::collections::{BTreeMap, HashMap};

use dynalock::{
    Versioned,
    private::{KeyModel, Model},
    table::KeyValue,
};
use serde::{Deserialize, Serialize};
use serde_dynamo::{AttributeValue, Item, from_item, to_item};

/// Compares the model and the key of `value` with serde.
fn agrees_with_serde<T: Versioned>(value: &T) {
    let item = written(value);
    keys_are_written(value, &item);
    version_is_written_if_it_is_a_field(T::MODEL, &item);
    assert_eq!(written(&read::<T>(item.clone())), item, "what is written is read back");
    aliases_are_read::<T>(&item);
}

fn written<T: Serialize>(value: &T) -> BTreeMap<String, AttributeValue> {
    let item: Item = to_item(value).expect("a struct is an item");
    item.into_inner().into_iter().collect()
}

fn read<T: Versioned>(item: BTreeMap<String, AttributeValue>) -> T {
    from_item(Item::from(HashMap::from_iter(item))).expect("what was written, under a name that is read")
}

fn keys_are_written<T: Versioned>(value: &T, item: &BTreeMap<String, AttributeValue>) {
    let key = value.key();
    let values = std::iter::once(key.partition()).chain(key.sort());
    let models: Vec<KeyModel> = T::MODEL.key_attributes().collect();
    assert_eq!(models.len(), values.clone().count());
    for (model, value) in models.into_iter().zip(values) {
        let attribute = match value.clone() {
            KeyValue::S(text) => AttributeValue::S(text),
            KeyValue::N(number) => AttributeValue::N(number),
            KeyValue::B(bytes) => AttributeValue::B(bytes),
        };
        assert_eq!(item.get(model.name), Some(&attribute), "{}", model.name);
        assert_eq!(model.key_type, value.key_type(), "{}", model.name);
    }
}

fn version_is_written_if_it_is_a_field(model: &Model, item: &BTreeMap<String, AttributeValue>) {
    assert_eq!(item.contains_key(model.version), model.version_is_field, "{}", model.version);
}

fn aliases_are_read<T: Versioned>(item: &BTreeMap<String, AttributeValue>) {
    for entry in T::MODEL.aliases {
        let Some(value) = item.get(entry.attribute) else { continue };
        assert!(!entry.aliases.is_empty());
        for alias in entry.aliases {
            let mut aliased = item.clone();
            aliased.remove(entry.attribute);
            aliased.insert((*alias).to_owned(), value.clone());
            assert_eq!(written(&read::<T>(aliased)), *item, "{} is read from {alias}", entry.attribute);
        }
    }
}

/// Returns the model's aliases as a table.
fn aliases<T: Versioned>() -> Vec<(&'static str, &'static [&'static str])> {
    T::MODEL.aliases.iter().map(|entry| (entry.attribute, entry.aliases)).collect()
}

#[derive(Default, Serialize, Deserialize, Versioned)]
#[dynalock(table = "renamed")]
struct Renamed {
    #[serde(rename = "Customer-Id")]
    #[dynalock(partition_key)]
    customer: String,
    #[serde(rename(serialize = "No.", deserialize = "No."))]
    #[dynalock(sort_key)]
    number: u64,
    #[dynalock(version)]
    #[serde(rename = "größe")]
    rev: u64,
}

#[test]
fn renamed_fields() {
    agrees_with_serde(&Renamed::default());
    assert_eq!(Renamed::MODEL.partition_key.name, "Customer-Id");
}

macro_rules! renamed_by_rule {
    ($($name:ident: $rule:literal => $written:literal,)*) => {$(
        #[derive(Default, Serialize, Deserialize, Versioned)]
        #[expect(non_snake_case, reason = "two underscores are one word break, or two characters, to serde's rules")]
        #[serde(rename_all = $rule)]
        #[dynalock(table = "rules")]
        struct $name {
            #[dynalock(partition_key)]
            customer_id: String,
            #[dynalock(sort_key)]
            _line__number2: u64,
            #[dynalock(version)]
            r#type: u64,
            #[serde(alias = "price")]
            unit_price_in_cents: u64,
            #[serde(rename = "as_it_is")]
            renamed_itself: u64,
        }
    )*

    #[test]
    fn fields_renamed_by_rule() {
        $(
            agrees_with_serde(&$name::default());
            assert_eq!($name::MODEL.partition_key.name, $written);
        )*
    }};
}

renamed_by_rule! {
    Lowercase: "lowercase" => "customer_id",
    Uppercase: "UPPERCASE" => "CUSTOMER_ID",
    PascalCase: "PascalCase" => "CustomerId",
    CamelCase: "camelCase" => "customerId",
    SnakeCase: "snake_case" => "customer_id",
    ScreamingSnakeCase: "SCREAMING_SNAKE_CASE" => "CUSTOMER_ID",
    KebabCase: "kebab-case" => "customer-id",
    ScreamingKebabCase: "SCREAMING-KEBAB-CASE" => "CUSTOMER-ID",
}

#[derive(Default, Serialize, Deserialize, Versioned)]
#[dynalock(table = "raw")]
struct Raw {
    #[dynalock(partition_key)]
    r#type: String,
    #[dynalock(sort_key)]
    r#fn: u64,
    #[dynalock(version)]
    r#async: u64,
}

#[test]
fn raw_identifiers() {
    agrees_with_serde(&Raw::default());
    assert_eq!((Raw::MODEL.partition_key.name, Raw::MODEL.version), ("type", "async"));
}

#[derive(Default, Serialize, Deserialize, Versioned)]
#[serde(rename_all(serialize = "camelCase"))]
#[dynalock(table = "split")]
struct Split {
    // A name of one word is the same under both rules.
    #[dynalock(partition_key)]
    customer: String,
    #[serde(rename = "orderNumber")]
    #[dynalock(sort_key)]
    order_number: u64,
    #[serde(alias = "unitPrice")]
    unit_price: u64,
    #[serde(rename(serialize = "sum", deserialize = "total"), alias = "sum", alias = "amount")]
    total: u64,
    #[serde(rename(serialize = "tax", deserialize = "vat", deserialize = "tax"))]
    vat: u64,
    #[serde(rename(deserialize = "discount"))]
    discount: u64,
}

#[test]
fn names_that_differ_for_reading_where_what_is_written_is_read() {
    agrees_with_serde(&Split::default());
    assert_eq!(
        aliases::<Split>(),
        [("unitPrice", ["unit_price"].as_slice()), ("sum", &["amount", "total"]), ("tax", &["vat"])]
    );
}

#[derive(Default, Serialize, Deserialize, Versioned)]
#[serde(rename_all(serialize = "UPPERCASE", deserialize = "UPPERCASE"), default, deny_unknown_fields)]
#[dynalock(table = "aliased")]
struct Aliased {
    #[dynalock(partition_key)]
    id: String,
    #[serde(alias = "sum", alias = "amount", alias = "TOTAL")]
    total: u64,
    #[serde(alias = "cur")]
    #[serde(alias = "currency_code")]
    currency: Option<String>,
    #[serde(skip, alias = "unseen")]
    skipped: u64,
    #[serde(skip_serializing, alias = "old")]
    only_read: u64,
}

#[test]
fn aliases_of_what_is_written() {
    agrees_with_serde(&Aliased { currency: Some("EUR".to_owned()), total: 3, ..Aliased::default() });
    assert_eq!(
        aliases::<Aliased>(),
        [("TOTAL", ["amount", "sum"].as_slice()), ("CURRENCY", &["cur", "currency_code"])]
    );
}

#[derive(Default, Serialize, Deserialize)]
struct Address {
    street: String,
    // The same name one level down is another attribute.
    id: u64,
    #[serde(rename = "_version")]
    version: u64,
}

#[derive(Default, Serialize, Deserialize)]
struct Audit {
    created_by: String,
    changed_by: Option<String>,
}

#[derive(Serialize, Deserialize, Versioned)]
#[serde(rename_all = "camelCase", expecting = "an order", bound = "")]
#[dynalock(table = "everything")]
struct Everything {
    #[serde(default)]
    #[dynalock(partition_key)]
    order_id: String,
    #[dynalock(version)]
    #[serde(default = "first")]
    rev: u64,
    #[serde(with = "hex")]
    in_hex: u64,
    #[serde(serialize_with = "hex::serialize", deserialize_with = "hex::deserialize", rename = "alsoHex")]
    in_hex_too: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty", default, alias = "labels")]
    tags: Vec<String>,
    empty: Option<u64>,
    address: Address,
    #[serde(flatten)]
    audit: Audit,
    #[serde(flatten)]
    rest: BTreeMap<String, u64>,
}

fn first() -> u64 {
    1
}

mod hex {
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes fields by reference")]
    pub(super) fn serialize<S: Serializer>(number: &u64, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(&format_args!("{number:x}"))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<u64, D::Error> {
        u64::from_str_radix(&String::deserialize(from)?, 16).map_err(D::Error::custom)
    }
}

#[test]
fn everything_else_that_serde_can_do() {
    for (note, tags) in [(None, vec![]), (Some("fragile".to_owned()), vec!["a".to_owned()])] {
        agrees_with_serde(&Everything {
            order_id: "a".to_owned(),
            rev: 7,
            in_hex: 255,
            in_hex_too: 254,
            note,
            tags,
            empty: None,
            address: Address::default(),
            audit: Audit::default(),
            rest: BTreeMap::from([("extra".to_owned(), 1)]),
        });
    }
    assert_eq!(Everything::MODEL.partition_key.name, "orderId");
    assert_eq!(aliases::<Everything>(), [("tags", ["labels"].as_slice())]);
}

#[derive(Serialize, Deserialize, Versioned)]
#[serde(rename_all = "kebab-case")]
#[dynalock(table = "generic", version = "data-version")]
struct Generic<P> {
    #[dynalock(partition_key)]
    envelope_id: String,
    #[serde(alias = "payload")]
    the_payload: P,
}

#[test]
fn generic_structs() {
    agrees_with_serde(&Generic { envelope_id: "a".to_owned(), the_payload: Some(1) });
    agrees_with_serde(&Generic { envelope_id: "a".to_owned(), the_payload: Address::default() });
    assert_eq!(aliases::<Generic<u8>>(), [("the-payload", ["payload"].as_slice())]);
}

#[derive(Serialize, Deserialize, Versioned)]
#[cfg_attr(all(), serde(rename_all = "PascalCase"))]
#[cfg_attr(all(), dynalock(table = "conditional"))]
struct Conditional {
    #[cfg_attr(all(), dynalock(partition_key), serde(rename = "ID"))]
    id: String,
    #[cfg(any())]
    #[dynalock(partition_key)]
    absent: String,
    unit_price: u64,
}

#[test]
fn conditional_attributes() {
    agrees_with_serde(&Conditional { id: "a".to_owned(), unit_price: 1 });
    assert_eq!(Conditional::MODEL.partition_key.name, "ID");
}
