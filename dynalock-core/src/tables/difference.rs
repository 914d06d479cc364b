use std::{fmt, sync::Arc};

use crate::{key::KeyType, model::IndexScope};

/// The result of [`Repository::verify_table`](crate::Repository::verify_table): the differences
/// between a table and its struct. `Display` writes one line for each difference.
///
/// # Examples
///
/// ```
/// # use dynalock_core as dynalock;
/// # mod shop { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest/shop.rs")); }
/// # use shop::Product;
/// # async fn example(products: &dynalock::Repository<Product>) -> dynalock::Result<()> {
/// let report = products.verify_table().await?;
/// assert!(report.differences().is_empty(), "{report}");
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use = "the report says whether the table fits its type"]
pub struct TableReport {
    table: Arc<str>,
    differences: Vec<TableDifference>,
}

/// A difference between a table and its struct. `Display` writes a sentence with the difference and
/// with the change that removes the difference.
///
/// The field `expected` of a variant contains the requirement of the struct, and the field `found`
/// contains the corresponding property of the table.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum TableDifference {
    /// DynamoDB is creating, deleting or archiving the table.
    #[non_exhaustive]
    TableNotActive {
        /// The status of the table in DynamoDB, for example `CREATING`.
        status: String,
    },
    /// The partition key has another name in the table than in the struct.
    #[non_exhaustive]
    PartitionKeyName {
        /// The name of the partition key in the struct.
        expected: &'static str,
        /// The name of the partition key in the table.
        found: String,
    },
    /// The partition key has another type in the table than in the struct.
    #[non_exhaustive]
    PartitionKeyType {
        /// The name of the partition key.
        attribute: &'static str,
        /// The type that the struct declares for the partition key.
        expected: KeyType,
        /// The type of the partition key in the table, or `None` if the library does not know the
        /// type.
        found: Option<KeyType>,
    },
    /// The struct has a sort key, and the table has none.
    #[non_exhaustive]
    SortKeyMissing {
        /// The name of the sort key in the struct.
        expected: &'static str,
    },
    /// The table has a sort key, and the struct has none.
    #[non_exhaustive]
    SortKeyUnexpected {
        /// The name of the sort key in the table.
        found: String,
    },
    /// The sort key has another name in the table than in the struct.
    #[non_exhaustive]
    SortKeyName {
        /// The name of the sort key in the struct.
        expected: &'static str,
        /// The name of the sort key in the table.
        found: String,
    },
    /// The sort key has another type in the table than in the struct.
    #[non_exhaustive]
    SortKeyType {
        /// The name of the sort key.
        attribute: &'static str,
        /// The type that the struct declares for the sort key.
        expected: KeyType,
        /// The type of the sort key in the table, or `None` if the library does not know the type.
        found: Option<KeyType>,
    },
    /// The table does not have an index that the struct declares.
    #[non_exhaustive]
    IndexMissing {
        /// The name of the missing index.
        index: &'static str,
        /// The scope that the struct declares for the index: global or local.
        scope: IndexScope,
    },
    /// An index is local in the table and global in the struct, or the reverse.
    #[non_exhaustive]
    IndexScope {
        /// The name of the index whose scope (global or local) differs.
        index: &'static str,
        /// The scope that the struct declares for the index: global or local.
        expected: IndexScope,
    },
    /// The partition key of an index has another name in the table than in the struct.
    #[non_exhaustive]
    IndexPartitionKey {
        /// The name of the index whose partition key differs.
        index: &'static str,
        /// The scope that the index has in the table: global or local.
        scope: IndexScope,
        /// The name of the index's partition key in the struct.
        expected: &'static str,
        /// The name of the index's partition key in the table.
        found: String,
    },
    /// The sort key of an index has another name in the table than in the struct, or exists only in
    /// the table or only in the struct.
    #[non_exhaustive]
    IndexSortKey {
        /// The name of the index whose sort key differs.
        index: &'static str,
        /// The scope that the index has in the table: global or local.
        scope: IndexScope,
        /// The name of the index's sort key in the struct, or `None` if the index in the struct has
        /// no sort key.
        expected: Option<&'static str>,
        /// The name of the index's sort key in the table, or `None` if the index in the table has
        /// no sort key.
        found: Option<String>,
    },
    /// A key of an index has another type in the table than in the struct.
    #[non_exhaustive]
    IndexKeyType {
        /// The name of the index whose key type differs.
        index: &'static str,
        /// The scope that the index has in the table: global or local.
        scope: IndexScope,
        /// The name of the key attribute whose type differs.
        attribute: &'static str,
        /// The type that the struct declares for the key attribute of the index.
        expected: KeyType,
        /// The type of the key attribute in the table, or `None` if the library does not know the
        /// type.
        found: Option<KeyType>,
    },
    /// An index contains different attributes in the table and in the struct.
    #[non_exhaustive]
    IndexProjection {
        /// The name of the index whose projected attributes differ.
        index: &'static str,
        /// The scope that the index has in the table: global or local.
        scope: IndexScope,
        /// The projection that the struct declares for the index. A projection is `ALL`,
        /// `KEYS_ONLY`, or `INCLUDE` with the sorted names of the attributes.
        expected: String,
        /// The projection of the index in the table, in the same notation as `expected`.
        found: String,
    },
    /// DynamoDB is building or deleting a global index.
    #[non_exhaustive]
    IndexNotActive {
        /// The name of the index that is not active.
        index: &'static str,
        /// The status of the index in DynamoDB, for example `CREATING`.
        status: String,
    },
    /// The struct has a field with `#[dynalock(expires)]`, but time to live is off for the table.
    #[non_exhaustive]
    TimeToLiveOff {
        /// The attribute of the field with `#[dynalock(expires)]`, which the table should use for
        /// time to live.
        expected: &'static str,
    },
    /// Time to live is on for another attribute than the field with `#[dynalock(expires)]`.
    #[non_exhaustive]
    TimeToLiveAttribute {
        /// The attribute of the field with `#[dynalock(expires)]`, which the table should use for
        /// time to live.
        expected: &'static str,
        /// The attribute that the table uses for time to live.
        found: String,
    },
    /// Time to live is on for an attribute of the struct, but no field of the struct has
    /// `#[dynalock(expires)]`. DynamoDB deletes an item after its time to live, but the library
    /// does not treat the item as expired.
    #[non_exhaustive]
    TimeToLiveUndeclared {
        /// The attribute that the table uses for time to live.
        found: String,
    },
    /// Time to live is on for an attribute in which the library stores a lease. DynamoDB may delete
    /// leased items and named locks, with their fences, after the leases have ended.
    #[non_exhaustive]
    TimeToLiveOfLease {
        /// The attribute that the table uses for time to live.
        found: String,
    },
}

impl TableReport {
    pub(super) fn new(table: Arc<str>, differences: Vec<TableDifference>) -> Self {
        Self { table, differences }
    }

    /// Returns the name of the table that the report describes.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # fn example(report: dynalock::table::TableReport) {
    /// println!("{} has {} differences", report.table(), report.differences().len());
    /// # }
    /// ```
    pub fn table(&self) -> &str {
        &self.table
    }

    /// Returns the differences between the table and its struct. The list of differences is empty
    /// if the table meets all requirements of the struct.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # fn example(report: dynalock::table::TableReport) {
    /// use dynalock::table::TableDifference;
    ///
    /// let is_tolerable = |difference: &TableDifference| matches!(difference, TableDifference::IndexNotActive { .. });
    /// assert!(report.differences().iter().all(is_tolerable), "{report}");
    /// # }
    /// ```
    pub fn differences(&self) -> &[TableDifference] {
        &self.differences
    }
}

impl fmt::Display for TableReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { table, differences } = self;
        if differences.is_empty() {
            return write!(f, "table `{table}` fits its type");
        }
        write!(f, "table `{table}` differs from its type:")?;
        differences.iter().try_for_each(|difference| write!(f, "\n- {difference}"))
    }
}

impl fmt::Display for TableDifference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const ANOTHER_TABLE: &str = "DynamoDB cannot change the key of a table: change the type, or use another table";
        let is_of_partition = matches!(self, Self::PartitionKeyName { .. } | Self::PartitionKeyType { .. });
        let role = if is_of_partition { "partition key" } else { "sort key" };
        match self {
            Self::TableNotActive { status } => {
                write!(f, "the table has the status {status}: wait until it is ACTIVE")
            }
            Self::PartitionKeyName { expected, found } | Self::SortKeyName { expected, found } => {
                write!(f, "the {role} of the table is `{found}`, that of the type `{expected}`; {ANOTHER_TABLE}")
            }
            Self::PartitionKeyType { attribute, expected, found }
            | Self::SortKeyType { attribute, expected, found } => {
                let found = shown(*found);
                write!(
                    f,
                    "the {role} `{attribute}` is {found} in the table, and {expected:?} in the type; {ANOTHER_TABLE}"
                )
            }
            Self::SortKeyMissing { expected } => {
                write!(f, "the table has no sort key, and the type has `{expected}`; {ANOTHER_TABLE}")
            }
            Self::SortKeyUnexpected { found } => {
                write!(f, "the table has the sort key `{found}`, and the type has none; {ANOTHER_TABLE}")
            }
            Self::TimeToLiveOff { expected } => write!(
                f,
                "time to live is off: switch it on for the attribute `{expected}` with `create_table` or UpdateTimeToLive"
            ),
            Self::TimeToLiveAttribute { expected, found } => write!(
                f,
                "time to live is on for the attribute `{found}`, but the type has the attribute `{expected}`: switch it off, \
                 wait an hour, and switch it on for `{expected}` with UpdateTimeToLive"
            ),
            Self::TimeToLiveUndeclared { found } => write!(
                f,
                "time to live is on for the attribute `{found}`: add `#[dynalock(expires)]` to its field, or switch time to \
                 live off with UpdateTimeToLive"
            ),
            Self::TimeToLiveOfLease { found } => write!(
                f,
                "time to live is on for the attribute `{found}` of the lease, and would delete fences: switch it off with \
                 UpdateTimeToLive"
            ),
            of_index => of_index.describe_index(f),
        }
    }
}

impl TableDifference {
    fn describe_index(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::IndexMissing { index, scope: IndexScope::Global } => {
                write!(f, "the table has no index `{index}`: add the global index with UpdateTable")
            }
            Self::IndexMissing { index, scope: IndexScope::Local } => {
                write!(
                    f,
                    "the table has no index `{index}`: a local index is created with its table, so use another table"
                )
            }
            Self::IndexScope { index, expected: IndexScope::Global } => write!(
                f,
                "the index `{index}` is local in the table, and global in the type: add `local` to the type, or use another table"
            ),
            Self::IndexScope { index, expected: IndexScope::Local } => write!(
                f,
                "the index `{index}` is global in the table, and local in the type: remove `local` from the type, or use \
                 another table"
            ),
            Self::IndexPartitionKey { index, scope, expected, found } => write!(
                f,
                "the partition key of the index `{index}` is `{found}` in the table, and `{expected}` in the type: {}",
                anew(*scope)
            ),
            Self::IndexSortKey { index, scope, expected, found } => {
                let (expected, found) = (named(*expected), named(found.as_deref()));
                let anew = anew(*scope);
                write!(
                    f,
                    "the sort key of the index `{index}` is {found} in the table, and {expected} in the type: {anew}"
                )
            }
            Self::IndexKeyType { index, scope, attribute, expected, found } => {
                let (found, anew) = (shown(*found), anew(*scope));
                write!(
                    f,
                    "the key `{attribute}` of the index `{index}` is {found} in the table, and {expected:?} in the type: change \
                     the type of the field, or {anew}"
                )
            }
            Self::IndexProjection { index, scope, expected, found } => {
                let anew = anew(*scope);
                write!(f, "the index `{index}` holds {found} in the table, and {expected} in the type: {anew}")
            }
            Self::IndexNotActive { index, status } => {
                write!(f, "the index `{index}` has the status {status}: wait until it is ACTIVE")
            }
            // The `Display` implementation handles all differences that do not concern an index.
            _ => Ok(()),
        }
    }
}

/// DynamoDB creates and deletes a local index only together with the table of the index.
fn anew(scope: IndexScope) -> &'static str {
    match scope {
        IndexScope::Global => "delete the index and create it again with UpdateTable",
        IndexScope::Local => "use another table, because DynamoDB cannot change a local index",
    }
}

fn shown(found: Option<KeyType>) -> String {
    found.map_or_else(|| "of an unknown type".to_owned(), |key_type| format!("{key_type:?}"))
}

fn named(attribute: Option<&str>) -> String {
    attribute.map_or_else(|| "missing".to_owned(), |attribute| format!("`{attribute}`"))
}
