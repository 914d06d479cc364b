use super::{Stored, decode_stored};
use crate::{
    error::{Conflict, OperationReason, Result},
    model::Versioned,
};

impl Conflict {
    /// Returns the stored item that made DynamoDB refuse the write, or `None` if the key had no
    /// item. DynamoDB's refusal contained the stored item, so `current` sends no request.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # mod shop { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest/shop.rs")); }
    /// # use shop::Product;
    /// # fn example(conflict: &dynalock::error::Conflict) -> dynalock::Result<()> {
    /// match conflict.current::<Product>()? {
    ///     Some(product) => println!("the stock is now {}", product.stock),
    ///     None => println!("somebody has deleted the product"),
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// - [`Error::Decode`](crate::Error::Decode) or [`Error::Corrupt`](crate::Error::Corrupt): the
    ///   item cannot be decoded into a `T`. For an item that cannot be decoded,
    ///   [`Conflict::current_item`] returns the stored attributes.
    pub fn current<T: Versioned>(&self) -> Result<Option<Stored<T>>> {
        self.current_item().cloned().map(|item| decode_stored(&self.table().into(), item)).transpose()
    }
}

impl OperationReason<'_> {
    /// Returns the stored item that made the condition of the operation false, or `None` if the key
    /// had no item.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # mod shop { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest/shop.rs")); }
    /// # use shop::Product;
    /// # fn example(reason: dynalock::error::OperationReason<'_>) -> dynalock::Result<()> {
    /// if let Some(product) = reason.current::<Product>()? {
    ///     println!("the stock is now {}", product.stock);
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// - [`Error::Decode`](crate::Error::Decode) or [`Error::Corrupt`](crate::Error::Corrupt): the
    ///   item cannot be decoded into a `T`. For an item that cannot be decoded,
    ///   [`current_item`](Self::current_item) returns the stored attributes.
    pub fn current<T: Versioned>(&self) -> Result<Option<Stored<T>>> {
        self.current_item().cloned().map(|item| decode_stored(&self.table().into(), item)).transpose()
    }
}
