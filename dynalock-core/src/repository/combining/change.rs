//! The changes that combined calls make to a copy of the item.

use std::sync::Arc;

use super::copy::WorkingCopy;
use crate::{
    error::{Error, Result},
    model::Versioned,
    repository::{Patch, modify::NoValue},
};

// The changes are separate types without a lifetime parameter, because the compiler does not accept
// a spawned future that awaits a call of the type `UpdateWith<'static, F>`.

pub struct CombinedUpdate<F> {
    pub(super) change: F,
}

pub struct CombinedTryUpdate<F> {
    pub(super) change: F,
}

pub struct CombinedUpsert<I, F> {
    pub(super) init: I,
    pub(super) change: F,
}

pub trait CombinedChange<T>: Send + 'static {
    const OPERATION: &'static str;

    type Error: From<Error> + Send + 'static;

    /// Returns the error of a change that cannot succeed on any item, for example of a patch
    /// without changes.
    fn check(&self, _table: &Arc<str>) -> Result<()> {
        Ok(())
    }

    /// Applies the change to a clone of the value in `copy`.
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
