//! Makes and parses page tokens.

use std::fmt;

use aws_smithy_types::base64;
use hmac::{Hmac, KeyInit, Mac};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use sha2::Sha256;

use super::plan::ReadPlan;
use crate::{
    codec::{Item, scalar},
    error::Result,
    key::{KeyValue, MAX_PARTITION_BYTES},
    number,
};

/// A page token identifies the item after which the next page of a query or scan begins.
/// [`Page::next`](super::Page) contains the token of the next page. A web server can put a page
/// token into the link to the next page.
///
/// `Display` and serde convert a page token into a string, and `From` and serde convert a string
/// into a page token. The text of a page token contains only characters that a URL may contain:
/// `A-Z`, `a-z`, `0-9`, `-` and `_`.
///
/// - A page token is valid for one query, with one table, index, partition, range, direction and
///   filter. A query refuses the page token of a different query with
///   [`Error::PageToken`](crate::Error::PageToken). The caller may change the `limit` and the
///   consistency of the read from one page to the next page.
/// - A page token is not encrypted. A page token contains the key of an item of the query in
///   readable form, possibly of an item that the filter has left out. A client that changes the key
///   in an unsigned page token can continue the same query after any other key.
///   [`Query::with_key`](super::Query::with_key) signs the page tokens with a secret, so that a
///   query accepts only page tokens with a valid signature.
///
/// # Examples
///
/// ```
/// # use dynalock_core as dynalock;
/// use dynalock::query::PageToken;
///
/// // The page token `next` comes from the address of a web page.
/// fn token(next: Option<String>) -> Option<PageToken> {
///     next.map(PageToken::from)
/// }
/// ```
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct PageToken(String);

#[derive(Clone)]
pub(super) struct Secret(Vec<u8>);

const FORMAT: u8 = 1;

const MALFORMED: &str = "it was shortened, edited, or made by another program";

impl PageToken {
    /// `place` contains the key attributes of the item after which the next page begins.
    pub(super) fn seal(plan: &ReadPlan, place: &Item, secret: Option<&Secret>) -> Self {
        let mut bytes = vec![FORMAT];
        bytes.extend(plan.digest().to_be_bytes());
        for key in &plan.keys {
            // Each item of a query has all key attributes, because an index contains only items
            // that have the key attributes of the index.
            if let Some(value) = place.get(key.name).cloned().and_then(scalar) {
                put(&mut bytes, &value);
            }
        }
        if let Some(secret) = secret {
            let signature = secret.mac(&bytes).finalize().into_bytes();
            bytes.extend(signature);
        }
        let text = base64::encode(bytes);
        Self(text.trim_end_matches('=').replace('+', "-").replace('/', "_"))
    }

    /// Returns an error in three cases: another query or scan made the page token, the signature of
    /// the page token is wrong, or no item of the query can have the key in the page token.
    pub(super) fn open(&self, plan: &ReadPlan, secret: Option<&Secret>) -> Result<Item> {
        const OTHER_QUERY: &str = "it belongs to another query";
        const UNSIGNED: &str = "it is not signed with the key of this query";
        let bytes = self.bytes().ok_or_else(|| plan.token_error(MALFORMED))?;
        let content = match secret {
            Some(secret) => secret.verified(&bytes).ok_or_else(|| plan.token_error(UNSIGNED))?,
            None => &bytes[..],
        };
        let (&format, rest) = content.split_first().ok_or_else(|| plan.token_error(MALFORMED))?;
        let (digest, mut rest) = rest.split_first_chunk().ok_or_else(|| plan.token_error(MALFORMED))?;
        if format != FORMAT || u64::from_be_bytes(*digest) != plan.digest() {
            return Err(plan.token_error(OTHER_QUERY));
        }
        let mut place = Item::new();
        for key in &plan.keys {
            let is_possible =
                |value: &KeyValue| key.refusal_of(value, MAX_PARTITION_BYTES).is_none() && plan.may_hold(key, value);
            let value = take(&mut rest).filter(is_possible);
            let value = value.ok_or_else(|| plan.token_error(MALFORMED))?;
            place.insert(key.name.to_owned(), (&value).into());
        }
        if rest.is_empty() { Ok(place) } else { Err(plan.token_error(MALFORMED)) }
    }

    fn bytes(&self) -> Option<Vec<u8>> {
        // A page token contains at most four key attributes, and a key attribute has at most 2048
        // bytes. A client could send a very long page token, so the code refuses a token with more
        // than `LONGEST` characters without parsing the token.
        const LONGEST: usize = 16 * 1024;
        if self.0.len() > LONGEST || !self.0.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte)) {
            return None;
        }
        let padding = "=".repeat((4 - self.0.len() % 4) % 4);
        base64::decode(self.0.replace('-', "+").replace('_', "/") + &padding).ok()
    }
}

impl Secret {
    pub(super) fn new(secret: &[u8]) -> Self {
        Self(secret.to_vec())
    }

    fn mac(&self, content: &[u8]) -> Hmac<Sha256> {
        let mac = Hmac::<Sha256>::new_from_slice(&self.0).expect("HMAC takes a key of any length");
        mac.chain_update(content)
    }

    fn verified<'b>(&self, bytes: &'b [u8]) -> Option<&'b [u8]> {
        const SIGNATURE: usize = 32;
        let (content, signature) = bytes.split_last_chunk::<SIGNATURE>()?;
        // `verify_slice` compares the signatures in constant time, because the duration of the
        // comparison must not reveal the correct signature.
        self.mac(content).verify_slice(signature).ok().map(|()| content)
    }
}

fn put(to: &mut Vec<u8>, value: &KeyValue) {
    let (tag, content) = match value {
        KeyValue::S(text) => (b'S', text.as_bytes()),
        KeyValue::N(digits) => (b'N', digits.as_bytes()),
        KeyValue::B(bytes) => (b'B', &bytes[..]),
    };
    // DynamoDB limits a key to 2048 bytes, so the length of a key fits into 16 bits.
    let length = u16::try_from(content.len()).unwrap_or(u16::MAX);
    to.push(tag);
    to.extend(length.to_be_bytes());
    to.extend(content);
}

/// A client can change the content of an unsigned page token, so `take` returns `None` for content
/// that is not a key value.
fn take(from: &mut &[u8]) -> Option<KeyValue> {
    let (&tag, rest) = from.split_first()?;
    let (length, rest) = rest.split_first_chunk()?;
    let (content, rest) = rest.split_at_checked(u16::from_be_bytes(*length).into())?;
    *from = rest;
    let text = || String::from_utf8(content.to_vec()).ok();
    match tag {
        b'S' => text().map(KeyValue::S),
        b'N' => text().map(number::canonical).filter(|digits| number::is_stored(digits)).map(KeyValue::N),
        b'B' => Some(KeyValue::B(content.to_vec())),
        _ => None,
    }
}

impl From<String> for PageToken {
    fn from(text: String) -> Self {
        Self(text)
    }
}

impl From<&str> for PageToken {
    fn from(text: &str) -> Self {
        Self(text.to_owned())
    }
}

impl Serialize for PageToken {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for PageToken {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(Self)
    }
}

impl fmt::Display for PageToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

// The `Debug` output of a page token does not show the key in the token.
debug_fields!(PageToken, self => {});
