//! The `explain` methods, which return the requests that a call would send, and send no request.

use super::{
    Create, Delete, DeleteUnchecked, Get, GetMany, Patch, Request, TryUpdateWith, Update, UpdateWith, UpsertWith,
    WriteMany,
    modify::{NoValue, infallible},
    session::Session,
    write::Mode,
};
use crate::{
    codec::{Basis, Stored},
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
    /// Returns the GetItem request that the read would send. `explain` sends no request.
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
    /// Returns the BatchGetItem requests that the read would send, with up to 100 keys in each
    /// request. `explain` sends no request.
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
    /// Returns the request that the create would send. `explain` sends no request.
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
    /// Returns the request that the update, touch or replace would send. `explain` sends no
    /// request.
    ///
    /// The call reads the item before the write in three cases. In the first case, the value comes
    /// from [`Stored::assume`]. In the second case, a `replace` writes an item of a type that
    /// stores leases in its items. In the third case, the update expression would be too long, so
    /// the call sends a put of the whole item. If the call reads the item before the write, the
    /// result contains only the read, and is not [complete](Explained::is_complete).
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
    ///   [`Error::InvalidKey`] or [`Error::Encode`]: without `explain`, the call would fail with
    ///   the same error.
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
    /// Returns the request that the delete would send. `explain` sends no request. If the value
    /// comes from [`Stored::assume`], the result contains only the read of the item, and is not
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
    ///   [`Error::Encode`]: without `explain`, the call would fail with the same error.
    pub fn explain(&self) -> Result<Explained> {
        stored_write(&mut Session::of_unsent(self), self.kind.stored.clone(), Change::Delete)
    }
}

macro_rules! explain_each {
    ($($kind:ident),*) => {$(
        impl<T: Versioned + Clone> Request<T, WriteMany<$kind<T>>> {
            /// Returns the requests that the write of each item would send, in the order of the
            /// items. `explain` sends no request.
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
            /// Each result may be an error, with the same causes as for a call with a single item.
            pub fn explain(&self) -> Vec<Result<Explained>> {
                self.kind.items.iter().map(|item| self.like(item.clone()).explain()).collect()
            }
        }
    )*};
}

explain_each!(Create, Update, Delete);

impl<T: Versioned> Request<T, DeleteUnchecked> {
    /// Returns the request that the delete would send. `explain` sends no request.
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
    /// - [`Error::ExpressionTooLong`] or [`Error::Encode`]: the condition of the caller is too
    ///   long, or contains a value that cannot be stored.
    pub fn explain(&self) -> Result<Explained> {
        let Self { repository, condition, kind, .. } = self;
        let item_ref = repository.item_ref(kind.key.clone(), None);
        let intent = UncheckedDelete { item_ref, condition: condition.clone() };
        Ok(Explained::of(vec![Session::of_unsent(self).explain(&intent)?]))
    }
}

impl<T: Versioned> Request<T, Patch<T>> {
    /// Returns the requests that the patch would send. `explain` sends no request. For a patch that
    /// is sent as a transaction, the result contains a read of the item, because a transaction
    /// returns no item.
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
    /// - [`Error::InvalidPatch`]: the patch has no change, or two changes of the patch overlap.
    /// - [`Error::InvalidKey`], [`Error::ExpressionTooLong`] or [`Error::Encode`]: without
    ///   `explain`, the call would fail with the same error.
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
    /// Returns the requests that the call would send if its read returned `stored`. `explain_on`
    /// runs the closure on a clone of `stored`. The result contains the read of the item, and the
    /// write of the closure's changes. `explain_on` sends no request.
    ///
    /// If the closure changes nothing, the result contains no write. If `stored` comes from
    /// [`Stored::assume`], or if the update expression would be too long, the result contains no
    /// write, and is not [complete](Explained::is_complete). The library cannot compute a write
    /// that depends on attributes missing from `stored`.
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
    /// - [`Error::KeyChanged`]: the key of `stored` differs from the key of the call, or the
    ///   closure has changed the key.
    /// - [`Error::VersionExhausted`], [`Error::ExpressionTooLong`], [`Error::InvalidKey`] or
    ///   [`Error::Encode`]: without `explain_on`, the call would fail with the same error.
    pub fn explain_on(&mut self, stored: &Stored<T>) -> Result<Explained> {
        let mut session = Session::of_unsent(self);
        let UpdateWith { key, change, .. } = &mut self.kind;
        modify(&mut session, key, stored, infallible(change))
    }
}

impl<T, F, E> Request<T, TryUpdateWith<'_, F>>
where
    T: Versioned + Clone,
    F: FnMut(&mut T) -> Result<(), E>,
    E: From<Error>,
{
    /// Returns the requests that the call would send if its read returned `stored`, like
    /// [`Request::<T, UpdateWith>::explain_on`](Request::explain_on). `explain_on` sends no
    /// request.
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
    /// - The error that the closure of the call returned.
    /// - The errors that `explain_on` returns for an `update_with`, converted into `E` by `From`.
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
    /// Returns the requests that the call would send if its read returned `stored`, like
    /// [`Request::<T, UpdateWith>::explain_on`](Request::explain_on). If `stored` is `None`, the
    /// result contains the requests for a key without an item. `explain_on` sends no request.
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
    /// - [`Error::KeyChanged`]: the key of `stored`, or of the value that the closures of the call
    ///   made, differs from the key of the call.
    /// - [`Error::VersionExhausted`], [`Error::ExpressionTooLong`], [`Error::InvalidKey`] or
    ///   [`Error::Encode`]: without `explain_on`, the call would fail with the same error.
    pub fn explain_on(&mut self, stored: Option<&Stored<T>>) -> Result<Explained> {
        let mut session = Session::of_unsent(self);
        let UpsertWith { key, init, change, .. } = &mut self.kind;
        if let Some(stored) = stored {
            return modify(&mut session, key, stored, infallible(change));
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

fn stored_write<T: Versioned>(
    session: &mut Session<T>,
    stored: Stored<T>,
    change: fn(Basis) -> Change,
) -> Result<Explained> {
    match stored.into_parts() {
        (value, Ok(basis)) => write(session, value, change(basis)),
        // The call reads the item before it writes a value with an etag.
        (value, Err(etag)) if etag.is_of(&value.key()) => {
            Ok(Explained::before_write(vec![session.get(&value.key())?.into()]))
        }
        (_, Err(_)) => Err(session.key_changed()),
    }
}

pub(crate) fn write<T: Versioned>(session: &mut Session<T>, value: T, change: Change) -> Result<Explained> {
    let intent = session.intent(value, change);
    let read = |session: &Session<T>| Ok(Explained::before_write(vec![session.get(&intent.key())?.into()]));
    match &intent.change {
        // If a type stores leases in its items, a `replace` first reads the stored item, to find
        // the attributes that the `replace` must remove.
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
        // An update whose expression would be too long becomes a put of the whole item. The put
        // needs all attributes of the stored item, so the call reads the item before the put.
        Err(Error::ExpressionTooLong { .. })
            if matches!(intent.change, Change::Update(_) | Change::Touch(_)) && intent.is_tracked() =>
        {
            read(session)
        }
        request => Ok(Explained::of(vec![request?])),
    }
}

pub(crate) fn patch<T: Versioned>(session: &mut Session<T>, key: Key, content: SharedPatch<T>) -> Result<Explained> {
    let intent = session.patch_intent(key, content);
    let mut requests = vec![session.explain(&intent)?];
    // The reply to a transaction contains no item, so the call reads the item after the patch.
    if requests[0].operation() != "UpdateItem" {
        requests.push(session.get(&intent.key)?.into());
    }
    Ok(Explained::of(requests))
}
