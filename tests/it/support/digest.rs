use dynalock::{
    KeyAttribute,
    table::{KeyType, KeyValue},
};
use serde::{Deserialize, Serialize};

/// A type that serde writes as binary. A `Vec<u8>` would be a list.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Digest(pub(crate) Vec<u8>);

impl Serialize for Digest {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(&self.0)
    }
}

impl<'de> Deserialize<'de> for Digest {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Bytes;
        impl serde::de::Visitor<'_> for Bytes {
            type Value = Digest;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("bytes")
            }

            fn visit_bytes<E>(self, bytes: &[u8]) -> Result<Digest, E> {
                Ok(Digest(bytes.to_vec()))
            }
        }
        deserializer.deserialize_bytes(Bytes)
    }
}

impl KeyAttribute for Digest {
    const TYPE: KeyType = KeyType::B;

    fn to_key_value(&self) -> KeyValue {
        KeyValue::B(self.0.clone())
    }
}
