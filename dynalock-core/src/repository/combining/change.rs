//! The changes that combined calls make to a copy of the item.

use std::sync::Arc;

use super::copy::WorkingCopy;
use crate::{
    error::{Error, Result},
    model::Versioned,
    repository::{Patch, modify::NoValue},
};

// The types of the changes, for example `CombinedUpdate`, have no lifetime parameter. If a combined
// call had the type `UpdateWith<'static, F>`, the compiler would not accept a spawned future that
// awaits the call.

/// A change that a closure makes, for [`Combining::update_with`](super::Combining::update_with).
pub struct CombinedUpdate<F> {
    pub(super) change: F,
}

/// A change that a fallible closure makes, for
/// [`Combining::try_update_with`](super::Combining::try_update_with).
pub struct CombinedTryUpdate<F> {
    pub(super) change: F,
}

/// A change that a closure makes, for [`Combining::upsert_with`](super::Combining::upsert_with). If
/// the item is missing, the call creates the item.
pub struct CombinedUpsert<I, F> {
    pub(super) init: I,
    pub(super) change: F,
}

/// The change that one call of a [`Combining`](super::Combining) handle makes to an item.
pub trait CombinedChange<T>: Send + 'static {
    /// The name of the call for telemetry.
    const OPERATION: &'static str;

    /// The type of the error that the call returns.
    type Error: From<Error> + Send + 'static;

    /// Returns an error if the change is invalid for every item.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidPatch`] or [`Error::Encode`]: the change is an invalid patch.
    fn check(&self, _table: &Arc<str>) -> Result<()> {
        Ok(())
    }

    /// Applies the change to the value in `copy`, and returns the changed value.
    ///
    /// # Errors
    ///
    /// If the closure or the patch fails, returns the error of the closure or the patch. If the key
    /// has no item and the change creates no item, returns [`Error::NotFound`].
    fn apply(&mut self, copy: &WorkingCopy<'_, T>) -> Result<T, Self::Error>;
}

impl<T, F, O> CombinedChange<T> for CombinedUpdate<F>
where
    T: Versioned + Clone,
    F: FnMut(&mut T) -> O + Send + 'static,
    O: NoValue,
{
    const OPERATION: &'static str = "combined_update_with";

    type Error = Error;

    fn apply(&mut self, copy: &WorkingCopy<'_, T>) -> Result<T> {
        let mut value = copy.value().cloned().ok_or_else(|| copy.not_found())?;
        (self.change)(&mut value);
        Ok(value)
    }
}

impl<T, F, E> CombinedChange<T> for CombinedTryUpdate<F>
where
    T: Versioned + Clone,
    F: FnMut(&mut T) -> Result<(), E> + Send + 'static,
    E: From<Error> + Send + 'static,
{
    const OPERATION: &'static str = "combined_try_update_with";

    type Error = E;

    fn apply(&mut self, copy: &WorkingCopy<'_, T>) -> Result<T, E> {
        let mut value = copy.value().cloned().ok_or_else(|| copy.not_found())?;
        (self.change)(&mut value)?;
        Ok(value)
    }
}

impl<T, I, F, O> CombinedChange<T> for CombinedUpsert<I, F>
where
    T: Versioned + Clone,
    I: FnMut() -> T + Send + 'static,
    F: FnMut(&mut T) -> O + Send + 'static,
    O: NoValue,
{
    const OPERATION: &'static str = "combined_upsert_with";

    type Error = Error;

    fn apply(&mut self, copy: &WorkingCopy<'_, T>) -> Result<T> {
        let mut value = copy.value().cloned().unwrap_or_else(&mut self.init);
        (self.change)(&mut value);
        Ok(value)
    }
}

impl<T: Versioned + Clone> CombinedChange<T> for Patch<T> {
    const OPERATION: &'static str = "combined_patch";

    type Error = Error;

    fn check(&self, table: &Arc<str>) -> Result<()> {
        self.content.check(table)
    }

    fn apply(&mut self, copy: &WorkingCopy<'_, T>) -> Result<T> {
        copy.patched(&self.content)
    }
}

debug_fields!([F] CombinedUpdate<F>);
debug_fields!([F] CombinedTryUpdate<F>);
debug_fields!([I, F] CombinedUpsert<I, F>);
