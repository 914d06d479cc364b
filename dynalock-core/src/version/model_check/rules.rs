//! The rules of the library, and weaker rules.

use super::world::Item;
use crate::version::{
    Doubt, Expected, Incarnation, Revision, Ring, SMALLEST_RING, Verdict, WriteId, nothing_fell_between, same_life,
    verdict,
};

/// The rules that a writer follows.
#[derive(Clone, Copy)]
pub(super) struct Rules {
    pub(super) verdict: fn(Expected<'_>, WriteId, Doubt, Option<&Revision>) -> Verdict,
    /// Returns whether an item is the item that was read.
    pub(super) unchanged: fn(was: &Item, now: &Item) -> bool,
    /// Returns the revision after an update.
    pub(super) next: fn(&Revision, WriteId, Incarnation, u8) -> Option<Revision>,
    pub(super) ids: Drawn,
    pub(super) incarnations: Drawn,
}

/// The number of random draws of a kind.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Drawn {
    PerCall,
    PerAttempt,
}

/// The rules of the library.
pub(super) const REAL: Rules = Rules {
    verdict,
    unchanged: same_state,
    next: Revision::next,
    ids: Drawn::PerCall,
    incarnations: Drawn::PerAttempt,
};

/// Returns whether two items are the same for the condition of an update or a delete. The condition
/// compares version and incarnation, or the whole content.
fn same_state(was: &Item, now: &Item) -> bool {
    let life = |item: &Item| item.revision.ring.as_ref().map(Ring::incarnation);
    match was.revision.is_tracked() {
        true => was.revision.version == now.revision.version && life(was) == life(now),
        false => was == now,
    }
}

pub(super) fn same_version(was: &Item, now: &Item) -> bool {
    was.revision.version == now.revision.version
}

/// A rule that takes an item without write ids for the item that was read, if it has the same
/// version and no ids.
pub(super) fn same_version_and_life(was: &Item, now: &Item) -> bool {
    let life = |item: &Item| item.revision.ring.as_ref().map(Ring::incarnation);
    was.revision.version == now.revision.version && life(was) == life(now)
}

pub(super) fn adoption_keeps_the_incarnation(
    was: &Revision,
    id: WriteId,
    begins: Incarnation,
    keep: u8,
) -> Option<Revision> {
    let ring = was.ring.clone().unwrap_or(Ring::new(begins));
    let version = was.number().checked_add(1)?;
    Some(Revision { version: Some(version), ring: Some(ring.push(id, keep)) })
}

pub(super) fn every_failed_condition_is_a_conflict(
    _: Expected<'_>,
    _: WriteId,
    _: Doubt,
    _: Option<&Revision>,
) -> Verdict {
    Verdict::Conflict
}

/// A rule that reports a conflict where the library's rules prove none.
fn or_conflict(real: Verdict, proven: bool) -> Verdict {
    if real == Verdict::Unknown && proven { Verdict::Conflict } else { real }
}

/// The weakness of a rule: the cases in which it reports a conflict, and the rules of the library
/// do not.
macro_rules! too_much_is_proven {
    ($($name:ident: |$expected:pat_param, $found:pat_param| $proven:expr;)*) => {$(
        pub(super) fn $name(
            expected: Expected<'_>,
            id: WriteId,
            doubt: Doubt,
            found: Option<&Revision>,
        ) -> Verdict {
            let proven = match (expected, found) {
                ($expected, $found) => $proven,
                #[allow(unreachable_patterns, reason = "some patterns match everything")]
                _ => false,
            };
            or_conflict(verdict(expected, id, doubt, found), proven)
        }
    )*};
}

too_much_is_proven! {
    gap_rule_without_the_incarnation:
        |Expected::Unchanged(Revision { ring: Some(read), .. }), Some(Revision { ring: Some(now), .. })|
        nothing_fell_between(read, now);
    delete_rule_without_the_incarnation:
        |Expected::Deleted(_), Some(Revision { ring: Some(_), .. })| true;
    no_gap_rule:
        |Expected::Unchanged(was), Some(Revision { ring: Some(now), .. })| same_life(was, now).is_some();
    an_adoption_that_met_a_short_ring_is_a_conflict:
        |Expected::Unchanged(Revision { ring: None, .. }), Some(Revision { ring: Some(now), .. })|
        now.ids().len() < SMALLEST_RING;
    a_create_that_met_an_item_is_a_conflict: |Expected::Absent, Some(Revision { ring: Some(_), .. })| true;
}

/// A rule that takes the answer of a token for more than it proves: an attempt that was not applied
/// may still be applied later.
pub(super) fn a_token_proves_everything(
    expected: Expected<'_>,
    id: WriteId,
    doubt: Doubt,
    found: Option<&Revision>,
) -> Verdict {
    or_conflict(verdict(expected, id, doubt, found), doubt == Doubt::UnderToken)
}

/// A rule that takes the absence of an item for the success of its delete, even with a token.
pub(super) fn absence_is_success(
    expected: Expected<'_>,
    id: WriteId,
    doubt: Doubt,
    found: Option<&Revision>,
) -> Verdict {
    match (expected, doubt, found) {
        (Expected::Deleted(_), Doubt::Plain(_) | Doubt::UnderToken, None) => Verdict::Applied,
        _ => verdict(expected, id, doubt, found),
    }
}
