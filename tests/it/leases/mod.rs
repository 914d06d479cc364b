//! Leases on items, with paused time: only the holder writes.

mod any;
mod births;
mod commits;
mod deletes;
mod fence;
mod foreign;
mod ground;
mod hand_overs;
mod holder;
mod others;
mod patches;
mod reserved;
mod resumed;
mod separate;
mod storm;
mod unusual;
mod wide;
