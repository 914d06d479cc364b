use std::future::IntoFuture;

use super::{
    Deleted, Request,
    request::{Checked, Conditional, sealed::Sealed},
    session::Session,
};
use crate::{
    codec::Stored,
    error::{Error, Result},
    key::Key,
    model::Versioned,
    telemetry::{BoxedCall, observe},
    write::{intent::ItemChange, send::WriteResult},
};

/// The kind of a call that creates an item, for [`Repository::create`](super::Repository::create).
#[derive(Debug, Clone)]
pub struct Create<T> {
    pub(super) value: T,
}

/// The kind of a call that writes a value that was read before, for
/// [`Repository::update`](super::Repository::update), [`replace`](super::Repository::replace) and
/// [`touch`](super::Repository::touch).
#[derive(Debug, Clone)]
pub struct Update<T> {
    pub(super) stored: Stored<T>,
    pub(super) mode: Mode,
}

/// The difference between `update`, `touch` and `replace`.
#[derive(Debug, Clone, Copy)]
pub(super) enum Mode {
    Changes,
    Always,
    Whole,
}

/// The kind of a call that deletes an item that was read before, for
/// [`Repository::delete`](super::Repository::delete).
#[derive(Debug, Clone)]
pub struct Delete<T> {
    pub(super) stored: Stored<T>,
}

/// The kind of a call that deletes an item, whatever the item contains, for
/// [`Repository::delete_unchecked`](super::Repository::delete_unchecked).
#[derive(Debug)]
pub struct DeleteUnchecked {
    pub(super) key: Key,
}

impl Mode {
    fn operation(self) -> &'static str {
        match self {
            Self::Changes => "update",
            Self::Always => "touch",
            Self::Whole => "replace",
        }
    }
}

impl<T> Sealed for Create<T> {}
impl<T> Sealed for Update<T> {}
impl<T> Sealed for Delete<T> {}
impl Sealed for DeleteUnchecked {}
impl<T> Conditional for Update<T> {}
impl<T> Conditional for Delete<T> {}
impl Conditional for DeleteUnchecked {}
impl<T> Checked for Create<T> {}
impl<T> Checked for Update<T> {}
impl<T> Checked for Delete<T> {}

impl<T: Versioned> IntoFuture for Request<T, Create<T>> {
    type Output = Result<Stored<T>>;
    type IntoFuture = BoxedCall<'static, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        observe("create", self.table(), async move {
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
        observe(self.kind.mode.operation(), self.table(), async move {
            let (mut session, Update { stored, mode }) = Session::<T>::new(self);
            let (value, basis) = session.known(stored).await?;
            let (key, expected) = (value.key(), session.expected(&basis));
            let result = match mode {
                Mode::Whole => session.replace(value, basis).await?,
                Mode::Changes => {
                    let changes = basis.changes(session.table(), &value)?;
                    match changes.is_empty() {
                        true => session.check(value, basis).await?,
                        false => session.update(value, ItemChange::Update(basis), changes).await?,
                    }
                }
                Mode::Always => {
                    let changes = basis.changes(session.table(), &value)?;
                    session.update(value, ItemChange::Touch(basis), changes).await?
                }
            };
            match result {
                WriteResult::Applied(stored) => Ok(stored),
                WriteResult::Conflict(met) => Err(session.refused(key, &expected, met)),
            }
        })
    }
}

impl<T: Versioned> IntoFuture for Request<T, Delete<T>> {
    type Output = Result<Deleted>;
    type IntoFuture = BoxedCall<'static, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        observe("delete", self.table(), async move {
            let (mut session, Delete { stored }) = Session::<T>::new(self);
            session.delete(stored).await
        })
    }
}

impl<T: Versioned> IntoFuture for Request<T, DeleteUnchecked> {
    type Output = Result<()>;
    type IntoFuture = BoxedCall<'static, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        observe("delete_unchecked", self.table(), async move {
            let (mut session, DeleteUnchecked { key }) = Session::<T>::new(self);
            session.delete_unchecked(key).await
        })
    }
}
