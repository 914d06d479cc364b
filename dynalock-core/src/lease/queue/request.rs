use std::sync::Arc;

use aws_sdk_dynamodb::types::AttributeValue;

use crate::{
    codec::Item,
    expression::Placeholders,
    lease::{
        clause::{self, Expired, LeaseUpdate, number, text},
        record::{GrantKind, LockRecord, Observation, Waiters},
        row::Row,
    },
    operation::Write,
    retry::Attempts,
};

/// Says whether a delayed duplicate of the enter request may still reach DynamoDB.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Duplicate {
    Impossible,
    /// The request that removes the entry stores the entry's text in the row, so that DynamoDB
    /// refuses a delayed duplicate of the enter request.
    Possible,
}

impl Duplicate {
    pub(crate) fn of(attempts: &Attempts) -> Self {
        if attempts.is_in_doubt() { Self::Possible } else { Self::Impossible }
    }
}

#[derive(Debug, Clone)]
pub(crate) enum DequeueReason {
    Leave { owner: Arc<str>, duplicate: Duplicate },
    Expired(Observation),
    Operator(Observation),
}

impl Row {
    pub(crate) fn enqueue(&self, entry: &str, now: u64, most: usize) -> Write {
        let (lock, to) = (&self.layout, &mut Placeholders::default());
        let (queue, fence) = (to.name(lock.queue), to.name(lock.fence));
        let (owner, now) = (to.value(text(entry)), to.value(number(now)));
        let (empty, added) = (to.value(AttributeValue::L(Vec::new())), to.value(AttributeValue::L(vec![text(entry)])));
        let terms = vec![
            format!("{queue}=list_append(if_not_exists({queue},{empty}),{added})"),
            format!("{fence}=if_not_exists({fence},{now})"),
        ];
        let mut conditions = vec![
            clause::not_owned(lock, &Expired::Nobody, to),
            format!("attribute_not_exists({queue}[{}])", most.saturating_sub(1)),
            format!("NOT contains({queue}, {owner})"),
            clause::not_released(lock, owner, to),
        ];
        conditions.extend(self.subject_exists(to));
        self.update(LeaseUpdate::default(), terms, &conditions, to)
    }

    pub(crate) fn dequeue(&self, reason: &DequeueReason, waiters: Waiters, now: u64) -> Write {
        let (lock, to) = (&self.layout, &mut Placeholders::default());
        let head = match reason {
            DequeueReason::Leave { owner, .. } => text(owner),
            DequeueReason::Expired(seen) | DequeueReason::Operator(seen) => seen.holder.clone(),
        };
        let (head, now) = (to.value(head), to.value(number(now)));
        let mut update = clause::next_turn(lock, waiters, now, to);
        let mut conditions = vec![clause::is_holder(lock, GrantKind::Fair, head, to)];
        // The condition `attribute_not_exists` protects the entries of waiters that entered the
        // queue after the last read of the row.
        if waiters == Waiters::None {
            conditions.push(format!("attribute_not_exists({}[1])", to.name(lock.queue)));
        }
        match (reason, waiters) {
            (DequeueReason::Leave { duplicate: Duplicate::Possible, .. }, _) => {
                update.set.push((to.name(lock.released), head));
            }
            (DequeueReason::Leave { duplicate: Duplicate::Impossible, .. }, _)
            | (DequeueReason::Expired(_) | DequeueReason::Operator(_), Waiters::None) => {
                update.remove.push(to.name(lock.released));
            }
            // The row keeps the last released owner, so that DynamoDB refuses delayed duplicates of
            // this owner's requests.
            (DequeueReason::Expired(_) | DequeueReason::Operator(_), Waiters::Some) => {}
        }
        match reason {
            DequeueReason::Leave { .. } => {}
            DequeueReason::Expired(seen) => conditions.push(clause::is_as_observed(lock, seen, to)),
            DequeueReason::Operator(seen) => {
                conditions.push(clause::same(lock.fence, seen.stored_fence.as_ref(), to));
            }
        }
        let fence = clause::next_fence(lock, now, to);
        self.update(update, vec![fence], &conditions, to)
    }

    pub(crate) fn after_dequeue(&self, mut row: Item, now: u64) -> Item {
        let lock = &self.layout;
        let fence = LockRecord::read(lock, &row).fence.unwrap_or(now).saturating_add(1);
        row.insert(lock.fence.to_owned(), number(fence));
        row.insert(lock.turn.to_owned(), number(now));
        row.remove(lock.beat);
        row.remove(lock.until);
        if let Some(AttributeValue::L(entries)) = row.get_mut(lock.queue) {
            entries.drain(..entries.len().min(1));
        }
        row
    }

    /// Removes an entry behind the head of the queue. `abandon` must not remove the head, because a
    /// removal of the head must also raise the fence.
    pub(crate) fn abandon(&self, entry: &str, place: usize) -> Write {
        let to = &mut Placeholders::default();
        let queue = to.name(self.layout.queue);
        let condition = format!("{queue}[{place}] = {}", to.value(text(entry)));
        self.request(format!("REMOVE {queue}[{place}]"), condition, to)
    }

    pub(crate) fn sweep(&self, fence: u64, duplicate: Duplicate) -> Write {
        let (lock, to) = (&self.layout, &mut Placeholders::default());
        let queue = to.name(lock.queue);
        let mut remove = vec![queue, to.name(lock.turn)];
        if duplicate == Duplicate::Impossible {
            remove.push(to.name(lock.released));
        }
        let conditions = [
            format!("attribute_exists({queue})"),
            clause::queue_is_empty(lock, to),
            clause::same(lock.fence, Some(&number(fence)), to),
        ];
        self.update(LeaseUpdate { remove, ..LeaseUpdate::default() }, Vec::new(), &conditions, to)
    }
}
