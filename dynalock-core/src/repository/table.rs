use std::{future::IntoFuture, time::Duration};

use super::{Repository, Request, request::BoxedCall};
use crate::{error::Result, model::Versioned, tables::create};

/// The creation of a table: [`Repository::create_table`].
#[derive(Debug)]
pub struct CreateTable(());

/// Returns a request with a longer deadline, because the creation of a table takes longer than a
/// write.
pub(super) fn request<T: Versioned>(repository: &Repository<T>) -> Request<T, CreateTable> {
    let mut request = repository.request(CreateTable(()));
    request.limits.deadline = Duration::from_mins(1);
    request.limits.attempt_timeout = request.limits.attempt_timeout.max(Duration::from_secs(10));
    request
}

impl<T: Versioned> IntoFuture for Request<T, CreateTable> {
    type Output = Result<()>;
    type IntoFuture = BoxedCall<'static, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move {
            let Self { repository, limits, .. } = self;
            let patience = limits.deadline.min(repository.limits.deadline);
            create(&repository.connection, &repository.table, T::MODEL, limits, patience).await
        })
    }
}
