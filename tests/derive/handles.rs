//! The handles of attributes, compared with the attributes that serde writes.

use std::collections::{BTreeMap, HashMap, HashSet};

use dynalock::{
    Attributes, Versioned,
    condition::{Attribute, Condition, Defaulted, Fixed, Opaque, Required, StringSet},
};
use serde::{Deserialize, Serialize};
use serde_dynamo::{Item, to_item};

/// Returns the names that serde writes, in order.
fn written<T: Serialize>(value: &T) -> Vec<String> {
    let item: Item = to_item(value).expect("a struct is an item");
    let mut names: Vec<String> = item.into_inner().into_keys().collect();
    names.sort_unstable();
    names
}

#[track_caller]
fn are_written<T: Serialize, const N: usize>(value: &T, mut names: [&str; N]) {
    names.sort_unstable();
    assert_eq!(written(value), names);
}

#[derive(Default, Serialize, Deserialize, Versioned)]
#[serde(rename_all = "camelCase")]
#[dynalock(table = "products")]
struct Product {
    #[dynalock(partition_key)]
    sku: String,
    #[dynalock(sort_key)]
    size_in_cm: u32,
    #[dynalock(version)]
    rev: u64,
    price_in_cents: Option<u64>,
    #[serde(rename = "Bestand")]
    stock: i64,
    r#type: char,
    #[serde(rename(serialize = "sum", deserialize = "total"), alias = "sum")]
    total: f64,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    tags: Vec<String>,
}

#[test]
fn a_handle_has_the_name_that_serde_writes() {
    let a = Product::ATTR;
    are_written(
        &Product { tags: vec!["new".to_owned()], ..Product::default() },
        [
            a.sku.name(),
            a.size_in_cm.name(),
            a.rev.name(),
            a.price_in_cents.name(),
            a.stock.name(),
            a.r#type.name(),
            a.total.name(),
            a.tags.name(),
        ],
    );
    assert_eq!((a.price_in_cents.name(), a.stock.name(), a.r#type.name()), ("priceInCents", "Bestand", "type"));
}

#[test]
fn a_handle_has_the_type_of_its_field() {
    let a = Product::ATTR;
    let _: [Condition<Product>; 12] = [
        a.sku.eq("85123A"),
        a.sku.begins_with("85"),
        a.sku.contains(String::from("23")),
        a.size_in_cm.between(10, 20),
        a.rev.ge(1_u64),
        a.price_in_cents.eq(None),
        a.price_in_cents.lt(100),
        a.stock.is_in([-1, 0, 1]),
        a.r#type.ne('x'),
        a.total.gt(0.5),
        a.tags.contains("new").or(!a.tags.exists()),
        a.tags.eq(vec!["new".to_owned()]),
    ];
}

#[derive(Default, Serialize, Deserialize)]
struct Audit {
    created_by: String,
}

#[derive(Serialize, Deserialize, Versioned)]
#[dynalock(table = "chosen")]
struct Chosen {
    #[dynalock(partition_key)]
    id: String,
    #[serde(with = "serde_dynamo::string_set")]
    colours: HashSet<String>,
    #[serde(serialize_with = "serde_dynamo::number_set::serialize")]
    sizes: Vec<u32>,
    #[serde(deserialize_with = "serde_dynamo::number_set::deserialize")]
    read_otherwise: Vec<u32>,
    #[serde(flatten)]
    audit: Audit,
    #[serde(flatten)]
    rest: BTreeMap<String, u64>,
    #[serde(skip)]
    skipped: u64,
    #[serde(skip_serializing, default)]
    only_read: u64,
}

#[test]
fn what_is_not_written_and_read_as_one_attribute_has_no_handle() {
    // This pattern compiles only if it names all fields.
    let ChosenAttributes { id, colours, sizes, read_otherwise } = Chosen::ATTR;
    let chosen = Chosen {
        id: "a".to_owned(),
        colours: HashSet::from(["red".to_owned()]),
        sizes: vec![1],
        read_otherwise: vec![1],
        audit: Audit::default(),
        rest: BTreeMap::new(),
        skipped: 0,
        only_read: 0,
    };
    are_written(&chosen, [id.name(), colours.name(), sizes.name(), read_otherwise.name(), "created_by"]);
    assert_eq!((chosen.skipped, chosen.only_read), (0, 0));
}

#[test]
fn what_other_code_writes_is_opaque() {
    let opaque: Attribute<Chosen, Opaque> = Chosen::ATTR.sizes;
    let _ = opaque.exists().and(opaque.absent()).and(opaque.size().ge(1));
    let _ = Chosen::ATTR.read_otherwise.contains(1);
}

#[test]
fn what_serde_dynamo_writes_as_a_set_is_a_set() {
    let colours: Attribute<Chosen, StringSet<HashSet<String>>> = Chosen::ATTR.colours;
    let _ = colours.contains("red").and(colours.size().ge(1));
}

/// An item whose fields have all kinds of defaults, and another program's names.
#[derive(Serialize, Deserialize, Versioned)]
#[dynalock(table = "mixed")]
struct Mixed<P: Default = u8> {
    #[dynalock(partition_key)]
    id: String,
    #[dynalock(version)]
    revision: u64,
    needed: u32,
    #[serde(default)]
    plain: P,
    #[serde(default = "three")]
    three: u8,
    option: Option<u8>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    left_out: Vec<u8>,
    #[serde(deserialize_with = "serde_dynamo::number_set::deserialize")]
    read_otherwise: Vec<u32>,
    #[serde(default = "Vec::new", with = "serde_dynamo::binary_set")]
    with_a_default_of_its_own: Vec<Vec<u8>>,
}

fn three() -> u8 {
    3
}

#[derive(Default, Serialize, Deserialize, Attributes)]
#[serde(default, rename_all = "kebab-case")]
struct Nested {
    #[serde(alias = "old-name")]
    new_name: u8,
    #[serde(with = "serde_dynamo::number_set")]
    numbers: HashSet<u8>,
}

#[test]
fn the_role_of_a_field_says_whether_it_can_be_changed_and_removed() {
    let a = Mixed::<u8>::ATTR;
    let _: Attribute<Mixed, String, Fixed> = a.id;
    let _: Attribute<Mixed, u64, Fixed> = a.revision;
    let _: Attribute<Mixed, u32, Required> = a.needed;
    let _: Attribute<Mixed, Vec<u8>, Required> = a.left_out;
    let _: [Attribute<Mixed, u8, Defaulted>; 2] = [a.plain, a.three];
    let _: Attribute<Mixed, Option<u8>, Defaulted> = a.option;
    let _: Attribute<Mixed, Vec<u32>, Fixed> = a.read_otherwise;
    let _: Attribute<Mixed, Opaque, Defaulted> = a.with_a_default_of_its_own;
    let _: Attribute<Nested, u8, Defaulted> = Nested::ATTR.new_name;
    let _: Attribute<Nested, Opaque, Defaulted> = Nested::ATTR.numbers;
    assert_eq!((Nested::ATTR.new_name.name(), Mixed::<String>::ATTR.plain.name()), ("new-name", "plain"));
}

#[derive(Serialize, Deserialize, Versioned)]
#[dynalock(table = "envelopes")]
struct Envelope<P = String, const CHANNELS: usize = 2>
where
    P: Clone,
{
    #[dynalock(partition_key)]
    id: String,
    payload: P,
    earlier: Vec<Self>,
    by_name: HashMap<String, (Option<Box<Self>>, [P; 2])>,
}

fn is<P: Clone + Serialize>(payload: &P) -> Condition<Envelope<P, 3>> {
    Envelope::ATTR.payload.eq(payload)
}

#[test]
fn type_parameters_pass_through() {
    let text: Attribute<Envelope, String> = Envelope::ATTR.payload;
    let number: Attribute<Envelope<u8, 7>, u8> = Envelope::ATTR.payload;
    let earlier: Attribute<Envelope<u8, 7>, Vec<Envelope<u8, 7>>> = Envelope::ATTR.earlier;

    let _ = (text.eq("a"), number.ge(7).and(earlier.absent()), is(&vec![1]));
    assert_eq!((text.name(), number.name(), Envelope::<u8>::ATTR.by_name.name()), ("payload", "payload", "by_name"));
}

mod elsewhere {
    use dynalock::Versioned;
    use serde::{Deserialize, Serialize};

    #[derive(Serialize, Deserialize, Versioned)]
    #[dynalock(table = "elsewhere")]
    pub(super) struct Elsewhere {
        #[dynalock(partition_key)]
        id: String,
    }
}

#[test]
fn handles_are_seen_where_their_struct_is() {
    let attributes: elsewhere::ElsewhereAttributes = elsewhere::Elsewhere::ATTR;
    assert_eq!(attributes.id.name(), "id");
}

#[test]
fn handles_are_copied_and_printed_whatever_their_types() {
    struct Neither;

    fn copied<A: Copy + Clone + std::fmt::Debug + Send + Sync + 'static>(attributes: A) -> String {
        format!("{attributes:?}")
    }

    let attribute: Attribute<Neither, Neither> = dynalock::private::attribute("a");
    assert_eq!(copied(attribute), r#"Attribute("a")"#);
    assert_eq!(
        copied(Envelope::<fn(Neither)>::ATTR),
        r#"EnvelopeAttributes { id: Attribute("id"), payload: Attribute("payload"), earlier: Attribute("earlier"), by_name: Attribute("by_name") }"#
    );
}
