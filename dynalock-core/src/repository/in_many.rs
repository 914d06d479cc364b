use super::{Request, request::sealed::Sealed, write_stream::BatchCall};
use crate::key::Key;

/// A kind of write that a call for many items can send: a create, an update, a delete, or a put of
/// an import.
pub trait InMany<T>: Sealed + Sized + Send + 'static {
    /// The output of a successful write of one item.
    type Output: Send + 'static;

    #[doc(hidden)]
    const OPERATION: &'static str;

    /// The largest number of items in one request.
    #[doc(hidden)]
    const MOST: usize;

    #[doc(hidden)]
    fn key(&self) -> Key;

    /// Sends at most [`Self::MOST`] items, whose keys must differ.
    #[doc(hidden)]
    fn send(settings: &Request<T, ()>, items: Vec<Numbered<Self>>) -> BatchCall<Self::Output>;
}

/// An item of a call for many items, with its index in the list of the caller.
#[derive(Debug)]
pub struct Numbered<K> {
    pub(super) index: usize,
    pub(super) item: K,
}
