use std::{
    future::{Future, IntoFuture},
    pin::Pin,
    sync::Arc,
    time::Duration,
};

use super::settings::{MODEL, Settings};
use crate::{
    error::Result,
    operation::{Billing, DeletionProtection, TableSettings},
    retry::Limits,
    tables::{self, Creation},
    telemetry::observe,
};

/// A request that creates a table of locks. [`Locks::create_table`](super::Locks::create_table)
/// returns this request. Change the settings of the request, then `.await` the request.
#[must_use = "a table is created only when this is awaited"]
pub struct CreateLockTable {
    locks: Settings,
    table: TableSettings,
    deadline: Duration,
}

impl CreateLockTable {
    pub(super) fn new(locks: Settings) -> Self {
        Self { locks, table: TableSettings::default(), deadline: Duration::from_mins(1) }
    }

    /// Sets provisioned billing for the new table. With provisioned billing, DynamoDB bills the
    /// given numbers of read units and write units per second, even if the program does not use the
    /// units. Without `provisioned`, the new table has on-demand billing. An existing table keeps
    /// its billing.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # async fn example(locks: &dynalock::Locks) -> dynalock::Result<()> {
    /// locks.create_table().provisioned(20, 20).await
    /// # }
    /// ```
    pub fn provisioned(mut self, read: u32, write: u32) -> Self {
        self.table.billing = Billing::Provisioned { read, write };
        self
    }

    /// Protects the new table from deletion. DynamoDB refuses a DeleteTable until an administrator
    /// switches the protection off. If the table already exists, `create_table` does not change the
    /// deletion protection of the table.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # async fn example(locks: &dynalock::Locks) -> dynalock::Result<()> {
    /// locks.create_table().deletion_protection().await
    /// # }
    /// ```
    pub fn deletion_protection(mut self) -> Self {
        self.table.protection = DeletionProtection::On;
        self
    }

    /// Limits the time of the call that creates the table. The default deadline of the call is one
    /// minute.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # async fn example(locks: &dynalock::Locks) -> dynalock::Result<()> {
    /// use std::time::Duration;
    ///
    /// locks.create_table().deadline(Duration::from_mins(5)).await
    /// # }
    /// ```
    pub fn deadline(mut self, deadline: Duration) -> Self {
        self.deadline = deadline;
        self
    }
}

impl IntoFuture for CreateLockTable {
    type Output = Result<()>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        observe("create_table", Arc::clone(&self.locks.table), async move {
            let Self { locks: Settings { connection, table, limits, .. }, table: settings, deadline } = self;
            let patience = deadline.min(limits.deadline);
            let limits = Limits { deadline, ..limits.of_creation() };
            let (connection, table) = (&connection, &table);
            tables::create(Creation { connection, table, model: &MODEL, settings, limits, patience }).await
        })
    }
}

debug_fields!(CreateLockTable, self => { table: self.locks.table });
