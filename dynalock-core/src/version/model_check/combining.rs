//! Tests of the model with combined calls, in which several calls become one batch with one write
//! id. In the tests of combined calls, replies are lost, delayed duplicates of requests arrive, and
//! other clients write the item.

use super::{
    COUNT, Duplicates, PUT, Setup, Start,
    client::Call::{self, Combined, Create, Delete, Update, UpdateReturned, Upsert},
    rules::{Batches, Drawn, REAL, Returned, Rules},
    world::Violation,
};

/// The calls of each client in five scenarios.
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
        [44_372, 87_654, 8_501, 10_898, 1_090],
        [19_401, 43_299, 2_804, 6_787, 1_143],
        [29_351, 65_511, 4_075, 10_062, 1_393],
    ];
    assert_eq!(worlds, of_queues);
    let three_attempts = Setup { attempts: 3, ..Setup::new(Start::Written, &[&[Combined, Combined], &[Update]]) };
    assert_eq!(three_attempts.holds(), 7_905);
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
/// but the content after the first call of the batch. If a caller later writes back the content
/// after the first call, the write undoes the changes of the other calls of the batch.
#[test]
fn a_caller_that_gets_its_own_state_of_a_batch_undoes_later_calls() {
    let rules = Rules { returned: Returned::AsTheFirstCallLeftIt, ..REAL };
    let setup = Setup { rules, ..Setup::new(Start::Written, &[&[Combined, Combined, UpdateReturned]]) };
    assert_eq!(setup.breaks(), Violation::LostUpdate(2));
}

/// Calls for the tests in which the network repeats a create after the server's answer, while
/// another caller creates and deletes the item. The server may apply a create twice, or may refuse
/// a create and later apply a delayed duplicate of the create.
const REPEATED: [&[&[Call]]; 2] = [&[&[Combined, Combined], &[Create, Delete]], &[&[Upsert], &[Create, Delete]]];

fn with_repeated_creates<'a>(scripts: &'a [&'a [Call]], ids: Drawn) -> Setup<'a> {
    Setup {
        rules: Rules { ids, ..REAL },
        duplicates: Duplicates::OfAll,
        looks_for: |violation| matches!(violation, Violation::FalseSuccess(_) | Violation::LostUpdate(_)),
        ..Setup::new(Start::Absent, scripts)
    }
}

#[test]
fn a_repeated_create_is_not_taken_for_the_next_run() {
    assert_eq!(REPEATED.map(|scripts| with_repeated_creates(scripts, Drawn::PerRun).holds()), [111_458, 5_257]);
}

/// The second call joins the batch after the server has refused the create of the first call.
#[test]
fn with_one_id_for_all_runs_a_repeated_create_is_taken_for_the_next_run() {
    assert_eq!(with_repeated_creates(REPEATED[0], Drawn::Once).breaks(), Violation::FalseSuccess(1));
}
