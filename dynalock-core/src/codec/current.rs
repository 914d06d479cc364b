//! Decodes the items that errors contain.

use super::{Stored, decode};
use crate::{
    error::{Conflict, OperationReason, Result},
    model::Versioned,
};

impl Conflict {
    /// Returns the item with which DynamoDB refused the write, or `None` if there was no item. This
    /// method sends no request.
    ///
    /// # Errors
    ///
    /// - [`Error::Decode`](crate::Error::Decode) or [`Error::Corrupt`](crate::Error::Corrupt): the
    ///   item does not fit `T`. If an item does not fit, [`Conflict::current_item`] returns its
    ///   stored attributes.
    pub fn current<T: Versioned>(&self) -> Result<Option<Stored<T>>> {
        let Some(item) = self.current_item().cloned() else { return Ok(None) };
        let (value, basis) = decode(&self.table().into(), item)?;
        Ok(Some(Stored::new(value, basis)))
    }
}

impl OperationReason<'_> {
    /// Returns the item that made the condition false, or `None` if there was no item.
    ///
    /// # Errors
    ///
    /// - [`Error::Decode`](crate::Error::Decode) or [`Error::Corrupt`](crate::Error::Corrupt): the
    ///   item does not fit `T`. If an item does not fit, [`current_item`](Self::current_item)
    ///   returns its stored attributes.
    pub fn current<T: Versioned>(&self) -> Result<Option<Stored<T>>> {
        let Some(item) = self.current_item().cloned() else { return Ok(None) };
        let (value, basis) = decode(&self.table().into(), item)?;
        Ok(Some(Stored::new(value, basis)))
    }
}
