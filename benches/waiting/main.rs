//! The time and the requests of callers that wait for a lock.
//!
//! `cargo bench --bench waiting` runs clients on the engine in the process, in virtual time, and
//! prints two tables. `cargo bench --bench waiting -- fair` measures the crowds with that word in
//! their row. A hand-over is the time from the call of `release` to the next grant. The
//! ideal wall time is the sum of all holds. A process is a client with its own connection.

#![expect(clippy::print_stdout, reason = "a benchmark reports")]

mod crowd;
mod network;
#[path = "../simulated/mod.rs"]
mod simulated;

use std::{env, error::Error, time::Duration};

use crowd::{Crowd, Figures, Order, polls};

fn main() -> Result<(), Box<dyn Error>> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build()?;
    runtime.block_on(report())
}

async fn report() -> Result<(), Box<dyn Error>> {
    let crowds = [
        Crowd { order: Order::Fair, processes: 8, clients: 1, hold: Duration::from_millis(20) },
        Crowd { order: Order::Any, processes: 8, clients: 1, hold: Duration::from_millis(20) },
        Crowd { order: Order::Fair, processes: 1, clients: 32, hold: Duration::from_millis(20) },
        Crowd { order: Order::Any, processes: 1, clients: 32, hold: Duration::from_millis(20) },
        Crowd { order: Order::Fair, processes: 4, clients: 8, hold: Duration::from_millis(20) },
        Crowd { order: Order::Any, processes: 4, clients: 8, hold: Duration::from_millis(20) },
        Crowd { order: Order::Fair, processes: 8, clients: 1, hold: Duration::from_millis(500) },
        Crowd { order: Order::Any, processes: 8, clients: 1, hold: Duration::from_millis(500) },
    ];
    println!(
        "| order | processes | clients in each | held | hand-over p50 | p99 | wall time of the ideal | write units a grant | read units a grant |"
    );
    println!("|---|---:|---:|---:|---:|---:|---:|---:|---:|");
    // `cargo bench` adds its own arguments.
    let word = env::args().skip(1).find(|argument| !argument.starts_with("--"));
    for crowd in crowds.into_iter().filter(|crowd| word.as_ref().is_none_or(|word| crowd.to_string().contains(word))) {
        let Figures { p50, p99, wall, writes, reads } = crowd.measure().await?;
        println!("| {crowd} | {p50} ms | {p99} ms | {wall:.2} | {writes:.2} | {reads:.2} |");
    }
    if word.is_some() {
        return Ok(());
    }
    println!();
    println!("| order | held | polls of the next waiter | polls of each other waiter |");
    println!("|---|---:|---:|---:|");
    for (order, hold) in [(Order::Fair, 10), (Order::Any, 10), (Order::Fair, 60), (Order::Any, 60)] {
        let (next, others) = polls(order, Duration::from_secs(hold)).await?;
        println!("| {order} | {hold} s | {next:.1} | {others:.1} |");
    }
    Ok(())
}
