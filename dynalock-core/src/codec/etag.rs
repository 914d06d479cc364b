//! Etags: opaque tokens that identify one state of an item.

use std::{fmt, hash::Hasher, str::FromStr};

use aws_sdk_dynamodb::types::AttributeValue;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};
use siphasher::sip::SipHasher13;

use super::Item;
use crate::error::ParseEtagError;
use crate::{
    key::{Key, KeyValue},
    version::Revision,
};

/// An opaque token that identifies the state of an item at the time of a read. An etag contains the
/// version of the item, a digest of the key, and the incarnation: a random id that each create of
/// an item generates.
///
/// `Display`, `FromStr` and serde convert an etag to a string and back, for example to send the
/// etag to a browser. [`Stored::assume`](crate::Stored::assume) combines an etag with an edited
/// value. The content of the item cannot be read from an etag. If the item has no version or no
/// attribute `_writes`, the etag contains a digest of the content. An etag contains a digest of the
/// item's key, so an attacker with an etag can verify a guess of the key. With a digest of the
/// item's content in the etag, an attacker can also verify a guess of the content.
///
/// # Examples
///
/// ```
/// # use dynalock_core as dynalock;
/// use dynalock::{Etag, error::ParseEtagError};
///
/// let edited: Result<Etag, ParseEtagError> = "not an etag".parse();
/// assert_eq!(edited, Err(ParseEtagError));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Etag {
    version: Option<u64>,
    life: Life,
    key: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Life {
    /// The random id from the creation of the item, if the item has a version and write ids.
    Incarnation([u8; 8]),
    /// A digest of the whole item, if the item has no version or no write ids.
    Content(u64),
}

impl Etag {
    pub(super) fn new(key: &Key, revision: &Revision, image: Option<&Item>) -> Self {
        let life = match (image, &revision.ring) {
            // `image` is `Some` only if the item has no version or no write ids. Without a version
            // or write ids, the incarnation does not identify the state of the item.
            (None, Some(ring)) => Life::Incarnation(*ring.incarnation().as_bytes()),
            (image, _) => Life::Content(image.map_or(0, digest_item)),
        };
        Self { version: revision.version, life, key: digest_key(key) }
    }

    pub(crate) fn number(&self) -> u64 {
        self.version.unwrap_or(0)
    }

    pub(crate) fn is_of(&self, key: &Key) -> bool {
        self.key == digest_key(key)
    }

    /// Returns `true` if an item is still in the state that the etag identifies. `image` is the
    /// whole item if the item has no version or no write ids.
    pub(crate) fn matches(&self, revision: &Revision, image: Option<&Item>) -> bool {
        self.version == revision.version
            && match self.life {
                Life::Incarnation(life) => {
                    revision.ring.as_ref().is_some_and(|ring| *ring.incarnation().as_bytes() == life)
                }
                Life::Content(digest) => image.is_some_and(|image| digest_item(image) == digest),
            }
    }
}

/// The text of an etag has three parts, with a `-` between the parts:
///
/// | part | text |
/// |---|---|
/// | first | the version of the item, or `n` if the item has no version |
/// | second | `i` and the incarnation of the item, or `c` and a digest of the whole item |
/// | third | a digest of the item's key |
///
/// The incarnation (a random id of the item) and each digest have 16 hex digits.
impl fmt::Display for Etag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.version {
            Some(version) => write!(f, "{version}-")?,
            None => f.write_str("n-")?,
        }
        match self.life {
            Life::Incarnation(bytes) => write!(f, "i{:016x}", u64::from_be_bytes(bytes))?,
            Life::Content(digest) => write!(f, "c{digest:016x}")?,
        }
        write!(f, "-{:016x}", self.key)
    }
}

impl FromStr for Etag {
    type Err = ParseEtagError;

    fn from_str(text: &str) -> Result<Self, ParseEtagError> {
        let parts: Vec<_> = text.splitn(4, '-').collect();
        let [version, life, key] = parts[..] else { return Err(ParseEtagError) };
        let version = match version {
            "n" => None,
            // `parse` would accept a leading `+`, so that `1` and `+1` would be the same version.
            digits if digits.bytes().all(|byte| byte.is_ascii_digit()) => {
                Some(digits.parse().map_err(|_| ParseEtagError)?)
            }
            _ => return Err(ParseEtagError),
        };
        let life = match life.split_at_checked(1) {
            Some(("i", digits)) => Life::Incarnation(hex(digits)?.to_be_bytes()),
            Some(("c", digits)) => Life::Content(hex(digits)?),
            _ => return Err(ParseEtagError),
        };
        Ok(Self { version, life, key: hex(key)? })
    }
}

fn hex(digits: &str) -> Result<u64, ParseEtagError> {
    // `from_str_radix` would accept a leading sign.
    if digits.len() != 16 || !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Err(ParseEtagError);
    }
    u64::from_str_radix(digits, 16).map_err(|_| ParseEtagError)
}

impl Serialize for Etag {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Etag {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        text.parse().map_err(D::Error::custom)
    }
}

fn digest_key(key: &Key) -> u64 {
    // The key of the hash function is fixed, because each process must compute the same etag.
    let mut hash = SipHasher13::new();
    for value in key.values() {
        match value {
            KeyValue::S(text) => part(&mut hash, 0, text.as_bytes()),
            KeyValue::N(digits) => part(&mut hash, 1, digits.as_bytes()),
            KeyValue::B(bytes) => part(&mut hash, 2, bytes),
        }
    }
    hash.finish()
}

/// Returns a digest of an item. The digest does not depend on the process or on the order of the
/// attributes.
pub(crate) fn digest_item(item: &Item) -> u64 {
    let digest = |(name, value): (&String, &AttributeValue)| {
        let mut hash = SipHasher13::new();
        part(&mut hash, 0, name.as_bytes());
        digest_value(&mut hash, value);
        hash.finish()
    };
    // A map has no fixed order, and a sum does not depend on the order of the entries.
    item.iter().map(digest).fold(0, u64::wrapping_add)
}

fn digest_value(hash: &mut SipHasher13, value: &AttributeValue) {
    match value {
        AttributeValue::S(text) => part(hash, 0, text.as_bytes()),
        AttributeValue::N(digits) => part(hash, 1, digits.as_bytes()),
        AttributeValue::B(bytes) => part(hash, 2, bytes.as_ref()),
        AttributeValue::Bool(flag) => part(hash, 3, &[u8::from(*flag)]),
        AttributeValue::Ss(set) => set_of(hash, 5, set.iter().map(String::as_bytes)),
        AttributeValue::Ns(set) => set_of(hash, 6, set.iter().map(String::as_bytes)),
        AttributeValue::Bs(set) => set_of(hash, 7, set.iter().map(AsRef::as_ref)),
        AttributeValue::M(map) => part(hash, 8, &digest_item(map).to_be_bytes()),
        AttributeValue::L(list) => {
            part(hash, 9, &list.len().to_be_bytes());
            for value in list {
                digest_value(hash, value);
            }
        }
        _ => part(hash, 4, &[]),
    }
}

/// The hash of a set does not depend on the order of its members, because DynamoDB returns the
/// members in any order.
fn set_of<'a>(hash: &mut SipHasher13, tag: u8, set: impl Iterator<Item = &'a [u8]>) {
    let digest = |element: &[u8]| {
        let mut hash = SipHasher13::new();
        part(&mut hash, 0, element);
        hash.finish()
    };
    part(hash, tag, &set.map(digest).fold(0, u64::wrapping_add).to_be_bytes());
}

fn part(hash: &mut SipHasher13, tag: u8, bytes: &[u8]) {
    hash.write_u8(tag);
    // With the lengths in the hash, the parts `ab` and `c` differ from the parts `a` and `bc`.
    hash.write(&(bytes.len() as u64).to_be_bytes());
    hash.write(bytes);
}
