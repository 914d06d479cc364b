//! The random number generators of the library.

use std::hash::{BuildHasher, Hasher, RandomState};

use siphasher::sip::SipHasher13;

/// Returns a generator with a seed from the operating system. Two calls that draw the same random
/// id for their writes could mistake each other's writes for their own. The default seed of
/// `fastrand` is a clock and a thread number. Both can be equal on machines that were started from
/// one snapshot.
#[expect(clippy::disallowed_methods, reason = "this is the source that all others use")]
pub(crate) fn generator() -> fastrand::Rng {
    let seed = getrandom::u64().unwrap_or_else(|_| RandomState::new().build_hasher().finish());
    fastrand::Rng::with_seed(seed)
}

/// Returns a new random `ClientRequestToken` for a transaction.
pub(crate) fn token(rng: &mut fastrand::Rng) -> String {
    format!("{:032x}", rng.u128(..))
}

/// Returns a generator that produces the same numbers in all processes for the same `text`.
pub(crate) fn derived(text: &str) -> fastrand::Rng {
    fastrand::Rng::with_seed(SipHasher13::new().hash(text.as_bytes()))
}
