//! Names that can be parts of a URL.

use std::fmt;

use dynalock::KeyAttribute;
use serde::{Deserialize, Serialize};

const LONGEST: usize = 64;

/// A product, a customer or an order by its name: 1 to 64 letters, digits, `.`, `_`, `-` or `@`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, KeyAttribute)]
#[serde(try_from = "String")]
pub struct Id(String);

/// A text that is no [`Id`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("an id has 1 to 64 letters, digits, `.`, `_`, `-` or `@`")]
pub struct ParseIdError;

impl TryFrom<String> for Id {
    type Error = ParseIdError;

    fn try_from(text: String) -> Result<Self, ParseIdError> {
        let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"._-@".contains(&byte);
        match (1..=LONGEST).contains(&text.len()) && text.bytes().all(is_allowed) {
            true => Ok(Self(text)),
            false => Err(ParseIdError),
        }
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
