//! Leases on items: the requests that acquire them, their guards, and patches under a lease.

mod guard;
mod patch;
mod request;

pub use guard::LeaseGuard;
pub use patch::GuardPatch;
pub use request::LeaseRequest;
