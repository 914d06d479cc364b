//! Computes 128-bit fingerprints of serialized values. Two values with the same fingerprint are
//! stored as the same attribute.
//!
//! The hash is SipHash-1-3 with 128 bits of output (Aumasson and Bernstein, 2012). The key of the
//! hash is random for each process, so that no caller can prepare two values with the same
//! fingerprint.

use std::{hash::Hasher, sync::OnceLock};

use serde::{
    Serialize, Serializer,
    ser::{
        SerializeMap, SerializeSeq, SerializeStruct, SerializeStructVariant, SerializeTuple, SerializeTupleStruct,
        SerializeTupleVariant,
    },
};
use serde_dynamo::AttributeValue;
use siphasher::sip128::{Hasher128, SipHasher13};

use crate::{
    error::{SerdeError as Error, SerdeResult as Result},
    random,
};

/// A 128-bit hash of the value of one attribute.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Fingerprint(u128);

impl Fingerprint {
    pub(super) fn of<V: Serialize + ?Sized>(value: &V) -> Result<Self> {
        let mut hash = Hash::new();
        value.serialize(&mut hash)?;
        Ok(Self(hash.finish()))
    }
}

/// A serializer that hashes the serde data model. The serializer hashes each value with a type tag
/// and the length, so that different values never produce the same bytes.
struct Hash(SipHasher13);

impl Hash {
    fn new() -> Self {
        static KEY: OnceLock<[u64; 2]> = OnceLock::new();
        // One generator has a seed of 64 bits, so the key of 128 bits comes from two generators.
        let key = KEY.get_or_init(|| [random::generator(), random::generator()].map(|mut rng| rng.u64(..)));
        Self(SipHasher13::new_with_keys(key[0], key[1]))
    }

    fn finish(&self) -> u128 {
        self.0.finish128().as_u128()
    }

    fn tag(&mut self, tag: Tag) {
        self.0.write_u8(tag as u8);
    }

    fn text(&mut self, text: &str) {
        self.0.write_usize(text.len());
        self.0.write(text.as_bytes());
    }
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

/// Hashes the entries of a map independent of their order, because a `HashMap` can write the same
/// content in any order.
pub(super) struct Entries<'a> {
    parent: &'a mut Hash,
    entry: Hash,
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
        self.entry = Hash::new();
        self.entry.text(&key);
        Ok(())
    }

    fn serialize_value<V: Serialize + ?Sized>(&mut self, value: &V) -> Result<()> {
        value.serialize(&mut self.entry).map_err(Error::in_entry)?;
        // A sum does not depend on the order of the entries.
        self.sum = self.sum.wrapping_add(self.entry.finish());
        Ok(())
    }

    fn end(self) -> Result<()> {
        self.parent.0.write_u128(self.sum);
        self.parent.tag(Tag::End);
        Ok(())
    }
}

macro_rules! elements {
    ($($sequence:ident::$method:ident),* $(,)?) => {$(
        impl $sequence for &mut Hash {
            type Ok = ();
            type Error = Error;

            fn $method<V: Serialize + ?Sized>(&mut self, value: &V) -> Result<()> {
                self.tag(Tag::Next);
                value.serialize(&mut **self).map_err(Error::in_entry)
            }

            fn end(self) -> Result<()> {
                // This tag comes after each element, so that `[[1], [2]]` and `[[1, 2]]` differ.
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
        impl $structure for &mut Hash {
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
    ($($method:ident($number:ty) as $tag:ident $write:ident($wide:ty)),* $(,)?) => {$(
        fn $method(self, value: $number) -> Result<()> {
            self.tag(Tag::$tag);
            self.0.$write(<$wide>::from(value));
            Ok(())
        }
    )*};
}

const TOO_WIDE: &str = "it is an integer of 128 bits, and integers are stored with 64; write it as a string";

impl<'a> Serializer for &'a mut Hash {
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
        serialize_bool(bool) as Bool write_u8(u8),
        serialize_i8(i8) as Signed write_i64(i64),
        serialize_i16(i16) as Signed write_i64(i64),
        serialize_i32(i32) as Signed write_i64(i64),
        serialize_i64(i64) as Signed write_i64(i64),
        serialize_u8(u8) as Unsigned write_u64(u64),
        serialize_u16(u16) as Unsigned write_u64(u64),
        serialize_u32(u32) as Unsigned write_u64(u64),
        serialize_u64(u64) as Unsigned write_u64(u64),
    );

    fn serialize_i128(self, _: i128) -> Result<()> {
        Err(Error::not_storable(TOO_WIDE))
    }

    fn serialize_u128(self, _: u128) -> Result<()> {
        Err(Error::not_storable(TOO_WIDE))
    }

    fn serialize_f32(self, value: f32) -> Result<()> {
        self.tag(Tag::Single);
        self.0.write_u32(value.to_bits());
        Ok(())
    }

    fn serialize_f64(self, value: f64) -> Result<()> {
        self.tag(Tag::Double);
        self.0.write_u64(value.to_bits());
        Ok(())
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
        self.0.write_usize(value.len());
        self.0.write(value);
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
        Ok(Entries { parent: self, entry: Hash::new(), sum: 0 })
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

    fn of<V: Serialize>(value: V) -> u128 {
        Fingerprint::of(&value).unwrap().0
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
