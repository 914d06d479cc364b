//! The write ids of items that no caller writes for a while. The clock of a writer may be wrong.

use dynalock::{Error, Repository, Stored, Transaction, local::Fault, private::ClockAhead as _};

use crate::support::{Account, Product, Shop, Table, b, changed, expect_error, item, n, s};

cases![
    an_item_at_rest_carries_at_most_32_bytes_of_bookkeeping,
    an_item_in_use_keeps_its_write_ids,
    an_item_without_a_time_is_read_and_gets_one,
    an_item_of_an_earlier_version_recognises_writes,
    a_write_recognises_itself_after_the_ids_were_trimmed,
    a_write_whose_id_was_trimmed_is_indeterminate,
    a_time_in_the_future_is_replaced_by_the_next_write,
    the_id_of_a_token_stays_while_the_item_rests,
    the_id_of_a_token_is_recognised_as_an_earlier_version_stored_it,
    a_transaction_under_a_token_is_the_same_request_at_any_time,
    a_patch_leaves_the_ring_as_it_is,
];

const MINUTE: i64 = 60_000;
const HOUR: i64 = 60 * MINUTE;

/// Returns the repository of a caller whose clock is ahead by this time.
fn ahead<T: dynalock::Versioned>(items: &Repository<T>, millis: i64) -> Repository<T> {
    items.clone().clock_ahead_by_millis(millis)
}

/// Writes the item this number of times, at the same time.
async fn write(items: &Repository<Product>, times: usize) {
    for _ in 0..times {
        items.update_with("a", |product| product.stock += 1).await.unwrap();
    }
}

async fn ring(table: &Table<Product>) -> Vec<u8> {
    table.raw.get("a").await.unwrap()["_writes"].as_b().unwrap().clone().into_inner()
}

async fn an_item_at_rest_carries_at_most_32_bytes_of_bookkeeping(shop: &Shop) {
    let table = shop.table_of([Product::new("a", 0)]).await;
    write(&table.items, 20).await;
    let busy = ring(&table).await;
    assert_eq!(busy.len(), 140, "an incarnation, a time and 16 ids");
    for hours in 1..=3 {
        write(&ahead(&table.items, hours * HOUR), 1).await;
        let rested = ring(&table).await;
        assert_eq!(rested.len(), 28, "an incarnation, a time, the new id and the one before");
        assert_eq!(rested[..8], busy[..8], "the incarnation");
    }
    // The next writes let the ring grow again.
    write(&ahead(&table.items, 3 * HOUR), 5).await;
    assert_eq!(ring(&table).await.len(), 28 + 5 * 8);
}

async fn an_item_in_use_keeps_its_write_ids(shop: &Shop) {
    let table = shop.table_of([Product::new("a", 0)]).await;
    for written in 1..=20 {
        write(&ahead(&table.items, written * 14 * MINUTE), 1).await;
    }
    assert_eq!(ring(&table).await.len(), 140);
}

/// The ids of an item that an earlier version of the library wrote. The first bit of an id was
/// random.
fn earlier_ids(number: u8) -> Vec<u8> {
    (1..=number).flat_map(|id| [if id % 2 == 0 { id | 0x80 } else { id }; 8]).collect()
}

/// An item as an earlier version of the library stored it, with this number of ids and no time.
async fn earlier(shop: &Shop, ids: u8) -> Table<Product> {
    let writes = [vec![9; 8], earlier_ids(ids)].concat();
    shop.table_of_raw([item([("sku", s("a")), ("stock", n(5)), ("_version", n(16)), ("_writes", b(writes))])]).await
}

async fn an_item_without_a_time_is_read_and_gets_one(shop: &Shop) {
    let table = earlier(shop, 16).await;
    let product = table.items.get("a").await.unwrap().unwrap();
    assert_eq!((product.stock, product.version()), (5, 16));
    let product = table.items.update(changed(product, |it| it.stock = 6)).await.unwrap();
    let first = ring(&table).await;
    assert_eq!((first.len(), &first[..8]), (140, &[9; 8][..]));
    assert_eq!(first[20..], earlier_ids(15), "the oldest id made room");
    // Some of these ids may belong to tokens, so they stay until later writes push them out.
    let product = ahead(&table.items, HOUR).update(changed(product, |it| it.stock = 7)).await.unwrap();
    assert_eq!(ring(&table).await.len(), 140);
    write(&ahead(&table.items, HOUR), 16).await;
    write(&ahead(&table.items, 2 * HOUR), 1).await;
    assert_eq!(ring(&table).await.len(), 28);
    assert_eq!(table.items.get("a").await.unwrap().unwrap().version(), product.version() + 17);
}

async fn an_item_of_an_earlier_version_recognises_writes(shop: &Shop) {
    for (fault, is_applied) in [(Fault::LoseReply, true), (Fault::LoseRequest, false)] {
        let table = earlier(shop, 3).await;
        let product = table.items.get("a").await.unwrap().unwrap();
        shop.faults.script_on("UpdateItem", 0, fault);
        shop.rival.before_through(&table.others, "UpdateItem", 1, async |others| write(&others, 3).await);
        match table.items.update(changed(product, |it| it.note = Some("mine".to_owned()))).await {
            Ok(product) if is_applied => assert_eq!(product.version(), 17),
            Err(Error::Conflict(lost)) if !is_applied => {
                assert_eq!(lost.current::<Product>().unwrap().unwrap().version(), 19);
            }
            other => panic!("{other:?}"),
        }
    }
}

/// Updates the item with a lost reply or a lost request. Between the two attempts, other callers
/// write the item, with an hour between two writes.
async fn update_and_rest(shop: &Shop, fault: Fault, hours: i64) -> Result<Stored<Product>, Error> {
    let table = shop.table_of([Product::new("a", 5)]).await;
    let product = table.items.get("a").await.unwrap().unwrap();
    shop.faults.script_on("UpdateItem", 0, fault);
    shop.rival.before_through(&table.others, "UpdateItem", 1, async move |others| {
        for hour in 1..=hours {
            write(&ahead(&others, hour * HOUR), 1).await;
        }
    });
    table.items.update(changed(product, |it| it.note = Some("mine".to_owned()))).await
}

async fn a_write_recognises_itself_after_the_ids_were_trimmed(shop: &Shop) {
    let product = update_and_rest(shop, Fault::LoseReply, 1).await.unwrap();
    assert_eq!((product.version(), product.stock), (2, 5));
    let lost = expect_error!(update_and_rest(shop, Fault::LoseRequest, 1).await, Error::Conflict(lost) => lost);
    assert_eq!(lost.current::<Product>().unwrap().unwrap().stock, 6);
}

async fn a_write_whose_id_was_trimmed_is_indeterminate(shop: &Shop) {
    for (fault, found) in [(Fault::LoseReply, 4), (Fault::LoseRequest, 3)] {
        let result = update_and_rest(shop, fault, 2).await;
        let versions = expect_error!(result, Error::Indeterminate { expected, found, .. } => (expected, found));
        assert_eq!(versions, (Some(1), Some(found)));
    }
}

async fn a_time_in_the_future_is_replaced_by_the_next_write(shop: &Shop) {
    let table = shop.table_of([Product::new("a", 0)]).await;
    write(&table.items, 3).await;
    write(&ahead(&table.items, 1_000_000 * HOUR), 1).await;
    assert_eq!(ring(&table).await.len(), 28, "the clock is wrong, so the ids seem to be old");
    write(&table.items, 1).await;
    assert_eq!(ring(&table).await.len(), 36);
    write(&ahead(&table.items, HOUR), 1).await;
    assert_eq!(ring(&table).await.len(), 28, "the time is right again");
}

/// Returns a withdrawal under a token of the caller.
fn withdraw(shop: &Shop, items: &Repository<Account>, account: &Stored<Account>, token: &str) -> Transaction {
    let mut tx = Transaction::new(&shop.client).token(token);
    tx.update(items, changed(account.clone(), |account| account.cents -= 3));
    tx
}

async fn the_id_of_a_token_stays_while_the_item_rests(shop: &Shop) {
    let (table, account) = shop.stored(Account::new("alice", 10)).await;
    withdraw(shop, &table.items, &account, table.name()).commit().await.unwrap();
    for hour in 1..=3 {
        let later = ahead(&table.others, hour * HOUR);
        let account = later.update_with("alice", |account| account.cents += 100).await.unwrap();
        let again = withdraw(shop, &later, &account, table.name()).commit().await;
        expect_error!(again, Error::AlreadyCommitted { .. });
    }
    assert_eq!(table.raw.get("alice").await.unwrap()["cents"], n(307));
}

async fn the_id_of_a_token_is_recognised_as_an_earlier_version_stored_it(shop: &Shop) {
    let (table, account) = shop.stored(Account::new("alice", 10)).await;
    withdraw(shop, &table.items, &account, table.name()).commit().await.unwrap();
    let stored = table.raw.get("alice").await.unwrap()["_writes"].as_b().unwrap().clone().into_inner();
    assert_eq!(stored[12] & 0x80, 0x80, "the first bit of the newest id marks it");
    for first_bit in [0, 0x80] {
        let mut earlier = [&stored[..8], &stored[12..]].concat();
        earlier[8] = earlier[8] & 0x7f | first_bit;
        table.raw.set("alice", "_writes", b(earlier)).await;
        let account = table.items.get("alice").await.unwrap().unwrap();
        let again = withdraw(shop, &table.items, &account, table.name()).commit().await;
        expect_error!(again, Error::AlreadyCommitted { .. });
    }
    assert_eq!(table.raw.get("alice").await.unwrap()["cents"], n(7));
}

async fn a_transaction_under_a_token_is_the_same_request_at_any_time(shop: &Shop) {
    let (table, mut account) = shop.stored(Account::new("alice", 10)).await;
    for _ in 0..4 {
        account = table.items.touch(account).await.unwrap();
    }
    for hours in [0, 1] {
        withdraw(shop, &ahead(&table.items, hours * HOUR), &account, table.name()).commit().await.unwrap();
    }
    let sent = shop.sent("TransactWriteItems");
    assert_eq!((sent.len(), &sent[0]), (2, &sent[1]));
    assert_eq!(table.raw.get("alice").await.unwrap()["cents"], n(7));
}

async fn a_patch_leaves_the_ring_as_it_is(shop: &Shop) {
    let table = shop.table_of([Product::new("a", 0)]).await;
    write(&table.items, 3).await;
    let before = ring(&table).await;
    ahead(&table.items, HOUR).patch("a").add(Product::ATTR.stock, 1).await.unwrap();
    assert_eq!(ring(&table).await, before);
    write(&ahead(&table.items, HOUR), 1).await;
    assert_eq!(ring(&table).await.len(), 28, "the last write with an id was an hour ago");
}
