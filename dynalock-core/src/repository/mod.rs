//! The items of one type in one table: sends, decodes, nothing else.

mod modify;
mod read;
mod request;
mod session;
pub(crate) mod table;
mod write;

use modify::NoValue;
pub use modify::{TryUpdateWith, UpdateWith, UpsertWith};
pub use read::Get;
pub use request::{Checked, Request};
pub(crate) use session::{Outcome, Session};
pub use table::CreateTable;
pub use write::{Create, Delete, DeleteUnchecked, Deleted, Update};

use std::{fmt, marker::PhantomData, sync::Arc, time::Duration};

use aws_sdk_dynamodb::Client;

use crate::{
    codec::Stored,
    error::Error,
    lock::Terms,
    model::{IntoKey, Versioned},
    retry::{Connection, Limits, Pace},
};

/// The items of type `T` in one table. Cheap to clone; clones share the retry budget and the measured round trip.
///
/// Made by the derived `T::repository(&client)`. It sends its requests through the client's HTTP client, endpoint, credentials
/// and interceptors, but retries by itself: the SDK cannot know whether a conditional write that it sends again has been
/// applied before. Making one costs as much as a few requests on a local network: make it once and clone it. Calls need a tokio runtime with time enabled.
pub struct Repository<T> {
    pub(crate) connection: Arc<Connection>,
    pub(crate) table: Arc<str>,
    pub(crate) limits: Limits,
    pub(crate) terms: Terms,
    of: PhantomData<fn() -> T>,
}

impl<T> Repository<T> {
    /// The items of type `T` in the table that its derive names.
    pub fn new(client: &Client) -> Self
    where
        T: Versioned,
    {
        Self {
            connection: Arc::new(Connection::over(client)),
            table: Arc::from(T::MODEL.table),
            limits: Limits::default(),
            terms: Terms::of(T::MODEL),
            of: PhantomData,
        }
    }

    /// The same in another table: `Product::repository(&client).table("products-eu")`.
    pub fn table(mut self, name: impl Into<Arc<str>>) -> Self {
        self.table = name.into();
        self
    }

    /// The time that each call may take over all its requests and pauses, unless the call says otherwise; 5 seconds by default.
    pub fn deadline(mut self, deadline: Duration) -> Self {
        self.limits.deadline = deadline;
        self
    }

    /// The time that the first request of a call may take before it counts as lost; 1 second by default. It doubles from attempt to
    /// attempt, up to eight times that, while no answer comes. With a time of zero, calls are [`Error::InvalidSetting`].
    pub fn attempt_timeout(mut self, timeout: Duration) -> Self {
        self.limits.attempt_timeout = timeout;
        self
    }

    /// How `update_with` and its relatives answer conflicts, unless the call says otherwise.
    pub fn pace(mut self, pace: Pace) -> Self {
        self.limits.pace = pace;
        self
    }

    /// Creates the table with the key of `T`, billed by request, and waits until it is active, one minute by default. A table that is
    /// there already is fine if it has that key.
    ///
    /// # Errors
    ///
    /// [`Error::TableMismatch`] if the table exists with another key; [`Error::Rejected`], [`Error::Exhausted`].
    pub fn create_table(&self) -> Request<T, CreateTable>
    where
        T: Versioned,
    {
        table::request(self)
    }

    /// The item under a key, as of this moment; nothing if there is none.
    ///
    /// # Errors
    ///
    /// [`Error::Decode`] and [`Error::Corrupt`] if the item does not fit; [`Error::InvalidKey`], [`Error::TableNotFound`],
    /// [`Error::Rejected`], [`Error::Exhausted`].
    pub fn get(&self, key: impl IntoKey<T>) -> Request<T, Get>
    where
        T: Versioned,
    {
        self.request(Get::new(key.into_key()))
    }

    /// Writes a new item at version 1.
    ///
    /// # Errors
    ///
    /// [`Error::AlreadyExists`] if there is any item under the key, with a version or without; [`Error::Locked`] if somebody holds a lease
    /// [beside](crate::Lockable) it, whether there is one or not; [`Error::Indeterminate`] if it cannot be told; [`Error::Encode`], [`Error::InvalidKey`], [`Error::TableNotFound`], [`Error::Rejected`],
    /// [`Error::Exhausted`]. Nothing was written but in the case of `Indeterminate`.
    pub fn create(&self, value: T) -> Request<T, Create<T>>
    where
        T: Versioned,
    {
        self.request(Create::new(value))
    }

    /// Writes what changed in a value since it was read, if the item is still as it was read. Attributes that `T` does not know
    /// survive. A value that did not change is returned as it is, and nothing is sent. A value with a flattened field that another write
    /// returned is read first.
    ///
    /// # Errors
    ///
    /// [`Error::Conflict`] if somebody else wrote or deleted the item; [`Error::Locked`] if somebody holds a lease on it;
    /// [`Error::KeyChanged`]; [`Error::Indeterminate`] if it cannot be told; [`Error::VersionExhausted`], [`Error::ExpressionTooLong`], [`Error::Encode`], [`Error::InvalidKey`],
    /// [`Error::TableNotFound`], [`Error::Rejected`], [`Error::Exhausted`]. A value from [`Stored::assume`] is read first:
    /// [`Error::Decode`] and [`Error::Corrupt`] as of [`get`](Self::get).
    pub fn update(&self, stored: Stored<T>) -> Request<T, Update<T>>
    where
        T: Versioned,
    {
        self.request(Update::changes(stored))
    }

    /// Writes the whole value, changed or not, over the item that it was read from: attributes that `T` does not know are gone
    /// afterwards. An item that keeps its own lease is read first: what the value does not have is removed attribute by attribute, so that the
    /// fence of its lease stays.
    ///
    /// # Errors
    ///
    /// As of [`update`](Self::update).
    pub fn replace(&self, stored: Stored<T>) -> Request<T, Update<T>>
    where
        T: Versioned,
    {
        self.request(Update::whole(stored))
    }

    /// As [`update`](Self::update), but the version counts up even if nothing changed, so that everybody else who has read the item
    /// must read it again.
    ///
    /// # Errors
    ///
    /// As of [`update`](Self::update).
    pub fn touch(&self, stored: Stored<T>) -> Request<T, Update<T>>
    where
        T: Versioned,
    {
        self.request(Update::always(stored))
    }

    /// Deletes the item, if it is still as it was read.
    ///
    /// # Errors
    ///
    /// [`Error::Conflict`] if somebody else wrote or deleted the item; the others as of [`update`](Self::update), without
    /// [`Error::VersionExhausted`].
    pub fn delete(&self, stored: Stored<T>) -> Request<T, Delete<T>>
    where
        T: Versioned,
    {
        self.request(Delete::new(stored))
    }

    /// Deletes whatever is under a key, also an item that somebody has just written, or nothing.
    ///
    /// # Errors
    ///
    /// [`Error::Indeterminate`] if it cannot be told; [`Error::InvalidKey`], [`Error::TableNotFound`], [`Error::Rejected`],
    /// [`Error::Exhausted`].
    pub fn delete_unchecked(&self, key: impl IntoKey<T>) -> Request<T, DeleteUnchecked>
    where
        T: Versioned,
    {
        self.request(DeleteUnchecked::new(key.into_key()))
    }

    /// Reads the item, lets `change` change it, writes what changed, and does so again from the newer item while others are
    /// first. The closure runs once an attempt; nothing but its last run is written, once. A run that changes nothing ends the
    /// call, and nothing is written.
    ///
    /// # Errors
    ///
    /// [`Error::NotFound`] if there is no item; [`Error::Exhausted`] with the conflict inside if others were first until the
    /// deadline; the others as of [`update`](Self::update) and [`get`](Self::get).
    pub fn update_with<'f, F, O>(&self, key: impl IntoKey<T>, change: F) -> Request<T, UpdateWith<'f, F>>
    where
        T: Versioned,
        F: FnMut(&mut T) -> O + Send + 'f,
        O: NoValue,
    {
        self.request(UpdateWith::new(key.into_key(), change))
    }

    /// As [`update_with`](Self::update_with), with a closure that may refuse: its error ends the call at once, and nothing is
    /// written.
    ///
    /// # Errors
    ///
    /// The closure's own; those of [`update_with`](Self::update_with) through `From`.
    pub fn try_update_with<'f, F, E>(&self, key: impl IntoKey<T>, change: F) -> Request<T, TryUpdateWith<'f, F>>
    where
        T: Versioned,
        F: FnMut(&mut T) -> Result<(), E> + Send + 'f,
        E: From<Error>,
    {
        self.request(TryUpdateWith::new(key.into_key(), change))
    }

    /// As [`update_with`](Self::update_with), and where there is no item, `init` makes the value that `change` then changes.
    ///
    /// # Errors
    ///
    /// [`Error::KeyChanged`] if `init` makes a value with another key; the others as of [`update_with`](Self::update_with) and
    /// [`create`](Self::create), without [`Error::NotFound`] and [`Error::AlreadyExists`].
    pub fn upsert_with<'f, I, F, O>(&self, key: impl IntoKey<T>, init: I, change: F) -> Request<T, UpsertWith<'f, I, F>>
    where
        T: Versioned,
        I: FnMut() -> T + Send + 'f,
        F: FnMut(&mut T) -> O + Send + 'f,
        O: NoValue,
    {
        self.request(UpsertWith::new(key.into_key(), init, change))
    }

    fn request<K>(&self, kind: K) -> Request<T, K>
    where
        T: Versioned,
    {
        Request::new(self.clone(), self.limits, kind)
    }
}

impl<T> Clone for Repository<T> {
    fn clone(&self) -> Self {
        Self {
            connection: Arc::clone(&self.connection),
            table: Arc::clone(&self.table),
            limits: self.limits,
            terms: self.terms,
            of: PhantomData,
        }
    }
}

impl<T> fmt::Debug for Repository<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Repository").field("table", &self.table).field("limits", &self.limits).finish_non_exhaustive()
    }
}
