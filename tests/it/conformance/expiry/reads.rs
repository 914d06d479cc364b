//! Reads leave expired items out.

use dynalock::{Error, Stored, private::ClockAhead as _};

use super::{Session, now, sessions, table, table_of};
use crate::support::{Shop, changed, expect_error, item, n, s, secs};

cases![
    an_expired_item_is_absent,
    an_expired_item_is_returned_if_asked_for,
    queries_and_scans_leave_expired_items_out,
    a_page_has_as_many_living_items_as_asked_for,
    an_index_without_the_time_cannot_tell,
    the_allowed_clock_skew_counts_as_life,
    an_item_without_a_time_that_counts_lives,
    an_expired_value_can_be_written_while_it_is_unchanged,
    update_with_finds_no_expired_item,
];

fn ids(sessions: Vec<Stored<Session>>) -> Vec<String> {
    let mut ids: Vec<_> = sessions.into_iter().map(|session| session.into_inner().id).collect();
    ids.sort_unstable();
    ids
}

async fn an_expired_item_is_absent(shop: &Shop) {
    let table = sessions(shop).await;
    assert_eq!(table.items.get("over").await.unwrap(), None);
    assert_eq!(table.items.get("over").eventually_consistent().await.unwrap(), None);
    assert!(table.items.get("alive").await.unwrap().is_some());
    let many = table.items.get_many(["over", "alive", "over", "missing"]).await.unwrap();
    assert_eq!(many.iter().map(Option::is_some).collect::<Vec<_>>(), [false, true, false, false]);
    assert!(table.raw.get("over").await.is_some(), "DynamoDB has not deleted it");
}

async fn an_expired_item_is_returned_if_asked_for(shop: &Shop) {
    let table = sessions(shop).await;
    let over = table.items.get("over").including_expired().await.unwrap().unwrap();
    assert_eq!((over.version(), over.id.as_str()), (1, "over"));
    let many = table.items.get_many(["over", "alive", "missing"]).including_expired().await.unwrap();
    assert_eq!(many.iter().map(Option::is_some).collect::<Vec<_>>(), [true, true, false]);
    assert_eq!(ids(table.items.scan().including_expired().collect().await.unwrap()), ["alive", "over"]);
    assert_eq!(table.items.scan().including_expired().count().await.unwrap(), 2);
    let read = table.items.decode(table.raw.get("over").await.unwrap()).unwrap();
    assert_eq!(read, over, "an item that the SDK has read is returned as it is");
}

async fn queries_and_scans_leave_expired_items_out(shop: &Shop) {
    let table = sessions(shop).await;
    assert_eq!(ids(table.items.scan().collect().await.unwrap()), ["alive"]);
    assert_eq!(ids(table.items.scan().segments(3).collect().await.unwrap()), ["alive"]);
    assert_eq!(ids(table.items.query("over").collect().await.unwrap()), [""; 0]);
    assert_eq!((table.items.scan().count().await.unwrap(), table.items.query("over").count().await.unwrap()), (1, 0));
    let by_user = || table.items.query_index(Session::INDEX.by_user, "ann");
    assert_eq!(ids(by_user().collect().await.unwrap()), ["alive"]);
    assert_eq!(by_user().first().await.unwrap().unwrap().id, "alive", "the expired one is the first of the index");
    assert_eq!((by_user().count().await.unwrap(), by_user().including_expired().count().await.unwrap()), (1, 2));
    assert_eq!(by_user().sort(..=now()).count().await.unwrap(), 0, "the time is a key of the index");
    assert_eq!(table.items.scan().filter(Session::ATTR.user.eq("ann")).count().await.unwrap(), 1);
}

async fn a_page_has_as_many_living_items_as_asked_for(shop: &Shop) {
    let table = table::<Session>(shop).await;
    for number in 0..40_u64 {
        let until = if number % 4 == 0 { now() + 3600 + number } else { now() - 1000 + number };
        table.others.create(Session::until(&format!("{number}"), until)).await.unwrap();
    }
    let (mut token, mut found) = (None, Vec::new());
    for _ in 0..20 {
        let page = table.items.query_index(Session::INDEX.by_user, "ann").limit(3).page(token).await.unwrap();
        assert!(page.items.len() <= 3, "{}", page.items.len());
        found.extend(page.items.into_iter().map(|session| session.unwrap()));
        token = page.next;
        if token.is_none() {
            break;
        }
    }
    assert_eq!((found.len(), token), (10, None));
    let limited = table.items.scan().limit(4).collect().await.unwrap();
    assert!(limited.len() == 4 && limited.iter().all(|session| session.until > Some(now())), "{limited:?}");
    assert_eq!(table.items.scan().limit(4).count().await.unwrap(), 4);
}

async fn an_index_without_the_time_cannot_tell(shop: &Shop) {
    let table = sessions(shop).await;
    let keys = || table.items.query_index(Session::INDEX.keys_by_user, "ann");
    assert_eq!((keys().collect().await.unwrap().len(), keys().count().await.unwrap()), (2, 2));
    assert_eq!(ids(keys().fetch().collect().await.unwrap()), ["alive"]);
    assert_eq!(ids(keys().fetch().including_expired().collect().await.unwrap()), ["alive", "over"]);
}

async fn the_allowed_clock_skew_counts_as_life(shop: &Shop) {
    let table = table_of(shop, [Session::until("a", now() - 30)]).await;
    assert_eq!(table.items.get("a").await.unwrap(), None, "two seconds are allowed by default");
    let patient = table.items.clone().expires_skew(secs(60));
    assert!(patient.get("a").await.unwrap().is_some());
    expect_error!(patient.create(Session::alive("a")).await, Error::AlreadyExists(_));
    let later = patient.clone().clock_ahead_by_millis(31_000);
    assert_eq!(later.get("a").await.unwrap(), None);
    let behind = table.items.clone().clock_ahead_by_millis(-40_000);
    assert!(behind.get("a").await.unwrap().is_some());
    assert_eq!(later.create(Session::alive("a")).await.unwrap().version(), 1);
}

async fn an_item_without_a_time_that_counts_lives(shop: &Shop) {
    let table = table::<Session>(shop).await;
    let six_years = 6 * 366 * 24 * 3600;
    for (id, until) in [("zero", Some(n(0))), ("old", Some(n(now() - six_years))), ("none", None)] {
        let mut foreign = item([("id", s(id)), ("user", s("ann")), ("created", n(1))]);
        foreign.extend(until.map(|until| ("until".to_owned(), until)));
        table.raw.put(foreign).await;
        assert!(table.items.get(id).await.unwrap().is_some(), "{id}");
        expect_error!(table.items.create(Session::alive(id)).await, Error::AlreadyExists(_));
    }
    assert_eq!(table.items.scan().count().await.unwrap(), 3);
}

async fn an_expired_value_can_be_written_while_it_is_unchanged(shop: &Shop) {
    let table = sessions(shop).await;
    let over = table.items.get("over").including_expired().await.unwrap().unwrap();
    let revived = table.items.update(changed(over.clone(), |it| it.until = Some(now() + 60))).await.unwrap();
    assert_eq!((revived.version(), revived.created), (2, over.created));
    assert_eq!(table.items.get("over").await.unwrap(), Some(revived));
    expect_error!(table.items.touch(over).await, Error::Conflict(_));
}

async fn update_with_finds_no_expired_item(shop: &Shop) {
    let table = sessions(shop).await;
    expect_error!(table.items.update_with("over", |it| it.user = "bob".to_owned()).await, Error::NotFound { .. });
    // The item expires between the read and a conflict.
    let others = table.others.clone();
    shop.rival.before("UpdateItem", 0, async move || {
        others.update_with("alive", |it| it.until = Some(now() - 100)).await.unwrap();
    });
    expect_error!(table.items.update_with("alive", |it| it.user = "bob".to_owned()).await, Error::NotFound { .. });
}
