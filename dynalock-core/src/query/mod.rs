//! Reads of many items: queries of one partition, and scans of a table.

mod kind;
mod range;

mod plan;

mod feed;
mod stream;
mod token;

mod page;

mod builder;

pub use builder::Query;
pub use kind::{Consistent, InSegments, InTable, Ordered, Paged, Partitioned, Ranged, Reads, Sorted, WholeTable};
pub use page::Page;
pub use range::{Bounds, Prefix, SortBounds, SortRange, Value, WholeNumber};
pub use stream::ItemStream;
pub use token::PageToken;
