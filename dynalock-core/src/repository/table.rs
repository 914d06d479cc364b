use std::future::IntoFuture;

use super::{Repository, Request};
use crate::{
    error::Result,
    model::Versioned,
    operation::{Billing, DeletionProtection, TableSettings},
    tables::{self, Creation, TableReport},
    telemetry::{BoxedCall, observe},
};

/// The kind of a [`Request`] that creates a table. [`Repository::create_table`] returns the
/// request.
#[derive(Debug)]
pub struct CreateTable(pub(super) TableSettings);

/// The kind of a [`Request`] that compares a table with its struct. [`Repository::verify_table`]
/// returns the request.
#[derive(Debug)]
pub struct VerifyTable(pub(super) ());

impl<T> Request<T, CreateTable> {
    /// Sets provisioned billing for the new table and for each global index of the table. `read`
    /// and `write` are the read units and the write units per second that DynamoDB provides and
    /// bills, even if no program uses the units. The default billing of a new table is on-demand.
    /// If the table already exists, `create_table` does not change the billing of the table.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # mod shop { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest/shop.rs")); }
    /// # use shop::Product;
    /// # async fn example(products: &dynalock::Repository<Product>) -> dynalock::Result<()> {
    /// products.create_table().provisioned(20, 5).await
    /// # }
    /// ```
    pub fn provisioned(mut self, read: u32, write: u32) -> Self {
        self.kind.0.billing = Billing::Provisioned { read, write };
        self
    }

    /// Protects the new table from deletion. For a protected table, DynamoDB refuses a DeleteTable
    /// request until the deletion protection is disabled. If the table already exists,
    /// `create_table` does not change the deletion protection of the table.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # mod shop { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest/shop.rs")); }
    /// # use shop::Product;
    /// # async fn example(products: &dynalock::Repository<Product>) -> dynalock::Result<()> {
    /// products.create_table().deletion_protection().await
    /// # }
    /// ```
    pub fn deletion_protection(mut self) -> Self {
        self.kind.0.protection = DeletionProtection::On;
        self
    }
}

impl<T: Versioned> IntoFuture for Request<T, CreateTable> {
    type Output = Result<()>;
    type IntoFuture = BoxedCall<'static, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        observe("create_table", self.table(), async move {
            let Self { repository, limits, kind: CreateTable(settings), .. } = self;
            let Repository { connection, table, .. } = &repository;
            // The creation of a table may take a minute, but the call should fail much earlier if
            // the server does not answer the first request.
            let patience = limits.deadline.min(repository.limits.deadline);
            let creation = Creation { connection, table, model: T::MODEL, settings, limits, patience };
            tables::create(creation).await
        })
    }
}

impl<T: Versioned> IntoFuture for Request<T, VerifyTable> {
    type Output = Result<TableReport>;
    type IntoFuture = BoxedCall<'static, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        observe("verify_table", self.table(), async move {
            let Self { repository: Repository { connection, table, .. }, limits, .. } = self;
            tables::verify(&connection, &table, T::MODEL, limits).await
        })
    }
}
