use std::collections::HashMap;

use aws_sdk_dynamodb::{
    operation::{batch_get_item::BatchGetItemOutput, batch_write_item::BatchWriteItemOutput},
    types::{AttributeValue, KeysAndAttributes, PutRequest, WriteRequest},
};
use dynalock_local::{Fault, Faults};

use super::behind;
use crate::table::{Item, Table, code, item, n, s};

const KEYS: [&str; 4] = ["a", "b", "c", "d"];

fn all_keys() -> KeysAndAttributes {
    let keys = KEYS.map(|key| item([("k", s(key))])).to_vec();

    KeysAndAttributes::builder().set_keys(Some(keys)).consistent_read(true).build().unwrap()
}

async fn get(table: &Table, keys: HashMap<String, KeysAndAttributes>) -> BatchGetItemOutput {
    table.client.batch_get_item().set_request_items(Some(keys)).send().await.unwrap()
}

async fn write(table: &Table, writes: HashMap<String, Vec<WriteRequest>>) -> BatchWriteItemOutput {
    table.client.batch_write_item().set_request_items(Some(writes)).send().await.unwrap()
}

fn put(key: &str) -> WriteRequest {
    let put = PutRequest::builder().item("k", s(key)).item("n", n(1)).build().unwrap();

    WriteRequest::builder().put_request(put).build()
}

fn texts<'i>(items: impl IntoIterator<Item = &'i Item>) -> Vec<String> {
    let text = |key: &AttributeValue| key.as_s().unwrap().clone();
    let mut texts: Vec<_> = items.into_iter().map(|item| text(&item["k"])).collect();
    texts.sort_unstable();
    texts
}

#[tokio::test(start_paused = true)]
async fn a_batch_of_reads_leaves_keys_unprocessed() {
    let faults = Faults::none();
    let (table, direct) = behind(&faults).await;
    for key in KEYS {
        direct.put(item([("k", s(key))])).await;
    }
    faults.script_on("BatchGetItem", 0, Fault::Unprocessed(3));

    let first = get(&table, HashMap::from([(table.name.clone(), all_keys())])).await;
    let unprocessed = first.unprocessed_keys.clone().unwrap();
    let rest = get(&table, unprocessed.clone()).await;

    assert_eq!(texts(&first.responses.unwrap()["table"]), ["a"]);
    assert_eq!(texts(unprocessed["table"].keys()), ["b", "c", "d"]);
    assert_eq!(unprocessed["table"].consistent_read, Some(true));
    assert_eq!(texts(&rest.responses.unwrap()["table"]), ["b", "c", "d"]);
    assert_eq!(rest.unprocessed_keys.unwrap_or_default().len(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_batch_of_writes_leaves_items_unprocessed() {
    let faults = Faults::none();
    let (table, direct) = behind(&faults).await;
    faults.script_on("BatchWriteItem", 0, Fault::Unprocessed(1));

    let first = write(&table, HashMap::from([(table.name.clone(), KEYS.map(put).to_vec())])).await;
    let unprocessed = first.unprocessed_items.unwrap();
    let before = direct.get("d").await;
    write(&table, unprocessed.clone()).await;

    assert_eq!(unprocessed, HashMap::from([(table.name.clone(), vec![put("d")])]));
    assert_eq!((direct.n("c").await, before), (Some(n(1)), None));
    assert_eq!(direct.n("d").await, Some(n(1)));
}

#[tokio::test(start_paused = true)]
async fn a_batch_may_leave_all_unprocessed_for_ever() {
    let faults = Faults::none();
    let (table, direct) = behind(&faults).await;
    faults.always(Fault::Unprocessed(usize::MAX));
    let mut keys = HashMap::from([(table.name.clone(), all_keys())]);
    let mut writes = HashMap::from([(table.name.clone(), KEYS.map(put).to_vec())]);

    for _ in 0..10 {
        let read = get(&table, keys).await;
        assert_eq!(read.responses, Some(HashMap::new()));
        keys = read.unprocessed_keys.unwrap();
        writes = write(&table, writes).await.unprocessed_items.unwrap();
    }

    assert_eq!((keys["table"].keys().len(), writes["table"].len()), (4, 4));
    assert_eq!(direct.get("a").await, None);
}

#[tokio::test(start_paused = true)]
async fn the_last_write_of_each_batch_is_left_over_several_tables() {
    let faults = Faults::none();
    let (table, direct) = behind(&faults).await;
    let second = Table::create(direct.client.clone(), "zzz").await;
    faults.always(Fault::Unprocessed(2));
    let writes = HashMap::from([(table.name.clone(), vec![put("a"), put("b")]), ("zzz".to_owned(), vec![put("c")])]);

    let first = write(&table, writes).await.unprocessed_items.unwrap();
    let rest = write(&table, first.clone()).await.unprocessed_items.unwrap();

    assert_eq!(first, HashMap::from([(table.name.clone(), vec![put("b")]), ("zzz".to_owned(), vec![put("c")])]));
    assert_eq!(rest, first);
    assert_eq!((direct.n("a").await, direct.n("b").await, second.n("c").await), (Some(n(1)), None, None));
}

#[tokio::test(start_paused = true)]
async fn other_operations_and_refusals_pass() {
    let faults = Faults::none();
    let (table, direct) = behind(&faults).await;
    faults.always(Fault::Unprocessed(1));

    table.increment("a").send().await.unwrap();
    let missing = table.client.batch_write_item().request_items("missing", vec![put("a"), put("b")]).send().await;
    let empty = table.client.batch_write_item().request_items(&table.name, vec![]).send().await;

    assert_eq!(direct.n("a").await, Some(n(1)));
    assert_eq!(code(&missing), Some("ResourceNotFoundException"));
    assert_eq!(code(&empty), Some("ValidationException"));
}
