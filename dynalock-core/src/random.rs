//! Makes the random number generators of the library.

use std::hash::{BuildHasher, Hasher, RandomState};

use siphasher::sip::SipHasher13;

/// Returns a random number generator for one call, with a seed from the operating system.
///
/// Each call draws its write id, which identifies the writes of the call, from its own generator.
/// If two processes had the same seed, each process would mistake the writes of the other process
/// for its own writes. The default seed of `fastrand` is not sufficient: it comes from a clock and
/// a thread number, which can be equal on machines that were started from the same snapshot.
#[expect(clippy::disallowed_methods, reason = "this is the source that all others use")]
pub(crate) fn generator() -> fastrand::Rng {
    let seed = getrandom::u64().unwrap_or_else(|_| RandomState::new().build_hasher().finish());
    fastrand::Rng::with_seed(seed)
}

/// Returns a new `ClientRequestToken`.
pub(crate) fn token(rng: &mut fastrand::Rng) -> String {
    format!("{:032x}", rng.u128(..))
}

/// Returns a random number generator whose numbers depend only on `text`. All processes get the
/// same numbers for the same text.
pub(crate) fn derived(text: &str) -> fastrand::Rng {
    fastrand::Rng::with_seed(SipHasher13::new().hash(text.as_bytes()))
}
