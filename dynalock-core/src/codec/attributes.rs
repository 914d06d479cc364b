//! Splits a value into top-level attributes, with the names and values that serde writes.

use std::borrow::Cow;

use serde::{
    Serialize, Serializer,
    ser::{Impossible, SerializeMap, SerializeStruct},
};
use serde_dynamo::AttributeValue;

use crate::error::{SerdeError as Error, SerdeResult as Result};

pub(super) trait AttributeSink {
    /// Receives the name of a top-level attribute, and its value before serde has serialized the
    /// value.
    fn attribute<V: Serialize + ?Sized>(&mut self, name: Cow<'static, str>, value: &V) -> Result<()>;
}

pub(super) fn walk<T: Serialize>(value: &T, sink: &mut impl AttributeSink) -> Result<()> {
    value.serialize(Walk { sink, key: None })
}

struct Walk<'a, S> {
    sink: &'a mut S,
    key: Option<String>,
}

impl<S: AttributeSink> SerializeStruct for Walk<'_, S> {
    type Ok = ();
    type Error = Error;

    fn serialize_field<V: Serialize + ?Sized>(&mut self, name: &'static str, value: &V) -> Result<()> {
        self.sink.attribute(Cow::Borrowed(name), value)
    }

    fn end(self) -> Result<()> {
        Ok(())
    }
}

impl<S: AttributeSink> SerializeMap for Walk<'_, S> {
    type Ok = ();
    type Error = Error;

    fn serialize_key<K: Serialize + ?Sized>(&mut self, key: &K) -> Result<()> {
        self.key = match key.serialize(serde_dynamo::Serializer).map_err(Error::refused)? {
            // `serde_dynamo` writes a map key that is a number as decimal digits, which are a valid
            // attribute name.
            AttributeValue::S(name) | AttributeValue::N(name) => Some(name),
            _ => return Err(Error::not_storable("the name of an attribute is not a string")),
        };
        Ok(())
    }

    fn serialize_value<V: Serialize + ?Sized>(&mut self, value: &V) -> Result<()> {
        let name = self.key.take().ok_or_else(|| Error::not_storable("a value came before its name"))?;
        self.sink.attribute(Cow::Owned(name), value)
    }

    fn end(self) -> Result<()> {
        Ok(())
    }
}

fn not_a_map<T>() -> Result<T> {
    Err(Error::not_storable("an item is a struct or a map with names"))
}

macro_rules! refuse {
    ($($method:ident($($value:ty),*) -> $output:ty;)*) => {$(
        fn $method(self $(, _: $value)*) -> Result<$output> {
            not_a_map()
        }
    )*};
}

impl<S: AttributeSink> Serializer for Walk<'_, S> {
    type Ok = ();
    type Error = Error;
    type SerializeSeq = Impossible<(), Error>;
    type SerializeTuple = Impossible<(), Error>;
    type SerializeTupleStruct = Impossible<(), Error>;
    type SerializeTupleVariant = Impossible<(), Error>;
    type SerializeMap = Self;
    type SerializeStruct = Self;
    type SerializeStructVariant = Impossible<(), Error>;

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Self> {
        Ok(self)
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Self> {
        Ok(self)
    }

    refuse! {
        serialize_bool(bool) -> ();
        serialize_i8(i8) -> ();
        serialize_i16(i16) -> ();
        serialize_i32(i32) -> ();
        serialize_i64(i64) -> ();
        serialize_u8(u8) -> ();
        serialize_u16(u16) -> ();
        serialize_u32(u32) -> ();
        serialize_u64(u64) -> ();
        serialize_f32(f32) -> ();
        serialize_f64(f64) -> ();
        serialize_char(char) -> ();
        serialize_str(&str) -> ();
        serialize_bytes(&[u8]) -> ();
        serialize_none() -> ();
        serialize_unit() -> ();
        serialize_unit_struct(&'static str) -> ();
        serialize_unit_variant(&'static str, u32, &'static str) -> ();
        serialize_seq(Option<usize>) -> Self::SerializeSeq;
        serialize_tuple(usize) -> Self::SerializeTuple;
        serialize_tuple_struct(&'static str, usize) -> Self::SerializeTupleStruct;
        serialize_tuple_variant(&'static str, u32, &'static str, usize) -> Self::SerializeTupleVariant;
        serialize_struct_variant(&'static str, u32, &'static str, usize) -> Self::SerializeStructVariant;
    }

    fn serialize_some<V: Serialize + ?Sized>(self, _: &V) -> Result<()> {
        not_a_map()
    }

    fn serialize_newtype_struct<V: Serialize + ?Sized>(self, _: &'static str, _: &V) -> Result<()> {
        not_a_map()
    }

    fn serialize_newtype_variant<V: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: &V,
    ) -> Result<()> {
        not_a_map()
    }
}
