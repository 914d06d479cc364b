//! Intents: changes of one item, which make the plans of their writes. No function here sends a
//! request. The plan of an update under a lease takes the next beat of the grant.

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

    /// Returns the plan of one attempt: its write and the revision after it.
    fn plan(&self, stamp: WriteStamp, clause: &LeaseClause) -> Result<Plan, Error>;

    /// Returns whether two attempts of the write could both be applied, because the change depends
    /// on the stored value. Among the intents, only a patch depends on the stored value.
    fn is_relative(&self) -> bool {
        matches!(self.target().expected, Expected::Present)
    }

    /// Returns whether the item is in the state that the write requires, and the condition of the
    /// caller is false for the item. The condition of the caller stays false as long as the item is
    /// in this state. DynamoDB has therefore applied no attempt, and will apply no late copy.
    fn is_refused_for_good(&self, _met: Option<&Item>) -> bool {
        false
    }

    /// Returns the lease clause of an attempt that begins now.
    fn clause(&self, repeats: Repeats, companion: CompanionWrite) -> LeaseClause {
        let Target { model, policy, .. } = self.target();
        policy.clause(model, repeats, companion)
    }

    /// Returns the error of a refused write, if the lease of the item is the reason.
    fn refusal(&self, met: Option<&Item>, judged_at: Option<u64>, spent: Spent) -> Option<Error> {
        self.target().policy.refusal(&self.item_ref(), met, judged_at, spent)
    }

    /// Returns the [`ItemRef`] of the item that the intent writes.
    fn item_ref(&self) -> ItemRef {
        let Target { table, model, expected, expiry, .. } = self.target();
        ItemRef { table: Arc::clone(table), model, key: self.key(), expected: expected.version(), expiry }
    }
}

/// The properties of an intent that are the same for all its attempts.
#[derive(Clone, Copy)]
pub(crate) struct Target<'a> {
    pub(crate) table: &'a Arc<str>,
    pub(crate) model: &'static Model,
    /// The state of the item that the write requires.
    pub(crate) expected: Expected<'a>,
    /// How the write treats the lease of the item.
    pub(crate) policy: &'a LeasePolicy,
    /// The rule by which the item counts as expired.
    pub(crate) expiry: ItemExpiry,
}

impl Target<'_> {
    /// Returns whether a lease in the item may be the reason for a false condition. A create has no
    /// lease condition on the item, because there is no item.
    pub(crate) fn asks_for_lease_in_item(&self) -> bool {
        let rests_on_item = matches!(self.expected, Expected::Unchanged(_) | Expected::Deleted(_) | Expected::Present);
        rests_on_item && self.model.lock_in_item().is_some()
    }
}

/// An intent with its own values, for a transaction.
pub(crate) trait OwnedIntent: Intent {
    /// Returns the state of the item that the write requires, or `None` for a create or a patch.
    fn state(&self) -> Option<&State>;

    /// Adapts the intent to the item that is stored under the key, for example to an expired item.
    fn adapt(&mut self, stored: Option<&Item>) -> Result<Adapted, Error>;

    /// Returns the result of the write: a `Stored<T>`, or `()` for a delete. `next` comes from the
    /// plan.
    fn into_output(self: Box<Self>, next: Option<Basis>) -> OperationOutput;
}

/// Whether an intent has been changed to fit the stored item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub(crate) enum Adapted {
    /// The next plan differs from the last plan, so DynamoDB may accept the next plan.
    Yes,
    /// The next plan is the same as the last plan.
    No,
}

impl Adapted {
    pub(crate) fn if_changed(is_changed: bool) -> Self {
        if is_changed { Self::Yes } else { Self::No }
    }
}

/// The result of one operation of a transaction.
pub(crate) type OperationOutput = Box<dyn Any + Send>;
