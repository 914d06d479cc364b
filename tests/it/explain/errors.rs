//! An explanation fails with the error of its call.

use dynalock::{Error, Transaction, error::InvalidTransaction};

use crate::support::{Product, Shop, Table, changed, expect_error};

async fn products() -> (Shop, Table<Product>) {
    Shop::with_items([Product::new("a", 5)]).await
}

#[tokio::test]
async fn an_empty_key_is_an_error() {
    let (_, Table { items, .. }) = products().await;
    expect_error!(items.get("").explain(), Error::InvalidKey { .. });
    expect_error!(items.get_many(["a", ""]).explain(), Error::InvalidKey { .. });
    expect_error!(items.create(Product::new("", 1)).explain(), Error::InvalidKey { .. });
    expect_error!(items.patch("").add(Product::ATTR.stock, 1).explain(), Error::InvalidKey { .. });
    expect_error!(items.delete_unchecked("").explain(), Error::InvalidKey { .. });
    expect_error!(items.query("").explain(), Error::InvalidKey { .. });
}

#[tokio::test]
async fn an_invalid_patch_is_an_error() {
    let (_, Table { items, .. }) = products().await;
    expect_error!(items.patch("a").explain(), Error::InvalidPatch { .. });
    let twice = items.patch("a").add(Product::ATTR.stock, 1).set(Product::ATTR.stock, 1);
    expect_error!(twice.explain(), Error::InvalidPatch { .. });
}

#[tokio::test]
async fn a_changed_key_is_an_error() {
    let (shop, Table { items, .. }) = products().await;
    let stored = items.get("a").await.unwrap().unwrap();
    let renamed = changed(stored.clone(), |product| product.sku = "b".to_owned());
    expect_error!(items.update(renamed.clone()).explain(), Error::KeyChanged { .. });
    expect_error!(items.replace(renamed.clone()).explain(), Error::KeyChanged { .. });
    expect_error!(items.update_with("b", |_| ()).explain_on(&stored), Error::KeyChanged { .. });
    let init = || Product::new("c", 0);
    expect_error!(items.upsert_with("b", init, |_| ()).explain_on(None), Error::KeyChanged { .. });
    let mut tx = Transaction::new(&shop.client);
    tx.check(&items, &renamed);
    for _ in 0..2 {
        expect_error!(tx.explain(), Error::KeyChanged { .. });
    }
    expect_error!(tx.commit().await, Error::KeyChanged { .. });
}

#[tokio::test]
async fn the_error_of_a_closure_is_returned() {
    let (_, Table { items, .. }) = products().await;
    let stored = items.get("a").await.unwrap().unwrap();
    let refuse = |_: &mut Product| Err(Error::ForeignHandle);
    expect_error!(items.try_update_with("a", refuse).explain_on(&stored), Error::ForeignHandle);
}

#[tokio::test]
async fn an_invalid_transaction_is_an_error_and_stays_as_it_was() {
    let (shop, Table { items, .. }) = products().await;
    let mut empty = Transaction::new(&shop.client);
    expect_error!(empty.explain(), Error::InvalidTransaction(InvalidTransaction::Empty));
    let mut tx = Transaction::new(&shop.client);
    for number in 0..101 {
        tx.check_absent(&items, format!("{number}"));
    }
    for _ in 0..2 {
        let error = expect_error!(tx.explain(), Error::InvalidTransaction(error) => error);
        assert!(matches!(error, InvalidTransaction::TooManyItems { items: 101, .. }), "{error:?}");
    }
    let token = Transaction::new(&shop.client).token("").explain();
    expect_error!(token, Error::InvalidTransaction(InvalidTransaction::Token { characters: 0, .. }));
    let mut get = Transaction::get(&shop.client);
    expect_error!(get.explain(), Error::InvalidTransaction(InvalidTransaction::Empty));
    let _ = get.item(&items, "");
    expect_error!(get.explain(), Error::InvalidKey { .. });
}
