//! Leases on items.

mod guard;
mod patch;
mod request;

pub use guard::LeaseGuard;
pub use patch::GuardPatch;
pub use request::LeaseRequest;
