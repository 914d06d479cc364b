//! The versions and write ids of items. Each write stores its write id in the item. After a lost
//! reply, the write id in the item shows whether DynamoDB has applied the write.

use std::collections::HashMap;

use aws_sdk_dynamodb::{primitives::Blob, types::AttributeValue};

pub use history::{RememberedWrite, WriteHistory};
pub(crate) use ring::{Incarnation, Repeats, Ring, WriteId};

use crate::number::whole_number;

mod history;
#[cfg(test)]
mod model_check;
mod ring;

/// The attribute that contains the incarnation (the random id of an item) and the ids of the last
/// writes.
pub(crate) const WRITES: &str = "_writes";

/// The attributes that contain the ids of the last eight patches of an item, newest first. Each
/// patch stores its id in `_p0`, and moves each older patch id to the next attribute.
pub(crate) const PATCHES: [&str; 8] = ["_p0", "_p1", "_p2", "_p3", "_p4", "_p5", "_p6", "_p7"];

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Revision {
    /// `None` if a program that does not use dynalock has written the item without a version.
    pub(crate) version: Option<u64>,
    /// The content of the attribute `_writes`, or `None` if the item has no `_writes`.
    pub(crate) ring: Option<Ring>,
}

impl Revision {
    pub(crate) fn number(&self) -> u64 {
        self.version.unwrap_or(0)
    }

    /// Returns `true` if the item has both a version and write ids. Without a version or without
    /// write ids, the library must compare the content of the item to recognise a change.
    pub(crate) fn is_tracked(&self) -> bool {
        self.version.is_some() && self.ring.is_some()
    }

    /// Returns the revision after one more write at `at` (epoch milliseconds), or `None` if the
    /// version cannot be incremented. An item without a version or without write ids gets the new
    /// incarnation `begins` (a random id). DynamoDB then refuses the writes of callers that have
    /// read an earlier state of the item.
    pub(crate) fn next(&self, id: WriteId, begins: Incarnation, at: u64, keep: u8) -> Option<Self> {
        let version = self.number().checked_add(1)?;
        let new = Ring::new(begins);
        // If an item has no version, a program that does not use dynalock may have changed the item
        // several times and kept the write ids.
        let ring = self.ring.as_ref().filter(|_| self.is_tracked()).unwrap_or(&new);
        Some(Self { version: Some(version), ring: Some(ring.push(id, at, keep)) })
    }

    pub(crate) fn write_into(&self, version: &str, item: &mut HashMap<String, AttributeValue>) {
        item.insert(version.to_owned(), AttributeValue::N(self.number().to_string()));
        if let Some(ring) = &self.ring {
            item.insert(WRITES.to_owned(), AttributeValue::B(Blob::new(ring.as_bytes())));
        }
    }

    /// Returns `true` if the item can never again have the version and the incarnation in `self`:
    /// the item is absent, has another incarnation (random id), or has a higher version. `now` is
    /// the current state of the item.
    ///
    /// Changed write ids do not prove that the item can never return to the state in `self`,
    /// because a program that does not use dynalock may restore earlier attributes.
    pub(crate) fn is_over(&self, now: Option<&Self>) -> bool {
        // Without a version or without write ids, only the content identifies the state of an item,
        // and any program may restore an earlier content.
        let (Some(version), Some(ring)) = (self.version, &self.ring) else { return false };
        let Some(now) = now else { return true };
        match &now.ring {
            Some(found) if found.incarnation() == ring.incarnation() => now.version.is_some_and(|now| now > version),
            Some(_) => true,
            // A program that does not use dynalock may later restore the removed write ids.
            None => false,
        }
    }

    /// Returns the revision with the given incarnation (random id) of the item. Each attempt of a
    /// create has its own incarnation, so the stored incarnation shows which attempt DynamoDB has
    /// applied.
    pub(crate) fn in_life(mut self, incarnation: Incarnation) -> Self {
        if let Some(ring) = &mut self.ring {
            ring.set_incarnation(incarnation);
        }
        self
    }
}

pub(crate) fn ring_of(item: &HashMap<String, AttributeValue>) -> Option<Ring> {
    item.get(WRITES).cloned().and_then(parse_ring)
}

/// A write id in the item proves that DynamoDB has applied the write.
pub(crate) fn shows_any(item: Option<&HashMap<String, AttributeValue>>, ids: &[WriteId]) -> bool {
    let Some(item) = item else { return false };
    let ring = ring_of(item);
    // A call with many conflicts looks for the ids of all its attempts, so the code finds the
    // attributes of the item only once.
    let stored = |name: &&str| item.get(*name).and_then(|value| value.as_b().ok()).map(AsRef::as_ref);
    let patches: Vec<&[u8]> = PATCHES.iter().filter_map(stored).collect();
    let is_shown =
        |id: &WriteId| patches.contains(&&id.as_bytes()[..]) || ring.as_ref().is_some_and(|ring| ring.contains(*id));
    ids.iter().any(is_shown)
}

/// Returns the version and the write ids of an item. An invalid attribute counts as missing.
pub(crate) fn revision_in(item: &HashMap<String, AttributeValue>, version: &str) -> Revision {
    Revision { version: version_in(item, version), ring: ring_of(item) }
}

pub(crate) fn version_in(item: &HashMap<String, AttributeValue>, attribute: &str) -> Option<u64> {
    item.get(attribute).and_then(version_of)
}

pub(crate) fn parse_ring(attribute: AttributeValue) -> Option<Ring> {
    match attribute {
        AttributeValue::B(blob) => Ring::parse(blob.into_inner()),
        _ => None,
    }
}

pub(crate) fn version_of(attribute: &AttributeValue) -> Option<u64> {
    attribute.as_n().ok().and_then(|digits| whole_number(digits))
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum Expected<'a> {
    /// A create: the key must have no item.
    Absent,
    /// An update or a replace: the item must not have changed since the caller read the
    /// [`Revision`].
    Unchanged(&'a Revision),
    /// A delete: the item must not have changed since the caller read the [`Revision`].
    Deleted(&'a Revision),
    /// A patch: the key must have an item, with any version.
    Present,
    /// A delete without a condition.
    Anything,
}

impl Expected<'_> {
    pub(crate) fn version(self) -> Option<u64> {
        match self {
            Self::Absent | Self::Present | Self::Anything => None,
            Self::Unchanged(revision) | Self::Deleted(revision) => Some(revision.number()),
        }
    }

    /// Returns `true` if DynamoDB can never apply a delayed duplicate of the write. DynamoDB can
    /// still apply a delayed duplicate of a refused create if another caller deletes the existing
    /// item.
    fn is_over(self, found: Option<&Revision>) -> bool {
        match self {
            Self::Absent | Self::Present | Self::Anything => false,
            Self::Unchanged(revision) | Self::Deleted(revision) => revision.is_over(found),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Doubt {
    None,
    /// The outcome of an earlier attempt is unknown, and only the write ids in the item can show
    /// the outcome.
    Plain(LateCopies),
    /// The outcome of an earlier attempt is unknown. DynamoDB applies at most one attempt, because
    /// all attempts contain the same ClientRequestToken.
    UnderToken,
}

/// Says whether the condition of a delayed duplicate can still become true after DynamoDB has
/// refused a later attempt of the same write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LateCopies {
    MayPass,
    /// The condition of each delayed duplicate of the write is false, for example because the item
    /// stores a higher heartbeat number than the duplicate.
    AreRefused,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    Applied,
    /// DynamoDB has applied no attempt, and can never apply an attempt.
    Conflict,
    /// DynamoDB may have applied an earlier attempt, or may still apply a delayed duplicate.
    Unknown,
}

/// Returns the outcome of a write that DynamoDB refused because of a false condition. `found`
/// contains the item's version and write ids at the refusal, or is `None` if the key had no item.
/// `verdict` applies the first matching rule of the list:
///
/// 1. If the item contains the write id `id`, DynamoDB has applied an attempt of the write.
/// 2. If no earlier attempt has an unknown outcome, the write has a conflict: another caller has
///    changed the item.
/// 3. If the attempts had a ClientRequestToken, the refusal of the write proves that DynamoDB
///    applied no attempt before the refusal. If the item can never return to the state that the
///    write requires, the outcome is a conflict, because DynamoDB will refuse all delayed
///    duplicates. If the item can return to the state that the write requires, the outcome is
///    unknown, because DynamoDB may still apply a delayed duplicate.
/// 4. If the attempts had no ClientRequestToken, [`by_ids`] decides from the write ids in the item
///    whether DynamoDB has applied an attempt.
pub(crate) fn verdict(expected: Expected<'_>, id: WriteId, doubt: Doubt, found: Option<&Revision>) -> Verdict {
    if found.and_then(|item| item.ring.as_ref()).is_some_and(|ring| ring.contains(id)) {
        return Verdict::Applied;
    }
    let proven = match doubt {
        Doubt::None => return Verdict::Conflict,
        // A conflict from `by_ids` proves only that DynamoDB applied no attempt before the refusal.
        // DynamoDB may still apply a delayed duplicate if the item can return to the required
        // state.
        Doubt::Plain(late) => match by_ids(expected, found) {
            Verdict::Conflict => late == LateCopies::AreRefused || expected.is_over(found),
            verdict => return verdict,
        },
        Doubt::UnderToken => expected.is_over(found),
    };
    if proven { Verdict::Conflict } else { Verdict::Unknown }
}

/// Decides from the write ids in the item whether DynamoDB has applied an earlier attempt. A delete
/// leaves no write id in the table, so a delete counts as applied if the item is absent. If the
/// item still has the incarnation (random id) that the condition of the delete requires, DynamoDB
/// has not applied the delete.
fn by_ids(expected: Expected<'_>, found: Option<&Revision>) -> Verdict {
    let ring = found.and_then(|item| item.ring.as_ref());
    match (expected, found, ring) {
        // Another caller may have deleted the item, so the result of the delete has `certain:
        // false`.
        (Expected::Deleted(_), None, _) => Verdict::Applied,
        (Expected::Deleted(was), _, Some(ring)) if same_life(was, ring).is_some() => Verdict::Conflict,
        (Expected::Unchanged(was), _, Some(ring)) => match same_life(was, ring) {
            Some(read) if nothing_fell_between(read, ring) => Verdict::Conflict,
            Some(_) | None => Verdict::Unknown,
        },
        (
            Expected::Absent | Expected::Unchanged(_) | Expected::Deleted(_) | Expected::Present | Expected::Anything,
            _,
            _,
        ) => Verdict::Unknown,
    }
}

/// Returns the write ids of `was`, an earlier state of the item, if the item still has the same
/// incarnation (random id) and `was` has a version.
fn same_life<'a>(was: &'a Revision, ring: &Ring) -> Option<&'a Ring> {
    was.ring.as_ref().filter(|read| was.is_tracked() && read.incarnation() == ring.incarnation())
}

/// Returns `true` if the item still contains the ids of all writes since the caller's read. Each
/// write adds its id at the front of `_writes`, and removes old ids only at the back. If `_writes`
/// still contains the newest id that the caller's read returned, `_writes` also contains all later
/// ids. Returns `false` if the caller's read found no write ids.
fn nothing_fell_between(read: &Ring, now: &Ring) -> bool {
    read.ids().next().is_some_and(|newest| now.ids().any(|held| held == newest))
}

#[cfg(test)]
mod tests {
    use super::{
        ring::tests::{id, incarnation, ring, ring_at},
        *,
    };

    fn read(ring: Ring) -> Revision {
        Revision { version: Some(7), ring: Some(ring) }
    }

    /// Returns a [`Revision`] with the given version and write ids.
    fn at(version: u64, ring: Ring) -> Revision {
        Revision { version: Some(version), ring: Some(ring) }
    }

    const IN_DOUBT: Doubt = Doubt::Plain(LateCopies::MayPass);

    #[test]
    fn an_id_in_the_ring_is_a_success_even_under_later_writes() {
        let was = read(ring(9, &[1]));
        let now = at(10, ring(9, &[4, 3, 2, 1]));
        for doubt in [Doubt::None, IN_DOUBT, Doubt::UnderToken] {
            assert_eq!(verdict(Expected::Unchanged(&was), id(2), doubt, Some(&now)), Verdict::Applied);
            assert_eq!(verdict(Expected::Absent, id(1), doubt, Some(&now)), Verdict::Applied);
        }
    }

    #[test]
    fn without_doubt_it_is_a_conflict() {
        let was = read(ring(9, &[1]));
        let others = [Revision { version: Some(7), ring: None }, at(7, ring(8, &[1]))];
        for seen in [None, Some(&others[0]), Some(&others[1])] {
            assert_eq!(verdict(Expected::Unchanged(&was), id(2), Doubt::None, seen), Verdict::Conflict);
            assert_eq!(verdict(Expected::Deleted(&was), id(2), Doubt::None, seen), Verdict::Conflict);
        }
    }

    #[test]
    fn the_gap_rule_decides_while_the_newest_read_id_is_there() {
        let was = read(ring(9, &[3, 2]));
        let near = at(9, ring(9, &[5, 4, 3]));
        let far = at(11, ring(9, &[7, 6, 5, 4]));
        let recreated = at(1, ring(8, &[3]));
        for (now, expected) in [(&near, Verdict::Conflict), (&far, Verdict::Unknown), (&recreated, Verdict::Unknown)] {
            assert_eq!(verdict(Expected::Unchanged(&was), id(99), IN_DOUBT, Some(now)), expected);
        }
        assert_eq!(verdict(Expected::Unchanged(&was), id(99), IN_DOUBT, None), Verdict::Unknown);
        let without_ids = Revision { version: Some(9), ring: None };
        assert_eq!(verdict(Expected::Unchanged(&was), id(99), IN_DOUBT, Some(&without_ids)), Verdict::Unknown);
    }

    #[test]
    fn a_conflict_after_doubt_needs_a_revision_that_cannot_come_back() {
        let was = read(ring(9, &[3, 2]));
        for (now, is_over) in [
            (at(8, ring(9, &[3, 2])), true),
            (at(8, ring(9, &[4, 3, 2])), true),
            (at(7, ring(9, &[3, 2])), false),
            // Another program has restored the earlier version of the item, so the condition of the
            // write may become true again.
            (at(7, ring(9, &[4, 3, 2])), false),
            (at(6, ring(9, &[4, 3, 2])), false),
            (Revision { version: None, ring: Some(ring(9, &[4, 3, 2])) }, false),
        ] {
            let expected = if is_over { Verdict::Conflict } else { Verdict::Unknown };
            assert_eq!(was.is_over(Some(&now)), is_over, "{now:?}");
            for basis in [Expected::Unchanged(&was), Expected::Deleted(&was)] {
                assert_eq!(verdict(basis, id(99), IN_DOUBT, Some(&now)), expected, "{now:?}");
                assert_eq!(verdict(basis, id(99), Doubt::UnderToken, Some(&now)), expected, "{now:?}");
                let refused = Doubt::Plain(LateCopies::AreRefused);
                assert_eq!(verdict(basis, id(99), refused, Some(&now)), Verdict::Conflict, "{now:?}");
            }
        }
    }

    #[test]
    fn under_a_token_a_revision_that_is_over_is_a_conflict() {
        let was = read(ring(9, &[3, 2]));
        let far = at(20, ring(9, &[7, 6, 5, 4]));
        let recreated = at(1, ring(8, &[3]));
        for seen in [Some(&far), Some(&recreated), None] {
            for basis in [Expected::Unchanged(&was), Expected::Deleted(&was)] {
                assert_eq!(verdict(basis, id(99), Doubt::UnderToken, seen), Verdict::Conflict, "{seen:?}");
            }
        }
    }

    #[test]
    fn a_token_proves_nothing_about_absence_or_content_that_may_come_back() {
        let now = at(1, ring(8, &[3]));
        let untracked = [
            Revision { version: None, ring: None },
            Revision { version: Some(7), ring: None },
            Revision { version: None, ring: Some(ring(8, &[3])) },
        ];
        for seen in [None, Some(&now), Some(&untracked[1])] {
            assert_eq!(verdict(Expected::Absent, id(99), Doubt::UnderToken, seen), Verdict::Unknown);
            for was in &untracked {
                assert_eq!(verdict(Expected::Unchanged(was), id(99), Doubt::UnderToken, seen), Verdict::Unknown);
                assert_eq!(verdict(Expected::Deleted(was), id(99), Doubt::UnderToken, seen), Verdict::Unknown);
            }
        }
    }

    #[test]
    fn a_ring_read_empty_shows_nothing() {
        let was = read(ring(9, &[]));
        for now in [at(10, ring(9, &[1])), at(8, ring(9, &[])), at(11, ring(9, &[4, 3, 2, 1]))] {
            assert_eq!(verdict(Expected::Unchanged(&was), id(99), IN_DOUBT, Some(&now)), Verdict::Unknown);
        }
    }

    #[test]
    fn a_patch_is_found_by_its_id_alone() {
        let stored = |name: &str, n| (name.to_owned(), id(n).to_attribute());
        let item = HashMap::from([stored("_p0", 3), stored("_p7", 1), stored("other", 2)]);
        assert_eq!([3, 1, 2].map(|number| shows_any(Some(&item), &[id(number)])), [true, true, false]);
        for doubt in [IN_DOUBT, Doubt::UnderToken] {
            let now = at(9, ring(9, &[3]));
            assert_eq!(verdict(Expected::Present, id(99), doubt, Some(&now)), Verdict::Unknown);
        }
        assert_eq!(verdict(Expected::Present, id(99), Doubt::None, None), Verdict::Conflict);
    }

    #[test]
    fn an_unchecked_delete_in_doubt_shows_nothing() {
        assert_eq!(verdict(Expected::Anything, id(99), Doubt::None, None), Verdict::Conflict);
        for found in [None, Some(at(7, ring(9, &[1])))] {
            assert_eq!(verdict(Expected::Anything, id(99), IN_DOUBT, found.as_ref()), Verdict::Unknown);
        }
    }

    #[test]
    fn a_delete_in_doubt_reads_absence_as_success_and_the_same_life_as_a_conflict() {
        let was = read(ring(9, &[1]));
        let expected = Expected::Deleted(&was);
        assert_eq!(verdict(expected, id(99), IN_DOUBT, None), Verdict::Applied);
        let same_life = at(11, ring(9, &[8, 7, 6, 5]));
        assert_eq!(verdict(expected, id(99), IN_DOUBT, Some(&same_life)), Verdict::Conflict);
        assert_eq!(verdict(expected, id(99), IN_DOUBT, Some(&at(1, ring(8, &[1])))), Verdict::Unknown);
    }

    #[test]
    fn an_adoption_in_doubt_is_unknown_after_another_write() {
        let was = Revision { version: None, ring: None };
        let now = at(1, ring(8, &[1]));
        assert_eq!(verdict(Expected::Unchanged(&was), id(99), IN_DOUBT, Some(&was)), Verdict::Unknown);
        assert_eq!(verdict(Expected::Unchanged(&was), id(99), IN_DOUBT, Some(&now)), Verdict::Unknown);
        assert_eq!(verdict(Expected::Absent, id(99), IN_DOUBT, Some(&now)), Verdict::Unknown);
    }

    #[test]
    fn an_item_that_lost_its_version_or_its_ids_begins_a_new_incarnation() {
        let begins = incarnation(8);
        let ring = |life, ids: &[u8]| ring_at(Some(0), life, ids);
        for (was, version) in [
            (Revision { version: None, ring: Some(ring(9, &[1])) }, 1),
            (Revision { version: Some(4), ring: None }, 5),
            (Revision { version: None, ring: None }, 1),
        ] {
            assert_eq!(was.next(id(2), begins, 0, 16), Some(at(version, ring(8, &[2]))));
        }
        assert_eq!(at(4, ring(9, &[1])).next(id(2), begins, 0, 16), Some(at(5, ring(9, &[2, 1]))));
        assert_eq!(at(u64::MAX, ring(9, &[1])).next(id(2), begins, 0, 16), None);
    }
}
