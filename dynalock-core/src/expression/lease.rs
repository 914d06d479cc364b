//! What a write asks of the lease on its item, and does to it.

use std::sync::Arc;

use aws_sdk_dynamodb::types::AttributeValue;

use super::{Name, Placeholders, Value};
use crate::model::{LockModel, Model};

/// How a write stands to the lease on its item.
#[derive(Debug, Clone)]
pub(crate) enum Standing {
    /// It does not ask: the type has no leases, or the caller ignores them.
    Ignoring,
    /// Everybody's: there must be no lease that is alive, and one that is dead is taken away, so that no late heartbeat revives it.
    Outside {
        /// Epoch milliseconds: a lease that ended before is dead. Nothing if none is, whatever its end.
        dead_before: Option<u64>,
    },
    /// The holder's: its lease must be there still.
    Holder(Holder),
}

/// The lease of a holder, and what a write of it does to it.
#[derive(Debug, Clone)]
pub(crate) struct Holder {
    pub(crate) owner: Arc<str>,
    pub(crate) fence: u64,
    pub(crate) then: Then,
}

/// What a holder's write does to its lease.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Then {
    /// Nothing.
    Keep,
    /// It renews it: a heartbeat for free.
    Renew {
        beat: u64,
        /// Epoch milliseconds.
        until: u64,
    },
    /// It ends it.
    Release,
}

impl Standing {
    /// What must be true of the lease in the item.
    pub(crate) fn condition(&self, model: &Model, to: &mut Placeholders) -> Option<String> {
        self.condition_of(&model.lock_in_item()?, to)
    }

    /// What the write does to the lease in the item.
    pub(crate) fn changes(&self, model: &Model, to: &mut Placeholders) -> (Vec<(Name, Value)>, Vec<Name>) {
        model.lock_in_item().map(|lock| self.changes_of(&lock, to)).unwrap_or_default()
    }

    /// What must be true of the lease in the row beside the item; nothing if it is not asked.
    pub(crate) fn condition_beside(&self, model: &Model, to: &mut Placeholders) -> Option<String> {
        self.condition_of(&model.lock_beside()?, to)
    }

    /// What the write does to that row. It does not touch one that it need not: so none comes to be for an item that nobody leases, and
    /// heartbeats are not in the way of writers who only look.
    pub(crate) fn update_beside(&self, model: &Model, to: &mut Placeholders) -> Option<String> {
        let lock = model.lock_beside()?;
        let (set, remove) = match self {
            Self::Outside { dead_before: None } => return None,
            Self::Ignoring | Self::Outside { .. } | Self::Holder(_) => self.changes_of(&lock, to),
        };
        let set: Vec<_> = set.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let remove: Vec<_> = remove.iter().map(Name::to_string).collect();
        let clauses = [("SET", set), ("REMOVE", remove)].into_iter().filter(|(_, terms)| !terms.is_empty());
        let clauses: Vec<_> = clauses.map(|(verb, terms)| format!("{verb} {}", terms.join(","))).collect();
        (!clauses.is_empty()).then(|| clauses.join(" "))
    }

    fn condition_of(&self, lock: &LockModel, to: &mut Placeholders) -> Option<String> {
        match self {
            Self::Ignoring => None,
            Self::Outside { dead_before } => Some(free(lock, *dead_before, to)),
            Self::Holder(holder) => Some(held(lock, holder, to)),
        }
    }

    fn changes_of(&self, lock: &LockModel, to: &mut Placeholders) -> (Vec<(Name, Value)>, Vec<Name>) {
        match self {
            Self::Ignoring => (Vec::new(), Vec::new()),
            Self::Outside { .. } => (Vec::new(), vec![to.name(lock.owner), to.name(lock.until)]),
            Self::Holder(Holder { owner, then, .. }) => match then {
                Then::Keep => (Vec::new(), Vec::new()),
                Then::Renew { beat, until } => {
                    let beat = (to.name(lock.beat), to.value(number(*beat)));
                    (vec![beat, (to.name(lock.until), to.value(number(lock.unit.end(*until))))], Vec::new())
                }
                Then::Release => {
                    let released = (to.name(lock.released), to.value(AttributeValue::S(owner.to_string())));
                    (vec![released], vec![to.name(lock.owner), to.name(lock.until)])
                }
            },
        }
    }
}

fn free(lock: &LockModel, dead_before: Option<u64>, to: &mut Placeholders) -> String {
    let owner = to.name(lock.owner);
    match dead_before {
        // DynamoDB refuses a name that no expression uses.
        None => format!("attribute_not_exists({owner})"),
        Some(moment) => {
            let (until, moment) = (to.name(lock.until), to.value(number(lock.unit.moment(moment))));
            format!("(attribute_not_exists({owner}) OR {until} < {moment})")
        }
    }
}

fn held(lock: &LockModel, Holder { owner, fence, then }: &Holder, to: &mut Placeholders) -> String {
    let me = to.value(AttributeValue::S(owner.to_string()));
    let fence = to.value(number(*fence));
    let held = format!("{} = {me} AND {} = {fence}", to.name(lock.owner), to.name(lock.fence));
    match then {
        // Without that, a late copy of the write would shorten the lease.
        Then::Renew { beat, .. } => format!("{held} AND {} < {}", to.name(lock.beat), to.value(number(*beat))),
        Then::Keep | Then::Release => held,
    }
}

fn number(number: u64) -> AttributeValue {
    AttributeValue::N(number.to_string())
}
