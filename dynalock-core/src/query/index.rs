use std::marker::PhantomData;

use crate::model::IndexModel;

/// The handle of an index of the table of `T`. `#[derive(Versioned)]` makes one handle for each
/// index of the struct, for example `Order::INDEX.by_status`. The type parameter `P` is the type of
/// the field that is the partition key of the index. The type parameter `K` contains the type of
/// the sort key, and whether the index holds whole items.
pub struct Index<T, P, K> {
    model: &'static IndexModel,
    of: PhantomData<fn(T, P) -> K>,
}

impl<T, P, K> Index<T, P, K> {
    pub(crate) const fn of(model: &'static IndexModel) -> Self {
        Self { model, of: PhantomData }
    }

    pub(super) const fn model(self) -> &'static IndexModel {
        self.model
    }

    /// Returns the name of the index.
    pub const fn name(self) -> &'static str {
        self.model.name
    }
}

impl<T, P, K> Clone for Index<T, P, K> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T, P, K> Copy for Index<T, P, K> {}

debug_fields!([T, P, K] Index<T, P, K>, self => (self.model.name));
