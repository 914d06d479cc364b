//! Transactions with faults and with many concurrent callers, on the engine in the process.

mod alone;
mod batches;
mod cancellations;
mod contention;
mod late;
mod messages;
mod outcomes;
mod repeats;
mod retries;
mod skew;
mod tokens;
mod transfers;

mod purse;
