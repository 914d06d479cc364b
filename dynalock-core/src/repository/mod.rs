//! A repository reads and writes the items of one type in one table.

// The documentation lists the methods of `Request` in the order of the modules.
mod request;

mod combining;
mod deleted;
pub(crate) mod explain;
mod get_many;
mod import;
mod in_many;
mod modify;
mod patch;
mod read;
mod session;
mod table;
mod write;
mod write_many;
mod write_stream;

pub use combining::{CombinedCall, Combining};
pub use deleted::Deleted;
pub use get_many::GetMany;
pub use import::Import;
pub use in_many::InMany;
use modify::NoValue;
pub(crate) use modify::infallible;
pub use modify::{TryUpdateWith, UpdateWith, UpsertWith};
pub use patch::Patch;
pub use read::Get;
pub use request::{Checked, Conditional, Explain, Request};
pub(crate) use session::Session;
pub use table::{CreateTable, VerifyTable};
use write::Mode;
pub use write::{Create, Delete, DeleteUnchecked, Update};
pub use write_many::WriteMany;
pub use write_stream::{ItemResult, WriteStream};

use std::{marker::PhantomData, sync::Arc, time::Duration};

use aws_sdk_dynamodb::Client;

use crate::{
    codec::{ExpiredItems, Item, Stored, key_of},
    cost::Meter,
    error::Error,
    key::Key,
    lease::{LeaseOptions, LeasePolicy},
    model::{IntoKey, ItemExpiry, ItemRef, Versioned},
    operation::TableSettings,
    retry::{Connection, ConnectionMeter, Limits, limit_methods},
    write::{
        intent::{IntentOf, ItemChange},
        patch::{PatchIntent, SeenItem, SharedPatch},
        send::Delivery,
    },
};

/// Reads and writes the items of type `T` in one table.
///
/// The derived function `T::repository(&client)` makes a repository. A repository is cheap to
/// clone, and clones share the retry budget and the measured round trip. Each call of
/// [`Repository::new`] makes a new SDK client, so a program should make one repository and clone
/// it.
///
/// A repository uses the HTTP client, the endpoint, the credentials and the interceptors of the SDK
/// client that the caller passed to [`Repository::new`]. The repository disables the retries of the
/// SDK and repeats failed requests itself, because the SDK cannot find out whether DynamoDB applied
/// an earlier attempt. The calls of a repository need a tokio runtime with time enabled.
///
/// # Examples
///
/// ```
/// # use dynalock_core as dynalock;
/// # mod shop { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest/shop.rs")); }
/// # use shop::Product;
/// # async fn example(client: &aws_sdk_dynamodb::Client) -> dynalock::Result<()> {
/// use std::time::Duration;
///
/// use dynalock::Repository;
///
/// let products = Repository::<Product>::new(client).deadline(Duration::from_secs(2));
/// let product = products.update_with("85123A", |product| product.stock -= 3).await?;
/// println!("{} left", product.stock);
/// # Ok(())
/// # }
/// ```
///
/// # Expired items
///
/// The field with `#[dynalock(expires)]` contains the expiry time of an item. An item has expired
/// when its expiry time plus the [allowed clock skew](Self::expires_skew) is in the past. DynamoDB
/// may delete an expired item hours or days after its expiry time. Until DynamoDB deletes an
/// expired item, reads treat the item as absent, and a create overwrites the item.
///
/// If an item expires after the caller has read the item, an `update` of the value still succeeds,
/// provided that the item has not changed. An item without an expiry time never expires. As in
/// DynamoDB, an item whose expiry time is more than five years in the past does not count as
/// expired. A lease can be acquired on an expired item until DynamoDB deletes the item.
///
/// # Errors of every call
///
/// | error | cause |
/// |---|---|
/// | [`Error::InvalidKey`] | The key is empty, or serde and the `KeyAttribute` implementation write different values for the key. |
/// | [`Error::InvalidSetting`] | A limit of the call, for example `attempts(0)`, allows no request. |
/// | [`Error::Misconfigured`] | The SDK client has no credentials, no Region or no valid endpoint. |
/// | [`Error::TableNotFound`] | The table does not exist in the account and the Region of the SDK client. |
/// | [`Error::TableMismatch`] | The key of the table differs from the key of `T`. |
/// | [`Error::Rejected`] | DynamoDB refused the request, and would refuse the same request again. |
/// | [`Error::Exhausted`] | The call ended at its deadline, at its maximum number of attempts, or because the retry budget was empty. |
/// | [`Error::BudgetExceeded`] | With the next request, the call would consume more than its [`budget`](Self::budget). |
pub struct Repository<T> {
    pub(crate) connection: Arc<Connection>,
    pub(crate) table: Arc<str>,
    pub(crate) limits: Limits,
    pub(crate) options: LeaseOptions,
    expiry_skew: Duration,
    of: PhantomData<fn() -> T>,
}

impl<T> Repository<T> {
    /// Makes a repository for the table whose name is in `#[dynalock(table = "..")]` on `T`.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # mod shop { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest/shop.rs")); }
    /// # use shop::Product;
    /// # fn example(client: &aws_sdk_dynamodb::Client) {
    /// let products = dynalock::Repository::<Product>::new(client);
    /// # }
    /// ```
    pub fn new(client: &Client) -> Self
    where
        T: Versioned,
    {
        Self {
            connection: Arc::new(Connection::over(client)),
            table: Arc::from(T::MODEL.table),
            limits: Limits::default(),
            options: LeaseOptions::of(T::MODEL),
            expiry_skew: ItemExpiry::DEFAULT.max_skew,
            of: PhantomData,
        }
    }

    /// Sets the name of the table, in place of the name in `#[dynalock(table = "..")]`.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # mod shop { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest/shop.rs")); }
    /// # use shop::Product;
    /// # fn example(client: &aws_sdk_dynamodb::Client) {
    /// let products = dynalock::Repository::<Product>::new(client).table("products-eu");
    /// # }
    /// ```
    pub fn table(mut self, name: impl Into<Arc<str>>) -> Self {
        self.table = name.into();
        self
    }

    /// Returns the name of the table, for example for a request that the program sends with the AWS
    /// SDK.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # mod shop { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest/shop.rs")); }
    /// # use shop::Product;
    /// # async fn size(client: &aws_sdk_dynamodb::Client) -> Result<(), Box<dyn std::error::Error>> {
    /// let products = dynalock::Repository::<Product>::new(client).table("products-eu");
    /// let description = client.describe_table().table_name(products.table_name()).send().await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn table_name(&self) -> &str {
        &self.table
    }

    limit_methods! {
        self, [self.limits], {
            /// ```
            /// # use dynalock_core as dynalock;
            /// # mod shop { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest/shop.rs")); }
            /// # use shop::Product;
            /// # fn example(client: &aws_sdk_dynamodb::Client) {
            "let products = dynalock::Repository::<Product>::new(client)" ";"
            /// # }
            /// ```
        },
        /// The deadline applies to each call of the repository. The default deadline is 5 seconds.
        /// A caller can set another deadline for a single call.
        deadline;
        /// The limit of attempts applies to each call of the repository.
        attempts;
        ///
        /// The capacity budget applies to each call of the repository. With
        /// [`combining`](Self::combining), several calls become one batch, and the capacity budget
        /// applies to each batch. The capacity budget of a repository does not apply to a
        /// transaction or a [`transact`](crate::transact) call. Both have their own settings for a
        /// budget.
        budget;
        /// The default timeout of the first attempt of a request is 1 second.
        attempt_timeout;
        /// The pace applies to `update_with`, `try_update_with` and `upsert_with`. The default pace
        /// is [`Pace::Balanced`](crate::Pace::Balanced). For a single
        /// call, the caller can set another [`Pace`](crate::Pace).
        pace;
    }

    /// Measures the capacity that each request consumes. The [`meter`](Self::meter) contains the
    /// costs of all calls of the repository, and [`Error::cost`] returns the cost of a failed call.
    /// The meter shows the costs for each [cause](crate::cost#causes).
    ///
    /// The meter includes the costs of lease requests, heartbeats and releases. A transaction or a
    /// [`transact`](crate::transact) call is metered if it uses at least one metered repository. A
    /// transaction adds the costs for each table to the meter of the table's repository. A
    /// transaction may use two metered repositories of the same table. The costs of the table then
    /// count for the meter of the repository that the transaction used first.
    ///
    /// `metered` returns a repository with a new retry budget and a new measurement of the round
    /// trip. A program should call `metered` only once, where the program makes the repository. The
    /// clones of a metered repository share the meter.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # mod shop { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest/shop.rs")); }
    /// # use shop::Product;
    /// # async fn example(client: &aws_sdk_dynamodb::Client) -> dynalock::Result<()> {
    /// let products = dynalock::Repository::<Product>::new(client).metered();
    /// products.update_with("85123A", |product| product.stock -= 3).await?;
    /// if let Some(meter) = products.meter() {
    ///     println!("{}", meter.total());
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn metered(mut self) -> Self
    where
        T: Versioned,
    {
        let meter = ConnectionMeter { meter: Meter::default(), key_text: key_text::<T> };
        self.connection = Arc::new(self.connection.with_meter(meter));
        self
    }

    /// Returns the meter with the costs of all calls of the repository, or `None` if the repository
    /// is not [`metered`](Self::metered).
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # mod shop { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest/shop.rs")); }
    /// # use shop::Product;
    /// # fn example(products: &dynalock::Repository<Product>) {
    /// for hot in products.meter().iter().flat_map(|meter| meter.report().keys).take(10) {
    ///     println!("{}: {}", hot.key, hot.cost);
    /// }
    /// # }
    /// ```
    pub fn meter(&self) -> Option<Meter> {
        self.connection.meter.as_ref().map(|by| by.meter.clone())
    }

    /// Sets the allowed clock skew for items with `#[dynalock(expires)]`. The library compares an
    /// item's expiry time plus the allowed clock skew with the clock of the caller's machine. By
    /// default, the library allows a clock skew of two seconds.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # mod shop { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest/shop.rs")); }
    /// # use shop::Product;
    /// # fn example(client: &aws_sdk_dynamodb::Client) {
    /// use std::time::Duration;
    ///
    /// let products =
    /// dynalock::Repository::<Product>::new(client).expires_skew(Duration::from_secs(30));
    /// # }
    /// ```
    pub fn expires_skew(mut self, max_skew: Duration) -> Self {
        self.expiry_skew = max_skew;
        self
    }

    /// Creates the table with the key and the indexes of `T`. If a field of `T` has
    /// `#[dynalock(expires)]`, `create_table` enables DynamoDB's time to live for the table. The
    /// new table has on-demand billing, unless the caller sets
    /// [`provisioned`](Request::provisioned).
    ///
    /// `create_table` waits until the table is `ACTIVE`, each index of `T` in the table is built,
    /// and time to live is `ENABLING` or `ENABLED`. DynamoDB may need up to an hour to change time
    /// to live from `ENABLING` to `ENABLED`, and `create_table` does not wait for the status
    /// `ENABLED`. The default deadline of `create_table` is one minute.
    ///
    /// If a table with the same name and key exists, `create_table` succeeds, even if the indexes
    /// of the table differ from the indexes of `T`. If a field of `T` has `#[dynalock(expires)]`,
    /// and time to live is disabled in an existing table, `create_table` enables time to live, and
    /// changes nothing else. [`verify_table`](Self::verify_table) returns the differences between
    /// an existing table and `T`.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # mod shop { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest/shop.rs")); }
    /// # use shop::Product;
    /// # async fn example(products: &dynalock::Repository<Product>) -> dynalock::Result<()> {
    /// products.create_table().deletion_protection().await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// - [`Error::TableMismatch`]: a table with the same name exists, and has another key than `T`.
    /// - [`Error::Rejected`]: DynamoDB refused to enable time to live, for example because time to
    ///   live is enabled for another attribute.
    /// - The [errors of every call](Repository#errors-of-every-call) are possible.
    ///
    /// # Cancel safety
    ///
    /// If the caller drops the future of `create_table`, the table may or may not have been
    /// created. A second call of `create_table` accepts the table that the first call has created.
    pub fn create_table(&self) -> Request<T, CreateTable>
    where
        T: Versioned,
    {
        let mut request = self.request(CreateTable(TableSettings::default()));
        request.limits = request.limits.of_creation();
        request
    }

    /// Compares the key, the indexes and the time to live of the table with `T`. `verify_table`
    /// changes nothing in the table.
    ///
    /// `verify_table` does not report an index that exists only in the table and not in `T`,
    /// because another program may need the index. `verify_table` compares neither billing nor
    /// deletion protection.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # mod shop { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest/shop.rs")); }
    /// # use shop::Product;
    /// # async fn example(products: &dynalock::Repository<Product>) -> dynalock::Result<()> {
    /// for difference in products.verify_table().await?.differences() {
    ///     println!("{difference}");
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// The [errors of every call](Repository#errors-of-every-call) are possible. If the table is
    /// missing, `verify_table` fails with [`Error::TableNotFound`]. A difference between the table
    /// and `T` is not an error, but a part of the returned report.
    ///
    /// # Cancel safety
    ///
    /// The caller may drop the future of `verify_table` at any time, because `verify_table` changes
    /// nothing.
    pub fn verify_table(&self) -> Request<T, VerifyTable>
    where
        T: Versioned,
    {
        self.request(VerifyTable(()))
    }

    /// Returns the item with the given key, or `None` if the key has no item. The read of `get` is
    /// strongly consistent, unless the caller sets
    /// [`eventually_consistent`](Request::eventually_consistent). `get` treats an
    /// [expired](Repository#expired-items) item as absent.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # mod shop { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest/shop.rs")); }
    /// # use shop::Product;
    /// # async fn example(products: &dynalock::Repository<Product>) -> dynalock::Result<()> {
    /// if let Some(product) = products.get("85123A").await? {
    ///     println!("{} in stock at version {}", product.stock, product.version());
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// - [`Error::Decode`]: the item cannot be decoded into a `T`.
    /// - [`Error::Corrupt`]: an attribute of the library in the item, for example `_writes`, is
    ///   invalid.
    /// - The [errors of every call](Repository#errors-of-every-call) are possible.
    ///
    /// # Cancel safety
    ///
    /// The caller may drop the future of `get` at any time, because a read changes nothing.
    pub fn get(&self, key: impl IntoKey<T>) -> Request<T, Get>
    where
        T: Versioned,
    {
        self.request(Get { key: key.into_key(), consistent: true, expired: ExpiredItems::Absent })
    }

    /// Writes a new item with version 1, and returns the item.
    ///
    /// If the key has an [expired](Repository#expired-items) item, the create overwrites the
    /// expired item. The item that replaces an expired item has version 1 and a new incarnation: a
    /// random id that distinguishes the new item from the expired item. A create overwrites an
    /// expired item only if the item has not changed since the library received the item from
    /// DynamoDB. If another caller holds a lease on an expired item, a create with the key of the
    /// item fails with [`Error::Locked`]. When a create overwrites an expired item, the fence of
    /// the item's leases does not change.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # mod shop { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest/shop.rs")); }
    /// # use shop::Product;
    /// # async fn example(products: &dynalock::Repository<Product>) -> dynalock::Result<()> {
    /// let product = products.create(Product { sku: "85123A".into(), stock: 10 }).await?;
    /// assert_eq!(product.version(), 1);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// - [`Error::AlreadyExists`]: the key already has an item, with or without a version.
    /// - [`Error::Locked`]: another caller holds the lease of the key. A [separate lease
    ///   row](crate::Lockable) can exist without an item, and an expired item can still have a
    ///   lease.
    /// - [`Error::Encode`]: the value cannot be stored.
    /// - [`Error::ItemTooLarge`]: the item is larger than DynamoDB stores.
    /// - [`Error::Indeterminate`]: a reply was lost, and the library cannot find out whether the
    ///   write was applied.
    /// - The [errors of every call](Repository#errors-of-every-call) are possible.
    ///
    /// After `Error::Indeterminate`, the item may or may not have been written. After any error of
    /// `create` except `Indeterminate`, the item has not been written.
    ///
    /// # Cancel safety
    ///
    /// If the caller drops the future of `create`, the write may or may not have been applied. A
    /// dropped call sends no more requests, but a request that was already sent may still arrive at
    /// DynamoDB.
    pub fn create(&self, value: T) -> Request<T, Create<T>>
    where
        T: Versioned,
    {
        self.request(Create { value })
    }

    /// Writes the changed attributes of a value, if the item has not changed since the caller read
    /// the value. The update keeps the attributes of the item that have no field in `T`. If the
    /// value has no changes and the call has no condition, `update` returns the value and sends no
    /// request. For a value from [`Stored::assume`], `update` reads the item first, and compares
    /// the item with the value.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # mod shop { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest/shop.rs")); }
    /// # use shop::Product;
    /// # async fn example(products: &dynalock::Repository<Product>) -> dynalock::Result<()> {
    /// let mut product = products.get("85123A").await?.expect("a product");
    /// product.stock -= 3;
    /// let product = products.update(product).await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// - [`Error::Conflict`]: another caller wrote or deleted the item.
    /// - [`Error::Locked`]: another caller holds a lease on the item.
    /// - [`Error::KeyChanged`]: the key of the value differs from the key of the item that was
    ///   read.
    /// - [`Error::VersionExhausted`]: the version of the item is already the largest `u64`.
    /// - [`Error::ExpressionTooLong`]: the write changes or compares too many attributes.
    /// - [`Error::Encode`]: the value cannot be stored.
    /// - [`Error::ItemTooLarge`]: the item is larger than DynamoDB stores.
    /// - [`Error::Decode`] or [`Error::Corrupt`]: the call reads the item because the value comes
    ///   from [`Stored::assume`], and the item cannot be decoded into a `T`.
    /// - [`Error::Indeterminate`]: a reply was lost, and the library cannot find out whether the
    ///   write was applied.
    /// - The [errors of every call](Repository#errors-of-every-call) are possible.
    ///
    /// # Cancel safety
    ///
    /// If the caller drops the future of `update`, the write may or may not have been applied. A
    /// dropped call sends no more requests, but a request that was already sent may still arrive at
    /// DynamoDB.
    pub fn update(&self, stored: Stored<T>) -> Request<T, Update<T>>
    where
        T: Versioned,
    {
        self.request(Update { stored, mode: Mode::Changes })
    }

    /// Overwrites the item with the whole value, if the item has not changed since the caller read
    /// the value. `replace` removes the attributes without a field in `T`, and writes the item even
    /// if no attribute has changed. If `T` stores the lease of an item in the item itself,
    /// `replace` reads the item and sends an UpdateItem. An UpdateItem, unlike a PutItem, keeps the
    /// current fence of the lease in the item.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # mod shop { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest/shop.rs")); }
    /// # use shop::Product;
    /// # async fn example(products: &dynalock::Repository<Product>) -> dynalock::Result<()> {
    /// let product = products.get("85123A").await?.expect("a product");
    /// let product = products.replace(product).await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// The errors of `replace` are the same as the errors of [`update`](Self::update).
    ///
    /// # Cancel safety
    ///
    /// If the caller drops the future of `replace`, the write may or may not have been applied. A
    /// dropped call sends no more requests, but a request that was already sent may still arrive at
    /// DynamoDB.
    pub fn replace(&self, stored: Stored<T>) -> Request<T, Update<T>>
    where
        T: Versioned,
    {
        self.request(Update { stored, mode: Mode::Whole })
    }

    /// Writes the item like [`update`](Self::update), but increments the version even if no
    /// attribute has changed. After a `touch`, each write of a value that was read before the
    /// `touch` fails with a conflict.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # mod shop { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest/shop.rs")); }
    /// # use shop::Product;
    /// # async fn example(products: &dynalock::Repository<Product>) -> dynalock::Result<()> {
    /// let product = products.get("85123A").await?.expect("a product");
    /// let next = product.version() + 1;
    /// let product = products.touch(product).await?;
    /// assert_eq!(product.version(), next);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// The errors of `touch` are the same as the errors of [`update`](Self::update).
    ///
    /// # Cancel safety
    ///
    /// If the caller drops the future of `touch`, the write may or may not have been applied. A
    /// dropped call sends no more requests, but a request that was already sent may still arrive at
    /// DynamoDB.
    pub fn touch(&self, stored: Stored<T>) -> Request<T, Update<T>>
    where
        T: Versioned,
    {
        self.request(Update { stored, mode: Mode::Always })
    }

    /// Deletes the item, if the item has not changed since the caller read the value.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # mod shop { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest/shop.rs")); }
    /// # use shop::Product;
    /// # async fn example(products: &dynalock::Repository<Product>) -> dynalock::Result<()> {
    /// let product = products.get("85123A").await?.expect("a product");
    /// let deleted = products.delete(product).await?;
    /// println!("this call deleted the item for certain: {}", deleted.certain);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// - [`Error::Conflict`]: another caller wrote or deleted the item.
    /// - The errors of [`update`](Self::update) are possible, except [`Error::VersionExhausted`].
    ///
    /// # Cancel safety
    ///
    /// If the caller drops the future of `delete`, the item may or may not have been deleted. A
    /// dropped call sends no more requests, but a request that was already sent may still arrive at
    /// DynamoDB.
    pub fn delete(&self, stored: Stored<T>) -> Request<T, Delete<T>>
    where
        T: Versioned,
    {
        self.request(Delete { stored })
    }

    /// Deletes the item with the given key, whatever the item contains. If the key has no item,
    /// `delete_unchecked` succeeds. `delete_unchecked` checks neither versions nor leases, so
    /// `delete_unchecked` may delete an item that another caller has just written or has leased.
    /// After a lost reply, the library repeats the delete request. If an earlier request of the
    /// call arrives at DynamoDB late, the late request may delete an item that another caller has
    /// created after `delete_unchecked` returned.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # mod shop { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest/shop.rs")); }
    /// # use shop::Product;
    /// # async fn example(products: &dynalock::Repository<Product>) -> dynalock::Result<()> {
    /// products.delete_unchecked("85123A").await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// - [`Error::Indeterminate`]: a reply was lost, and the library cannot find out whether the
    ///   write was applied.
    /// - The [errors of every call](Repository#errors-of-every-call) are possible.
    ///
    /// # Cancel safety
    ///
    /// If the caller drops the future of `delete_unchecked`, the item may or may not have been
    /// deleted. A dropped call sends no more requests, but a request that was already sent may
    /// still arrive at DynamoDB.
    pub fn delete_unchecked(&self, key: impl IntoKey<T>) -> Request<T, DeleteUnchecked>
    where
        T: Versioned,
    {
        self.request(DeleteUnchecked { key: key.into_key() })
    }

    /// Reads the item, runs the closure `change` on the value of the item, and writes the changed
    /// attributes. After a conflict, the call repeats `change` on the newer item. The call writes
    /// only the result of the last run of the closure `change`. If a run of the closure `change`
    /// changes nothing, the call ends without a write.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # mod shop { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest/shop.rs")); }
    /// # use shop::Product;
    /// # async fn example(products: &dynalock::Repository<Product>) -> dynalock::Result<()> {
    /// let product = products.update_with("85123A", |product| product.stock -= 3).await?;
    /// println!("{} left", product.stock);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// - [`Error::NotFound`]: the key has no item.
    /// - [`Error::Exhausted`]: the last attempt ended in a conflict, and the deadline or the limit
    ///   of attempts allowed no further attempt. An `Error::Exhausted` after a conflict contains
    ///   the conflict.
    /// - The errors of [`update`](Self::update) and [`get`](Self::get) are possible, except
    ///   [`Error::Conflict`].
    ///
    /// # Cancel safety
    ///
    /// If the caller drops the future of `update_with`, the write may or may not have been applied.
    /// A dropped call sends no more requests, but a request that was already sent may still arrive
    /// at DynamoDB.
    pub fn update_with<'f, F, O>(&self, key: impl IntoKey<T>, change: F) -> Request<T, UpdateWith<'f, F>>
    where
        T: Versioned,
        F: FnMut(&mut T) -> O + Send + 'f,
        O: NoValue,
    {
        self.request(UpdateWith { key: key.into_key(), change, borrows: PhantomData })
    }

    /// Changes the item like [`update_with`](Self::update_with), with a closure that can return an
    /// error. If the closure `change` returns an error, the call ends immediately, and writes
    /// nothing.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # mod shop { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest/shop.rs")); }
    /// # use shop::Product;
    /// # async fn example(products: &dynalock::Repository<Product>) -> dynalock::Result<()> {
    /// enum Refused {
    ///     SoldOut,
    ///     Database(dynalock::Error),
    /// }
    ///
    /// impl From<dynalock::Error> for Refused {
    ///     fn from(error: dynalock::Error) -> Self {
    ///         Self::Database(error)
    ///     }
    /// }
    ///
    /// let sell = |product: &mut Product| {
    ///     product.stock = product.stock.checked_sub(3).filter(|left| *left >= 0).ok_or(Refused::SoldOut)?;
    ///     Ok(())
    /// };
    /// match products.try_update_with("85123A", sell).await {
    ///     Ok(product) => println!("{} left", product.stock),
    ///     Err(Refused::SoldOut) => println!("sold out"),
    ///     Err(Refused::Database(error)) => return Err(error),
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// - The error that the closure `change` returned.
    /// - The errors of [`update_with`](Self::update_with), converted into `E` by `From`.
    ///
    /// # Cancel safety
    ///
    /// If the caller drops the future of `try_update_with`, the write may or may not have been
    /// applied. A dropped call sends no more requests, but a request that was already sent may
    /// still arrive at DynamoDB.
    pub fn try_update_with<'f, F, E>(&self, key: impl IntoKey<T>, change: F) -> Request<T, TryUpdateWith<'f, F>>
    where
        T: Versioned,
        F: FnMut(&mut T) -> Result<(), E> + Send + 'f,
        E: From<Error>,
    {
        self.request(TryUpdateWith { key: key.into_key(), change, borrows: PhantomData })
    }

    /// Changes the item like [`update_with`](Self::update_with), and creates the item if the key
    /// has no item. If the key has no item, the closure `init` makes a value, and the closure
    /// `change` then changes the value.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # mod shop { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest/shop.rs")); }
    /// # use shop::Product;
    /// # async fn example(products: &dynalock::Repository<Product>) -> dynalock::Result<()> {
    /// let empty = || Product { sku: "85123A".into(), stock: 0 };
    /// let product = products.upsert_with("85123A", empty, |product| product.stock += 10).await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// - [`Error::KeyChanged`]: the closure `init` made a value whose key differs from the key that
    ///   the caller passed.
    /// - The errors of [`update_with`](Self::update_with) and [`create`](Self::create) are
    ///   possible, except [`Error::NotFound`] and [`Error::AlreadyExists`].
    ///
    /// # Cancel safety
    ///
    /// If the caller drops the future of `upsert_with`, the write may or may not have been applied.
    /// A dropped call sends no more requests, but a request that was already sent may still arrive
    /// at DynamoDB.
    pub fn upsert_with<'f, I, F, O>(&self, key: impl IntoKey<T>, init: I, change: F) -> Request<T, UpsertWith<'f, I, F>>
    where
        T: Versioned,
        I: FnMut() -> T + Send + 'f,
        F: FnMut(&mut T) -> O + Send + 'f,
        O: NoValue,
    {
        self.request(UpsertWith { key: key.into_key(), init, change, borrows: PhantomData })
    }
}

impl<T: Versioned> Repository<T> {
    pub(crate) fn item_expiry(&self) -> ItemExpiry {
        ItemExpiry { max_skew: self.expiry_skew, clock_offset: self.options.skew_millis }
    }

    pub(crate) fn item_ref(&self, key: Key, expected: Option<u64>) -> ItemRef {
        ItemRef { table: Arc::clone(&self.table), model: T::MODEL, key, expected, expiry: self.item_expiry() }
    }

    pub(crate) fn intent(&self, value: T, change: ItemChange, policy: LeasePolicy) -> IntentOf<T> {
        let (table, at, expiry) = (Arc::clone(&self.table), self.options.now(), self.item_expiry());
        IntentOf { table, value, change, policy, condition: None, at, expiry }
    }

    pub(crate) fn patch_intent(&self, key: Key, content: SharedPatch<T>, policy: LeasePolicy) -> PatchIntent<T> {
        let (table, at, expiry) = (Arc::clone(&self.table), self.options.now(), self.item_expiry());
        PatchIntent { table, key, content, policy, at, expiry, seen: SeenItem::default() }
    }

    /// Returns how a write by a caller without a lease treats the leases of other callers.
    pub(crate) fn outside(&self) -> LeasePolicy {
        LeasePolicy::outside(T::MODEL, self.options)
    }

    fn request<K>(&self, kind: K) -> Request<T, K> {
        let (repository, limits, policy) = (self.clone(), self.limits, self.outside());
        Request { repository, limits, delivery: Delivery::Plain, policy, condition: None, kind }
    }
}

/// For a separate lease row, `key_text` returns the key of the leased item.
fn key_text<T: Versioned>(item: &Item) -> Option<String> {
    let key = key_of(T::MODEL, item)?;
    let key = if T::MODEL.lock_in_row().is_some() { key.of_item() } else { key };
    Some(key.to_string())
}

impl<T> Clone for Repository<T> {
    fn clone(&self) -> Self {
        Self { connection: Arc::clone(&self.connection), table: Arc::clone(&self.table), ..*self }
    }
}

debug_fields!([T] Repository<T>, self => { table: self.table, limits: self.limits });
