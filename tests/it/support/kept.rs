//! Items with a lease, in the item or in a separate row.

use std::fmt::Debug;

use dynalock::{Error, Lockable, Repository, Transaction, Versioned, condition::Attribute};
use serde::{Deserialize, Serialize};

use super::{Shop, commit, expect_error};

/// An item with a lease, for cases that apply to both places of the lease.
pub(crate) trait Kept: Lockable<Key: for<'a> From<&'a str>> + Clone + PartialEq + Debug {
    const IS_SEPARATE: bool;

    /// Returns the key of the row with the lease of the item `a`.
    const ROW: &'static str = if Self::IS_SEPARATE { "a#lock" } else { "a" };

    /// The operation that writes the item.
    const WRITE: &'static str = if Self::IS_SEPARATE { "TransactWriteItems" } else { "UpdateItem" };

    /// The attribute `items`.
    const ITEMS: Attribute<Self, u32>;

    fn new(id: &str, items: u32) -> Self;

    fn count(&self) -> u32;

    fn items(&mut self) -> &mut u32;

    fn label(&mut self) -> &mut Option<String>;
}

/// The lease is in the item. The struct of the item refuses attributes that it does not know.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Versioned)]
#[serde(deny_unknown_fields)]
#[dynalock(table = "crates")]
#[lockable(ttl = "10s")]
pub(crate) struct Crate {
    #[dynalock(partition_key)]
    pub(crate) id: String,
    pub(crate) items: u32,
    pub(crate) label: Option<String>,
}

/// The lease is in the item.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Versioned)]
#[dynalock(table = "parcels")]
#[lockable(ttl = "10s")]
pub(crate) struct Parcel {
    #[dynalock(partition_key)]
    pub(crate) id: String,
    pub(crate) items: u32,
    pub(crate) label: Option<String>,
}

/// The lease is in a separate row.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Versioned)]
#[dynalock(table = "archives")]
#[lockable(ttl = "10s", separate)]
pub(crate) struct Archive {
    #[dynalock(partition_key)]
    pub(crate) id: String,
    pub(crate) items: u32,
    pub(crate) label: Option<String>,
}

macro_rules! kept {
    ($name:ident, $is_separate:literal) => {
        impl $name {
            pub(crate) fn new(id: &str, items: u32) -> Self {
                Self { id: id.to_owned(), items, label: None }
            }
        }

        impl Kept for $name {
            const IS_SEPARATE: bool = $is_separate;

            const ITEMS: Attribute<Self, u32> = Self::ATTR.items;

            fn new(id: &str, items: u32) -> Self {
                Self::new(id, items)
            }

            fn count(&self) -> u32 {
                self.items
            }

            fn items(&mut self) -> &mut u32 {
                &mut self.items
            }

            fn label(&mut self) -> &mut Option<String> {
                &mut self.label
            }
        }
    };
}

kept!(Crate, false);
kept!(Parcel, false);
kept!(Archive, true);

/// Makes two tests of each case. A case is generic over the place of the lease.
macro_rules! for_both_kinds {
    ($($case:ident),* $(,)?) => {
        mod in_the_item {
            $(
                #[tokio::test(start_paused = true)]
                async fn $case() {
                    super::$case::<crate::support::Crate>().await;
                }
            )*
        }

        mod in_a_row_of_its_own {
            $(
                #[tokio::test(start_paused = true)]
                async fn $case() {
                    super::$case::<crate::support::Archive>().await;
                }
            )*
        }
    };
}

pub(crate) use for_both_kinds;

impl Shop {
    /// Makes a shop without faults, with two items. The count of each item is five.
    pub(crate) async fn with_two<T: Kept>() -> (Self, super::Table<T>) {
        Self::with_items(["a", "b"].map(|id| T::new(id, 5))).await
    }
}

/// The kinds of writes by a caller without the lease.
pub(crate) const WRITES: [&str; 10] = [
    "update_with",
    "try_update_with",
    "upsert_with",
    "update",
    "exactly once",
    "delete",
    "transaction",
    "unit of work",
    "patch",
    "patch in a transaction",
];

/// Adds one to the item `a`, or deletes it.
pub(crate) async fn write_by<T: Kept>(shop: &Shop, items: &Repository<T>, kind: &str) -> Result<(), Error> {
    let mut stored = items.get("a").await?.expect("an item");
    *stored.items() += 1;
    match kind {
        "update_with" => items.update_with("a", |it| *it.items() += 1).await.map(drop),
        "try_update_with" => {
            let add = |it: &mut T| {
                *it.items() += 1;
                Ok::<_, Error>(())
            };
            items.try_update_with("a", add).await.map(drop)
        }
        "upsert_with" => items.upsert_with("a", || T::new("a", 0), |it| *it.items() += 1).await.map(drop),
        "update" => items.update(stored).await.map(drop),
        "exactly once" => items.update(stored).exactly_once().await.map(drop),
        "delete" => items.delete(stored).await.map(drop),
        "patch" => items.patch("a").add(T::ITEMS, 1).await.map(drop),
        "patch in a transaction" => {
            let patch = |tx: &mut Transaction| tx.patch(items, "a").add(T::ITEMS, 1).op();
            commit(&shop.client, patch).await.map(drop)
        }
        "transaction" => commit(&shop.client, |tx| tx.update(items, stored)).await.map(drop),
        _ => add_in_a_unit_of_work(shop, items, "a").await,
    }
}

pub(crate) async fn add_in_a_unit_of_work<T: Kept>(
    shop: &Shop,
    items: &Repository<T>,
    id: &'static str,
) -> Result<(), Error> {
    dynalock::transact(&shop.client, |tx| async move {
        let mut it = tx.get(items, id).await?.expect("an item");
        *it.items() += 1;
        tx.update(items, it);
        Ok(())
    })
    .await
}

/// Asserts that each kind of write and lock by another caller is refused.
pub(crate) async fn nobody_writes<T: Kept>(shop: &Shop, items: &Repository<T>) {
    let stored = items.get("a").await.unwrap().unwrap();
    for kind in WRITES {
        expect_error!(write_by(shop, items, kind).await, Error::Locked(_));
    }
    expect_error!(items.replace(stored.clone()).await, Error::Locked(_));
    expect_error!(items.touch(stored.clone()).await, Error::Locked(_));
    assert!(items.try_lock("a").await.unwrap().is_none());
    assert!(items.try_lock("a").fair().await.unwrap().is_none());
    assert_eq!(items.get("a").await.unwrap().unwrap(), stored);
}
