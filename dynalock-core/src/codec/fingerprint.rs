//! Computes fingerprints of serialized values. Two values with the same fingerprint are stored as
//! the same attribute, unless their hashes collide.
//!
//! The fingerprint of a value of up to 128 serialized bytes contains the serialized value. The
//! fingerprint of a value of more than 128 serialized bytes is a SipHash-1-3 with 128 bits of output
//! (Aumasson and Bernstein, 2012). The key of the hash function is random for each process, so that
//! no caller can prepare two values with the same fingerprint.

use std::{ops::Range, sync::OnceLock};

use serde::{
    Serialize, Serializer,
    ser::{
        SerializeMap, SerializeSeq, SerializeStruct, SerializeStructVariant, SerializeTuple, SerializeTupleStruct,
        SerializeTupleVariant,
    },
};
use serde_dynamo::AttributeValue;
use siphasher::sip128::SipHasher13;

use crate::{
    error::{SerdeError as Error, SerdeResult as Result},
    random,
};

/// The maximum size, in bytes, of a serialized value that is its own fingerprint. The fingerprint
/// of a larger value is a hash.
const LARGEST_PLAIN: usize = 128;

/// The first byte of a fingerprint that is a hash. A fingerprint that contains the serialized value
/// begins with a [`Tag`].
const HASHED: u8 = u8::MAX;

/// A serializer that appends the fingerprints of values to one buffer. The serializer writes a type
/// tag before each value, the length before each text, and an end tag after each list. Without type
/// tags and lengths, different values could produce the same bytes.
#[derive(Clone)]
pub(super) struct Buffer(Vec<u8>);

impl Buffer {
    pub(super) fn new() -> Self {
        Self(Vec::with_capacity(512))
    }

    pub(super) fn push<V: Serialize + ?Sized>(&mut self, value: &V) -> Result<Range<usize>> {
        let start = self.0.len();
        value.serialize(&mut *self)?;
        let bytes = &self.0[start..];
        if bytes.len() > LARGEST_PLAIN {
            let hash = hash(bytes);
            self.0.truncate(start);
            self.0.push(HASHED);
            self.0.extend_from_slice(&hash.to_le_bytes());
        }
        Ok(start..self.0.len())
    }

    pub(super) fn check<V: Serialize + ?Sized>(&mut self, value: &V) -> Result<()> {
        self.0.clear();
        value.serialize(self)
    }

    pub(super) fn at(&self, position: &Range<usize>) -> &[u8] {
        &self.0[position.clone()]
    }

    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    fn tag(&mut self, tag: Tag) {
        self.0.push(tag as u8);
    }

    /// Writes a length below 255 as one byte, and a larger length as the byte 255 and the bytes of
    /// the `usize`.
    fn length(&mut self, length: usize) {
        match u8::try_from(length) {
            Ok(short) if short < u8::MAX => self.0.push(short),
            Ok(_) | Err(_) => {
                self.0.push(u8::MAX);
                self.0.extend_from_slice(&length.to_le_bytes());
            }
        }
    }

    fn text(&mut self, text: &str) {
        self.length(text.len());
        self.0.extend_from_slice(text.as_bytes());
    }
}

fn hash(bytes: &[u8]) -> u128 {
    static KEY: OnceLock<[u64; 2]> = OnceLock::new();
    // The seed of a generator has only 64 bits, so the hash key of 128 bits comes from two
    // generators.
    let key = KEY.get_or_init(|| [random::generator(), random::generator()].map(|mut rng| rng.u64(..)));
    SipHasher13::new_with_keys(key[0], key[1]).hash(bytes).as_u128()
}

#[derive(Clone, Copy)]
enum Tag {
    Bool,
    Signed,
    Unsigned,
    Single,
    Double,
    Text,
    Bytes,
    None,
    Some,
    Unit,
    Newtype,
    List,
    Next,
    End,
    UnitVariant,
    NewtypeVariant,
    TupleVariant,
    StructVariant,
    Map,
    Struct,
}

/// Hashes the entries of a map. The hash must not depend on the order of the entries, because a
/// `HashMap` can write the entries in any order.
pub(super) struct Entries<'a> {
    parent: &'a mut Buffer,
    start: usize,
    sum: u128,
}

impl SerializeMap for Entries<'_> {
    type Ok = ();
    type Error = Error;

    fn serialize_key<K: Serialize + ?Sized>(&mut self, key: &K) -> Result<()> {
        // `serde_dynamo` writes each map key as a string, and panics for a key that is a list or a
        // map.
        let key = match key.serialize(serde_dynamo::Serializer).map_err(Error::refused)? {
            AttributeValue::S(text) | AttributeValue::N(text) => text,
            AttributeValue::Bool(flag) => flag.to_string(),
            _ => return Err(Error::not_storable("the key of a map is neither a string, nor a number, nor a boolean")),
        };
        self.start = self.parent.0.len();
        self.parent.text(&key);
        Ok(())
    }

    fn serialize_value<V: Serialize + ?Sized>(&mut self, value: &V) -> Result<()> {
        value.serialize(&mut *self.parent).map_err(Error::in_entry)?;
        // A sum does not depend on the order of the entries.
        self.sum = self.sum.wrapping_add(hash(&self.parent.0[self.start..]));
        self.parent.0.truncate(self.start);
        Ok(())
    }

    fn end(self) -> Result<()> {
        self.parent.0.extend_from_slice(&self.sum.to_le_bytes());
        self.parent.tag(Tag::End);
        Ok(())
    }
}

macro_rules! elements {
    ($($sequence:ident::$method:ident),* $(,)?) => {$(
        impl $sequence for &mut Buffer {
            type Ok = ();
            type Error = Error;

            fn $method<V: Serialize + ?Sized>(&mut self, value: &V) -> Result<()> {
                self.tag(Tag::Next);
                value.serialize(&mut **self).map_err(Error::in_entry)
            }

            fn end(self) -> Result<()> {
                // Without an end tag, `[[1], [2]]` and `[[1, 2]]` would have the same fingerprint.
                self.tag(Tag::End);
                Ok(())
            }
        }
    )*};
}

elements!(
    SerializeSeq::serialize_element,
    SerializeTuple::serialize_element,
    SerializeTupleStruct::serialize_field,
    SerializeTupleVariant::serialize_field,
);

macro_rules! fields {
    ($($structure:ident),* $(,)?) => {$(
        impl $structure for &mut Buffer {
            type Ok = ();
            type Error = Error;

            fn serialize_field<V: Serialize + ?Sized>(&mut self, name: &'static str, value: &V) -> Result<()> {
                self.tag(Tag::Next);
                self.text(name);
                value.serialize(&mut **self).map_err(|error| error.in_field(name))
            }

            fn end(self) -> Result<()> {
                self.tag(Tag::End);
                Ok(())
            }
        }
    )*};
}

fields!(SerializeStruct, SerializeStructVariant);

macro_rules! numbers {
    ($($method:ident($number:ty) as $tag:ident($wide:ty)),* $(,)?) => {$(
        fn $method(self, value: $number) -> Result<()> {
            self.tag(Tag::$tag);
            self.0.extend_from_slice(&<$wide>::from(value).to_le_bytes());
            Ok(())
        }
    )*};
}

const TOO_WIDE: &str = "it is an integer of 128 bits, and integers are stored with 64; write it as a string";

impl<'a> Serializer for &'a mut Buffer {
    type Ok = ();
    type Error = Error;
    type SerializeSeq = Self;
    type SerializeTuple = Self;
    type SerializeTupleStruct = Self;
    type SerializeTupleVariant = Self;
    type SerializeMap = Entries<'a>;
    type SerializeStruct = Self;
    type SerializeStructVariant = Self;

    numbers!(
        serialize_bool(bool) as Bool(u8),
        serialize_i8(i8) as Signed(i64),
        serialize_i16(i16) as Signed(i64),
        serialize_i32(i32) as Signed(i64),
        serialize_i64(i64) as Signed(i64),
        serialize_u8(u8) as Unsigned(u64),
        serialize_u16(u16) as Unsigned(u64),
        serialize_u32(u32) as Unsigned(u64),
        serialize_u64(u64) as Unsigned(u64),
        serialize_f32(f32) as Single(f32),
        serialize_f64(f64) as Double(f64),
    );

    fn serialize_i128(self, _: i128) -> Result<()> {
        Err(Error::not_storable(TOO_WIDE))
    }

    fn serialize_u128(self, _: u128) -> Result<()> {
        Err(Error::not_storable(TOO_WIDE))
    }

    fn serialize_char(self, value: char) -> Result<()> {
        self.serialize_str(value.encode_utf8(&mut [0; 4]))
    }

    fn serialize_str(self, value: &str) -> Result<()> {
        self.tag(Tag::Text);
        self.text(value);
        Ok(())
    }

    fn serialize_bytes(self, value: &[u8]) -> Result<()> {
        self.tag(Tag::Bytes);
        self.length(value.len());
        self.0.extend_from_slice(value);
        Ok(())
    }

    fn serialize_none(self) -> Result<()> {
        self.tag(Tag::None);
        Ok(())
    }

    fn serialize_some<V: Serialize + ?Sized>(self, value: &V) -> Result<()> {
        self.tag(Tag::Some);
        value.serialize(self)
    }

    fn serialize_unit(self) -> Result<()> {
        self.tag(Tag::Unit);
        Ok(())
    }

    fn serialize_unit_struct(self, _: &'static str) -> Result<()> {
        self.serialize_unit()
    }

    fn serialize_unit_variant(self, _: &'static str, _: u32, variant: &'static str) -> Result<()> {
        self.tag(Tag::UnitVariant);
        self.text(variant);
        Ok(())
    }

    fn serialize_newtype_struct<V: Serialize + ?Sized>(self, name: &'static str, value: &V) -> Result<()> {
        self.tag(Tag::Newtype);
        self.text(name);
        value.serialize(self)
    }

    fn serialize_newtype_variant<V: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        value: &V,
    ) -> Result<()> {
        self.tag(Tag::NewtypeVariant);
        self.text(variant);
        value.serialize(self)
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<Self> {
        self.tag(Tag::List);
        Ok(self)
    }

    fn serialize_tuple(self, _: usize) -> Result<Self> {
        self.tag(Tag::List);
        Ok(self)
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Self> {
        self.tag(Tag::List);
        Ok(self)
    }

    fn serialize_tuple_variant(self, _: &'static str, _: u32, variant: &'static str, _: usize) -> Result<Self> {
        self.tag(Tag::TupleVariant);
        self.text(variant);
        Ok(self)
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Entries<'a>> {
        self.tag(Tag::Map);
        Ok(Entries { start: self.0.len(), parent: self, sum: 0 })
    }

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Self> {
        self.tag(Tag::Struct);
        Ok(self)
    }

    fn serialize_struct_variant(self, _: &'static str, _: u32, variant: &'static str, _: usize) -> Result<Self> {
        self.tag(Tag::StructVariant);
        self.text(variant);
        Ok(self)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, HashMap};

    use super::*;

    fn of<V: Serialize>(value: V) -> Vec<u8> {
        let mut buffer = Buffer::new();
        buffer.push(&value).unwrap();
        buffer.0
    }

    #[test]
    fn equal_values_have_equal_fingerprints() {
        assert_eq!(of(("a", 1, [1.5])), of(("a", 1, [1.5])));
        assert_eq!(of(Some("a")), of(Some("a".to_owned())));
    }

    #[test]
    fn values_that_are_stored_differently_differ() {
        let all = [of(1), of(2), of("1"), of(1.0), of(true), of(None::<u8>), of(Some(1)), of([1]), of([1, 1]), of(())];
        for (at, one) in all.iter().enumerate() {
            assert!(all[at + 1..].iter().all(|other| other != one), "value {at}");
        }
    }

    #[test]
    fn values_of_all_lengths_have_their_own_fingerprint() {
        let texts: Vec<_> = (0..600).map(|length| "a".repeat(length)).collect();
        let mut all: Vec<_> = texts.iter().map(of).collect();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), texts.len());
        // The tag and the length take two bytes, so the fingerprint of a string of
        // `LARGEST_PLAIN - 1` bytes is a hash.
        let is_hash = |text: &String| of(text)[0] == HASHED;
        assert_eq!(texts.iter().position(is_hash), Some(LARGEST_PLAIN - 1));
    }

    #[test]
    fn nesting_and_lengths_are_kept_apart() {
        assert_ne!(of(("ab", "c")), of(("a", "bc")));
        assert_ne!(of((vec![1, 2], vec![3])), of((vec![1], vec![2, 3])));
        assert_ne!(of(vec![vec![1], vec![]]), of(vec![vec![], vec![1]]));
        assert_ne!(of(BTreeMap::from([("a", "b")])), of(BTreeMap::from([("b", "a")])));
        assert_ne!(of(HashMap::from([("a", 1), ("b", 2)])), of(HashMap::from([("a", 2), ("b", 1)])));
    }

    #[test]
    fn the_order_of_a_map_means_nothing() {
        let names: Vec<String> = (0..100).map(|n| n.to_string()).collect();
        let one: HashMap<_, _> = names.iter().map(|name| (name, name.len())).collect();
        let other: HashMap<_, _> = names.iter().rev().map(|name| (name, name.len())).collect();
        assert_eq!(of(one), of(other));
    }
}
