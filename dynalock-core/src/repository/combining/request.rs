use std::{future::IntoFuture, sync::Arc, time::Duration};

use super::{
    call::call,
    change::CombinedChange,
    queue::{Entered, Queues},
    worker::Worker,
};
use crate::{
    codec::Stored,
    error::Result,
    expression::{PatchContent, patch_methods},
    key::Key,
    model::Versioned,
    repository::{Patch, Repository},
    telemetry::{BoxedCall, observe_closure},
};

/// A call of a [`Combining`](super::Combining) handle that has not been sent. The type parameter
/// `C` is the kind of the call, for example a patch.
///
/// The call enters the queue of its key when the future of the call is polled for the first time. A
/// `CombinedCall` becomes a future by `IntoFuture`, like a [`Request`](crate::request::Request).
#[must_use = "a call does nothing until it is awaited"]
pub struct CombinedCall<T, C> {
    pub(super) repository: Repository<T>,
    pub(super) queues: Arc<Queues<T>>,
    pub(super) key: Key,
    pub(super) deadline: Duration,
    pub(super) change: C,
}

impl<T, C> CombinedCall<T, C> {
    /// Limits the duration of the call, including the time that the call waits in the queue. The
    /// default deadline of a combined call is the deadline of the repository.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # mod shop { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest/shop.rs")); }
    /// # use shop::Product;
    /// # async fn example(products: &dynalock::request::Combining<Product>) -> dynalock::Result<()> {
    /// use std::time::Duration;
    ///
    /// let sale = products.update_with("85123A", |product| product.stock -= 3);
    /// let product = sale.deadline(Duration::from_millis(500)).await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn deadline(mut self, deadline: Duration) -> Self {
        self.deadline = deadline;
        self
    }
}

impl<T: Versioned> CombinedCall<T, Patch<T>> {
    patch_methods!();

    fn change(&self, change: impl FnOnce(&mut PatchContent<T>)) {
        self.change.content.change(change);
    }
}

impl<T, C> IntoFuture for CombinedCall<T, C>
where
    T: Versioned + Clone,
    C: CombinedChange<T>,
{
    type Output = Result<Stored<T>, C::Error>;
    type IntoFuture = BoxedCall<'static, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        let Self { repository, queues, key, deadline, change } = self;
        let table = Arc::clone(&repository.table);
        let call = async move {
            change.check(&repository.table)?;
            let (queued, caller) = call(&repository.table, deadline, change);
            match queues.enter(&key, queued) {
                Entered::First { pauses_until } => {
                    drop(tokio::spawn(Worker::new(repository, key, queues).run(pauses_until)));
                }
                Entered::Behind => {}
            }
            caller.result().await
        };
        observe_closure(C::OPERATION, table, call)
    }
}

debug_fields!([T, C] CombinedCall<T, C>, self => {
    kind: std::any::type_name::<C>(),
    repository: self.repository,
    deadline: self.deadline,
});
