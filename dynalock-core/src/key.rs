//! The key of one item.

use std::{borrow::Cow, fmt};

use aws_sdk_dynamodb::types::ScalarAttributeType;

use crate::number;

/// The key of one item: the value of its partition key, and the value of its sort key if the table
/// has one.
///
/// The generated key types, for example `ProductKey` for a `Product`, convert into a `Key`. A `Key`
/// contains only the values of the key attributes, and not their names.
///
/// # Examples
///
/// ```
/// # use dynalock_core as dynalock;
/// use dynalock::{Key, table::KeyValue};
///
/// let key = Key::new(KeyValue::S("alice".into()), Some(KeyValue::N("7".into())));
/// assert_eq!(key.to_string(), r#""alice", 7"#);
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Key {
    partition: KeyValue,
    sort: Option<KeyValue>,
}

impl Key {
    /// Makes a key from the value of the partition key, and the value of the sort key if the table
    /// has one.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// use dynalock::{Key, table::KeyValue};
    ///
    /// let order = Key::new(KeyValue::S("alice".into()), Some(KeyValue::N("7".into())));
    /// let product = Key::new(KeyValue::S("85123A".into()), None);
    /// ```
    pub fn new(partition: KeyValue, sort: Option<KeyValue>) -> Self {
        Self { partition: partition.canonical(), sort: sort.map(KeyValue::canonical) }
    }

    /// Returns the value of the partition key.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// use dynalock::{Key, table::KeyValue};
    ///
    /// let key = Key::new(KeyValue::S("alice".into()), Some(KeyValue::N("7".into())));
    /// assert_eq!(key.partition(), &KeyValue::S("alice".into()));
    /// ```
    pub fn partition(&self) -> &KeyValue {
        &self.partition
    }

    /// Returns the value of the partition key, followed by the value of the sort key if the table
    /// has one.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// use dynalock::{Key, table::KeyValue};
    ///
    /// let key = Key::new(KeyValue::S("alice".into()), Some(KeyValue::N("7".into())));
    /// assert_eq!(key.values().count(), 2);
    /// ```
    pub fn values(&self) -> impl Iterator<Item = &KeyValue> {
        std::iter::once(&self.partition).chain(&self.sort)
    }

    /// Returns the key of the item's separate lease row. Returns `None` if the last key value is a
    /// number, because a number cannot have the suffix `#lock`.
    pub(crate) fn lease_row(&self) -> Option<Self> {
        match &self.sort {
            Some(sort) => Some(Self { partition: self.partition.clone(), sort: Some(sort.lease_row()?) }),
            None => Some(Self { partition: self.partition.lease_row()?, sort: None }),
        }
    }

    pub(crate) fn is_lease_row(&self) -> bool {
        self.sort.as_ref().unwrap_or(&self.partition).is_lease_row()
    }

    pub(crate) fn is_too_long(&self) -> bool {
        self.values().zip(MAX_BYTES).any(|(value, max_bytes)| value.len() > max_bytes)
    }

    /// Removes the suffix `#lock`, if the key is the key of a separate lease row.
    pub(crate) fn of_item(self) -> Self {
        match self.sort {
            Some(sort) => Self { sort: Some(sort.of_item()), ..self },
            None => Self { partition: self.partition.of_item(), sort: None },
        }
    }

    /// Returns the value of the sort key, or `None` if the table has only a partition key.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// use dynalock::{Key, table::KeyValue};
    ///
    /// let key = Key::new(KeyValue::S("alice".into()), Some(KeyValue::N("7".into())));
    /// assert_eq!(key.sort(), Some(&KeyValue::N("7".into())));
    /// ```
    pub fn sort(&self) -> Option<&KeyValue> {
        self.sort.as_ref()
    }
}

/// The text of a key contains the key values, for example `"alice", 7`. A key is a part of an
/// item's data, so errors show the key only if the type of the item has `#[dynalock(show_key)]`.
impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.partition.fmt(f)?;
        match &self.sort {
            Some(sort) => write!(f, ", {sort}"),
            None => Ok(()),
        }
    }
}

/// The longest partition key that DynamoDB allows, in bytes.
pub(crate) const MAX_PARTITION_BYTES: usize = 2048;

/// The longest partition key and the longest sort key that DynamoDB allows, in bytes.
pub(crate) const MAX_BYTES: [usize; 2] = [MAX_PARTITION_BYTES, 1024];

/// The suffix that turns the key of an item into the key of its separate lease row.
const SUFFIX: &str = "#lock";

/// The value of one key attribute.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum KeyValue {
    /// A string.
    S(String),
    /// A number in decimal digits.
    N(String),
    /// Bytes.
    B(Vec<u8>),
}

impl KeyValue {
    /// Returns the type of the key value.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// use dynalock::table::{KeyType, KeyValue};
    ///
    /// assert_eq!(KeyValue::N("7".into()).key_type(), KeyType::N);
    /// ```
    pub fn key_type(&self) -> KeyType {
        match self {
            Self::S(_) => KeyType::S,
            Self::N(_) => KeyType::N,
            Self::B(_) => KeyType::B,
        }
    }

    fn lease_row(&self) -> Option<Self> {
        match self {
            Self::S(text) => Some(Self::S(format!("{text}{SUFFIX}"))),
            Self::B(bytes) => Some(Self::B([bytes, SUFFIX.as_bytes()].concat())),
            Self::N(_) => None,
        }
    }

    fn of_item(self) -> Self {
        match self {
            Self::S(text) => Self::S(text.strip_suffix(SUFFIX).map(str::to_owned).unwrap_or(text)),
            Self::B(bytes) => Self::B(bytes.strip_suffix(SUFFIX.as_bytes()).map(<[u8]>::to_vec).unwrap_or(bytes)),
            Self::N(digits) => Self::N(digits),
        }
    }

    fn is_lease_row(&self) -> bool {
        match self {
            Self::S(text) => text.ends_with(SUFFIX),
            Self::B(bytes) => bytes.ends_with(SUFFIX.as_bytes()),
            Self::N(_) => false,
        }
    }

    /// Without a canonical notation, the texts `1` and `1.0` of one number would be different keys.
    pub(crate) fn canonical(self) -> Self {
        match self {
            Self::N(digits) => Self::N(number::canonical(digits)),
            Self::S(_) | Self::B(_) => self,
        }
    }

    /// Returns whether the key value is empty. DynamoDB refuses empty values in keys.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// use dynalock::table::KeyValue;
    ///
    /// assert!(KeyValue::S(String::new()).is_empty());
    /// ```
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub(crate) fn len(&self) -> usize {
        match self {
            Self::S(text) | Self::N(text) => text.len(),
            Self::B(bytes) => bytes.len(),
        }
    }
}

/// The text of a key value is a string in quotation marks, the digits of a number, or bytes as
/// hexadecimal digits.
impl fmt::Display for KeyValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::S(text) => write!(f, "{text:?}"),
            Self::N(digits) => f.write_str(digits),
            Self::B(bytes) => hex(bytes).fmt(f),
        }
    }
}

pub(crate) fn hex(bytes: &[u8]) -> impl fmt::Display {
    fmt::from_fn(|f| {
        f.write_str("0x")?;
        bytes.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    })
}

/// The type of a key attribute: one of the three types that DynamoDB allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum KeyType {
    /// A string.
    S,
    /// A number.
    N,
    /// Bytes.
    B,
}

impl From<KeyType> for ScalarAttributeType {
    fn from(key_type: KeyType) -> Self {
        match key_type {
            KeyType::S => Self::S,
            KeyType::N => Self::N,
            KeyType::B => Self::B,
        }
    }
}

/// A type whose values can be a key attribute: a string, a whole number or bytes.
///
/// `#[derive(KeyAttribute)]` supports a newtype of a key type, a newtype of bytes with
/// `#[serde(with = "serde_bytes")]`, and an enum without fields. The key value of an enum is the
/// variant name that serde writes. For a type of numbers with fractions, a program must implement
/// `KeyAttribute` by hand. If a program implements `KeyAttribute` by hand, `to_key_value` must
/// return the key value that the `Serialize` implementation of the type writes. Two notations of
/// one number, for example `0.5` and `5e-1`, are the same key value.
///
/// ```
/// # use dynalock_core as dynalock;
/// use dynalock::{KeyAttribute, table::{KeyType, KeyValue}};
///
/// #[derive(serde::Serialize, serde::Deserialize)]
/// struct Sku(String);
///
/// impl KeyAttribute for Sku {
///     const TYPE: KeyType = KeyType::S;
///
///     fn to_key_value(&self) -> KeyValue {
///         KeyValue::S(self.0.clone())
///     }
/// }
/// ```
///
/// If `to_key_value` and the `Serialize` implementation return different values, a create or
/// replace of an item fails with [`Error::InvalidKey`](crate::Error::InvalidKey).
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a key",
    label = "not a string, a whole number or bytes",
    note = "a key is a string, a whole number or bytes: for a newtype of one of them, and for an enum without fields, add `#[derive(dynalock::KeyAttribute)]`",
    note = "serde writes `Vec<u8>` as a list: bytes are a newtype with `#[serde(with = \"serde_bytes\")]`",
    note = "a type of another crate, for example a date or a UUID, becomes a key by a newtype that converts to and from a text: see \"Keys of other types\" in `dynalock::guide::tables`"
)]
pub trait KeyAttribute {
    /// The DynamoDB type of the key attribute.
    const TYPE: KeyType;

    /// Converts the value into the key value that DynamoDB stores.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// use dynalock::{KeyAttribute, table::KeyValue};
    ///
    /// assert_eq!(7_u64.to_key_value(), KeyValue::N("7".into()));
    /// ```
    fn to_key_value(&self) -> KeyValue;
}

/// A field type that can be a key attribute of an index: a [`KeyAttribute`], or an `Option` of a
/// [`KeyAttribute`]. If an item lacks a key attribute of an index, the index does not contain the
/// item.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the key of an index",
    label = "not a string, a whole number or bytes, nor an `Option` of one",
    note = "for a newtype of one of them, and for an enum without fields, add `#[derive(dynalock::KeyAttribute)]`"
)]
pub trait IndexAttribute {
    /// The type of the key attribute: the type of the field, without the `Option` of an optional
    /// field.
    type Key: KeyAttribute;
}

impl<K: KeyAttribute> IndexAttribute for K {
    type Key = K;
}

impl<K: KeyAttribute> IndexAttribute for Option<K> {
    type Key = K;
}

/// A value that a caller can pass where a key of type `T` is expected: a `T`, a `&T`, or a `&str`
/// for a `String`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not name a key of type `{T}`",
    label = "expected `{T}`, or a tuple of the partition key and the sort key if the table has one"
)]
pub trait AsKey<T> {
    /// Converts the value into the key value that DynamoDB stores.
    fn as_key(&self) -> KeyValue;
}

impl<T: KeyAttribute> AsKey<T> for T {
    fn as_key(&self) -> KeyValue {
        self.to_key_value()
    }
}

impl<T: KeyAttribute> AsKey<T> for &T {
    fn as_key(&self) -> KeyValue {
        self.to_key_value()
    }
}

impl AsKey<String> for &str {
    fn as_key(&self) -> KeyValue {
        KeyValue::S((*self).to_owned())
    }
}

macro_rules! keys {
    ($($key_type:ident: $($key:ty),*;)*) => {$($(
        impl KeyAttribute for $key {
            const TYPE: KeyType = KeyType::$key_type;

            fn to_key_value(&self) -> KeyValue {
                KeyValue::$key_type(self.to_string())
            }
        }
    )*)*};
}

keys! {
    S: String, Box<str>, Cow<'static, str>, char;
    N: u8, u16, u32, u64, usize, i8, i16, i32, i64, isize;
}
