//! A model of the rules by which the library decides, after a lost reply, whether DynamoDB has
//! applied the write. A search of the model explores all interleavings of a few clients that write
//! to one item. The network of the model loses, delays and repeats requests.
//!
//! | the model includes | in this way |
//! |---|---|
//! | lost replies | A request without an answer may never arrive at the server, or may arrive at any later time, even after the end of the call. |
//! | repeated requests | A request that the server has answered may arrive a second time. Duplicates of creates and patches arrive only in some searches. |
//! | patches | After a lost reply to a patch without a token, the client does not repeat the patch. The client reads the item at an arbitrary later time. An item keeps the ids of its last two patches. |
//! | other programs | Other programs increment or remove the version, put items without write ids, remove the ids of patches, and delete items. |
//! | runs | After a conflict, a call starts a new run of its closure from the current item, with a new write id. |
//! | batches | A client sends several combined calls in one write (a batch), with one write id for each run of the batch. After a conflict, calls may join and leave a batch. A batch may start from the item that the last batch returned. |
//! | tokens | The server remembers the tokens of the requests that it has applied. In some searches, the server forgets all tokens. Two processes may make the same call with the same token. |
//! | clocks | In some searches, the clock of each call is either right or an hour ahead. |
//!
//! A search checks each reachable state of the model (a world) once. The searches with the rules of
//! the library find no violation, for example no lost update. If a test breaks one of the rules on
//! purpose, the search finds a violation.

mod client;
mod combining;
mod rules;
mod search;
mod world;

use client::{
    Call::{self, Create, Delete, Given, Patch, Update, Upsert},
    Client,
    Foreign::{self, Count, Put, PutNew, Strip, Wipe},
};
use rules::{Drawn, LostPatch, REAL, RefusedRuns, Register, Rules};
use search::explore;
use world::{Change, Violation, World};

use super::{
    Doubt, Expected, Incarnation, Revision, Ring, Verdict, WriteId,
    ring::tests::{id as write_id, incarnation},
};

/// The input of one search of the model.
#[derive(Clone)]
struct Setup<'a> {
    start: Start,
    /// The calls of each client, in the order in which the client makes the calls.
    scripts: &'a [&'a [Call]],
    /// The largest number of requests that each call may send.
    attempts: u8,
    /// For each client, the largest number of write ids that a write of the client leaves in the
    /// item.
    keep: [u8; 3],
    rules: Rules,
    sending: Sending,
    deletes: Deletes,
    duplicates: Duplicates,
    tokens: Tokens,
    clocks: Clocks,
    looks_for: fn(&Violation) -> bool,
}

/// The state of the item before the first call of a search.
#[derive(Debug, Clone, Copy)]
enum Start {
    Absent,
    Written,
    /// An item with two write ids.
    WrittenTwice,
    /// An item that an earlier version of the library has written, with a write id and without a
    /// time in `_writes`.
    WithoutTime,
    /// An item whose attribute `_writes` contains an incarnation (a random id) and no write ids.
    Empty,
    /// An item that another program has written without a version and without write ids.
    Foreign,
    /// An item that another program has written with a version and without write ids.
    Counted,
    /// An item with write ids and without a version, because another program has removed the
    /// version.
    Stripped,
}

/// Says which writes of a search have a ClientRequestToken, by which the server recognises a
/// repeated write.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sending {
    /// Only a write with an idempotency token of the caller has a ClientRequestToken.
    Plain,
    /// All writes have a ClientRequestToken.
    Once,
    /// All writes except updates have a ClientRequestToken, like the writes of a unit of work that
    /// writes only one item.
    UnitOfWork,
}

impl Sending {
    fn has_token(self, change: &Change) -> bool {
        match self {
            Self::Plain => matches!(change, Change::Given(_)),
            Self::Once => true,
            Self::UnitOfWork => !matches!(change, Change::Update(_)),
        }
    }
}

/// Says when a client of the model may delete the item.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Deletes {
    /// A client may delete an item only after the call that created the item has ended, and only if
    /// no request of the call can still arrive.
    OfSettledItems,
    AtAnyTime,
}

/// Says which requests may arrive a second time after the server's answer.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Duplicates {
    /// Updates and deletes. The server refuses a duplicate of an update or a delete, because the
    /// first request has made the condition false.
    OfCheckedWrites,
    /// All kinds of requests: updates, deletes, creates and patches.
    OfAll,
}

/// Says whether the server of the model may forget tokens.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Tokens {
    AreRemembered,
    /// At an arbitrary moment of the search, the server may forget all tokens.
    AreForgotten,
}

/// Says whether the clocks of the clients agree.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Clocks {
    Agree,
    /// The clock of each call shows one of two times, which differ by an hour.
    Differ,
}

impl Clocks {
    /// Returns the times that the clock of a call may show, in epoch milliseconds.
    fn times(self) -> &'static [u64] {
        match self {
            Self::Agree => &[0],
            Self::Differ => &[0, 3_600_000],
        }
    }
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
            duplicates: Duplicates::OfCheckedWrites,
            tokens: Tokens::AreRemembered,
            clocks: Clocks::Agree,
            looks_for: |_| true,
        }
    }

    fn world(&self) -> World {
        let clients = (0..).zip(self.scripts).map(|(number, _)| Client::new(number)).collect();
        World::new(self.start.item(), clients, self.scripts.iter().map(|script| script.len()).sum())
    }

    /// Explores all worlds (states of the model) of the search, and returns the number of worlds.
    /// Panics if the search finds a violation.
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
        let written = new.push(write_id(126), 0, 4);
        let (version, ring) = match self {
            Self::Absent => return None,
            Self::Written => (Some(1), Some(written)),
            Self::WrittenTwice => (Some(2), Some(written.push(write_id(127), 0, 4))),
            Self::WithoutTime => (Some(1), Some(Ring::of(incarnation(250), None, written.ids()))),
            Self::Empty => (Some(1), Some(new)),
            Self::Foreign => (None, None),
            Self::Counted => (Some(1), None),
            Self::Stripped => (None, Some(written)),
        };
        Some(Revision { version, ring })
    }
}

/// Explores three clients with one call each, for every combination of three calls. Returns the
/// number of worlds (states of the model) in all searches together.
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
    assert_eq!(every_three_calls_hold(Start::Absent), 80_722);
}

#[test]
fn nothing_breaks_on_an_item_with_ids() {
    assert_eq!(every_three_calls_hold(Start::Written), 88_282);
}

#[test]
fn nothing_breaks_on_an_item_without_ids() {
    assert_eq!(every_three_calls_hold(Start::Empty), 85_312);
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
    assert_eq!(worlds, [108_438, 25_674, 100_204]);
}

const COUNT: Call = Call::Foreign(Count);
const PUT: Call = Call::Foreign(Put);
const PUT_NEW: Call = Call::Foreign(PutNew);
const STRIP: Call = Call::Foreign(Strip);
const FOREIGN_DELETE: Call = Call::Foreign(Foreign::Delete);

/// For each search, the requests of a program that stores no write ids, in the order in which the
/// program sends the requests.
const OTHERS: [&[Call]; 6] = [
    &[COUNT, COUNT],
    &[PUT, PUT],
    &[COUNT, PUT],
    &[COUNT, STRIP],
    &[FOREIGN_DELETE, PUT_NEW, COUNT],
    &[PUT, FOREIGN_DELETE, PUT_NEW],
];

#[test]
fn nothing_breaks_with_programs_that_do_not_know_ids() {
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

/// The calls of two clients: one update, and enough other updates to push the write id of the first
/// update out of the item.
const PUSHED_OUT: [&[Call]; 2] = [&[Update], &[Update, Update, Update, Update]];

#[test]
fn nothing_breaks_when_ids_fall_out_of_the_ring() {
    let mut worlds = 0;
    for keep in [[4, 4, 4], [4, 16, 4], [16, 4, 4]] {
        worlds += Setup { keep, ..Setup::new(Start::Written, &PUSHED_OUT) }.holds();
    }
    worlds += Setup { keep: [4; 3], ..Setup::new(Start::Empty, &PUSHED_OUT) }.holds();
    assert_eq!(worlds, 219_345);
}

/// Returns the setup of a search in which the clocks of the calls may differ by an hour. If the
/// clock of a call is an hour ahead, the call removes old write ids from the item, as if the last
/// write were an hour old.
fn with_clocks_that_lie<'a>(start: Start, scripts: &'a [&'a [Call]]) -> Setup<'a> {
    Setup { clocks: Clocks::Differ, ..Setup::new(start, scripts) }
}

/// The start states of searches with wrong clocks. The item of `Start::WithoutTime` contains no
/// time of the last write, so the library cannot see how old the write ids are.
const TRIMMED: [Start; 3] = [Start::Written, Start::WrittenTwice, Start::WithoutTime];

#[test]
fn nothing_breaks_with_clocks_that_lie() {
    let mut worlds = 0;
    for start in TRIMMED {
        for scripts in [
            &[&[Update][..], &[Update, Update]][..],
            &[&[Update], &[Update], &[Upsert]],
            &[&[Update], &[COUNT, STRIP], &[Update]],
        ] {
            worlds += with_clocks_that_lie(start, scripts).holds();
        }
    }
    assert_eq!(worlds, 239_427);
}

/// The calls of three clients: two clients make the same call with the same token, and the third
/// client makes two updates.
const GIVEN_TWICE: [&[Call]; 3] = [&[Given], &[Given], &[Update, Update]];

/// Returns the setup of a search in which the caller passes a token with each call, and the server
/// may forget the tokens.
fn given<'a>(start: Start, scripts: &'a [&'a [Call]]) -> Setup<'a> {
    Setup { tokens: Tokens::AreForgotten, ..with_clocks_that_lie(start, scripts) }
}

#[test]
fn nothing_breaks_under_tokens_of_the_caller_with_clocks_that_lie() {
    let mut worlds = 0;
    for start in TRIMMED {
        worlds += given(start, &[&[Given], &[Given], &[Update]]).holds();
        worlds += given(start, &[&[Given, Update], &[Update]]).holds();
    }
    assert_eq!(worlds, 220_317);
}

fn next_by(next: rules::Next) -> Rules {
    Rules { next, ..REAL }
}

#[test]
fn a_trim_that_leaves_a_gap_takes_an_effect_for_a_conflict() {
    let rules = next_by(rules::trim_keeps_the_newest_and_the_oldest_id);
    let setup = with_clocks_that_lie(Start::Written, &[&[Update], &[Update, Update]]);
    assert_eq!(Setup { rules, ..setup }.breaks(), Violation::FalseConflict(0));
}

#[test]
fn a_trim_that_keeps_the_id_of_a_token_behind_a_gap_takes_an_effect_for_a_conflict() {
    let rules = next_by(rules::trim_leaves_a_gap_before_the_id_of_a_token);
    let setup = given(Start::Written, &[&[Given, Update], &[Update, Update]]);
    assert_eq!(Setup { rules, ..setup }.breaks(), Violation::FalseConflict(1));
}

#[test]
fn a_trim_that_removes_the_id_of_a_token_forgets_its_write() {
    let rules = next_by(rules::trim_removes_the_ids_of_tokens);
    let setup = given(Start::Written, &GIVEN_TWICE);
    assert_eq!(Setup { rules, ..setup }.breaks(), Violation::FalseConflict(0));
}

#[test]
fn a_write_under_a_token_that_depends_on_the_clock_is_another_request() {
    for (start, next) in
        [(Start::WrittenTwice, rules::trim_under_a_token as rules::Next), (Start::Written, rules::time_under_a_token)]
    {
        let setup = given(start, &[&[Given], &[Given]]);
        assert_eq!(Setup { rules: next_by(next), ..setup }.breaks(), Violation::OtherContent(0));
    }
}

#[test]
#[ignore = "a wide search"]
fn nothing_breaks_with_every_three_calls_and_clocks_that_lie() {
    const CALLS: [Call; 5] = [Create, Update, Upsert, Delete, Patch];
    let mut worlds = [0; 3];
    for (start, worlds) in [Start::Absent, Start::Written, Start::WithoutTime].into_iter().zip(&mut worlds) {
        for (first, one) in CALLS.iter().enumerate() {
            for (second, two) in CALLS.iter().enumerate().skip(first) {
                for three in &CALLS[second..] {
                    *worlds += with_clocks_that_lie(start, &[&[*one], &[*two], &[*three]]).holds();
                }
            }
        }
    }
    assert_eq!(worlds, [756_467, 1_002_814, 1_002_814]);
}

#[test]
#[ignore = "a wide search"]
fn nothing_breaks_when_trimmed_rings_grow_again() {
    let mut worlds = [0; 3];
    for (start, worlds) in TRIMMED.into_iter().zip(&mut worlds) {
        for scripts in [&[&[Update, Update][..], &[Patch, Update]][..], &[&[Upsert, Delete], &[Update, Create]]] {
            *worlds += with_clocks_that_lie(start, scripts).holds();
        }
        for scripts in [&GIVEN_TWICE[..], &[&[Given, Update], &[Update, Update]]] {
            *worlds += given(start, scripts).holds();
        }
    }
    assert_eq!(worlds, [1_487_740, 1_490_854, 1_487_740]);
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
    let rules = Rules { refused_runs: RefusedRuns::AreIgnored, ..rules };
    let modify = Setup { rules, attempts: 3, looks_for: |v| matches!(v, Violation::AppliedTwice(_)), ..update };
    let modify = Setup { scripts: &[&[Call::Modify]], ..modify };
    assert_eq!(modify.breaks(), Violation::AppliedTwice(0));
}

#[test]
fn with_an_id_for_each_attempt_a_write_does_not_recognise_its_effect() {
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

/// If an item still contains the newest write id that a client has read, the item contains the ids
/// of all writes since the read. An item that was deleted and created again contains no earlier
/// write id, so `nothing_fell_between` need not compare incarnations (random ids of items). If the
/// client has read no write ids, `nothing_fell_between` returns `false`.
#[test]
fn the_gap_rule_implies_the_incarnation_and_a_short_ring_does_not() {
    let setup = Setup::new(Start::Empty, &[&[Update], &[Delete], &[Create]]);
    for start in [Start::Empty, Start::Written] {
        Setup { rules: judged_by(rules::gap_rule_without_the_incarnation), start, ..setup.clone() }.holds();
    }
    let rules = judged_by(rules::a_short_ring_is_complete_without_the_incarnation);
    assert_eq!(Setup { rules, ..setup }.breaks(), Violation::FalseConflict(0));
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
    // If no client deletes the item, an item with few write ids still contains the ids of all
    // writes, so the search finds no violation.
    Setup { attempts: 3, scripts: &[&[Upsert], &[Upsert], &[Upsert]], ..setup }.holds();
}

#[test]
fn an_item_proves_nothing_about_a_create_in_doubt() {
    let rules = judged_by(rules::a_create_that_met_an_item_is_a_conflict);
    let setup = Setup { rules, ..Setup::new(Start::Absent, &[&[Create], &[Create], &[Delete]]) };
    assert!(matches!(setup.breaks(), Violation::FalseConflict(0 | 1)));
}

/// Returns the setup of a search with a create and a delete of the same item. The delete may happen
/// while the client repeats the create, or before a delayed duplicate of the create arrives.
fn created_again<'a>(incarnations: Drawn, looks_for: fn(&Violation) -> bool) -> Setup<'a> {
    let rules = Rules { incarnations, ..REAL };
    let setup = Setup::new(Start::Absent, &[&[Create], &[Delete], &[Update, Update]]);
    Setup { rules, deletes: Deletes::AtAnyTime, looks_for, ..setup }
}

/// The condition of a create requires that the item is absent. No condition can distinguish a
/// deleted item from an item that was never created.
#[test]
fn a_create_is_applied_again_if_its_item_is_deleted_before_it_is_settled() {
    for incarnations in [Drawn::Once, Drawn::PerAttempt] {
        assert_eq!(created_again(incarnations, |_| true).breaks(), Violation::CreatedTwice(0));
    }
}

#[test]
fn one_incarnation_for_all_attempts_of_such_a_create_loses_updates_of_others() {
    let lost = created_again(Drawn::Once, |v| matches!(v, Violation::LostUpdate(_)));
    assert!(matches!(lost.breaks(), Violation::LostUpdate(_)));
    let reported = created_again(Drawn::Once, |v| matches!(v, Violation::FalseConflict(_)));
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
fn a_create_that_the_network_repeats_may_be_applied_after_a_refusal() {
    let setup = Setup::new(Start::Written, &[&[Create], &[Delete]]);
    assert_eq!(Setup { duplicates: Duplicates::OfAll, ..setup }.breaks(), Violation::FalseConflict(0));
}

/// Returns the setup of a search in which all writes have a ClientRequestToken, and clients may
/// delete the item at any time.
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
    assert_eq!(setup.holds(), 4_287);
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
    assert_eq!(worlds, 24_239);
}

/// Returns the setup of a search in which each call is a unit of work with one write, and clients
/// may delete the item at any time.
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
    assert_eq!(worlds, 36_920);
}

/// If the library took a missing item for a successful delete, two workers could each believe that
/// they had deleted the item.
#[test]
fn a_unit_of_work_that_deletes_without_a_token_takes_absence_for_its_own_success() {
    let unit = units_of_work(Start::Written, &[&[Delete], &[Delete]]);
    let rules = judged_by(rules::absence_is_success);
    assert!(matches!(Setup { rules, ..unit }.breaks(), Violation::FalseSuccess(_)));
}

/// If a create has no token, and another client deletes the item between two attempts of the
/// create, the server applies both attempts.
#[test]
fn a_unit_of_work_that_creates_without_a_token_creates_twice() {
    let unit = units_of_work(Start::Absent, &[&[Upsert], &[Delete]]);
    assert_eq!(Setup { sending: Sending::Plain, ..unit.clone() }.breaks(), Violation::CreatedTwice(0));
    assert_eq!(unit.holds(), 54);
}

const WIPE: Call = Call::Foreign(Wipe);

/// The states of the item from which the searches with patches start.
const STARTS: [Start; 6] =
    [Start::Absent, Start::Written, Start::Empty, Start::Foreign, Start::Counted, Start::Stripped];

/// Explores a client with a patch and two clients with one call each, for every combination of
/// calls. Returns the number of worlds (states of the model) for each start state in `STARTS`.
fn a_patch_and_every_two_calls_hold(setup: impl Fn(Start) -> Setup<'static>) -> [usize; 6] {
    const CALLS: [Call; 5] = [Patch, Create, Update, Upsert, Delete];
    let mut worlds = [0; 6];
    for (start, worlds) in STARTS.into_iter().zip(&mut worlds) {
        for (first, two) in CALLS.iter().enumerate() {
            for three in &CALLS[first..] {
                *worlds += Setup { scripts: &[&[Patch], &[*two], &[*three]], ..setup(start) }.holds();
            }
        }
    }
    worlds
}

#[test]
fn nothing_breaks_with_patches() {
    let worlds = a_patch_and_every_two_calls_hold(|start| Setup::new(start, &[]));
    assert_eq!(worlds, [31_257, 38_038, 36_985, 51_226, 51_226, 57_515]);
}

#[test]
fn nothing_breaks_with_patches_under_tokens() {
    let worlds = a_patch_and_every_two_calls_hold(|start| with_tokens(start, &[]));
    assert_eq!(worlds, [26_864, 37_808, 37_808, 37_181, 37_181, 45_153]);
}

#[test]
#[ignore = "a wide search"]
fn nothing_breaks_with_patches_of_three_attempts() {
    let plain = a_patch_and_every_two_calls_hold(|start| Setup { attempts: 3, ..Setup::new(start, &[]) });
    assert_eq!(plain, [224_880, 152_520, 142_760, 230_468, 230_468, 331_088]);
    let tokens = a_patch_and_every_two_calls_hold(|start| Setup { attempts: 3, ..with_tokens(start, &[]) });
    assert_eq!(tokens, [131_590, 157_462, 157_462, 143_230, 143_230, 234_459]);
}

/// Requests of other programs as in [`OTHERS`], and requests that remove the patch ids from the
/// item.
const WIPING: [&[Call]; 3] = [&[WIPE, COUNT], &[PUT, WIPE], &[STRIP, WIPE]];

#[test]
fn nothing_breaks_with_patches_and_programs_that_do_not_know_ids() {
    let mut worlds = 0;
    for start in [Start::Written, Start::Foreign] {
        for others in OTHERS.into_iter().chain(WIPING) {
            for mine in [&[Patch, Update][..], &[Update, Patch], &[Delete, Patch]] {
                worlds += Setup::new(start, &[mine, others]).holds();
            }
            worlds += Setup::new(start, &[&[Patch], others, &[Update]]).holds();
        }
    }
    assert_eq!(worlds, 45_120);
}

#[test]
#[ignore = "a wide search"]
fn nothing_breaks_with_patches_and_every_other_call_and_program() {
    let mut worlds = [0; 2];
    for start in STARTS {
        for others in OTHERS.into_iter().chain(WIPING) {
            for call in [Patch, Create, Update, Upsert, Delete] {
                let scripts: &[&[Call]] = &[&[Patch], others, &[call]];
                worlds[0] += Setup::new(start, scripts).holds();
                worlds[1] += with_tokens(start, scripts).holds();
            }
        }
    }
    assert_eq!(worlds, [258_369, 272_761]);
}

#[test]
fn nothing_breaks_when_ids_fall_out_of_the_register() {
    let worlds = [
        Setup::new(Start::Written, &[&[Patch], &[Patch, Patch]]).holds(),
        Setup::new(Start::Foreign, &[&[Patch], &[Patch, Update, Patch]]).holds(),
        with_tokens(Start::Stripped, &[&[Patch], &[Patch, Update, Patch]]).holds(),
    ];
    assert_eq!(worlds, [706, 8_251, 13_924]);
}

#[test]
#[ignore = "a wide search"]
fn nothing_breaks_when_ids_fall_out_of_the_ring_and_of_the_register() {
    let mut worlds = [0; 2];
    for start in [Start::Written, Start::Foreign] {
        for scripts in [
            &[&[Update][..], &[Patch, Update, Update, Update, Update]][..],
            &[&[Patch], &[Update, Patch, Patch], &[STRIP]],
            &[&[Patch, Update], &[Patch], &[Delete, Create]],
        ] {
            worlds[0] += Setup { keep: [4; 3], ..Setup::new(start, scripts) }.holds();
            worlds[1] += Setup { keep: [4; 3], ..with_tokens(start, scripts) }.holds();
        }
    }
    assert_eq!(worlds, [2_376_453, 1_084_783]);
}

#[test]
fn nothing_breaks_with_units_of_work_that_patch_one_item() {
    let mut worlds = 0;
    for start in STARTS {
        for scripts in [[Patch, Patch, Update], [Patch, Delete, Upsert]] {
            let [one, two, three] = scripts.map(|call| [call]);
            worlds += units_of_work(start, &[&one, &two, &three]).holds();
        }
    }
    assert_eq!(worlds, 43_293);
}

const APPLIED_TWICE: fn(&Violation) -> bool = |violation| matches!(violation, Violation::AppliedTwice(_));
const FALSE_CONFLICT: fn(&Violation) -> bool = |violation| matches!(violation, Violation::FalseConflict(_));

/// The server refuses a duplicate of a patch only while the item contains the id of the patch.
#[test]
fn a_patch_that_is_sent_again_after_a_lost_reply_is_applied_twice() {
    let rules = Rules { lost_patch: LostPatch::IsSentAgain, ..REAL };
    let setup = Setup { looks_for: APPLIED_TWICE, ..Setup::new(Start::Written, &[&[Patch], &[Patch, Patch]]) };
    for scripts in [&[&[Patch][..], &[Patch, Patch]][..], &[&[Patch], &[WIPE]]] {
        let setup = Setup { scripts, ..setup.clone() };
        assert_eq!(Setup { rules, ..setup }.breaks(), Violation::AppliedTwice(0));
    }
    assert_eq!(Setup { scripts: &[&[Patch], &[Patch]], rules, ..setup }.holds(), 274);
}

/// If the item does not contain the id of a patch, the server may nevertheless have applied the
/// patch: another write may have removed the id. Even if the item does not contain the id of a
/// patch, a delayed duplicate of the patch may still arrive.
#[test]
fn the_absence_of_its_id_proves_nothing_about_a_patch() {
    let rules = Rules { absent_patch: Verdict::Conflict, ..REAL };
    let setup = Setup { rules, looks_for: FALSE_CONFLICT, ..Setup::new(Start::Written, &[]) };
    for scripts in [&[&[Patch][..], &[Delete]][..], &[&[Patch], &[Patch, Patch]], &[&[Patch], &[WIPE]]] {
        assert_eq!(Setup { scripts, ..setup.clone() }.breaks(), Violation::FalseConflict(0));
    }
}

/// The server does not remember the token of a refused request, so the server may later apply a
/// delayed duplicate of the request.
#[test]
fn a_refusal_in_doubt_proves_nothing_about_a_patch_under_a_token() {
    let setup = with_tokens(Start::Absent, &[&[Patch], &[Create]]);
    let rules = judged_by(rules::a_token_proves_everything);
    assert_eq!(Setup { rules, ..setup.clone() }.breaks(), Violation::FalseConflict(0));
    assert_eq!(setup.holds(), 186);
}

#[test]
fn a_patch_with_a_token_for_each_attempt_is_applied_twice() {
    let rules = Rules { tokens: Drawn::PerAttempt, ..REAL };
    let setup = with_tokens(Start::Written, &[&[Patch], &[WIPE]]);
    assert_eq!(Setup { rules, ..setup }.breaks(), Violation::AppliedTwice(0));
}

#[test]
fn a_patch_that_is_sent_again_after_the_life_of_its_token_is_applied_twice() {
    let setup = with_tokens(Start::Written, &[&[Patch], &[Update], &[WIPE]]);
    let setup = Setup { tokens: Tokens::AreForgotten, ..setup };
    let rules = Rules { lost_patch: LostPatch::IsSentAgain, ..REAL };
    assert!(APPLIED_TWICE(&Setup { rules, ..setup.clone() }.breaks()));
    assert_eq!(setup.holds(), 740);
}

#[test]
fn a_patch_that_the_network_repeats_is_refused_while_the_item_has_its_id() {
    let setup = Setup { duplicates: Duplicates::OfAll, ..Setup::new(Start::Written, &[&[Patch], &[Patch]]) };
    assert_eq!(setup.holds(), 169);
    let rules = Rules { register: Register::IsIgnored, ..REAL };
    assert!(APPLIED_TWICE(&Setup { rules, ..setup.clone() }.breaks()));
    assert!(APPLIED_TWICE(&Setup { scripts: &[&[Patch], &[Patch, Patch]], ..setup.clone() }.breaks()));
    assert_eq!(Setup { scripts: &[&[Patch], &[Patch, Patch]], sending: Sending::Once, ..setup }.holds(), 2_401);
}

fn patched_by(patched: fn(rules::Patch, &Revision, Incarnation) -> Option<Revision>) -> Rules {
    Rules { patched, ..REAL }
}

/// After another program has removed the version of an item, a patch sets version 1. If the patch
/// keeps the incarnation of the item (its random id), the server applies a delayed update that
/// requires version 1.
#[test]
fn a_patch_that_keeps_stray_ids_loses_updates() {
    let setup = Setup::new(Start::Written, &[&[Update], &[STRIP], &[Patch]]);
    let rules = patched_by(rules::a_patch_keeps_stray_ids);
    assert_eq!(Setup { rules, ..setup.clone() }.breaks(), Violation::LostUpdate(0));
    assert_eq!(setup.holds(), 594);
}

#[test]
fn a_patch_that_leaves_the_version_loses_updates() {
    let rules = patched_by(rules::a_patch_leaves_the_version);
    let setup = Setup { rules, ..Setup::new(Start::Written, &[&[Update], &[Patch]]) };
    assert_eq!(setup.breaks(), Violation::LostUpdate(0));
}
