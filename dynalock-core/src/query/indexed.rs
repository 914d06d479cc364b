use super::{
    builder::Query,
    index::Index,
    kind::{InGlobalIndex, InLocalIndex, KeysAlone, WholeItems},
};
use crate::{
    key::{AsKey, IndexAttribute},
    model::Versioned,
    repository::Repository,
};

impl<T: Versioned> Repository<T> {
    /// Returns a builder for a query of one partition of an index. The query returns the items in
    /// the order of the index's sort key.
    ///
    /// | index | result |
    /// |---|---|
    /// | holds all attributes | [`Stored`](crate::Stored) values, whose writes are checked like the writes of `Stored` values from the table |
    /// | holds some attributes | the keys of the items, in the generated key type; [`fetch`](Query::fetch) reads the items |
    ///
    /// A read of a global index is eventually consistent: the read may miss recent writes, and may
    /// return an earlier state of an item. If a query of a global index has returned an earlier
    /// state of an item, a write that checks the version of the item fails with
    /// [`Error::Conflict`](crate::Error::Conflict). An item that lacks a key attribute of an index
    /// does not appear in the index.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # mod shop { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest/orders.rs")); }
    /// # use shop::Order;
    /// # async fn example(orders: &dynalock::Repository<Order>) -> dynalock::Result<()> {
    /// let dear = orders.query_index(Order::INDEX.by_status, "open").sort(10_000..).descending().collect().await?;
    /// println!("{} large open orders", dear.len());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// If the table does not have the index, the methods that send the query return
    /// [`Error::IndexNotFound`](crate::Error::IndexNotFound).
    #[expect(
        clippy::needless_pass_by_value,
        reason = "`query_index(by_status, Status::Open)` reads better than with a reference"
    )]
    pub fn query_index<P, K, V>(&self, index: Index<T, P, K>, partition: V) -> Query<T, K>
    where
        P: IndexAttribute,
        V: AsKey<P::Key>,
    {
        Query::in_index(self, index.model(), partition.as_key())
    }
}

macro_rules! fetch {
    ($kind:ident) => {
        impl<T, S> Query<T, $kind<S, KeysAlone>> {
            /// Reads whole items from the table by the keys that the index returns, up to 100 items
            /// in a request. The reads from the table are strongly consistent and return the newest
            /// state of each item. `fetch` may return an item that no longer matches the query, if
            /// another caller has just changed the item. If a program deletes an item after the
            /// library has read the item's key in the index, the result does not contain the item.
            /// The key of a deleted item may still count towards the [`limit`](Self::limit) of a
            /// page. After `fetch`, [`count`](Query::count) still counts the keys in the index, and
            /// reads no items from the table.
            ///
            /// # Examples
            ///
            /// ```
            /// # use dynalock_core as dynalock;
            /// # mod shop { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest/orders.rs")); }
            /// # use shop::Order;
            /// # async fn example(orders: &dynalock::Repository<Order>) -> dynalock::Result<()> {
            /// let orders = orders.query_index(Order::INDEX.by_total, 500).fetch().collect().await?;
            /// println!("{} orders of five euros", orders.len());
            /// # Ok(())
            /// # }
            /// ```
            pub fn fetch(self) -> Query<T, $kind<S, WholeItems>> {
                self.fetching()
            }
        }
    };
}

fetch!(InGlobalIndex);
fetch!(InLocalIndex);
