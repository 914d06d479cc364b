//! The rules as they are, and rules that are not good enough.

use crate::version::{
    Expected, Found, Revision, SMALLEST_RING, Verdict, WriteId, nothing_fell_between, same_life, verdict,
};

/// What a writer goes by.
#[derive(Clone, Copy)]
pub(super) struct Rules {
    pub(super) verdict: fn(Expected<'_>, WriteId, bool, Found<'_>) -> Verdict,
    /// Whether an item is the one that was read.
    pub(super) unchanged: fn(was: &Revision, now: &Revision) -> bool,
    /// Whether a failed condition of a write that is known again by a token proves that no attempt was applied.
    pub(super) token_proves: fn(Expected<'_>) -> bool,
    pub(super) ids: Drawn,
    pub(super) incarnations: Drawn,
}

/// How often something random is drawn.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Drawn {
    PerCall,
    PerAttempt,
}

/// The rules of the library.
pub(super) const REAL: Rules = Rules {
    verdict,
    unchanged: same_version_and_life,
    token_proves: |_| true,
    ids: Drawn::PerCall,
    incarnations: Drawn::PerAttempt,
};

/// What the text of an update's or a delete's condition asks for.
fn same_version_and_life(was: &Revision, now: &Revision) -> bool {
    let same_life = match (&was.ring, &now.ring) {
        (Some(was), Some(now)) => was.incarnation() == now.incarnation(),
        (None, None) => true,
        (Some(_), None) | (None, Some(_)) => false,
    };
    was.version == now.version && same_life
}

pub(super) fn same_version(was: &Revision, now: &Revision) -> bool {
    was.version == now.version
}

pub(super) fn every_failed_condition_is_a_conflict(_: Expected<'_>, _: WriteId, _: bool, _: Found<'_>) -> Verdict {
    Verdict::Conflict
}

/// Takes a conflict for proven where the rules see none.
fn or_conflict(real: Verdict, proven: bool) -> Verdict {
    if real == Verdict::Unknown && proven { Verdict::Conflict } else { real }
}

pub(super) fn gap_rule_without_the_incarnation(
    expected: Expected<'_>,
    id: WriteId,
    in_doubt: bool,
    found: Found<'_>,
) -> Verdict {
    let proven = match (expected, found) {
        (Expected::Unchanged(Revision { ring: Some(read), .. }), Found::Present(Some(now))) => {
            nothing_fell_between(read, now)
        }
        _ => false,
    };
    or_conflict(verdict(expected, id, in_doubt, found), proven)
}

pub(super) fn delete_rule_without_the_incarnation(
    expected: Expected<'_>,
    id: WriteId,
    in_doubt: bool,
    found: Found<'_>,
) -> Verdict {
    let proven = matches!((expected, found), (Expected::Deleted(_), Found::Present(Some(_))));
    or_conflict(verdict(expected, id, in_doubt, found), proven)
}

pub(super) fn no_gap_rule(expected: Expected<'_>, id: WriteId, in_doubt: bool, found: Found<'_>) -> Verdict {
    let proven = match (expected, found) {
        (Expected::Unchanged(was), Found::Present(Some(now))) => same_life(was, now).is_some(),
        _ => false,
    };
    or_conflict(verdict(expected, id, in_doubt, found), proven)
}

pub(super) fn an_adoption_that_met_a_short_ring_is_a_conflict(
    expected: Expected<'_>,
    id: WriteId,
    in_doubt: bool,
    found: Found<'_>,
) -> Verdict {
    let proven = match (expected, found) {
        (Expected::Unchanged(Revision { ring: None, .. }), Found::Present(Some(now))) => {
            now.ids().len() < SMALLEST_RING
        }
        _ => false,
    };
    or_conflict(verdict(expected, id, in_doubt, found), proven)
}

pub(super) fn a_create_that_met_an_item_is_a_conflict(
    expected: Expected<'_>,
    id: WriteId,
    in_doubt: bool,
    found: Found<'_>,
) -> Verdict {
    let proven = matches!((expected, found), (Expected::Absent, Found::Present(Some(_))));
    or_conflict(verdict(expected, id, in_doubt, found), proven)
}
