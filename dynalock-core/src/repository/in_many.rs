//! The kinds of writes that a call for many items can make.

use super::{Request, request::sealed::Sealed, write_stream::Step};
use crate::key::Key;

/// The kinds of writes that a call for many items makes.
pub trait InMany<T>: Sealed + Sized + Send + 'static {
    /// The result of an item that was written.
    type Output: Send + 'static;

    /// The largest number of items in one request.
    #[doc(hidden)]
    const MOST: usize;

    #[doc(hidden)]
    fn key(&self) -> Key;

    /// Writes up to [`Self::MOST`] items with different keys.
    #[doc(hidden)]
    fn send(settings: &Request<T, ()>, items: Vec<Numbered<Self>>) -> Step<Self::Output>;
}

/// An item with its place in the order given.
#[derive(Debug)]
pub struct Numbered<K> {
    pub(super) index: usize,
    pub(super) item: K,
}
