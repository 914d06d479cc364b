//! Locks by name, with paused time: the view of holders and waiters under all faults.

mod asked_again;
mod blocked;
mod ends;
mod exclusion;
mod expiry;
mod hand_overs;
mod losses;
mod lost;
mod no_thread;
mod pace;
mod resumed;
mod stale;
mod storm;
mod together;
mod unusual;

use dynalock::{Locks, local::Fault};

use crate::support::Shop;

/// Loses the reply to the first write of `report`, and breaks the lock before the write with this
/// number.
fn break_before(shop: &Shop, others: &Locks, nth: usize) {
    shop.faults.script_on("UpdateItem", 0, Fault::LoseReply);
    let others = others.clone();
    shop.rival.before("UpdateItem", nth, move || async move {
        let fence = others.inspect("report").await.unwrap().unwrap().fence;
        assert!(others.break_lock("report", fence).await.unwrap());
    });
}
