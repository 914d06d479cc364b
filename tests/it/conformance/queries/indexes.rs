//! Queries of indexes.

use aws_sdk_dynamodb::types::{KeySchemaElement, Projection};
use dynalock::{Error, KeyAttribute, Repository, Stored, Versioned, query::PageToken};
use serde::{Deserialize, Serialize};

use super::other_errors_of_edited_tokens;
use crate::support::{Shop, Table, expect_error};

cases![
    create_table_creates_the_indexes,
    a_global_index_finds_items_by_its_own_keys,
    what_a_full_index_returns_can_be_updated_at_once,
    an_item_without_the_key_of_an_index_is_not_in_it,
    an_item_enters_and_leaves_an_index_with_its_attribute,
    a_local_index_is_another_order_of_a_partition,
    a_partial_index_returns_keys,
    fetch_reads_the_items_of_a_partial_index,
    pages_of_an_index_miss_nothing,
    a_token_belongs_to_its_index,
    a_changed_character_of_a_token_of_an_index_is_an_error_of_the_token_or_names_another_place,
    an_index_without_a_sort_key_is_read,
    an_index_that_the_table_does_not_have_is_an_error_that_says_what_to_do,
    an_index_with_another_key_than_its_type_is_named,
    an_empty_key_of_an_index_is_refused_before_it_is_sent,
    rows_of_separate_leases_are_not_in_an_index_of_their_key,
];

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, KeyAttribute)]
#[serde(rename_all = "snake_case")]
enum Status {
    Open,
    Paid,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Versioned)]
#[serde(rename_all = "camelCase")]
#[expect(clippy::duplicated_attributes, reason = "two indexes may have equal parts")]
#[dynalock(
    table = "sales",
    index(name = "by_status", partition_key = "status", sort_key = "placed_at"),
    index(name = "by-courier", partition_key = "courier", sort_key = "number", keys_only),
    index(name = "by.total", partition_key = "total_cents", include(placed_at)),
    index(name = "by_time", local, sort_key = "placed_at"),
    index(name = "by_place", local, sort_key = "courier", keys_only)
)]
struct Sale {
    #[dynalock(partition_key)]
    customer: String,
    #[dynalock(sort_key)]
    number: u64,
    status: Status,
    placed_at: String,
    total_cents: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    courier: Option<String>,
}

impl Sale {
    fn new(customer: &str, number: u64, status: Status, placed_at: &str) -> Self {
        let (customer, placed_at) = (customer.to_owned(), placed_at.to_owned());
        Self { customer, number, status, placed_at, total_cents: number * 100, courier: None }
    }

    fn by(self, courier: &str) -> Self {
        Self { courier: Some(courier.to_owned()), ..self }
    }
}

async fn sales(shop: &Shop) -> Table<Sale> {
    let table = shop.table::<Sale>().await;
    for sale in [
        Sale::new("alice", 1, Status::Open, "2026-11-03"),
        Sale::new("alice", 2, Status::Open, "2026-11-01").by("ann"),
        Sale::new("alice", 3, Status::Paid, "2026-10-30").by("bea"),
        Sale::new("bob", 1, Status::Open, "2026-11-02").by("ann"),
        Sale::new("bob", 5, Status::Open, "2026-12-24").by("ann"),
    ] {
        table.others.create(sale).await.unwrap();
    }
    table
}

fn names(sales: &[Stored<Sale>]) -> Vec<(&str, u64)> {
    sales.iter().map(|sale| (&*sale.customer, sale.number)).collect()
}

async fn create_table_creates_the_indexes(shop: &Shop) {
    let table = shop.table::<Sale>().await;
    let described = shop.plain.describe_table().table_name(table.name()).send().await.unwrap().table.unwrap();
    let keys = |schema: &[KeySchemaElement]| schema.iter().map(|key| key.attribute_name.clone()).collect::<Vec<_>>();
    let shape = |projection: Option<&Projection>| {
        let projection = projection.unwrap();
        let kind = projection.projection_type().unwrap().as_str().to_owned();
        (kind, projection.non_key_attributes().to_vec())
    };
    let global = described
        .global_secondary_indexes()
        .iter()
        .map(|index| (index.index_name().unwrap().to_owned(), keys(index.key_schema()), shape(index.projection())));
    let local = described
        .local_secondary_indexes()
        .iter()
        .map(|index| (index.index_name().unwrap().to_owned(), keys(index.key_schema()), shape(index.projection())));
    let mut indexes: Vec<_> = global.chain(local).collect();
    indexes.sort_unstable();
    let index = |name: &str, keys: &[&str], kind: &str, held: &[&str]| {
        let owned = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>();
        (name.to_owned(), owned(keys), (kind.to_owned(), owned(held)))
    };
    assert_eq!(
        indexes,
        [
            index("by-courier", &["courier", "number"], "KEYS_ONLY", &[]),
            index("by.total", &["totalCents"], "INCLUDE", &["placedAt"]),
            index("by_place", &["customer", "courier"], "KEYS_ONLY", &[]),
            index("by_status", &["status", "placedAt"], "ALL", &[]),
            index("by_time", &["customer", "placedAt"], "ALL", &[]),
        ]
    );
    table.items.create_table().await.unwrap();
}

async fn a_global_index_finds_items_by_its_own_keys(shop: &Shop) {
    let table = sales(shop).await;
    let open = || table.items.query_index(Sale::INDEX.by_status, Status::Open);
    let all = open().collect().await.unwrap();
    assert_eq!(names(&all), [("alice", 2), ("bob", 1), ("alice", 1), ("bob", 5)]);
    assert_eq!(
        names(&open().sort_prefix("2026-11").descending().collect().await.unwrap()),
        [("alice", 1), ("bob", 1), ("alice", 2)]
    );
    assert_eq!(names(&open().sort("2026-11-02"..="2026-11-03").collect().await.unwrap()), [("bob", 1), ("alice", 1)]);
    assert_eq!(names(&open().filter(Sale::ATTR.total_cents.ge(300)).collect().await.unwrap()), [("bob", 5)]);
    assert_eq!(open().count().await.unwrap(), 4);
    assert_eq!(table.items.query_index(Sale::INDEX.by_status, Status::Paid).count().await.unwrap(), 1);
    let strong = shop.sent("Query").iter().filter(|query| query["ConsistentRead"] == true).count();
    assert_eq!(strong, 0, "DynamoDB refuses a strong read of a global index");
}

async fn what_a_full_index_returns_can_be_updated_at_once(shop: &Shop) {
    let table = sales(shop).await;
    let paid = || table.items.query_index(Sale::INDEX.by_status, Status::Paid);
    let mut sale = paid().first().await.unwrap().unwrap();
    let before = sale.clone();
    assert_eq!(Some(&sale), table.items.get(("alice", 3)).await.unwrap().as_ref());
    sale.total_cents = 1;
    assert_eq!(table.items.update(sale).await.unwrap().version(), 2);
    expect_error!(table.items.touch(before).await, Error::Conflict(_));
    assert_eq!(paid().first().await.unwrap().unwrap().total_cents, 1);
}

async fn an_item_without_the_key_of_an_index_is_not_in_it(shop: &Shop) {
    let table = sales(shop).await;
    let of = |courier: &'static str| table.items.query_index(Sale::INDEX.by_courier, courier).count();
    assert_eq!((of("ann").await.unwrap(), of("bea").await.unwrap(), of("cleo").await.unwrap()), (3, 1, 0));
}

async fn an_item_enters_and_leaves_an_index_with_its_attribute(shop: &Shop) {
    let table = sales(shop).await;
    let count = || table.items.query_index(Sale::INDEX.by_courier, "cleo").count();
    table.items.update_with(("alice", 1), |sale| sale.courier = Some("cleo".to_owned())).await.unwrap();
    assert_eq!(count().await.unwrap(), 1);
    table.items.update_with(("alice", 1), |sale| sale.courier = None).await.unwrap();
    assert_eq!(count().await.unwrap(), 0);
    assert_eq!(
        table
            .raw
            .get_by([("customer", crate::support::s("alice")), ("number", crate::support::n(1))])
            .await
            .unwrap()
            .get("courier"),
        None
    );
}

async fn a_local_index_is_another_order_of_a_partition(shop: &Shop) {
    let table = sales(shop).await;
    let by_time = || table.items.query_index(Sale::INDEX.by_time, "alice");
    assert_eq!(names(&by_time().collect().await.unwrap()), [("alice", 3), ("alice", 2), ("alice", 1)]);
    assert_eq!(names(&by_time().sort("2026-11"..).descending().collect().await.unwrap()), [("alice", 1), ("alice", 2)]);
    assert_eq!(shop.sent("Query")[0]["ConsistentRead"], true);
    by_time().eventually_consistent().count().await.unwrap();
    assert_ne!(shop.sent("Query").pop().unwrap()["ConsistentRead"], true);
}

async fn a_partial_index_returns_keys(shop: &Shop) {
    let table = sales(shop).await;
    let keys: Vec<SaleKey> = table.items.query_index(Sale::INDEX.by_courier, "ann").sort(2..).collect().await.unwrap();
    assert_eq!(keys, [SaleKey::from(("alice", 2)), SaleKey::from(("bob", 5))]);
    let many = table.items.get_many(keys.clone()).await.unwrap();
    assert_eq!(many.iter().flatten().map(|sale| sale.number).collect::<Vec<_>>(), [2, 5]);
    let updated = table.items.update_with(keys[0].clone(), |sale| sale.total_cents = 7).await.unwrap();
    assert_eq!((updated.number, updated.version()), (2, 2));
    let of_place = table.items.query_index(Sale::INDEX.by_place, "alice").sort_prefix("b").first().await.unwrap();
    assert_eq!(of_place, Some(("alice", 3).into()));
}

async fn fetch_reads_the_items_of_a_partial_index(shop: &Shop) {
    let table = sales(shop).await;
    let of_ann = || table.items.query_index(Sale::INDEX.by_courier, "ann").fetch();
    let mut sales = of_ann().descending().collect().await.unwrap();
    assert_eq!(names(&sales), [("bob", 5), ("alice", 2), ("bob", 1)]);
    let mut first = sales.remove(0);
    first.total_cents = 9;
    assert_eq!(table.items.update(first).await.unwrap().version(), 2);
    assert_eq!(of_ann().count().await.unwrap(), 3);
    let page = of_ann().limit(2).page(None).await.unwrap();
    assert_eq!(page.items.iter().map(|sale| sale.as_ref().unwrap().number).collect::<Vec<_>>(), [1, 2]);
    let page = of_ann().limit(2).page(page.next).await.unwrap();
    assert_eq!(page.items.iter().map(|sale| sale.as_ref().unwrap().number).collect::<Vec<_>>(), [5]);
    assert_eq!(
        names(&table.items.query_index(Sale::INDEX.by_time, "bob").collect().await.unwrap()),
        [("bob", 1), ("bob", 5)]
    );
}

async fn pages_of_an_index_miss_nothing(shop: &Shop) {
    let table = shop.table::<Sale>().await;
    for number in 0..9 {
        // All items have the same time, so only the key in the table orders them in the index.
        table.others.create(Sale::new("alice", number, Status::Open, "2026-11-01").by("ann")).await.unwrap();
    }
    let (mut seen, mut token): (Vec<u64>, Option<PageToken>) = (Vec::new(), None);
    loop {
        let query = table.items.query_index(Sale::INDEX.by_status, Status::Open);
        let page = query.filter(Sale::ATTR.total_cents.ne(300)).limit(2).page(token).await.unwrap();
        seen.extend(page.items.iter().map(|sale| sale.as_ref().unwrap().number));
        token = page.next;
        if token.is_none() {
            break;
        }
    }
    seen.sort_unstable();
    assert_eq!(seen, [0, 1, 2, 4, 5, 6, 7, 8]);
}

async fn a_token_belongs_to_its_index(shop: &Shop) {
    let table = sales(shop).await;
    let token = table.items.query_index(Sale::INDEX.by_time, "alice").limit(1).page(None).await.unwrap().next;
    expect_error!(table.items.query("alice").page(token.clone()).await, Error::PageToken { .. });
    expect_error!(
        table.items.query_index(Sale::INDEX.by_place, "alice").page(token.clone()).await,
        Error::PageToken { .. }
    );
    assert_eq!(table.items.query_index(Sale::INDEX.by_time, "alice").page(token).await.unwrap().items.len(), 2);
}

async fn a_changed_character_of_a_token_of_an_index_is_an_error_of_the_token_or_names_another_place(shop: &Shop) {
    let table = sales(shop).await;
    let open = || table.items.query_index(Sale::INDEX.by_status, Status::Open).limit(1);
    let by_total = || table.items.query_index(Sale::INDEX.by_total, 100).limit(1);
    let by_time = || table.items.query_index(Sale::INDEX.by_time, "alice").sort("2026-11"..).limit(1);
    let token = open().page(None).await.unwrap().next.unwrap();
    let errors = other_errors_of_edited_tokens(&token, async |token| open().page(Some(token)).await);
    assert_eq!(errors.await, [""; 0]);
    let token = by_total().page(None).await.unwrap().next.unwrap();
    let errors = other_errors_of_edited_tokens(&token, async |token| by_total().page(Some(token)).await);
    assert_eq!(errors.await, [""; 0]);
    let token = by_time().page(None).await.unwrap().next.unwrap();
    let errors = other_errors_of_edited_tokens(&token, async |token| by_time().page(Some(token)).await);
    assert_eq!(errors.await, [""; 0]);
}

async fn an_index_without_a_sort_key_is_read(shop: &Shop) {
    let table = sales(shop).await;
    let keys = table.items.query_index(Sale::INDEX.by_total, 500).collect().await.unwrap();
    assert_eq!(keys, [SaleKey::from(("bob", 5))]);
    let twice = table.items.query_index(Sale::INDEX.by_total, 100).fetch();
    assert_eq!(twice.filter(Sale::ATTR.placed_at.ge("2026-11-03")).collect().await.unwrap().len(), 1);
}

/// The items of the test, without the indexes of their type.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Versioned)]
#[dynalock(table = "sales")]
struct Plain {
    #[dynalock(partition_key)]
    customer: String,
    #[dynalock(sort_key)]
    number: u64,
}

async fn an_index_that_the_table_does_not_have_is_an_error_that_says_what_to_do(shop: &Shop) {
    let table = shop.table::<Plain>().await;
    let sales: Repository<Sale> = shop.named(table.name());
    sales.create_table().await.unwrap();
    let results = [
        sales.query_index(Sale::INDEX.by_status, Status::Open).collect().await.map(drop),
        sales.query_index(Sale::INDEX.by_status, Status::Open).count().await.map(drop),
        sales.query_index(Sale::INDEX.by_status, Status::Open).page(None).await.map(drop),
    ];
    for result in results {
        let error = expect_error!(result, error @ Error::IndexNotFound { .. } => error);
        let text = error.to_string();
        assert!(text.contains("`by_status`") && text.contains("UpdateTable"), "{text}");
        assert!(matches!(error, Error::IndexNotFound { index: "by_status", .. }), "{error:?}");
    }
}

/// The items of the test, with other keys of their indexes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Versioned)]
#[serde(rename_all = "camelCase")]
#[dynalock(
    table = "sales",
    index(name = "by_status", partition_key = "placed_at"),
    index(name = "by.total", partition_key = "total_cents")
)]
struct Resale {
    #[dynalock(partition_key)]
    customer: String,
    #[dynalock(sort_key)]
    number: u64,
    placed_at: String,
    total_cents: String,
}

async fn an_index_with_another_key_than_its_type_is_named(shop: &Shop) {
    let table = sales(shop).await;
    let resales: Repository<Resale> = shop.named(table.name());
    let other_name = resales.query_index(Resale::INDEX.by_status, "2026-11-01");
    let other_type = resales.query_index(Resale::INDEX.by_total, "100");
    for (index, result) in [
        ("by_status", other_name.clone().collect().await.map(drop)),
        ("by_status", other_name.count().await.map(drop)),
        ("by.total", other_type.page(None).await.map(drop)),
    ] {
        let error = expect_error!(result, error @ Error::TableMismatch { .. } => error);
        let text = error.to_string();
        let start = format!("index `{index}` of table `{}` does not fit its type: ", table.name());
        assert!(text.starts_with(&start), "{text}");
        assert!(text.ends_with("`verify_table` compares the table with its type and says what differs"), "{text}");
        assert!(matches!(error, Error::TableMismatch { index: Some(named), .. } if named == index), "{error:?}");
    }
    let report = resales.verify_table().await.unwrap();
    assert!(report.to_string().contains("by_status"), "{report}");
}

async fn an_empty_key_of_an_index_is_refused_before_it_is_sent(shop: &Shop) {
    let table = sales(shop).await;
    let before = shop.requests();
    let result = table.items.query_index(Sale::INDEX.by_courier, "").collect().await;
    assert_eq!(expect_error!(result, Error::InvalidKey { attribute, .. } => attribute), "courier");
    assert_eq!(shop.requests(), before);
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Versioned)]
#[dynalock(table = "bins", index(name = "by_name", partition_key = "name", sort_key = "hall"))]
#[lockable(separate)]
struct Bin {
    #[dynalock(partition_key)]
    name: String,
    #[dynalock(sort_key)]
    hall: String,
}

async fn rows_of_separate_leases_are_not_in_an_index_of_their_key(shop: &Shop) {
    let table = shop.table::<Bin>().await;
    table.others.create(Bin { name: "a".to_owned(), hall: "1".to_owned() }).await.unwrap();
    table.others.lock(("a", "1")).await.unwrap().release().await.unwrap();
    assert_eq!(table.items.query_index(Bin::INDEX.by_name, "a").collect().await.unwrap().len(), 1);
    assert_eq!(table.items.query_index(Bin::INDEX.by_name, "a").count().await.unwrap(), 1);
    assert_eq!(table.items.query_index(Bin::INDEX.by_name, "a").limit(1).count().await.unwrap(), 1);
}
