//! Patches: the effect of each change, and the items that refuse it.

use std::collections::BTreeSet;

use aws_sdk_dynamodb::types::AttributeValue;
use aws_smithy_types::body::SdkBody;
use dynalock::{Error, condition::AttributeType, error::InvalidPatch};

use crate::support::{Address, Basket, Part, Shop, Table, b, expect_error, n, s};

cases! {
    each_kind_of_change_leaves_its_value,
    paths_reach_into_structs_lists_and_maps,
    a_patch_counts_the_version_and_returns_the_item,
    a_patch_does_not_conflict_with_other_patches,
    an_update_after_a_patch_of_another_caller_conflicts,
    a_missing_attribute_starts_from_its_default,
    a_stored_null_counts_as_absent,
    a_patch_of_a_stored_null_takes_two_attempts,
    a_number_stays_in_the_range_of_its_type,
    a_set_that_becomes_empty_is_removed,
    a_missing_item_is_not_found,
    a_false_condition_has_the_item_and_writes_nothing,
    an_attribute_of_another_type_is_refused,
    a_path_into_a_missing_parent_is_refused,
    an_attribute_under_its_alias_is_refused,
    a_nested_attribute_under_its_alias_is_refused,
    a_patch_of_a_small_item_costs_one_write_unit,
    an_item_of_another_program_is_adopted,
    an_item_that_lost_its_version_begins_a_new_incarnation,
    an_invalid_patch_is_not_sent,
    the_bookkeeping_of_patches_is_no_content,
    a_null_counts_as_zero_whatever_the_default_is,
    a_sum_of_more_than_38_digits_is_refused_or_stays_readable,
    the_size_of_a_text_is_the_same_in_the_library_and_in_dynamodb,
}

async fn baskets(shop: &Shop) -> Table<Basket> {
    shop.table_of([Basket::new("a")]).await
}

async fn each_kind_of_change_leaves_its_value(shop: &Shop) {
    let table = baskets(shop).await;
    let a = Basket::ATTR;
    let patch = table.items.patch("a").add(a.count, -3).add(a.balance, -5).add(a.price, 0.25).set(a.title, "crate");
    let patch = patch.set_if_absent(a.note, "ignored".to_owned()).append(a.history, ["packed", "sent"]);
    let patched = patch.prepend(a.marks, [1, 2]).insert(a.tags, ["sale"]).insert(a.sizes, [2_u32, 3]).await.unwrap();
    let expected = Basket {
        count: 7,
        balance: -5,
        price: 1.75,
        title: "crate".to_owned(),
        history: ["made", "packed", "sent"].map(str::to_owned).to_vec(),
        marks: vec![1, 2],
        tags: BTreeSet::from(["new", "sale"].map(str::to_owned)),
        sizes: BTreeSet::from([1, 2, 3]),
        ..Basket::new("a")
    };
    assert_eq!(*patched, expected);
    let patched = table.items.patch("a").delete(a.tags, ["new"]).remove(a.note).await.unwrap();
    let expected = Basket { tags: BTreeSet::from(["sale".to_owned()]), note: None, ..expected };
    assert_eq!((&*patched, patched.version()), (&expected, 3));
    assert_eq!(*table.others.get("a").await.unwrap().unwrap(), expected);
}

async fn paths_reach_into_structs_lists_and_maps(shop: &Shop) {
    let table = baskets(shop).await;
    let (a, address, part) = (Basket::ATTR, Address::ATTR, Part::ATTR);
    let patch = table.items.patch("a").set(a.address.at(address.city), "Oslo").add(a.address.at(address.floor), 2);
    let patch = patch.add(a.parts.index(0).at(part.quantity), 4).set(a.prices.key("usd"), 5);
    let patched = patch.add(a.prices.key("eur"), 1).add(a.prices.key("nok"), 30).await.unwrap();
    assert_eq!(patched.address, Address { city: "Oslo".to_owned(), floor: Some(2) });
    assert_eq!(patched.parts, [Part { name: "lid".to_owned(), quantity: 5 }]);
    assert_eq!(patched.prices, [("eur", 4), ("nok", 30), ("usd", 5)].map(|(k, v)| (k.to_owned(), v)).into());
    let condition = a.parts.index(0).at(part.quantity).ge(5).and(a.prices.size().eq(3)).and(!a.parts.index(1).exists());
    let patch = table.items.patch("a").remove(a.parts.index(0)).remove(a.prices.key("eur")).when(condition);
    let patched = patch.await.unwrap();
    assert_eq!((patched.parts.len(), patched.prices.len()), (0, 2));
}

async fn a_patch_counts_the_version_and_returns_the_item(shop: &Shop) {
    let table = baskets(shop).await;
    let mut patched = table.items.patch("a").add(Basket::ATTR.count, 1).await.unwrap();
    assert_eq!((patched.version(), patched.count), (2, 11));
    patched.count += 1;
    let updated = table.items.update(patched).await.unwrap();
    assert_eq!((updated.version(), updated.count), (3, 12));
    assert_eq!(table.raw.get("a").await.unwrap()["_version"], n(3));
}

async fn a_patch_does_not_conflict_with_other_patches(shop: &Shop) {
    let table = baskets(shop).await;
    let patches = (0..20).map(|_| tokio::spawn(table.items.patch("a").add(Basket::ATTR.count, 1).into_future()));
    for patch in patches.collect::<Vec<_>>() {
        patch.await.unwrap().unwrap();
    }
    let stored = table.others.get("a").await.unwrap().unwrap();
    assert_eq!((stored.version(), stored.count), (21, 30));
}

async fn an_update_after_a_patch_of_another_caller_conflicts(shop: &Shop) {
    let table = baskets(shop).await;
    let mut read = table.items.get("a").await.unwrap().unwrap();
    table.others.patch("a").add(Basket::ATTR.count, 1).await.unwrap();
    read.count = 0;
    let Error::Conflict(conflict) = table.items.update(read).await.unwrap_err() else { panic!("no conflict") };
    assert_eq!((conflict.expected(), conflict.found()), (Some(1), Some(2)));
    assert_eq!(conflict.current::<Basket>().unwrap().unwrap().count, 11);
}

/// Puts a basket like another program, with other attributes, and without some attributes of the
/// struct.
async fn put<const R: usize, const S: usize>(
    table: &Table<Basket>,
    removed: [&str; R],
    set: [(&str, AttributeValue); S],
) {
    let mut stored = table.raw.get("a").await.unwrap();
    stored.retain(|name, _| !removed.contains(&name.as_str()));
    stored.extend(set.map(|(name, value)| (name.to_owned(), value)));
    table.raw.put(stored).await;
}

async fn a_missing_attribute_starts_from_its_default(shop: &Shop) {
    let table = baskets(shop).await;
    put(&table, ["small", "limit", "marks", "tags", "note"], []).await;
    let a = Basket::ATTR;
    let patch = table.items.patch("a").add(a.small, 1).add(a.limit, 2).append(a.marks, [3]).insert(a.tags, ["x"]);
    let patched = patch.set_if_absent(a.note, "new".to_owned()).await.unwrap();
    assert_eq!((patched.small, patched.limit, &*patched.marks), (8, Some(2), &[3][..]));
    assert_eq!((patched.tags.len(), patched.note.as_deref()), (1, Some("new")));
}

async fn a_stored_null_counts_as_absent(shop: &Shop) {
    let table = baskets(shop).await;
    let null = || AttributeValue::Null(true);
    put(&table, [], [("limit", null()), ("note", null())]).await;
    let a = Basket::ATTR;
    let patched = table.items.patch("a").add(a.limit, 2).set_if_absent(a.note, "new".to_owned()).await.unwrap();
    assert_eq!((patched.limit, patched.note.as_deref(), patched.version()), (Some(2), Some("new"), 2));
    let patched = table.items.patch("a").set(a.note, None).await.unwrap();
    assert_eq!(patched.note, None);
    // A patch in a transaction and a single patch with a token have the same effect.
    let mut tx = dynalock::Transaction::new(&shop.client);
    tx.patch(&table.items, "a").set_if_absent(a.note, "again".to_owned());
    tx.commit().await.unwrap();
    put(&table, [], [("limit", null())]).await;
    let patched = table.items.patch("a").add(a.limit, 5).exactly_once().await.unwrap();
    assert_eq!((patched.limit, patched.note.as_deref()), (Some(5), Some("again")));
}

async fn a_patch_of_a_stored_null_takes_two_attempts(shop: &Shop) {
    let table = baskets(shop).await;
    put(&table, [], [("limit", AttributeValue::Null(true))]).await;
    let patch = |attempts| table.items.patch("a").add(Basket::ATTR.limit, 2).attempts(attempts);
    let last = expect_error!(patch(1).await, Error::Exhausted { last, .. } => last);
    expect_error!(Err::<(), _>(*last), Error::Conflict(_));
    assert_eq!(shop.counts(["UpdateItem"]), [1]);
    assert_eq!(patch(2).await.unwrap().limit, Some(2));
}

/// Returns the attribute of the error, after verifying that nothing was written.
async fn out_of_range(
    table: &Table<Basket>,
    patch: impl IntoFuture<Output = dynalock::Result<dynalock::Stored<Basket>>>,
) -> String {
    let before = table.raw.get("a").await;
    let error = patch.await.unwrap_err();
    assert_eq!(table.raw.get("a").await, before);
    match error {
        Error::OutOfRange { attribute, .. } => attribute,
        error => panic!("{error:?}"),
    }
}

async fn a_number_stays_in_the_range_of_its_type(shop: &Shop) {
    let table = baskets(shop).await;
    let a = Basket::ATTR;
    let patch = || table.items.patch("a");
    patch().set(a.small, 255).set(a.balance, i64::MIN).set(a.limit, u32::MAX).await.unwrap();
    assert_eq!(out_of_range(&table, patch().add(a.small, 1)).await, "small");
    assert_eq!(out_of_range(&table, patch().add(a.balance, -1)).await, "balance");
    assert_eq!(out_of_range(&table, patch().add(a.count, 1).add(a.limit, 1)).await, "limit");
    assert_eq!(out_of_range(&table, patch().add(a.count, -11)).await, "count");
    let patched = patch().add(a.small, -255).add(a.balance, i128::from(u64::MAX)).add(a.count, -10).await.unwrap();
    assert_eq!((patched.small, patched.balance, patched.count), (0, i64::MAX, 0));
    // The default of a missing field is 7.
    put(&table, ["small"], []).await;
    assert_eq!(out_of_range(&table, patch().add(a.small, -8)).await, "small");
    assert_eq!(patch().add(a.small, -7).await.unwrap().small, 0);
}

async fn a_set_that_becomes_empty_is_removed(shop: &Shop) {
    let table = baskets(shop).await;
    let patched = table.items.patch("a").delete(Basket::ATTR.tags, ["new", "other"]).await.unwrap();
    assert!(patched.tags.is_empty());
    assert!(!table.raw.get("a").await.unwrap().contains_key("tags"));
    let patched = table.items.patch("a").delete(Basket::ATTR.tags, ["new"]).await.unwrap();
    assert_eq!((patched.tags.len(), patched.version()), (0, 3));
}

async fn a_missing_item_is_not_found(shop: &Shop) {
    let table = baskets(shop).await;
    let patch = table.items.patch("b").add(Basket::ATTR.count, 1).when(Basket::ATTR.count.absent());
    expect_error!(patch.await, Error::NotFound { .. });
    assert_eq!(table.raw.get("b").await, None);
}

async fn a_false_condition_has_the_item_and_writes_nothing(shop: &Shop) {
    let table = baskets(shop).await;
    let a = Basket::ATTR;
    let before = table.raw.get("a").await;
    let condition = a.count.ge(11).and(a.title.eq("basket"));
    let Error::ConditionFailed(failed) = table.items.patch("a").add(a.count, -11).when(condition).await.unwrap_err()
    else {
        panic!("another error")
    };
    assert_eq!(failed.current::<Basket>().unwrap().unwrap().count, 10);
    assert_eq!((failed.spent().attempts, table.raw.get("a").await), (1, before));
    let condition = a.note.is_type(AttributeType::S).and(a.tags.contains("new")).and(!a.history.size().gt(1));
    assert_eq!(table.items.patch("a").add(a.count, 1).when(condition).await.unwrap().count, 11);
}

async fn unpatchable(
    table: &Table<Basket>,
    patch: impl IntoFuture<Output = dynalock::Result<dynalock::Stored<Basket>>>,
) -> (String, &'static str) {
    let before = table.raw.get("a").await;
    let error = patch.await.unwrap_err();
    assert_eq!(table.raw.get("a").await, before);
    match error {
        Error::Unpatchable { attribute, reason, .. } => (attribute, reason),
        error => panic!("{error:?}"),
    }
}

async fn an_attribute_of_another_type_is_refused(shop: &Shop) {
    let table = baskets(shop).await;
    put(&table, ["balance"], [("count", s("ten")), ("history", n(1)), ("tags", s("x"))]).await;
    let a = Basket::ATTR;
    let patch = || table.items.patch("a");
    let (attribute, reason) = unpatchable(&table, patch().add(a.count, 1)).await;
    assert_eq!((&*attribute, reason), ("count", "it is stored with another type than its struct says"));
    assert_eq!(unpatchable(&table, patch().append(a.history, ["x"])).await.0, "history");
    assert_eq!(unpatchable(&table, patch().insert(a.tags, ["x"])).await.0, "tags");
    let (attribute, reason) = unpatchable(&table, patch().add(a.balance, 1)).await;
    assert_eq!((&*attribute, reason), ("balance", "it is missing, and its struct requires it"));
}

async fn a_path_into_a_missing_parent_is_refused(shop: &Shop) {
    let table = baskets(shop).await;
    put(&table, ["address"], [("prices", n(1))]).await;
    let (a, address) = (Basket::ATTR, Address::ATTR);
    let patch = || table.items.patch("a");
    let (attribute, reason) = unpatchable(&table, patch().set(a.address.at(address.city), "Oslo")).await;
    assert_eq!(
        (&*attribute, reason),
        (
            "address.city",
            "the struct or map that contains it is missing, or is stored with another type; set the whole struct or map first, or use `update_with`"
        )
    );
    assert_eq!(unpatchable(&table, patch().set(a.prices.key("eur"), 1)).await.0, "prices[..]");
    let part = Part { name: "x".to_owned(), quantity: 1 };
    let (attribute, reason) = unpatchable(&table, patch().set(a.parts.index(1), part)).await;
    assert_eq!((&*attribute, reason), ("parts[1]", "the list is missing or does not have this element"));
}

async fn an_attribute_under_its_alias_is_refused(shop: &Shop) {
    let table = baskets(shop).await;
    put(&table, ["title"], [("label", s("old"))]).await;
    let (attribute, reason) = unpatchable(&table, table.items.patch("a").set(Basket::ATTR.title, "new")).await;
    assert!(attribute == "title" && reason.contains("alias"), "{attribute} {reason}");
    // Another attribute of the item can be patched.
    assert_eq!(table.items.patch("a").add(Basket::ATTR.count, 1).await.unwrap().title, "old");
    table.items.update_with("a", |basket| basket.title = "new".to_owned()).await.unwrap();
    assert_eq!(table.items.patch("a").set(Basket::ATTR.title, "newer").await.unwrap().title, "newer");
}

async fn a_nested_attribute_under_its_alias_is_refused(shop: &Shop) {
    let table = baskets(shop).await;
    put(&table, [], [("address", AttributeValue::M([("town".to_owned(), s("Bergen"))].into()))]).await;
    let address = Basket::ATTR.address;
    let (attribute, reason) =
        unpatchable(&table, table.items.patch("a").set(address.at(Address::ATTR.city), "Oslo")).await;
    assert!(attribute == "address.city" && reason.contains("alias"), "{attribute} {reason}");
    let patched = table.items.patch("a").add(address.at(Address::ATTR.floor), 1).await.unwrap();
    assert_eq!(patched.address, Address { city: "Bergen".to_owned(), floor: Some(1) });
}

/// The request of a patch is sent once more with another id, and asks for the capacity that it
/// consumes.
async fn a_patch_of_a_small_item_costs_one_write_unit(shop: &Shop) {
    let table = baskets(shop).await;
    for _ in 0..9 {
        table.items.patch("a").add(Basket::ATTR.count, 1).await.unwrap();
    }
    let mut body = shop.sent("UpdateItem").pop().unwrap();
    for value in body["ExpressionAttributeValues"].as_object_mut().unwrap().values_mut() {
        if value["B"].as_str().is_some_and(|bytes| !bytes.is_empty()) {
            value["B"] = "AAAAAAAAAAA=".into();
        }
    }
    body["ReturnConsumedCapacity"] = "TOTAL".into();
    let sent = shop.plain.update_item().table_name(table.name()).customize().mutate_request(move |request| {
        let body = body.to_string();
        request.headers_mut().insert("content-length", body.len().to_string());
        *request.body_mut() = SdkBody::from(body);
    });
    let consumed = sent.send().await.unwrap().consumed_capacity.unwrap();
    assert_eq!(consumed.capacity_units, Some(1.0));
}

async fn an_item_of_another_program_is_adopted(shop: &Shop) {
    for removed in [&["_version", "_writes"][..], &["_writes"]] {
        let table = baskets(shop).await;
        let mut stored = table.raw.get("a").await.unwrap();
        stored.retain(|name, _| !removed.contains(&name.as_str()));
        table.raw.put(stored).await;
        let read = table.items.get("a").await.unwrap().unwrap();
        let mut patched = table.items.patch("a").add(Basket::ATTR.count, 1).await.unwrap();
        assert_eq!(patched.version(), read.version() + 1);
        patched.count += 1;
        assert_eq!(table.items.update(patched).await.unwrap().count, 12);
        let mut read = read;
        read.count = 0;
        expect_error!(table.items.update(read).await, Error::Conflict(_));
    }
}

async fn an_item_that_lost_its_version_begins_a_new_incarnation(shop: &Shop) {
    let table = baskets(shop).await;
    let mut read = table.items.get("a").await.unwrap().unwrap();
    put(&table, ["_version"], []).await;
    let patched = table.items.patch("a").add(Basket::ATTR.count, 1).await.unwrap();
    // The version is that of `read`, but the incarnation is another one.
    assert_eq!((patched.version(), read.version()), (1, 1));
    read.count = 0;
    expect_error!(table.items.update(read).await, Error::Conflict(_));
}

async fn an_invalid_patch_is_not_sent(shop: &Shop) {
    let table = baskets(shop).await;
    let a = Basket::ATTR;
    let patch = || table.items.patch("a");
    let invalid = |error| match error {
        Error::InvalidPatch { why, .. } => why,
        error => panic!("{error:?}"),
    };
    let no_tags: [&str; 0] = [];
    assert_eq!(invalid(patch().await.unwrap_err()), InvalidPatch::Empty);
    assert_eq!(invalid(patch().insert(a.tags, no_tags).await.unwrap_err()), InvalidPatch::Empty);
    let overlap = patch().set(a.count, 1).add(a.count, 1).await.unwrap_err().to_string();
    assert!(overlap.contains("`count` and `count` overlap"), "{overlap}");
    let part = Part { name: "x".to_owned(), quantity: 1 };
    let overlap = patch().append(a.parts, [part]).add(a.parts.index(0).at(Part::ATTR.quantity), 1).await.unwrap_err();
    assert!(matches!(invalid(overlap), InvalidPatch::Overlap { .. }));
    assert!(matches!(invalid(patch().add(a.small, 256).await.unwrap_err()), InvalidPatch::OutOfRange { .. }));
    expect_error!(patch().add(a.price, f64::NAN).await, Error::Encode(_));
    let long = (0..600).fold(patch(), |patch, n| patch.set(a.prices.key(format!("{n}")), 1));
    expect_error!(long.await, Error::ExpressionTooLong { .. });
    assert!(table.raw.get("a").await.unwrap()["_version"] == n(1));
}

async fn the_bookkeeping_of_patches_is_no_content(shop: &Shop) {
    let table = baskets(shop).await;
    table.items.patch("a").add(Basket::ATTR.count, 1).await.unwrap();
    let stored = table.raw.get("a").await.unwrap();
    assert!(stored["_p0"] != b([]) && stored["_p1"] == b([]) && stored["_p7"] == b([]));
    for _ in 0..8 {
        table.items.patch("a").add(Basket::ATTR.count, 1).await.unwrap();
    }
    let stored = table.raw.get("a").await.unwrap();
    let of_register = stored.iter().filter(|(name, _)| name.starts_with("_p"));
    let bytes = of_register.map(|(name, id)| name.len() + id.as_b().unwrap().as_ref().len()).sum::<usize>();
    assert_eq!(bytes, 88);
    let replaced = table.items.get("a").await.unwrap().unwrap();
    table.items.replace(replaced).await.unwrap();
    assert!(!table.raw.get("a").await.unwrap().contains_key("_p0"));
    // Without a version, an update compares the content of the item, and the ids of patches are not
    // a part of this content.
    table.items.patch("a").add(Basket::ATTR.count, 1).await.unwrap();
    put(&table, ["_version", "_writes"], []).await;
    let mut read = table.items.get("a").await.unwrap().unwrap();
    put(&table, [], [("_p0", b([1]))]).await;
    read.count = 0;
    assert_eq!(table.items.update(read).await.unwrap().version(), 1);
}

async fn a_null_counts_as_zero_whatever_the_default_is(shop: &Shop) {
    let table = baskets(shop).await;
    let a = Basket::ATTR;
    put(&table, ["bonus"], []).await;
    assert_eq!(table.items.patch("a").add(a.bonus, 2).await.unwrap().bonus, Some(7));
    put(&table, [], [("bonus", AttributeValue::Null(true))]).await;
    assert_eq!(table.items.patch("a").add(a.bonus, 2).await.unwrap().bonus, Some(2));
    put(&table, [], [("bonus", AttributeValue::Null(true))]).await;
    assert_eq!(out_of_range(&table, table.items.patch("a").add(a.bonus, -1)).await, "bonus");
}

/// DynamoDB calculates with 38 digits. Whatever an engine makes of a longer sum, the item can be
/// read.
async fn a_sum_of_more_than_38_digits_is_refused_or_stays_readable(shop: &Shop) {
    let table = baskets(shop).await;
    let price = Basket::ATTR.price;
    table.items.patch("a").set(price, 1e30).await.unwrap();
    let before = table.raw.get("a").await;
    match table.items.patch("a").add(price, 1e-20).await {
        Ok(patched) => assert!((patched.price - 1e30).abs() < 1e15, "{patched:?}"),
        Err(error) => {
            assert!(matches!(error, Error::Rejected(_)), "{error:?}");
            assert_eq!(table.raw.get("a").await, before);
        }
    }
    let patched = table.items.patch("a").set(price, 9e124).await.unwrap();
    assert!((patched.price - 9e124).abs() < 1e110);
    assert_eq!(out_of_range(&table, table.items.patch("a").add(price, 9.95e125)).await, "price");
    table.items.get("a").await.unwrap().unwrap();
}

/// The text has 4 characters, 5 UTF-16 code units and 8 bytes.
async fn the_size_of_a_text_is_the_same_in_the_library_and_in_dynamodb(shop: &Shop) {
    let table = shop.table_of([Basket { title: "für😀".to_owned(), ..Basket::new("a") }]).await;
    let a = Basket::ATTR;
    let combining = table.items.combining();
    for size in 0..=10 {
        let add = table.items.patch("a").add(a.count, 1).when(a.title.size().eq(size));
        let combined = combining.patch("a").add(a.count, 1).when(a.title.size().eq(size));
        if size == 5 {
            add.await.unwrap();
            combined.await.unwrap();
        } else {
            expect_error!(add.await, Error::ConditionFailed(_));
            expect_error!(combined.await, Error::ConditionFailed(_));
        }
    }
}
