//! One attribute value, for serde to read.
//!
//! [`Value`] reads what `serde_dynamo` writes and reads. Its errors say where serde stopped and why, without a value.

use std::collections::{HashMap, hash_map};

use aws_sdk_dynamodb::types::AttributeValue;
use serde::{
    Deserializer,
    de::{
        DeserializeSeed, EnumAccess, Error as _, Expected, IntoDeserializer, MapAccess, SeqAccess, VariantAccess,
        Visitor,
    },
    forward_to_deserialize_any,
};

use crate::error::{CodecReason, SerdeError, SerdeResult};

/// An attribute value, or an element of one.
pub(super) struct Value(pub(super) AttributeValue);

/// The error of a value of another type than the visitor reads.
fn mismatch(found: &AttributeValue, expected: &dyn Expected) -> SerdeError {
    SerdeError::new(CodecReason::Type { expected: expected.to_string().into(), found: kind(found) })
}

/// The error of a number or string that the visitor's type cannot hold.
fn unfit(found: &'static str, expected: &dyn Expected) -> SerdeError {
    SerdeError::new(CodecReason::Value { expected: expected.to_string().into(), found })
}

fn kind(value: &AttributeValue) -> &'static str {
    match value {
        AttributeValue::S(_) => "a string",
        AttributeValue::N(_) => "a number",
        AttributeValue::B(_) => "binary",
        AttributeValue::Bool(_) => "a boolean",
        AttributeValue::Null(_) => "null",
        AttributeValue::L(_) => "a list",
        AttributeValue::M(_) => "a map",
        AttributeValue::Ss(_) => "a set of strings",
        AttributeValue::Ns(_) => "a set of numbers",
        AttributeValue::Bs(_) => "a set of binaries",
        _ => "a type of attribute that this version of the SDK does not know",
    }
}

macro_rules! numbers {
    ($($method:ident($number:ty) => $visit:ident),* $(,)?) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> SerdeResult<V::Value> {
            match self.0 {
                AttributeValue::N(digits) => match digits.parse::<$number>() {
                    Ok(number) => visitor.$visit(number),
                    Err(_) => Err(unfit("a number", &visitor)),
                },
                other => Err(mismatch(&other, &visitor)),
            }
        }
    )*};
}

impl<'de> Deserializer<'de> for Value {
    type Error = SerdeError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> SerdeResult<V::Value> {
        match self.0 {
            AttributeValue::S(text) => visitor.visit_string(text),
            AttributeValue::N(digits) => any_number(&digits, visitor),
            AttributeValue::B(blob) => visitor.visit_byte_buf(blob.into_inner()),
            AttributeValue::Bool(flag) => visitor.visit_bool(flag),
            AttributeValue::Null(true) => visitor.visit_unit(),
            AttributeValue::M(_) => self.deserialize_map(visitor),
            AttributeValue::L(_) | AttributeValue::Ss(_) | AttributeValue::Ns(_) | AttributeValue::Bs(_) => {
                self.deserialize_seq(visitor)
            }
            other => Err(mismatch(&other, &visitor)),
        }
    }

    numbers!(
        deserialize_i8(i8) => visit_i8,
        deserialize_i16(i16) => visit_i16,
        deserialize_i32(i32) => visit_i32,
        deserialize_i64(i64) => visit_i64,
        deserialize_u8(u8) => visit_u8,
        deserialize_u16(u16) => visit_u16,
        deserialize_u32(u32) => visit_u32,
        deserialize_u64(u64) => visit_u64,
        deserialize_f32(f32) => visit_f32,
        deserialize_f64(f64) => visit_f64,
    );

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> SerdeResult<V::Value> {
        match self.0 {
            AttributeValue::Bool(flag) => visitor.visit_bool(flag),
            other => Err(mismatch(&other, &visitor)),
        }
    }

    fn deserialize_char<V: Visitor<'de>>(self, visitor: V) -> SerdeResult<V::Value> {
        let AttributeValue::S(text) = self.0 else { return Err(mismatch(&self.0, &visitor)) };
        let mut chars = text.chars();
        match (chars.next(), chars.next()) {
            (Some(one), None) => visitor.visit_char(one),
            _ => Err(unfit("a string", &visitor)),
        }
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> SerdeResult<V::Value> {
        match self.0 {
            AttributeValue::S(text) => visitor.visit_string(text),
            other => Err(mismatch(&other, &visitor)),
        }
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> SerdeResult<V::Value> {
        self.deserialize_str(visitor)
    }

    fn deserialize_identifier<V: Visitor<'de>>(self, visitor: V) -> SerdeResult<V::Value> {
        self.deserialize_str(visitor)
    }

    fn deserialize_bytes<V: Visitor<'de>>(self, visitor: V) -> SerdeResult<V::Value> {
        match self.0 {
            AttributeValue::B(blob) => visitor.visit_byte_buf(blob.into_inner()),
            other => Err(mismatch(&other, &visitor)),
        }
    }

    fn deserialize_byte_buf<V: Visitor<'de>>(self, visitor: V) -> SerdeResult<V::Value> {
        self.deserialize_bytes(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> SerdeResult<V::Value> {
        match self.0 {
            AttributeValue::Null(true) => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_unit<V: Visitor<'de>>(self, visitor: V) -> SerdeResult<V::Value> {
        match self.0 {
            AttributeValue::Null(true) => visitor.visit_unit(),
            other => Err(mismatch(&other, &visitor)),
        }
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> SerdeResult<V::Value> {
        self.deserialize_unit(visitor)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> SerdeResult<V::Value> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> SerdeResult<V::Value> {
        match self.0 {
            AttributeValue::L(list) => visitor.visit_seq(Elements::new(list, |value| value)),
            AttributeValue::Ss(set) => visitor.visit_seq(Elements::new(set, AttributeValue::S)),
            AttributeValue::Ns(set) => visitor.visit_seq(Elements::new(set, AttributeValue::N)),
            AttributeValue::Bs(set) => visitor.visit_seq(Elements::new(set, AttributeValue::B)),
            other => Err(mismatch(&other, &visitor)),
        }
    }

    fn deserialize_tuple<V: Visitor<'de>>(self, _: usize, visitor: V) -> SerdeResult<V::Value> {
        self.deserialize_seq(visitor)
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(self, _: &'static str, _: usize, visitor: V) -> SerdeResult<V::Value> {
        self.deserialize_seq(visitor)
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> SerdeResult<V::Value> {
        match self.0 {
            AttributeValue::M(map) => visitor.visit_map(Entries::new(map, Names::Content)),
            other => Err(mismatch(&other, &visitor)),
        }
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> SerdeResult<V::Value> {
        match self.0 {
            AttributeValue::L(_) => self.deserialize_seq(visitor),
            AttributeValue::M(map) => visitor.visit_map(Entries::new(map, Names::Fields)),
            other => Err(mismatch(&other, &visitor)),
        }
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> SerdeResult<V::Value> {
        match self.0 {
            AttributeValue::S(variant) => visitor.visit_enum(variant.into_deserializer()),
            AttributeValue::M(map) => {
                let mut entries = map.into_iter();
                match (entries.next(), entries.next()) {
                    (Some((name, value)), None) => visitor.visit_enum(Variant { name, value }),
                    _ => Err(unfit("a map", &visitor)),
                }
            }
            other => Err(mismatch(&other, &visitor)),
        }
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> SerdeResult<V::Value> {
        visitor.visit_unit()
    }
}

fn any_number<'de, V: Visitor<'de>>(digits: &str, visitor: V) -> SerdeResult<V::Value> {
    if let Ok(number) = digits.parse::<i64>() {
        visitor.visit_i64(number)
    } else if let Ok(number) = digits.parse::<u64>() {
        visitor.visit_u64(number)
    } else if let Ok(number) = digits.parse::<f64>() {
        visitor.visit_f64(number)
    } else {
        Err(unfit("a number", &visitor))
    }
}

/// The elements of a list or set, each of which `wrap` makes an attribute value.
struct Elements<E, W> {
    left: std::vec::IntoIter<E>,
    wrap: W,
    index: usize,
}

impl<E, W: Fn(E) -> AttributeValue> Elements<E, W> {
    fn new(elements: Vec<E>, wrap: W) -> Self {
        Self { left: elements.into_iter(), wrap, index: 0 }
    }
}

impl<'de, E, W: Fn(E) -> AttributeValue> SeqAccess<'de> for Elements<E, W> {
    type Error = SerdeError;

    fn next_element_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> SerdeResult<Option<S::Value>> {
        let Some(element) = self.left.next() else { return Ok(None) };
        let index = self.index;
        self.index += 1;
        let element = seed.deserialize(Value((self.wrap)(element)));
        element.map(Some).map_err(|error| error.in_element(index))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.left.len())
    }
}

/// What the names in a map are.
#[derive(Clone, Copy)]
enum Names {
    /// Fields of a struct, which errors may show.
    Fields,
    /// Keys of a map, which are content.
    Content,
}

struct Entries {
    left: hash_map::IntoIter<String, AttributeValue>,
    value: Option<(String, AttributeValue)>,
    names: Names,
}

impl Entries {
    fn new(map: HashMap<String, AttributeValue>, names: Names) -> Self {
        Self { left: map.into_iter(), value: None, names }
    }
}

impl<'de> MapAccess<'de> for Entries {
    type Error = SerdeError;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> SerdeResult<Option<K::Value>> {
        let Some((name, value)) = self.left.next() else { return Ok(None) };
        let key = seed.deserialize(Name(name.clone()))?;
        self.value = Some((name, value));
        Ok(Some(key))
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> SerdeResult<V::Value> {
        let (name, value) = self.value.take().ok_or_else(|| SerdeError::custom("a value was asked for twice"))?;
        seed.deserialize(Value(value)).map_err(|error| match self.names {
            Names::Fields => error.in_field(&name),
            Names::Content => error.in_entry(),
        })
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.left.len())
    }
}

/// A name in a map: a string, from which serde may read a number, a boolean or a variant.
struct Name(String);

macro_rules! number_names {
    ($($method:ident => $visit:ident),* $(,)?) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> SerdeResult<V::Value> {
            match self.0.parse() {
                Ok(number) => visitor.$visit(number),
                Err(_) => Err(unfit("a name", &visitor)),
            }
        }
    )*};
}

impl<'de> Deserializer<'de> for Name {
    type Error = SerdeError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> SerdeResult<V::Value> {
        visitor.visit_string(self.0)
    }

    number_names!(
        deserialize_bool => visit_bool,
        deserialize_i8 => visit_i8,
        deserialize_i16 => visit_i16,
        deserialize_i32 => visit_i32,
        deserialize_i64 => visit_i64,
        deserialize_i128 => visit_i128,
        deserialize_u8 => visit_u8,
        deserialize_u16 => visit_u16,
        deserialize_u32 => visit_u32,
        deserialize_u64 => visit_u64,
        deserialize_u128 => visit_u128,
    );

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> SerdeResult<V::Value> {
        visitor.visit_enum(self.0.into_deserializer())
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> SerdeResult<V::Value> {
        visitor.visit_newtype_struct(self)
    }

    forward_to_deserialize_any! {
        f32 f64 char str string bytes byte_buf option unit unit_struct seq tuple tuple_struct map struct identifier
        ignored_any
    }
}

/// A variant with content: a map of its name to its content.
struct Variant {
    name: String,
    value: AttributeValue,
}

impl<'de> EnumAccess<'de> for Variant {
    type Error = SerdeError;
    type Variant = Self;

    fn variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> SerdeResult<(S::Value, Self)> {
        let variant = seed.deserialize(Name(self.name.clone()))?;
        Ok((variant, self))
    }
}

impl<'de> VariantAccess<'de> for Variant {
    type Error = SerdeError;

    fn unit_variant(self) -> SerdeResult<()> {
        Ok(())
    }

    fn newtype_variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> SerdeResult<S::Value> {
        seed.deserialize(Value(self.value)).map_err(|error| error.in_field(&self.name))
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, visitor: V) -> SerdeResult<V::Value> {
        Value(self.value).deserialize_seq(visitor).map_err(|error| error.in_field(&self.name))
    }

    fn struct_variant<V: Visitor<'de>>(self, fields: &'static [&'static str], visitor: V) -> SerdeResult<V::Value> {
        match self.value {
            AttributeValue::M(_) => Value(self.value).deserialize_struct("", fields, visitor),
            other => Err(mismatch(&other, &visitor)),
        }
        .map_err(|error| error.in_field(&self.name))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use serde::{Deserialize, de::DeserializeOwned};

    use super::*;

    #[derive(Debug, PartialEq, Deserialize)]
    struct Wide {
        text: Option<String>,
        letter: Option<char>,
        small: Option<i8>,
        whole: Option<u64>,
        part: Option<f64>,
        flag: Option<bool>,
        unit: Option<()>,
        list: Option<Vec<Shape>>,
        map: Option<BTreeMap<i16, Meters>>,
        set: Option<BTreeSet<String>>,
        pair: Option<(u8, String)>,
        inner: Option<Box<Wide>>,
        tagged: Option<Tagged>,
        any: Option<Any>,
    }

    #[derive(Debug, PartialEq, Deserialize)]
    struct Meters(u32);

    #[derive(Debug, PartialEq, Deserialize)]
    enum Shape {
        Point,
        Circle(u32),
        Line(u8, u8),
        Square { side: u32 },
    }

    #[derive(Debug, PartialEq, Deserialize)]
    #[serde(tag = "kind", content = "of")]
    enum Tagged {
        Number(i64),
        Words(Vec<String>),
    }

    #[derive(Debug, PartialEq, Deserialize)]
    #[serde(untagged)]
    enum Any {
        Number(f64),
        Text(String),
        Unit(()),
        Words(Vec<String>),
        Object(BTreeMap<String, u64>),
    }

    const NAMES: [&str; 14] = [
        "text", "letter", "small", "whole", "part", "flag", "unit", "list", "map", "set", "pair", "inner", "tagged",
        "any",
    ];
    const TEXTS: [&str; 12] =
        ["", "a", "Point", "Circle", "Square", "Line", "side", "Number", "Words", "7", "-1", "true"];
    const DIGITS: [&str; 9] = ["0", "7", "-1", "127", "300", "1.0", "1.5", "1e3", "18446744073709551615"];

    fn name(rng: &mut fastrand::Rng) -> String {
        let names: Vec<&str> = NAMES.iter().chain(&TEXTS).chain(&["kind", "of"]).copied().collect();
        names[rng.usize(..names.len())].to_owned()
    }

    fn text(rng: &mut fastrand::Rng) -> String {
        TEXTS[rng.usize(..TEXTS.len())].to_owned()
    }

    fn digits(rng: &mut fastrand::Rng) -> String {
        DIGITS[rng.usize(..DIGITS.len())].to_owned()
    }

    fn value(rng: &mut fastrand::Rng, depth: u32) -> AttributeValue {
        let kinds = if depth == 0 { 7 } else { 9 };
        let some = |rng: &mut fastrand::Rng| 0..rng.usize(..4);
        match rng.u8(..kinds) {
            0 => AttributeValue::S(text(rng)),
            1 => AttributeValue::N(digits(rng)),
            2 => AttributeValue::Bool(rng.bool()),
            3 => AttributeValue::Null(rng.u8(..8) > 0),
            4 => AttributeValue::B(text(rng).into_bytes().into()),
            5 => AttributeValue::Ss(some(rng).map(|_| text(rng)).collect()),
            6 => AttributeValue::Ns(some(rng).map(|_| digits(rng)).collect()),
            7 => AttributeValue::L(some(rng).map(|_| value(rng, depth - 1)).collect()),
            _ => AttributeValue::M(some(rng).map(|_| (name(rng), value(rng, depth - 1))).collect()),
        }
    }

    fn read<T: DeserializeOwned>(value: AttributeValue) -> Result<T, SerdeError> {
        T::deserialize(Value(value))
    }

    /// Whether `serde_dynamo` refuses what this reads: an element of a set as a newtype or an option, and `NULL: false` where it is ignored.
    fn is_read_more_widely(value: &AttributeValue) -> bool {
        match value {
            AttributeValue::Ss(_) | AttributeValue::Ns(_) | AttributeValue::Null(false) => true,
            AttributeValue::L(list) => list.iter().any(is_read_more_widely),
            AttributeValue::M(map) => map.values().any(is_read_more_widely),
            _ => false,
        }
    }

    /// Both read the same value, or neither reads it.
    fn agree<T: DeserializeOwned + PartialEq + std::fmt::Debug>(value: &AttributeValue) -> bool {
        let theirs: Result<T, _> = serde_dynamo::from_attribute_value(value.clone());
        match (read::<T>(value.clone()), theirs) {
            (Ok(ours), Ok(theirs)) => {
                assert_eq!(ours, theirs, "{value:?}");
                true
            }
            (Err(_), Err(_)) => false,
            (Ok(_), Err(_)) if is_read_more_widely(value) => true,
            (ours, theirs) => panic!("{ours:?}, {theirs:?}: {value:?}"),
        }
    }

    #[test]
    fn it_reads_what_serde_dynamo_reads() {
        let mut rng = fastrand::Rng::with_seed(7);
        let mut read = 0;
        for _ in 0..20_000 {
            let field = value(&mut rng, 2);
            let name = NAMES[rng.usize(..NAMES.len())];
            let item = AttributeValue::M([(name.to_owned(), field.clone())].into());
            read += usize::from(agree::<Wide>(&item));
            read += usize::from(agree::<Shape>(&field)) + usize::from(agree::<Tagged>(&field));
            read += usize::from(agree::<Any>(&field)) + usize::from(agree::<Option<Meters>>(&field));
            read += usize::from(agree::<Vec<Option<Any>>>(&field)) + usize::from(agree::<BTreeMap<bool, Any>>(&field));
            read += usize::from(agree::<(u8, String)>(&field)) + usize::from(agree::<serde::de::IgnoredAny>(&field));
        }
        assert!(read > 20_000, "only {read} values could be read");
    }

    #[test]
    fn an_error_has_a_path_and_no_value() {
        let secret = || AttributeValue::S("5500005555555559".to_owned());
        let map = |name: &str, value| AttributeValue::M([(name.to_owned(), value)].into());
        let number = |digits: &str| AttributeValue::N(digits.to_owned());
        for (value, path, reason) in [
            (map("whole", secret()), "whole", "expected u64, found a string"),
            (map("whole", number("-5500005555")), "whole", "expected u64, found a number that is not one"),
            (map("small", number("1.5")), "small", "expected i8, found a number that is not one"),
            (map("letter", secret()), "letter", "expected a character, found a string that is not one"),
            (map("text", number("5500005555")), "text", "expected a string, found a number"),
            (
                map("list", AttributeValue::L(vec![map("Square", map("side", secret()))])),
                "list[0].Square.side",
                "expected u32, found a string",
            ),
            (
                map("list", AttributeValue::L(vec![secret()])),
                "list[0]",
                "expected one of the variants `Point`, `Circle`, `Line`, `Square`, found another",
            ),
            (map("map", map("5500", secret())), "map[..]", "expected u32, found a string"),
            (map("map", map("5500005555555559", number("1"))), "map", "expected i16, found a name that is not one"),
            (map("pair", AttributeValue::L(vec![])), "pair", "expected a tuple of size 2, found 0 elements"),
            (
                map("inner", map("inner", map("flag", secret()))),
                "inner.inner.flag",
                "expected a boolean, found a string",
            ),
            (
                map("any", AttributeValue::Bool(true)),
                "any",
                "its own code refused it; `CodecError::detail` has the text, which may quote content",
            ),
        ] {
            let error = crate::error::CodecError::new("wide".into(), None, read::<Wide>(value).unwrap_err());
            assert_eq!((error.path().as_deref(), &*error.reason().to_string()), (Some(path), reason));
            let shown = format!("{error} {error:?} {error:#?}");
            assert!(!shown.contains("5500"), "{shown}");
        }
    }
}
