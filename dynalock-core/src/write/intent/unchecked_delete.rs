use std::sync::Arc;

use super::{Intent, Target};
use crate::{
    error::Error,
    expression::{Condition, Placeholders},
    key::Key,
    lease::{LeasePolicy, clause::LeaseClause},
    model::{ItemRef, Versioned},
    operation::{Action, Write},
    version::Expected,
    write::{
        key::checked_key,
        plan::{Plan, check_size},
        stamp::WriteStamp,
    },
};

/// A delete of an item in any state. The caller's condition is the only condition of the delete.
pub(crate) struct UncheckedDelete<T> {
    pub(crate) item_ref: ItemRef,
    pub(crate) condition: Option<Arc<Condition<T>>>,
}

impl<T: Versioned> Intent for UncheckedDelete<T> {
    fn target(&self) -> Target<'_> {
        let ItemRef { table, model, expiry, .. } = &self.item_ref;
        Target { table, model, expected: Expected::Anything, policy: &LeasePolicy::Ignoring, expiry: *expiry }
    }

    fn key(&self) -> Key {
        self.item_ref.key.clone()
    }

    fn plan(&self, _: WriteStamp, _: &LeaseClause) -> Result<Plan, Error> {
        let ItemRef { table, model, key, .. } = &self.item_ref;
        let key = checked_key(model, table, key)?;
        let mut to = Placeholders::default();
        let condition = self.condition.as_ref().map(|condition| condition.render(table, &mut to)).transpose()?;
        let write = Write::new(table, key, Action::Delete, condition, to);
        check_size(&write)?;
        Ok(Plan::alone(write))
    }
}
