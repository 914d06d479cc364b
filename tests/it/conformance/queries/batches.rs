//! Reads of many items by their keys, and items that the SDK has read.

use std::collections::HashMap;

use dynalock::Error;

use super::{malformed, orders};
use crate::support::{Order, Product, Shop, expect_error, item, n, s};

cases![
    get_many_gives_one_item_for_each_key_in_their_order,
    more_keys_than_a_request_takes_are_read_in_several,
    get_many_of_nothing_sends_nothing,
    a_key_that_cannot_be_sent_is_refused_before_anything_is_sent,
    a_malformed_item_of_a_batch_is_an_error,
    an_item_that_the_sdk_has_read_becomes_a_stored_value,
    an_item_of_the_sdk_that_does_not_fit_is_an_error,
];

async fn get_many_gives_one_item_for_each_key_in_their_order(shop: &Shop) {
    let table = orders(shop, [1, 2, 3]).await;
    let keys = [("alice", 3), ("carol", 1), ("bob", 1), ("alice", 3), ("alice", 1), ("alice", 9)];
    let many = table.items.get_many(keys).await.unwrap();
    let found: Vec<_> = many.iter().map(|order| order.as_ref().map(|order| (&*order.customer, order.number))).collect();
    assert_eq!(found, [Some(("alice", 3)), None, Some(("bob", 1)), Some(("alice", 3)), Some(("alice", 1)), None]);
    let sent = shop.sent("BatchGetItem");
    assert_eq!(sent.len(), 1);
    let (_, batch) = sent[0]["RequestItems"].as_object().unwrap().iter().next().unwrap();
    assert_eq!((batch["Keys"].as_array().unwrap().len(), &batch["ConsistentRead"]), (5, &true.into()));
    let mut order = many.into_iter().next().unwrap().unwrap();
    order.cents = 7;
    assert_eq!(table.items.update(order).await.unwrap().version(), 2);
}

async fn more_keys_than_a_request_takes_are_read_in_several(shop: &Shop) {
    let table = shop.table::<Product>().await;
    for number in (0..250).step_by(10) {
        table.others.create(Product::new(&number.to_string(), number)).await.unwrap();
    }
    let keys: Vec<_> = (0..250).map(|number| number.to_string()).collect();
    let many = table.items.get_many(keys).await.unwrap();
    assert_eq!(many.len(), 250);
    for (number, product) in (0..).zip(many) {
        assert_eq!(product.map(|product| product.stock), (number % 10 == 0).then_some(number));
    }
    assert_eq!(shop.counts(["BatchGetItem"]), [3]);
}

async fn get_many_of_nothing_sends_nothing(shop: &Shop) {
    let table = shop.table::<Product>().await;
    assert_eq!(table.items.get_many(Vec::<String>::new()).await.unwrap(), []);
    assert_eq!(shop.requests(), 0);
}

async fn a_key_that_cannot_be_sent_is_refused_before_anything_is_sent(shop: &Shop) {
    let table = shop.table::<Product>().await;
    expect_error!(table.items.get_many(["a", ""]).await, Error::InvalidKey { .. });
    assert_eq!(shop.requests(), 0);
}

async fn a_malformed_item_of_a_batch_is_an_error(shop: &Shop) {
    let table = orders(shop, [1]).await;
    malformed(&table, 2).await;
    expect_error!(table.items.get_many([("alice", 1), ("alice", 2)]).await, Error::Decode(_));
}

async fn an_item_that_the_sdk_has_read_becomes_a_stored_value(shop: &Shop) {
    let table = orders(shop, [1]).await;
    let items = shop.plain.scan().table_name(table.name()).send().await.unwrap().items.unwrap();
    for item in items {
        let mut order = table.items.decode(item).unwrap();
        assert_eq!(order.version(), 1);
        let mut same = table.items.get((&*order.customer, order.number)).await.unwrap().unwrap();
        assert_eq!(order, same);
        order.cents = 8;
        same.cents = 9;
        assert_eq!(table.items.update(order).await.unwrap().version(), 2);
        expect_error!(table.items.update(same).await, Error::Conflict(_));
    }
}

async fn an_item_of_the_sdk_that_does_not_fit_is_an_error(shop: &Shop) {
    let table = shop.table::<Order>().await;
    expect_error!(table.items.decode(HashMap::new()), Error::Decode(_));
    let corrupt = item([("customer", s("a")), ("number", n(1)), ("cents", n(1)), ("_version", s("x"))]);
    expect_error!(table.items.decode(corrupt), Error::Corrupt { .. });
    assert_eq!(shop.requests(), 0);
}
