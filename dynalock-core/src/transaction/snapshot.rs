use std::{borrow::Borrow, sync::Arc};

use aws_sdk_dynamodb::Client;

use super::{Op, commit::which_is_missing, link::Link};
use crate::{
    codec::{Item, Stored, decode_stored},
    error::{Error, InvalidTransaction, Result, TransactionId},
    explain::Explained,
    model::{IntoKey, ItemRef, Versioned},
    operation::{self, table_names},
    repository::Repository,
    retry::{Attempts, Limits, limit_methods},
    telemetry::{observe, set_batch},
    write::assembly::MOST_ITEMS,
};

/// A read that returns several items as they are at the same moment.
/// [`Transaction::get`](crate::Transaction::get) returns a `TransactionGet`.
///
/// ```
/// # use dynalock_core as dynalock;
/// # use dynalock::{Repository, Stored, Transaction, Versioned};
/// # async fn balance<A: Versioned>(
/// #     client: &aws_sdk_dynamodb::Client, accounts: Repository<A>, alice: A::Key, bob: A::Key,
/// # ) -> dynalock::Result<()> {
/// let mut get = Transaction::get(client);
/// let (alice, bob) = (get.item(&accounts, alice), get.item(&accounts, bob));
/// let seen = get.fetch().await?;
/// let (alice, bob): (Option<Stored<A>>, _) = (seen.get(alice)?, seen.get(bob)?);
/// # Ok(())
/// # }
/// ```
///
/// A `TransactionGet` consumes twice as many read units as separate strongly consistent reads of
/// the same items.
#[must_use = "nothing is read until it is fetched"]
pub struct TransactionGet {
    id: TransactionId,
    link: Link,
    item_refs: Vec<ItemRef>,
    limits: Limits,
}

/// The items of a [`TransactionGet`], all from the same moment.
pub struct Snapshot {
    id: TransactionId,
    /// The items, in the order of the calls of [`TransactionGet::item`].
    items: Vec<(Arc<str>, Option<Item>)>,
}

impl TransactionGet {
    pub(super) fn new(client: &Client) -> Self {
        Self {
            id: TransactionId::next(),
            link: Link::new(client.clone()),
            item_refs: Vec::new(),
            limits: Limits::of_transaction(),
        }
    }

    limit_methods! {
        self, [self.limits], {
            /// ```
            /// # use dynalock_core as dynalock;
            /// # fn example(client: &aws_sdk_dynamodb::Client) {
            "let get = dynalock::Transaction::get(client)" ";"
            /// # }
            /// ```
        },
        attempts;
        /// The budgets of the repositories do not apply to a `TransactionGet`.
        budget;
        /// The default deadline of a `TransactionGet` is 10 seconds.
        deadline;
        /// The default timeout of the first attempt is 1 second.
        attempt_timeout;
    }

    /// Adds an item to the read, and returns a handle for the item. [`Snapshot::get`] takes the
    /// handle and returns the item.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # mod shop { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest/shop.rs")); }
    /// # use shop::Product;
    /// # async fn example(mut get: dynalock::transaction::TransactionGet, products: &dynalock::Repository<Product>) -> dynalock::Result<()> {
    /// let tea = get.item(products, "tea");
    /// let seen = get.fetch().await?;
    /// println!("{:?}", seen.get(tea)?);
    /// # Ok(())
    /// # }
    /// ```
    pub fn item<T: Versioned>(&mut self, repository: &Repository<T>, key: impl IntoKey<T>) -> Op<T, Option<Stored<T>>> {
        self.link.meet(repository);
        self.item_refs.push(repository.item_ref(key.into_key(), None));
        Op::new(self.id, self.item_refs.len() - 1)
    }

    /// Returns the request that [`fetch`](Self::fetch) would send. `explain` sends nothing.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # mod shop { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest/shop.rs")); }
    /// # use shop::Product;
    /// # fn example(mut get: dynalock::transaction::TransactionGet, products: &dynalock::Repository<Product>) -> dynalock::Result<()> {
    /// get.item(products, "tea");
    /// get.item(products, "cup");
    /// assert_eq!(get.explain()?.read_units(100).to_string(), "4");
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// - [`Error::InvalidTransaction`]: the caller has added no item to the read, or more than
    ///   100 different items.
    /// - [`Error::InvalidKey`]: a key is empty.
    pub fn explain(&self) -> Result<Explained> {
        let (different, _) = different(&self.item_refs);
        Ok(Explained::of(vec![request(&different)?.into()]))
    }

    /// Reads all items. If DynamoDB refuses the read because of other running transactions, the
    /// call repeats the request.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # mod shop { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest/shop.rs")); }
    /// # use shop::Product;
    /// # async fn example(mut get: dynalock::transaction::TransactionGet, products: &dynalock::Repository<Product>) -> dynalock::Result<()> {
    /// let (tea, cup) = (get.item(products, "tea"), get.item(products, "cup"));
    /// let seen = get.fetch().await?;
    /// println!("{:?} {:?}", seen.get(tea)?, seen.get(cup)?);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// - [`Error::InvalidTransaction`]: the caller has added no item to the read, or more than
    ///   100 different items.
    /// - `fetch` can return each of the [errors of every call](Repository#errors-of-every-call).
    ///
    /// # Cancel safety
    ///
    /// The caller may drop the future of `fetch` at any time, because a read changes nothing.
    pub async fn fetch(self) -> Result<Snapshot> {
        let tables = table_names(self.item_refs.iter().map(|item_ref| &item_ref.table));
        observe("transaction_get", tables, self.send()).await
    }

    async fn send(self) -> Result<Snapshot> {
        set_batch(self.item_refs.len());
        let Self { id, mut link, item_refs, limits } = self;
        let mut attempts = link.attempts(limits);
        let (different, positions) = different(&item_refs);
        let read = fetch(&mut attempts, &different).await?;
        let items = item_refs.iter().zip(positions).map(|(item_ref, position)| {
            let item = item_ref.expiry.alive(item_ref.model, read[position].clone());
            (Arc::clone(&item_ref.table), item)
        });
        Ok(Snapshot { id, items: items.collect() })
    }
}

/// Returns the items without duplicates, and for each handle the index of its item. DynamoDB
/// refuses a TransactGetItems request that names an item twice.
fn different(item_refs: &[ItemRef]) -> (Vec<&ItemRef>, Vec<usize>) {
    let mut different: Vec<&ItemRef> = Vec::new();
    let mut positions = Vec::with_capacity(item_refs.len());
    for item_ref in item_refs {
        let known = different.iter().position(|known| known.is(&item_ref.table, &item_ref.key));
        positions.push(known.unwrap_or(different.len()));
        if known.is_none() {
            different.push(item_ref);
        }
    }
    (different, positions)
}

/// The caller must not name an item twice in `item_refs`.
fn request(item_refs: &[&ItemRef]) -> Result<operation::TransactGet> {
    match item_refs.len() {
        0 => return Err(Error::InvalidTransaction(InvalidTransaction::Empty)),
        1..=MOST_ITEMS => {}
        items => return Err(Error::InvalidTransaction(InvalidTransaction::TooManyItems { items })),
    }
    let keys = item_refs.iter().map(|item_ref| Ok((Arc::clone(&item_ref.table), item_ref.key_item()?)));
    Ok(operation::TransactGet { item_refs: keys.collect::<Result<_>>()? })
}

/// Reads several items in one consistent snapshot, by a `TransactGetItems`. The caller must not name an item twice in `item_refs`.
pub(super) async fn fetch(attempts: &mut Attempts, item_refs: &[&ItemRef]) -> Result<Vec<Option<Item>>> {
    let snapshot = request(item_refs)?;
    match attempts.snapshot(&snapshot).await {
        Err(missing @ Error::TableNotFound { .. }) => Err(which_is_missing(attempts, item_refs, missing).await),
        read => read,
    }
}

impl Snapshot {
    /// Returns the item of a handle, or `None` if the key had no item or only an expired item.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # mod shop { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/doctest/shop.rs")); }
    /// # use shop::Product;
    /// # async fn example(client: &aws_sdk_dynamodb::Client, products: &dynalock::Repository<Product>) -> dynalock::Result<()> {
    /// let mut get = dynalock::Transaction::get(client);
    /// let product = get.item(products, "85123A");
    /// let snapshot = get.fetch().await?;
    /// if let Some(product) = snapshot.get(product)? {
    ///     println!("{} pieces", product.stock);
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// - [`Error::Decode`]: the item cannot be decoded into a `T`.
    /// - [`Error::Corrupt`]: an attribute that the library adds to items, for example `_writes`, is
    ///   invalid.
    /// - [`Error::ForeignHandle`]: the handle comes from another [`TransactionGet`].
    pub fn get<T: Versioned>(&self, item: impl Borrow<Op<T, Option<Stored<T>>>>) -> Result<Option<Stored<T>>> {
        let Some((table, item)) = item.borrow().index_in(self.id).and_then(|index| self.items.get(index)) else {
            return Err(Error::ForeignHandle);
        };
        item.clone().map(|item| decode_stored(table, item)).transpose()
    }
}

debug_fields!(TransactionGet, self => { items: self.item_refs.len() });

debug_fields!(Snapshot, self => { items: self.items.len() });
