//! Sends requests to DynamoDB, and interprets the answers.

mod body;
mod capacity;
mod classify;
mod get;
mod get_many;
mod page;
mod put_many;
mod reasons;
mod single_write;
mod table;
mod transact;
mod write;

pub(crate) use body::keep_body;
pub(crate) use capacity::{Allowance, Consumed, IN_FLIGHT, InFlight, KeyText, MeteredRequest, RequestFacts, SizedItem};
pub use classify::misconfigured;
pub(crate) use classify::{EmptyAnswer, Failure};
pub(crate) use get::GetItem;
pub(crate) use get_many::{BatchGet, TransactGet};
pub(crate) use page::{Access, ItemPage, PageRequest, PageStart, Segment, Selection};
pub(crate) use put_many::PutMany;
pub(crate) use reasons::ActionReasons;
pub use table::DeletionProtection;
pub(crate) use table::{
    Billing, TableSettings, create_table, describe_table, describe_time_to_live, switch_time_to_live_on,
};
pub(crate) use transact::{Transact, table_names};
pub(crate) use write::{Action, Write};
