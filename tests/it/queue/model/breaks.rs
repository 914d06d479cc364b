//! Each part of the protocol is needed. If a part is left out, the checker finds a violation of a
//! property.

use super::explore::{Outcome, explore};
use super::property::Property;
use super::rules::Kind::Plain;
use super::rules::{Clock, Flaw, Kind, ONE_AND_PLAIN, Rules, THREE, TWO, TWO_AND_PLAIN};

const THREE_PLAIN: &[Kind] = &[Plain, Plain, Plain];

/// Returns the shortest path to a violation of this property.
fn breaks(rules: Rules, wanted: Property) -> String {
    match explore(&rules, Some(wanted)) {
        Outcome::Broken { property, trace } => {
            assert_eq!(property, wanted);
            trace
        }
        Outcome::Holds { states } => panic!("{wanted:?} holds in all {states} states"),
        Outcome::Stuck { trace } => panic!("stuck:\n{trace}"),
    }
}

fn with(flaw: Flaw, kinds: &'static [Kind]) -> Rules {
    Rules { flaw: Some(flaw), ..Rules::calm(kinds) }
}

fn with_faults(flaw: Flaw, kinds: &'static [Kind]) -> Rules {
    Rules { copies: 1, losses: 1, ..with(flaw, kinds) }
}

/// Makes a test of each flaw that breaks a property.
macro_rules! flaws {
    ($($(#[$doc:meta])* $test:ident: $rules:expr => $property:ident;)*) => {
        $(
            $(#[$doc])*
            #[test]
            fn $test() {
                breaks($rules, Property::$property);
            }
        )*
    };
}

flaws! {
    an_eviction_must_raise_the_fence: with(Flaw::EvictKeepsFence, TWO) => FencesGrow;
    a_holder_must_not_count_from_the_answer: Rules { slow: true, ..with(Flaw::CountsFromAnswer, TWO) } => OneHolder;
    a_new_head_must_not_count_from_the_read_that_showed_itself: with(Flaw::CountsFromOwnSight, THREE) => OneHolder;
    /// The fence alone would be sufficient: see `holds.rs`.
    only_the_holder_may_beat: with(Flaw::BeatIgnoresGrant, THREE) => OneHolder;
    a_heartbeat_that_is_sent_again_must_have_a_higher_number: with_faults(Flaw::BeatAgainKeepsNumber, ONE_AND_PLAIN) => OneHolder;
    a_plain_acquire_must_ask_for_an_empty_queue: with(Flaw::AcquireIgnoresQueue, ONE_AND_PLAIN) => OneHolder;
    /// An enqueue may arrive long after its time. If it wrote this time as the time of the turn, it
    /// would end the lease of a head that has sent no heartbeat. The head would not notice this,
    /// because it read the turn before.
    an_enqueue_must_not_write_the_time_of_the_turn: Rules { rounds: 2, ..by_clock(Flaw::EnqueueWritesTurn, TWO) } => OneHolder;
}

#[test]
fn an_eviction_must_name_the_beat_that_was_seen() {
    breaks(with(Flaw::EvictIgnoresBeat, THREE), Property::OneHolder);
    breaks(with(Flaw::EvictIgnoresBeat, THREE), Property::NobodyIsSkipped);
}

/// The owner of a head is not sufficient. An enqueue whose reply was lost may be sent again after
/// the eviction. A delayed duplicate of the eviction would then remove the second entry, which has
/// sent no heartbeat either.
#[test]
fn an_eviction_must_name_the_fence_that_was_seen() {
    let trace = breaks(with_faults(Flaw::EvictIgnoresFence, TWO_AND_PLAIN), Property::OneHolder);
    assert!(trace.contains("the delayed duplicate of"), "{trace}");
}

/// The same failure happens without a delayed duplicate for plain locks: a third caller observes
/// the first grant, and takes over the second grant.
#[test]
fn a_takeover_of_the_plain_lock_must_name_the_fence_that_was_seen() {
    let rules = Rules { losses: 1, ..with(Flaw::EvictIgnoresFence, THREE_PLAIN) };
    breaks(rules, Property::OneHolder);
}

/// A delayed duplicate of its enqueue brings an evicted holder back to the queue. The evicted
/// holder is the head again, but other callers have held the lock in between.
#[test]
fn a_beat_must_name_the_fence_of_its_grant() {
    breaks(with_faults(Flaw::BeatIgnoresFence, TWO_AND_PLAIN), Property::BelieverIsHolder);
    breaks(with_faults(Flaw::BeatIgnoresFence, THREE_PLAIN), Property::BelieverIsHolder);
}

/// A plain holder leaves its last beat in the row. If the first beat of the next head had the same
/// number, no observer would notice this heartbeat.
#[test]
fn a_beat_must_not_repeat_the_number_in_the_row() {
    let trace = breaks(with(Flaw::BeatMayRepeat, TWO_AND_PLAIN), Property::OneHolder);
    assert!(trace.contains("C asks to beat 1"), "{trace}");
}

#[test]
fn only_the_head_may_leave() {
    breaks(with_faults(Flaw::LeaveIgnoresHead, THREE), Property::OneHolder);
    breaks(with_faults(Flaw::LeaveIgnoresHead, THREE), Property::NobodyIsSkipped);
}

#[test]
fn a_waiter_that_gives_up_must_not_remove_by_the_index_alone() {
    let rules = Rules { patience: true, ..with(Flaw::AbandonIgnoresId, THREE) };
    breaks(rules, Property::NobodyIsSkipped);
    breaks(rules, Property::NothingIsLeft);
}

#[test]
fn without_evictions_one_crash_stops_everybody() {
    let rules = Rules { crashes: true, ..with(Flaw::NobodyEvicts, TWO) };
    let Outcome::Stuck { trace } = explore(&rules, None) else { panic!("somebody is still served") };
    assert!(trace.contains("crashes"), "{trace}");
}

#[test]
fn the_clock_rule_needs_clocks_that_agree() {
    let clock = Some(Clock { offsets: [0, 3, 0], max_skew: 1 });
    breaks(Rules { clock, slow: true, ..Rules::calm(TWO) }, Property::OneHolder);
    breaks(Rules { clock, slow: true, ..Rules::calm(ONE_AND_PLAIN) }, Property::OneHolder);
}

fn by_clock(flaw: Flaw, kinds: &'static [Kind]) -> Rules {
    let clock = Some(Clock { offsets: [0, 0, 0], max_skew: 1 });
    Rules { clock, slow: true, beats: 1, ..with(flaw, kinds) }
}

/// An enqueue that is sent again keeps its first time, and a leave may arrive late, too. For other
/// callers, the lease of the new head is then over, although it has sent a request or read the row
/// a moment ago.
#[test]
fn a_new_head_must_not_believe_longer_than_a_ttl_since_its_turn() {
    let trace = breaks(by_clock(Flaw::HeadIgnoresTurn, TWO), Property::OneHolder);
    assert!(trace.contains("A sends it again"), "{trace}");
}

/// A clock that is behind shows the turn later than it began. The difference is up to the skew, if
/// the clock of the previous head is ahead. Other callers may have observed the head since its turn
/// began.
#[test]
fn a_new_head_that_counts_from_its_turn_must_subtract_the_skew() {
    let clock = Some(Clock { offsets: [0, 1, 0], max_skew: 1 });
    breaks(Rules { clock, beats: 1, ..with(Flaw::HeadIgnoresSkew, THREE) }, Property::OneHolder);
}

/// A cheap read may show an earlier stay at the head, which ended before the last consistent read.
/// A delayed duplicate has restored the entry since.
#[test]
fn a_new_head_must_not_count_from_a_look_that_may_be_later_than_its_poll() {
    let clock = Some(Clock { offsets: [0, 1, 0], max_skew: 1 });
    let rules = Rules { clock, beats: 1, stale: true, copies: 1, ..with(Flaw::PollKeepsLook, THREE) };
    let trace = breaks(rules, Property::BelieverIsHolder);
    assert!(trace.contains("A polls, stale"), "{trace}");
}
