use std::{sync::Arc, time::Duration};

use super::{Attempts, TOKEN_LIFE};
use crate::{
    codec::Item,
    error::Error,
    operation::{Failure, GetItem, Own, Sending, Write},
    version::{Doubt, Expected, Incarnation, LateCopies, Verdict, WriteId, revision_in, ring_of, verdict},
};

/// What a write rests on, and what marks it.
#[derive(Clone, Copy)]
pub(crate) struct Aim<'a> {
    pub(crate) expected: Expected<'a>,
    pub(crate) id: WriteId,
    pub(crate) version_attribute: &'static str,
    pub(crate) late: LateCopies,
    pub(crate) releases: Option<Release<'a>>,
    /// Whether the write, made anew, may pass what the condition beside it met.
    pub(crate) clears: &'a (dyn Fn(Option<&Item>) -> bool + Sync),
}

impl Aim<'_> {
    /// For a write that is not made anew, or that nothing is beside of.
    pub(crate) const NEVER: &'static (dyn Fn(Option<&Item>) -> bool + Sync) = &|_| false;
}

/// What a write leaves in the item that also ends a lease. Only the holder's own release leaves the same.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Release<'a> {
    pub(crate) attribute: &'static str,
    pub(crate) owner: &'a str,
}

/// What became of a conditional write.
pub(crate) enum Written {
    /// It was applied, and this says so.
    Applied(Proof),
    /// It was not applied; the item that it met.
    Conflict(Option<Item>),
    /// It was not applied, for what the row beside its item says; that row.
    Beside(Option<Item>),
}

/// What the conditions of a refused write met.
enum Met {
    /// Nothing that would be in the way of another attempt.
    Nothing,
    /// This item, if there was one.
    Item(Option<Item>),
    /// This row beside the item; and the item, as far as it matters.
    Row { row: Option<Item>, item: Option<Item> },
}

/// What shows that a write was applied.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Proof {
    /// The reply to the attempt that was sent last.
    Reply,
    /// The id in an item of this incarnation: some attempt was applied.
    Id(Incarnation),
    /// The end of its lease, in an item without ids: some attempt was applied.
    Release,
    /// There is no item where one was to be deleted: some attempt was applied, or somebody else's.
    Absence,
}

impl Attempts {
    /// Sends a write until its outcome is known, each time under the same id. `again` makes it anew, which costs less than to keep a
    /// copy of each write that succeeds at once.
    pub(crate) async fn write(
        &mut self,
        mut write: Write,
        mut again: impl FnMut() -> Result<Write, Error>,
        sending: &Sending,
        aim: Aim<'_>,
    ) -> Result<Written, Error> {
        let client = self.connection.client.clone();
        let table = Arc::clone(&write.table);
        let mut in_doubt = false;
        if self.left().is_zero() {
            return Err(self.too_late());
        }
        loop {
            let met = match self.attempt(Box::pin(write.send(&client, sending))).await {
                Ok(()) => return Ok(Written::Applied(Proof::Reply)),
                Err(Failure::Condition(item)) => self.seen(item, &mut again).await.map(Met::Item),
                Err(Failure::Beside { own, row }) => self.seen_beside(own, row, aim, in_doubt, &mut again).await,
                Err(Failure::Permanent(refusal)) if refusal.is_of_item_size() => {
                    let spent = self.spent();
                    again().and_then(|same| {
                        let (table, bytes) = (Arc::clone(&table), same.size());
                        Err(Error::ItemTooLarge { table, bytes, spent })
                    })
                }
                Err(failure) => {
                    in_doubt |= failure.leaves_doubt();
                    self.pause(&table, failure).await.map(|()| Met::Nothing)
                }
            };
            let doubt = match sending {
                _ if !in_doubt => Doubt::None,
                Sending::Once(_) if self.elapsed() < TOKEN_LIFE => Doubt::UnderToken,
                Sending::Once(_) | Sending::Plain => Doubt::Plain(aim.late),
            };
            let next = match met {
                Ok(Met::Nothing) => again(),
                Ok(Met::Item(item)) => return self.judge(&table, aim, doubt, item),
                Ok(Met::Row { row, item }) => {
                    return Ok(match self.judge(&table, aim, doubt, item)? {
                        Written::Conflict(_) => Written::Beside(row),
                        written => written,
                    });
                }
                Err(stop) => Err(stop),
            };
            write = match next {
                Ok(same) => same,
                Err(stop) if in_doubt => {
                    return Err(self.indeterminate(&table, aim.expected.version(), None, Some(stop)));
                }
                Err(stop) => return Err(stop),
            };
        }
    }

    /// The item that a condition met. An engine that does not return it is asked for it; so is DynamoDB when there was none.
    async fn seen(
        &mut self,
        returned: Option<Item>,
        again: &mut impl FnMut() -> Result<Write, Error>,
    ) -> Result<Option<Item>, Error> {
        match returned {
            Some(item) => Ok(Some(item)),
            None => {
                let Write { table, key, .. } = again()?;
                self.read(&GetItem { table, key, consistent: true }).await
            }
        }
    }

    /// What the conditions of a write met of which the one beside it was false. Its id is looked for first, then the lease, then the version; so
    /// where the lease is no reason, it is up to the item, or to another attempt.
    async fn seen_beside(
        &mut self,
        own: Own,
        row: Option<Item>,
        aim: Aim<'_>,
        in_doubt: bool,
        again: &mut impl FnMut() -> Result<Write, Error>,
    ) -> Result<Met, Error> {
        let row = match row {
            Some(row) => Some(row),
            None => match again()?.beside {
                Some(beside) => self.read(&GetItem { table: beside.table, key: beside.key, consistent: true }).await?,
                None => None,
            },
        };
        let clears = (aim.clears)(row.as_ref()) && self.may_go_on(Duration::ZERO);
        let (item, is_refused) = match own {
            Own::False(item) => (self.seen(item, again).await?, true),
            // It shows whether an earlier attempt was applied.
            Own::NotSeen if in_doubt => {
                let item = self.seen(None, again).await?;
                let is_mine = item.as_ref().and_then(ring_of).is_some_and(|ring| ring.contains(aim.id));
                (item, is_mine)
            }
            Own::NotSeen => (None, false),
        };
        Ok(match (clears, is_refused) {
            (true, true) => Met::Item(item),
            (true, false) => Met::Nothing,
            (false, _) => Met::Row { row, item },
        })
    }

    fn judge(&self, table: &Arc<str>, aim: Aim<'_>, doubt: Doubt, item: Option<Item>) -> Result<Written, Error> {
        let found = item.as_ref().map(|item| revision_in(item, aim.version_attribute));
        let verdict = match verdict(aim.expected, aim.id, doubt, found.as_ref()) {
            // No id tells, but the lease does: a release by itself is not sent before the commit has failed.
            Verdict::Unknown if shows_release(aim.releases, item.as_ref()) => Verdict::Applied,
            verdict => verdict,
        };
        match verdict {
            Verdict::Applied => Ok(Written::Applied(match found.and_then(|found| found.ring) {
                Some(ring) => Proof::Id(ring.incarnation()),
                None if item.is_some() => Proof::Release,
                None => Proof::Absence,
            })),
            Verdict::Conflict => Ok(Written::Conflict(item)),
            Verdict::Unknown => {
                let found = found.and_then(|found| found.version);
                Err(self.indeterminate(table, aim.expected.version(), found, None))
            }
        }
    }
}

/// Whether an item shows that the lease was ended by its holder.
fn shows_release(releases: Option<Release<'_>>, item: Option<&Item>) -> bool {
    let stored = |release: &Release<'_>| item.and_then(|item| item.get(release.attribute));
    releases.is_some_and(|release| {
        stored(&release).and_then(|stored| stored.as_s().ok()).is_some_and(|by| by == release.owner)
    })
}
