//! The units of each kind of call without faults.

use dynalock::{Repository, Transaction, local::Fault, transact};

use super::{Metered, cost_of, shown};
use crate::support::{Account, Archive, Order, Product, changed, start};

/// Sends one call, and returns its cost. The cost is what the engine has charged.
async fn cost_of_call(call: &str) -> String {
    let to = Metered::new();
    let (products, _) = to.items([Product::new("a", 1), Product::new("b", 1)]).await;
    let stored = products.get("a").await.unwrap().unwrap();
    let edited = changed(stored.clone(), |product| product.stock = 7);
    to.bill.take();
    let products = products.metered();
    match call {
        "get" => drop(products.get("a").await.unwrap()),
        "get, eventually consistent" => drop(products.get("a").eventually_consistent().await.unwrap()),
        "get of an absent item" => assert!(products.get("c").await.unwrap().is_none()),
        "create" => drop(products.create(Product::new("c", 1)).await.unwrap()),
        "update" => drop(products.update(edited).await.unwrap()),
        "update without a change" => drop(products.update(stored).await.unwrap()),
        "update, exactly once" => drop(products.update(edited).exactly_once().await.unwrap()),
        "replace" => drop(products.replace(edited).await.unwrap()),
        "delete" => drop(products.delete(stored).await.unwrap()),
        "delete_unchecked" => products.delete_unchecked("a").await.unwrap(),
        "patch" => drop(products.patch("a").add(Product::ATTR.stock, 1).await.unwrap()),
        "update_with" => drop(products.update_with("a", |product| product.stock += 1).await.unwrap()),
        "upsert_with" => {
            drop(products.upsert_with("c", || Product::new("c", 1), |product| product.stock += 1).await.unwrap());
        }
        "32 combined calls" => {
            let handle = products.combining();
            for call in start((0..32).map(|_| handle.update_with("a", |product| product.stock += 1))) {
                call.await.unwrap().unwrap();
            }
        }
        "get_many" => drop(products.get_many(["a", "b"]).await.unwrap()),
        "create_many" => {
            let created = products.create_many((0..3).map(|stock| Product::new(&format!("c{stock}"), stock))).await;
            assert!(created.iter().all(Result::is_ok), "{created:?}");
        }
        "import_unchecked" => {
            let items = (0..30).map(|stock| Product::new(&format!("c{stock}"), stock));
            let created = products.import_unchecked(items).await;
            assert!(created.iter().all(Result::is_ok), "{created:?}");
        }
        "scan" => assert_eq!(products.scan().collect().await.unwrap().len(), 2),
        other => return cost_of_transaction(&to, &products, other).await,
    }
    let cost = cost_of(&products);
    assert_eq!(cost.total(), to.bill.take(), "{call}");
    shown(cost)
}

async fn cost_of_transaction(to: &Metered, products: &Repository<Product>, call: &str) -> String {
    let (accounts, _) = to.items([Account::new("a", 50), Account::new("b", 50)]).await;
    let (archives, _) = to.items([Archive::new("a", 1)]).await;
    let (orders, _) = to.items((1..=10).map(|number| Order::new("alice", number, 5))).await;
    to.bill.take();
    let cost = match call {
        "query" => {
            assert_eq!(orders.query("alice").collect().await.unwrap().len(), 10);
            cost_of(&orders)
        }
        "update_with of a type with separate leases" => {
            archives.update_with("a", |archive| archive.items += 1).await.unwrap();
            cost_of(&archives)
        }
        "Transaction::get" => {
            let mut get = Transaction::get(&to.shop.client);
            let _a = get.item(&accounts, "a");
            let _b = get.item(&accounts, "b");
            drop(get.fetch().await.unwrap());
            cost_of(&accounts)
        }
        "transact" => {
            let accounts = &accounts;
            let unit = transact(&to.shop.client, |tx| async move {
                for owner in ["a", "b"] {
                    let account = tx.get(accounts, owner).await?.expect("an account");
                    tx.update(accounts, changed(account, |account| account.cents += 1));
                }
                Ok::<_, dynalock::Error>(())
            });
            unit.await.unwrap();
            cost_of(accounts)
        }
        "transaction over two repositories" => {
            let mut tx = Transaction::new(&to.shop.client);
            tx.create(&accounts, Account::new("c", 1));
            tx.create(products, Product::new("c", 1));
            tx.create(products, Product::new("d", 1));
            tx.commit().await.unwrap();
            let (in_accounts, in_products) = (cost_of(&accounts), cost_of(products));
            assert_eq!(shown(in_products), "useful 0r 4w");
            assert_eq!(in_accounts.total() + in_products.total(), to.bill.take());
            return shown(in_accounts);
        }
        other => panic!("an unknown call: {other}"),
    };
    assert_eq!(cost.total(), to.bill.take(), "{call}");
    shown(cost)
}

#[tokio::test]
async fn each_call_costs_what_the_engine_charges() {
    let expected = [
        ("get", "useful 1r 0w"),
        ("get, eventually consistent", "useful 0.5r 0w"),
        ("get of an absent item", "useful 1r 0w"),
        ("create", "useful 0r 1w"),
        ("update", "useful 0r 1w"),
        ("update without a change", ""),
        ("update, exactly once", "useful 0r 2w"),
        ("replace", "useful 0r 1w"),
        ("delete", "useful 0r 1w"),
        ("delete_unchecked", "useful 0r 1w"),
        ("patch", "useful 0r 1w"),
        ("update_with", "useful 1r 1w"),
        ("upsert_with", "useful 1r 1w"),
        ("32 combined calls", "useful 1r 1w"),
        ("get_many", "useful 2r 0w"),
        ("create_many", "useful 0r 3w"),
        ("import_unchecked", "useful 0r 30w"),
        ("scan", "useful 1r 0w"),
        ("query", "useful 1r 0w"),
        ("update_with of a type with separate leases", "useful 1r 4w"),
        ("Transaction::get", "useful 4r 0w"),
        ("transact", "useful 2r 4w"),
        ("transaction over two repositories", "useful 0r 2w"),
    ];
    let mut measured = Vec::new();
    for (call, _) in expected {
        measured.push((call, cost_of_call(call).await));
    }
    assert_eq!(measured, expected.map(|(call, cost)| (call, cost.to_owned())));
}

/// A repeated transaction has the same bytes as the first request, even if the transaction is
/// metered.
#[tokio::test(start_paused = true)]
async fn a_repeated_transaction_is_the_same_metered_request() {
    let to = Metered::new();
    let (products, _) = to.items([Product::new("a", 1)]).await;
    to.shop.faults.script_on("TransactWriteItems", 0, Fault::LoseReply);
    let mut tx = Transaction::new(&to.shop.client);
    tx.create(&products, Product::new("b", 1));
    tx.create(&products, Product::new("c", 1));
    tx.commit().await.unwrap();

    let requests = to.shop.faults.requests();
    let sent: Vec<_> = requests.iter().filter(|sent| sent.operation == "TransactWriteItems").collect();
    assert_eq!((sent.len(), sent[0].body()), (2, sent[1].body()));
    assert_eq!(sent[0].json()["ReturnConsumedCapacity"], "TOTAL");
}

#[tokio::test]
async fn only_a_metered_call_asks_for_its_capacity() {
    let to = Metered::new();
    let (metered, table) = to.items([Product::new("a", 1)]).await;
    let asked = || to.shop.sent("GetItem").pop().unwrap()["ReturnConsumedCapacity"].clone();

    table.items.get("a").await.unwrap();
    assert_eq!(asked(), serde_json::Value::Null);
    table.items.get("a").budget(5).await.unwrap();
    assert_eq!(asked(), "TOTAL");
    metered.get("a").await.unwrap();
    assert_eq!(asked(), "TOTAL");
    assert!(table.items.meter().is_none());
}
