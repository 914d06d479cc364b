//! Defines `Stored`: a value together with the version of the stored item.

use std::{
    fmt,
    ops::{Deref, DerefMut},
    sync::Arc,
};

use aws_sdk_dynamodb::types::AttributeValue;
use serde::{Serialize, Serializer};

use super::{
    Etag, Item,
    encode::{Changes, Fingerprints, not_encoded},
    flattened,
    strip::user_attributes,
};
use crate::{
    error::{Error, SerdeError},
    model::{KeptTimes, Model, Versioned},
    version::{Incarnation, Revision, Ring},
};

/// A value that the library has read or written, together with the version of the stored item.
///
/// `Stored<T>` dereferences to `T`. The first mutable access to the value computes a fingerprint of
/// each attribute that serde writes. [`Repository::update`](crate::Repository::update) later writes
/// only the attributes whose fingerprints have changed. A program must change the value only by a
/// mutable access, because the library can miss a change through a `Mutex` or an atomic inside the
/// value. Serde serializes a `Stored<T>` in the same way as the `T` inside the `Stored<T>`.
///
/// # Examples
///
/// ```
/// # use dynalock_core as dynalock;
/// # mod shop { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest/shop.rs")); }
/// # use shop::Product;
/// # async fn example(products: &dynalock::Repository<Product>) -> dynalock::Result<()> {
/// let mut product = products.get("85123A").await?.expect("a product");
/// println!("{} in stock at version {}", product.stock, product.version());
/// product.stock += 10;
/// products.update(product).await?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Stored<T> {
    value: T,
    /// The etag if the value comes from [`Stored::assume`], or else the [`Basis`] of the next
    /// write.
    origin: Result<Basis, Etag>,
}

#[derive(Clone)]
pub(crate) struct Basis {
    pub(crate) state: State,
    pub(crate) times: KeptTimes,
    /// The fingerprints of the value before its first mutable access, or `None` if the program has
    /// had no mutable access. If serde cannot serialize the value for the fingerprints, the next
    /// write of the value returns the error.
    before: Option<Result<Arc<Fingerprints>, SerdeError>>,
    content: UserAttributes,
}

/// A copy of the stored item without the attributes that the library adds, for example `_writes`.
/// For a type without a flattened field, `UserAttributes` contains `None`.
#[derive(Clone)]
pub(crate) struct UserAttributes(Option<Arc<Item>>);

/// The condition of the next write of a value compares the value's `State` with the stored item.
#[derive(Clone, PartialEq)]
pub(crate) struct State {
    pub(crate) revision: Revision,
    pub(crate) compared: Option<Box<ComparedContent>>,
}

/// The attributes that the condition compares in addition to the version and the write ids.
#[derive(Clone, PartialEq)]
pub(crate) enum ComparedContent {
    /// A copy of the whole item, which has no version or no write ids.
    Item(Item),
    /// The time to live of an expired item. A program without versions can renew the time to live
    /// and leave the version unchanged.
    TimeToLive(AttributeValue),
}

impl<T> Stored<T> {
    /// Returns the version of the item. The version is 1 after the create, and each write
    /// increments the version by one. The version is 0 if a program that does not use dynalock
    /// wrote the item without a version.
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
    pub fn version(&self) -> u64 {
        match &self.origin {
            Ok(basis) => basis.state.revision.number(),
            Err(etag) => etag.number(),
        }
    }

    /// Returns the value without the version. To update the item after a call of `into_inner`, the
    /// caller must read the item again.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # mod shop { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest/shop.rs")); }
    /// # use shop::Product;
    /// # fn example(product: dynalock::Stored<Product>) {
    /// let product: Product = product.into_inner();
    /// # }
    /// ```
    pub fn into_inner(self) -> T {
        self.value
    }

    pub(crate) fn new(value: T, basis: Basis) -> Self {
        Self { value, origin: Ok(basis) }
    }

    pub(crate) fn origin(&self) -> Result<&Basis, &Etag> {
        self.origin.as_ref()
    }

    pub(crate) fn write_state_into(&self, item: &mut Item)
    where
        T: Versioned,
    {
        if let Ok(basis) = self.origin() {
            basis.times.write_into(T::MODEL, item);
            basis.state.revision.write_into(T::MODEL.version, item);
        }
    }

    pub(crate) fn into_parts(self) -> (T, Result<Basis, Etag>) {
        (self.value, self.origin)
    }
}

impl<T: Versioned> Stored<T> {
    /// Returns the etag of the item: a token that identifies the state of the item at the time of
    /// the read. A web server, for example, sends the etag to a browser together with the value.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # mod shop { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest/shop.rs")); }
    /// # use shop::Product;
    /// # fn example(product: dynalock::Stored<Product>) {
    /// let (etag, form) = (product.etag().to_string(), product.into_inner());
    /// # }
    /// ```
    pub fn etag(&self) -> Etag {
        match &self.origin {
            Ok(basis) => Etag::new(&self.value.key(), &basis.state.revision, basis.state.image()),
            Err(etag) => etag.clone(),
        }
    }

    /// Makes a `Stored` from a value that a user edited outside this process, for example in a
    /// browser. `etag` identifies the state of the item before the user edited the value.
    ///
    /// Before a write of a `Stored` from `assume`, the library reads the item. If the item is no
    /// longer in the state that the etag identifies, the write fails with [`Error::Conflict`]. If
    /// the etag comes from an item whose key differs from the key of the value, the write fails
    /// with [`Error::KeyChanged`].
    ///
    /// Serde writes a `HashSet` as a list. For two `HashSet`s with the same members, serde may
    /// write lists in different orders. An [`update`](crate::Repository::update) of a value from
    /// `assume` may write a `HashSet` and increment the version, even if the members of the set
    /// have not changed. A `BTreeSet` has a fixed order, so an update writes a `BTreeSet` only if
    /// the members of the set have changed.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # mod shop { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest/shop.rs")); }
    /// # use shop::Product;
    /// # async fn example(products: &dynalock::Repository<Product>, form: Product, etag: &str) -> dynalock::Result<()> {
    /// use dynalock::{Error, Stored};
    ///
    /// let etag = etag.parse().expect("an etag");
    /// match products.update(Stored::assume(form, etag)).await {
    ///     Ok(product) => println!("saved at version {}", product.version()),
    ///     Err(Error::Conflict(_)) => println!("another user was faster: show the new values"),
    ///     Err(error) => return Err(error),
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn assume(mut value: T, etag: Etag) -> Self {
        value.mirror_version(etag.number());
        Self { value, origin: Err(etag) }
    }

    /// Makes a `Stored` for tests, without an item in DynamoDB. For example, a test may implement
    /// [`Store`](crate::store::Store) with items in memory. Such a test makes its items with
    /// `detached`. An update of a stored item with a value from `detached` fails with a conflict,
    /// even if the versions are equal.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # mod shop { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest/shop.rs")); }
    /// # use shop::Product;
    /// let product = dynalock::Stored::detached(Product { sku: "85123A".into(), stock: 10 }, 3);
    /// assert_eq!((product.stock, product.version()), (10, 3));
    /// ```
    pub fn detached(value: T, version: u64) -> Self {
        // The incarnation (random id) of a stored item is never zero, so the result of `detached`
        // cannot update an item.
        let ring = Ring::new(Incarnation::from_bytes([0; 8]));
        let revision = Revision { version: Some(version), ring: Some(ring) };
        Self::unchanged(
            value,
            Basis::written(revision, UserAttributes::of(T::MODEL, &Item::new()), KeptTimes::default()),
        )
    }

    pub(crate) fn unchanged(mut value: T, basis: Basis) -> Self {
        value.mirror_version(basis.state.revision.number());
        value.mirror_times(basis.times);
        Self::new(value, basis)
    }
}

impl Basis {
    pub(super) fn read(state: State, content: UserAttributes, times: KeptTimes) -> Self {
        Self { state, times, before: None, content }
    }

    pub(crate) fn written(revision: Revision, content: UserAttributes, times: KeptTimes) -> Self {
        Self::read(State { revision, compared: None }, content, times)
    }

    /// Makes the [`Basis`] of a write that replaces the whole item.
    pub(crate) fn of_other_content(model: &Model, state: State) -> Self {
        Self::read(state, UserAttributes::of(model, &Item::new()), KeptTimes::default())
    }

    /// Sets the incarnation (a random id) of this value to the incarnation of the stored item. The
    /// two differ if an earlier attempt of the create has written the stored item.
    pub(crate) fn in_life(mut self, incarnation: Incarnation) -> Self {
        self.state.revision = self.state.revision.in_life(incarnation);
        self
    }

    /// Computes the fingerprints of the value before its first change. After its first call,
    /// `remember` does nothing, because the program may have changed the value.
    pub(crate) fn remember<T: Versioned>(&mut self, value: &T) {
        self.before.get_or_insert_with(|| Fingerprints::of(value).map(Arc::new));
    }

    /// Returns the fingerprints from before the first mutable access to the value, or `None` if the
    /// program has had no mutable access.
    fn before(&self, table: &Arc<str>) -> Result<Option<&Fingerprints>, Error> {
        let failed = |error: &SerdeError| not_encoded(table, error.clone());
        self.before.as_ref().map(|before| before.as_deref().map_err(failed)).transpose()
    }

    pub(crate) fn check_key<T: Versioned>(&self, table: &Arc<str>, value: &T) -> Result<(), Error> {
        let Some(before) = self.before(table)? else { return Ok(()) };
        match before.key_differs(value).map_err(|error| not_encoded(table, error))? {
            true => Err(Error::KeyChanged { table: Arc::clone(table) }),
            false => Ok(()),
        }
    }

    /// Returns `true` if serde wrote the attribute `name` before the first mutable access to the
    /// value. If the program has had no mutable access, `had` returns `false`.
    pub(crate) fn had(&self, name: &str) -> bool {
        matches!(&self.before, Some(Ok(before)) if before.contains(name))
    }

    /// Returns the names of the attributes that the condition of the next write must compare for a
    /// type with a flattened field. If the item has a version and `_writes`,
    /// `names_in_flattened` returns no names, because the condition compares only the version and
    /// the incarnation (the random id in `_writes`).
    pub(crate) fn names_in_flattened<T: Versioned>(&self, value: &T) -> Vec<String> {
        if !T::MODEL.flattens || self.state.image().is_none() {
            return Vec::new();
        }
        let names = |fingerprints: &Fingerprints| fingerprints.names().map(str::to_owned).collect();
        match &self.before {
            Some(Ok(before)) => names(before),
            None | Some(Err(_)) => Fingerprints::of(value).map_or_else(|_| Vec::new(), |now| names(&now)),
        }
    }

    pub(crate) fn content_after(&self, model: &Model, changes: &Changes) -> UserAttributes {
        UserAttributes(self.content.0.as_ref().map(|content| Arc::new(changes.after(model, content))))
    }

    pub(crate) fn changes<T: Versioned>(&self, table: &Arc<str>, value: &T) -> Result<Changes, Error> {
        let Some(before) = self.before(table)? else { return Ok(Changes::default()) };
        let mut changes = before.changes(value).map_err(|error| not_encoded(table, error))?;
        // An UpdateItem cannot change a key.
        if changes.names().any(|name| T::MODEL.is_key(name)) {
            return Err(Error::KeyChanged { table: Arc::clone(table) });
        }
        if let Some(content) = self.content.0.as_ref().filter(|_| !changes.is_empty()) {
            flattened::remove_aliases::<T>(table, content, before, &mut changes)?;
        }
        Ok(changes)
    }
}

impl UserAttributes {
    pub(crate) fn of(model: &Model, item: &Item) -> Self {
        Self(model.flattens.then(|| Arc::new(user_attributes(model, item))))
    }
}

impl State {
    pub(crate) fn is_at(&self, etag: &Etag) -> bool {
        etag.matches(&self.revision, self.image())
    }

    fn image(&self) -> Option<&Item> {
        match self.compared.as_deref()? {
            ComparedContent::Item(image) => Some(image),
            ComparedContent::TimeToLive(_) => None,
        }
    }
}

impl<T> Deref for Stored<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T: Versioned> DerefMut for Stored<T> {
    // The fingerprints must describe the stored item, so `remember` computes them before the
    // program can change the value.
    fn deref_mut(&mut self) -> &mut T {
        if let Ok(basis) = &mut self.origin {
            basis.remember(&self.value);
        }
        &mut self.value
    }
}

impl<T: PartialEq> PartialEq for Stored<T> {
    /// Two `Stored`s are equal if their values are equal and their versions are equal.
    fn eq(&self, other: &Self) -> bool {
        self.version() == other.version() && self.value == other.value
    }
}

impl<T: Eq> Eq for Stored<T> {}

impl<T: Serialize> Serialize for Stored<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.value.serialize(serializer)
    }
}

debug_fields!([T: fmt::Debug] Stored<T>, self => { value: self.value, version: self.version() });
