//! Aliases of the attributes of a flattened field. The derive does not know these aliases.

use std::collections::BTreeMap;

use dynalock::{Error, Transaction, Versioned};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::support::{Item, Shop, changed, commit, expect_error, item, n, s, written_by_the_user};

cases![
    an_attribute_stored_under_an_alias_is_moved_by_an_update,
    an_attribute_stored_under_an_alias_is_gone_after_its_removal,
    a_null_under_an_alias_is_replaced_by_a_value,
    aliases_are_moved_by_an_update_of_a_value_that_was_just_written,
    aliases_are_moved_in_a_transaction,
    aliases_are_moved_under_a_lease,
    a_replace_leaves_no_alias,
    aliases_of_a_flattened_option_and_of_a_flattened_field_inside_it_are_moved,
    a_key_of_a_flattened_map_that_is_an_alias_is_refused,
    foreign_attributes_next_to_a_flattened_field_survive,
    an_update_costs_no_further_request,
    a_value_that_was_just_written_undoes_nothing_of_others,
    an_unchanged_value_that_was_just_written_sends_nothing,
    an_option_that_would_not_be_read_back_is_refused,
    a_value_of_the_wrong_type_is_no_alias,
    an_attribute_that_was_added_to_an_item_without_a_version_is_noticed,
    a_value_that_was_just_written_and_mirrors_its_version_is_written_again,
];

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Address {
    #[serde(alias = "town")]
    city: String,
    #[serde(default, alias = "postcode", alias = "plz", skip_serializing_if = "Option::is_none")]
    zip: Option<String>,
    #[serde(default, skip_serializing)]
    legacy: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Versioned)]
#[dynalock(table = "people")]
struct Person {
    #[dynalock(partition_key)]
    id: String,
    #[serde(flatten)]
    address: Address,
    visits: u64,
}

fn person() -> Person {
    let address = Address { city: "Bonn".to_owned(), zip: Some("53111".to_owned()), legacy: String::new() };
    Person { id: "a".to_owned(), address, visits: 1 }
}

/// Stores the person in the form of an older program.
fn older() -> Item {
    item([
        ("id", s("a")),
        ("town", s("Bonn")),
        ("postcode", s("53111")),
        ("legacy", s("x")),
        ("visits", n(1)),
        ("_version", n(1)),
    ])
}

/// Returns the attributes of an item without bookkeeping, sorted by name.
fn content(stored: &Item) -> Vec<&str> {
    let mut names: Vec<&str> = stored.keys().map(String::as_str).filter(|name| !name.starts_with('_')).collect();
    names.sort_unstable();
    names
}

async fn an_attribute_stored_under_an_alias_is_moved_by_an_update(shop: &Shop) {
    let table = shop.table_of_raw::<Person>([older()]).await;
    let person = table.items.update_with("a", |person| person.address.city = "Berlin".to_owned()).await.unwrap();
    assert_eq!(table.items.get("a").await.unwrap(), Some(person));
    let stored = table.raw.get("a").await.unwrap();
    assert_eq!(content(&stored), ["city", "id", "legacy", "postcode", "visits"]);
    let written = written_by_the_user(&shop.sent("UpdateItem")[0], "_version");
    assert_eq!(
        written,
        BTreeMap::from([("city".to_owned(), Some(json!({ "S": "Berlin" }))), ("town".to_owned(), None)])
    );
}

async fn an_attribute_stored_under_an_alias_is_gone_after_its_removal(shop: &Shop) {
    let table = shop.table_of_raw::<Person>([older()]).await;
    let person = table.items.update_with("a", |person| person.address.zip = None).await.unwrap();
    assert_eq!(person.address.zip, None);
    assert_eq!(table.items.get("a").await.unwrap(), Some(person));
    assert_eq!(content(&table.raw.get("a").await.unwrap()), ["id", "legacy", "town", "visits"]);
}

async fn a_null_under_an_alias_is_replaced_by_a_value(shop: &Shop) {
    let table = shop.table::<Person>().await;
    let mut older = older();
    older.insert("postcode".to_owned(), aws_sdk_dynamodb::types::AttributeValue::Null(true));
    table.raw.put(older).await;
    let person = table.items.update_with("a", |person| person.address.zip = Some("10115".to_owned())).await.unwrap();
    assert_eq!(table.items.get("a").await.unwrap(), Some(person));
    assert_eq!(content(&table.raw.get("a").await.unwrap()), ["id", "legacy", "town", "visits", "zip"]);
}

async fn aliases_are_moved_by_an_update_of_a_value_that_was_just_written(shop: &Shop) {
    let table = shop.table_of_raw::<Person>([older()]).await;
    let mut person = table.items.update_with("a", |person| person.visits += 1).await.unwrap();
    person.address.city = "Berlin".to_owned();
    person.address.zip = None;
    let person = table.items.update(person).await.unwrap();
    assert_eq!((person.version(), table.items.get("a").await.unwrap()), (3, Some(person)));
    assert_eq!(content(&table.raw.get("a").await.unwrap()), ["city", "id", "legacy", "visits"]);
}

async fn aliases_are_moved_in_a_transaction(shop: &Shop) {
    let table = shop.table_of_raw::<Person>([older()]).await;
    dynalock::transact(&shop.client, |tx| {
        let people = table.items.clone();
        async move {
            let person = changed(tx.get(&people, "a").await?.unwrap(), |it| it.address.city = "Berlin".to_owned());
            tx.update(&people, person);
            Ok::<_, Error>(())
        }
    })
    .await
    .unwrap();
    assert_eq!(content(&table.raw.get("a").await.unwrap()), ["city", "id", "legacy", "postcode", "visits"]);

    let person = table.items.update_with("a", |person| person.visits += 1).await.unwrap();
    commit(&shop.client, |tx| tx.update(&table.items, changed(person, |it| it.address.zip = None))).await.unwrap();
    assert_eq!(content(&table.raw.get("a").await.unwrap()), ["city", "id", "legacy", "visits"]);
    assert_eq!(table.items.get("a").await.unwrap().unwrap().address.zip, None);
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Versioned)]
#[dynalock(table = "leased")]
#[lockable]
struct Leased {
    #[dynalock(partition_key)]
    id: String,
    #[dynalock(version)]
    rev: u64,
    #[serde(flatten)]
    address: Address,
    visits: u64,
}

async fn aliases_are_moved_under_a_lease(shop: &Shop) {
    let table = shop.table::<Leased>().await;
    let mut older = older();
    older.remove("_version");
    older.insert("rev".to_owned(), n(1));
    table.raw.put(older).await;
    let mut leased = table.items.lock("a").await.unwrap();
    leased.update(|leased| leased.visits += 1).await.unwrap();
    leased.update(|leased| leased.address.city = "Berlin".to_owned()).await.unwrap();
    let leased = leased.commit(|leased| leased.address.zip = None).await.unwrap();
    assert_eq!(table.items.get("a").await.unwrap(), Some(leased.clone()));

    let mut leased = changed(leased, |it| it.address.zip = Some("10115".to_owned()));
    leased.address.legacy.clear();
    let leased = table.items.replace(leased).await.unwrap();
    assert_eq!(table.items.get("a").await.unwrap(), Some(leased));
    assert_eq!(content(&table.raw.get("a").await.unwrap()), ["city", "id", "rev", "visits", "zip"]);
}

async fn a_replace_leaves_no_alias(shop: &Shop) {
    let table = shop.table_of_raw::<Person>([older()]).await;
    let read = table.items.get("a").await.unwrap().unwrap();
    table.items.replace(read).await.unwrap();
    assert_eq!(content(&table.raw.get("a").await.unwrap()), ["city", "id", "visits", "zip"]);
    assert_eq!(table.items.get("a").await.unwrap().unwrap().into_inner(), person());
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Contact {
    #[serde(alias = "phone")]
    telephone: String,
    #[serde(flatten)]
    address: Option<Address>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Versioned)]
#[dynalock(table = "customers")]
struct Customer {
    #[dynalock(partition_key)]
    id: String,
    #[serde(flatten)]
    contact: Contact,
}

async fn aliases_of_a_flattened_option_and_of_a_flattened_field_inside_it_are_moved(shop: &Shop) {
    let table = shop.table::<Customer>().await;
    let older = [("id", s("a")), ("phone", s("1")), ("town", s("Bonn")), ("_version", n(1))];
    table.raw.put(item(older)).await;
    let change = |customer: &mut Customer| {
        customer.contact.telephone = "2".to_owned();
        customer.contact.address.as_mut().unwrap().city = "Berlin".to_owned();
    };
    let customer = table.items.update_with("a", change).await.unwrap();
    assert_eq!(table.items.get("a").await.unwrap(), Some(customer));
    assert_eq!(content(&table.raw.get("a").await.unwrap()), ["city", "id", "telephone"]);
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Versioned)]
#[dynalock(table = "measurements")]
struct Measurement {
    #[dynalock(partition_key)]
    id: String,
    #[serde(alias = "sum")]
    total: u64,
    #[serde(flatten)]
    values: BTreeMap<String, u64>,
}

const TOGETHER: &str = "the item could not be read back: this write would store an attribute and its alias, or two \
                        fields, together";

async fn a_key_of_a_flattened_map_that_is_an_alias_is_refused(shop: &Shop) {
    let table = shop.table::<Measurement>().await;
    let values = |name: &str| BTreeMap::from([(name.to_owned(), 1)]);
    let refused = Measurement { id: "a".to_owned(), total: 1, values: values("sum") };
    let error = expect_error!(table.items.create(refused).await, Error::Encode(error) => error);
    assert_eq!((error.attribute(), error.reason().to_string()), (None, TOGETHER.to_owned()));
    let accepted = Measurement { id: "a".to_owned(), total: 1, values: values("wind") };
    let stored = table.items.create(accepted).await.unwrap();
    let change = |measurement: &mut Measurement| {
        measurement.values.insert("sum".to_owned(), 2);
    };
    let error = expect_error!(table.items.update_with("a", change).await, Error::Encode(error) => error);
    assert_eq!((error.attribute(), error.reason().to_string()), (Some("sum"), TOGETHER.to_owned()));
    assert_eq!(shop.counts(["PutItem", "UpdateItem"]), [1, 0]);
    assert_eq!(table.items.get("a").await.unwrap(), Some(stored));
}

async fn foreign_attributes_next_to_a_flattened_field_survive(shop: &Shop) {
    let table = shop.table::<Person>().await;
    table.items.create(person()).await.unwrap();
    table.raw.set("a", "town-twinning", s("Oxford")).await;
    let change = |person: &mut Person| {
        person.address.city = "Berlin".to_owned();
        person.address.zip = None;
    };
    table.items.update_with("a", change).await.unwrap();
    assert_eq!(content(&table.raw.get("a").await.unwrap()), ["city", "id", "town-twinning", "visits"]);
}

async fn an_update_costs_no_further_request(shop: &Shop) {
    let table = shop.table::<Person>().await;
    table.items.create(person()).await.unwrap();
    table.items.update_with("a", |person| person.address.city = "Berlin".to_owned()).await.unwrap();
    let read = changed(table.items.get("a").await.unwrap().unwrap(), |it| it.address.zip = None);
    table.items.update(read).await.unwrap();
    assert_eq!(shop.counts(["GetItem", "UpdateItem"]), [2, 2]);
}

async fn a_value_that_was_just_written_undoes_nothing_of_others(shop: &Shop) {
    let (table, person) = shop.created(person()).await;
    // This program does not write versions.
    table.raw.set("a", "visits", n(50)).await;
    let person = table.items.update(changed(person, |it| it.address.city = "Berlin".to_owned())).await.unwrap();
    let stored = table.raw.get("a").await.unwrap();
    assert_eq!((&stored["visits"], &stored["city"]), (&n(50), &s("Berlin")));
    table.items.update(changed(person, |it| it.address.zip = None)).await.unwrap();
    assert_eq!(table.raw.get("a").await.unwrap()["visits"], n(50));
    assert_eq!(shop.counts(["GetItem"]), [0]);
}

async fn an_unchanged_value_that_was_just_written_sends_nothing(shop: &Shop) {
    let (table, person) = shop.created(person()).await;
    table.others.update_with("a", |person| person.visits += 1).await.unwrap();
    let requests = shop.requests();
    assert_eq!(table.items.update(person).await.unwrap().version(), 1);
    assert_eq!(shop.requests(), requests);
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Discount {
    #[serde(alias = "rebate")]
    percent: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    until: Option<u64>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Versioned)]
#[dynalock(table = "offers")]
struct Offer {
    #[dynalock(partition_key)]
    id: String,
    #[serde(flatten)]
    discount: Option<Discount>,
}

/// Serde reads a flattened option as `None` if it cannot read the value.
async fn an_option_that_would_not_be_read_back_is_refused(shop: &Shop) {
    for other in [("percent", "rebate"), ("rebate", "percent")] {
        let table = shop.table::<Offer>().await;
        table.items.create(Offer { id: "a".to_owned(), discount: None }).await.unwrap();
        table.raw.set("a", other.0, n(1)).await;
        table.raw.set("a", other.1, n(2)).await;
        let offer = table.items.update_with("a", |offer| offer.discount = Some(Discount { percent: 5, until: None }));
        expect_error!(offer.await, Error::Encode(_));
        let stored = table.raw.get("a").await.unwrap();
        assert_eq!((&stored[other.0], &stored[other.1]), (&n(1), &n(2)));
    }
}

async fn a_value_of_the_wrong_type_is_no_alias(shop: &Shop) {
    let table = shop.table::<Offer>().await;
    table.items.create(Offer { id: "a".to_owned(), discount: None }).await.unwrap();
    table.raw.set("a", "until", s("Christmas")).await;
    let offer = table.items.update_with("a", |offer| offer.discount = Some(Discount { percent: 5, until: None }));
    let error = expect_error!(offer.await, Error::Encode(error) => error);
    let why = "the item could not be read back: serde would not read this attribute, because an alias or another \
               attribute is stored beside it";
    assert_eq!((error.attribute(), error.reason().to_string()), (Some("percent"), why.to_owned()));
    assert_eq!(table.raw.get("a").await.unwrap()["until"], s("Christmas"));
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Place {
    city: String,
    zip: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Versioned)]
#[dynalock(table = "visitors")]
struct Visitor {
    #[dynalock(partition_key)]
    id: String,
    #[serde(flatten)]
    place: Place,
    visits: u64,
}

async fn an_attribute_that_was_added_to_an_item_without_a_version_is_noticed(shop: &Shop) {
    let table = shop.table_of_raw::<Visitor>([item([("id", s("a")), ("city", s("Bonn")), ("visits", n(1))])]).await;
    let visitor = table.items.get("a").await.unwrap().unwrap();
    table.raw.set("a", "zip", s("53111")).await;
    expect_error!(table.items.update(changed(visitor, |it| it.visits += 1)).await, Error::Conflict(_));
    assert_eq!(table.raw.get("a").await.unwrap()["zip"], s("53111"));
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Versioned)]
#[dynalock(table = "residents")]
struct Resident {
    #[dynalock(partition_key)]
    id: String,
    #[dynalock(version)]
    rev: u64,
    #[serde(flatten)]
    address: Address,
    visits: u64,
}

/// Serde writes no version, but cannot read the value without a version.
async fn a_value_that_was_just_written_and_mirrors_its_version_is_written_again(shop: &Shop) {
    let table = shop.table::<Resident>().await;
    let resident = |id: &str| Resident { id: id.to_owned(), rev: 0, address: person().address, visits: 1 };

    let created = changed(table.items.create(resident("a")).await.unwrap(), |it| it.address.city = "Berlin".to_owned());
    let updated = changed(table.items.update(created).await.unwrap(), |it| it.address.zip = None);
    let replaced = changed(table.items.replace(updated).await.unwrap(), |it| it.visits += 1);
    let updated = table.items.update(replaced).await.unwrap();
    assert_eq!((updated.rev, &*updated.address.city, updated.visits), (4, "Berlin", 2));
    assert_eq!(table.items.get("a").await.unwrap(), Some(updated));

    for rev in [2, 4] {
        let upsert = table.items.upsert_with("b", || resident("b"), |resident| resident.visits += 1);
        let mut upserted = upsert.await.unwrap();
        upserted.address.city.push('!');
        let updated = table.items.update(upserted).await.unwrap();
        assert_eq!(updated.rev, rev);
        assert_eq!(table.items.get("b").await.unwrap(), Some(updated));
    }

    let mut tx = Transaction::new(&shop.client);
    let creation = tx.create(&table.items, resident("c"));
    let committed = tx.commit().await.unwrap();
    let created = changed(committed.get(creation).unwrap(), |it| it.address.zip = None);
    let updated = table.items.update(created).await.unwrap();
    assert_eq!(updated.rev, 2);
    assert_eq!(table.items.get("c").await.unwrap(), Some(updated));
}
