//! The products of a new shop.

use std::error::Error as StdError;

use dynalock::{Error, Repository};

use crate::product::Product;

/// Creates the sample products that are missing.
///
/// # Errors
///
/// The errors of [`Repository::create`], and the errors of the file with the samples.
pub async fn create(products: &Repository<Product>) -> Result<(), Box<dyn StdError>> {
    let samples: Vec<Product> = serde_json::from_str(include_str!("samples.json"))?;
    for result in products.create_many(samples).await {
        match result {
            Ok(_) | Err(Error::AlreadyExists(_)) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}
