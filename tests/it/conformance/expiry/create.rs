//! A create writes over an expired item, in a new incarnation.

use dynalock::{Error, Repository, local::Fault};

use super::{Session, now, sessions, table};
use crate::support::{Shop, Table, changed, expect_error, item, n, s};

cases![
    a_create_writes_over_an_expired_item,
    a_create_over_an_expired_item_takes_two_attempts,
    a_value_of_the_expired_life_is_refused,
    a_create_exactly_once_writes_over_an_expired_item,
    an_upsert_writes_over_an_expired_item_without_a_refusal,
    combined_calls_write_over_an_expired_item,
    an_item_of_another_program_that_expired_is_replaced,
    an_expired_item_that_does_not_fit_is_replaced,
    an_expired_item_that_was_revived_is_not_replaced,
    an_expired_item_that_a_program_without_versions_revived_is_not_replaced,
    an_expired_item_that_such_a_program_keeps_expired_is_replaced,
    an_expired_item_that_is_deleted_meanwhile_is_created,
    an_expired_item_that_was_replaced_by_another_create_stays,
    a_second_expired_item_is_met,
    a_lost_reply_of_the_write_over_an_expired_item_is_recognised,
    a_create_of_an_item_that_is_born_expired_is_a_success,
];

async fn a_create_writes_over_an_expired_item(shop: &Shop) {
    let table = sessions(shop).await;
    let before = table.raw.get("over").await.unwrap();
    let over = table.items.get("over").including_expired().await.unwrap().unwrap();
    table.raw.put([before.clone(), item([("foreign", s("x"))])].into_iter().flatten().collect()).await;
    let created = table.items.create(Session::alive("over")).await.unwrap();
    let after = table.raw.get("over").await.unwrap();
    assert_eq!((created.version(), after.get("foreign")), (1, None));
    assert!(created.created >= over.created);
    let life = |item: &crate::support::Item| item["_writes"].as_b().unwrap().as_ref()[..8].to_vec();
    assert_ne!(life(&before), life(&after));
    assert_eq!(after["_writes"].as_b().unwrap().as_ref().len(), 20, "an incarnation, a time and one id");
    assert_eq!(table.items.get("over").await.unwrap(), Some(created));
    assert_eq!(shop.counts(["PutItem", "UpdateItem"]), [2, 0]);
    expect_error!(table.items.create(Session::alive("over")).await, Error::AlreadyExists(_));
}

async fn a_create_over_an_expired_item_takes_two_attempts(shop: &Shop) {
    let table = sessions(shop).await;
    let before = (table.raw.get("over").await, shop.counts(["PutItem"]));
    let create = |attempts| table.items.create(Session::alive("over")).attempts(attempts);
    let last = expect_error!(create(1).await, Error::Exhausted { last, .. } => last);
    expect_error!(Err::<(), _>(*last), Error::Conflict(_));
    assert_eq!((table.raw.get("over").await, shop.counts(["PutItem"])), (before.0, [before.1[0] + 1]));
    assert_eq!(create(2).await.unwrap().version(), 1);
}

async fn a_value_of_the_expired_life_is_refused(shop: &Shop) {
    let table = sessions(shop).await;
    let over = table.items.get("over").including_expired().await.unwrap().unwrap();
    let created = table.items.create(Session::alive("over")).await.unwrap();
    assert_eq!(over.version(), created.version());
    let mut stale = over.clone();
    stale.user = "bob".to_owned();
    expect_error!(table.items.update(stale).await, Error::Conflict(_));
    expect_error!(table.items.delete(over).await, Error::Conflict(_));
    assert_eq!(table.items.update(changed(created, |it| it.user = "eve".to_owned())).await.unwrap().version(), 2);
}

async fn a_create_exactly_once_writes_over_an_expired_item(shop: &Shop) {
    let table = sessions(shop).await;
    let created = table.items.create(Session::alive("over")).exactly_once().await.unwrap();
    assert_eq!((created.version(), table.items.get("over").await.unwrap()), (1, Some(created)));
}

async fn an_upsert_writes_over_an_expired_item_without_a_refusal(shop: &Shop) {
    let table = sessions(shop).await;
    let init = || Session::alive("over");
    let created = table.items.upsert_with("over", init, |it| it.user = "bob".to_owned()).await.unwrap();
    assert_eq!((created.version(), created.user.as_str()), (1, "bob"));
    assert_eq!(shop.counts(["GetItem", "PutItem", "UpdateItem"]), [1, 1, 0]);
}

async fn combined_calls_write_over_an_expired_item(shop: &Shop) {
    let table = sessions(shop).await;
    let combined = table.items.combining();
    expect_error!(combined.update_with("over", |it| it.user.push('x')).await, Error::NotFound { .. });
    let created = combined.upsert_with("over", || Session::alive("over"), |it| it.user.push('x')).await.unwrap();
    assert_eq!((created.version(), created.user.as_str()), (1, "annx"));
    assert_eq!(shop.counts(["GetItem", "PutItem", "UpdateItem"]), [2, 1, 0]);
}

async fn an_item_of_another_program_that_expired_is_replaced(shop: &Shop) {
    let foreign = item([("id", s("a")), ("user", s("ann")), ("created", n(1)), ("until", n(now() - 100))]);
    let table = table::<Session>(shop).await;
    table.raw.put(foreign).await;
    let created = table.items.create(Session::alive("a")).await.unwrap();
    assert_eq!((created.version(), table.items.get("a").await.unwrap()), (1, Some(created)));
}

async fn an_expired_item_that_does_not_fit_is_replaced(shop: &Shop) {
    let table = table::<Session>(shop).await;
    table.raw.put(item([("id", s("a")), ("until", n(now() - 100)), ("_version", n(3))])).await;
    assert_eq!(table.items.get("a").await.unwrap(), None);
    assert_eq!(table.items.create(Session::alive("a")).await.unwrap().version(), 1);
}

/// Another program acts between the refusal of a create and the write over the expired item.
async fn interleaved<F>(
    shop: &Shop,
    table: &Table<Session>,
    act: impl FnOnce(Repository<Session>) -> F,
) -> Result<u64, Error>
where
    F: Future<Output = ()> + Send + 'static,
{
    let act = act(table.others.clone());
    shop.rival.before("PutItem", 1, async move || act.await);
    table.items.create(Session::alive("over")).await.map(|created| created.version())
}

async fn an_expired_item_that_was_revived_is_not_replaced(shop: &Shop) {
    let table = sessions(shop).await;
    let revive = async |others: Repository<Session>| {
        let over = others.get("over").including_expired().await.unwrap().unwrap();
        others.update(changed(over, |it| it.until = Some(now() + 60))).await.unwrap();
    };
    let result = interleaved(shop, &table, |others| async move { revive(others).await }).await;
    let met = expect_error!(result, Error::AlreadyExists(met) => met);
    assert_eq!(met.found(), Some(2));
}

/// The update of the other program changes neither the version nor the incarnation.
async fn an_expired_item_that_a_program_without_versions_revived_is_not_replaced(shop: &Shop) {
    let table = sessions(shop).await;
    let revive = |nth| {
        let raw = table.raw.clone();
        shop.rival.before("PutItem", nth, async move || raw.set("over", "until", n(now() + 60)).await);
    };
    revive(1);
    expect_error!(table.items.create(Session::alive("over")).await, Error::AlreadyExists(_));
    table.raw.set("over", "until", n(now() - 100)).await;
    revive(0);
    let upsert = table.items.upsert_with("over", || Session::alive("over"), |it| it.user.push('x'));
    let upserted = upsert.await.unwrap();
    assert_eq!((upserted.version(), upserted.user.as_str()), (2, "annx"));
}

async fn an_expired_item_that_such_a_program_keeps_expired_is_replaced(shop: &Shop) {
    let table = sessions(shop).await;
    let raw = table.raw.clone();
    shop.rival.before("PutItem", 1, async move || raw.set("over", "until", n(now() - 50)).await);
    assert_eq!(table.items.create(Session::alive("over")).await.unwrap().version(), 1);
    assert_eq!(table.items.get("over").await.unwrap().unwrap().version(), 1);
}

async fn an_expired_item_that_is_deleted_meanwhile_is_created(shop: &Shop) {
    let table = sessions(shop).await;
    let result = interleaved(shop, &table, |others| async move {
        others.delete_unchecked("over").await.unwrap();
    });
    assert_eq!(result.await.unwrap(), 1);
    assert_eq!(shop.counts(["PutItem"]), [3], "a create, a write over the expired item, and a create");
}

async fn an_expired_item_that_was_replaced_by_another_create_stays(shop: &Shop) {
    let table = sessions(shop).await;
    let result = interleaved(shop, &table, |others| async move {
        others.create(Session { user: "bob".to_owned(), ..Session::alive("over") }).await.unwrap();
    });
    expect_error!(result.await, Error::AlreadyExists(_));
    assert_eq!(table.items.get("over").await.unwrap().unwrap().user, "bob");
}

async fn a_second_expired_item_is_met(shop: &Shop) {
    let table = sessions(shop).await;
    let result = interleaved(shop, &table, |others| async move {
        others.create(Session { user: "bob".to_owned(), ..Session::over("over") }).await.unwrap();
    });
    assert_eq!(result.await.unwrap(), 1);
    assert_eq!(table.items.get("over").await.unwrap().unwrap().user, "ann");
}

async fn a_lost_reply_of_the_write_over_an_expired_item_is_recognised(shop: &Shop) {
    let table = sessions(shop).await;
    shop.faults.script_on("PutItem", 1, Fault::LoseReply);
    let created = table.items.create(Session::alive("over")).await.unwrap();
    assert_eq!((created.version(), shop.counts(["PutItem"])), (1, [3]));
    let next = table.items.update(changed(created, |it| it.user = "bob".to_owned())).await.unwrap();
    assert_eq!((next.version(), table.items.get("over").await.unwrap()), (2, Some(next)));
}

async fn a_create_of_an_item_that_is_born_expired_is_a_success(shop: &Shop) {
    let table = sessions(shop).await;
    shop.faults.script_on("PutItem", 0, Fault::LoseReply);
    assert_eq!(table.items.create(Session::over("new")).await.unwrap().version(), 1);
    shop.faults.script_on("PutItem", 1, Fault::LoseReply);
    let born = table.items.create(Session::over("new")).await.unwrap();
    assert_eq!(table.items.get("new").including_expired().await.unwrap(), Some(born));
}
