//! The times of a request and of its answer, in whole milliseconds.

use std::time::Duration;

use crate::simulated::round_trip;

/// Draws the times of a request and of its answer. Tokio's timer counts whole milliseconds and would
/// round up, so the part of a millisecond decides at random. The mean is exact.
pub(crate) fn ways(rng: &mut fastrand::Rng) -> [Duration; 2] {
    let half = round_trip(rng).as_secs_f64() * 1_000.0 / 2.0;
    [(); 2].map(|()| {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a few milliseconds")]
        let millis = (half + rng.f64()) as u64;
        Duration::from_millis(millis)
    })
}
