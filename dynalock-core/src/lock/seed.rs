//! The first fence of an item whose earlier lives are remembered.

use std::{sync::Arc, time::Duration};

use super::{
    acquire::Asking,
    mark::Mark,
    row::{Beside, Row, number},
};
use crate::{
    codec::Item,
    error::Error,
    expression::Placeholders,
    operation::{Action, Get, Update, Write},
    retry::{Answered, Effort, Paired},
};

/// How many fences are set aside for one life of an item. The tombstone is written once a life, not with each grant and not when the item is deleted, so it
/// has to say at the beginning what no grant of this life will reach. At the thousand writes a second that DynamoDB takes for one item, so many grants and their
/// releases are 99 days, and the time of day, from which the next life starts by a clock that is right, grows twice as fast.
const LIFE: u64 = 1 << 32;

impl Row {
    /// Gives an item without a fence one to count from, and sets those of its life aside: in one write, so that no two lives have the same.
    fn first_fence(&self, tombstone: &Item, fence: u64) -> Write {
        let mut to = Placeholders::default();
        let name = to.name(self.layout.fence);
        let (start, end) = (to.value(number(fence)), to.value(number(fence.saturating_add(LIFE))));
        let free = format!("attribute_not_exists({name}) OR {name} <= {start}");
        let remembered = self.made_of(tombstone.clone(), format!("SET {name}={end}"), free, to);

        let mut to = Placeholders::default();
        let name = to.name(self.layout.fence);
        let text = format!("SET {name}={}", to.value(number(fence)));
        let mut condition = format!("attribute_not_exists({name})");
        if let Some(key) = self.existing {
            condition = format!("attribute_exists({}) AND {condition}", to.name(key));
        }
        Write { beside: Some(Box::new(remembered)), ..self.made_of(self.key.clone(), text, condition, to) }
    }

    fn made_of(&self, key: Item, text: String, condition: String, to: Placeholders) -> Write {
        let (names, values) = to.finish();
        let (table, action, condition) = (Arc::clone(&self.table), Action::Update(text), Some(condition));
        Write { table, key, action, condition, names, values, beside: None }
    }
}

impl Asking {
    /// Sends what asks for the lease; once more after its item got a fence, if that is what it lacked.
    pub(super) async fn with_fence(
        &self,
        effort: &mut Effort,
        mut make: impl FnMut() -> Update,
    ) -> Result<Answered, Error> {
        loop {
            let answer = effort.update(&mut make).await?;
            let (Answered::Refused(Some(item)), Beside::Tombstone(tombstone)) = (&answer, &self.row.beside) else {
                return Ok(answer);
            };
            if item.contains_key(self.row.layout.fence) {
                return Ok(answer);
            }
            self.seed(effort, tombstone).await?;
            if !effort.may_go_on(Duration::ZERO) {
                return Err(effort.too_late());
            }
        }
    }

    /// Gives the item a fence: this machine's time of day, or where the last life may have come to, if that is later.
    async fn seed(&self, effort: &mut Effort, tombstone: &Item) -> Result<(), Error> {
        let mut least = 0;
        loop {
            let row = match effort.pair(|| self.row.first_fence(tombstone, self.terms.now().max(least))).await? {
                // Refused, it has one by now, or is gone: whoever asks again learns which.
                Paired::Applied | Paired::Refused => return Ok(()),
                Paired::RefusedBeside(row @ Some(_)) => row,
                Paired::RefusedBeside(None) => {
                    let (table, key) = (Arc::clone(&self.row.table), tombstone.clone());
                    effort.read(&Get { table, key, consistent: true }).await?
                }
            };
            least = match row {
                Some(row) => self.remembered(&row)?,
                None => 0,
            };
            if !effort.may_go_on(Duration::ZERO) {
                return Err(effort.too_late());
            }
        }
    }

    /// Where the fences of the next life begin.
    fn remembered(&self, tombstone: &Item) -> Result<u64, Error> {
        let fence = Mark::read(&self.row.layout, tombstone).fence;
        fence.ok_or_else(|| Error::Corrupt {
            table: Arc::clone(&self.row.table),
            attribute: self.row.layout.fence,
            reason: "it is not a whole number in the range of u64",
        })
    }
}
