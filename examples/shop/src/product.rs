//! A product.

use dynalock::{KeyAttribute, Versioned};
use serde::{Deserialize, Serialize};

use crate::id::Id;

const LONGEST_NAME: usize = 100;
const LONGEST_DESCRIPTION: usize = 2_000;

/// A product, in the form in which it is stored and sent.
///
/// A stock-taking leases its product for five minutes. If the client of the stock-taking does not
/// come back, the lease ends by itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Versioned)]
#[dynalock(
    table = "shop-products",
    show_key,
    index(name = "by_category", partition_key = "category", sort_key = "name")
)]
#[lockable(ttl = "5m")]
pub struct Product {
    /// The id, which the client chooses.
    #[dynalock(partition_key)]
    pub id: Id,
    /// The list in which the product is shown.
    pub category: Category,
    /// The name, which is shown to customers.
    pub name: String,
    /// The price of one piece in cents.
    pub cents: u32,
    /// The number of pieces in stock.
    pub stock: u32,
    /// The description, which is shown to customers.
    pub description: String,
}

/// The categories of the shop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, KeyAttribute)]
#[serde(rename_all = "lowercase")]
pub enum Category {
    /// Cups.
    Cups,
    /// Plates.
    Plates,
    /// Teapots.
    Teapots,
}

/// A product that the shop does not accept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum InvalidProduct {
    /// The name is empty or too long.
    #[error("a name has 1 to {LONGEST_NAME} characters")]
    Name,
    /// The description is too long.
    #[error("a description has at most {LONGEST_DESCRIPTION} characters")]
    Description,
}

impl Product {
    /// Checks the texts that a client has sent for a product.
    ///
    /// # Errors
    ///
    /// [`InvalidProduct`] says which rule the product breaks.
    pub fn check(&self) -> Result<(), InvalidProduct> {
        if self.name.trim().is_empty() || self.name.chars().count() > LONGEST_NAME {
            return Err(InvalidProduct::Name);
        }
        if self.description.chars().count() > LONGEST_DESCRIPTION {
            return Err(InvalidProduct::Description);
        }
        Ok(())
    }
}
