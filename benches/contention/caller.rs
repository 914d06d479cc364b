//! The ways to update an item: with the library, and by hand.

use std::{iter, time::Duration};

use aws_sdk_dynamodb::{
    Client,
    config::SharedHttpClient,
    types::{AttributeValue, ReturnValue},
};
use dynalock::{Error, Repository, Versioned, local::Database, request::Combining, transact};
use serde::{Deserialize, Serialize};

use crate::{
    network::{Network, RoundTrip},
    simulated::{Layer as _, now, sleep},
};

/// The item, of 400 bytes with the bookkeeping of the library.
#[derive(Debug, Clone, Serialize, Deserialize, Versioned)]
#[dynalock(table = "products")]
struct Product {
    #[dynalock(partition_key)]
    sku: String,
    stock: i64,
    note: String,
}

/// One way to update an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Caller {
    /// [`Repository::update_with`].
    UpdateWith,
    /// [`Combining::update_with`], with one handle in each process.
    Combining,
    /// [`transact`], with an update of each of two items.
    Transact,
    /// A loop that reads the item and writes it on the condition that it has not changed. After a
    /// conflict, the loop starts again at once, up to ten times.
    Textbook,
    /// The textbook loop with a pause after each conflict, until five seconds are over. See
    /// "Exponential Backoff and Jitter", AWS Architecture Blog, 2015.
    FullJitter,
    /// One request that adds to a number without any condition.
    BlindAdd,
}

/// A process that updates the items, with its own client.
#[derive(Debug, Clone)]
pub(crate) struct Process {
    client: Client,
    items: Repository<Product>,
    combining: Combining<Product>,
}

/// A database with its items, and the processes that update them.
pub(crate) struct World {
    pub(crate) network: Network,
    pub(crate) processes: Vec<Process>,
}

/// The outcome of one update.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    Applied,
    GivenUp,
}

const ITEMS: [&str; 2] = ["tea", "cup"];
const TEXTBOOK_ATTEMPTS: usize = 10;
const DEADLINE: Duration = Duration::from_secs(5);
const FIRST_WINDOW: Duration = Duration::from_millis(25);
const LONGEST_WINDOW: Duration = Duration::from_secs(1);

impl World {
    pub(crate) async fn new(round_trip: RoundTrip, seed: u64) -> Self {
        let database = Database::in_memory().expect("a database");
        let plain = database.client();
        let items = Repository::<Product>::new(&plain);
        items.create_table().await.expect("a table");
        for sku in ITEMS {
            let product = Product { sku: sku.to_owned(), stock: 0, note: "x".repeat(200) };
            items.create(product).await.expect("an item");
            // A busy item always has the largest number of write ids.
            for _ in 0..16 {
                items.update_with(sku, |product| product.stock += 1).await.expect("an update");
            }
        }
        let network = Network::new(round_trip, seed);
        let http = network.wrap(database.connector());
        let process = || Process::new(&plain, http.clone());
        Self { processes: iter::repeat_with(process).take(4).collect(), network }
    }
}

impl Process {
    fn new(plain: &Client, http: SharedHttpClient) -> Self {
        let client = Client::from_conf(plain.config().to_builder().http_client(http).build());
        let items = Repository::new(&client);
        Self { combining: items.combining(), items, client }
    }
}

impl Caller {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::UpdateWith => "`update_with`",
            Self::Combining => "`combining()`",
            Self::Transact => "`transact` of two items",
            Self::Textbook => "textbook loop",
            Self::FullJitter => "full jitter",
            Self::BlindAdd => "blind ADD",
        }
    }

    /// Returns the name without Markdown.
    pub(crate) fn plain_name(self) -> String {
        self.name().replace('`', "")
    }

    /// Adds one to the stock of an item.
    pub(crate) async fn update(self, process: &Process) -> Outcome {
        let Process { client, items, combining } = process;
        match self {
            Self::UpdateWith => outcome(items.update_with(ITEMS[0], |product| product.stock += 1).await),
            Self::Combining => outcome(combining.update_with(ITEMS[0], |product| product.stock += 1).await),
            Self::Transact => outcome(transfer(client, items).await),
            Self::Textbook => {
                for _ in 0..TEXTBOOK_ATTEMPTS {
                    if add_if_unchanged(client).await == Outcome::Applied {
                        return Outcome::Applied;
                    }
                }
                Outcome::GivenUp
            }
            Self::FullJitter => with_full_jitter(client).await,
            Self::BlindAdd => add(client).await,
        }
    }
}

fn outcome<O>(result: Result<O, Error>) -> Outcome {
    match result {
        Ok(_) => Outcome::Applied,
        Err(Error::Exhausted { .. }) => Outcome::GivenUp,
        Err(error) => panic!("{error}"),
    }
}

async fn transfer(client: &Client, items: &Repository<Product>) -> Result<(), Error> {
    transact(client, |tx| async move {
        for (sku, change) in ITEMS.into_iter().zip([-1, 1]) {
            let mut product = tx.get(items, sku).await?.expect("an item");
            product.stock += change;
            tx.update(items, product);
        }
        Ok(())
    })
    .await
}

async fn with_full_jitter(client: &Client) -> Outcome {
    let (started, mut window) = (now(), FIRST_WINDOW);
    let mut rng = fastrand::Rng::with_seed(fastrand::get_seed());
    while add_if_unchanged(client).await == Outcome::GivenUp {
        let pause = window.mul_f64(rng.f64());
        if now() + pause > started + DEADLINE {
            return Outcome::GivenUp;
        }
        sleep(pause).await;
        window = (2 * window).min(LONGEST_WINDOW);
    }
    Outcome::Applied
}

/// Reads the item, and writes it if its stock is still the same.
async fn add_if_unchanged(client: &Client) -> Outcome {
    let get = client.get_item().table_name("products").key("sku", sku()).consistent_read(true);
    let Ok(read) = get.send().await else { return Outcome::GivenUp };
    let item = read.item.expect("an item");
    let stock: i64 = item["stock"].as_n().expect("a number").parse().expect("a number");
    let update = client
        .update_item()
        .table_name("products")
        .key("sku", sku())
        .update_expression("SET stock = :new")
        .condition_expression("stock = :old")
        .expression_attribute_values(":old", AttributeValue::N(stock.to_string()))
        .expression_attribute_values(":new", AttributeValue::N((stock + 1).to_string()));
    applied(update.send().await.is_ok())
}

async fn add(client: &Client) -> Outcome {
    let update = client
        .update_item()
        .table_name("products")
        .key("sku", sku())
        .update_expression("ADD stock :one")
        .expression_attribute_values(":one", AttributeValue::N("1".to_owned()))
        .return_values(ReturnValue::AllNew);
    applied(update.send().await.is_ok())
}

fn applied(is_ok: bool) -> Outcome {
    if is_ok { Outcome::Applied } else { Outcome::GivenUp }
}

fn sku() -> AttributeValue {
    AttributeValue::S(ITEMS[0].to_owned())
}
