//! Requests that are explained before they are sent.

mod builders;
mod errors;
mod leases;
mod texts;
mod transactions;
mod units;
mod wire;
