use std::sync::Arc;

use super::Repository;
use crate::{
    expression::Condition,
    lease::LeasePolicy,
    model::Lockable,
    retry::{Limits, limit_methods},
    write::send::Delivery,
};

/// A call of a [`Repository`] that has not been sent. The caller may change the settings of a
/// `Request`, for example the deadline. `.await` sends the requests of the call.
///
/// The type parameter `K` is the kind of the call, for example `Create`, and determines the output
/// type. A `Request` implements `IntoFuture`. The future of a `Request` is boxed and `Send`. A
/// function that takes a future, for example `tokio::spawn`, needs `.into_future()` or an async
/// block around the `Request`:
///
/// ```
/// # use dynalock_core as dynalock;
/// use std::future::IntoFuture;
///
/// use dynalock::{Repository, Versioned};
///
/// fn in_the_background<T: Versioned>(items: &Repository<T>, stored: dynalock::Stored<T>) {
///     tokio::spawn(items.touch(stored).into_future());
/// }
///
/// fn two_in_the_background<T: Versioned>(items: Repository<T>, first: T, second: T) {
///     tokio::spawn(async move {
///         items.create(first).await?;
///         items.create(second).await
///     });
/// }
/// ```
///
/// The deadline of a call counts from the first poll of the future of the call.
///
/// # Cancel safety
///
/// If the caller drops the future of a write, the write may or may not have been applied. A dropped
/// call sends no more requests, but a request that was already sent may still arrive at DynamoDB.
#[must_use = "a request does nothing until it is awaited"]
pub struct Request<T, K> {
    pub(super) repository: Repository<T>,
    pub(super) limits: Limits,
    pub(super) delivery: Delivery,
    pub(super) policy: LeasePolicy,
    pub(super) condition: Option<Arc<Condition<T>>>,
    pub(super) kind: K,
}

impl<T, K> Request<T, K> {
    pub(super) fn like<L>(&self, kind: L) -> Request<T, L> {
        let Self { repository, limits, delivery, policy, condition, .. } = self;
        let (repository, policy, condition) = (repository.clone(), policy.clone(), condition.clone());
        Request { repository, limits: *limits, delivery: *delivery, policy, condition, kind }
    }

    pub(super) fn table(&self) -> Arc<str> {
        Arc::clone(&self.repository.table)
    }

    limit_methods! {
        self, [self.limits], {
            /// ```
            /// # use dynalock_core as dynalock;
            /// # mod shop { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest/shop.rs")); }
            /// # use shop::Product;
            /// # async fn example(products: &dynalock::Repository<Product>) -> dynalock::Result<()> {
            r#"products.update_with("85123A", |product| product.stock -= 3)"# ".await?;"
            /// # Ok(())
            /// # }
            /// ```
        },
        /// The default deadline is the deadline of the repository. In a call that writes many
        /// items, the deadline applies to each item separately. In an import, the deadline applies
        /// to each group of up to 25 items.
        deadline;
        /// The default limit is the number of attempts that the repository allows.
        ///
        /// If many callers write the same item, a call may need many attempts in a short time.
        /// Limit such a call by a deadline instead of a number of attempts.
        attempts;
        ///
        /// The default capacity budget is the budget of the repository. In a call that writes many
        /// items, the capacity budget applies to each item separately. In an import, the capacity
        /// budget applies to each group of up to 25 items.
        budget;
        /// The default timeout is the `attempt_timeout` of the repository.
        attempt_timeout;
        /// The default is the [`Pace`](crate::Pace) of the repository, which says how long a call
        /// sleeps after a conflict.
        pace;
    }
}

/// A kind of call that sends writes with a condition, for example an update.
pub trait Checked: sealed::Sealed {}

pub(super) mod sealed {
    pub trait Sealed {}
}

impl<T, K: Checked> Request<T, K> {
    /// Sends each write as a transaction with a ClientRequestToken. If several requests within ten
    /// minutes have the same ClientRequestToken, DynamoDB applies only one of them. With
    /// `exactly_once`, a write consumes twice the usual write units.
    ///
    /// A call with `exactly_once` returns [`Error::Indeterminate`](crate::Error::Indeterminate) if
    /// DynamoDB replied to none of its attempts. After a lost reply, DynamoDB may refuse the next
    /// attempt of the call. A call with `exactly_once` then also returns `Indeterminate` in three
    /// cases: the key of a create has an item, another caller holds a lease on the item, or the
    /// item has no attribute `_writes`. If DynamoDB refuses an attempt because of a lease, DynamoDB
    /// may still apply a delayed duplicate of the attempt after the end of the lease.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # mod shop { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest/shop.rs")); }
    /// # use shop::Product;
    /// # async fn example(products: &dynalock::Repository<Product>) -> dynalock::Result<()> {
    /// products.update_with("85123A", |product| product.stock -= 3).exactly_once().await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn exactly_once(mut self) -> Self {
        self.delivery = Delivery::Once;
        self
    }
}

/// A kind of call to which the caller can add a condition with [`when`](Request::when).
pub trait Conditional: sealed::Sealed {}

impl<T, K: Conditional> Request<T, K> {
    /// Adds a condition that the stored item must meet. If the caller adds several conditions, the
    /// item must meet all of them. If a condition of the caller is false, the call ends without a
    /// write, and fails with [`Error::ConditionFailed`](crate::Error::ConditionFailed).
    /// `Error::ConditionFailed` contains the stored item.
    ///
    /// If the value of an `update` with a condition has no changes, the call sends a request that
    /// writes nothing, and only checks the version and the condition.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # mod shop { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest/shop.rs")); }
    /// # use shop::Product;
    /// # async fn example(products: &dynalock::Repository<Product>) -> dynalock::Result<()> {
    /// match products.delete_unchecked("85123A").when(Product::ATTR.stock.eq(0)).await {
    ///     Err(dynalock::Error::ConditionFailed(failed)) => {
    ///         println!("still in stock: {:?}", failed.current::<Product>()?);
    ///     }
    ///     deleted => deleted?,
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn when(mut self, condition: Condition<T>) -> Self {
        self.condition = Some(Arc::new(match self.condition {
            Some(earlier) => Arc::unwrap_or_clone(earlier).and(condition),
            None => condition,
        }));
        self
    }
}

/// A kind of call whose requests the method [`explain`](Request::explain) can show: a read, a write
/// without a closure, or a call that writes many items.
pub trait Explain<T>: sealed::Sealed + Sized {
    /// The type that [`explain`](Request::explain) returns: a `Result<Explained>`, or a list of
    /// results for a call that writes many items.
    type Explanation;

    #[doc(hidden)]
    fn explain(request: &Request<T, Self>) -> Self::Explanation;
}

impl<T, K: Explain<T>> Request<T, K> {
    /// Returns the requests that the call would send. `explain` sends no request. For a call that
    /// writes many items, `explain` returns a list with one `Result` for each item, in the order of
    /// the items. For any other call, `explain` returns a `Result` with an
    /// [`Explained`](crate::request::Explained).
    ///
    /// The following table lists the calls that send a read in addition to a write, and the
    /// requests that `explain` returns for each of these calls:
    ///
    /// | call | result |
    /// |---|---|
    /// | a patch that is sent as a transaction | the patch, and a read of the item, because the reply to a transaction contains no item |
    /// | a write of a value from [`Stored::assume`](crate::Stored::assume) | only the read before the write |
    /// | a `replace` of an item whose type stores leases in its items | only the read before the write |
    /// | an update or a touch whose update expression would be too long, because the call sends a put of the whole item | only the read before the write |
    ///
    /// If a call reads the item before the write, the returned `Explained` does not contain the
    /// write, and is not [complete](crate::request::Explained::is_complete).
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # mod shop { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest/shop.rs")); }
    /// # use shop::Product;
    /// # async fn example(products: &dynalock::Repository<Product>, new: Vec<Product>) -> dynalock::Result<()> {
    /// let read = products.get_many(["85123A", "22423"]);
    /// assert_eq!(read.explain()?.read_units(100).to_string(), "2");
    ///
    /// let sale = products.patch("85123A").add(Product::ATTR.stock, -3);
    /// println!("{}", sale.explain()?);
    /// sale.await?;
    ///
    /// for request in products.create_many(new).explain() {
    ///     println!("{}", request?);
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// - [`Error::InvalidKey`](crate::Error::InvalidKey): a key is empty or too long.
    /// - [`Error::KeyChanged`](crate::Error::KeyChanged),
    ///   [`Error::VersionExhausted`](crate::Error::VersionExhausted),
    ///   [`Error::ExpressionTooLong`](crate::Error::ExpressionTooLong),
    ///   [`Error::Encode`](crate::Error::Encode) or
    ///   [`Error::InvalidPatch`](crate::Error::InvalidPatch): without `explain`, the call would
    ///   fail with the same error.
    pub fn explain(&self) -> K::Explanation {
        K::explain(self)
    }
}

impl<T: Lockable, K: Checked> Request<T, K> {
    /// Writes the item even if another caller holds a lease on the item. The library does not tell
    /// the holder of the lease about a write with `ignoring_lease`. After a write with
    /// `ignoring_lease`, the next write of the lease holder is based on the newly written item.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # async fn example<T: dynalock::Lockable>(
    /// #     items: &dynalock::Repository<T>, stored: dynalock::Stored<T>,
    /// # ) -> dynalock::Result<()> {
    /// let stored = items.update(stored).ignoring_lease().await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn ignoring_lease(mut self) -> Self {
        self.policy = LeasePolicy::Ignoring;
        self
    }
}

debug_fields!([T, K] Request<T, K>, self => {
    kind: std::any::type_name::<K>(),
    repository: self.repository,
    limits: self.limits,
});
