//! Versions and write ids: what an item says about the writes it has seen, and what that proves about a write whose reply
//! was lost.

use std::{collections::HashMap, fmt};

use aws_sdk_dynamodb::{primitives::Blob, types::AttributeValue};

#[cfg(test)]
mod model_check;

/// The attribute that holds the incarnation and the ids of the last writes.
pub(crate) const WRITES: &str = "_writes";

/// The fewest ids that a ring may be configured to keep.
const SMALLEST_RING: usize = 4;

const ID_LEN: usize = 8;

/// What marks one logical write, over all its attempts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct WriteId([u8; ID_LEN]);

/// What marks one life of an item: set at create, kept until delete.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Incarnation([u8; ID_LEN]);

impl WriteId {
    pub(crate) fn draw(rng: &mut fastrand::Rng) -> Self {
        Self(rng.u64(..).to_be_bytes())
    }
}

impl Incarnation {
    pub(crate) fn draw(rng: &mut fastrand::Rng) -> Self {
        Self(rng.u64(..).to_be_bytes())
    }

    pub(crate) fn from_bytes(bytes: [u8; ID_LEN]) -> Self {
        Self(bytes)
    }

    pub(crate) fn as_bytes(&self) -> &[u8; ID_LEN] {
        &self.0
    }
}

/// The content of `_writes`: the incarnation, then the ids of the last writes, newest first.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Ring(Vec<u8>);

impl Ring {
    /// The ring of an item that nobody has written yet.
    pub(crate) fn new(incarnation: Incarnation) -> Self {
        Self(incarnation.0.to_vec())
    }

    /// Reads the attribute; nothing if it is not an incarnation and whole ids.
    pub(crate) fn parse(bytes: Vec<u8>) -> Option<Self> {
        (bytes.len() >= ID_LEN && bytes.len().is_multiple_of(ID_LEN)).then_some(Self(bytes))
    }

    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    pub(crate) fn incarnation(&self) -> Incarnation {
        let mut bytes = [0; ID_LEN];
        bytes.copy_from_slice(&self.0[..ID_LEN]);
        Incarnation(bytes)
    }

    /// The ring after one more write: its id in front, the oldest ones off the back.
    pub(crate) fn push(&self, id: WriteId, keep: u8) -> Self {
        let kept = self.ids().take(usize::from(keep).saturating_sub(1));
        let mut bytes = Vec::with_capacity(ID_LEN * (usize::from(keep) + 1));
        bytes.extend_from_slice(&self.0[..ID_LEN]);
        bytes.extend_from_slice(&id.0);
        for id in kept {
            bytes.extend_from_slice(&id.0);
        }
        Self(bytes)
    }

    fn ids(&self) -> impl ExactSizeIterator<Item = WriteId> {
        self.0[ID_LEN..].chunks_exact(ID_LEN).map(|chunk| {
            let mut bytes = [0; ID_LEN];
            bytes.copy_from_slice(chunk);
            WriteId(bytes)
        })
    }

    pub(crate) fn contains(&self, id: WriteId) -> bool {
        self.ids().any(|held| held == id)
    }
}

impl fmt::Debug for Ring {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ring").field("ids", &self.ids().len()).finish_non_exhaustive()
    }
}

/// What an item said of itself when it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Revision {
    /// The stored number; nothing in an item that other programs wrote without one.
    pub(crate) version: Option<u64>,
    /// Nothing in an item that other programs wrote, and in types that keep no write ids.
    pub(crate) ring: Option<Ring>,
}

impl Revision {
    /// The version, where an item without one counts as 0.
    pub(crate) fn number(&self) -> u64 {
        self.version.unwrap_or(0)
    }

    /// Writes it into an item.
    pub(crate) fn write_into(&self, version: &str, item: &mut HashMap<String, AttributeValue>) {
        item.insert(version.to_owned(), AttributeValue::N(self.number().to_string()));
        if let Some(ring) = &self.ring {
            item.insert(WRITES.to_owned(), AttributeValue::B(Blob::new(ring.as_bytes())));
        }
    }

    /// Whether the item can never be in this revision again, by what it shows now: its life is over, or others have written it since. `ring` is
    /// that of the item, if there is one. Without an incarnation nothing is ever over: the item may be created again.
    pub(crate) fn is_over(&self, is_there: bool, ring: Option<&Ring>) -> bool {
        let Some(read) = &self.ring else { return false };
        match ring {
            _ if !is_there => true,
            Some(now) if now.incarnation() == read.incarnation() => now != read,
            Some(_) => true,
            // Another program has taken the ids out, and may put them back.
            None => false,
        }
    }

    /// This revision, if an item of that incarnation shows that it was written.
    pub(crate) fn in_life(mut self, incarnation: Incarnation) -> Self {
        if let Some(ring) = &mut self.ring {
            ring.0[..ID_LEN].copy_from_slice(incarnation.as_bytes());
        }
        self
    }
}

/// What a write rested on.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Expected<'a> {
    /// No item: a create.
    Absent,
    /// This item, unchanged: an update or a replace.
    Unchanged(&'a Revision),
    /// This item, unchanged, and afterwards none: a delete.
    Deleted(&'a Revision),
    /// Whatever there is: a write without a condition.
    Anything,
}

impl Expected<'_> {
    /// The version that the write rested on.
    pub(crate) fn version(self) -> Option<u64> {
        match self {
            Self::Absent | Self::Anything => None,
            Self::Unchanged(revision) | Self::Deleted(revision) => Some(revision.number()),
        }
    }
}

/// What an item looked like to a condition that failed.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Found<'a> {
    /// There was no item.
    Absent,
    /// There was one, with this ring.
    Present(Option<&'a Ring>),
}

/// What a failed condition proves about the write that carried it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// An earlier attempt was applied: the write succeeded.
    Applied,
    /// No attempt was applied: somebody else was first.
    Conflict,
    /// Either may be true.
    Unknown,
}

/// Reads a failed condition. `in_doubt` says whether an earlier attempt of the same write may have been applied.
///
/// 1. My id is in the ring: it was.
/// 2. No attempt is in doubt: somebody else was first.
/// 3. The gap rule: in the same incarnation, the newest id that was read is still there, so mine would be too.
/// 4. Else it cannot be told. A delete has no id, but its absence and the same incarnation tell.
pub(crate) fn verdict(expected: Expected<'_>, id: WriteId, in_doubt: bool, found: Found<'_>) -> Verdict {
    if let Found::Present(Some(ring)) = found
        && ring.contains(id)
    {
        return Verdict::Applied;
    }
    if !in_doubt {
        return Verdict::Conflict;
    }
    match (expected, found) {
        (Expected::Deleted(_), Found::Absent) => Verdict::Applied,
        (Expected::Deleted(was), Found::Present(Some(ring))) if same_life(was, ring).is_some() => Verdict::Conflict,
        (Expected::Unchanged(was), Found::Present(Some(ring))) => match same_life(was, ring) {
            Some(read) if nothing_fell_between(read, ring) => Verdict::Conflict,
            Some(_) | None => Verdict::Unknown,
        },
        (
            Expected::Absent | Expected::Unchanged(_) | Expected::Deleted(_) | Expected::Anything,
            Found::Absent | Found::Present(_),
        ) => Verdict::Unknown,
    }
}

/// The ring that was read, if `ring` is a later state of it.
fn same_life<'a>(was: &'a Revision, ring: &Ring) -> Option<&'a Ring> {
    was.ring.as_ref().filter(|read| read.incarnation() == ring.incarnation())
}

/// The gap rule: ids are put in front and taken off the back only, so while the newest id that was read is still there,
/// each id that came after it is there too. A ring that was read empty has lost none while it holds fewer than the
/// smallest ring keeps.
fn nothing_fell_between(read: &Ring, now: &Ring) -> bool {
    match read.ids().next() {
        Some(newest) => now.contains(newest),
        None => now.ids().len() < SMALLEST_RING,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(n: u8) -> WriteId {
        WriteId([n; ID_LEN])
    }

    fn ring(life: u8, ids: &[u8]) -> Ring {
        let mut bytes = vec![life; ID_LEN];
        for n in ids {
            bytes.extend_from_slice(&[*n; ID_LEN]);
        }
        Ring(bytes)
    }

    fn read(ring: Ring) -> Revision {
        Revision { version: Some(7), ring: Some(ring) }
    }

    #[test]
    fn push_puts_in_front_and_takes_off_the_back() {
        let full = ring(9, &[4, 3, 2, 1]);
        assert_eq!(full.push(id(5), 4), ring(9, &[5, 4, 3, 2]));
        assert_eq!(full.push(id(5), 16), ring(9, &[5, 4, 3, 2, 1]));
        assert_eq!(Ring::new(Incarnation([9; 8])).push(id(1), 16), ring(9, &[1]));
    }

    #[test]
    fn parse_refuses_what_is_not_whole_ids() {
        assert_eq!(Ring::parse(vec![0; 8]), Some(Ring(vec![0; 8])));
        assert_eq!(Ring::parse(vec![]), None);
        assert_eq!(Ring::parse(vec![0; 7]), None);
        assert_eq!(Ring::parse(vec![0; 12]), None);
    }

    #[test]
    fn an_id_in_the_ring_is_a_success_even_under_later_writes() {
        let was = read(ring(9, &[1]));
        let now = ring(9, &[4, 3, 2, 1]);
        let seen = Found::Present(Some(&now));
        assert_eq!(verdict(Expected::Unchanged(&was), id(2), true, seen), Verdict::Applied);
        assert_eq!(verdict(Expected::Absent, id(1), true, seen), Verdict::Applied);
        assert_eq!(verdict(Expected::Unchanged(&was), id(2), false, seen), Verdict::Applied);
    }

    #[test]
    fn without_doubt_it_is_a_conflict() {
        let was = read(ring(9, &[1]));
        for seen in [Found::Absent, Found::Present(None), Found::Present(Some(&ring(8, &[1])))] {
            assert_eq!(verdict(Expected::Unchanged(&was), id(2), false, seen), Verdict::Conflict);
            assert_eq!(verdict(Expected::Deleted(&was), id(2), false, seen), Verdict::Conflict);
        }
    }

    #[test]
    fn the_gap_rule_decides_while_the_newest_read_id_is_there() {
        let was = read(ring(9, &[3, 2]));
        let near = ring(9, &[5, 4, 3]);
        let far = ring(9, &[7, 6, 5, 4]);
        let recreated = ring(8, &[3]);
        for (now, expected) in [(&near, Verdict::Conflict), (&far, Verdict::Unknown), (&recreated, Verdict::Unknown)] {
            assert_eq!(verdict(Expected::Unchanged(&was), id(99), true, Found::Present(Some(now))), expected);
        }
        assert_eq!(verdict(Expected::Unchanged(&was), id(99), true, Found::Absent), Verdict::Unknown);
        assert_eq!(verdict(Expected::Unchanged(&was), id(99), true, Found::Present(None)), Verdict::Unknown);
    }

    #[test]
    fn a_ring_read_empty_is_complete_while_it_is_short() {
        let was = read(ring(9, &[]));
        let short = ring(9, &[3, 2, 1]);
        let long = ring(9, &[4, 3, 2, 1]);
        assert_eq!(verdict(Expected::Unchanged(&was), id(99), true, Found::Present(Some(&short))), Verdict::Conflict);
        assert_eq!(verdict(Expected::Unchanged(&was), id(99), true, Found::Present(Some(&long))), Verdict::Unknown);
    }

    #[test]
    fn a_delete_in_doubt_reads_absence_as_success_and_the_same_life_as_a_conflict() {
        let was = read(ring(9, &[1]));
        let expected = Expected::Deleted(&was);
        assert_eq!(verdict(expected, id(99), true, Found::Absent), Verdict::Applied);
        assert_eq!(verdict(expected, id(99), true, Found::Present(Some(&ring(9, &[8, 7, 6, 5])))), Verdict::Conflict);
        assert_eq!(verdict(expected, id(99), true, Found::Present(Some(&ring(8, &[1])))), Verdict::Unknown);
    }

    #[test]
    fn an_adoption_in_doubt_is_unknown_when_somebody_else_was_there() {
        let was = Revision { version: None, ring: None };
        assert_eq!(verdict(Expected::Unchanged(&was), id(99), true, Found::Present(None)), Verdict::Unknown);
        assert_eq!(
            verdict(Expected::Unchanged(&was), id(99), true, Found::Present(Some(&ring(8, &[1])))),
            Verdict::Unknown
        );
        assert_eq!(verdict(Expected::Absent, id(99), true, Found::Present(Some(&ring(8, &[1])))), Verdict::Unknown);
    }
}
