//! One small program with each of four libraries: several tasks add to one counter, while replies
//! are lost.
//!
//! ```sh
//! cargo run --manifest-path benches/comparison/Cargo.toml
//! ```
//!
//! The program runs on the in-process DynamoDB, in virtual time, with a round trip of 6 ms. Each
//! task adds 1 to the counter, again and again. After a conflict, the tasks of the SDK, of modyne
//! and of toasty read the item and try again, as the guides of these libraries advise. dynalock has
//! its own loop. All clients of the SDK have their default settings.

mod by_dynalock;
mod by_hand;
mod by_modyne;
mod by_toasty;
mod network;
mod program;

use dynalock::local::{Database, Fault, Faults};

use by_dynalock::{Dynalock, Patching, PatchingOnce};
use by_hand::ByHand;
use by_modyne::Modyne;
use by_toasty::Toasty;
use program::{Counter, run};

/// The share of replies that are lost.
const LOSSES: [f64; 3] = [0.0, 0.01, 0.05];

/// The number of tasks, and the number of additions of each task.
const LOADS: [Load; 2] = [Load { tasks: 1, each: 500 }, Load { tasks: 8, each: 100 }];

/// A number of concurrent tasks, each with this number of additions.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Load {
    pub(crate) tasks: usize,
    pub(crate) each: usize,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    // The clock stands still while any task can run, and then jumps to the next timer.
    tokio::time::pause();
    for load in LOADS {
        for lost in LOSSES {
            println!("\n{} tasks, {} additions each, {}% of the replies lost", load.tasks, load.each, lost * 100.0);
            println!("| program | requests for an addition | ms for an addition | errors | added twice | lost |");
            println!("|---|---|---|---|---|---|");
            row::<ByHand>(load, lost).await?;
            row::<Modyne>(load, lost).await?;
            row::<Toasty>(load, lost).await?;
            row::<Dynalock>(load, lost).await?;
            row::<Patching>(load, lost).await?;
            row::<PatchingOnce>(load, lost).await?;
        }
    }
    Ok(())
}

/// Prints the row of one library.
async fn row<C: Counter>(load: Load, lost: f64) -> Result<(), Box<dyn std::error::Error>> {
    let faults = Faults::seeded(7).only(["GetItem", "PutItem", "UpdateItem", "Query", "TransactWriteItems"]);
    let faults = faults.rate(Fault::LoseReply, lost);
    let client = network::client(&Database::in_memory()?, &faults);
    let counter = C::open(client).await?;
    let before = faults.requests().len();
    let result = run(&counter, load).await;
    let requests = faults.requests().len() - before;
    let count = counter.count().await?;
    let all = load.tasks * load.each;
    // An addition that ended with an error may have been applied.
    let twice = count.saturating_sub(result.added + result.errors);
    let missing = result.added.saturating_sub(count);
    #[expect(clippy::cast_precision_loss, reason = "small numbers")]
    let share = requests as f64 / all as f64;
    println!(
        "| {} | {share:.2} | {:.1} | {} | {twice} | {missing} |",
        C::NAME,
        result.mean.as_secs_f64() * 1000.0,
        result.errors
    );
    Ok(())
}
