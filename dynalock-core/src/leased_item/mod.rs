//! Leases on items.

mod guard;
mod request;

pub use guard::LeaseGuard;
pub use request::LeaseRequest;
