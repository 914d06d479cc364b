//! Explores all interleavings of a few clients on one item, and checks the rules that decide the
//! outcome of a write. The network can lose, delay and repeat each request.
//!
//! A client reads, sends, and gets an answer or none. A request without an answer may never arrive,
//! or may arrive at any later time, even after the end of its call. A request that was answered may
//! arrive again. The searches are exhaustive: each reachable world is checked once. The searches
//! over the real rules find no violation. The searches over weaker rules find the violation that
//! the missing part prevents.

mod client;
mod rules;
mod search;
mod world;

use client::{
    Call::{self, Create, Delete, Update, Upsert},
    Client,
    Foreign::{self, Count, Put, PutNew, Strip},
};
use rules::{Drawn, REAL, Rules};
use search::explore;
use world::{Change, Violation, World, incarnation, write_id};

use super::{Doubt, Expected, Revision, Ring, Verdict, WriteId};

/// One search.
#[derive(Clone)]
struct Setup<'a> {
    start: Start,
    /// The calls of each client, one after the other.
    scripts: &'a [&'a [Call]],
    /// The maximum number of requests of a call.
    attempts: u8,
    /// The number of ids that each client keeps.
    keep: [u8; 3],
    rules: Rules,
    sending: Sending,
    deletes: Deletes,
    creates: Creates,
    looks_for: fn(&Violation) -> bool,
}

/// The item at the start of the search.
#[derive(Debug, Clone, Copy)]
enum Start {
    Absent,
    Written,
    /// The item has an incarnation and no ids.
    Empty,
    /// Another program wrote the item without a version.
    Foreign,
    /// Another program wrote the item with a version and without ids.
    Counted,
    /// The item has ids and no version, because another program removed the version.
    Stripped,
}

/// The way in which the server recognises a repeated write.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sending {
    Plain,
    /// The server recognises a write by its token, as long as it remembers the token.
    Once,
    /// The server recognises creates and deletes by a token, but not updates. This is the rule for
    /// a unit of work with one write.
    UnitOfWork,
}

impl Sending {
    fn has_token(self, change: &Change) -> bool {
        match self {
            Self::Plain => false,
            Self::Once => true,
            Self::UnitOfWork => !matches!(change, Change::Update(_)),
        }
    }
}

/// The moment from which an item may be deleted.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Deletes {
    /// The item may be deleted when the call that created it has ended, and when none of its
    /// requests can still arrive.
    OfSettledItems,
    AtAnyTime,
}

/// Sets whether a create that was answered may arrive again.
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

    /// Explores all worlds, and returns their number. Panics if a world has a violation.
    fn holds(&self) -> usize {
        match explore(self) {
            Ok(worlds) => worlds,
            Err(counterexample) => panic!("{:?} {:?}: {counterexample:?}", self.start, self.scripts),
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
            Self::Counted => (Some(1), None),
            Self::Stripped => (None, Some(new.push(write_id(251), 4))),
        };
        Some(Revision { version, ring })
    }
}

/// Explores three clients with one call each, in each combination. Returns the number of worlds.
fn every_three_calls_hold(start: Start) -> usize {
    const CALLS: [Call; 4] = [Create, Update, Upsert, Delete];
    let mut worlds = 0;
    for (first, one) in CALLS.iter().enumerate() {
        for (second, two) in CALLS.iter().enumerate().skip(first) {
            for three in &CALLS[second..] {
                worlds += Setup::new(start, &[&[*one], &[*two], &[*three]]).holds();
            }
        }
    }
    worlds
}

#[test]
fn nothing_breaks_where_there_is_no_item() {
    assert_eq!(every_three_calls_hold(Start::Absent), 80_506);
}

#[test]
fn nothing_breaks_on_an_item_with_ids() {
    assert_eq!(every_three_calls_hold(Start::Written), 88_282);
}

#[test]
fn nothing_breaks_on_an_item_without_ids() {
    assert_eq!(every_three_calls_hold(Start::Empty), 88_282);
}

#[test]
fn nothing_breaks_on_an_item_of_another_program() {
    let starts = [Start::Foreign, Start::Counted, Start::Stripped];
    assert_eq!(starts.map(every_three_calls_hold), [105_628, 105_628, 105_628]);
}

#[test]
fn nothing_breaks_with_three_attempts() {
    let mut worlds = 0;
    for scripts in [[Upsert, Upsert, Upsert], [Upsert, Update, Delete], [Create, Upsert, Delete]] {
        let [one, two, three] = scripts.map(|call| [call]);
        worlds += Setup { attempts: 3, ..Setup::new(Start::Written, &[&one, &two, &three]) }.holds();
    }
    assert_eq!(worlds, 150_771);
}

#[test]
fn nothing_breaks_when_items_come_and_go() {
    let worlds = [
        Setup::new(Start::Absent, &[&[Upsert, Delete], &[Upsert], &[Create]]).holds(),
        Setup::new(Start::Written, &[&[Upsert, Delete], &[Update], &[Create]]).holds(),
        Setup::new(Start::Foreign, &[&[Update], &[Delete, Create], &[Upsert]]).holds(),
    ];
    assert_eq!(worlds, [106_470, 25_674, 100_204]);
}

const COUNT: Call = Call::Foreign(Count);
const PUT: Call = Call::Foreign(Put);
const PUT_NEW: Call = Call::Foreign(PutNew);
const STRIP: Call = Call::Foreign(Strip);
const FOREIGN_DELETE: Call = Call::Foreign(Foreign::Delete);

/// The writes of other programs, one after the other.
const OTHERS: [&[Call]; 6] = [
    &[COUNT, COUNT],
    &[PUT, PUT],
    &[COUNT, PUT],
    &[COUNT, STRIP],
    &[FOREIGN_DELETE, PUT_NEW, COUNT],
    &[PUT, FOREIGN_DELETE, PUT_NEW],
];

#[test]
fn nothing_breaks_beside_programs_that_know_nothing_of_ids() {
    let mut worlds = 0;
    for start in [Start::Written, Start::Counted] {
        for others in OTHERS {
            for mine in [&[Update, Update][..], &[Upsert, Delete], &[Delete, Create]] {
                worlds += Setup::new(start, &[mine, others]).holds();
            }
            worlds += Setup::new(start, &[&[Update], others, &[Update]]).holds();
        }
    }
    assert_eq!(worlds, 56_875);
}

/// One write, and enough other writes to remove its id from the ring.
const PUSHED_OUT: [&[Call]; 2] = [&[Update], &[Update, Update, Update, Update]];

#[test]
fn nothing_breaks_when_ids_fall_out_of_the_ring() {
    let mut worlds = 0;
    for keep in [[4, 4, 4], [4, 16, 4], [16, 4, 4]] {
        worlds += Setup { keep, ..Setup::new(Start::Written, &PUSHED_OUT) }.holds();
    }
    worlds += Setup { keep: [4; 3], ..Setup::new(Start::Empty, &PUSHED_OUT) }.holds();
    assert_eq!(worlds, 224_120);
}

#[test]
fn a_condition_on_version_and_ids_alone_loses_updates_of_items_without_ids() {
    let rules = Rules { unchanged: rules::same_version_and_life, ..REAL };
    let setup = Setup::new(Start::Counted, &[&[Update], &[FOREIGN_DELETE, PUT_NEW]]);
    assert_eq!(Setup { rules, ..setup }.breaks(), Violation::LostUpdate(0));
}

#[test]
fn an_adoption_that_keeps_the_incarnation_loses_updates() {
    let rules = Rules { next: rules::adoption_keeps_the_incarnation, ..REAL };
    let setup = Setup::new(Start::Written, &[&[Update], &[STRIP], &[Update]]);
    assert_eq!(Setup { rules, ..setup.clone() }.breaks(), Violation::LostUpdate(0));
    assert_eq!(setup.holds(), 860);
}

fn judged_by(verdict: fn(Expected<'_>, WriteId, Doubt, Option<&Revision>) -> Verdict) -> Rules {
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

/// Only a ring that was empty at the read needs the incarnation. An id that was read is in no other
/// ring.
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
    // Without the delete, even this weak rule holds.
    Setup { attempts: 3, scripts: &[&[Upsert], &[Upsert], &[Upsert]], ..setup }.holds();
}

#[test]
fn an_item_proves_nothing_about_a_create_in_doubt() {
    let rules = judged_by(rules::a_create_that_met_an_item_is_a_conflict);
    let setup = Setup { rules, ..Setup::new(Start::Absent, &[&[Create], &[Create], &[Delete]]) };
    assert!(matches!(setup.breaks(), Violation::FalseConflict(0 | 1)));
}

/// Returns a create, and a delete while the create is sent again or still under way.
fn created_again<'a>(incarnations: Drawn, looks_for: fn(&Violation) -> bool) -> Setup<'a> {
    let rules = Rules { incarnations, ..REAL };
    let setup = Setup::new(Start::Absent, &[&[Create], &[Delete], &[Update, Update]]);
    Setup { rules, deletes: Deletes::AtAnyTime, looks_for, ..setup }
}

/// After a delete, the absence of the item is true again. No condition distinguishes the second
/// creation from the first one.
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

/// Calls whose requests the server recognises by a token, and an item that may be deleted at any
/// time.
fn with_tokens<'a>(start: Start, scripts: &'a [&'a [Call]]) -> Setup<'a> {
    Setup { sending: Sending::Once, deletes: Deletes::AtAnyTime, ..Setup::new(start, scripts) }
}

#[test]
fn a_token_proves_nothing_about_a_create_that_is_still_under_way() {
    let setup = with_tokens(Start::Written, &[&[Create], &[Delete]]);
    let rules = judged_by(rules::a_token_proves_everything);
    assert_eq!(Setup { rules, ..setup.clone() }.breaks(), Violation::FalseConflict(0));
    assert_eq!(setup.holds(), 95);
}

#[test]
fn an_upsert_under_a_token_that_proves_everything_is_applied_twice() {
    let setup = with_tokens(Start::Absent, &[&[Upsert], &[Create, Delete]]);
    let setup = Setup {
        attempts: 3,
        looks_for: |v| matches!(v, Violation::CreatedTwice(_) | Violation::AppliedTwice(_)),
        ..setup
    };
    let rules = judged_by(rules::a_token_proves_everything);
    assert_eq!(Setup { rules, ..setup.clone() }.breaks(), Violation::CreatedTwice(0));
    assert_eq!(setup.holds(), 3_387);
}

#[test]
fn nothing_breaks_with_tokens() {
    let mut worlds = 0;
    for start in [Start::Absent, Start::Written, Start::Foreign, Start::Counted] {
        for scripts in [[Create, Create, Delete], [Create, Update, Delete], [Upsert, Upsert, Delete]] {
            let [one, two, three] = scripts.map(|call| [call]);
            worlds += with_tokens(start, &[&one, &two, &three]).holds();
        }
    }
    assert_eq!(worlds, 23_381);
}

/// Units of work with one write each, and an item that may be deleted at any time.
fn units_of_work<'a>(start: Start, scripts: &'a [&'a [Call]]) -> Setup<'a> {
    Setup { sending: Sending::UnitOfWork, deletes: Deletes::AtAnyTime, ..Setup::new(start, scripts) }
}

#[test]
fn nothing_breaks_with_units_of_work_that_write_one_item() {
    let mut worlds = 0;
    for start in [Start::Absent, Start::Written, Start::Foreign, Start::Counted] {
        for scripts in
            [[Delete, Delete, Upsert], [Upsert, Upsert, Delete], [Upsert, Delete, COUNT], [Delete, Upsert, PUT]]
        {
            let [one, two, three] = scripts.map(|call| [call]);
            worlds += units_of_work(start, &[&one, &two, &three]).holds();
        }
    }
    assert_eq!(worlds, 36_830);
}

/// Two workers take the same job.
#[test]
fn a_unit_of_work_that_deletes_without_a_token_takes_absence_for_its_own_success() {
    let unit = units_of_work(Start::Written, &[&[Delete], &[Delete]]);
    let rules = judged_by(rules::absence_is_success);
    assert!(matches!(Setup { rules, ..unit }.breaks(), Violation::FalseSuccess(_)));
}

/// A create that is sent again after a lost reply undoes a delete.
#[test]
fn a_unit_of_work_that_creates_without_a_token_creates_twice() {
    let unit = units_of_work(Start::Absent, &[&[Upsert], &[Delete]]);
    assert_eq!(Setup { sending: Sending::Plain, ..unit.clone() }.breaks(), Violation::CreatedTwice(0));
    assert_eq!(unit.holds(), 54);
}
