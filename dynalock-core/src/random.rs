//! The only source of randomness.

use std::hash::{BuildHasher, Hasher, RandomState};

use siphasher::sip::SipHasher13;

/// Returns a generator with a seed from the operating system, for one call.
///
/// Write ids depend on this seed. Two processes with the same seed would mistake each other's
/// writes for their own. The default seed of a generator is made from a clock and a thread number,
/// which are the same in machines that were started from one snapshot.
#[expect(clippy::disallowed_methods, reason = "this is the source that all others use")]
pub(crate) fn generator() -> fastrand::Rng {
    let seed = getrandom::u64().unwrap_or_else(|_| RandomState::new().build_hasher().finish());
    fastrand::Rng::with_seed(seed)
}

/// Returns a generator whose numbers depend on the text alone. All processes get the same numbers.
pub(crate) fn derived(text: &str) -> fastrand::Rng {
    fastrand::Rng::with_seed(SipHasher13::new().hash(text.as_bytes()))
}
