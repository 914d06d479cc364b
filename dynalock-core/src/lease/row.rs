//! The requests of the protocol. Pure.

use std::sync::Arc;

use aws_sdk_dynamodb::{primitives::Blob, types::AttributeValue};

use super::{clause::GrantKind, record::Observation};
use crate::{
    codec::Item,
    expression::{Joined, Placeholders},
    model::LockModel,
    operation::{Action, GetItem, UpdateItem, Write},
};

/// The row of one lock.
#[derive(Debug, Clone)]
pub(crate) struct Row {
    pub(crate) table: Arc<str>,
    pub(crate) key: Item,
    pub(crate) layout: LockModel,
    /// A key attribute, if the row is an item that must be there to be leased.
    pub(crate) existing: Option<&'static str>,
    pub(crate) beside: Beside,
}

/// The table and the key of a row.
pub(crate) type RowId = (Arc<str>, Item);

/// What stands beside a row, under this key.
#[derive(Debug, Clone)]
pub(crate) enum Beside {
    Nothing,
    /// The item whose lease it keeps.
    Item(Item),
}

/// Whose lease may be taken over.
#[derive(Debug, Clone)]
pub(crate) enum Expired {
    /// Nobody's.
    Nobody,
    /// That of anybody whose lease ended before this moment, in epoch milliseconds.
    EndedBefore(u64),
    /// That of this holder, if nothing else was seen of it since.
    Silent(Box<Observation>),
}

/// What a grant writes.
#[derive(Debug, Clone)]
pub(crate) struct AcquireFields<'a> {
    pub(crate) owner: &'a str,
    /// Epoch milliseconds at which it ends.
    pub(crate) until: u64,
    /// Epoch milliseconds now: where the first fence starts.
    pub(crate) now: u64,
    pub(crate) payload: Option<&'a [u8]>,
}

/// What a heartbeat writes.
#[derive(Debug, Clone)]
pub(crate) struct HeartbeatFields<'a> {
    pub(crate) fence: u64,
    pub(crate) number: u64,
    /// Epoch milliseconds at which the lease ends.
    pub(crate) until: u64,
    pub(crate) payload: Option<&'a [u8]>,
}

/// The attribute that holds the payload of a named lock.
pub(crate) const PAYLOAD: &str = "payload";

impl Row {
    pub(crate) fn acquire(&self, claim: &AcquireFields<'_>, dead: &Expired) -> UpdateItem {
        let mut to = Placeholders::default();
        let LockModel { owner, fence, beat, until, released, .. } = self.layout;
        let [owner, fence, beat, until, released] = [owner, fence, beat, until, released].map(|name| to.name(name));
        let me = to.value(text(claim.owner));

        let mut set = Joined::new("SET ", ",");
        set.push(format_args!("{owner}={me}"));
        set.push(format_args!("{beat}={}", to.value(number(0))));
        set.push(format_args!("{until}={}", to.value(number(self.layout.unit.end(claim.until)))));
        let (start, one) = (to.value(number(claim.now)), to.value(number(1)));
        set.push(format_args!("{fence}=if_not_exists({fence},{start})+{one}"));
        if let Some(payload) = claim.payload {
            let value = to.value(bytes(payload));
            set.push(format_args!("{}={value}", to.name(PAYLOAD)));
        }

        let mut condition = Joined::new("", " AND ");
        match self.is_dead(dead, &mut to) {
            None => condition.push(format_args!("attribute_not_exists({owner})")),
            Some(dead) => condition.push(format_args!("(attribute_not_exists({owner}) OR {dead})")),
        }
        condition.push(format_args!("{released} <> {me}"));
        if let Some(key) = self.existing {
            condition.push(format_args!("attribute_exists({})", to.name(key)));
        }
        // Nobody stands in it: it is empty, if it is there.
        let (queue, turn) = (to.name(self.layout.queue), to.name(self.layout.turn));
        condition.push(format_args!("attribute_not_exists({queue}[0])"));
        let set = set.finish();
        self.update(format!("{set} REMOVE {queue},{turn}"), condition.finish(), to)
    }

    /// A heartbeat: on the holder, its fence and a lower beat. Not on the beat before, or a lost reply would lose the lease; not on the
    /// holder alone, or a late copy would put an old beat back, and a late copy of the grant would seem to be the grant. The beat is strictly
    /// lower: two processes that have resumed one token may send the same number.
    pub(crate) fn beat(&self, hold: GrantKind, owner: &str, beat: &HeartbeatFields<'_>) -> UpdateItem {
        let mut to = Placeholders::default();
        let (beat_name, until_name) = (to.name(self.layout.beat), to.name(self.layout.until));
        let (number_value, until_value) =
            (to.value(number(beat.number)), to.value(number(self.layout.unit.end(beat.until))));
        let mut set = Joined::new("SET ", ",");
        set.push(format_args!("{beat_name}={number_value}"));
        set.push(format_args!("{until_name}={until_value}"));
        if let Some(payload) = beat.payload {
            set.push(format_args!("{}={}", to.name(PAYLOAD), to.value(bytes(payload))));
        }
        let me = to.value(text(owner));
        let fence = format!("{} = {}", to.name(self.layout.fence), to.value(number(hold.stored_fence(beat.fence))));
        let condition = match hold {
            GrantKind::Plain => {
                format!("{} = {me} AND {fence} AND {beat_name} < {number_value}", to.name(self.layout.owner))
            }
            GrantKind::Fair => {
                let earlier = format!("(attribute_not_exists({beat_name}) OR {beat_name} < {number_value})");
                format!("{}[0] = {me} AND {fence} AND {earlier}", to.name(self.layout.queue))
            }
        };
        self.update(set.finish(), condition, to)
    }

    /// What lets the next one in, of an owner. It ends any grant of the owner: a late copy of the acquire may have brought one back.
    pub(crate) fn disown(&self, owner: &str) -> UpdateItem {
        let mut to = Placeholders::default();
        let me = to.value(text(owner));
        let LockModel { owner, until, released, .. } = self.layout;
        let [owner, until, released] = [owner, until, released].map(|name| to.name(name));
        self.update(format!("SET {released}={me} REMOVE {owner},{until}"), format!("{owner} = {me}"), to)
    }

    /// That the owner's lease has ended.
    pub(crate) fn is_dead(&self, dead: &Expired, to: &mut Placeholders) -> Option<String> {
        let LockModel { owner, until, unit, .. } = self.layout;
        match dead {
            Expired::Nobody => None,
            Expired::EndedBefore(moment) => {
                Some(format!("{} < {}", to.name(until), to.value(number(unit.moment(*moment)))))
            }
            Expired::Silent(seen) => {
                let is_owner = format!("{} = {}", to.name(owner), to.value(seen.holder.clone()));
                Some(format!("{is_owner} AND {}", self.is_as_seen(seen, to)))
            }
        }
    }

    /// That there was no sign of life since.
    pub(crate) fn is_as_seen(&self, seen: &Observation, to: &mut Placeholders) -> String {
        let LockModel { fence, beat, until, .. } = self.layout;
        let signs = [(fence, seen.stored_fence.clone()), (beat, seen.beat.clone()), (until, seen.end.clone())];
        let mut all = Joined::new("", " AND ");
        for (name, value) in signs {
            all.push(format_args!("{}", same(name, value, to)));
        }
        all.finish()
    }

    /// Takes the lock from whoever owns it under this fence.
    pub(crate) fn take_away(&self, fence: u64) -> UpdateItem {
        let mut to = Placeholders::default();
        let LockModel { owner, until, released, fence: fence_name, .. } = self.layout;
        let [owner, until, released, fence_name] = [owner, until, released, fence_name].map(|name| to.name(name));
        let set = format!("SET {released}={owner} REMOVE {owner},{until}");
        let condition = format!("attribute_exists({owner}) AND {fence_name} = {}", to.value(number(fence)));
        self.update(set, condition, to)
    }

    /// Deletes the row of a lock that nobody holds and whose fence is less than this.
    pub(crate) fn retire(&self, fence: u64) -> Write {
        let mut to = Placeholders::default();
        let [owner, fence_name, queue] =
            [self.layout.owner, self.layout.fence, self.layout.queue].map(|name| to.name(name));
        let free = format!("attribute_not_exists({owner}) AND attribute_not_exists({queue}[0])");
        let condition = format!("{free} AND {fence_name} < {}", to.value(number(fence)));
        let (names, values) = to.finish();
        let (table, key) = (Arc::clone(&self.table), self.key.clone());
        Write { table, key, action: Action::Delete, condition: Some(condition), names, values }
    }

    /// What tells the row from all others.
    pub(crate) fn id(&self) -> RowId {
        (Arc::clone(&self.table), self.key.clone())
    }

    /// Whether the item is another one.
    pub(crate) fn is_beside(&self) -> bool {
        matches!(self.beside, Beside::Item(_))
    }

    pub(crate) fn get(&self, consistent: bool) -> GetItem {
        GetItem { table: Arc::clone(&self.table), key: self.key.clone(), consistent }
    }

    /// A consistent read of the item that is leased.
    pub(crate) fn get_item(&self) -> GetItem {
        let key = match &self.beside {
            Beside::Item(item) => item,
            Beside::Nothing => &self.key,
        };
        GetItem { table: Arc::clone(&self.table), key: key.clone(), consistent: true }
    }

    pub(crate) fn update(&self, text: String, condition: String, to: Placeholders) -> UpdateItem {
        let (names, values) = to.finish();
        UpdateItem { table: Arc::clone(&self.table), key: self.key.clone(), text, condition, names, values }
    }
}

/// That an attribute is what it was.
pub(crate) fn same(name: &str, seen: Option<AttributeValue>, to: &mut Placeholders) -> String {
    let name = to.name(name);
    match seen {
        Some(value) => format!("{name} = {}", to.value(value)),
        None => format!("attribute_not_exists({name})"),
    }
}

pub(crate) fn text(text: &str) -> AttributeValue {
    AttributeValue::S(text.to_owned())
}

pub(crate) fn bytes(bytes: &[u8]) -> AttributeValue {
    AttributeValue::B(Blob::new(bytes))
}

pub(crate) fn number(number: u64) -> AttributeValue {
    AttributeValue::N(number.to_string())
}
