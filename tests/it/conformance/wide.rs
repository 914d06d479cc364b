//! Items for which a write changes more attributes than an expression can name.

use std::{collections::BTreeMap, fmt};

use aws_sdk_dynamodb::types::AttributeValue;
use dynalock::{Error, Stored, Versioned};
use serde::{Deserialize, Deserializer, Serialize, de};

use crate::support::{Shop, Table, changed, commit, expect_error, n, s};

cases![
    five_hundred_attributes_fit_into_an_update,
    more_attributes_are_put_as_a_whole,
    a_put_of_more_attributes_checks_the_version,
    a_false_condition_of_a_put_of_more_attributes_is_told_at_once,
    a_put_of_more_attributes_recognises_itself,
    a_put_never_loses_an_attribute_that_its_type_does_not_know,
    an_item_of_nothing_but_removed_attributes_is_written,
    a_holder_writes_more_attributes_and_keeps_its_lease,
    a_holder_commits_more_attributes_and_releases,
    a_put_keeps_the_queue_of_a_fair_lease,
    a_put_of_a_leased_item_is_refused,
    a_lockable_item_is_replaced_whatever_its_size,
    a_transaction_says_that_the_update_is_too_long,
    a_put_keeps_all_that_did_not_change,
    a_put_takes_an_expired_head_out_of_the_queue_like_an_update,
    a_put_is_sent_again_after_a_lease_that_came_and_went,
    a_put_of_an_item_that_its_holder_has_written_is_locked,
];

/// The type has as many attributes as there are measurements.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Versioned)]
#[dynalock(table = "readings")]
struct Readings {
    #[dynalock(partition_key)]
    id: String,
    #[serde(flatten)]
    values: Measurements,
}

/// The type with many attributes, with a lease.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Versioned)]
#[dynalock(table = "samples")]
#[lockable(ttl = "30s")]
struct Samples {
    #[dynalock(partition_key)]
    id: String,
    #[serde(flatten)]
    values: Measurements,
}

/// Returns the attributes whose names begin with an `m`.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
struct Measurements(BTreeMap<String, i64>);

impl<'de> Deserialize<'de> for Measurements {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;

        impl<'de> de::Visitor<'de> for Visitor {
            type Value = Measurements;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("attributes")
            }

            fn visit_map<A: de::MapAccess<'de>>(self, mut map: A) -> Result<Measurements, A::Error> {
                let mut measurements = Measurements::default();
                while let Some(name) = map.next_key::<String>()? {
                    match name.starts_with('m') {
                        true => drop(measurements.0.insert(name, map.next_value()?)),
                        false => drop(map.next_value::<de::IgnoredAny>()?),
                    }
                }
                Ok(measurements)
            }
        }

        deserializer.deserialize_map(Visitor)
    }
}

fn measurements(count: usize, value: i64) -> Measurements {
    Measurements((0..count).map(|index| (format!("m{index}"), value)).collect())
}

async fn readings(shop: &Shop, count: usize) -> (Table<Readings>, Stored<Readings>) {
    let table = shop.table::<Readings>().await;
    let readings = Readings { id: "a".to_owned(), values: measurements(count, 1) };
    table.others.create(readings).await.unwrap();
    let readings = table.others.get("a").await.unwrap().unwrap();
    (table, readings)
}

async fn samples(shop: &Shop, count: usize) -> Table<Samples> {
    shop.table_of([Samples { id: "a".to_owned(), values: measurements(count, 1) }]).await
}

async fn five_hundred_attributes_fit_into_an_update(shop: &Shop) {
    let (table, readings) = readings(shop, 500).await;
    let readings = table.items.update(changed(readings, |it| it.values = measurements(500, 2))).await.unwrap();
    assert_eq!(shop.counts(["UpdateItem", "PutItem", "GetItem"]), [1, 0, 0]);
    assert_eq!(table.others.get("a").await.unwrap(), Some(readings));
}

async fn more_attributes_are_put_as_a_whole(shop: &Shop) {
    let (table, readings) = readings(shop, 700).await;
    let readings = table.items.update(changed(readings, |it| it.values = measurements(900, 2))).await.unwrap();
    assert_eq!(readings.version(), 2);
    assert_eq!(table.others.get("a").await.unwrap(), Some(readings));
    let readings = table.items.update_with("a", |readings| readings.values = measurements(800, 3)).await.unwrap();
    assert_eq!(readings.version(), 3);
    assert_eq!(table.others.get("a").await.unwrap(), Some(readings));
    assert_eq!(shop.counts(["UpdateItem", "PutItem"]), [0, 2]);
}

async fn a_false_condition_of_a_put_of_more_attributes_is_told_at_once(shop: &Shop) {
    let (table, readings) = readings(shop, 700).await;
    let id = Readings::ATTR.id;
    let more = changed(readings, |it| it.values = measurements(900, 2));
    let failed = table.items.update(more.clone()).when(id.ne("a")).await;
    let failed = expect_error!(failed, Error::ConditionFailed(failed) => failed);
    assert_eq!((failed.found(), shop.counts(["PutItem"])), (Some(1), [1]));
    assert_eq!(table.items.update(more).when(id.eq("a")).await.unwrap().version(), 2);
}

async fn a_put_of_more_attributes_checks_the_version(shop: &Shop) {
    let (table, mut readings) = readings(shop, 700).await;
    shop.rival.before_through(&table.others, "PutItem", 0, async |others| {
        others.update_with("a", |readings| readings.values.0.extend([("m0".to_owned(), 50)])).await.unwrap();
    });
    readings.values = measurements(700, 2);
    let lost = expect_error!(table.items.update(readings.clone()).await, Error::Conflict(lost) => lost);
    assert_eq!(lost.current::<Readings>().unwrap().unwrap().values.0["m0"], 50);
    // The next write is refused because of the item that it reads.
    expect_error!(table.items.update(readings).await, Error::Conflict(_));
    assert_eq!(shop.counts(["PutItem"]), [1]);
    let readings =
        table.items.update_with("a", |readings| readings.values.0.values_mut().for_each(|value| *value += 1));
    assert_eq!(readings.await.unwrap().values.0["m0"], 51);
}

async fn a_put_of_more_attributes_recognises_itself(shop: &Shop) {
    let (table, _) = readings(shop, 700).await;
    shop.faults.script_on("PutItem", 0, dynalock::local::Fault::LoseReply);
    let count = |readings: &mut Readings| readings.values.0.values_mut().for_each(|value| *value += 1);
    let readings = table.items.update_with("a", count).await.unwrap();
    assert_eq!((readings.version(), readings.values.0["m0"]), (2, 2));
    assert_eq!(table.others.get("a").await.unwrap(), Some(readings));
}

async fn a_put_never_loses_an_attribute_that_its_type_does_not_know(shop: &Shop) {
    let (table, _) = readings(shop, 700).await;
    table.raw.set("a", "color", s("red")).await;
    let readings = changed(table.items.get("a").await.unwrap().unwrap(), |it| it.values = measurements(700, 2));
    let result = table.items.update(readings.clone()).await;
    let remedy = expect_error!(result, Error::ExpressionTooLong { remedy, .. } => remedy);
    assert!(remedy.contains("does not know"), "{remedy}");
    let stored = table.raw.get("a").await.unwrap();
    assert_eq!((&stored["color"], &stored["m0"], &stored["_version"]), (&s("red"), &n(1), &n(1)));
    // An update can write a part of the attributes, and a replace can write all attributes.
    let mut some = changed(readings.clone(), |it| it.values = measurements(700, 1));
    some.values.0.insert("m7".to_owned(), 2);
    assert_eq!(table.items.update(some).await.unwrap().version(), 2);
    let readings = changed(table.items.get("a").await.unwrap().unwrap(), |it| it.values = measurements(700, 2));
    table.items.replace(readings).await.unwrap();
    assert_eq!(table.raw.get("a").await.unwrap().get("color"), None);
}

async fn an_item_of_nothing_but_removed_attributes_is_written(shop: &Shop) {
    let (table, readings) = readings(shop, 1_500).await;
    let readings = table.items.update(changed(readings, |it| it.values = Measurements::default())).await.unwrap();
    assert_eq!(table.others.get("a").await.unwrap(), Some(readings));
    assert_eq!(table.raw.get("a").await.unwrap().len(), 3, "the key, the version and the ids");
}

async fn a_holder_writes_more_attributes_and_keeps_its_lease(shop: &Shop) {
    let table = samples(shop, 700).await;
    let mut lease = table.items.lock("a").await.unwrap();
    let fence = lease.fence();
    lease.update(|samples| samples.values = measurements(800, 2)).await.unwrap();
    lease.update(|samples| samples.values = measurements(700, 3)).await.unwrap();
    assert_eq!(shop.counts(["PutItem"]), [2]);
    expect_error!(table.others.update_with("a", |samples| samples.values = measurements(1, 9)).await, Error::Locked(_));
    lease.extend().await.unwrap();
    let samples = lease.release().await.unwrap();
    assert_eq!(table.others.get("a").await.unwrap(), Some(samples));
    assert_eq!(table.others.lock("a").await.unwrap().fence(), fence + 1);
}

async fn a_holder_commits_more_attributes_and_releases(shop: &Shop) {
    let table = samples(shop, 700).await;
    let lease = table.items.lock("a").await.unwrap();
    let samples = lease.commit(|samples| samples.values = measurements(800, 2)).await.unwrap();
    assert_eq!((samples.version(), shop.counts(["PutItem"])), (2, [1]));
    assert_eq!(table.others.get("a").await.unwrap(), Some(samples));
    let stored = table.raw.get("a").await.unwrap();
    assert_eq!((stored.get("_owner"), stored.get("_until")), (None, None));
    table.others.update_with("a", |samples| samples.values = measurements(1, 3)).await.unwrap();
}

async fn a_put_keeps_the_queue_of_a_fair_lease(shop: &Shop) {
    let table = samples(shop, 700).await;
    let mut lease = table.items.lock("a").fair().await.unwrap();
    let next = table.others.lock("a").fair().enter().await.unwrap();
    lease.update(|samples| samples.values = measurements(700, 2)).await.unwrap();
    assert_eq!(shop.counts(["PutItem"]), [1]);
    let fence = lease.fence();
    lease.commit(|samples| samples.values = measurements(700, 3)).await.unwrap();
    let next = next.await.unwrap();
    assert_eq!((next.fence(), next.values.0["m0"]), (fence + 1, 3));
}

async fn a_put_of_a_leased_item_is_refused(shop: &Shop) {
    let table = samples(shop, 700).await;
    let lease = table.others.lock("a").await.unwrap();
    let many = table.items.update_with("a", |samples| samples.values = measurements(700, 2));
    expect_error!(many.await, Error::Locked(_));
    lease.release().await.unwrap();
    table.items.update_with("a", |samples| samples.values = measurements(700, 2)).await.unwrap();
}

async fn a_lockable_item_is_replaced_whatever_its_size(shop: &Shop) {
    let table = samples(shop, 700).await;
    let lease = table.others.lock("a").await.unwrap();
    let fence = lease.fence();
    lease.release().await.unwrap();
    table.raw.set("a", "color", s("red")).await;
    let samples = changed(table.items.get("a").await.unwrap().unwrap(), |it| it.values = measurements(800, 2));
    let samples = table.items.replace(samples).await.unwrap();
    assert_eq!(table.others.get("a").await.unwrap(), Some(samples));
    assert_eq!(table.raw.get("a").await.unwrap().get("color"), None);
    assert_eq!(table.others.lock("a").await.unwrap().fence(), fence + 1);
}

async fn a_transaction_says_that_the_update_is_too_long(shop: &Shop) {
    let (table, mut readings) = readings(shop, 700).await;
    readings.values = measurements(700, 2);
    let remedy = expect_error!(commit(&shop.client, |tx| tx.update(&table.items, readings.clone())).await, Error::ExpressionTooLong { remedy, .. } => remedy);
    assert!(remedy.contains("use `Repository::update`"), "{remedy}");
    commit(&shop.client, |tx| tx.replace(&table.items, readings)).await.unwrap();
    assert_eq!(table.others.get("a").await.unwrap().unwrap().values, measurements(700, 2));
}

/// An item with attributes that a put of the value would lose or change.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Versioned)]
#[dynalock(table = "mixed")]
struct Mixed {
    #[dynalock(partition_key)]
    id: String,
    color: String,
    place: BTreeMap<String, String>,
    tags: Vec<String>,
    #[serde(default, skip_serializing)]
    legacy: Option<String>,
    #[serde(flatten)]
    values: Measurements,
}

async fn a_put_keeps_all_that_did_not_change(shop: &Shop) {
    let table = shop.table::<Mixed>().await;
    let mixed = Mixed {
        id: "a".to_owned(),
        color: "red".to_owned(),
        place: BTreeMap::from([("city".to_owned(), "Oslo".to_owned())]),
        tags: vec!["x".to_owned()],
        legacy: None,
        values: measurements(700, 1),
    };
    table.others.create(mixed).await.unwrap();
    table.raw.set("a", "legacy", s("precious")).await;
    table.raw.set("a", "tags", AttributeValue::Ss(vec!["x".to_owned()])).await;
    let mixed = table.items.get("a").await.unwrap().unwrap();
    // A program without versions writes the item in between.
    table.raw.set("a", "color", s("blue")).await;
    let mixed = table.items.update(changed(mixed, |it| it.values = measurements(700, 2))).await.unwrap();
    assert_eq!((mixed.version(), shop.counts(["PutItem"])), (2, [1]));
    let stored = table.raw.get("a").await.unwrap();
    assert_eq!((&stored["legacy"], &stored["color"], &stored["m0"]), (&s("precious"), &s("blue"), &n(2)));
    assert_eq!(stored["tags"], AttributeValue::Ss(vec!["x".to_owned()]));
    assert_eq!(stored["place"], AttributeValue::M([("city".to_owned(), s("Oslo"))].into()));
}

async fn a_put_takes_an_expired_head_out_of_the_queue_like_an_update(shop: &Shop) {
    let table = samples(shop, 700).await;
    let long_ago = AttributeValue::L(vec![s("dead:0/1000/1")]);
    table.raw.set("a", "_queue", long_ago).await;
    table.raw.set("a", "_fence", n(7)).await;
    let samples = changed(table.items.get("a").await.unwrap().unwrap(), |it| it.values = measurements(700, 2));
    assert_eq!(table.items.update(samples).await.unwrap().version(), 2);
    assert_eq!(table.raw.get("a").await.unwrap()["m0"], n(2));
}

async fn a_put_is_sent_again_after_a_lease_that_came_and_went(shop: &Shop) {
    let table = samples(shop, 700).await;
    let mut samples = table.items.get("a").await.unwrap().unwrap();
    let others = table.others.clone();
    shop.rival.before("PutItem", 0, async move || drop(others.lock("a").await.unwrap().release().await.unwrap()));
    samples.values = measurements(700, 2);
    assert_eq!(table.items.update(samples).await.unwrap().version(), 2);
    assert_eq!(shop.counts(["PutItem"]), [2]);
    assert!(table.raw.get("a").await.unwrap().contains_key("_fence"), "the fence of that lease is kept");
}

async fn a_put_of_an_item_that_its_holder_has_written_is_locked(shop: &Shop) {
    let table = samples(shop, 700).await;
    let samples = table.items.get("a").await.unwrap().unwrap();
    let mut lease = table.others.lock("a").await.unwrap();
    lease.update(|samples| samples.values.0.extend([("m0".to_owned(), 9)])).await.unwrap();
    expect_error!(table.items.update(changed(samples, |it| it.values = measurements(700, 2))).await, Error::Locked(_));
    lease.release().await.unwrap();
}
