//! The rules of the library, and broken variants of them.

use super::world::Item;
use crate::version::{
    Doubt, Expected, Incarnation, Repeats, Revision, Ring, Verdict, WriteId, nothing_fell_between, ring::StoredId,
    same_life, verdict,
};

/// Returns the revision after an update with this id, at this time. The update may begin the
/// incarnation, and keeps at most this number of ids.
pub(super) type Next = fn(&Revision, WriteId, Incarnation, u64, u8) -> Option<Revision>;

/// The rules of a writer.
#[derive(Clone, Copy)]
pub(super) struct Rules {
    pub(super) verdict: fn(Expected<'_>, WriteId, Doubt, Option<&Revision>) -> Verdict,
    /// Returns whether the condition of an update or a delete is true.
    pub(super) unchanged: fn(was: &Item, now: &Item) -> bool,
    pub(super) next: Next,
    /// Returns the revision after a patch, or `None` if its condition is false.
    pub(super) patched: fn(Patch, &Revision, Incarnation) -> Option<Revision>,
    pub(super) register: Register,
    pub(super) lost_patch: LostPatch,
    /// The verdict on a patch in doubt whose id is not in the item.
    pub(super) absent_patch: Verdict,
    pub(super) batches: Batches,
    pub(super) returned: Returned,
    pub(super) ids: Drawn,
    pub(super) refused_runs: RefusedRuns,
    pub(super) incarnations: Drawn,
    /// The frequency with which a token is drawn. An attempt under another token has another
    /// incarnation.
    pub(super) tokens: Drawn,
}

/// The knowledge of a patch about the item, from an earlier refusal.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub(super) struct Patch {
    /// `true` if the item has write ids without a version.
    pub(super) has_stray_ids: bool,
}

/// The next step after a lost reply to a patch whose token the server does not remember.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum LostPatch {
    /// The client reads the item. If the token has been forgotten, the client gives up.
    IsLookedFor,
    /// The client sends the patch again.
    IsSentAgain,
}

/// The calls of a batch while an attempt of the batch is in doubt.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Batches {
    /// The calls stay the same until the outcome is certain.
    Frozen,
    /// Waiting calls join the next attempt.
    Joined,
    /// A caller may leave, and learns that its call has no effect.
    Left,
}

/// The item that each caller of a batch gets. Its revision is the revision after the batch.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Returned {
    AsTheBatchLeftIt,
    AsTheFirstCallLeftIt,
}

/// The condition of a patch on the ids of patches in the item.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Register {
    /// The item must not have the id of the patch.
    IsCompared,
    IsIgnored,
}

/// The ids of the refused runs of a call, in the item from which the next run starts.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum RefusedRuns {
    /// Such an id shows that the run was applied after its refusal, so the call ends.
    AreLookedFor,
    AreIgnored,
}

/// The frequency with which a random value is drawn.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Drawn {
    /// The value is drawn once for each call.
    Once,
    /// A run of the closure ends with a certain conflict.
    PerRun,
    PerAttempt,
}

/// The rules of the library.
pub(super) const REAL: Rules = Rules {
    verdict,
    unchanged: same_state,
    next: Revision::next,
    patched,
    register: Register::IsCompared,
    lost_patch: LostPatch::IsLookedFor,
    absent_patch: Verdict::Unknown,
    batches: Batches::Frozen,
    returned: Returned::AsTheBatchLeftIt,
    ids: Drawn::PerRun,
    refused_runs: RefusedRuns::AreLookedFor,
    incarnations: Drawn::PerAttempt,
    tokens: Drawn::Once,
};

/// The smallest number of ids that a ring can be configured to keep.
const SMALLEST_RING: usize = 4;

/// Evaluates the condition of an update or a delete. The condition compares the version and the
/// incarnation, or the whole content without the ids of patches.
fn same_state(was: &Item, now: &Item) -> bool {
    let life = |item: &Item| item.revision.ring.as_ref().map(Ring::incarnation);
    match was.revision.is_tracked() {
        true => was.revision.version == now.revision.version && life(was) == life(now),
        false => was.has_content_of(now),
    }
}

pub(super) fn same_version(was: &Item, now: &Item) -> bool {
    was.revision.version == now.revision.version
}

/// Treats an item without write ids as the item that was read, if both have the same version.
pub(super) fn same_version_and_life(was: &Item, now: &Item) -> bool {
    let life = |item: &Item| item.revision.ring.as_ref().map(Ring::incarnation);
    was.revision.version == now.revision.version && life(was) == life(now)
}

/// Evaluates the condition of a patch on the version and the ring, and its effect on them. This
/// function represents the texts of `PatchIntent::own_condition` and `PatchIntent::text`.
fn patched(patch: Patch, was: &Revision, begins: Incarnation) -> Option<Revision> {
    let ring = match (was.version, &was.ring) {
        (None, Some(_)) if patch.has_stray_ids => Ring::new(begins),
        (None, Some(_)) => return None,
        (Some(_) | None, _) if patch.has_stray_ids => return None,
        (Some(_), Some(ring)) => ring.clone(),
        (Some(_) | None, None) => Ring::new(begins),
    };
    let version = was.number().checked_add(1)?;
    Some(Revision { version: Some(version), ring: Some(ring) })
}

pub(super) fn a_patch_keeps_stray_ids(_: Patch, was: &Revision, begins: Incarnation) -> Option<Revision> {
    let ring = was.ring.clone().unwrap_or(Ring::new(begins));
    let version = was.number().checked_add(1)?;
    Some(Revision { version: Some(version), ring: Some(ring) })
}

pub(super) fn a_patch_leaves_the_version(patch: Patch, was: &Revision, begins: Incarnation) -> Option<Revision> {
    let version = was.version.or(Some(1));
    Some(Revision { version, ..patched(patch, was, begins)? })
}

pub(super) fn adoption_keeps_the_incarnation(
    was: &Revision,
    id: WriteId,
    begins: Incarnation,
    at: u64,
    keep: u8,
) -> Option<Revision> {
    let ring = was.ring.clone().unwrap_or(Ring::new(begins));
    let version = was.number().checked_add(1)?;
    Some(Revision { version: Some(version), ring: Some(ring.push(id, at, keep)) })
}

/// Returns the revision with another ring: `kept` are the ids behind the newest.
fn with_ids(next: Revision, kept: impl IntoIterator<Item = StoredId>) -> Revision {
    let ring = next.ring.map(|ring| Ring::of(ring.incarnation(), ring.time(), ring.ids().take(1).chain(kept)));
    Revision { ring, ..next }
}

/// Returns the ids of a ring that was written at another time, newest first.
fn rested(was: &Revision, at: u64) -> Option<Vec<StoredId>> {
    let ring = was.ring.as_ref()?;
    ring.time().is_some_and(|time| u64::from(time) * 1000 < at).then(|| ring.ids().collect())
}

/// Defines broken rules for a ring that was written long ago. `$repeats` is that of the write, `$ids`
/// are the ids of the ring, and the result contains the ids that stay.
macro_rules! trims_wrongly {
    ($($name:ident: |$repeats:pat_param, $ids:ident| $kept:expr;)*) => {$(
        pub(super) fn $name(was: &Revision, id: WriteId, begins: Incarnation, at: u64, keep: u8) -> Option<Revision> {
            let next = was.next(id, begins, at, keep)?;
            let $repeats = id.repeats;
            Some(match rested(was, at) {
                Some($ids) => with_ids(next, $kept),
                None => next,
            })
        }
    )*};
}

trims_wrongly! {
    trim_keeps_the_newest_and_the_oldest_id: |_, ids| ids.first().into_iter().chain(ids.last()).copied();
    trim_leaves_a_gap_before_the_id_of_a_token: |_, ids|
        ids.iter().enumerate().filter(|(place, id)| *place == 0 || id.is_of_token()).map(|(_, id)| *id);
    trim_removes_the_ids_of_tokens: |_, ids| ids.first().copied();
    trim_under_a_token: |repeats, ids| ids.into_iter().take(if repeats == Repeats::Ever { 1 } else { usize::MAX });
}

/// Returns the revision after an update, with the time of the write even under a token of the
/// caller.
pub(super) fn time_under_a_token(
    was: &Revision,
    id: WriteId,
    begins: Incarnation,
    at: u64,
    keep: u8,
) -> Option<Revision> {
    let next = was.next(id, begins, at, keep)?;
    let now = u32::try_from(at / 1000).ok();
    let ring = next.ring.map(|ring| Ring::of(ring.incarnation(), now, ring.ids()));
    Some(Revision { ring, ..next })
}

pub(super) fn every_failed_condition_is_a_conflict(
    _: Expected<'_>,
    _: WriteId,
    _: Doubt,
    _: Option<&Revision>,
) -> Verdict {
    Verdict::Conflict
}

/// Returns a conflict if the rules of the library decide nothing and the broken rule sees a proof.
fn or_conflict(real: Verdict, proven: bool) -> Verdict {
    if real == Verdict::Unknown && proven { Verdict::Conflict } else { real }
}

/// Defines broken rules. Each broken rule accepts more cases as a proof of a conflict than the
/// rules of the library.
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
    a_short_ring_is_complete_without_the_incarnation:
        |Expected::Unchanged(Revision { ring: Some(read), .. }), Some(Revision { ring: Some(now), .. })|
        read.ids().len() == 0 && now.ids().len() < SMALLEST_RING;
    delete_rule_without_the_incarnation:
        |Expected::Deleted(_), Some(Revision { ring: Some(_), .. })| true;
    no_gap_rule:
        |Expected::Unchanged(was), Some(Revision { ring: Some(now), .. })| same_life(was, now).is_some();
    an_adoption_that_met_a_short_ring_is_a_conflict:
        |Expected::Unchanged(Revision { ring: None, .. }), Some(Revision { ring: Some(now), .. })|
        now.ids().len() < SMALLEST_RING;
    a_create_that_met_an_item_is_a_conflict: |Expected::Absent, Some(Revision { ring: Some(_), .. })| true;
}

/// Treats a refusal under a token as a proof that no attempt will be applied later.
pub(super) fn a_token_proves_everything(
    expected: Expected<'_>,
    id: WriteId,
    doubt: Doubt,
    found: Option<&Revision>,
) -> Verdict {
    or_conflict(verdict(expected, id, doubt, found), doubt == Doubt::UnderToken)
}

/// Treats the absence of the item as a success of its delete, even under a token.
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
