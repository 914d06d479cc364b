use aws_sdk_dynamodb::types::{PutRequest, TransactWriteItem, WriteRequest};

use super::table;
use crate::table::{code, item, list, n, s};

const INVALID: Option<&str> = Some("ValidationException");
const KIB: usize = 1024;

#[tokio::test]
async fn an_item_has_at_most_400_kb_with_its_names() {
    let table = table("an_item_has_at_most_400_kb_with_its_names").await;
    let sized = |bytes: usize| item([("k", s("a")), ("text", s("x".repeat(bytes - "katext".len())))]);

    let largest = table.put_request(sized(400 * KIB)).send().await;
    let larger = table.put_request(sized(400 * KIB + 1)).send().await;
    let grown = table.update("a", "SET t = :t").expression_attribute_values(":t", s("xx")).send().await;

    assert_eq!(code(&largest), None);
    assert_eq!(code(&larger), INVALID);
    assert_eq!(code(&grown), INVALID);
}

#[tokio::test]
async fn a_transaction_has_at_most_100_actions() {
    let table = table("a_transaction_has_at_most_100_actions").await;
    let put = |key: usize| table.tx_put(item([("k", s(key.to_string()))])).build().unwrap();
    let actions = |count| (0..count).map(|key| TransactWriteItem::builder().put(put(key)).build()).collect();
    let commit = |count| table.client.transact_write_items().set_transact_items(Some(actions(count))).send();

    let too_many = commit(101).await;
    let nothing = table.get("0").await;
    let most = commit(100).await;

    assert_eq!(code(&too_many), INVALID);
    assert_eq!(nothing, None);
    assert_eq!(code(&most), None);
    assert_eq!(table.get("99").await, Some(item([("k", s("99"))])));
}

#[tokio::test]
async fn a_transaction_has_at_most_4_mb() {
    let table = table("a_transaction_has_at_most_4_mb").await;
    let text = s("x".repeat(399 * KIB));
    let put = |key: usize| table.tx_put(item([("k", s(key.to_string())), ("text", text.clone())])).build().unwrap();
    let actions = |count| (0..count).map(|key| TransactWriteItem::builder().put(put(key)).build()).collect();
    let commit = |count| table.client.transact_write_items().set_transact_items(Some(actions(count))).send();

    let too_large = commit(11).await;
    let large = commit(10).await;

    assert_eq!(code(&too_large), INVALID);
    assert_eq!(code(&large), None);
}

#[tokio::test]
async fn values_nest_at_most_32_deep() {
    let table = table("values_nest_at_most_32_deep").await;
    let nested = |lists: usize| (0..lists).fold(n(1), |inner, _| list([inner]));
    let put = |lists| table.put_request(item([("k", s("a")), ("deep", nested(lists))])).send();

    let deepest = put(31).await;
    let deeper = put(33).await;
    let far_deeper = put(200).await;

    assert_eq!(code(&deepest), None);
    assert_eq!(code(&deeper), INVALID);
    assert_eq!(code(&far_deeper), INVALID);
}

#[tokio::test]
async fn a_batch_has_at_most_25_writes_and_no_key_twice() {
    let table = table("a_batch_has_at_most_25_writes_and_no_key_twice").await;
    let put = |key: usize| PutRequest::builder().item("k", s(key.to_string())).build().unwrap();
    let write = |key| WriteRequest::builder().put_request(put(key)).build();
    let send = |writes: Vec<_>| table.client.batch_write_item().request_items(&table.name, writes).send();

    let most = send((0..25).map(write).collect()).await;
    let too_many = send((0..26).map(write).collect()).await;
    let twice = send(vec![write(1), write(1)]).await;

    assert_eq!(code(&most), None);
    assert_eq!(code(&too_many), INVALID);
    assert_eq!(code(&twice), INVALID);
}

#[tokio::test]
async fn a_page_has_at_most_1_mb() {
    let table = table("a_page_has_at_most_1_mb").await;
    for key in 0..6 {
        table.put(item([("k", s(key.to_string())), ("text", s("x".repeat(300 * KIB)))])).await;
    }

    let page = table.client.scan().table_name(&table.name).send().await.unwrap();
    let rest = table.client.scan().table_name(&table.name).set_exclusive_start_key(page.last_evaluated_key.clone());
    let rest = rest.send().await.unwrap();

    assert!(page.last_evaluated_key.is_some());
    assert_eq!(page.count + rest.count, 6);
    assert_eq!(rest.last_evaluated_key, None);
}
