use std::{
    future::{Future, IntoFuture},
    pin::Pin,
};

use super::guard::LeaseGuard;
use crate::{
    error::Result,
    explain::Explained,
    expression::{PatchContent, patch_methods},
    model::Lockable,
    telemetry::observe,
    write::patch::SharedPatch,
};

/// A patch by the holder of a lease. [`LeaseGuard::patch`] returns a `GuardPatch`. Add changes to
/// the patch, then `.await` the patch.
#[must_use = "a patch does nothing until it is awaited"]
pub struct GuardPatch<'g, T> {
    guard: &'g mut LeaseGuard<T>,
    content: SharedPatch<T>,
}

impl<T: Lockable> LeaseGuard<T> {
    /// Changes attributes of the leased item with one request, like
    /// [`Repository::patch`](crate::Repository::patch). DynamoDB refuses the patch if the guard has
    /// lost the lease. The patch renews the lease. After the patch, the guard contains the changed
    /// item.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # use dynalock::condition::Attribute;
    /// # async fn example<T: dynalock::Lockable>(
    /// #     payouts: &dynalock::Repository<T>, key: T::Key, attempts: Attribute<T, u32>,
    /// # ) -> dynalock::Result<()> {
    /// let mut payout = payouts.lock(key).await?;
    /// payout.patch().add(attempts, 1).await?;
    /// # payout.release().await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// - [`Error::Lost`](crate::Error::Lost): the lease has ended, or the item was deleted.
    /// - All errors of [`Repository::patch`](crate::Repository::patch) except `Locked` and
    ///   `NotFound` are possible.
    ///
    /// # Cancel safety
    ///
    /// If the caller drops the future of the patch, DynamoDB may or may not have applied the patch,
    /// and the value in the guard does not change. If a dropped patch had a request in flight, the
    /// next write of the guard first reads the item.
    pub fn patch(&mut self) -> GuardPatch<'_, T> {
        GuardPatch { guard: self, content: SharedPatch::default() }
    }
}

impl<T: Lockable> GuardPatch<'_, T> {
    patch_methods!();

    /// Returns the requests of the patch, with the condition that the guard holds the lease.
    /// `explain` sends no request.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # use dynalock::condition::Attribute;
    /// # async fn example<T: dynalock::Lockable>(
    /// #     payouts: &dynalock::Repository<T>, key: T::Key, attempts: Attribute<T, u32>,
    /// # ) -> dynalock::Result<()> {
    /// let mut payout = payouts.lock(key).await?;
    /// println!("{}", payout.patch().add(attempts, 1).explain()?);
    /// # payout.release().await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// - [`Error::Lost`](crate::Error::Lost): the lease has ended.
    /// - The errors of [`Request::<T, Patch>::explain`](crate::request::Request::explain) are
    ///   possible.
    pub fn explain(&self) -> Result<Explained> {
        self.guard.explain_patch(self.content.clone())
    }

    fn change(&self, change: impl FnOnce(&mut PatchContent<T>)) {
        self.content.change(change);
    }
}

impl<'g, T: Lockable> IntoFuture for GuardPatch<'g, T> {
    type Output = Result<()>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send + 'g>>;

    fn into_future(self) -> Self::IntoFuture {
        let table = self.guard.table();
        observe("lease_patch", table, self.guard.send_patch(self.content))
    }
}

debug_fields!([T] GuardPatch<'_, T>, self => {});
