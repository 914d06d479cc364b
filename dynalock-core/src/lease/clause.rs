use std::sync::Arc;

use aws_sdk_dynamodb::types::AttributeValue;

use super::{
    owner::Owner,
    record::{GrantKind, LockRecord, Observation, Waiters},
};
use crate::{
    codec::Item,
    error::Lost,
    expression::{Joined, NamePlaceholder, Placeholders, ValuePlaceholder},
    model::{LockModel, Model},
};

#[derive(Debug, Clone)]
pub(crate) enum LeaseClause {
    Ignoring,
    /// The write comes from a caller that does not hold the lease.
    Outside {
        /// The time, in epoch milliseconds, with which the condition compares the end of the lease.
        /// With `None`, DynamoDB refuses the write even if the stored lease has ended.
        expired_before: Option<u64>,
    },
    Holder(HolderProof),
}

#[derive(Debug, Clone)]
pub(crate) struct HolderProof {
    pub(crate) kind: GrantKind,
    pub(crate) owner: Arc<str>,
    pub(crate) fence: u64,
    pub(crate) effect: LeaseEffect,
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum LeaseEffect {
    Keep,
    Renew { beat: u64, until: u64 },
    Release { now: u64 },
}

/// The effect of a holder's write on the lease.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AfterWrite {
    Renew,
    Release,
    /// The write deletes the item together with a lease in the item, or deletes the item and
    /// releases a lease in a separate row.
    Delete,
}

#[derive(Debug, Clone)]
pub(crate) enum Expired {
    Nobody,
    /// The request may take over any lease that ended before the given time, in epoch milliseconds.
    EndedBefore(u64),
    /// The request may take over the lease if the row still contains the lease attributes of the
    /// [`Observation`].
    Silent(Box<Observation>),
}

#[derive(Default)]
pub(crate) struct LeaseUpdate {
    pub(crate) set: Vec<(NamePlaceholder, ValuePlaceholder)>,
    pub(crate) remove: Vec<NamePlaceholder>,
    /// The name of the queue attribute whose first entry the request removes.
    pub(crate) leave: Option<NamePlaceholder>,
}

impl LeaseClause {
    pub(crate) fn condition(&self, model: &Model, to: &mut Placeholders) -> Option<String> {
        self.condition_of(&model.lock_in_item()?, to)
    }

    pub(crate) fn effect(&self, model: &Model, to: &mut Placeholders) -> LeaseUpdate {
        model.lock_in_item().map(|lock| self.effect_of(&lock, to)).unwrap_or_default()
    }

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

    pub(crate) fn row_condition(&self, model: &Model, to: &mut Placeholders) -> Option<String> {
        self.condition_of(&model.lock_in_row()?, to)
    }

    /// Returns `None` if the write needs only a condition check of the lease row, and no update. A
    /// condition check creates no lease row for an item that was never leased.
    pub(crate) fn row_update(&self, model: &Model, to: &mut Placeholders) -> Option<String> {
        let lock = model.lock_in_row()?;
        match self {
            Self::Outside { expired_before: None } => None,
            Self::Ignoring | Self::Outside { .. } | Self::Holder(_) => self.effect_of(&lock, to).text(Vec::new()),
        }
    }

    fn condition_of(&self, lock: &LockModel, to: &mut Placeholders) -> Option<String> {
        match self {
            Self::Ignoring => None,
            Self::Outside { expired_before } => {
                let expired = expired_before.map_or(Expired::Nobody, Expired::EndedBefore);
                Some(format!("{} AND {}", not_owned(lock, &expired, to), queue_is_empty(lock, to)))
            }
            Self::Holder(HolderProof { kind, owner, fence, effect }) => {
                let owner = to.value(text(owner));
                let held = held(lock, *kind, owner, *fence, to);
                Some(match effect {
                    LeaseEffect::Keep | LeaseEffect::Release { .. } => held,
                    // Without a condition on the heartbeat number, a delayed duplicate of the
                    // holder's write could move the end of the lease to an earlier time.
                    LeaseEffect::Renew { beat, .. } => {
                        let beat = to.value(number(*beat));
                        format!("{held} AND {}", beat_is_below(lock, *kind, beat, to))
                    }
                })
            }
        }
    }

    fn effect_of(&self, lock: &LockModel, to: &mut Placeholders) -> LeaseUpdate {
        match self {
            Self::Ignoring => LeaseUpdate::default(),
            Self::Outside { .. } => without_owner(lock, to),
            Self::Holder(holder) => holder.effect_of(lock, to),
        }
    }
}

impl HolderProof {
    fn effect_of(&self, lock: &LockModel, to: &mut Placeholders) -> LeaseUpdate {
        match (self.effect, self.kind) {
            (LeaseEffect::Keep, _) => LeaseUpdate::default(),
            (LeaseEffect::Renew { beat, until }, _) => {
                let beat = to.value(number(beat));
                renewed(lock, beat, until, to)
            }
            (LeaseEffect::Release { .. }, GrantKind::Plain) => {
                let owner = to.value(text(&self.owner));
                released(lock, owner, to)
            }
            (LeaseEffect::Release { now }, GrantKind::Fair) => {
                let now = to.value(number(now));
                // The holder does not know whether the queue has another entry, so the write
                // removes only the head.
                let mut update = next_turn(lock, Waiters::Some, now, to);
                // A PutItem of the whole item cannot compute the next fence, so the write contains
                // the fence as a constant. The condition of the write requires that the stored
                // fence has not changed.
                update.set.push((to.name(lock.fence), to.value(number(self.fence))));
                // After a lost reply, the released owner in the item proves that DynamoDB applied
                // the write.
                update.set.push((to.name(lock.released), to.value(text(&self.owner))));
                update
            }
        }
    }

    /// `met` is the item or the lease row that DynamoDB returned with the refusal.
    pub(crate) fn lost(&self, lock: LockModel, met: Option<&Item>) -> Option<Lost> {
        let Some(item) = met else { return Some(Lost::Deleted) };
        let record = LockRecord::read(&lock, item);
        match record.holder() {
            Some(holder) if *holder == *self.owner => match record.last_fence() == Some(self.fence) {
                true => None,
                // After the end of the holder's grant, DynamoDB has granted the lock to a delayed
                // duplicate of the holder's acquire request.
                false => Some(Lost::Expired),
            },
            Some(holder) => {
                Some(Lost::Stolen { by: Owner::parse(holder).label.into(), fence: record.last_fence().unwrap_or(0) })
            }
            None => Some(Lost::Expired),
        }
    }
}

impl LeaseUpdate {
    /// `terms` are assignments whose values DynamoDB computes.
    pub(super) fn text(self, terms: Vec<String>) -> Option<String> {
        let Self { set, remove, leave } = self;
        let (has_set, has_remove) = (!set.is_empty() || !terms.is_empty(), !remove.is_empty() || leave.is_some());
        let mut text = Joined::new(if has_set { "SET " } else { "" }, ",");
        for (name, value) in set {
            text.assign(name, value);
        }
        for term in terms {
            text.push(format_args!("{term}"));
        }
        let mut text = text.finish();
        if has_remove {
            text.push_str(if has_set { " REMOVE " } else { "REMOVE " });
            let mut removed = Joined::new(&text, ",");
            for name in remove {
                removed.push(format_args!("{name}"));
            }
            if let Some(queue) = leave {
                removed.push(format_args!("{queue}[0]"));
            }
            text = removed.finish();
        }
        (has_set || has_remove).then_some(text)
    }
}

pub(super) fn not_owned(lock: &LockModel, expired: &Expired, to: &mut Placeholders) -> String {
    let owner = to.name(lock.owner);
    match has_expired(lock, expired, to) {
        None => format!("attribute_not_exists({owner})"),
        Some(expired) => format!("(attribute_not_exists({owner}) OR {expired})"),
    }
}

pub(super) fn has_expired(lock: &LockModel, expired: &Expired, to: &mut Placeholders) -> Option<String> {
    match expired {
        Expired::Nobody => None,
        Expired::EndedBefore(moment) => {
            let (until, moment) = (to.name(lock.until), to.value(number(lock.unit.moment(*moment))));
            Some(format!("{until} < {moment}"))
        }
        Expired::Silent(seen) => {
            let owner = same(lock.owner, Some(&seen.holder), to);
            Some(format!("{owner} AND {}", is_as_observed(lock, seen, to)))
        }
    }
}

pub(super) fn is_as_observed(lock: &LockModel, seen: &Observation, to: &mut Placeholders) -> String {
    let signs = [(lock.fence, &seen.stored_fence), (lock.beat, &seen.beat), (lock.until, &seen.end)];
    signs.map(|(name, value)| same(name, value.as_ref(), to)).join(" AND ")
}

pub(super) fn same(name: &str, seen: Option<&AttributeValue>, to: &mut Placeholders) -> String {
    let name = to.name(name);
    match seen {
        Some(value) => format!("{name} = {}", to.value(value.clone())),
        None => format!("attribute_not_exists({name})"),
    }
}

pub(super) fn queue_is_empty(lock: &LockModel, to: &mut Placeholders) -> String {
    format!("attribute_not_exists({}[0])", to.name(lock.queue))
}

/// Returns the condition that `owner` is not the last owner that released the lock. With this
/// condition, DynamoDB refuses a delayed request of this owner to acquire the lock or to enter the
/// queue.
pub(super) fn not_released(lock: &LockModel, owner: ValuePlaceholder, to: &mut Placeholders) -> String {
    format!("{} <> {owner}", to.name(lock.released))
}

pub(super) fn is_holder(lock: &LockModel, kind: GrantKind, owner: ValuePlaceholder, to: &mut Placeholders) -> String {
    match kind {
        GrantKind::Plain => format!("{} = {owner}", to.name(lock.owner)),
        GrantKind::Fair => format!("{}[0] = {owner}", to.name(lock.queue)),
    }
}

pub(super) fn held(
    lock: &LockModel,
    kind: GrantKind,
    owner: ValuePlaceholder,
    fence: u64,
    to: &mut Placeholders,
) -> String {
    let fence = to.value(number(kind.stored_fence(fence)));
    format!("{} AND {} = {fence}", is_holder(lock, kind, owner, to), to.name(lock.fence))
}

/// Two processes with the same lock token may send the same heartbeat number, so DynamoDB must
/// refuse a heartbeat whose number equals the stored number. The condition is true for every stored
/// number below the number of the heartbeat, because the holder does not know the exact stored
/// number after a lost reply.
pub(super) fn beat_is_below(
    lock: &LockModel,
    kind: GrantKind,
    beat: ValuePlaceholder,
    to: &mut Placeholders,
) -> String {
    let name = to.name(lock.beat);
    match kind {
        GrantKind::Plain => format!("{name} < {beat}"),
        // Before the first heartbeat of a queue's head, the lock's row has no heartbeat number.
        GrantKind::Fair => format!("(attribute_not_exists({name}) OR {name} < {beat})"),
    }
}

pub(super) fn renewed(lock: &LockModel, beat: ValuePlaceholder, until: u64, to: &mut Placeholders) -> LeaseUpdate {
    let until = (to.name(lock.until), to.value(number(lock.unit.end(until))));
    LeaseUpdate { set: vec![(to.name(lock.beat), beat), until], ..LeaseUpdate::default() }
}

pub(super) fn released(lock: &LockModel, owner: ValuePlaceholder, to: &mut Placeholders) -> LeaseUpdate {
    LeaseUpdate { set: vec![(to.name(lock.released), owner)], ..without_owner(lock, to) }
}

pub(super) fn without_owner(lock: &LockModel, to: &mut Placeholders) -> LeaseUpdate {
    LeaseUpdate { remove: vec![to.name(lock.owner), to.name(lock.until)], ..LeaseUpdate::default() }
}

/// Returns the changes that make the second entry of the queue the first entry, or remove the queue
/// if no caller waits. The caller of `next_turn` must add the increment of the fence
/// ([`next_fence`]) to the same update.
pub(super) fn next_turn(
    lock: &LockModel,
    waiters: Waiters,
    now: ValuePlaceholder,
    to: &mut Placeholders,
) -> LeaseUpdate {
    let [queue, turn, beat, until] = [lock.queue, lock.turn, lock.beat, lock.until].map(|name| to.name(name));
    match waiters {
        Waiters::None => LeaseUpdate { remove: vec![beat, until, queue, turn], ..LeaseUpdate::default() },
        Waiters::Some => LeaseUpdate { set: vec![(turn, now)], remove: vec![beat, until], leave: Some(queue) },
    }
}

pub(super) fn next_fence(lock: &LockModel, now: ValuePlaceholder, to: &mut Placeholders) -> String {
    let (fence, one) = (to.name(lock.fence), to.value(number(1)));
    // A new row must not reuse the fences of a deleted row, so the first fence depends on the
    // current time. The current time is higher than the fences of a deleted row, unless the lock
    // was granted more than once per millisecond on average.
    format!("{fence}=if_not_exists({fence},{now})+{one}")
}

pub(super) fn text(text: &str) -> AttributeValue {
    AttributeValue::S(text.to_owned())
}

pub(super) fn number(number: u64) -> AttributeValue {
    AttributeValue::N(number.to_string())
}
