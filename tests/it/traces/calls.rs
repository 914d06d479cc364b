//! The span of each call, and the spans of its requests.

use dynalock::{Error, Transaction, local::Fault, transact};
use tracing::Level;

use super::program;
use crate::support::{Product, Recorded, Shop, changed, millis, travel};

#[tokio::test(start_paused = true)]
async fn a_call_has_a_span_with_the_names_of_opentelemetry() {
    let (_, table) = Shop::with_items([Product::new("a", 1)]).await;
    let recorded = Recorded::start();
    table.items.get("a").await.unwrap().unwrap();
    let call = recorded.one("get");
    assert_eq!((call.name, call.level, call.parent, call.is_closed), ("call", Level::INFO, None, true));
    let name = format!("get {}", table.name());
    let expected = [
        ("otel.name", &*name),
        ("otel.kind", "client"),
        ("db.system.name", "aws.dynamodb"),
        ("db.operation.name", "get"),
        ("db.collection.name", table.name()),
        ("dynalock.requests", "1"),
        ("dynalock.conflicts", "0"),
        ("dynalock.retries", "0"),
    ];
    let fields: Vec<_> = call.fields.iter().map(|(name, value)| (&**name, &**value)).collect();
    let mut expected = expected.to_vec();
    expected.sort_unstable();
    assert_eq!(fields, expected);
}

#[tokio::test(start_paused = true)]
async fn a_request_is_a_span_in_its_call() {
    let (_, table) = Shop::with_items([Product::new("a", 1)]).await;
    let recorded = Recorded::start();
    table.items.update_with("a", |product| product.stock += 1).await.unwrap();
    let requests = recorded.requests_of(&recorded.one("update_with"));
    let shown: Vec<_> = requests
        .iter()
        .map(|request| (request.get("otel.name"), request.get("dynalock.request"), request.get("error.type")))
        .collect();
    let [get, update] = ["GetItem", "UpdateItem"].map(|operation| format!("{operation} {}", table.name()));
    assert_eq!(shown, [(&*get, "1", ""), (&*update, "2", "")]);
    assert!(requests.iter().all(|request| request.level == Level::DEBUG && request.is_closed));
    assert!(requests.iter().all(|request| request.get("otel.kind") == "client"));
}

/// The requests, the conflicts and the retries of a call explain its time.
#[tokio::test(start_paused = true)]
async fn the_span_of_a_slow_call_shows_why_it_was_slow() {
    let (shop, table) = Shop::with_items([Product::new("a", 1)]).await;
    shop.rival.before_through(&table.others, "UpdateItem", 0, |others| async move {
        others.touch(others.get("a").await.unwrap().unwrap()).await.unwrap();
    });
    shop.faults.script_on("UpdateItem", 1, Fault::Throttle);
    shop.faults.script_on("UpdateItem", 2, Fault::NeverAnswer);
    let recorded = Recorded::start();
    table.items.update_with("a", |product| product.stock += 1).await.unwrap();
    let call = recorded.one("update_with");
    let [requests, conflicts, retries] =
        ["dynalock.requests", "dynalock.conflicts", "dynalock.retries"].map(|field| call.get(field));
    assert_eq!((conflicts, retries), ("1", "2"));
    let sent = recorded.requests_of(&call);
    assert_eq!(sent.len().to_string(), requests);
    let failed: Vec<_> =
        sent.iter().map(|request| request.get("error.type")).filter(|error| !error.is_empty()).collect();
    assert_eq!(failed, ["ConditionalCheckFailedException", "ThrottlingException", "dropped"]);
}

#[tokio::test(start_paused = true)]
async fn the_span_of_a_metered_call_has_its_capacity_and_the_causes() {
    let (shop, table) = Shop::with_items([Product::new("a", 1)]).await;
    shop.rival.before_through(&table.others, "UpdateItem", 0, |others| async move {
        others.touch(others.get("a").await.unwrap().unwrap()).await.unwrap();
    });
    let items = table.items.clone().metered();
    let recorded = Recorded::start();
    items.update_with("a", |product| product.stock += 1).await.unwrap();
    let call = recorded.one("update_with");
    assert_eq!((call.get("dynalock.read_units"), call.get("dynalock.write_units")), ("1.0", "2.0"));
    assert_eq!(call.get("dynalock.cost"), "1 read and 2 write units, of which 1 for conflicts");
    assert_eq!(recorded.one("touch").get("dynalock.cost"), "", "the repository of the rival is not metered");
}

#[tokio::test(start_paused = true)]
async fn a_request_has_the_id_of_its_answer() {
    let recorded = Recorded::start();
    program::request_ids().await;
    let (get, put) = (recorded.one("GetItem"), recorded.of("PutItem").pop().unwrap());
    assert_eq!((get.get("aws.request_id"), get.get("error.type")), ("REQUEST-7", ""));
    let refused = ("REQUEST-7", "ConditionalCheckFailedException");
    assert_eq!((put.get("aws.request_id"), put.get("error.type")), refused);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_fails_has_the_type_of_its_error() {
    let (shop, table) = Shop::with_items([Product::new("a", 1)]).await;
    let stored = table.items.get("a").await.unwrap().unwrap();
    table.items.touch(stored.clone()).await.unwrap();
    shop.faults.script_on("PutItem", 0, Fault::AccessDenied);
    let recorded = Recorded::start();
    table.items.update_with("missing", |product| product.stock = 2).await.unwrap_err();
    table.items.update(changed(stored, |product| product.stock = 2)).await.unwrap_err();
    table.items.create(Product::new("b", 1)).await.unwrap_err();
    for (operation, error) in [("update_with", "not_found"), ("update", "conflict"), ("create", "rejected")] {
        let call = recorded.one(operation);
        assert_eq!((call.get("error.type"), call.get("otel.status_code")), (error, "ERROR"), "{operation}");
    }
    assert_eq!(recorded.one("update").get("dynalock.conflicts"), "1");
}

#[derive(Debug)]
enum Refused {
    SoldOut,
    Library,
}

impl From<Error> for Refused {
    fn from(_: Error) -> Self {
        Self::Library
    }
}

#[tokio::test(start_paused = true)]
async fn the_error_of_a_closure_is_no_error_of_the_library() {
    let (shop, table) = Shop::with_items([Product::new("a", 0)]).await;
    let items = &table.items;
    let combining = items.combining();
    let recorded = Recorded::start();
    let refused = items.try_update_with("a", |_| Err(Refused::SoldOut)).await;
    assert!(matches!(refused, Err(Refused::SoldOut)));
    let refused = combining.try_update_with("a", |_| Err(Refused::SoldOut)).await;
    assert!(matches!(refused, Err(Refused::SoldOut)));
    let unit = transact(&shop.client, |_| async { Err::<(), _>(Refused::SoldOut) });
    assert!(matches!(unit.await, Err(Refused::SoldOut)));
    for operation in ["try_update_with", "combined_try_update_with", "transact"] {
        assert_eq!(recorded.one(operation).get("error.type"), "closure", "{operation}");
    }
    let missing = items.try_update_with("missing", |_| Err(Refused::SoldOut)).await;
    assert!(matches!(missing, Err(Refused::Library)));
    assert_eq!(recorded.of("try_update_with")[1].get("error.type"), "not_found");
}

#[tokio::test(start_paused = true)]
async fn a_call_whose_future_is_dropped_says_so() {
    let (shop, table) = Shop::with_items([Product::new("a", 1)]).await;
    shop.faults.always(Fault::NeverAnswer);
    let recorded = Recorded::start();
    let call = table.items.get("a").into_future();
    tokio::select! {
        answered = call => panic!("{answered:?}"),
        () = travel(millis(100)) => {}
    }
    for operation in ["get", "GetItem"] {
        let span = recorded.one(operation);
        assert_eq!((span.get("error.type"), span.is_closed), ("dropped", true), "{operation}");
    }
}

/// A span in the caller's code is the parent of its calls.
#[tokio::test(start_paused = true)]
async fn a_call_is_a_child_of_the_span_of_its_caller() {
    let (shop, table) = Shop::with_items([Product::new("a", 1), Product::new("b", 1)]).await;
    let items = &table.items;
    let recorded = Recorded::start();
    let unit = transact(&shop.client, |tx| async move {
        items.get("b").await?;
        let product = tx.get(items, "a").await?.unwrap();
        tx.update(items, changed(product, |product| product.stock += 1));
        Ok::<_, Error>(())
    });
    unit.await.unwrap();
    let unit = recorded.one("transact");
    assert_eq!(recorded.one("get").parent, Some(unit.number));
    // The requests of the inner call do not count.
    assert_eq!((unit.get("dynalock.requests"), unit.get("db.collection.name")), ("2", table.name()));
    let names: Vec<_> =
        recorded.requests_of(&unit).iter().map(|span| span.get("db.operation.name").to_owned()).collect();
    assert_eq!(names, ["GetItem", "UpdateItem"]);
}

#[tokio::test(start_paused = true)]
async fn a_call_on_several_items_has_their_number() {
    let (shop, table) = Shop::with_table::<Product>().await;
    let recorded = Recorded::start();
    table.items.create_many([Product::new("a", 1), Product::new("b", 1)]).await;
    table.items.import_unchecked((0..3).map(|number| Product::new(&format!("i{number}"), 1))).await;
    table.items.get_many(["a", "b", "c", "d"]).await.unwrap();
    table.items.get_many(["a"]).await.unwrap();
    let mut tx = Transaction::new(&shop.client);
    tx.create(&table.items, Product::new("c", 1));
    tx.create(&table.items, Product::new("d", 1));
    tx.commit().await.unwrap();
    let size = |operation: &str| recorded.one(operation).get("db.operation.batch.size").to_owned();
    assert_eq!(["create_many", "import_unchecked", "import_request", "transaction"].map(size), ["2", "3", "3", "2"]);
    let sizes: Vec<_> =
        recorded.of("get_many").iter().map(|span| span.get("db.operation.batch.size").to_owned()).collect();
    // A single item is not a batch.
    assert_eq!(sizes, ["4", ""]);
    let batch = recorded.one("create_many");
    assert!(recorded.of("create").iter().all(|create| create.parent == Some(batch.number)));
}

#[tokio::test(start_paused = true)]
async fn a_transaction_names_all_its_tables() {
    let shop = Shop::without_faults();
    let [one, two] = [shop.table::<Product>().await, shop.table::<Product>().await];
    let recorded = Recorded::start();
    let mut tx = Transaction::new(&shop.client);
    tx.create(&one.items, Product::new("a", 1));
    tx.create(&two.items, Product::new("a", 1));
    tx.commit().await.unwrap();
    let names = format!("{}, {}", one.name(), two.name());
    for operation in ["transaction", "TransactWriteItems"] {
        assert_eq!(recorded.one(operation).get("db.collection.name"), names);
    }
}

#[tokio::test(start_paused = true)]
async fn a_read_of_several_pages_has_a_span_for_each_page() {
    let (_, table) = Shop::with_items((0..5).map(|number| Product::new(&format!("p{number}"), 1))).await;
    let recorded = Recorded::start();
    let first = table.items.scan().limit(2).page(None).await.unwrap();
    table.items.scan().limit(2).page(first.next).await.unwrap();
    assert_eq!(recorded.of("scan").len(), 2);
    assert!(recorded.of("scan").iter().all(|page| recorded.requests_of(page).len() == 1));
}
