use std::sync::Arc;

use aws_sdk_dynamodb::{primitives::Blob, types::AttributeValue};

use super::{
    clause::{self, Expired, LeaseUpdate, number, text},
    record::{GrantKind, LockRecord},
};
use crate::{
    codec::Item,
    expression::Placeholders,
    model::LockModel,
    operation::{Action, GetItem, Write},
    retry::RowId,
};

#[derive(Debug, Clone)]
pub(crate) struct Row {
    pub(crate) table: Arc<str>,
    pub(crate) key: Item,
    pub(crate) layout: LockModel,
    pub(crate) subject: LeaseSubject,
}

#[derive(Debug, Clone)]
pub(crate) enum LeaseSubject {
    /// The first acquire of a named lock creates the lock's row.
    Name,
    /// An item that contains its own lease. The condition of an acquire request requires the
    /// attribute `key_attribute`, so that the request does not create a missing item.
    Item { key_attribute: &'static str },
    /// The key of an item whose lease is in a separate row of the same table.
    SeparateItem(Item),
}

#[derive(Debug, Clone)]
pub(crate) struct AcquireFields<'a> {
    pub(crate) owner: &'a str,
    /// The end of the lease in epoch milliseconds.
    pub(crate) until: u64,
    /// The time of the request in epoch milliseconds.
    pub(crate) now: u64,
    pub(crate) payload: Option<&'a [u8]>,
}

#[derive(Debug, Clone)]
pub(crate) struct HeartbeatFields<'a> {
    pub(crate) fence: u64,
    pub(crate) number: u64,
    /// The end of the lease in epoch milliseconds.
    pub(crate) until: u64,
    pub(crate) payload: Option<&'a [u8]>,
}

pub(crate) const PAYLOAD: &str = "payload";

impl Row {
    pub(crate) fn acquire(&self, fields: &AcquireFields<'_>, expired: &Expired) -> Write {
        let (lock, to) = (&self.layout, &mut Placeholders::default());
        let (owner, now) = (to.value(text(fields.owner)), to.value(number(fields.now)));
        let beat = to.value(number(0));
        let mut update = clause::renewed(lock, beat, fields.until, to);
        update.set.insert(0, (to.name(lock.owner), owner));
        set_payload(&mut update, fields.payload, to);
        update.remove = vec![to.name(lock.queue), to.name(lock.turn)];
        let fence = clause::next_fence(lock, now, to);

        let mut conditions = vec![clause::not_owned(lock, expired, to), clause::not_released(lock, owner, to)];
        conditions.extend(self.subject_exists(to));
        conditions.push(clause::queue_is_empty(lock, to));
        self.update(update, vec![fence], &conditions, to)
    }

    pub(crate) fn after_release(&self, mut row: Item) -> Item {
        row.remove(self.layout.owner);
        row.remove(self.layout.until);
        row
    }

    pub(crate) fn beat(&self, kind: GrantKind, owner: &str, fields: &HeartbeatFields<'_>) -> Write {
        let (lock, to) = (&self.layout, &mut Placeholders::default());
        let (owner, beat) = (to.value(text(owner)), to.value(number(fields.number)));
        let mut update = clause::renewed(lock, beat, fields.until, to);
        set_payload(&mut update, fields.payload, to);
        let held = clause::held(lock, kind, owner, fields.fence, to);
        let conditions = [held, clause::beat_is_below(lock, kind, beat, to)];
        self.update(update, Vec::new(), &conditions, to)
    }

    /// The condition of a release does not compare the fence. A delayed duplicate of the holder's
    /// acquire request may have received a new grant with a higher fence, and the release must also
    /// end this grant.
    pub(crate) fn release(&self, owner: &str) -> Write {
        let (lock, to) = (&self.layout, &mut Placeholders::default());
        let owner = to.value(text(owner));
        let update = clause::released(lock, owner, to);
        let condition = clause::is_holder(lock, GrantKind::Plain, owner, to);
        self.update(update, Vec::new(), &[condition], to)
    }

    pub(crate) fn remove_expired(&self, record: &LockRecord, expired: &Expired) -> Option<Write> {
        let (lock, to) = (&self.layout, &mut Placeholders::default());
        let expired = clause::has_expired(lock, expired, to)?;
        let mut update = clause::without_owner(lock, to);
        // If the row kept the heartbeat number of the expired owner, the number would count as a
        // heartbeat of the next caller in the queue.
        update.remove.push(to.name(lock.beat));
        let fence = record.observation().and_then(|observation| observation.stored_fence.as_ref());
        let conditions = [self.is_owned(to), clause::same(lock.fence, fence, to), expired];
        Some(self.update(update, Vec::new(), &conditions, to))
    }

    pub(crate) fn break_lock(&self, fence: u64) -> Write {
        let (lock, to) = (&self.layout, &mut Placeholders::default());
        let update = clause::without_owner(lock, to);
        // The request stores the removed owner as released, so that DynamoDB refuses delayed
        // duplicates of the owner's acquire request.
        let owner = format!("{}={}", to.name(lock.released), to.name(lock.owner));
        let conditions = [self.is_owned(to), clause::same(lock.fence, Some(&number(fence)), to)];
        self.update(update, vec![owner], &conditions, to)
    }

    pub(crate) fn retire(&self, fence: u64) -> Write {
        let (lock, to) = (&self.layout, &mut Placeholders::default());
        let fence = format!("{} < {}", to.name(lock.fence), to.value(number(fence)));
        let conditions =
            [clause::not_owned(lock, &Expired::Nobody, to), clause::queue_is_empty(lock, to), fence].join(" AND ");
        self.write(Action::Delete, conditions, to)
    }

    pub(crate) fn id(&self) -> RowId {
        RowId { table: Arc::clone(&self.table), key: self.key.clone() }
    }

    pub(crate) fn get(&self, consistent: bool) -> GetItem {
        GetItem { table: Arc::clone(&self.table), key: self.key.clone(), consistent }
    }

    pub(crate) fn get_item(&self) -> GetItem {
        let key = match &self.subject {
            LeaseSubject::SeparateItem(key) => key,
            LeaseSubject::Name | LeaseSubject::Item { .. } => &self.key,
        };
        GetItem { table: Arc::clone(&self.table), key: key.clone(), consistent: true }
    }

    pub(crate) fn is_item(&self) -> bool {
        matches!(self.subject, LeaseSubject::Item { .. })
    }

    pub(crate) fn is_separate(&self) -> bool {
        matches!(self.subject, LeaseSubject::SeparateItem(_))
    }

    pub(super) fn subject_exists(&self, to: &mut Placeholders) -> Option<String> {
        match self.subject {
            LeaseSubject::Item { key_attribute } => Some(format!("attribute_exists({})", to.name(key_attribute))),
            LeaseSubject::Name | LeaseSubject::SeparateItem(_) => None,
        }
    }

    pub(super) fn update(
        &self,
        update: LeaseUpdate,
        terms: Vec<String>,
        conditions: &[String],
        to: &mut Placeholders,
    ) -> Write {
        // The update expression is never empty, because each request changes an attribute.
        self.request(update.text(terms).unwrap_or_default(), conditions.join(" AND "), to)
    }

    pub(super) fn request(&self, text: String, condition: String, to: &mut Placeholders) -> Write {
        self.write(Action::RowUpdate(text), condition, to)
    }

    fn write(&self, action: Action, condition: String, to: &mut Placeholders) -> Write {
        Write::new(&self.table, self.key.clone(), action, Some(condition), std::mem::take(to))
    }

    fn is_owned(&self, to: &mut Placeholders) -> String {
        format!("attribute_exists({})", to.name(self.layout.owner))
    }
}

fn set_payload(update: &mut LeaseUpdate, payload: Option<&[u8]>, to: &mut Placeholders) {
    let payload = payload.map(|bytes| (to.name(PAYLOAD), to.value(AttributeValue::B(Blob::new(bytes)))));
    update.set.extend(payload);
}
