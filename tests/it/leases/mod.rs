//! Leases on items, on paused time: the holder writes, and nobody else does.

mod any;
mod commits;
mod fence;
mod foreign;
mod ground;
mod holder;
mod others;
mod patches;
mod reserved;
mod resumed;
mod separate;
mod storm;
mod unusual;
mod wide;
