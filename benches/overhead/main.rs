//! The overhead of the library over the same work hand-written on the raw SDK, in instructions,
//! allocations and bytes.
//!
//! `cargo bench --bench overhead` counts the instructions of each call with callgrind (`valgrind`
//! must be installed), its allocations with a counting allocator, and the bytes of its requests.
//! Each request is answered from memory, without a network. Unlike times, the counts are the same
//! on a busy machine. `cargo bench --bench overhead -- update` measures only the calls with this
//! word in their names.

#![expect(clippy::print_stdout, reason = "a benchmark reports")]

mod callgrind;
mod canned;
mod case;
mod leases;
mod many;
mod order;
mod single;
mod transactions;

use std::{env, error::Error, process::ExitCode};

use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};

use crate::case::{Case, Ring, Side};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<std::alloc::System> = &INSTRUMENTED_SYSTEM;

fn main() -> ExitCode {
    match measure() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn measure() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    if let Some((case, side, ring, runs)) = case::of_arguments(&arguments) {
        case.run(side, ring, runs);
        return Ok(());
    }
    if arguments.first().is_some_and(|word| word == "run") {
        return Err(format!("no such run: {arguments:?}").into());
    }

    println!(
        "| call | ids | instructions by hand | dynalock | ratio | without SHA-256 | allocations | more | bytes allocated | more | bytes sent | more |"
    );
    println!("|---|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|");
    // `cargo bench` adds its own arguments.
    let word = arguments.iter().find(|argument| !argument.starts_with("--"));
    for case in Case::ALL.into_iter().filter(|case| word.is_none_or(|word| case.name().contains(word.as_str()))) {
        for ring in case.rings() {
            report(case, *ring)?;
        }
    }
    Ok(())
}

/// Prints one row of the table.
fn report(case: Case, ring: Ring) -> Result<(), Box<dyn Error>> {
    let hand = callgrind::instructions(case, Side::Hand, ring)?;
    let library = callgrind::instructions(case, Side::Library, ring)?;
    let [memory_by_hand, memory] = [Side::Hand, Side::Library].map(|side| memory(case, side, ring));
    let ids = if case.rings().len() > 1 { ring.name() } else { "-" };
    println!(
        "| {} | {ids} | {} | {} | {:.3} | {:.3} | {} | {:+} | {} | {:+} | {} | {:+} |",
        case.name(),
        hand.all,
        library.all,
        ratio(library.all, hand.all),
        ratio(library.without_sha(), hand.without_sha()),
        memory_by_hand.allocations,
        memory.allocations.cast_signed() - memory_by_hand.allocations.cast_signed(),
        memory_by_hand.allocated,
        memory.allocated.cast_signed() - memory_by_hand.allocated.cast_signed(),
        memory_by_hand.sent,
        memory.sent.cast_signed() - memory_by_hand.sent.cast_signed(),
    );
    Ok(())
}

/// The allocations of one call, and the bytes of its requests.
struct Memory {
    allocations: u64,
    allocated: u64,
    sent: u64,
}

fn memory(case: Case, side: Side, ring: Ring) -> Memory {
    let [short, long] = case.runs();
    case.run(side, ring, short);
    let [less, more] = [short, long].map(|runs| {
        let (region, sent) = (Region::new(ALLOCATOR), canned::bytes_sent());
        case.run(side, ring, runs);
        let change = region.change();
        Memory {
            allocations: (change.allocations + change.reallocations) as u64,
            allocated: change.bytes_allocated as u64,
            sent: canned::bytes_sent() - sent,
        }
    });
    let a_call = |less: u64, more: u64| (more - less) / (long - short);
    Memory {
        allocations: a_call(less.allocations, more.allocations),
        allocated: a_call(less.allocated, more.allocated),
        sent: a_call(less.sent, more.sent),
    }
}

#[expect(clippy::cast_precision_loss, reason = "a ratio of three digits")]
fn ratio(a: u64, b: u64) -> f64 {
    a as f64 / b as f64
}
