//! All interleavings of a few clients on one item, over a network that loses, delays and repeats requests, against the rules
//! that decide what became of a write.
//!
//! A client reads, sends, and is answered or not. A request without an answer may never arrive, or at any later time, also
//! after its call has ended; one that was answered may arrive again. The searches are exhaustive: each world that can be
//! reached is checked once. Those over the rules as they are find nothing; those over rules that lack something find what it
//! is there for.

mod client;
mod rules;
mod search;
mod world;

use client::{
    Call::{self, Create, Delete, Update, Upsert},
    Client,
};
use rules::{Drawn, REAL, Rules};
use search::explore;
use world::{Violation, World, incarnation, write_id};

use super::{Expected, Found, Revision, Ring, Verdict, WriteId};

/// One question to the search.
#[derive(Clone)]
struct Setup<'a> {
    start: Start,
    /// The calls of each client, one after the other.
    scripts: &'a [&'a [Call]],
    /// How many requests a call may send.
    attempts: u8,
    /// How many ids each client keeps.
    keep: [u8; 3],
    rules: Rules,
    sending: Sending,
    deletes: Deletes,
    creates: Creates,
    looks_for: fn(&Violation) -> bool,
}

/// The item in the beginning.
#[derive(Debug, Clone, Copy)]
enum Start {
    Absent,
    Written,
    /// With an incarnation and no ids.
    Empty,
    /// By another program.
    Foreign,
}

/// Whether the server knows a write again.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sending {
    Plain,
    /// By a token, as long as it remembers it.
    Once,
}

/// When an item may be deleted.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Deletes {
    /// When the call that created it has ended and none of its requests is under way any more.
    OfSettledItems,
    AtAnyTime,
}

/// Whether a create that was answered may arrive again.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Creates {
    ComeOnce,
    ComeTwice,
}

impl<'a> Setup<'a> {
    fn new(start: Start, scripts: &'a [&'a [Call]]) -> Self {
        Self {
            start,
            scripts,
            attempts: 2,
            keep: [4, 16, 4],
            rules: REAL,
            sending: Sending::Plain,
            deletes: Deletes::OfSettledItems,
            creates: Creates::ComeOnce,
            looks_for: |_| true,
        }
    }

    fn world(&self) -> World {
        let clients = (0..).zip(self.scripts).map(|(number, _)| Client::new(number)).collect();
        World::new(self.start.item(), clients, self.scripts.iter().map(|script| script.len()).sum())
    }

    fn holds(&self) {
        if let Err(counterexample) = explore(self) {
            panic!("{:?} {:?}: {counterexample:?}", self.start, self.scripts);
        }
    }

    fn breaks(&self) -> Violation {
        explore(self).expect_err("a violation").violation
    }
}

impl Start {
    fn item(self) -> Option<Revision> {
        let new = Ring::new(incarnation(250));
        let (version, ring) = match self {
            Self::Absent => return None,
            Self::Written => (Some(1), Some(new.push(write_id(251), 4))),
            Self::Empty => (Some(1), Some(new)),
            Self::Foreign => (None, None),
        };
        Some(Revision { version, ring })
    }
}

/// Three clients with one call each, in every combination.
fn every_three_calls_hold(start: Start) {
    const CALLS: [Call; 4] = [Create, Update, Upsert, Delete];
    for (first, one) in CALLS.iter().enumerate() {
        for (second, two) in CALLS.iter().enumerate().skip(first) {
            for three in &CALLS[second..] {
                Setup::new(start, &[&[*one], &[*two], &[*three]]).holds();
            }
        }
    }
}

#[test]
fn nothing_breaks_where_there_is_no_item() {
    every_three_calls_hold(Start::Absent);
}

#[test]
fn nothing_breaks_on_an_item_with_ids() {
    every_three_calls_hold(Start::Written);
}

#[test]
fn nothing_breaks_on_an_item_without_ids() {
    every_three_calls_hold(Start::Empty);
}

#[test]
fn nothing_breaks_on_an_item_of_another_program() {
    every_three_calls_hold(Start::Foreign);
}

#[test]
fn nothing_breaks_with_three_attempts() {
    for scripts in [[Upsert, Upsert, Upsert], [Upsert, Update, Delete], [Create, Upsert, Delete]] {
        let [one, two, three] = scripts.map(|call| [call]);
        Setup { attempts: 3, ..Setup::new(Start::Written, &[&one, &two, &three]) }.holds();
    }
}

#[test]
fn nothing_breaks_when_items_come_and_go() {
    Setup::new(Start::Absent, &[&[Upsert, Delete], &[Upsert], &[Create]]).holds();
    Setup::new(Start::Written, &[&[Upsert, Delete], &[Update], &[Create]]).holds();
    Setup::new(Start::Foreign, &[&[Update], &[Delete, Create], &[Upsert]]).holds();
}

/// One write, and enough others to push its id out of the ring.
const PUSHED_OUT: [&[Call]; 2] = [&[Update], &[Update, Update, Update, Update]];

#[test]
fn nothing_breaks_when_ids_fall_out_of_the_ring() {
    for keep in [[4, 4, 4], [4, 16, 4], [16, 4, 4]] {
        Setup { keep, ..Setup::new(Start::Written, &PUSHED_OUT) }.holds();
    }
    Setup { keep: [4; 3], ..Setup::new(Start::Empty, &PUSHED_OUT) }.holds();
}

fn judged_by(verdict: fn(Expected<'_>, WriteId, bool, Found<'_>) -> Verdict) -> Rules {
    Rules { verdict, ..REAL }
}

#[test]
fn without_ids_a_write_takes_its_own_effect_for_a_conflict() {
    let rules = judged_by(rules::every_failed_condition_is_a_conflict);
    let update = Setup { rules, ..Setup::new(Start::Written, &[&[Update]]) };
    assert_eq!(update.breaks(), Violation::FalseConflict(0));
    let modify = Setup { attempts: 3, looks_for: |v| matches!(v, Violation::AppliedTwice(_)), ..update };
    let modify = Setup { scripts: &[&[Call::Modify]], ..modify };
    assert_eq!(modify.breaks(), Violation::AppliedTwice(0));
}

#[test]
fn with_an_id_for_each_attempt_a_write_does_not_know_itself_again() {
    let rules = Rules { ids: Drawn::PerAttempt, ..REAL };
    assert_eq!(Setup { rules, ..Setup::new(Start::Written, &[&[Update]]) }.breaks(), Violation::FalseConflict(0));
}

#[test]
fn a_condition_without_the_incarnation_loses_updates() {
    let rules = Rules { unchanged: rules::same_version, ..REAL };
    let setup = Setup::new(Start::Written, &[&[Update], &[Delete], &[Create]]);
    let loses = Setup { rules, looks_for: |v| *v == Violation::LostUpdate(0), ..setup };
    assert_eq!(loses.breaks(), Violation::LostUpdate(0));
}

#[test]
fn without_the_gap_rule_ids_that_were_pushed_out_are_taken_for_conflicts() {
    let rules = judged_by(rules::no_gap_rule);
    let setup = Setup { rules, keep: [4, 4, 4], ..Setup::new(Start::Written, &PUSHED_OUT) };
    assert_eq!(setup.breaks(), Violation::FalseConflict(0));
}

/// Only a ring that was read empty needs the incarnation: an id that was read is in no other.
#[test]
fn the_gap_rule_needs_the_incarnation_for_a_ring_that_was_read_empty() {
    let rules = judged_by(rules::gap_rule_without_the_incarnation);
    let setup = Setup { rules, ..Setup::new(Start::Empty, &[&[Update], &[Delete], &[Create]]) };
    assert_eq!(setup.breaks(), Violation::FalseConflict(0));
    Setup { start: Start::Written, ..setup }.holds();
}

#[test]
fn the_rule_for_deletes_needs_the_incarnation() {
    let rules = judged_by(rules::delete_rule_without_the_incarnation);
    assert_eq!(
        Setup { rules, ..Setup::new(Start::Written, &[&[Delete], &[Create]]) }.breaks(),
        Violation::FalseConflict(0)
    );
}

#[test]
fn a_short_ring_proves_nothing_about_an_adoption() {
    let rules = judged_by(rules::an_adoption_that_met_a_short_ring_is_a_conflict);
    let setup = Setup { rules, ..Setup::new(Start::Foreign, &[&[Update], &[Delete], &[Create]]) };
    assert_eq!(setup.breaks(), Violation::FalseConflict(0));
    // It would, if nobody deleted.
    Setup { attempts: 3, scripts: &[&[Upsert], &[Upsert], &[Upsert]], ..setup }.holds();
}

#[test]
fn an_item_proves_nothing_about_a_create_in_doubt() {
    let rules = judged_by(rules::a_create_that_met_an_item_is_a_conflict);
    let setup = Setup { rules, ..Setup::new(Start::Absent, &[&[Create], &[Create], &[Delete]]) };
    assert!(matches!(setup.breaks(), Violation::FalseConflict(0 | 1)));
}

/// A create, and a delete while the create is sent again or still under way.
fn created_again<'a>(incarnations: Drawn, looks_for: fn(&Violation) -> bool) -> Setup<'a> {
    let rules = Rules { incarnations, ..REAL };
    let setup = Setup::new(Start::Absent, &[&[Create], &[Delete], &[Update, Update]]);
    Setup { rules, deletes: Deletes::AtAnyTime, looks_for, ..setup }
}

/// Absence is true again after a delete: no condition tells the second time from the first.
#[test]
fn a_create_is_applied_again_if_its_item_is_deleted_before_it_is_settled() {
    for incarnations in [Drawn::PerCall, Drawn::PerAttempt] {
        assert_eq!(created_again(incarnations, |_| true).breaks(), Violation::CreatedTwice(0));
    }
}

#[test]
fn one_incarnation_for_all_attempts_of_such_a_create_loses_updates_of_others() {
    let lost = created_again(Drawn::PerCall, |v| matches!(v, Violation::LostUpdate(_)));
    assert!(matches!(lost.breaks(), Violation::LostUpdate(_)));
    let reported = created_again(Drawn::PerCall, |v| matches!(v, Violation::FalseConflict(_)));
    assert!(matches!(reported.breaks(), Violation::FalseConflict(_)));
}

#[test]
fn with_an_incarnation_for_each_attempt_such_a_create_harms_no_other_write() {
    let but_for_creates = |v: &Violation| !matches!(v, Violation::CreatedTwice(_));
    let setup = created_again(Drawn::PerAttempt, but_for_creates);
    setup.holds();
    Setup { attempts: 3, scripts: &[&[Create], &[Delete], &[Create]], ..setup }.holds();
}

#[test]
fn a_create_that_the_network_repeats_may_come_back_after_a_refusal() {
    let setup = Setup::new(Start::Written, &[&[Create], &[Delete]]);
    assert_eq!(Setup { creates: Creates::ComeTwice, ..setup }.breaks(), Violation::FalseConflict(0));
}

/// Calls whose requests the server knows again, and an item that may be deleted at any time.
fn with_tokens<'a>(start: Start, scripts: &'a [&'a [Call]], token_proves: fn(Expected<'_>) -> bool) -> Setup<'a> {
    // Under a token all attempts are the same to the byte.
    let rules = Rules { token_proves, incarnations: Drawn::PerCall, ..REAL };
    Setup { rules, sending: Sending::Once, deletes: Deletes::AtAnyTime, ..Setup::new(start, scripts) }
}

#[test]
fn a_token_proves_nothing_about_a_create_that_is_still_under_way() {
    let setup = with_tokens(Start::Written, &[&[Create], &[Delete]], |_| true);
    assert_eq!(setup.breaks(), Violation::FalseConflict(0));
}

#[test]
fn with_tokens_that_prove_something_about_other_writes_alone_nothing_breaks() {
    for start in [Start::Absent, Start::Written, Start::Foreign] {
        for scripts in [[Create, Create, Delete], [Create, Update, Delete], [Upsert, Upsert, Delete]] {
            let [one, two, three] = scripts.map(|call| [call]);
            with_tokens(start, &[&one, &two, &three], |expected| !matches!(expected, Expected::Absent)).holds();
        }
    }
}
