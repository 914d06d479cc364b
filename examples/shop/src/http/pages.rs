//! Lists, page by page. The token of the next page is a text, which the client sends back.

use std::fmt;

use dynalock::{Result, Stored, query};
use serde::Serialize;

/// The number of items on a page.
pub const ITEMS: usize = 10;

/// The secret that signs page tokens. All processes of the service have the same secret.
#[derive(Clone)]
pub struct PageKey(Vec<u8>);

impl PageKey {
    /// Makes the key for page tokens from a secret, for a service with several processes.
    pub fn new(secret: impl Into<Vec<u8>>) -> Self {
        Self(secret.into())
    }

    /// Makes a random key for page tokens, for a service with one process.
    ///
    /// # Errors
    ///
    /// The operating system has no random numbers.
    pub fn random() -> Result<Self, getrandom::Error> {
        let mut secret = vec![0; 32];
        getrandom::fill(&mut secret)?;
        Ok(Self(secret))
    }
}

impl AsRef<[u8]> for PageKey {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for PageKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PageKey(..)")
    }
}

/// A page, in the form in which it is sent.
#[derive(Debug, Serialize)]
pub struct Page<T> {
    items: Vec<T>,
    /// The token of the next page, or `None` on the last page.
    next: Option<String>,
}

impl<T> Page<T> {
    /// Converts a page from DynamoDB into the page that the client gets.
    ///
    /// # Errors
    ///
    /// An item does not fit its struct.
    pub fn of(page: query::Page<Stored<T>>) -> Result<Self> {
        let items = page.items.into_iter().map(|item| item.map(Stored::into_inner)).collect::<Result<_>>()?;
        Ok(Self { items, next: page.next.map(|token| token.to_string()) })
    }
}
