//! The guide in `docs`: its links, and its tables of costs and IAM actions. The documentation tests
//! of the crate compile and run the code of the chapters.

mod book;
pub(crate) mod meter;

mod costs;
mod links;
mod policies;
