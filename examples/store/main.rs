//! A service that does not know where its orders are stored: in DynamoDB behind a cache and an
//! audit, or in memory.
//!
//! ```text
//! cargo run --example store
//! ```
//!
//! The service takes an `Arc<dyn Store<Order>>`. The program gives the service a repository behind
//! two decorators: a cache and an audit log. The cache removes an item when the item is written, and
//! the audit records each write. A second run of the service uses a replacement in memory, as in a
//! test, and prints the same output.

#![expect(clippy::print_stdout, reason = "an example shows what it does")]

mod audited;
mod cached;
mod in_memory;

use std::{error::Error as StdError, process::ExitCode, sync::Arc};

use dynalock::{
    Error, KeyAttribute, Versioned,
    local::{Database, Faults},
    query::QuerySpec,
    store::Store,
};
use serde::{Deserialize, Serialize};

use crate::{audited::Audited, cached::Cached, in_memory::InMemory};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, KeyAttribute)]
enum Status {
    Open,
    Paid,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Versioned)]
#[dynalock(table = "dynalock-store-orders", index(name = "by_status", partition_key = "status", sort_key = "cents"))]
struct Order {
    #[dynalock(partition_key)]
    customer: String,
    #[dynalock(sort_key)]
    number: u64,
    status: Status,
    cents: u64,
}

impl Order {
    fn new(customer: &str, number: u64, cents: u64) -> Self {
        Self { customer: customer.to_owned(), number, status: Status::Open, cents }
    }
}

/// The service.
struct Checkout {
    orders: Arc<dyn Store<Order>>,
}

impl Checkout {
    async fn place(&self, order: Order) -> dynalock::Result<()> {
        self.orders.create(order).await.map(drop)
    }

    async fn pay(&self, customer: &str, number: u64) -> dynalock::Result<()> {
        let key = OrderKey::from((customer, number));
        self.orders.update_with(key, &mut |order| order.status = Status::Paid).await.map(drop)
    }

    /// The numbers of the newest orders of a customer, in pages of two.
    async fn newest(&self, customer: &str) -> dynalock::Result<Vec<Vec<u64>>> {
        let newest = QuerySpec::in_table(customer).descending().limit(2).build();
        let (mut pages, mut token) = (Vec::new(), None);
        loop {
            let page = self.orders.page(newest.clone(), token).await?;
            let numbers =
                page.items.into_iter().map(|order| Ok(order?.number)).collect::<dynalock::Result<Vec<_>>>()?;
            if !numbers.is_empty() {
                pages.push(numbers);
            }
            token = page.next;
            if token.is_none() {
                return Ok(pages);
            }
        }
    }

    /// Lowers the price of an order by ten percent, if no other caller has changed the order in the
    /// meantime.
    async fn discount(&self, customer: &str, number: u64) -> dynalock::Result<u64> {
        let key = OrderKey::from((customer, number));
        let Some(mut order) = self.orders.get(key.clone()).await? else { return Ok(0) };
        // Another caller writes the order first.
        self.orders.update_with(key, &mut |order| order.cents += 1).await?;
        order.cents = order.cents * 9 / 10;
        self.orders.update(order).await.map(|order| order.cents)
    }
}

/// The events of a day in the shop, as sentences.
async fn a_day(orders: Arc<dyn Store<Order>>) -> dynalock::Result<Vec<String>> {
    let checkout = Checkout { orders };
    let mut said = Vec::new();
    for number in 1..=5 {
        checkout.place(Order::new("alice", number, 100 * number)).await?;
    }
    if let Err(Error::AlreadyExists(_)) = checkout.place(Order::new("alice", 3, 1)).await {
        said.push("order 3 of alice is there already".to_owned());
    }
    checkout.pay("alice", 4).await?;
    said.push(format!("the newest orders of alice, in pages: {:?}", checkout.newest("alice").await?));
    match checkout.discount("alice", 5).await {
        Err(error @ Error::Conflict(_)) => said.push(format!("no discount: {error}").replace("dynalock-store-", "")),
        other => said.push(format!("unexpected: {other:?}")),
    }
    match checkout.pay("bob", 1).await {
        Err(Error::NotFound { .. }) => said.push("bob has no order 1".to_owned()),
        other => said.push(format!("unexpected: {other:?}")),
    }
    let keys = [4, 9].map(|number| OrderKey::from(("alice", number)));
    let found = checkout.orders.get_many(keys.to_vec()).await?;
    for order in found.into_iter().flatten() {
        said.push(format!(
            "order {} of {} is {:?}, at version {}",
            order.number,
            order.customer,
            order.status,
            order.version()
        ));
        let deleted = checkout.orders.delete(order).await?;
        said.push(format!("it is deleted, for certain: {}", deleted.certain));
    }
    Ok(said)
}

async fn run() -> Result<(), Box<dyn StdError>> {
    let faults = Faults::none(); // they also count the requests
    let orders = Order::repository(&Database::in_memory()?.client_with(&faults));
    orders.create_table().await?;

    let cached = Arc::new(Cached::new(Arc::new(orders.clone())));
    let audited = Arc::new(Audited::new(cached.clone()));
    let in_dynamodb = a_day(audited.clone()).await?;
    println!("A day on DynamoDB, behind a cache and an audit log:");
    for line in &in_dynamodb {
        println!("  {line}");
    }
    println!("\nThe audit:");
    let notes = audited.notes();
    for note in &notes {
        println!("  {note}");
    }
    assert_eq!(notes.len(), 11, "each write is noted, also those that were refused");
    assert_eq!(notes.iter().filter(|note| note.contains("refused")).count(), 3);

    // The cache answers the second read. When an item is written, the cache removes the item.
    let (key, before) = (OrderKey::from(("alice", 1)), faults.count("GetItem"));
    for _ in 0..3 {
        cached.get(key.clone()).await?;
    }
    let reads = faults.count("GetItem") - before;
    println!("\nThree reads of one order through the cache: {reads} request");
    assert_eq!(reads, 1);
    let paid = cached.update_with(key.clone(), &mut |order| order.status = Status::Paid).await?;
    assert_eq!(cached.get(key).await?.as_ref(), Some(&paid));

    // The service can read an index through the store.
    let dear = QuerySpec::in_index(Order::INDEX.by_status, Status::Open).sort(200..).build();
    let open: Vec<_> = cached.page(dear, None).await?.items.into_iter().collect::<dynalock::Result<_>>()?;
    println!("{} open orders of two euros and more", open.len());
    assert_eq!(open.iter().map(|order| order.cents).collect::<Vec<_>>(), [200, 300, 501]);

    let in_memory = a_day(Arc::new(InMemory::default())).await?;
    assert_eq!(in_memory, in_dynamodb, "the replacement says the same");
    println!("\nThe same service says the same on its replacement in memory.");
    Ok(())
}

#[tokio::main]
async fn main() -> ExitCode {
    match run().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("store: {error}");
            ExitCode::FAILURE
        }
    }
}
