//! Defines [`Intent`]: a change of one item. The module `intent` sends no requests.

mod change;
mod put_over;
mod unchecked_delete;

pub(crate) use change::{IntentOf, ItemChange, WholeItem, basis_at};
pub(crate) use put_over::{PutOver, with_lease};
pub(crate) use unchecked_delete::UncheckedDelete;

use std::{any::Any, sync::Arc};

use super::{plan::Plan, stamp::WriteStamp};
use crate::{
    codec::{Basis, Item, State},
    error::{Error, Spent},
    key::Key,
    lease::{LeasePolicy, clause::LeaseClause, policy::CompanionWrite},
    model::{ItemExpiry, ItemRef, Model},
    version::{Expected, Repeats},
};

/// A change of one item. The trait does not name the Rust type of the item, so that one list can
/// contain changes of several types. An intent builds a new request for each attempt, because the
/// requests of one write can differ between attempts. For example, each attempt that renews a lease
/// stores a higher heartbeat number.
pub(crate) trait Intent: Send + Sync {
    fn target(&self) -> Target<'_>;

    fn key(&self) -> Key;

    fn plan(&self, stamp: WriteStamp, clause: &LeaseClause) -> Result<Plan, Error>;

    /// Returns `true` if a second applied attempt of the write would change the item again. Only a
    /// patch is such a write.
    fn is_relative(&self) -> bool {
        matches!(self.target().expected, Expected::Present)
    }

    /// Returns `true` if the item is in the state that the write requires, and the caller's
    /// condition is false for the item. If `is_refused_for_good` returns `true`, DynamoDB has
    /// applied no attempt, and will apply no delayed duplicate.
    fn is_refused_for_good(&self, _met: Option<&Item>) -> bool {
        false
    }

    fn clause(&self, repeats: Repeats, companion: CompanionWrite) -> LeaseClause {
        let Target { model, policy, .. } = self.target();
        policy.clause(model, repeats, companion)
    }

    fn lease_error(&self, met: Option<&Item>, judged_at: Option<u64>, spent: Spent) -> Option<Error> {
        self.target().policy.lease_error(&self.item_ref(), met, judged_at, spent)
    }

    fn item_ref(&self) -> ItemRef {
        let Target { table, model, expected, expiry, .. } = self.target();
        ItemRef { table: Arc::clone(table), model, key: self.key(), expected: expected.version(), expiry }
    }
}

#[derive(Clone, Copy)]
pub(crate) struct Target<'a> {
    pub(crate) table: &'a Arc<str>,
    pub(crate) model: &'static Model,
    /// The state of the item that the condition of the write requires.
    pub(crate) expected: Expected<'a>,
    pub(crate) policy: &'a LeasePolicy,
    pub(crate) expiry: ItemExpiry,
}

impl Target<'_> {
    /// Returns `true` if a lease in the item may be the reason for a false condition. A create has
    /// no lease condition on the item, because a create requires a missing item.
    pub(crate) fn asks_for_lease_in_item(&self) -> bool {
        let rests_on_item = matches!(self.expected, Expected::Unchanged(_) | Expected::Deleted(_) | Expected::Present);
        rests_on_item && self.model.lock_in_item().is_some()
    }
}

pub(crate) trait OwnedIntent: Intent {
    fn state(&self) -> Option<&State>;

    /// Adapts the write to the stored item: for example, the next attempt of a create then replaces
    /// an expired item.
    fn adapt(&mut self, stored: Option<&Item>) -> Result<Adapted, Error>;

    /// Returns the result of the write: a `Stored<T>`, or `()` for a delete or a patch. `next` is
    /// the state of the item after the write.
    fn into_output(self: Box<Self>, next: Option<Basis>) -> OperationOutput;
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub(crate) enum Adapted {
    Yes,
    /// `adapt` has not changed the write, so another attempt would send the same request.
    No,
}

impl Adapted {
    pub(crate) fn if_changed(is_changed: bool) -> Self {
        if is_changed { Self::Yes } else { Self::No }
    }
}

pub(crate) type OperationOutput = Box<dyn Any + Send>;
