//! The repository behind `dyn Store`, and queries as values.

use std::sync::Arc;

use dynalock::{
    Error, Stored, Versioned,
    query::{Page, QuerySpec, QuerySpecBuilder},
    request::Deleted,
    store::{self, Store},
};
use serde::{Deserialize, Serialize};

use crate::support::{Shop, Table, changed, expect_error};

cases![
    each_call_does_what_the_repository_does,
    a_closure_runs_again_after_a_conflict,
    a_store_can_be_shared_between_tasks,
    pages_of_a_query_value_are_those_of_the_query,
    a_query_value_reads_each_kind_of_index_as_whole_items,
    a_token_of_another_query_value_is_refused,
    a_signed_token_is_checked,
    a_detached_value_overwrites_no_item,
];

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Versioned)]
#[dynalock(
    table = "parts",
    index(name = "by_shelf", partition_key = "shelf", sort_key = "count"),
    index(name = "by_count", partition_key = "count", keys_only),
    index(name = "by_name", local, sort_key = "name", include(shelf))
)]
struct Part {
    #[dynalock(partition_key)]
    machine: String,
    #[dynalock(sort_key)]
    number: u64,
    shelf: u32,
    count: u64,
    name: String,
}

impl Part {
    fn new(number: u64) -> Self {
        let (machine, name) =
            ("mill".to_owned(), format!("{}-{number:02}", if number.is_multiple_of(2) { "bolt" } else { "gear" }));
        Self { machine, number, shelf: 7, count: number % 3, name }
    }
}

async fn parts(shop: &Shop, count: u64) -> Table<Part> {
    shop.table_of((0..count).map(Part::new)).await
}

fn numbers(page: Page<Stored<Part>>) -> Vec<u64> {
    page.items.into_iter().map(|part| part.unwrap().number).collect()
}

async fn each_call_does_what_the_repository_does(shop: &Shop) {
    let table = parts(shop, 3).await;
    let parts: &dyn Store<Part> = &table.items;
    let key = |number: u64| PartKey::from(("mill", number));

    let created = parts.create(Part::new(5)).await.unwrap();
    assert_eq!((created.version(), created.number), (1, 5));
    expect_error!(parts.create(Part::new(5)).await, Error::AlreadyExists(_));
    assert_eq!(parts.get(key(5)).await.unwrap().unwrap(), created);
    assert_eq!(parts.get(key(6)).await.unwrap(), None);

    let updated = parts.update(changed(created.clone(), |part| part.count = 50)).await.unwrap();
    assert_eq!((updated.version(), updated.count), (2, 50));
    expect_error!(parts.replace(created.clone()).await, Error::Conflict(_));
    let replaced = parts.replace(updated).await.unwrap();
    assert_eq!(replaced.version(), 3);

    let many = parts.get_many(vec![key(9), key(5), key(0)]).await.unwrap();
    let many: Vec<_> = many.iter().map(|part| part.as_ref().map(|part| part.number)).collect();
    assert_eq!(many, [None, Some(5), Some(0)]);

    let mut seen = 0;
    let count = &mut |part: &mut Part| {
        seen += 1;
        part.count += 1;
    };
    assert_eq!(parts.update_with(key(5), count).await.unwrap().count, 51);
    assert_eq!(seen, 1);
    expect_error!(parts.update_with(key(6), &mut |part| part.count += 1).await, Error::NotFound { .. });

    expect_error!(parts.delete(created).await, Error::Conflict(_));
    let current = parts.get(key(5)).await.unwrap().unwrap();
    assert_eq!(parts.delete(current).await.unwrap(), Deleted::CERTAIN);
    assert_eq!(parts.get(key(5)).await.unwrap(), None);
}

async fn a_closure_runs_again_after_a_conflict(shop: &Shop) {
    let table = parts(shop, 1).await;
    shop.rival.before_through(&table.others, "UpdateItem", 0, |others| async move {
        others.update_with(("mill", 0), |part| part.count = 100).await.unwrap();
    });
    let parts: &dyn Store<Part> = &table.items;
    let mut runs = Vec::new();
    let change = &mut |part: &mut Part| {
        runs.push(part.count);
        part.count += 1;
    };
    assert_eq!(parts.update_with(("mill", 0).into(), change).await.unwrap().count, 101);
    assert_eq!(runs, [0, 100]);
}

async fn a_store_can_be_shared_between_tasks(shop: &Shop) {
    let table = parts(shop, 1).await;
    let parts: Arc<dyn Store<Part>> = Arc::new(table.items.clone());
    let tasks: Vec<_> = (0..4)
        .map(|_| {
            let parts = Arc::clone(&parts);
            tokio::spawn(async move { parts.update_with(("mill", 0).into(), &mut |part| part.count += 1).await })
        })
        .collect();
    for task in tasks {
        task.await.unwrap().unwrap();
    }
    assert_eq!(parts.get(("mill", 0).into()).await.unwrap().unwrap().count, 4);
}

async fn pages_of_a_query_value_are_those_of_the_query(shop: &Shop) {
    let table = parts(shop, 12).await;
    let parts: &dyn Store<Part> = &table.items;
    let all = || QuerySpec::in_table("mill");
    let first = async |query: QuerySpecBuilder<Part, _>| numbers(parts.page(query.build(), None).await.unwrap());
    assert_eq!(first(all()).await, (0..12).collect::<Vec<_>>());
    assert_eq!(first(all().sort(3..6)).await, [3, 4, 5]);
    assert_eq!(first(all().descending().limit(3)).await, [11, 10, 9]);
    assert_eq!(first(all().filter(Part::ATTR.count.eq(2)).filter(Part::ATTR.name.gt("gear"))).await, [5, 11]);
    assert!(first(all().sort(9..9)).await.is_empty());

    let (by_value, mut token, mut seen) = (all().sort(1..).limit(5).build(), None, Vec::new());
    for _ in 0..3 {
        let page = parts.page(by_value.clone(), token).await.unwrap();
        token = page.next.clone();
        seen.push(numbers(page));
    }
    assert_eq!(seen, [vec![1, 2, 3, 4, 5], vec![6, 7, 8, 9, 10], vec![11]]);

    // A token of the value is a token of the same query.
    let token = parts.page(by_value, None).await.unwrap().next;
    assert_eq!(numbers(table.items.query("mill").sort(1..).limit(2).page(token).await.unwrap()), [6, 7]);
}

async fn a_query_value_reads_each_kind_of_index_as_whole_items(shop: &Shop) {
    let table = parts(shop, 6).await;
    let parts: &dyn Store<Part> = &table.items;
    let by_shelf = QuerySpec::in_index(Part::INDEX.by_shelf, 7).sort(1..=1).build();
    let by_count = QuerySpec::in_index(Part::INDEX.by_count, 2).build();
    let by_name = QuerySpec::in_index(Part::INDEX.by_name, "mill").sort_prefix("gear").descending().build();
    for (query, name, mut expected) in
        [(by_shelf, "by_shelf", vec![1, 4]), (by_count, "by_count", vec![2, 5]), (by_name, "by_name", vec![5, 3, 1])]
    {
        assert_eq!(query.index(), Some(name));
        let page = parts.page(query, None).await.unwrap();
        let mut found = Vec::new();
        for part in page.items {
            let part = part.unwrap();
            assert_eq!(*part, Part::new(part.number), "{name}: the item is whole");
            found.push(part.number);
        }
        if name != "by_name" {
            // DynamoDB promises no order among equal keys of an index.
            found.sort_unstable();
            expected.sort_unstable();
        }
        assert_eq!(found, expected, "{name}");
    }
}

async fn a_token_of_another_query_value_is_refused(shop: &Shop) {
    let table = parts(shop, 6).await;
    let parts: &dyn Store<Part> = &table.items;
    let all = || QuerySpec::in_table("mill").limit(2);
    let token = parts.page(all().build(), None).await.unwrap().next;
    for query in [
        all().descending().build(),
        all().sort(1..).build(),
        all().filter(Part::ATTR.count.ge(0)).build(),
        QuerySpec::in_table("lathe").build(),
        QuerySpec::in_index(Part::INDEX.by_shelf, 7).build(),
    ] {
        expect_error!(parts.page(query, token.clone()).await, Error::PageToken { .. });
    }
    assert_eq!(numbers(parts.page(all().limit(1).build(), token).await.unwrap()), [2]);
}

async fn a_signed_token_is_checked(shop: &Shop) {
    let table = parts(shop, 6).await;
    let parts: &dyn Store<Part> = &table.items;
    let all = || QuerySpec::in_table("mill").limit(2);
    let plain = parts.page(all().build(), None).await.unwrap().next;
    let signed = parts.page(all().with_key("secret").build(), None).await.unwrap().next;
    let query = all().with_key("secret").build();
    assert!(!format!("{query:?}").contains("mill"), "{query:?}");
    expect_error!(parts.page(query.clone(), plain).await, Error::PageToken { .. });
    assert_eq!(numbers(parts.page(query, signed).await.unwrap()), [2, 3]);
}

async fn a_detached_value_overwrites_no_item(shop: &Shop) {
    let table = parts(shop, 1).await;
    let detached = changed(Stored::detached(Part::new(0), 1), |part| part.count = 9);
    assert_eq!(detached.version(), 1);
    let conflict = expect_error!(table.items.update(detached.clone()).await, Error::Conflict(conflict) => conflict);
    assert_eq!((conflict.expected(), conflict.found()), (Some(1), Some(1)));
    expect_error!(table.items.replace(detached.clone()).await, Error::Conflict(_));
    expect_error!(table.items.delete(detached.clone()).await, Error::Conflict(_));

    let current = table.items.get(("mill", 0)).await.unwrap().unwrap();
    let conflict =
        expect_error!(Err::<(), _>(store::conflict(&detached, Some(&current))), Error::Conflict(conflict) => conflict);
    assert_eq!(conflict.current::<Part>().unwrap().unwrap(), current);
    let conflict = expect_error!(Err::<(), _>(store::conflict(&detached, None)), Error::Conflict(conflict) => conflict);
    assert_eq!((conflict.found(), conflict.current::<Part>().unwrap()), (None, None));
    let exists =
        expect_error!(Err::<(), _>(store::already_exists(&current)), Error::AlreadyExists(conflict) => conflict);
    assert_eq!(exists.current::<Part>().unwrap().unwrap(), current);
}
