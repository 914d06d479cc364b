//! Reads of many items: queries of one partition of a table or an index, and scans of a table.

mod kind;
mod range;

mod plan;

mod feed;
mod stream;
mod token;

mod page;

mod index;

mod spec;

mod builder;

mod indexed;

pub use builder::Query;
pub use index::Index;
pub use kind::{
    Consistent, Content, InGlobalIndex, InLocalIndex, InSegments, InTable, KeysAlone, NoSortKey, Ordered, Paged,
    Partitioned, Ranged, Reads, Sorted, WholeItems, WholeTable,
};
pub use page::Page;
pub use range::{Bounds, Prefix, SortBounds, SortRange, Value, WholeNumber};
pub use spec::{QuerySpec, QuerySpecBuilder};
pub use stream::ItemStream;
pub use token::PageToken;
