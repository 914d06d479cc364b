//! The only source of randomness.

use std::hash::{BuildHasher, Hasher, RandomState};

use siphasher::sip::SipHasher13;

/// A generator with a seed of the operating system's, for one call.
///
/// Write ids rest on it: two processes with one seed would take each other's writes for their own. A generator's default seed, a
/// clock and a thread number, is the same in machines that were started from one snapshot.
#[expect(clippy::disallowed_methods, reason = "this is the source that all others use")]
pub(crate) fn generator() -> fastrand::Rng {
    let seed = getrandom::u64().unwrap_or_else(|_| RandomState::new().build_hasher().finish());
    fastrand::Rng::with_seed(seed)
}

/// A generator for what has to come out the same for the same text, in every process.
pub(crate) fn derived(text: &str) -> fastrand::Rng {
    fastrand::Rng::with_seed(SipHasher13::new().hash(text.as_bytes()))
}
