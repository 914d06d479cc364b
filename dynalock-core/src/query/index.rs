use std::marker::PhantomData;

use crate::model::IndexModel;

/// One index of the table of the struct `T`, for use in queries. `#[derive(Versioned)]` makes one
/// `Index` for each index of the struct, for example `Order::INDEX.by_status`. The type parameter
/// `P` of an [`Index`] is the type of the field that is the partition key of the index. The type
/// parameter `K` is the kind of a query of the index. The kind of a query says which type the sort
/// key of the index has, and whether the index holds whole items.
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
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # mod shop { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest/orders.rs")); }
    /// # use shop::Order;
    /// assert_eq!(Order::INDEX.by_status.name(), "by_status");
    /// ```
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
