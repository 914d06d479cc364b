//! Tests of the model with combined calls, in which several calls become one batch with one write
//! id. In these tests, replies are lost, late copies of requests arrive, and other clients write
//! the item.

use super::{
    COUNT, PUT, Setup, Start,
    client::Call::{self, Combined, Delete, Update, UpdateReturned, Upsert},
    rules::{Batches, REAL, Returned, Rules},
    world::Violation,
};

/// The calls of the clients in each search: combined calls in one or two queues, and calls of other
/// writers.
const QUEUES: [&[&[Call]]; 5] = [
    &[&[Combined, Combined, Combined], &[Update]],
    &[&[Combined, Combined], &[Upsert, Delete]],
    &[&[Combined, Combined], &[Combined]],
    &[&[Combined, Combined, UpdateReturned], &[Update]],
    &[&[Combined, Combined], &[COUNT, PUT]],
];

#[test]
fn each_call_of_a_batch_is_applied_once_or_has_no_effect() {
    let worlds = [Start::Absent, Start::Written, Start::Counted]
        .map(|start| QUEUES.map(|scripts| Setup::new(start, scripts).holds()));
    let of_queues = [
        [43_522, 84_870, 8_445, 10_818, 1_074],
        [18_941, 42_801, 2_762, 6_727, 1_128],
        [28_701, 64_839, 4_019, 9_982, 1_373],
    ];
    assert_eq!(worlds, of_queues);
    let three_attempts = Setup { attempts: 3, ..Setup::new(Start::Written, &[&[Combined, Combined], &[Update]]) };
    assert_eq!(three_attempts.holds(), 7_305);
}

#[test]
fn a_call_that_joins_a_batch_in_doubt_is_taken_for_a_success() {
    let rules = Rules { batches: Batches::Joined, ..REAL };
    let setup = Setup { rules, attempts: 3, ..Setup::new(Start::Written, &[&[Combined, Combined]]) };
    assert_eq!(setup.breaks(), Violation::FalseSuccess(1));
}

#[test]
fn a_call_that_leaves_a_batch_in_doubt_is_taken_for_a_conflict() {
    let rules = Rules { batches: Batches::Left, ..REAL };
    let setup = Setup { rules, attempts: 3, ..Setup::new(Start::Written, &[&[Combined, Combined]]) };
    assert_eq!(setup.breaks(), Violation::FalseConflict(1));
}

/// With the broken rule `AsTheFirstCallLeftIt`, a caller gets the version after the whole batch,
/// but the content after the first call. The next write of this caller then undoes the later calls
/// of the batch.
#[test]
fn a_caller_that_gets_its_own_state_of_a_batch_undoes_later_calls() {
    let rules = Rules { returned: Returned::AsTheFirstCallLeftIt, ..REAL };
    let setup = Setup { rules, ..Setup::new(Start::Written, &[&[Combined, Combined, UpdateReturned]]) };
    assert_eq!(setup.breaks(), Violation::LostUpdate(2));
}
