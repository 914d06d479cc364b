//! The `explain` methods, which return the requests that a call would send, and send no request.

use super::{
    Create, Delete, DeleteUnchecked, Get, GetMany, Request, TryUpdateWith, Update, UpdateWith, UpsertWith, WriteMany,
    modify::{NoValue, infallible},
    request::{Explain, sealed::Sealed},
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
        intent::{Intent, ItemChange, UncheckedDelete},
        patch::SharedPatch,
    },
};

impl Sealed for Get {}
impl Sealed for GetMany {}

impl<T: Versioned> Explain<T> for Get {
    type Explanation = Result<Explained>;

    fn explain(request: &Request<T, Self>) -> Result<Explained> {
        Ok(Explained::of(vec![request.get_item()?.into()]))
    }
}

impl<T: Versioned> Explain<T> for GetMany {
    type Explanation = Result<Explained>;

    fn explain(request: &Request<T, Self>) -> Result<Explained> {
        let (table, mut unread) = (&request.repository.table, request.different_keys()?);
        let mut requests = Vec::new();
        while !unread.is_empty() {
            requests.push(operation::BatchGet::taking_from(table, &mut unread).into());
        }
        Ok(Explained::of(requests))
    }
}

impl<T: Versioned + Clone> Explain<T> for Create<T> {
    type Explanation = Result<Explained>;

    fn explain(request: &Request<T, Self>) -> Result<Explained> {
        write(&mut Session::of_unsent(request), request.kind.value.clone(), ItemChange::Create)
    }
}

impl<T: Versioned + Clone> Explain<T> for Update<T> {
    type Explanation = Result<Explained>;

    fn explain(request: &Request<T, Self>) -> Result<Explained> {
        let (mut session, Update { stored, mode }) = (Session::of_unsent(request), &request.kind);
        let change = match mode {
            Mode::Changes => ItemChange::Update,
            Mode::Always => ItemChange::Touch,
            Mode::Whole => ItemChange::Replace,
        };
        stored_write(&mut session, stored.clone(), change)
    }
}

impl<T: Versioned + Clone> Explain<T> for Delete<T> {
    type Explanation = Result<Explained>;

    fn explain(request: &Request<T, Self>) -> Result<Explained> {
        stored_write(&mut Session::of_unsent(request), request.kind.stored.clone(), ItemChange::Delete)
    }
}

impl<T, K: Explain<T> + Clone> Explain<T> for WriteMany<K> {
    type Explanation = Vec<K::Explanation>;

    fn explain(request: &Request<T, Self>) -> Self::Explanation {
        request.kind.items.iter().map(|item| request.like(item.clone()).explain()).collect()
    }
}

impl<T: Versioned> Explain<T> for DeleteUnchecked {
    type Explanation = Result<Explained>;

    fn explain(request: &Request<T, Self>) -> Result<Explained> {
        let Request { repository, condition, kind, .. } = request;
        let item_ref = repository.item_ref(kind.key.clone(), None);
        let intent = UncheckedDelete { item_ref, condition: condition.clone() };
        Ok(Explained::of(vec![Session::of_unsent(request).explain(&intent)?]))
    }
}

impl<T, F, O> Request<T, UpdateWith<'_, F>>
where
    T: Versioned + Clone,
    F: FnMut(&mut T) -> O,
    O: NoValue,
{
    /// Returns the requests that the call would send if its read returned `stored`. `explain_on`
    /// runs the closure of the call on a clone of `stored`. The returned `Explained` contains the
    /// read of the item, and the write of the closure's changes. `explain_on` sends no request.
    ///
    /// If the closure of the call changes nothing, the returned `Explained` contains no write. The
    /// `Explained` contains no write, and is not [complete](Explained::is_complete), in two cases:
    /// `stored` comes from [`Stored::assume`], or the update expression would be too long. The
    /// library cannot compute a write that depends on attributes missing from `stored`.
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
    /// [`Request::<T, UpdateWith>::explain_on`](Request::explain_on). If `stored` is `None`,
    /// `explain_on` returns the requests for a key without an item. `explain_on` sends no request.
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
    /// - [`Error::KeyChanged`]: the key that the call got differs from the key of `stored`, or from
    ///   the key of the value that a closure returned.
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
        Ok(write(&mut session, value, ItemChange::Create)?.after(read.into()))
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
    Ok(write(session, value, ItemChange::Update(basis))?.after(read.into()))
}

fn stored_write<T: Versioned>(
    session: &mut Session<T>,
    stored: Stored<T>,
    change: fn(Basis) -> ItemChange,
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

pub(crate) fn write<T: Versioned>(session: &mut Session<T>, value: T, change: ItemChange) -> Result<Explained> {
    let intent = session.intent(value, change);
    let read = |session: &Session<T>| Ok(Explained::before_write(vec![session.get(&intent.key())?.into()]));
    match &intent.change {
        // If a type stores leases in its items, a `replace` first reads the stored item, to find
        // the attributes that the `replace` must remove.
        ItemChange::Replace(basis) if T::MODEL.lock_in_item().is_some() => {
            basis.check_key(session.table(), &intent.value)?;
            return read(session);
        }
        ItemChange::Update(_) if intent.changes()?.is_empty() => {
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
            if matches!(intent.change, ItemChange::Update(_) | ItemChange::Touch(_)) && intent.is_tracked() =>
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
