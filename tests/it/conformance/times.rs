//! The times of the create and of the last write, which the library keeps.

use std::{
    collections::BTreeMap,
    time::{SystemTime, UNIX_EPOCH},
};

use dynalock::{Error, Repository, Stored, Transaction, Versioned, local::Fault, private::ClockAhead as _};
use serde::{Deserialize, Serialize};

use crate::support::{Item, Shop, Table, changed, expect_error, item, n, s, together};

cases![
    a_create_sets_both_times,
    each_write_sets_the_last_time_and_keeps_the_first,
    combined_calls_keep_the_first_time,
    a_transaction_and_a_unit_of_work_set_the_times,
    a_time_of_the_caller_is_overwritten,
    a_value_without_changes_is_not_written,
    the_returned_times_are_the_stored_ones_after_a_lost_reply,
    an_item_of_another_program_gets_the_last_time_alone,
    a_holder_sets_the_last_time_and_a_lease_does_not,
    a_replace_of_a_leased_item_keeps_the_first_time,
    a_type_with_a_flattened_field_has_times,
    a_put_of_many_attributes_sets_the_last_time,
    an_index_has_the_order_of_the_times,
    a_repeated_transaction_under_a_token_is_recognised,
];

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Versioned)]
#[serde(rename_all = "camelCase")]
#[dynalock(table = "notes", index(name = "by_author", partition_key = "author", sort_key = "written_at"))]
struct Note {
    #[dynalock(partition_key)]
    id: String,
    author: String,
    text: String,
    #[dynalock(created_at)]
    written_at: u64,
    #[dynalock(updated_at = "millis")]
    changed_at: Option<i64>,
}

impl Note {
    fn new(id: &str, text: &str) -> Self {
        Self { id: id.to_owned(), author: "ann".to_owned(), text: text.to_owned(), written_at: 7, changed_at: None }
    }
}

/// The time of day in epoch milliseconds.
#[expect(clippy::disallowed_methods, reason = "the times are times of day")]
fn millis() -> i64 {
    i64::try_from(SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis()).unwrap()
}

/// The times of a value.
fn times(note: &Note) -> (i64, i64) {
    (i64::try_from(note.written_at).unwrap(), note.changed_at.unwrap())
}

/// A table with a note, and the repository of a caller whose clock is this number of seconds ahead.
async fn noted(shop: &Shop) -> (Table<Note>, Stored<Note>, impl Fn(i64) -> Repository<Note>) {
    let table = shop.table::<Note>().await;
    let note = table.items.create(Note::new("a", "one")).await.unwrap();
    let items = table.items.clone();
    (table, note, move |seconds| items.clone().clock_ahead_by_millis(seconds * 1000))
}

async fn a_create_sets_both_times(shop: &Shop) {
    let before = millis();
    let (table, note, _) = noted(shop).await;
    let (created, updated) = times(&note);
    assert!((before..=millis()).contains(&updated), "{updated}");
    assert_eq!(created, updated / 1000);
    let stored = table.raw.get("a").await.unwrap();
    assert_eq!((&stored["writtenAt"], &stored["changedAt"]), (&n(created), &n(updated)));
    assert_eq!(table.items.get("a").await.unwrap(), Some(note));
    let new = table.items.upsert_with("b", || Note::new("b", "new"), |_| {}).await.unwrap();
    assert!(times(&new).0 >= created);
}

async fn each_write_sets_the_last_time_and_keeps_the_first(shop: &Shop) {
    let (table, mut note, ahead) = noted(shop).await;
    let (created, mut last) = times(&note);
    for round in 1..=8 {
        let items = ahead(round * 1000);
        note.text = format!("{round}");
        note = match round {
            1 => items.update(note).await,
            2 => items.touch(note).await,
            3 => items.replace(note).await,
            4 => items.update_with("a", |note| note.text = "with".to_owned()).await,
            5 => {
                let tried = |note: &mut Note| {
                    note.text = "tried".to_owned();
                    Ok::<_, Error>(())
                };
                items.try_update_with("a", tried).await
            }
            6 => items.upsert_with("a", || Note::new("a", ""), |note| note.text = "upserted".to_owned()).await,
            7 => items.update(note).exactly_once().await,
            _ => items.patch("a").set(Note::ATTR.text, "patched").await,
        }
        .unwrap();
        let (first, updated) = times(&note);
        assert_eq!(first, created, "round {round}");
        assert!((1_000_000..1_060_000).contains(&(updated - last)), "round {round}: {updated} after {last}");
        let stored = table.raw.get("a").await.unwrap();
        assert_eq!((&stored["writtenAt"], &stored["changedAt"]), (&n(created), &n(updated)), "round {round}");
        last = updated;
    }
}

/// The second batch starts from the item after the first batch.
async fn combined_calls_keep_the_first_time(shop: &Shop) {
    let table = shop.table::<Note>().await;
    let notes = table.items.combining();
    let calls = (0..150).map(|_| notes.upsert_with("a", || Note::new("a", ""), |note| note.text.push('x')));
    let results: Vec<_> = together(calls).await.into_iter().map(Result::unwrap).collect();
    assert_eq!(shop.counts(["GetItem", "PutItem"]), [1, 1]);
    let stored = table.raw.get("a").await.unwrap();
    for note in results {
        assert_eq!(stored["writtenAt"], n(times(&note).0));
    }
}

async fn a_transaction_and_a_unit_of_work_set_the_times(shop: &Shop) {
    let (table, note, ahead) = noted(shop).await;
    let (created, _) = times(&note);
    let other = table.items.create(Note::new("b", "one")).await.unwrap();
    let later = &ahead(1000);
    let mut tx = Transaction::new(&shop.client);
    let update = tx.update(later, changed(note, |note| note.text = "two".to_owned()));
    let replace = tx.replace(later, other);
    let create = tx.create(later, Note::new("c", "one"));
    let committed = tx.commit().await.unwrap();
    for operation in [update, replace, create] {
        let written = committed.get(operation).unwrap();
        let is_new = written.id == "c";
        let (first, last) = times(&written);
        assert_eq!(first >= created + 1000, is_new, "{written:?}");
        assert!(last >= (created + 1000) * 1000, "{written:?}");
        assert_eq!(table.others.get(&*written.id).await.unwrap(), Some(written));
    }
    let later = &ahead(2000);
    let worked: Result<(), Error> = dynalock::transact(&shop.client, |tx| async move {
        let mut note = tx.get(later, "a").await?.unwrap();
        note.text = "three".to_owned();
        tx.update(later, note);
        tx.create(later, Note::new("d", "one"));
        Ok(())
    })
    .await;
    worked.unwrap();
    let (note, new) = (table.items.get("a").await.unwrap().unwrap(), table.items.get("d").await.unwrap().unwrap());
    assert_eq!(times(&note).0, created);
    assert!(times(&note).1 >= (created + 2000) * 1000 && times(&new).0 >= created + 2000);
}

async fn a_time_of_the_caller_is_overwritten(shop: &Shop) {
    let (table, note, _) = noted(shop).await;
    let created = times(&note).0;
    let forge = |note: &mut Note| {
        note.text.push('!');
        (note.written_at, note.changed_at) = (1, Some(2));
    };
    let updated = table.items.update(changed(note, |note| forge(note))).await.unwrap();
    let replaced = table.items.replace(changed(updated.clone(), |note| forge(note))).await.unwrap();
    for note in [updated, replaced, table.items.update_with("a", forge).await.unwrap()] {
        assert!(times(&note).0 == created && times(&note).1 > 2, "{note:?}");
    }
    assert_eq!(table.raw.get("a").await.unwrap()["writtenAt"], n(created));
}

async fn a_value_without_changes_is_not_written(shop: &Shop) {
    let (table, note, _) = noted(shop).await;
    let before = shop.requests();
    let same = table.items.update(changed(note.clone(), |note| note.written_at = 1)).await.unwrap();
    assert_eq!((&same, shop.requests()), (&note, before), "the time is the stored one again");
    let same = table.items.update_with("a", |note| note.changed_at = None).await.unwrap();
    assert_eq!((same, shop.counts(["UpdateItem"])), (note, [0]));
}

async fn the_returned_times_are_the_stored_ones_after_a_lost_reply(shop: &Shop) {
    let (table, note, _) = noted(shop).await;
    shop.faults.script_on("UpdateItem", 0, Fault::LoseReply);
    let note = table.items.update(changed(note, |note| note.text = "two".to_owned())).await.unwrap();
    shop.faults.script_on("PutItem", 0, Fault::LoseReply);
    let new = table.items.create(Note::new("b", "one")).await.unwrap();
    assert_eq!(table.others.get("a").await.unwrap(), Some(note));
    assert_eq!(table.others.get("b").await.unwrap(), Some(new));
}

async fn an_item_of_another_program_gets_the_last_time_alone(shop: &Shop) {
    #[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Versioned)]
    #[dynalock(table = "notes")]
    struct Old {
        #[dynalock(partition_key)]
        id: String,
        text: String,
        #[dynalock(created_at)]
        written: Option<u64>,
        #[serde(default)]
        #[dynalock(updated_at)]
        changed: u64,
    }
    let foreign = item([("id", s("a")), ("text", s("one"))]);
    let table = shop.table_of_raw::<Old>([foreign]).await;
    let old = table.items.get("a").await.unwrap().unwrap();
    assert_eq!((old.written, old.changed), (None, 0));
    let new = table.items.update(changed(old, |old| old.written = Some(3))).await.unwrap();
    assert_eq!((new.written, new.version()), (None, 0), "there was no change");
    let new = table.items.touch(new).await.unwrap();
    assert!(new.written.is_none() && i64::try_from(new.changed).unwrap() >= millis() / 1000 - 60, "{new:?}");
    let stored: Item = table.raw.get("a").await.unwrap();
    assert_eq!((stored.get("written"), &stored["changed"]), (None, &n(new.changed)));
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Versioned)]
#[dynalock(table = "papers")]
#[lockable(ttl = "30s")]
struct Paper {
    #[dynalock(partition_key)]
    id: String,
    text: String,
    #[dynalock(created_at = "millis")]
    created: i64,
    #[dynalock(updated_at = "millis")]
    updated: i64,
}

impl Paper {
    fn new(id: &str) -> Self {
        Self { id: id.to_owned(), text: String::new(), created: 0, updated: 0 }
    }
}

async fn a_holder_sets_the_last_time_and_a_lease_does_not(shop: &Shop) {
    let (table, paper) = shop.created(Paper::new("a")).await;
    let later = table.items.clone().clock_ahead_by_millis(1000);
    let mut held = later.lock("a").await.unwrap();
    held.extend().await.unwrap();
    assert_eq!((held.created, held.updated), (paper.created, paper.updated));
    held.update(|paper| paper.text = "one".to_owned()).await.unwrap();
    let updated = held.updated;
    assert!(held.created == paper.created && updated >= paper.updated + 1000, "{:?}", *held);
    held.update(|_| {}).await.unwrap();
    assert_eq!(held.updated, updated, "nothing was written");
    let paper = held.commit(|paper| paper.text = "two".to_owned()).await.unwrap();
    assert!(paper.updated >= updated);
    assert_eq!(table.others.get("a").await.unwrap(), Some(paper));
}

async fn a_replace_of_a_leased_item_keeps_the_first_time(shop: &Shop) {
    let (table, paper) = shop.created(Paper::new("a")).await;
    table.items.lock("a").await.unwrap().release().await.unwrap();
    let later = table.items.clone().clock_ahead_by_millis(1000);
    let replaced = later.replace(changed(paper.clone(), |paper| paper.text = "one".to_owned())).await.unwrap();
    assert!(replaced.created == paper.created && replaced.updated >= paper.updated + 1000, "{replaced:?}");
    assert_eq!(table.others.get("a").await.unwrap(), Some(replaced));
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Versioned)]
#[dynalock(table = "readings")]
struct Readings {
    #[dynalock(partition_key)]
    id: String,
    #[dynalock(created_at)]
    created: u64,
    #[dynalock(updated_at = "millis")]
    updated: i64,
    #[serde(flatten)]
    values: BTreeMap<String, i64>,
}

impl Readings {
    fn of(count: i64) -> Self {
        let values = (0..count).map(|number| (format!("m{number:04}"), number)).collect();
        Self { id: "a".to_owned(), created: 0, updated: 0, values }
    }
}

async fn a_type_with_a_flattened_field_has_times(shop: &Shop) {
    let (table, first) = shop.created(Readings::of(3)).await;
    assert!(first.created > 0 && first.updated > 0, "{first:?}");
    let later = table.items.clone().clock_ahead_by_millis(1000);
    let second = later.update(changed(first.clone(), |it| it.values.insert("m0000".to_owned(), 9))).await.unwrap();
    assert!(second.created == first.created && second.updated >= first.updated + 1000, "{second:?}");
    assert_eq!((second.values.len(), table.others.get("a").await.unwrap()), (3, Some(second)));
}

async fn a_put_of_many_attributes_sets_the_last_time(shop: &Shop) {
    let (table, first) = shop.created(Readings::of(900)).await;
    let later = table.items.clone().clock_ahead_by_millis(1000);
    let all = |it: &mut Stored<Readings>| it.values.values_mut().for_each(|value| *value += 1);
    let second = later.update(changed(first.clone(), all)).await.unwrap();
    assert_eq!(shop.counts(["UpdateItem"]), [0], "its expression would be too long");
    assert!(second.created == first.created && second.updated >= first.updated + 1000, "{second:?}");
    assert_eq!(table.others.get("a").await.unwrap(), Some(second));
}

async fn an_index_has_the_order_of_the_times(shop: &Shop) {
    let (table, note, ahead) = noted(shop).await;
    ahead(-1000).create(Note::new("b", "earlier")).await.unwrap();
    ahead(1000).create(Note::new("c", "later")).await.unwrap();
    let by_ann = || table.items.query_index(Note::INDEX.by_author, "ann");
    let ids = |notes: Vec<Stored<Note>>| notes.into_iter().map(|note| note.into_inner().id).collect::<Vec<_>>();
    assert_eq!(ids(by_ann().collect().await.unwrap()), ["b", "a", "c"]);
    assert_eq!(ids(by_ann().sort(note.written_at..).collect().await.unwrap()), ["a", "c"]);
    let recent = table.items.scan().filter(Note::ATTR.changed_at.gt(note.changed_at.unwrap())).count().await.unwrap();
    assert_eq!(recent, 1);
}

async fn a_repeated_transaction_under_a_token_is_recognised(shop: &Shop) {
    let (table, note, ahead) = noted(shop).await;
    let commit = async |items: &Repository<Note>| {
        let mut tx = Transaction::new(&shop.client).token(table.name());
        tx.update(items, changed(note.clone(), |note| note.text = "two".to_owned()));
        tx.commit().await.map(drop)
    };
    commit(&table.items).await.unwrap();
    expect_error!(commit(&ahead(1)).await, Error::AlreadyCommitted { .. });
    assert_eq!(table.items.get("a").await.unwrap().unwrap().version(), 2);
}
