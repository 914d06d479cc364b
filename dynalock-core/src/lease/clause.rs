//! What a write asks of the lease on its item, and does to it.

use std::sync::Arc;

use aws_sdk_dynamodb::types::AttributeValue;

use crate::{
    codec::Item,
    expression::{Name, Placeholders, Value},
    model::{LockModel, Model},
};

/// How a write stands to the lease on its item.
#[derive(Debug, Clone)]
pub(crate) enum LeaseClause {
    /// It does not ask: the type has no leases, or the caller ignores them.
    Ignoring,
    /// Everybody's: there must be no lease that is alive, and one that is dead is taken away, so that no late heartbeat revives it.
    Outside {
        /// Epoch milliseconds: a lease that ended before is dead. Nothing if none is, whatever its end.
        dead_before: Option<u64>,
    },
    /// The holder's: its lease must be there still.
    Holder(HolderProof),
}

/// The lease of a holder, and what a write of it does to it.
#[derive(Debug, Clone)]
pub(crate) struct HolderProof {
    pub(crate) hold: GrantKind,
    pub(crate) owner: Arc<str>,
    pub(crate) fence: u64,
    pub(crate) then: LeaseEffect,
}

/// By what a lease is held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum GrantKind {
    /// By being the owner; the fence attribute is the fence.
    Plain,
    /// By being the head of the queue. The fence attribute is one less than the fence: it is raised by whoever takes the head away, so that
    /// to enter the queue is one write, whether it is empty or not.
    Fair,
}

impl GrantKind {
    /// The fence of a holder, by what the fence attribute says while it holds.
    pub(crate) fn fence(self, stored: u64) -> u64 {
        match self {
            Self::Plain => stored,
            Self::Fair => stored.saturating_add(1),
        }
    }

    /// What the fence attribute says while a lease under this fence is held.
    pub(crate) fn stored_fence(self, fence: u64) -> u64 {
        match self {
            Self::Plain => fence,
            Self::Fair => fence.saturating_sub(1),
        }
    }
}

/// What a holder's write does to its lease.
#[derive(Debug, Clone, Copy)]
pub(crate) enum LeaseEffect {
    /// Nothing.
    Keep,
    /// It renews it: a heartbeat for free.
    Renew {
        beat: u64,
        /// Epoch milliseconds.
        until: u64,
    },
    /// It ends it.
    Release {
        /// Epoch milliseconds now.
        at: u64,
    },
}

/// Whether a write ends the lease that it is made under.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AfterWrite {
    Renew,
    Release,
}

/// What a write does to a lease.
#[derive(Default)]
pub(crate) struct LeaseUpdate {
    pub(crate) set: Vec<(Name, Value)>,
    pub(crate) remove: Vec<Name>,
    /// The queue whose head goes.
    pub(crate) leave: Option<Name>,
}

impl LeaseClause {
    /// What must be true of the lease in the item.
    pub(crate) fn condition(&self, model: &Model, to: &mut Placeholders) -> Option<String> {
        self.condition_of(&model.lock_in_item()?, to)
    }

    /// What the write does to the lease in the item.
    pub(crate) fn effect(&self, model: &Model, to: &mut Placeholders) -> LeaseUpdate {
        model.lock_in_item().map(|lock| self.effect_of(&lock, to)).unwrap_or_default()
    }

    /// Does to an item what the write does to the lease in it.
    pub(crate) fn apply(&self, model: &Model, item: &mut Item) {
        let mut to = Placeholders::default();
        let LeaseUpdate { set, remove, leave } = self.effect(model, &mut to);
        for name in remove {
            item.remove(to.name_of(name));
        }
        for (name, value) in set {
            item.insert(to.name_of(name).to_owned(), to.value_of(value).clone());
        }
        if let Some(AttributeValue::L(queue)) = leave.and_then(|queue| item.get_mut(to.name_of(queue))) {
            queue.drain(..1.min(queue.len()));
        }
    }

    /// What must be true of the lease in the row beside the item; nothing if it is not asked.
    pub(crate) fn condition_beside(&self, model: &Model, to: &mut Placeholders) -> Option<String> {
        self.condition_of(&model.lock_beside()?, to)
    }

    /// What the write does to that row. It does not touch one that it need not: so none comes to be for an item that nobody leases, and
    /// heartbeats are not in the way of writers who only look.
    pub(crate) fn update_beside(&self, model: &Model, to: &mut Placeholders) -> Option<String> {
        let lock = model.lock_beside()?;
        let LeaseUpdate { set, remove, leave } = match self {
            Self::Outside { dead_before: None } => return None,
            Self::Ignoring | Self::Outside { .. } | Self::Holder(_) => self.effect_of(&lock, to),
        };
        let set: Vec<_> = set.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let leave = leave.map(|queue| format!("{queue}[0]"));
        let remove: Vec<_> = remove.iter().map(Name::to_string).chain(leave).collect();
        let clauses = [("SET", set), ("REMOVE", remove)].into_iter().filter(|(_, options)| !options.is_empty());
        let clauses: Vec<_> = clauses.map(|(verb, options)| format!("{verb} {}", options.join(","))).collect();
        (!clauses.is_empty()).then(|| clauses.join(" "))
    }

    fn condition_of(&self, lock: &LockModel, to: &mut Placeholders) -> Option<String> {
        match self {
            Self::Ignoring => None,
            Self::Outside { dead_before } => Some(free(lock, *dead_before, to)),
            Self::Holder(holder) => Some(held(lock, holder, to)),
        }
    }

    fn effect_of(&self, lock: &LockModel, to: &mut Placeholders) -> LeaseUpdate {
        match self {
            Self::Ignoring => LeaseUpdate::default(),
            Self::Outside { .. } => {
                LeaseUpdate { remove: vec![to.name(lock.owner), to.name(lock.until)], ..LeaseUpdate::default() }
            }
            Self::Holder(holder) => holder.effect(lock, to),
        }
    }
}

impl HolderProof {
    fn effect(&self, lock: &LockModel, to: &mut Placeholders) -> LeaseUpdate {
        match (self.then, self.hold) {
            (LeaseEffect::Keep, _) => LeaseUpdate::default(),
            (LeaseEffect::Renew { beat, until }, _) => {
                let beat = (to.name(lock.beat), to.value(number(beat)));
                let until = (to.name(lock.until), to.value(number(lock.unit.end(until))));
                LeaseUpdate { set: vec![beat, until], ..LeaseUpdate::default() }
            }
            (LeaseEffect::Release { .. }, GrantKind::Plain) => LeaseUpdate {
                set: vec![self.released(lock, to)],
                remove: vec![to.name(lock.owner), to.name(lock.until)],
                leave: None,
            },
            (LeaseEffect::Release { at }, GrantKind::Fair) => {
                let turn = (to.name(lock.turn), to.value(number(at)));
                let fence = (to.name(lock.fence), to.value(number(self.fence)));
                LeaseUpdate {
                    set: vec![self.released(lock, to), turn, fence],
                    remove: vec![to.name(lock.beat), to.name(lock.until)],
                    leave: Some(to.name(lock.queue)),
                }
            }
        }
    }

    fn released(&self, lock: &LockModel, to: &mut Placeholders) -> (Name, Value) {
        (to.name(lock.released), to.value(AttributeValue::S(self.owner.to_string())))
    }
}

/// Nobody holds it and nobody waits in its queue.
fn free(lock: &LockModel, dead_before: Option<u64>, to: &mut Placeholders) -> String {
    let (owner, queue) = (to.name(lock.owner), to.name(lock.queue));
    match dead_before {
        // DynamoDB refuses a name that no expression uses.
        None => format!("attribute_not_exists({owner}) AND attribute_not_exists({queue}[0])"),
        Some(moment) => {
            let (until, moment) = (to.name(lock.until), to.value(number(lock.unit.moment(moment))));
            format!("(attribute_not_exists({owner}) OR {until} < {moment}) AND attribute_not_exists({queue}[0])")
        }
    }
}

fn held(lock: &LockModel, HolderProof { hold, owner, fence, then }: &HolderProof, to: &mut Placeholders) -> String {
    let me = to.value(AttributeValue::S(owner.to_string()));
    let fence = to.value(number(hold.stored_fence(*fence)));
    let held = match hold {
        GrantKind::Plain => format!("{} = {me} AND {} = {fence}", to.name(lock.owner), to.name(lock.fence)),
        GrantKind::Fair => format!("{}[0] = {me} AND {} = {fence}", to.name(lock.queue), to.name(lock.fence)),
    };
    match (then, hold) {
        (LeaseEffect::Keep | LeaseEffect::Release { .. }, _) => held,
        // Without that, a late copy of the write would shorten the lease.
        (LeaseEffect::Renew { beat, .. }, GrantKind::Plain) => {
            format!("{held} AND {} < {}", to.name(lock.beat), to.value(number(*beat)))
        }
        // The head has not beaten yet when it enters.
        (LeaseEffect::Renew { beat, .. }, GrantKind::Fair) => {
            let (name, beat) = (to.name(lock.beat), to.value(number(*beat)));
            format!("{held} AND (attribute_not_exists({name}) OR {name} < {beat})")
        }
    }
}

fn number(number: u64) -> AttributeValue {
    AttributeValue::N(number.to_string())
}
