//! Makes the random number generators of the library.

use std::hash::{BuildHasher, Hasher, RandomState};

use siphasher::sip::SipHasher13;

/// Returns a random number generator for one call, with a seed from the operating system.
///
/// Each call of the library draws its write id from its own generator. Two generators with the same
/// seed would give two calls the same write id. With the same write id, a call could mistake
/// another call's write for its own. The default seed of `fastrand` is not sufficient, because
/// `fastrand` makes the seed from a clock and a thread number. Machines that were started from the
/// same snapshot can have equal clocks and thread numbers.
#[expect(clippy::disallowed_methods, reason = "this is the source that all others use")]
pub(crate) fn generator() -> fastrand::Rng {
    let seed = getrandom::u64().unwrap_or_else(|_| RandomState::new().build_hasher().finish());
    fastrand::Rng::with_seed(seed)
}

/// Returns a new random `ClientRequestToken` for a transaction.
pub(crate) fn token(rng: &mut fastrand::Rng) -> String {
    format!("{:032x}", rng.u128(..))
}

/// Returns a random number generator whose numbers depend only on `text`. All processes get the
/// same numbers from the same text.
pub(crate) fn derived(text: &str) -> fastrand::Rng {
    fastrand::Rng::with_seed(SipHasher13::new().hash(text.as_bytes()))
}
