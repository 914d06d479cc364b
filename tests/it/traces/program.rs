//! A program that makes each call, and meets each event. The items of the program contain secrets.

use aws_sdk_dynamodb::Client;
use aws_smithy_runtime_api::client::http::{HttpConnector as _, HttpConnectorFuture, SharedHttpConnector};
use dynalock::{Error, LockGuard, Locks, Repository, Transaction, local::Fault, transact};

use crate::support::{
    Archive, Order, Parcel, Product, Shop, TTL, acquire, changed,
    layer::{HttpRequest, Layer},
    millis, secs, settle, travel,
};

/// The content of each item.
pub(crate) const SECRET: &str = "secret-content";

/// A part of each key.
pub(crate) const KEY: &str = "secret-key";

fn key(name: &str) -> String {
    format!("{KEY}-{name}")
}

fn product(name: &str) -> Product {
    Product { note: Some(SECRET.to_owned()), ..Product::new(&key(name), 1) }
}

fn parcel(name: &str) -> Parcel {
    Parcel { label: Some(SECRET.to_owned()), ..Parcel::new(&key(name), 1) }
}

/// Makes each call and meets each event, on the paused clock.
pub(crate) async fn run() {
    single_writes().await;
    request_ids().await;
    many_items().await;
    combined().await;
    transactions().await;
    leases().await;
    locks().await;
    queues().await;
    troubles().await;
    lost_replies().await;
    lost_leases().await;
}

async fn single_writes() {
    let shop = Shop::without_faults();
    let items = shop.absent_table::<Product>().items;
    items.create_table().await.unwrap();
    assert!(items.verify_table().await.unwrap().differences().is_empty());
    let stored = items.create(product("a")).await.unwrap();
    let stored = items.update(changed(stored, |product| product.stock = 2)).await.unwrap();
    let stored = items.touch(stored).await.unwrap();
    let stored = items.replace(changed(stored, |product| product.stock = 3)).await.unwrap();
    items.update_with(key("a"), |product| product.stock = 4).await.unwrap();
    items
        .try_update_with(key("a"), |product| {
            product.stock = 5;
            Ok::<_, Error>(())
        })
        .await
        .unwrap();
    items.upsert_with(key("a"), || product("a"), |product| product.stock = 6).await.unwrap();
    items.patch(key("a")).add(Product::ATTR.stock, 1).await.unwrap();
    items.update(stored.clone()).await.unwrap();
    items.update(changed(stored, |product| product.stock = 7)).await.unwrap_err();
    let stored = items.get(key("a")).await.unwrap().unwrap();
    items.delete(stored).await.unwrap();
    items.delete_unchecked(key("a")).await.unwrap();
    items.metered().get(key("a")).await.unwrap();
}

/// Adds a request id to each answer. The engine in the process sends none.
#[derive(Debug, Clone)]
struct RequestIds;

impl Layer for RequestIds {
    fn call(&self, request: HttpRequest, inner: &SharedHttpConnector) -> HttpConnectorFuture {
        let answer = inner.call(request);
        HttpConnectorFuture::new(async move {
            let mut answer = answer.await?;
            answer.headers_mut().insert("x-amzn-requestid", "REQUEST-7");
            Ok(answer)
        })
    }
}

/// Makes a call whose requests are answered and refused with request ids.
pub(crate) async fn request_ids() {
    let (shop, table) = Shop::with_items([product("a")]).await;
    let config = shop.plain.config();
    let http = RequestIds.wrap(config.http_client().expect("an HTTP client"));
    let client = Client::from_conf(config.to_builder().http_client(http).build());
    let items = Repository::<Product>::new(&client).table(table.name());
    items.get(key("a")).await.unwrap();
    items.create(product("a")).await.unwrap_err();
}

async fn many_items() {
    let (shop, table) = Shop::with_table::<Product>().await;
    let items = &table.items;
    let created = items.create_many([product("a"), product("b")]).await;
    let read: Vec<_> =
        created.into_iter().map(|created| changed(created.unwrap(), |product| product.stock = 9)).collect();
    let updated = items.update_many(read).await;
    items.delete_many(updated.into_iter().map(Result::unwrap)).await;
    items.import_unchecked([product("c"), product("d")]).await;
    items.get_many([key("c"), key("d")]).await.unwrap();
    items.scan().collect().await.unwrap();
    let orders = shop.table_of([Order::new(&key("customer"), 1, 1)]).await.items;
    orders.query(key("customer")).collect().await.unwrap();
    orders.query(key("customer")).page(None).await.unwrap();
}

async fn combined() {
    let (_, table) = Shop::with_items([product("a")]).await;
    let items = table.items.combining();
    let one = items.update_with(key("a"), |product| product.stock += 1);
    let two = items.update_with(key("a"), |product| product.stock += 1);
    let (one, two) = tokio::join!(one, two);
    assert_eq!((one.unwrap().version(), two.unwrap().version()), (2, 2));
    items
        .try_update_with(key("a"), |product| {
            product.stock = 5;
            Ok::<_, Error>(())
        })
        .await
        .unwrap();
    items.upsert_with(key("a"), || product("a"), |product| product.stock = 6).await.unwrap();
    items.patch(key("a")).add(Product::ATTR.stock, 1).await.unwrap();
    items.update_with(key("missing"), |product| product.stock += 1).await.unwrap_err();
}

async fn transactions() {
    let (shop, table) = Shop::with_items([product("a"), product("b")]).await;
    let items = &table.items;
    let mut tx = Transaction::new(&shop.client);
    tx.create(items, product("c"));
    tx.create(items, product("d"));
    tx.commit().await.unwrap();
    let mut get = Transaction::get(&shop.client);
    get.item(items, key("a"));
    get.item(items, key("b"));
    get.fetch().await.unwrap();
    let unit = transact(&shop.client, |tx| async move {
        let one = tx.get(items, key("a")).await?.unwrap();
        let two = tx.get(items, key("b")).await?.unwrap();
        tx.update(items, changed(one, |product| product.stock += 1));
        tx.update(items, changed(two, |product| product.stock += 1));
        Ok::<_, Error>(())
    });
    unit.await.unwrap();
}

async fn leases() {
    let (_, table) = Shop::with_items([parcel("a")]).await;
    let items = &table.items;
    let mut held = items.lock(key("a")).await.unwrap();
    held.update(|parcel| parcel.items = 2).await.unwrap();
    held.try_update(|parcel| {
        parcel.items = 3;
        Ok::<_, Error>(())
    })
    .await
    .unwrap();
    held.patch().add(Parcel::ATTR.items, 1).await.unwrap();
    held.extend().await.unwrap();
    travel(TTL).await;
    held.commit(|parcel| parcel.items = 4).await.unwrap();
    let held = items.try_lock(key("a")).await.unwrap().unwrap();
    let held = items.resume(held.detach()).await.unwrap();
    held.release().await.unwrap();
    drop(items.lock_any([key("a")]).await.unwrap());
    settle().await;
    items.lock(key("a")).fair().enter().await.unwrap().await.unwrap().release().await.unwrap();
    // The commit of a fair lease leaves an empty queue, which the background removes.
    items.lock(key("a")).fair().await.unwrap().commit(|parcel| parcel.items = 5).await.unwrap();
    settle().await;
    let change = |parcel: &mut Parcel| {
        parcel.items = 6;
        Ok::<_, Error>(())
    };
    items.lock(key("a")).await.unwrap().try_commit(change).await.unwrap();
    items.lock(key("a")).await.unwrap().delete().await.unwrap();
}

async fn locks() {
    let shop = Shop::without_faults();
    let locks = Locks::new(&shop.client, "locks").ttl(TTL);
    locks.create_table().await.unwrap();
    assert!(locks.verify_table().await.unwrap().differences().is_empty());
    let held = locks.acquire(key("a")).payload(SECRET).await.unwrap();
    held.extend().await.unwrap();
    let held = locks.resume(held.detach()).await.unwrap();
    held.release().await.unwrap();
    let held = locks.try_acquire(key("a")).await.unwrap().unwrap();
    assert!(locks.try_acquire(key("a")).await.unwrap().is_none());
    locks.inspect(key("a")).await.unwrap();
    locks.list().next().await.unwrap().unwrap();
    assert!(locks.break_lock(key("a"), held.fence()).await.unwrap());
    travel(secs(120)).await;
    locks.retire(key("a")).await.unwrap();
    let all = locks.acquire_all([key("b"), key("c")]).await.unwrap();
    all.extend().await.unwrap();
    all.release().await.unwrap();
    drop(locks.acquire(key("d")).await.unwrap());
    settle().await;
}

async fn queues() {
    let (shop, locks, _) = Shop::with_locks().await;
    let held = locks.acquire(key("a")).fair().await.unwrap();
    let second = locks.acquire(key("a")).fair().enter().await.unwrap();
    let third = tokio::spawn(locks.acquire(key("a")).fair().into_future());
    travel(secs(1)).await;
    assert_eq!(locks.queue(key("a")).await.unwrap().len(), 3);
    // The caller in the second place leaves, and its removal fails once.
    shop.faults.script_on("UpdateItem", 0, Fault::LoseRequest);
    drop(second);
    travel(secs(2)).await;
    held.release().await.unwrap();
    third.await.unwrap().unwrap().release().await.unwrap();
    settle().await;
}

/// Meets conflicts and each reason of a retry.
async fn troubles() {
    let (shop, table) = Shop::with_items([product("a")]).await;
    let others = table.others.clone();
    shop.rival.before_through(&others, "UpdateItem", 0, |others| async move {
        others.update_with(key("a"), |product| product.stock += 1).await.unwrap();
    });
    table.items.update_with(key("a"), |product| product.stock += 1).await.unwrap();
    for fault in [Fault::Throttle, Fault::TransactionConflict, Fault::LoseRequest, Fault::Refused, Fault::NeverAnswer] {
        shop.faults.script_on("UpdateItem", 0, fault);
        table.items.update_with(key("a"), |product| product.stock += 1).await.unwrap();
    }
    shop.faults.script_on("BatchGetItem", 0, Fault::Unprocessed(1));
    table.items.get_many([key("a"), key("b")]).await.unwrap();
    shop.faults.script_on("UpdateItem", 0, Fault::AccessDenied);
    table.items.update_with(key("a"), |product| product.stock += 1).await.unwrap_err();
}

/// Loses the replies of a write that was applied, of one that was not applied, and of one whose
/// outcome stays unknown.
async fn lost_replies() {
    let (shop, table) = Shop::with_items([product("a")]).await;
    let items: &Repository<Product> = &table.items;
    shop.faults.script_on("UpdateItem", 0, Fault::LoseReply);
    items.update_with(key("a"), |product| product.stock += 1).await.unwrap();
    shop.faults.script_on("UpdateItem", 0, Fault::LoseRequest);
    items.update_with(key("a"), |product| product.stock += 1).await.unwrap();
    shop.faults.script_on("UpdateItem", 0, Fault::LoseRequest);
    items.patch(key("a")).add(Product::ATTR.stock, 1).await.unwrap_err();
}

/// Loses the lease of a holder that gets no answers, and the lease of a holder whose lock is taken.
async fn lost_leases() {
    let (shop, locks, others) = Shop::with_locks().await;
    let held: LockGuard = acquire(&locks, &key("a"), false).await.unwrap();
    shop.faults.always(Fault::LoseRequest);
    held.lost().await;
    shop.faults.clear();
    drop(held);
    settle().await;
    let held = acquire(&locks, &key("b"), false).await.unwrap();
    assert!(others.break_lock(key("b"), held.fence()).await.unwrap());
    held.lost().await;
    drop(held);
    // The item is deleted while its lease is in a separate row.
    let table = shop.table_of([Archive { label: Some(SECRET.to_owned()), ..Archive::new(&key("a"), 1) }]).await;
    table.items.lock(key("missing")).await.unwrap_err();
    travel(millis(100)).await;
    settle().await;
}
