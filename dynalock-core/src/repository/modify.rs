use std::{future::IntoFuture, marker::PhantomData};

use super::{
    Request,
    request::{Checked, sealed::Sealed},
    session::{NextRun, Session},
};
use crate::{
    codec::{Stored, changed, decode_applied},
    error::{Error, Result},
    key::Key,
    model::Versioned,
    telemetry::{BoxedCall, CallFailure, observe, observe_closure},
    write::{intent::ItemChange, send::WriteResult},
};

/// The kind of a read-modify-write call, for
/// [`Repository::update_with`](super::Repository::update_with).
pub struct UpdateWith<'f, F> {
    pub(super) key: Key,
    pub(super) change: F,
    pub(super) borrows: PhantomData<&'f ()>,
}

/// The kind of a read-modify-write call whose closure may return an error, for
/// [`Repository::try_update_with`](super::Repository::try_update_with).
pub struct TryUpdateWith<'f, F> {
    pub(super) key: Key,
    pub(super) change: F,
    pub(super) borrows: PhantomData<&'f ()>,
}

/// The kind of a read-modify-write call that creates a missing item, for
/// [`Repository::upsert_with`](super::Repository::upsert_with).
pub struct UpsertWith<'f, I, F> {
    pub(super) key: Key,
    pub(super) init: I,
    pub(super) change: F,
    pub(super) borrows: PhantomData<&'f ()>,
}

impl<F> Sealed for UpdateWith<'_, F> {}
impl<F> Sealed for TryUpdateWith<'_, F> {}
impl<I, F> Sealed for UpsertWith<'_, I, F> {}
impl<F> Checked for UpdateWith<'_, F> {}
impl<F> Checked for TryUpdateWith<'_, F> {}
impl<I, F> Checked for UpsertWith<'_, I, F> {}

/// The return type of an update's closure: `()`, or `!` for a closure that never returns.
#[diagnostic::on_unimplemented(
    message = "the closure of an update returns `()`, not `{Self}`",
    label = "its closure returns `{Self}`",
    note = "the closure is not async, and may run several times: await what it needs before the call, or use `dynalock::transact`, whose closure is async",
    note = "end an expression whose value is not needed with `;`, and use `try_update_with` for a closure that returns a `Result`"
)]
pub trait NoValue {}

impl NoValue for () {}
impl NoValue for Never {}

/// The type `!`, which stable Rust can name only as the return type of a function type.
type Never = <fn() -> ! as Returns>::Output;

pub trait Returns {
    type Output;
}

impl<O> Returns for fn() -> O {
    type Output = O;
}

impl<'f, T, F, O> IntoFuture for Request<T, UpdateWith<'f, F>>
where
    T: Versioned,
    F: FnMut(&mut T) -> O + Send + 'f,
    O: NoValue,
{
    type Output = Result<Stored<T>>;
    type IntoFuture = BoxedCall<'f, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        observe("update_with", self.table(), async move {
            let (mut session, UpdateWith { key, change, .. }) = Session::<T>::new(self);
            session.modify(&key, || None, infallible(change)).await
        })
    }
}

impl<'f, T, F, E> IntoFuture for Request<T, TryUpdateWith<'f, F>>
where
    T: Versioned,
    F: FnMut(&mut T) -> Result<(), E> + Send + 'f,
    E: From<Error>,
{
    type Output = Result<Stored<T>, E>;
    type IntoFuture = BoxedCall<'f, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        observe_closure("try_update_with", self.table(), async move {
            let (mut session, TryUpdateWith { key, mut change, .. }) = Session::<T>::new(self);
            session.modify(&key, || None, |value| change(value).map_err(CallFailure::Closure)).await
        })
    }
}

impl<'f, T, I, F, O> IntoFuture for Request<T, UpsertWith<'f, I, F>>
where
    T: Versioned,
    I: FnMut() -> T + Send + 'f,
    F: FnMut(&mut T) -> O + Send + 'f,
    O: NoValue,
{
    type Output = Result<Stored<T>>;
    type IntoFuture = BoxedCall<'f, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        observe("upsert_with", self.table(), async move {
            let (mut session, UpsertWith { key, mut init, change, .. }) = Session::<T>::new(self);
            session.modify(&key, || Some(init()), infallible(change)).await
        })
    }
}

pub(crate) fn infallible<T, O, E>(mut change: impl FnMut(&mut T) -> O) -> impl FnMut(&mut T) -> Result<(), E> {
    move |value| {
        change(value);
        Ok(())
    }
}

impl<T: Versioned> Session<T> {
    async fn modify<E: From<Error>>(
        &mut self,
        key: &Key,
        mut init: impl FnMut() -> Option<T>,
        mut change: impl FnMut(&mut T) -> Result<(), E>,
    ) -> Result<Stored<T>, E> {
        let get = self.get(key)?;
        let mut item = self.attempts.read(&get).await?;
        loop {
            let mut expected = None;
            // An expired item counts as absent. A create may overwrite an expired item that has not
            // changed since the read.
            let expired = item.take_if(|item| self.is_expired(item));
            let result = match item {
                Some(item) => {
                    let (value, basis, changes) = changed(self.table(), item, &mut change)?;
                    expected = Some(basis.state.revision.number());
                    if changes.is_empty() {
                        return Ok(Stored::unchanged(value, basis));
                    }
                    self.update(value, ItemChange::Update(basis), changes).await?
                }
                None => {
                    let Some(mut value) = init() else { return Err(self.not_found(key).into()) };
                    change(&mut value)?;
                    // A closure may have set a different key, and the call has not read the item
                    // under this key.
                    if value.key() != *key {
                        return Err(self.key_changed().into());
                    }
                    self.create(value, expired).await?
                }
            };
            let met = match result {
                WriteResult::Applied(stored) => return Ok(stored),
                WriteResult::Conflict(met) => met,
            };
            item = match Box::pin(self.next_run(&get, key, expected, met)).await? {
                NextRun::On(item) => item,
                NextRun::AppliedLate(item) => return Ok(decode_applied(self.table(), item)?),
            };
        }
    }
}

debug_fields!([F] UpdateWith<'_, F>);
debug_fields!([F] TryUpdateWith<'_, F>);
debug_fields!([I, F] UpsertWith<'_, I, F>);
