//! Defines [`Intent`]: a change of one item, which makes the request for each attempt of the write.
//! No function of the module `intent` sends a request. If a lease holder writes the leased item,
//! each attempt of the write gets a new heartbeat number.

mod change;
mod put_over;
mod unchecked_delete;

pub(crate) use change::{Change, IntentOf, WholeItem, basis_at};
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

/// A change of one item, independent of the item's type.
pub(crate) trait Intent: Send + Sync {
    fn target(&self) -> Target<'_>;

    fn key(&self) -> Key;

    /// Returns the request of one attempt, with the version and the write ids of the item after the
    /// request.
    fn plan(&self, stamp: WriteStamp, clause: &LeaseClause) -> Result<Plan, Error>;

    /// Returns `true` if DynamoDB could apply two attempts of the write and change the item twice.
    /// Only a patch can change an item twice, because a patch changes the stored value and requires
    /// no version.
    fn is_relative(&self) -> bool {
        matches!(self.target().expected, Expected::Present)
    }

    /// Returns `true` if the item is in the state that the write requires, and the caller's
    /// condition is false for the item. In this case, DynamoDB has applied no attempt, and will
    /// apply no delayed duplicate of an attempt.
    fn is_refused_for_good(&self, _met: Option<&Item>) -> bool {
        false
    }

    /// Returns the lease condition of an attempt that begins now, and the effect of the attempt on
    /// the lease.
    fn clause(&self, repeats: Repeats, companion: CompanionWrite) -> LeaseClause {
        let Target { model, policy, .. } = self.target();
        policy.clause(model, repeats, companion)
    }

    /// Returns the error of a refused write, if the lease of the item has caused the refusal.
    fn lease_error(&self, met: Option<&Item>, judged_at: Option<u64>, spent: Spent) -> Option<Error> {
        self.target().policy.lease_error(&self.item_ref(), met, judged_at, spent)
    }

    fn item_ref(&self) -> ItemRef {
        let Target { table, model, expected, expiry, .. } = self.target();
        ItemRef { table: Arc::clone(table), model, key: self.key(), expected: expected.version(), expiry }
    }
}

/// The properties of a write that are the same for all attempts of the write.
#[derive(Clone, Copy)]
pub(crate) struct Target<'a> {
    pub(crate) table: &'a Arc<str>,
    pub(crate) model: &'static Model,
    /// The state in which the item must be, so that DynamoDB applies the write.
    pub(crate) expected: Expected<'a>,
    /// The rule by which the write requires, changes or ignores the lease of the item.
    pub(crate) policy: &'a LeasePolicy,
    /// The rule that decides whether the item has expired.
    pub(crate) expiry: ItemExpiry,
}

impl Target<'_> {
    /// Returns `true` if a lease in the item may be the reason for a false condition. A create has
    /// no lease condition on the item, because a create requires that the key has no item.
    pub(crate) fn asks_for_lease_in_item(&self) -> bool {
        let rests_on_item = matches!(self.expected, Expected::Unchanged(_) | Expected::Deleted(_) | Expected::Present);
        rests_on_item && self.model.lock_in_item().is_some()
    }
}

/// A change of one item, without borrowed values, for an operation of a transaction.
pub(crate) trait OwnedIntent: Intent {
    /// Returns the state of the item that the write requires, or `None` for a create or a patch.
    fn state(&self) -> Option<&State>;

    /// Changes the operation to fit the stored item. For example, if the stored item has expired, a
    /// create replaces the item.
    fn adapt(&mut self, stored: Option<&Item>) -> Result<Adapted, Error>;

    /// Returns the result of the write: a `Stored<T>`, or `()` for a delete or a patch. `next` is
    /// the state of the item after the write.
    fn into_output(self: Box<Self>, next: Option<Basis>) -> OperationOutput;
}

/// The result of [`OwnedIntent::adapt`]: whether `adapt` has changed the operation to fit the
/// stored item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub(crate) enum Adapted {
    /// The next request differs from the refused request, so DynamoDB may accept the next request.
    Yes,
    /// The next request would equal the refused request, so a retry is useless.
    No,
}

impl Adapted {
    pub(crate) fn if_changed(is_changed: bool) -> Self {
        if is_changed { Self::Yes } else { Self::No }
    }
}

/// The result of one operation of a transaction.
pub(crate) type OperationOutput = Box<dyn Any + Send>;
