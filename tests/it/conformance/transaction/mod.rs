//! Several items, which are written together or not at all.

mod assumed;
mod committed;
mod kinds;
mod limits;
mod merged;
mod refused;
mod snapshot;
mod tokens;
