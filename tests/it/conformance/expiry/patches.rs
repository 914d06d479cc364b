//! A patch treats an expired item as absent.

use dynalock::{Error, Transaction, error::Cancelled};

use super::{Session, now, sessions};
use crate::support::{Shop, expect_error};

cases![
    a_patch_of_an_expired_item_is_not_found,
    a_patch_may_set_the_time_to_live,
    a_patch_of_an_expired_item_cancels_its_transaction,
];

async fn a_patch_of_an_expired_item_is_not_found(shop: &Shop) {
    let table = sessions(shop).await;
    let before = table.raw.get("over").await;
    let user = Session::ATTR.user;
    expect_error!(table.items.patch("over").set(user, "bob").await, Error::NotFound { .. });
    expect_error!(table.items.patch("over").set(user, "bob").exactly_once().await, Error::NotFound { .. });
    assert_eq!(table.raw.get("over").await, before);
    assert_eq!(table.items.patch("alive").set(user, "bob").await.unwrap().user, "bob");
}

async fn a_patch_may_set_the_time_to_live(shop: &Shop) {
    let table = sessions(shop).await;
    let until = now() + 7200;
    assert_eq!(table.items.patch("alive").set(Session::ATTR.until, until).await.unwrap().until, Some(until));
    assert_eq!(table.items.patch("alive").remove(Session::ATTR.until).await.unwrap().until, None);
    assert_eq!(table.items.patch("alive").set(Session::ATTR.user, "bob").await.unwrap().version(), 4);
}

async fn a_patch_of_an_expired_item_cancels_its_transaction(shop: &Shop) {
    let table = sessions(shop).await;
    let mut tx = Transaction::new(&shop.client);
    tx.patch(&table.items, "over").set(Session::ATTR.user, "bob");
    let cancelled: Cancelled = expect_error!(tx.commit().await, Error::Cancelled(cancelled) => cancelled);
    assert_eq!(cancelled.reasons().filter(|reason| reason.class().is_some()).count(), 1);
}
