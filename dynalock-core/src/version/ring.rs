//! The attribute `_writes` of an item, which identifies the item and its last writes.
//!
//! | bytes of `_writes` | content |
//! |---|---|
//! | 8 | the incarnation: a random id that distinguishes the item from earlier items with the same key |
//! | 4 or 0 | the time of the last write without an idempotency token of the caller, in seconds since the epoch, if `_writes` contains a time |
//! | 8 each | the ids of the last writes, newest first |

use std::iter;

use aws_sdk_dynamodb::{primitives::Blob, types::AttributeValue};

const ID_LEN: usize = 8;
const TIME_LEN: usize = 4;

/// If the last write of an item is older than `REST` seconds, the next write removes old write ids.
/// A call takes seconds, so no call looks for a write id that is older than `REST` seconds.
const REST: u32 = 15 * 60;

/// The bit of a stored write id that is set if the library derived the id from an idempotency token
/// of the caller.
const OF_TOKEN: u8 = 1 << 7;

/// The time during which a write may be repeated with the same write id and the same content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Repeats {
    /// Only the call that sends the write repeats the write.
    InThisCall,
    /// A program that passes its own idempotency token to the write can repeat the write at any
    /// time.
    Ever,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct WriteId {
    bytes: [u8; ID_LEN],
    pub(crate) repeats: Repeats,
}

/// A write id in the encoding of the attribute `_writes`. Earlier versions of the library stored a
/// random bit in place of the bit [`OF_TOKEN`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct StoredId(pub(super) [u8; ID_LEN]);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Incarnation([u8; ID_LEN]);

/// The content of the attribute `_writes`: the ids of the newest writes, without a gap. The Rust
/// type of the item sets the largest number of write ids in `_writes`.
///
/// If the clock of a caller is wrong, the library may remove old write ids too early or too late.
/// If the id of a write is no longer in `_writes`, the library may report an unknown outcome of the
/// write, but never a wrong outcome.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Ring(Vec<u8>);

impl WriteId {
    pub(crate) fn draw(rng: &mut fastrand::Rng) -> Self {
        Self { bytes: rng.u64(..).to_be_bytes(), repeats: Repeats::InThisCall }
    }

    /// The seed of the generator `rng` must be the caller's idempotency token, so that each call
    /// with the token has the same write id.
    pub(crate) fn of_token(rng: &mut fastrand::Rng) -> Self {
        Self { repeats: Repeats::Ever, ..Self::draw(rng) }
    }

    pub(crate) fn as_bytes(&self) -> &[u8; ID_LEN] {
        &self.bytes
    }

    pub(crate) fn to_attribute(self) -> AttributeValue {
        AttributeValue::B(Blob::new(self.bytes))
    }

    fn stored(self) -> StoredId {
        let mut bytes = self.bytes;
        match self.repeats {
            Repeats::InThisCall => bytes[0] &= !OF_TOKEN,
            Repeats::Ever => bytes[0] |= OF_TOKEN,
        }
        StoredId(bytes)
    }
}

impl StoredId {
    pub(super) fn is_of_token(self) -> bool {
        self.0[0] & OF_TOKEN != 0
    }

    fn is(self, id: WriteId) -> bool {
        self.0[0] | OF_TOKEN == id.bytes[0] | OF_TOKEN && self.0[1..] == id.bytes[1..]
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

impl Ring {
    pub(crate) fn new(incarnation: Incarnation) -> Self {
        Self(incarnation.0.to_vec())
    }

    /// `time` is in seconds since the epoch. `ids` starts with the newest write id.
    pub(super) fn of(incarnation: Incarnation, time: Option<u32>, ids: impl Iterator<Item = StoredId>) -> Self {
        let mut bytes = Vec::with_capacity(ID_LEN + TIME_LEN + ID_LEN * ids.size_hint().0);
        bytes.extend_from_slice(&incarnation.0);
        if let Some(time) = time {
            bytes.extend_from_slice(&time.to_be_bytes());
        }
        for id in ids {
            bytes.extend_from_slice(&id.0);
        }
        Self(bytes)
    }

    /// Returns `None` if the length of `bytes` is invalid.
    pub(crate) fn parse(bytes: Vec<u8>) -> Option<Self> {
        let has_whole_parts = matches!(bytes.len() % ID_LEN, 0 | TIME_LEN);
        (bytes.len() >= ID_LEN && has_whole_parts).then_some(Self(bytes))
    }

    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    pub(crate) fn incarnation(&self) -> Incarnation {
        let mut bytes = [0; ID_LEN];
        bytes.copy_from_slice(&self.0[..ID_LEN]);
        Incarnation(bytes)
    }

    pub(super) fn set_incarnation(&mut self, incarnation: Incarnation) {
        self.0[..ID_LEN].copy_from_slice(&incarnation.0);
    }

    /// Returns the time in `_writes`, in seconds since the epoch. A write with an idempotency token
    /// of the caller does not change the time in `_writes`.
    pub(super) fn time(&self) -> Option<u32> {
        self.0[ID_LEN..self.head_len()].first_chunk().map(|time| u32::from_be_bytes(*time))
    }

    /// Adds a write id at the front, and removes the oldest ids if more than `keep` ids would
    /// remain. `at` is the time of the write in epoch milliseconds. If
    /// [`has_rested`](Self::has_rested) returns `true`, the result contains at most two ids: the
    /// added id, and the newest of the earlier ids.
    ///
    /// A later call with the same idempotency token of the caller must send the same request. For a
    /// write with such a token, the result of `push` therefore does not depend on `at`.
    pub(crate) fn push(&self, id: WriteId, at: u64, keep: u8) -> Self {
        let now = u32::try_from(at / 1000).unwrap_or(u32::MAX);
        let (time, kept) = match id.repeats {
            Repeats::Ever => (self.time(), self.ids().len()),
            // A call that has read the item before this write looks for the newest stored id.
            // Without that id, the call could not know whether `_writes` contains the ids of all
            // writes since the read.
            Repeats::InThisCall if self.has_rested(now) => (Some(now), 1),
            Repeats::InThisCall => (Some(now), self.ids().len()),
        };
        let kept = self.ids().take(kept.min(usize::from(keep).saturating_sub(1)));
        Self::of(self.incarnation(), time, iter::once(id.stored()).chain(kept))
    }

    /// Returns `true` if the next write may remove old write ids. Returns `false` while `_writes`
    /// contains the id of a write with an idempotency token of the caller, because the caller can
    /// repeat this write at any time.
    fn has_rested(&self, now: u32) -> bool {
        // A stored time in the future comes from a wrong clock, and counts as recent.
        self.time().is_some_and(|time| now.saturating_sub(time) > REST) && !self.ids().any(StoredId::is_of_token)
    }

    pub(super) fn ids(&self) -> impl ExactSizeIterator<Item = StoredId> {
        self.0[self.head_len()..].as_chunks().0.iter().copied().map(StoredId)
    }

    pub(crate) fn contains(&self, id: WriteId) -> bool {
        self.ids().any(|held| held.is(id))
    }

    /// Returns the length in bytes of the incarnation and the time. The incarnation and each id
    /// have 8 bytes, and a time has 4 bytes. Without a time, the length of `_writes` is a multiple
    /// of 8. With a time, the length is a multiple of 8 plus 4.
    fn head_len(&self) -> usize {
        ID_LEN + self.0.len() % ID_LEN
    }
}

debug_fields!(Ring, self => { ids: self.ids().len() });

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// Returns a write id for a test. If `n` is 0x80 or more, `id` returns the id of a write with
    /// an idempotency token of the caller.
    pub(in super::super) fn id(n: u8) -> WriteId {
        let repeats = if n & OF_TOKEN == 0 { Repeats::InThisCall } else { Repeats::Ever };
        WriteId { bytes: [n; ID_LEN], repeats }
    }

    pub(in super::super) fn incarnation(n: u8) -> Incarnation {
        Incarnation([n; ID_LEN])
    }

    /// Returns the attribute `_writes` with the given time, write ids and random id of the item
    /// (the incarnation).
    pub(in super::super) fn ring_at(time: Option<u32>, life: u8, ids: &[u8]) -> Ring {
        Ring::of(incarnation(life), time, ids.iter().map(|n| id(*n).stored()))
    }

    /// Returns the attribute `_writes` with the given write ids and the given random id of the item
    /// (the incarnation), without a time.
    pub(in super::super) fn ring(life: u8, ids: &[u8]) -> Ring {
        ring_at(None, life, ids)
    }

    fn timed(time: u32, ids: &[u8]) -> Ring {
        ring_at(Some(time), 9, ids)
    }

    const NOON: u32 = 1_800_000_000;
    const NOON_MILLIS: u64 = NOON as u64 * 1000;

    #[test]
    fn push_puts_in_front_and_takes_off_the_back() {
        let full = ring(9, &[4, 3, 2, 1]);
        assert_eq!(full.push(id(5), NOON_MILLIS, 4), timed(NOON, &[5, 4, 3, 2]));
        assert_eq!(full.push(id(5), NOON_MILLIS + 999, 16), timed(NOON, &[5, 4, 3, 2, 1]));
        assert_eq!(Ring::new(incarnation(9)).push(id(1), NOON_MILLIS, 16), timed(NOON, &[1]));
    }

    #[test]
    fn a_ring_that_has_rested_keeps_its_newest_id() {
        let rested = timed(NOON - REST - 1, &[4, 3, 2, 1]);
        let pushed = rested.push(id(5), NOON_MILLIS, 16);
        assert_eq!(pushed, timed(NOON, &[5, 4]));
        assert!(pushed.as_bytes().len() <= 32, "what an item at rest may carry");
        let in_use = timed(NOON - REST, &[4, 3, 2, 1]);
        assert_eq!(in_use.push(id(5), NOON_MILLIS, 16), timed(NOON, &[5, 4, 3, 2, 1]));
    }

    /// Without a time in `_writes`, the library does not know the age of the last write, so `push`
    /// keeps all write ids.
    #[test]
    fn a_ring_without_a_time_is_not_trimmed() {
        assert_eq!(ring(9, &[2, 1]).push(id(3), u64::MAX, 16), timed(u32::MAX, &[3, 2, 1]));
    }

    #[test]
    fn a_time_in_the_future_is_replaced_by_the_next_write() {
        let ahead = timed(NOON + 100 * REST, &[2, 1]);
        let healed = ahead.push(id(3), NOON_MILLIS, 16);
        assert_eq!(healed, timed(NOON, &[3, 2, 1]));
    }

    #[test]
    fn a_write_under_a_token_of_the_caller_keeps_the_time_and_the_ids() {
        let token = id(0x81);
        assert_eq!(timed(7, &[2, 1]).push(token, NOON_MILLIS, 16), timed(7, &[0x81, 2, 1]));
        assert_eq!(timed(7, &[2, 1]).push(token, NOON_MILLIS, 2), timed(7, &[0x81, 2]));
        assert_eq!(ring(9, &[2]).push(token, NOON_MILLIS, 16), ring(9, &[0x81, 2]));
        assert_eq!(Ring::new(incarnation(9)).push(token, NOON_MILLIS, 16), ring(9, &[0x81]));
    }

    #[test]
    fn a_ring_with_the_id_of_a_token_is_not_trimmed_by_its_age() {
        for ids in [[0x81, 3, 2], [3, 0x81, 2], [3, 2, 0x81]] {
            let pushed = timed(0, &ids).push(id(4), NOON_MILLIS, 16);
            assert_eq!(pushed, timed(NOON, &[4, ids[0], ids[1], ids[2]]));
        }
    }

    #[test]
    fn a_stored_id_shows_whether_it_was_derived_from_a_token() {
        let mut rng = fastrand::Rng::with_seed(7);
        for _ in 0..100 {
            let [drawn, of_token] = [WriteId::draw(&mut rng), WriteId::of_token(&mut rng)];
            assert!(!drawn.stored().is_of_token() && of_token.stored().is_of_token());
            assert!(drawn.stored().is(drawn) && of_token.stored().is(of_token));
            assert!(!drawn.stored().is(of_token) && !of_token.stored().is(drawn));
            for earlier in [drawn, of_token] {
                assert!(StoredId(earlier.bytes).is(earlier), "earlier versions stored the id itself");
            }
        }
    }

    #[test]
    fn parse_refuses_what_is_not_whole_parts() {
        for length in [8, 12, 16, 20, 136, 140] {
            assert_eq!(Ring::parse(vec![0; length]), Some(Ring(vec![0; length])));
        }
        for length in [0, 4, 7, 9, 13, 18] {
            assert_eq!(Ring::parse(vec![0; length]), None);
        }
    }

    #[test]
    fn a_ring_has_the_parts_that_it_was_made_of() {
        for time in [None, Some(NOON)] {
            let ring = ring_at(time, 9, &[2, 1]);
            let parsed = Ring::parse(ring.as_bytes().to_vec()).unwrap();
            assert_eq!((parsed.incarnation(), parsed.time()), (incarnation(9), time));
            assert_eq!(parsed.ids().collect::<Vec<_>>(), [2, 1].map(|n| id(n).stored()));
        }
    }
}
