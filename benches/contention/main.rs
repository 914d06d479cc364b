//! Many callers update one item: the cost and the time of each update.
//!
//! `cargo bench --bench contention` runs the library's own code and hand-written loops on the
//! in-process engine, in virtual time. The benchmark prints the tables as Markdown, and writes the
//! charts of `docs/charts`. `cargo bench --bench contention -- starvation` makes only the tables
//! with this word in their names.
//!
//! Each of four processes has its own client. An item handles one request after the other: a write
//! takes 0.5 ms, and a refusal takes 0.2 ms. An item accepts 1,000 write units a second. A write of
//! the item costs one unit, and a write in a transaction costs two units. A refused write costs as
//! much as an applied write. A read costs a fifth of a unit. The times of the network and the
//! arrivals of the calls come from seeds. The library draws its pauses from the operating system,
//! so the figures of two runs differ by a few percent.

#![expect(clippy::print_stdout, reason = "a benchmark reports")]

mod caller;
#[path = "../simulated/chart.rs"]
mod chart;
mod load;
mod network;
#[path = "../simulated/mod.rs"]
mod simulated;

use std::{env, io, process::ExitCode, time::Duration};

use crate::{
    caller::Caller,
    chart::{Chart, Line},
    load::{Load, Sample},
    network::RoundTrip,
};

const CALLERS: [Caller; 5] =
    [Caller::UpdateWith, Caller::Combining, Caller::Textbook, Caller::FullJitter, Caller::BlindAdd];

/// The columns of the table of starvation, in thousandths.
const SHARES: [(usize, &str); 4] = [(500, "50 %"), (990, "99 %"), (999, "99.9 %"), (1_000, "all")];

fn main() -> ExitCode {
    match measure() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn measure() -> io::Result<()> {
    // `cargo bench` adds its own arguments.
    let word = env::args().skip(1).find(|argument| !argument.starts_with("--"));
    let is_wanted = |table: &str| word.as_ref().is_none_or(|word| table.contains(word.as_str()));
    if is_wanted("bursts") {
        bursts();
    }
    if is_wanted("arrivals") {
        arrivals()?;
    }
    if is_wanted("starvation") {
        starvation()?;
    }
    Ok(())
}

fn bursts() {
    head();
    for (calls, seeds) in [(32, 32), (128, 16)] {
        for caller in CALLERS {
            measured(Load::Burst { calls }, caller, seeds);
        }
    }
}

fn arrivals() -> io::Result<()> {
    head();
    let rates = [50, 100, 200, 300];
    let [mut costs, mut times] = [(); 2].map(|()| CALLERS.map(|caller| Line::new(caller.plain_name())));
    for per_second in rates {
        for (place, caller) in CALLERS.into_iter().enumerate() {
            let sample = measured(Load::Arrivals { per_second, time: Duration::from_secs(20) }, caller, 4);
            costs[place].values.push(sample.cost());
            times[place].values.push(sample.quantile(990));
        }
    }
    let places = rates.map(|per_second| per_second.to_string());
    let chart = Chart {
        title: "Updates of one item by four processes: cost",
        across: "updates per second",
        up: "write units per applied update",
        command: "cargo bench --bench contention -- arrivals",
        places: &places,
        lines: costs.into(),
    };
    chart.save("contention-cost.svg")?;
    let title = "Updates of one item by four processes: time of 99 % of the applied updates";
    Chart { title, up: "milliseconds", lines: times.into(), ..chart }.save("contention-p99.svg")
}

fn starvation() -> io::Result<()> {
    println!("\n| caller | p50 ms | p99 ms | p99.9 ms | max ms | p99.9 / p50 | gave up | cost units per update |");
    println!("|---|---:|---:|---:|---:|---:|---:|---:|");
    let load = Load::Writers { time: Duration::from_mins(1) };
    let mut lines = Vec::new();
    for caller in [Caller::UpdateWith, Caller::Transact, Caller::Textbook, Caller::FullJitter] {
        let sample = load.run(RoundTrip::Uneven, caller, 6);
        let values = SHARES.map(|(share, _)| sample.quantile(share));
        let [half, most, nearly_all, all] = values;
        println!(
            "| {} | {half:.0} | {most:.0} | {nearly_all:.0} | {all:.0} | {:.1} | {} | {:.2} |",
            caller.name(),
            nearly_all / half,
            sample.given_up(),
            sample.cost()
        );
        lines.push(Line { values: values.into(), ..Line::new(caller.plain_name()) });
    }
    Chart {
        title: "Four writers of one item without pauses between their calls",
        across: "share of the updates that were faster",
        up: "milliseconds",
        command: "cargo bench --bench contention -- starvation",
        places: &SHARES.map(|(_, name)| name.to_owned()),
        lines,
    }
    .save("starvation.svg")
}

fn head() {
    println!("\n| load | caller | cost units per update | p50 ms | p99 ms | p99.9 ms | gave up |");
    println!("|---|---|---:|---:|---:|---:|---:|");
}

/// Runs a load and prints its row.
fn measured(load: Load, caller: Caller, seeds: u64) -> Sample {
    let sample = load.run(RoundTrip::Usual, caller, seeds);
    let [half, most, nearly_all] = [500, 990, 999].map(|share| sample.quantile(share));
    println!(
        "| {} | {} | {:.2} | {half:.0} | {most:.0} | {nearly_all:.0} | {} |",
        load.name(),
        caller.name(),
        sample.cost(),
        sample.given_up()
    );
    sample
}
