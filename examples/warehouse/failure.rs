//! The errors that end the program early. The message of each error is a sentence.

use std::{error::Error as StdError, io, path::PathBuf};

#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    #[error("cannot read {path}: {source}")]
    Read { path: PathBuf, source: io::Error },

    #[error("{file} has no column {column}; it has {found}")]
    NoColumn { file: String, column: &'static str, found: String },

    #[error("{file} has more than one column {column}")]
    TwoColumns { file: String, column: &'static str },

    #[error("the {lines} lines of product {sku:?} in invoice {invoice:?} are more than an order of 400 KB can hold")]
    TooManyLines { invoice: String, sku: String, lines: usize },

    #[error("cannot start the DynamoDB inside the process: {}", chain(.0))]
    Engine(#[from] dynalock::local::Error),

    #[error("cannot use the DynamoDB at {endpoint}: {source}")]
    Endpoint { endpoint: String, source: Box<dynalock::Error> },

    #[error("cannot open the stock or the orders: {0}")]
    Opening(dynalock::Error),

    #[error("cannot count the stock: {0}")]
    Counting(dynalock::Error),

    #[error("cannot query what was sold: {0}")]
    Selling(dynalock::Error),

    #[error("cannot read the orders again: {0}")]
    Auditing(dynalock::Error),

    #[error("product {0:?} is gone; is another program at work on the same table?")]
    Gone(String),

    #[error("line {number} could not be booked: {source}")]
    Booking { number: u64, source: dynalock::Error },

    #[error("line {number} could not be booked: {reason}")]
    NaiveBooking { number: u64, reason: String },

    #[error("{order} could not be posted: {source}")]
    Posting { order: String, source: dynalock::Error },

    #[error("a worker failed: {0}")]
    Worker(#[from] tokio::task::JoinError),

    #[error("cannot write {path}: {source}")]
    Dump { path: PathBuf, source: csv::Error },

    #[error("cannot write the report: {0}")]
    Print(io::Error),

    #[error("{0} updates were lost")]
    Lost(u64),

    #[error(
        "{0} products hold more lines than the file has; \
         does the database hold postings of another file, or of another version of this one?"
    )]
    Foreign(usize),

    #[error("{0} orders are missing, or not as the file says")]
    Orders(u64),
}

/// Returns an error and its causes in one line, because only the causes contain the messages of the
/// SDK.
pub(crate) fn chain(error: &(dyn StdError + 'static)) -> String {
    let causes = std::iter::successors(Some(error), |&error| error.source());
    causes.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}
