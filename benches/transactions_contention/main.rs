//! Units of work that compete for a few items, in virtual time.
//!
//! `cargo bench --bench transactions_contention` prints the cost of a unit of work, the number of
//! units of work in a second, and their times. The clock is tokio's paused clock, so the figures do
//! not depend on the machine. The seeds of the library's own pauses come from the operating system,
//! so the figures of two runs differ a little.

#![expect(clippy::print_stdout, reason = "a benchmark reports")]

mod accounts;
mod by_hand;
mod load;
mod network;
#[path = "../simulated/mod.rs"]
mod simulated;

use std::{env, io};

use crate::load::{Figures, Load, Way};

fn main() -> io::Result<()> {
    // `cargo bench` adds its own arguments.
    let word = env::args().skip(1).find(|argument| !argument.starts_with("--"));
    let load = Load::of_the_report();
    println!("{load}\n");
    println!("| units of work | cost units per unit | per second | p50 | p99 | longest | gave up |");
    println!("|---|---:|---:|---:|---:|---:|---:|");
    let ways = Way::ALL.into_iter().filter(|way| word.as_ref().is_none_or(|word| way.name().contains(word.as_str())));
    for way in ways {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build()?;
        let Figures { cost, rate, p50, p99, longest, gave_up } = runtime.block_on(load.run(way));
        println!("| {} | {cost:.1} | {rate:.0} | {p50:.1?} | {p99:.1?} | {longest:.1?} | {gave_up:.1} % |", way.name());
    }
    Ok(())
}
