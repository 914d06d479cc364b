use std::{sync::Arc, time::Duration};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

use super::{name::parts, record::GrantKind};
use crate::error::ParseLockTokenError;
use crate::key::{Key, KeyValue};

/// A token for a held lock. [`LockGuard::detach`](crate::LockGuard::detach) exchanges the guard of
/// a lock for a token. Another task or process can resume the lock from the token. `Display`,
/// `FromStr` and serde convert a token to a string and back. Every process that has the token can
/// use the lock.
#[derive(Clone, PartialEq, Eq)]
pub struct LockToken {
    /// The name of the lock's row, or the encoded key of a leased item.
    pub(crate) name: Arc<str>,
    pub(crate) owner: Arc<str>,
    pub(crate) fence: u64,
    pub(crate) beat: u64,
    pub(crate) ttl: Duration,
    pub(crate) kind: GrantKind,
}

// The owner lets every program that knows the owner use the lock, and the name may be the key of an
// item, so `Debug` shows neither.
debug_fields!(LockToken, self => { fence: self.fence, ttl: self.ttl });

impl LockToken {
    /// Encodes the key of a leased item as the `name` of a token.
    pub(crate) fn item_name(key: &Key) -> Arc<str> {
        let value = |value: &KeyValue| {
            let (kind, text) = match value {
                KeyValue::S(text) => ('S', text.clone()),
                KeyValue::N(digits) => ('N', digits.clone()),
                KeyValue::B(bytes) => ('B', bytes.iter().copied().flat_map(hex).collect()),
            };
            format!("{kind}{}:{text}", text.len())
        };
        format!("{ITEM}{}", key.values().map(value).collect::<String>()).into()
    }

    pub(crate) fn is_of_item(&self) -> bool {
        self.name.starts_with(ITEM)
    }

    pub(crate) fn item_key(&self) -> Option<Key> {
        let (partition, rest) = key_value(self.name.strip_prefix(ITEM)?)?;
        let sort = match rest {
            "" => None,
            rest => Some(key_value(rest).filter(|(_, rest)| rest.is_empty())?.0),
        };
        Some(Key::new(partition, sort))
    }

    /// Returns the name of the lock. For a lease on an item, returns the key of the item.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # async fn example(locks: &dynalock::Locks) -> dynalock::Result<()> {
    /// let token = locks.acquire("nightly-report").await?.detach();
    /// assert_eq!(token.name(), "nightly-report");
    /// # Ok(())
    /// # }
    /// ```
    pub fn name(&self) -> String {
        self.item_key().map_or_else(|| parts(&self.name).0.to_owned(), |key| key.to_string())
    }

    /// Returns the fence of the lock that a caller can resume from the token.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # async fn example(locks: &dynalock::Locks) -> dynalock::Result<()> {
    /// let token = locks.acquire("nightly-report").await?.detach();
    /// println!("fence {}", token.fence());
    /// # Ok(())
    /// # }
    /// ```
    pub fn fence(&self) -> u64 {
        self.fence
    }
}

/// The first character of the `name` in a token if the token belongs to the lease of an item. A
/// lock whose name begins with U+0000 cannot be resumed from a token.
const ITEM: &str = "\u{0}";

fn key_value(text: &str) -> Option<(KeyValue, &str)> {
    let (head, rest) = text.split_once(':')?;
    let (kind, length) = head.split_at_checked(1)?;
    let (text, rest) = rest.split_at_checked(length.parse().ok()?)?;
    let value = match kind {
        "S" => KeyValue::S(text.to_owned()),
        "N" => KeyValue::N(text.to_owned()),
        "B" => KeyValue::B(bytes(text)?),
        _ => return None,
    };
    Some((value, rest))
}

fn hex(byte: u8) -> [char; 2] {
    let digit = |half: u8| char::from_digit(u32::from(half), 16).unwrap_or('0');
    [digit(byte >> 4), digit(byte & 15)]
}

fn bytes(hex: &str) -> Option<Vec<u8>> {
    let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
    hex.as_bytes().chunks(2).map(byte).collect()
}

const FAIR: &str = "fair-";

/// The text of a token is
/// `[fair-]<fence>-<beat>-<ttl in milliseconds>-<length of the owner in bytes>-<owner><name>`.
impl std::fmt::Display for LockToken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { name, owner, fence, beat, ttl, kind } = self;
        if *kind == GrantKind::Fair {
            f.write_str(FAIR)?;
        }
        write!(f, "{fence}-{beat}-{}-{}-{owner}{name}", ttl.as_millis(), owner.len())
    }
}

impl std::str::FromStr for LockToken {
    type Err = ParseLockTokenError;

    fn from_str(text: &str) -> Result<Self, ParseLockTokenError> {
        let (kind, text) = match text.strip_prefix(FAIR) {
            Some(text) => (GrantKind::Fair, text),
            None => (GrantKind::Plain, text),
        };
        // The owner and the name may contain hyphens, so the parser splits the text only at the
        // first four hyphens.
        let mut parts = text.splitn(5, '-');
        let mut number = || parts.next().and_then(|part| part.parse::<u64>().ok()).ok_or(ParseLockTokenError);
        let (fence, beat, ttl, length) = (number()?, number()?, number()?, number()?);
        let rest = parts.next().ok_or(ParseLockTokenError)?;
        let length = usize::try_from(length).map_err(|_| ParseLockTokenError)?;
        let (owner, name) = rest.split_at_checked(length).ok_or(ParseLockTokenError)?;
        if owner.is_empty() || name.is_empty() {
            return Err(ParseLockTokenError);
        }
        Ok(Self { name: name.into(), owner: owner.into(), fence, beat, ttl: Duration::from_millis(ttl), kind })
    }
}

impl Serialize for LockToken {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for LockToken {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        text.parse().map_err(D::Error::custom)
    }
}
