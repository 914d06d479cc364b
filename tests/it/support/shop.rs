//! The databases of the tests.

use std::{
    env, process,
    sync::atomic::{AtomicU32, Ordering},
};

use aws_sdk_dynamodb::{Client, config::SharedHttpClient};
use dynalock::{
    Repository, Stored, Versioned,
    local::{Database, Faults},
};

use super::{Item, endpoint, layer::Layer, raw::Raw, rival::Rival, secs};

/// A DynamoDB with two clients. The client of the code under test has faults and a rival in front
/// of it. The second client has no faults and no rival.
pub(crate) struct Shop {
    pub(crate) faults: Faults,
    pub(crate) rival: Rival,
    /// The client of the code under test.
    pub(crate) client: Client,
    /// The client of all other callers.
    pub(crate) plain: Client,
    remote: bool,
}

/// A new table for one test.
#[derive(Clone)]
pub(crate) struct Table<T> {
    pub(crate) items: Repository<T>,
    /// The items of the table, for another caller that uses this library.
    pub(crate) others: Repository<T>,
    pub(crate) raw: Raw,
}

impl Shop {
    /// Makes a shop on the engine in the process, or on the DynamoDB at the URL in
    /// `DYNALOCK_ENDPOINT`.
    pub(crate) async fn anywhere() -> Self {
        match env::var("DYNALOCK_ENDPOINT") {
            Ok(url) => {
                let plain = endpoint::client(&url);
                let http = endpoint::http_client(&plain).await;
                Self { remote: true, ..Self::new(plain, http, Faults::none()) }
            }
            Err(_) => Self::without_faults(),
        }
    }

    /// Makes a shop on the engine in the process, where time may be paused.
    pub(crate) fn in_process(faults: Faults) -> Self {
        Self::on(&Database::in_memory().expect("a database"), faults)
    }

    pub(crate) fn without_faults() -> Self {
        Self::in_process(Faults::none())
    }

    /// Makes a shop without faults, and an empty table.
    pub(crate) async fn with_table<T: Versioned>() -> (Self, Table<T>) {
        let shop = Self::without_faults();
        let table = shop.table().await;
        (shop, table)
    }

    /// Makes a shop without faults, and a table with these items.
    pub(crate) async fn with_items<T: Versioned>(items: impl IntoIterator<Item = T>) -> (Self, Table<T>) {
        let shop = Self::without_faults();
        let table = shop.table_of(items).await;
        (shop, table)
    }

    pub(crate) fn on(database: &Database, faults: Faults) -> Self {
        Self::new(database.client(), SharedHttpClient::new(database.connector()), faults)
    }

    /// Makes a shop with this layer between the faults and the engine. The layer sees the requests
    /// that the engine receives.
    pub(crate) fn below(faults: Faults, layer: &impl Layer) -> Self {
        Self::below_on(&Database::in_memory().expect("a database"), faults, layer)
    }

    pub(crate) fn below_on(database: &Database, faults: Faults, layer: &impl Layer) -> Self {
        let engine = layer.wrap(SharedHttpClient::new(database.connector()));
        Self::new(database.client(), engine, faults)
    }

    fn new(plain: Client, http: SharedHttpClient, faults: Faults) -> Self {
        let rival = Rival::default();
        let http = rival.wrap(faults.wrap(http));
        let client = Client::from_conf(plain.config().to_builder().http_client(http).build());
        Self { faults, rival, client, plain, remote: false }
    }

    /// Returns another process with the same database, behind its own faults.
    pub(crate) fn another_client(&self) -> Self {
        let http = self.plain.config().http_client().expect("a client of the engine in the process");
        Self::new(self.plain.clone(), http, Faults::none())
    }

    pub(crate) async fn table<T: Versioned>(&self) -> Table<T> {
        let table = self.absent_table();
        table.others.create_table().await.expect("a table");
        table
    }

    /// Makes a table with these items.
    pub(crate) async fn table_of<T: Versioned>(&self, items: impl IntoIterator<Item = T>) -> Table<T> {
        let table = self.table().await;
        for item in items {
            table.others.create(item).await.unwrap();
        }
        table
    }

    /// Makes a table with these items of another program.
    pub(crate) async fn table_of_raw<T: Versioned>(&self, items: impl IntoIterator<Item = Item>) -> Table<T> {
        let table = self.table().await;
        for item in items {
            table.raw.put(item).await;
        }
        table
    }

    /// Makes a table with this item. The code under test has created the item.
    pub(crate) async fn created<T: Versioned>(&self, item: T) -> (Table<T>, Stored<T>) {
        let table = self.table::<T>().await;
        let stored = table.items.create(item).await.unwrap();
        (table, stored)
    }

    /// Makes a table with this item. Another program has created the item with this library.
    pub(crate) async fn stored<T: Versioned>(&self, item: T) -> (Table<T>, Stored<T>) {
        let table = self.table::<T>().await;
        let stored = table.others.create(item).await.unwrap();
        (table, stored)
    }

    pub(crate) fn absent_table<T: Versioned>(&self) -> Table<T> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let name = format!("{}-{}-{}", T::MODEL.table, process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let repository = |client| {
            let repository = Repository::<T>::new(client).table(name.clone());
            // An emulator needs time after its start.
            if self.remote { repository.attempt_timeout(secs(20)).deadline(secs(60)) } else { repository }
        };
        Table {
            items: repository(&self.client),
            others: repository(&self.plain),
            raw: Raw { client: self.plain.clone(), table: name.clone(), key: T::MODEL.partition_key.name },
        }
    }

    /// Returns a table for the SDK alone.
    pub(crate) fn raw(&self, table: &str, key: &'static str) -> Raw {
        Raw { client: self.plain.clone(), table: table.to_owned(), key }
    }

    /// Returns the items of another type in an existing table.
    pub(crate) fn named<T: Versioned>(&self, name: &str) -> Repository<T> {
        Repository::new(&self.client).table(name)
    }
}

impl<T> Table<T> {
    pub(crate) fn name(&self) -> &str {
        &self.raw.table
    }
}
