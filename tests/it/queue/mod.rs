//! The fair queue, with paused time: callers are served in the order of their arrival under all
//! faults.

#![expect(clippy::disallowed_methods, reason = "the clock is paused")]

mod cost;
mod cut_off;
mod deaths;
mod dying;
mod faults;
mod foreign;
mod items;
mod leftovers;
mod model;
mod order;
mod pace;
mod soak;
mod storm;
mod together;
mod waiting;

use crate::support::Shop;

/// The attributes of a lock's row, without its name.
async fn attributes(shop: &Shop, name: &str) -> Vec<String> {
    let row = shop.raw("locks", "name").get(name).await.unwrap();
    let mut names: Vec<_> = row.into_keys().filter(|attribute| attribute != "name").collect();
    names.sort_unstable();
    names
}
