//! Values that were edited elsewhere, with the etag of their original state.

use dynalock::{Error, Etag, Stored, error::ParseEtagError};

use crate::support::{Product, Shop, expect_error, item, n, s};

cases![
    an_etag_survives_a_round_trip_as_text_and_as_json,
    what_is_no_etag_is_refused,
    an_assumed_value_is_updated_if_the_item_is_in_that_state,
    an_assumed_value_that_says_nothing_new_sends_no_write,
    an_assumed_value_is_replaced_touched_and_deleted,
    an_assumed_value_of_an_older_state_is_a_conflict,
    an_assumed_value_is_a_conflict_if_the_item_changes_after_its_read,
    an_assumed_value_of_a_deleted_item_is_a_conflict,
    an_assumed_value_of_a_recreated_item_is_a_conflict_though_the_version_fits,
    an_etag_is_of_one_key,
    an_etag_of_an_unversioned_item_is_of_its_content,
    an_etag_of_an_item_that_lost_its_version_is_of_its_content,
    an_etag_of_a_version_without_write_ids_is_of_its_content,
    a_stored_value_serializes_as_the_value_alone,
];

async fn an_etag_survives_a_round_trip_as_text_and_as_json(shop: &Shop) {
    let table = shop
        .table_of_raw::<Product>([
            item([("sku", s("b")), ("stock", n(1))]),
            item([("sku", s("c")), ("stock", n(1)), ("_version", n(0))]),
        ])
        .await;
    table.others.create(Product::new("a", 5)).await.unwrap();
    let mut etags = Vec::new();
    for key in ["a", "b", "c"] {
        let stored = table.items.get(key).await.unwrap().unwrap();
        let etag = stored.etag();
        assert_eq!(etag.to_string().parse::<Etag>(), Ok(etag.clone()));
        let json = serde_json::to_string(&etag).unwrap();
        assert_eq!(json, format!("\"{etag}\""));
        assert_eq!(serde_json::from_str::<Etag>(&json).unwrap(), etag);
        assert_eq!(serde_json::from_reader::<_, Etag>(json.as_bytes()).unwrap(), etag);
        assert_eq!(table.items.get(key).await.unwrap().unwrap().etag(), etag, "the same state");
        let assumed = Stored::assume(stored.clone().into_inner(), etag.clone());
        assert_eq!((assumed.version(), assumed.etag()), (stored.version(), etag.clone()));
        etags.push(etag);
    }
    assert!(etags[0] != etags[1] && etags[1] != etags[2] && etags[0] != etags[2]);
}

async fn what_is_no_etag_is_refused(shop: &Shop) {
    let table = shop.table::<Product>().await;
    let etag = table.items.create(Product::new("a", 5)).await.unwrap().etag().to_string();
    let cut = &etag[..etag.len() - 1];
    let longer = format!("{etag}0");
    let huge = etag.replacen('1', "18446744073709551616", 1);
    let signed = format!("+{etag}");
    let padded = format!(" {etag}");
    let garbage = ["", "-", "--", "abc", "1", "\u{1F511}-\u{1F511}-\u{1F511}", cut, &longer, &huge, &signed, &padded];
    for text in garbage {
        assert_eq!(text.parse::<Etag>(), Err(ParseEtagError), "{text:?}");
        serde_json::from_value::<Etag>(text.into()).unwrap_err();
    }
    serde_json::from_str::<Etag>("5").unwrap_err();
}

async fn an_assumed_value_is_updated_if_the_item_is_in_that_state(shop: &Shop) {
    let (table, created) = shop.stored(Product::new("a", 5)).await;
    table.raw.set("a", "color", s("red")).await;
    let edited = Stored::assume(Product::new("a", 4), created.etag());
    let product = table.items.update(edited).await.unwrap();
    assert_eq!((product.version(), product.stock), (2, 4));
    assert_eq!(shop.counts(["GetItem", "UpdateItem"]), [1, 1]);
    let stored = table.raw.get("a").await.unwrap();
    assert_eq!((&stored["stock"], &stored["color"]), (&n(4), &s("red")));
}

async fn an_assumed_value_that_says_nothing_new_sends_no_write(shop: &Shop) {
    let (table, created) = shop.stored(Product::new("a", 5)).await;
    let same = table.items.update(Stored::assume(Product::new("a", 5), created.etag())).await.unwrap();
    assert_eq!(same, created);
    assert_eq!(shop.counts(["GetItem", "UpdateItem"]), [1, 0]);
}

async fn an_assumed_value_is_replaced_touched_and_deleted(shop: &Shop) {
    let (table, created) = shop.stored(Product::new("a", 5)).await;
    let replaced = table.items.replace(Stored::assume(Product::new("a", 6), created.etag())).await.unwrap();
    assert_eq!((replaced.version(), replaced.stock), (2, 6));
    let touched = table.items.touch(Stored::assume(Product::new("a", 7), replaced.etag())).await.unwrap();
    assert_eq!((touched.version(), touched.stock), (3, 7));
    let stale = Stored::assume(Product::new("a", 7), replaced.etag());
    expect_error!(table.items.delete(stale).await, Error::Conflict(_));
    let current = Stored::assume(Product::new("a", 0), touched.etag());
    assert!(table.items.delete(current).await.unwrap().certain);
    assert_eq!(table.raw.get("a").await, None);
}

async fn an_assumed_value_of_an_older_state_is_a_conflict(shop: &Shop) {
    let (table, created) = shop.stored(Product::new("a", 5)).await;
    let current = table.others.update_with("a", |product| product.stock = 9).await.unwrap();
    let edited = Stored::assume(Product::new("a", 4), created.etag());
    let lost = expect_error!(table.items.update(edited).await, Error::Conflict(lost) => lost);
    assert_eq!(lost.current::<Product>().unwrap(), Some(current));
    assert_eq!(shop.counts(["GetItem", "UpdateItem"]), [1, 0]);
}

async fn an_assumed_value_is_a_conflict_if_the_item_changes_after_its_read(shop: &Shop) {
    let (table, created) = shop.stored(Product::new("a", 5)).await;
    shop.rival.before_through(&table.others, "UpdateItem", 0, async |others| {
        others.update_with("a", |product| product.stock = 9).await.unwrap();
    });
    let edited = Stored::assume(Product::new("a", 4), created.etag());
    expect_error!(table.items.update(edited).await, Error::Conflict(_));
    assert_eq!(table.raw.get("a").await.unwrap()["stock"], n(9));
}

async fn an_assumed_value_of_a_deleted_item_is_a_conflict(shop: &Shop) {
    let (table, created) = shop.stored(Product::new("a", 5)).await;
    table.raw.delete("a").await;
    let edited = Stored::assume(Product::new("a", 4), created.etag());
    let lost = expect_error!(table.items.update(edited).await, Error::Conflict(lost) => lost);
    assert_eq!(lost.current_item(), None);
    assert_eq!(table.raw.get("a").await, None);
}

async fn an_assumed_value_of_a_recreated_item_is_a_conflict_though_the_version_fits(shop: &Shop) {
    let table = shop.table::<Product>().await;
    let etag = table.others.create(Product::new("a", 5)).await.unwrap().etag();
    table.raw.delete("a").await;
    let recreated = table.others.create(Product::new("a", 5)).await.unwrap();
    assert_ne!(recreated.etag(), etag);
    for write in [
        table.items.update(Stored::assume(Product::new("a", 4), etag.clone())),
        table.items.replace(Stored::assume(Product::new("a", 4), etag.clone())),
        table.items.touch(Stored::assume(Product::new("a", 4), etag.clone())),
    ] {
        let lost = expect_error!(write.await, Error::Conflict(lost) => lost);
        assert_eq!(lost.current::<Product>().unwrap(), Some(recreated.clone()));
    }
    let delete = table.items.delete(Stored::assume(Product::new("a", 4), etag));
    expect_error!(delete.await, Error::Conflict(_));
    assert_eq!(table.items.get("a").await.unwrap(), Some(recreated));
}

async fn an_etag_is_of_one_key(shop: &Shop) {
    let (table, created) = shop.stored(Product::new("a", 5)).await;
    table.others.create(Product::new("b", 5)).await.unwrap();
    let edited = Stored::assume(Product::new("b", 4), created.etag());
    expect_error!(table.items.update(edited.clone()).await, Error::KeyChanged { .. });
    expect_error!(table.items.delete(edited).await, Error::KeyChanged { .. });
    assert_eq!(shop.requests(), 0);
}

async fn an_etag_of_an_unversioned_item_is_of_its_content(shop: &Shop) {
    let table = shop.table_of_raw::<Product>([item([("sku", s("a")), ("stock", n(5)), ("color", s("red"))])]).await;
    let etag = table.items.get("a").await.unwrap().unwrap().etag();
    table.raw.set("a", "color", s("blue")).await;
    let edited = Stored::assume(Product::new("a", 4), etag);
    let lost = expect_error!(table.items.update(edited).await, Error::Conflict(lost) => lost);
    assert_eq!(lost.current_item().unwrap()["color"], s("blue"));

    let etag = table.items.get("a").await.unwrap().unwrap().etag();
    let product = table.items.update(Stored::assume(Product::new("a", 4), etag)).await.unwrap();
    assert_eq!((product.version(), product.stock), (1, 4));
}

async fn an_etag_of_an_item_that_lost_its_version_is_of_its_content(shop: &Shop) {
    let table = shop.table::<Product>().await;
    table.items.create(Product::new("a", 5)).await.unwrap();
    table.raw.remove("a", "_version").await;
    let etag = table.items.get("a").await.unwrap().unwrap().etag();
    table.raw.set("a", "stock", n(50)).await;
    let edited = Stored::assume(Product::new("a", 4), etag);
    expect_error!(table.items.update(edited).await, Error::Conflict(_));
    assert_eq!(table.raw.get("a").await.unwrap()["stock"], n(50));
}

async fn an_etag_of_a_version_without_write_ids_is_of_its_content(shop: &Shop) {
    let table = shop.table_of_raw::<Product>([item([("sku", s("a")), ("stock", n(5)), ("_version", n(3))])]).await;
    let etag = table.items.get("a").await.unwrap().unwrap().etag();
    let product = table.items.update(Stored::assume(Product::new("a", 4), etag.clone())).await.unwrap();
    assert_eq!((product.version(), product.stock), (4, 4));
    // The other program puts the item again, with other content and the same version.
    table.raw.put(item([("sku", s("a")), ("stock", n(50)), ("_version", n(3))])).await;
    expect_error!(table.items.update(Stored::assume(Product::new("a", 9), etag)).await, Error::Conflict(_));
}

async fn a_stored_value_serializes_as_the_value_alone(shop: &Shop) {
    let (_, stored) = shop.created(Product::new("a", 5)).await;
    let json = serde_json::to_value(&stored).unwrap();
    assert_eq!(json, serde_json::json!({ "sku": "a", "stock": 5, "note": null }));
    assert_eq!(stored.into_inner(), Product::new("a", 5));
}
