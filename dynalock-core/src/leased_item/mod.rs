//! Leases on items: the requests for leases, the guards of leases, and the patches by the holders
//! of leases.

mod guard;
mod patch;
mod request;

pub use guard::LeaseGuard;
pub use patch::GuardPatch;
pub use request::LeaseRequest;
