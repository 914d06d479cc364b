//! The requests of the builders, before they are sent.

use super::{
    Create, Delete, DeleteUnchecked, Get, GetMany, Patch, Request, TryUpdateWith, Update, UpdateWith, UpsertWith,
    WriteMany, modify::NoValue, session::Session, write::Mode,
};
use crate::{
    codec::{Basis, Etag, Stored},
    error::{Error, Result},
    explain::Explained,
    key::Key,
    model::Versioned,
    operation,
    write::{
        intent::{Change, Intent, UncheckedDelete},
        patch::SharedPatch,
    },
};

impl<T: Versioned> Request<T, Get> {
    /// Returns the request that this read would send. This method sends nothing.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # mod shop { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest/shop.rs")); }
    /// # use shop::Product;
    /// # fn example(products: &dynalock::Repository<Product>) -> dynalock::Result<()> {
    /// let read = products.get("85123A").eventually_consistent();
    /// println!("{}", read.explain()?);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// - [`Error::InvalidKey`]: the key is empty.
    pub fn explain(&self) -> Result<Explained> {
        Ok(Explained::of(vec![self.get_item()?.into()]))
    }
}

impl<T: Versioned> Request<T, GetMany> {
    /// Returns the requests that this read would send, with up to 100 keys each. This method sends
    /// nothing.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # mod shop { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest/shop.rs")); }
    /// # use shop::Product;
    /// # fn example(products: &dynalock::Repository<Product>) -> dynalock::Result<()> {
    /// let read = products.get_many(["85123A", "22423"]);
    /// assert_eq!(read.explain()?.read_units(100).to_string(), "2");
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// - [`Error::InvalidKey`]: a key is empty.
    pub fn explain(&self) -> Result<Explained> {
        let (table, mut unread) = (&self.repository.table, self.different_keys()?);
        let mut requests = Vec::new();
        while !unread.is_empty() {
            requests.push(operation::GetMany::taking_from(table, &mut unread).into());
        }
        Ok(Explained::of(requests))
    }
}

impl<T: Versioned + Clone> Request<T, Create<T>> {
    /// Returns the request that this create would send. This method sends nothing.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # mod shop { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest/shop.rs")); }
    /// # use shop::Product;
    /// # async fn example(products: &dynalock::Repository<Product>) -> dynalock::Result<()> {
    /// let create = products.create(Product { sku: "85123A".into(), stock: 10 });
    /// println!("{}", create.explain()?);
    /// create.await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// - [`Error::InvalidKey`] or [`Error::Encode`]: the value cannot be stored.
    pub fn explain(&self) -> Result<Explained> {
        write(&mut Session::of_unsent(self), self.kind.value.clone(), Change::Create)
    }
}

impl<T: Versioned + Clone> Request<T, Update<T>> {
    /// Returns the request that this update, touch or replace would send. This method sends
    /// nothing.
    ///
    /// The call reads the item first in three cases: the value comes from [`Stored::assume`]; a
    /// replace writes an item that contains its lease; or the update expression would be too long,
    /// so that the call puts the whole item. The result then contains the read, and is not
    /// [complete](Explained::is_complete).
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
    /// let update = products.update(product).when(Product::ATTR.stock.ge(3));
    /// println!("{}", update.explain()?);
    /// update.await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// - [`Error::KeyChanged`], [`Error::VersionExhausted`], [`Error::ExpressionTooLong`],
    ///   [`Error::InvalidKey`] or [`Error::Encode`]: the call fails with the same error.
    pub fn explain(&self) -> Result<Explained> {
        let (mut session, Update { stored, mode }) = (Session::of_unsent(self), &self.kind);
        let change = match mode {
            Mode::Changes => Change::Update,
            Mode::Always => Change::Touch,
            Mode::Whole => Change::Replace,
        };
        stored_write(&mut session, stored.clone(), change)
    }
}

impl<T: Versioned + Clone> Request<T, Delete<T>> {
    /// Returns the request that this delete would send. This method sends nothing. If the value
    /// comes from [`Stored::assume`], the result contains the read of the item, and is not
    /// [complete](Explained::is_complete).
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # mod shop { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest/shop.rs")); }
    /// # use shop::Product;
    /// # async fn example(products: &dynalock::Repository<Product>) -> dynalock::Result<()> {
    /// let product = products.get("85123A").await?.expect("a product");
    /// println!("{}", products.delete(product).explain()?);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// - [`Error::KeyChanged`], [`Error::ExpressionTooLong`], [`Error::InvalidKey`] or
    ///   [`Error::Encode`]: the call fails with the same error.
    pub fn explain(&self) -> Result<Explained> {
        stored_write(&mut Session::of_unsent(self), self.kind.stored.clone(), Change::Delete)
    }
}

macro_rules! explain_each {
    ($($kind:ident),*) => {$(
        impl<T: Versioned + Clone> Request<T, WriteMany<$kind<T>>> {
            /// Returns the requests that each write would send, in the order of the items. This
            /// method sends nothing.
            ///
            /// # Examples
            ///
            /// ```
            /// # use dynalock_core as dynalock;
            /// # mod shop { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest/shop.rs")); }
            /// # use shop::Product;
            /// # fn example(products: &dynalock::Repository<Product>, new: Vec<Product>) -> dynalock::Result<()> {
            /// for request in products.create_many(new).explain() {
            ///     println!("{}", request?);
            /// }
            /// # Ok(())
            /// # }
            /// ```
            ///
            /// # Errors
            ///
            /// Each result may be an error of the method `explain` of the call for a single item.
            pub fn explain(&self) -> Vec<Result<Explained>> {
                self.kind.items.iter().map(|item| self.like(item.clone()).explain()).collect()
            }
        }
    )*};
}

explain_each!(Create, Update, Delete);

impl<T: Versioned> Request<T, DeleteUnchecked> {
    /// Returns the request that this delete would send. This method sends nothing.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # mod shop { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest/shop.rs")); }
    /// # use shop::Product;
    /// # fn example(products: &dynalock::Repository<Product>) -> dynalock::Result<()> {
    /// println!("{}", products.delete_unchecked("85123A").explain()?);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// - [`Error::InvalidKey`]: the key is empty.
    /// - [`Error::ExpressionTooLong`] or [`Error::Encode`]: the condition of the caller cannot be
    ///   sent.
    pub fn explain(&self) -> Result<Explained> {
        let Self { repository, condition, kind, .. } = self;
        let item_ref = repository.item_ref(kind.key.clone(), None);
        let intent = UncheckedDelete { item_ref, condition: condition.clone() };
        Ok(Explained::of(vec![Session::of_unsent(self).explain(&intent)?]))
    }
}

impl<T: Versioned> Request<T, Patch<T>> {
    /// Returns the requests that this patch would send. This method sends nothing. A patch that is
    /// sent as a transaction is followed by a read of the item, because a transaction returns no
    /// item.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # mod shop { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest/shop.rs")); }
    /// # use shop::Product;
    /// # async fn example(products: &dynalock::Repository<Product>) -> dynalock::Result<()> {
    /// let sale = products.patch("85123A").add(Product::ATTR.stock, -3);
    /// println!("{}", sale.explain()?);
    /// sale.await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// - [`Error::InvalidPatch`]: the patch has no change, or two changes overlap.
    /// - [`Error::InvalidKey`], [`Error::ExpressionTooLong`] or [`Error::Encode`]: the call fails
    ///   with the same error.
    pub fn explain(&self) -> Result<Explained> {
        let Patch { key, content } = &self.kind;
        patch(&mut Session::of_unsent(self), key.clone(), content.clone())
    }
}

impl<T, F, O> Request<T, UpdateWith<'_, F>>
where
    T: Versioned + Clone,
    F: FnMut(&mut T) -> O,
    O: NoValue,
{
    /// Returns the requests of this call, as if its read returned `stored`: the read, and the write
    /// of the changes that the closure makes to a clone of the value. This method sends nothing.
    ///
    /// If the closure changes nothing, the call sends no write. If `stored` comes from
    /// [`Stored::assume`], or if the update expression would be too long, the write depends on the
    /// whole item, and the result is not [complete](Explained::is_complete).
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # mod shop { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest/shop.rs")); }
    /// # use shop::Product;
    /// # async fn example(products: &dynalock::Repository<Product>) -> dynalock::Result<()> {
    /// let product = products.get("85123A").await?.expect("a product");
    /// let mut sale = products.update_with("85123A", |product| product.stock -= 3);
    /// println!("{}", sale.explain_on(&product)?);
    /// sale.await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// - [`Error::KeyChanged`]: `stored` has another key than the call, or the closure has changed
    ///   the key.
    /// - [`Error::VersionExhausted`], [`Error::ExpressionTooLong`], [`Error::InvalidKey`] or
    ///   [`Error::Encode`]: the call fails with the same error.
    pub fn explain_on(&mut self, stored: &Stored<T>) -> Result<Explained> {
        let mut session = Session::of_unsent(self);
        let UpdateWith { key, change, .. } = &mut self.kind;
        modify(&mut session, key, stored, |value| {
            change(value);
            Ok(())
        })
    }
}

impl<T, F, E> Request<T, TryUpdateWith<'_, F>>
where
    T: Versioned + Clone,
    F: FnMut(&mut T) -> Result<(), E>,
    E: From<Error>,
{
    /// Returns the requests of this call, as if its read returned `stored`:
    /// [`Request::<T, UpdateWith>::explain_on`](Request::explain_on). This method sends nothing.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # mod shop { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest/shop.rs")); }
    /// # use shop::Product;
    /// # async fn example(products: &dynalock::Repository<Product>) -> dynalock::Result<()> {
    /// let product = products.get("85123A").await?.expect("a product");
    /// let mut sale = products.try_update_with("85123A", |product| {
    ///     product.stock -= 3;
    ///     Ok::<_, dynalock::Error>(())
    /// });
    /// println!("{}", sale.explain_on(&product)?);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// - The error that the closure returned.
    /// - The errors of `explain_on` of an `update_with`, converted by `From`.
    pub fn explain_on(&mut self, stored: &Stored<T>) -> Result<Explained, E> {
        let mut session = Session::of_unsent(self);
        let TryUpdateWith { key, change, .. } = &mut self.kind;
        modify(&mut session, key, stored, change)
    }
}

impl<T, I, F, O> Request<T, UpsertWith<'_, I, F>>
where
    T: Versioned + Clone,
    I: FnMut() -> T,
    F: FnMut(&mut T) -> O,
    O: NoValue,
{
    /// Returns the requests of this call, as if its read returned `stored`, or found no item if
    /// `stored` is `None`: [`Request::<T, UpdateWith>::explain_on`](Request::explain_on). Nothing
    /// is sent.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # mod shop { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest/shop.rs")); }
    /// # use shop::Product;
    /// # fn example(products: &dynalock::Repository<Product>) -> dynalock::Result<()> {
    /// let empty = || Product { sku: "85123A".into(), stock: 0 };
    /// let mut delivery = products.upsert_with("85123A", empty, |product| product.stock += 10);
    /// let explained = delivery.explain_on(None)?;
    /// assert_eq!(explained.requests()[1].operation(), "PutItem");
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// - [`Error::KeyChanged`]: `stored` or the new value has another key than the call.
    /// - [`Error::VersionExhausted`], [`Error::ExpressionTooLong`], [`Error::InvalidKey`] or
    ///   [`Error::Encode`]: the call fails with the same error.
    pub fn explain_on(&mut self, stored: Option<&Stored<T>>) -> Result<Explained> {
        let mut session = Session::of_unsent(self);
        let UpsertWith { key, init, change, .. } = &mut self.kind;
        if let Some(stored) = stored {
            return modify(&mut session, key, stored, |value| {
                change(value);
                Ok(())
            });
        }
        let read = session.get(key)?;
        let mut value = init();
        change(&mut value);
        if value.key() != *key {
            return Err(session.key_changed());
        }
        Ok(write(&mut session, value, Change::Create)?.after(read.into()))
    }
}

/// Explains a read-modify-write call whose read returns `stored`.
fn modify<T: Versioned + Clone, E: From<Error>>(
    session: &mut Session<T>,
    key: &Key,
    stored: &Stored<T>,
    mut change: impl FnMut(&mut T) -> Result<(), E>,
) -> Result<Explained, E> {
    let read = session.get(key)?;
    if stored.key() != *key {
        return Err(session.key_changed().into());
    }
    let (mut value, origin) = stored.clone().into_parts();
    let Ok(mut basis) = origin else { return Ok(Explained::before_write(vec![read.into()])) };
    basis.remember(&value);
    change(&mut value)?;
    Ok(write(session, value, Change::Update(basis))?.after(read.into()))
}

/// Explains the write of a value that was read before.
fn stored_write<T: Versioned>(
    session: &mut Session<T>,
    stored: Stored<T>,
    change: fn(Basis) -> Change,
) -> Result<Explained> {
    match stored.into_parts() {
        (value, Ok(basis)) => write(session, value, change(basis)),
        (value, Err(etag)) => assumed(session, &value.key(), &etag),
    }
}

/// Explains the write of a value with an etag: the item is read first.
fn assumed<T: Versioned>(session: &Session<T>, key: &Key, etag: &Etag) -> Result<Explained> {
    match etag.is_of(key) {
        true => Ok(Explained::before_write(vec![session.get(key)?.into()])),
        false => Err(session.key_changed()),
    }
}

/// Explains the write of a value.
pub(crate) fn write<T: Versioned>(session: &mut Session<T>, value: T, change: Change) -> Result<Explained> {
    let intent = session.intent(value, change);
    let read = |session: &Session<T>| Ok(Explained::before_write(vec![session.get(&intent.key())?.into()]));
    match &intent.change {
        // A replace of an item that contains its lease removes the attributes of the stored item.
        Change::Replace(basis) if T::MODEL.lock_in_item().is_some() => {
            basis.check_key(session.table(), &intent.value)?;
            return read(session);
        }
        Change::Update(_) if intent.changes()?.is_empty() => {
            return match intent.condition {
                None => Ok(Explained::of(Vec::new())),
                Some(_) => Ok(Explained::of(vec![session.explain(&intent)?])),
            };
        }
        _ => {}
    }
    match session.explain(&intent) {
        // The update becomes a put of the whole item, with the attributes that the type does not
        // know.
        Err(Error::ExpressionTooLong { .. })
            if matches!(intent.change, Change::Update(_) | Change::Touch(_)) && intent.is_tracked() =>
        {
            read(session)
        }
        request => Ok(Explained::of(vec![request?])),
    }
}

/// Explains a patch, and the read of the item after a patch in a transaction.
pub(crate) fn patch<T: Versioned>(session: &mut Session<T>, key: Key, content: SharedPatch<T>) -> Result<Explained> {
    let intent = session.patch_intent(key, content);
    let mut requests = vec![session.explain(&intent)?];
    // Only an UpdateItem returns the item.
    if requests[0].operation() != "UpdateItem" {
        requests.push(session.get(&intent.key)?.into());
    }
    Ok(Explained::of(requests))
}
