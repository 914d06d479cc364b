//! The time and the requests of callers that wait for a lock.
//!
//! `cargo bench --bench waiting` runs clients on the engine in the process, in virtual time. The
//! benchmark prints three tables, and writes the chart of `docs/charts`. `cargo bench --bench
//! waiting -- holds` makes only the tables with this word in their names: `crowds`, `holds` or
//! `reads`. A hand-over is the time from the call of `release` to the next grant. The ideal wall
//! time is the sum of all holds. A process is a client with its own connection.

#![expect(clippy::print_stdout, reason = "a benchmark reports")]

#[path = "../simulated/chart.rs"]
mod chart;
mod crowd;
mod network;
#[path = "../simulated/mod.rs"]
mod simulated;

use std::{env, error::Error, time::Duration};

use chart::{Chart, Line};
use crowd::{Crowd, Figures, Order, reads};

const ORDERS: [Order; 2] = [Order::Fair, Order::Any];

fn main() -> Result<(), Box<dyn Error>> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build()?;
    runtime.block_on(report())
}

async fn report() -> Result<(), Box<dyn Error>> {
    // `cargo bench` adds its own arguments.
    let word = env::args().skip(1).find(|argument| !argument.starts_with("--"));
    let is_wanted = |table: &str| word.as_ref().is_none_or(|word| table.contains(word.as_str()));
    if is_wanted("crowds") {
        crowds().await?;
    }
    if is_wanted("holds") {
        holds().await?;
    }
    if is_wanted("reads") {
        reads_while_held().await?;
    }
    Ok(())
}

/// Short holds, by many clients in several processes.
async fn crowds() -> Result<(), Box<dyn Error>> {
    head();
    for (processes, clients) in [(8, 1), (1, 32), (4, 8)] {
        for order in ORDERS {
            measured(Crowd { order, processes, clients, hold: Duration::from_millis(20) }).await?;
        }
    }
    Ok(())
}

/// Short and long holds, by eight clients in eight processes.
async fn holds() -> Result<(), Box<dyn Error>> {
    head();
    let holds = [5, 20, 100, 500, 2_000].map(Duration::from_millis);
    let names = ["5 ms", "20 ms", "100 ms", "500 ms", "2 s"].map(str::to_owned);
    let mut lines = Vec::new();
    for order in ORDERS {
        let [mut half, mut most] = ["median", "99 %"].map(|share| Line::new(format!("{order}, {share}")));
        for hold in holds {
            let figures = measured(Crowd { order, processes: 8, clients: 1, hold }).await?;
            half.values.push(millis(figures.p50));
            most.values.push(millis(figures.p99));
        }
        lines.extend([half, most]);
    }
    let chart = Chart {
        title: "Eight processes that wait for one lock: from a release to the next grant",
        across: "time for which each process holds the lock",
        up: "milliseconds",
        command: "cargo bench --bench waiting -- holds",
        places: &names,
        lines,
    };
    Ok(chart.save("waiting.svg")?)
}

/// The reads of the waiters during one long hold.
async fn reads_while_held() -> Result<(), Box<dyn Error>> {
    println!("\n| order | held | reads of the next waiter | reads of each other waiter |");
    println!("|---|---:|---:|---:|");
    for hold in [10, 60] {
        for order in ORDERS {
            let (next, others) = reads(order, Duration::from_secs(hold)).await?;
            println!("| {order} | {hold} s | {next:.1} | {others:.1} |");
        }
    }
    Ok(())
}

fn head() {
    println!(
        "\n| order | processes | clients in each | held | hand-over p50 | p99 | wall time of the ideal | write units a grant | read units a grant |"
    );
    println!("|---|---:|---:|---:|---:|---:|---:|---:|---:|");
}

/// Runs a crowd and prints its row.
async fn measured(crowd: Crowd) -> Result<Figures, Box<dyn Error>> {
    let figures = crowd.measure().await?;
    let Figures { p50, p99, wall, writes, reads } = &figures;
    let [p50, p99] = [p50, p99].map(Duration::as_millis);
    println!("| {crowd} | {p50} ms | {p99} ms | {wall:.2} | {writes:.2} | {reads:.2} |");
    Ok(figures)
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1_000.0
}
