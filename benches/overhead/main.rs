//! What the library costs beside the same work hand-written on the raw SDK, in instructions and allocations.
//!
//! `cargo bench --bench overhead` counts the instructions of each case with callgrind (`valgrind` must be installed) and its
//! allocations with a counting allocator, on a transport that answers from memory. Counts, not times: they are the same on a busy
//! machine.

#![expect(clippy::print_stdout, reason = "a benchmark reports")]

mod canned;
mod cases;
mod transaction;

use std::{env, process::Command};

use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<std::alloc::System> = &INSTRUMENTED_SYSTEM;

/// Runs are compared at two lengths, so that what happens once does not count.
const SHORT: u64 = 20;
const LONG: u64 = 120;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = env::args().collect();
    if let [_, case, runs] = arguments.as_slice()
        && let Ok(runs) = runs.parse()
    {
        cases::run(case, runs);
        return Ok(());
    }

    println!("| case | instructions by hand | dynalock | ratio | allocations by hand | dynalock | more |");
    println!("|---|---:|---:|---:|---:|---:|---:|");
    for (name, by_hand, library) in cases::PAIRS {
        let instructions = [instructions(by_hand)?, instructions(library)?];
        let allocations = [allocations(by_hand), allocations(library)];
        println!(
            "| {name} | {} | {} | {:.3} | {} | {} | {:+} |",
            instructions[0],
            instructions[1],
            ratio(instructions[1], instructions[0]),
            allocations[0],
            allocations[1],
            allocations[1].cast_signed() - allocations[0].cast_signed(),
        );
    }
    Ok(())
}

/// Instructions of one call, by two runs of this program under callgrind.
fn instructions(case: &str) -> Result<u64, Box<dyn std::error::Error>> {
    let mut counts = [0; 2];
    for (count, runs) in counts.iter_mut().zip([SHORT, LONG]) {
        let output = Command::new("valgrind")
            .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
            .arg(env::current_exe()?)
            .args([case, &runs.to_string()])
            .output()
            .map_err(|error| format!("valgrind cannot be run: {error}"))?;
        let report = String::from_utf8(output.stderr)?;
        let collected =
            report.lines().find_map(|line| line.split_once("Collected : ")).ok_or_else(|| report.clone())?;
        *count = collected.1.trim().parse::<u64>()?;
    }
    Ok((counts[1] - counts[0]) / (LONG - SHORT))
}

/// Allocations of one call.
fn allocations(case: &str) -> u64 {
    cases::run(case, SHORT);
    let counts = [SHORT, LONG].map(|runs| {
        let region = Region::new(ALLOCATOR);
        cases::run(case, runs);
        let change = region.change();
        (change.allocations + change.reallocations) as u64
    });
    (counts[1] - counts[0]) / (LONG - SHORT)
}

#[expect(clippy::cast_precision_loss, reason = "a ratio of three digits")]
fn ratio(a: u64, b: u64) -> f64 {
    a as f64 / b as f64
}
