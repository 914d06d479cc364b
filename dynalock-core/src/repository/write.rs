use std::future::IntoFuture;

use super::{
    Request,
    request::{BoxedCall, Checked, sealed::Sealed},
    session::Session,
};
use crate::{
    codec::Stored,
    error::{Error, Result},
    key::Key,
    model::Versioned,
    write::{intent::Change, send::WriteResult},
};

/// A write of a new item: [`Repository::create`](super::Repository::create).
#[derive(Debug)]
pub struct Create<T> {
    value: T,
}

/// A write of a value that was read: [`Repository::update`](super::Repository::update),
/// [`replace`](super::Repository::replace) and [`touch`](super::Repository::touch).
#[derive(Debug)]
pub struct Update<T> {
    stored: Stored<T>,
    mode: Mode,
}

/// The attributes that an update writes.
#[derive(Debug)]
enum Mode {
    /// The changed attributes. If no attribute changed, nothing is written.
    Changes,
    /// The changed attributes, and a new version even if no attribute changed.
    Always,
    /// All attributes of the value. All others are removed.
    Whole,
}

/// A delete of an item that was read: [`Repository::delete`](super::Repository::delete).
#[derive(Debug)]
pub struct Delete<T> {
    stored: Stored<T>,
}

/// A delete that ignores the state of the item:
/// [`Repository::delete_unchecked`](super::Repository::delete_unchecked).
#[derive(Debug)]
pub struct DeleteUnchecked {
    key: Key,
}

/// The result of a delete: [`Repository::delete`](super::Repository::delete).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Deleted {
    /// Whether it is certain that this call deleted the item. The value is `false` if a reply was
    /// lost and the item does not exist: another caller may have deleted it.
    pub certain: bool,
}

impl<T> Create<T> {
    pub(super) fn new(value: T) -> Self {
        Self { value }
    }
}

impl<T> Update<T> {
    pub(super) fn changes(stored: Stored<T>) -> Self {
        Self { stored, mode: Mode::Changes }
    }

    pub(super) fn always(stored: Stored<T>) -> Self {
        Self { stored, mode: Mode::Always }
    }

    pub(super) fn whole(stored: Stored<T>) -> Self {
        Self { stored, mode: Mode::Whole }
    }
}

impl<T> Delete<T> {
    pub(super) fn new(stored: Stored<T>) -> Self {
        Self { stored }
    }
}

impl DeleteUnchecked {
    pub(super) fn new(key: Key) -> Self {
        Self { key }
    }
}

impl<T> Sealed for Create<T> {}
impl<T> Sealed for Update<T> {}
impl<T> Sealed for Delete<T> {}
impl<T> Checked for Create<T> {}
impl<T> Checked for Update<T> {}
impl<T> Checked for Delete<T> {}

impl<T: Versioned> IntoFuture for Request<T, Create<T>> {
    type Output = Result<Stored<T>>;
    type IntoFuture = BoxedCall<'static, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move {
            let (mut session, Create { value }) = Session::<T>::new(self);
            let key = value.key();
            match session.create(value, None).await? {
                WriteResult::Applied(stored) => Ok(stored),
                WriteResult::Conflict(met) => Err(Error::AlreadyExists(session.conflict(key, None, met))),
            }
        })
    }
}

impl<T: Versioned> IntoFuture for Request<T, Update<T>> {
    type Output = Result<Stored<T>>;
    type IntoFuture = BoxedCall<'static, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move {
            let (mut session, Update { stored, mode }) = Session::<T>::new(self);
            let (value, basis) = session.known(stored).await?;
            let (key, expected) = (value.key(), Some(basis.state.revision.number()));
            let result = match mode {
                Mode::Whole => session.replace(value, basis).await?,
                Mode::Changes => {
                    let changes = basis.changes(session.table(), &value)?;
                    if changes.is_empty() {
                        return Ok(Stored::unchanged(value, basis));
                    }
                    session.update(value, Change::Update(basis), changes).await?
                }
                Mode::Always => {
                    let changes = basis.changes(session.table(), &value)?;
                    session.update(value, Change::Touch(basis), changes).await?
                }
            };
            match result {
                WriteResult::Applied(stored) => Ok(stored),
                WriteResult::Conflict(met) => Err(Error::Conflict(session.conflict(key, expected, met))),
            }
        })
    }
}

impl<T: Versioned> IntoFuture for Request<T, Delete<T>> {
    type Output = Result<Deleted>;
    type IntoFuture = BoxedCall<'static, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move {
            let (mut session, Delete { stored }) = Session::<T>::new(self);
            let (value, basis) = session.known(stored).await?;
            let (key, expected) = (value.key(), Some(basis.state.revision.number()));
            match session.delete(value, basis).await? {
                WriteResult::Applied(certain) => Ok(Deleted { certain }),
                WriteResult::Conflict(met) => Err(Error::Conflict(session.conflict(key, expected, met))),
            }
        })
    }
}

impl<T: Versioned> IntoFuture for Request<T, DeleteUnchecked> {
    type Output = Result<()>;
    type IntoFuture = BoxedCall<'static, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move {
            let (mut session, DeleteUnchecked { key }) = Session::<T>::new(self);
            session.delete_unchecked(key).await
        })
    }
}
