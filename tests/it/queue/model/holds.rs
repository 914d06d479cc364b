//! The protocol has no violation in any interleaving, pause, crash and loss within the bounds of
//! each test.

use super::explore::{Outcome, explore};
use super::rules::Kind::{Fair, Plain, Writer};
use super::rules::{Clock, Flaw, Kind, ONE_AND_PLAIN, Rules, THREE, TWO, TWO_AND_PLAIN};

const ONE_OF_EACH: &[Kind] = &[Fair, Plain, Writer];

/// The second clock is ahead by the maximum skew.
const CLOCK: Option<Clock> = Some(Clock { offsets: [0, 1, 0], max_skew: 1 });

/// Explores all states, and compares their number with the expected number. A lower number would
/// mean that an event is no longer possible.
fn states(rules: Rules) -> usize {
    match explore(&rules, None) {
        Outcome::Holds { states } => states,
        Outcome::Broken { property, trace } => panic!("{property:?} does not hold:\n{trace}"),
        Outcome::Stuck { trace } => panic!("nobody can be served any more:\n{trace}"),
    }
}

#[test]
fn three_waiters_are_served_in_turn_though_some_crash_stall_or_give_up() {
    let rules = Rules { crashes: true, patience: true, losses: 1, ..Rules::calm(THREE) };
    assert!(states(rules) > 50_000);
}

#[test]
fn a_delayed_duplicate_costs_three_waiters_at_most_a_ttl() {
    assert!(states(Rules { copies: 1, patience: true, ..Rules::calm(THREE) }) > 60_000);
}

#[test]
fn stale_reads_and_a_longer_ttl_change_nothing() {
    assert!(states(Rules { ttl: 3, stale: true, crashes: true, ..Rules::calm(THREE) }) > 10_000);
}

#[test]
fn a_caller_that_finds_the_queue_full_is_told() {
    assert!(states(Rules { max_queue: 2, crashes: true, losses: 1, ..Rules::calm(THREE) }) > 10_000);
}

#[test]
fn two_processes_acquire_twice_while_requests_are_doubled_and_one_may_crash() {
    assert!(states(Rules { rounds: 2, copies: 1, crashes: true, ..Rules::calm(TWO) }) > 50_000);
}

#[test]
fn requests_and_answers_may_take_any_time() {
    assert!(states(Rules { slow: true, rounds: 2, crashes: true, ..Rules::calm(TWO) }) > 40_000);
    assert!(states(Rules { slow: true, copies: 1, ..Rules::calm(TWO) }) > 30_000);
}

#[test]
fn the_plain_lock_and_the_queue_see_each_other() {
    assert!(states(Rules { crashes: true, losses: 1, ..Rules::calm(TWO_AND_PLAIN) }) > 30_000);
    assert!(states(Rules { slow: true, copies: 1, beats: 1, ..Rules::calm(ONE_AND_PLAIN) }) > 40_000);
}

#[test]
fn plain_locks_alone_hold() {
    assert!(states(Rules { losses: 1, crashes: true, ..Rules::calm(&[Plain, Plain, Plain]) }) > 5_000);
}

#[test]
fn a_plain_release_that_removes_the_beat_lets_a_beat_repeat_a_number() {
    let flaw = Some(Flaw::BeatMayRepeat);
    let rules = Rules { release_clears_beat: true, crashes: true, flaw, ..Rules::calm(TWO_AND_PLAIN) };
    assert!(states(rules) > 4_000);
}

/// Two grants never have the same fence, so a beat with the fence need not name the head.
#[test]
fn the_fence_alone_says_which_holder_a_beat_comes_from() {
    let wrong = |kinds| Rules { flaw: Some(Flaw::BeatIgnoresHead), copies: 1, losses: 1, ..Rules::calm(kinds) };
    assert!(states(wrong(TWO)) > 4_000);
    assert!(states(wrong(ONE_AND_PLAIN)) > 4_000);
}

#[test]
fn a_writer_from_outside_and_a_plain_caller_pass_expired_heads() {
    assert!(states(Rules { crashes: true, ..Rules::calm(ONE_OF_EACH) }) > 3_000);
    assert!(states(Rules { crashes: true, clock: CLOCK, ..Rules::calm(ONE_OF_EACH) }) > 10_000);
}

#[test]
fn clocks_that_differ_by_the_allowed_skew_do_no_harm() {
    assert!(states(Rules { clock: CLOCK, beats: 1, ..Rules::calm(THREE) }) > 10_000);
    assert!(states(Rules { clock: CLOCK, copies: 1, beats: 1, ..Rules::calm(ONE_AND_PLAIN) }) > 10_000);
}

#[test]
fn slow_requests_write_old_times_and_do_no_harm() {
    assert!(states(Rules { clock: CLOCK, slow: true, beats: 1, ..Rules::calm(TWO) }) > 10_000);
}

/// A head without a known consistent read uses its turn, although the cheap read that showed the
/// turn was old.
#[test]
fn an_old_poll_tells_a_head_of_its_turn() {
    let stale = |kinds| Rules { clock: CLOCK, beats: 1, stale: true, ..Rules::calm(kinds) };
    assert!(states(stale(THREE)) > 10_000);
    assert!(states(Rules { rounds: 2, crashes: true, ..stale(TWO) }) > 10_000);
}

#[test]
#[ignore = "minutes: some million states"]
fn slow_requests_and_clocks_with_all_else_that_may_go_wrong() {
    let slow = |kinds| Rules { clock: CLOCK, slow: true, beats: 1, ..Rules::calm(kinds) };
    assert!(states(Rules { crashes: true, losses: 1, ..slow(TWO) }) > 500_000);
    assert!(states(Rules { crashes: true, copies: 1, ..slow(TWO) }) > 1_000_000);
    for offsets in [[0, 1, 0], [1, 0, 0]] {
        let clock = Some(Clock { offsets, max_skew: 1 });
        assert!(states(Rules { clock, crashes: true, losses: 1, ..slow(ONE_AND_PLAIN) }) > 200_000);
    }
    assert!(states(Rules { crashes: true, ..slow(&[Fair, Writer]) }) > 10_000);
    assert!(states(Rules { rounds: 2, ..slow(TWO) }) > 50_000);
}

#[test]
#[ignore = "minutes: some million states, and a gigabyte"]
fn three_processes_with_slow_requests_and_clocks() {
    let together = Some(Clock { offsets: [0, 0, 0], max_skew: 1 });
    assert!(states(Rules { clock: together, slow: true, beats: 1, ..Rules::calm(THREE) }) > 1_000_000);
}

#[test]
#[ignore = "minutes: some million states"]
fn three_processes_with_all_that_may_go_wrong_at_once() {
    let wrong = |kinds| Rules { copies: 1, losses: 1, crashes: true, ..Rules::calm(kinds) };
    assert!(states(wrong(THREE)) > 500_000);
    assert!(states(wrong(TWO_AND_PLAIN)) > 500_000);
    let by_clock = |kinds| Rules { clock: CLOCK, copies: 1, beats: 1, ..Rules::calm(kinds) };
    assert!(states(by_clock(THREE)) > 200_000);
    assert!(states(by_clock(TWO_AND_PLAIN)) > 200_000);
    assert!(states(Rules { crashes: true, losses: 1, copies: 0, ..by_clock(THREE) }) > 200_000);
    assert!(states(Rules { slow: true, ..Rules::calm(THREE) }) > 500_000);
    assert!(states(Rules { rounds: 2, copies: 2, losses: 1, ..Rules::calm(TWO) }) > 1_000_000);
}
