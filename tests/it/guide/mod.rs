//! The guide in `docs`: its links, its tables of costs, IAM actions,
//! spans, events and metrics, and the dashboard. The documentation tests
//! of the crate compile and run the code of the chapters.

mod book;
pub(crate) mod meter;

mod costs;
mod dashboard;
mod links;
mod observability;
mod policies;
