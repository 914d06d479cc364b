//! The requests of the protocol. Pure.

use std::sync::Arc;

use aws_sdk_dynamodb::{primitives::Blob, types::AttributeValue};

use crate::{
    codec::Item,
    expression::{Name, Placeholders, Terms},
    model::LockModel,
    operation::{Action, Get, Update, Write},
};

/// The row of one lock.
#[derive(Debug, Clone)]
pub(super) struct Row {
    pub(super) table: Arc<str>,
    pub(super) key: Item,
    pub(super) layout: LockModel,
    /// A key attribute, if the row is an item that must be there to be leased.
    pub(super) existing: Option<&'static str>,
}

/// Whose lease may be taken over.
#[derive(Debug, Clone)]
pub(super) enum Dead {
    /// Nobody's.
    Nobody,
    /// That of anybody whose lease ended before this moment, in epoch milliseconds.
    EndedBefore(u64),
    /// That of this owner, if these are still its last beat, and the end that it wrote last: another program may write no beats.
    Silent { owner: String, beat: Option<u64>, end: Option<String> },
}

/// What a grant writes.
#[derive(Debug, Clone)]
pub(super) struct Claim<'a> {
    pub(super) owner: &'a str,
    /// Epoch milliseconds at which it ends.
    pub(super) until: u64,
    /// Epoch milliseconds now: where the first fence starts.
    pub(super) now: u64,
    pub(super) payload: Option<&'a [u8]>,
}

/// The attribute that holds the payload of a named lock.
pub(super) const PAYLOAD: &str = "payload";

impl Row {
    pub(super) fn acquire(&self, claim: &Claim<'_>, dead: &Dead) -> Update {
        let mut to = Placeholders::default();
        let LockModel { owner, fence, beat, until, released, .. } = self.layout;
        let [owner, fence, beat, until, released] = [owner, fence, beat, until, released].map(|name| to.name(name));
        let me = to.value(text(claim.owner));

        let mut set = Terms::new("SET ", ",");
        set.push(format_args!("{owner}={me}"));
        set.push(format_args!("{beat}={}", to.value(number(0))));
        set.push(format_args!("{until}={}", to.value(number(self.layout.unit.end(claim.until)))));
        let (start, one) = (to.value(number(claim.now)), to.value(number(1)));
        set.push(format_args!("{fence}=if_not_exists({fence},{start})+{one}"));
        if let Some(payload) = claim.payload {
            let value = to.value(AttributeValue::B(Blob::new(payload)));
            set.push(format_args!("{}={value}", to.name(PAYLOAD)));
        }

        let free = match dead {
            Dead::Nobody => format!("attribute_not_exists({owner})"),
            Dead::EndedBefore(moment) => {
                format!(
                    "(attribute_not_exists({owner}) OR {until} < {})",
                    to.value(number(self.layout.unit.moment(*moment)))
                )
            }
            Dead::Silent { owner: seen, beat: last, end } => {
                let seen = to.value(text(seen));
                let last = same(beat, last.map(number), &mut to);
                let end = same(until, end.clone().map(AttributeValue::N), &mut to);
                format!("(attribute_not_exists({owner}) OR ({owner} = {seen} AND {last} AND {end}))")
            }
        };
        let mut condition = Terms::new("", " AND ");
        condition.push(format_args!("{free}"));
        condition.push(format_args!("{released} <> {me}"));
        if let Some(key) = self.existing {
            condition.push(format_args!("attribute_exists({})", to.name(key)));
        }
        self.update(set.finish(), condition.finish(), to)
    }

    /// A heartbeat: on the owner and an earlier beat. Not on the beat before, or a lost reply would lose the lease; not on the owner alone,
    /// or a late copy would put an old beat back.
    pub(super) fn beat(&self, owner: &str, beat: u64, until: u64) -> Update {
        let mut to = Placeholders::default();
        let beat_value = to.value(number(beat));
        let [owner_name, beat_name, until_name] =
            [self.layout.owner, self.layout.beat, self.layout.until].map(|name| to.name(name));
        let set =
            format!("SET {beat_name}={beat_value},{until_name}={}", to.value(number(self.layout.unit.end(until))));
        let condition = format!("{owner_name} = {} AND {beat_name} <= {beat_value}", to.value(text(owner)));
        self.update(set, condition, to)
    }

    pub(super) fn release(&self, owner: &str) -> Update {
        let mut to = Placeholders::default();
        let me = to.value(text(owner));
        let [owner_name, until_name, released] =
            [self.layout.owner, self.layout.until, self.layout.released].map(|name| to.name(name));
        let set = format!("SET {released}={me} REMOVE {owner_name},{until_name}");
        self.update(set, format!("{owner_name} = {me}"), to)
    }

    /// Takes the lock from whoever has it under this fence.
    pub(super) fn take_away(&self, fence: u64) -> Update {
        let mut to = Placeholders::default();
        let [owner, until, released, fence_name] =
            [self.layout.owner, self.layout.until, self.layout.released, self.layout.fence].map(|name| to.name(name));
        let set = format!("SET {released}={owner} REMOVE {owner},{until}");
        let condition = format!("attribute_exists({owner}) AND {fence_name} = {}", to.value(number(fence)));
        self.update(set, condition, to)
    }

    /// Deletes the row of a lock that nobody holds and whose fence is less than this.
    pub(super) fn retire(&self, fence: u64) -> Write {
        let mut to = Placeholders::default();
        let [owner, fence_name] = [self.layout.owner, self.layout.fence].map(|name| to.name(name));
        let condition = format!("attribute_not_exists({owner}) AND {fence_name} < {}", to.value(number(fence)));
        let (names, values) = to.finish();
        let (table, key) = (Arc::clone(&self.table), self.key.clone());
        Write { table, key, action: Action::Delete, condition: Some(condition), names, values }
    }

    pub(super) fn get(&self, consistent: bool) -> Get {
        Get { table: Arc::clone(&self.table), key: self.key.clone(), consistent }
    }

    fn update(&self, text: String, condition: String, to: Placeholders) -> Update {
        let (names, values) = to.finish();
        Update { table: Arc::clone(&self.table), key: self.key.clone(), text, condition, names, values }
    }
}

/// That an attribute is as it was seen.
fn same(name: Name, seen: Option<AttributeValue>, to: &mut Placeholders) -> String {
    match seen {
        Some(value) => format!("{name} = {}", to.value(value)),
        None => format!("attribute_not_exists({name})"),
    }
}

fn text(text: &str) -> AttributeValue {
    AttributeValue::S(text.to_owned())
}

fn number(number: u64) -> AttributeValue {
    AttributeValue::N(number.to_string())
}
