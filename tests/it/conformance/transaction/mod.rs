//! Several items that are written together or not at all.

mod assumed;
mod committed;
mod keys;
mod kinds;
mod limits;
mod merged;
mod patches;
mod reads;
mod refused;
mod reruns;
mod skew;
mod snapshot;
mod together;
mod tokens;
mod writes;
