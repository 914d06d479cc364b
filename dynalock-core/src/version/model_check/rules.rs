//! The rules by which the library writes items and interprets lost replies, and broken variants of
//! the library's rules.

use super::world::Item;
use crate::version::{
    Doubt, Expected, Incarnation, Repeats, Revision, Ring, Verdict, WriteId, nothing_fell_between, ring::StoredId,
    same_life, verdict,
};

/// A function that returns the revision (the version and the write ids) of an item after an update.
/// The parameters are the revision before the update, the write id, a new incarnation (a random
/// id), the time, and the largest number of write ids.
pub(super) type Next = fn(&Revision, WriteId, Incarnation, u64, u8) -> Option<Revision>;

/// The rules that each writer in the model follows.
#[derive(Clone, Copy)]
pub(super) struct Rules {
    pub(super) verdict: fn(Expected<'_>, WriteId, Doubt, Option<&Revision>) -> Verdict,
    /// Says whether the condition of an update or a delete is true, if the client has read the item
    /// `was`, and the server stores `now`.
    pub(super) unchanged: fn(was: &Item, now: &Item) -> bool,
    pub(super) next: Next,
    /// Returns the version and the write ids of the item after a patch. Returns `None` if the
    /// condition of the patch is false.
    pub(super) patched: fn(Patch, &Revision, Incarnation) -> Option<Revision>,
    pub(super) register: Register,
    pub(super) lost_patch: LostPatch,
    /// The verdict of the client on a patch with a lost reply, if the item does not contain the id
    /// of the patch.
    pub(super) absent_patch: Verdict,
    pub(super) batches: Batches,
    pub(super) returned: Returned,
    pub(super) ids: Drawn,
    pub(super) refused_runs: RefusedRuns,
    pub(super) incarnations: Drawn,
    /// Says whether a call draws one ClientRequestToken for all attempts, or a new token for each
    /// attempt. An attempt with a new token has a new incarnation (a random id in `_writes`).
    pub(super) tokens: Drawn,
}

/// The facts about the stored item that the client learned when the server refused an earlier
/// attempt of a patch.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub(super) struct Patch {
    /// `true` if the item has write ids but no version.
    pub(super) has_stray_ids: bool,
}

/// The next step of a client after a lost reply to a patch, if the server remembers no
/// ClientRequestToken of the patch.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum LostPatch {
    /// For a patch without a ClientRequestToken, the client reads the item and looks for the id of
    /// the patch. If the server has forgotten the token of a patch, the call ends with an unknown
    /// outcome.
    IsLookedFor,
    /// The client repeats the patch.
    IsSentAgain,
}

/// Says whether the calls of a batch may change while the outcome of the batch's write is unknown.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Batches {
    /// The calls of a batch stay the same until the client knows the outcome of the batch's write.
    Frozen,
    /// With the broken rule `Joined`, waiting calls join a batch before the next attempt to write
    /// the batch.
    Joined,
    /// With the broken rule `Left`, a caller may leave a batch, and gets an error as if its call
    /// had no effect.
    Left,
}

/// Says whether the callers of a batch get the item with all changes of the batch, or with only the
/// first change. The callers always get the version and the write ids of the item after the whole
/// batch.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Returned {
    AsTheBatchLeftIt,
    AsTheFirstCallLeftIt,
}

/// Says whether the condition of a patch looks for the id of the patch in the item.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Register {
    /// The condition of the patch requires that the item does not contain the id of the patch.
    IsCompared,
    IsIgnored,
}

/// Says whether a call looks for the ids of its refused writes in the item before the call runs its
/// closure again.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum RefusedRuns {
    /// If the item contains the write id of a refused write, the server has applied a delayed
    /// duplicate of the write, so the call ends.
    AreLookedFor,
    AreIgnored,
}

/// Says how often a client draws a random value for a call.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Drawn {
    /// The client draws one random value for each call.
    Once,
    /// The client draws one random value for each run of the call's closure. A run of the closure
    /// ends when the server has certainly refused the write.
    PerRun,
    PerAttempt,
}

/// The rules that the library follows, without a broken rule.
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

/// The smallest allowed setting for the number of write ids in an item.
const SMALLEST_RING: usize = 4;

/// Evaluates the condition of an update or a delete. The condition is true if the stored item `now`
/// has the version and the incarnation (the random id in `_writes`) of the item `was`. If `was` has
/// no version or no write ids, `same_state` compares the whole content of the items except the
/// patch ids.
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

/// With the broken rule `same_version_and_life`, two items without write ids count as equal if
/// their versions are equal.
pub(super) fn same_version_and_life(was: &Item, now: &Item) -> bool {
    let life = |item: &Item| item.revision.ring.as_ref().map(Ring::incarnation);
    was.revision.version == now.revision.version && life(was) == life(now)
}

/// Evaluates the condition of a patch, and returns the version and the write ids of the item after
/// the patch. The function `patched` models the expressions from `PatchIntent::own_condition` and
/// `PatchIntent::text`.
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

/// Returns the revision `next` with other write ids: the newest write id of `next`, followed by the
/// ids in `kept`.
fn with_ids(next: Revision, kept: impl IntoIterator<Item = StoredId>) -> Revision {
    let ring = next.ring.map(|ring| Ring::of(ring.incarnation(), ring.time(), ring.ids().take(1).chain(kept)));
    Revision { ring, ..next }
}

/// Returns the write ids of the revision `was`, newest first. Returns `None` if `was` contains no
/// time of the last write, or if the time is `at` or later.
fn rested(was: &Revision, at: u64) -> Option<Vec<StoredId>> {
    let ring = was.ring.as_ref()?;
    ring.time().is_some_and(|time| u64::from(time) * 1000 < at).then(|| ring.ids().collect())
}

/// Defines broken rules that remove the wrong ids from `_writes` if the last write was long ago.
/// The parameter `$repeats` says whether the new write has a token from the caller. The parameter
/// `$ids` contains the write ids of the stored item. The expression `$kept` selects the stored
/// write ids that the new write keeps.
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

/// With the broken rule `time_under_a_token`, an update with a token from the caller stores the
/// time of the write.
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

/// Returns the verdict of the library's rules (`real`), but replaces `Unknown` with `Conflict` if
/// `proven` is `true`.
fn or_conflict(real: Verdict, proven: bool) -> Verdict {
    if real == Verdict::Unknown && proven { Verdict::Conflict } else { real }
}

/// Defines broken rules that report a conflict in more cases than the rules of the library.
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

/// With the broken rule `a_token_proves_everything`, the client takes the refusal of a request with
/// a token as proof that no delayed duplicate will be applied.
pub(super) fn a_token_proves_everything(
    expected: Expected<'_>,
    id: WriteId,
    doubt: Doubt,
    found: Option<&Revision>,
) -> Verdict {
    or_conflict(verdict(expected, id, doubt, found), doubt == Doubt::UnderToken)
}

/// With the broken rule `absence_is_success`, a delete with a lost reply counts as successful if
/// the item is absent, even with a token.
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
