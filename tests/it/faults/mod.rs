//! The result of each call when the network or the service fails, on the engine in the process and
//! with paused time.

mod budget;
mod configuration;
mod expired;
mod losses;
mod once;
mod outages;
mod outcomes;
mod patches;
mod storms;
