//! Each difference between a table and its type, one test for each kind.

use aws_sdk_dynamodb::types::{
    AttributeDefinition, BillingMode, GlobalSecondaryIndex, KeySchemaElement, KeyType, LocalSecondaryIndex, Projection,
    ProjectionType, TimeToLiveSpecification,
};
use dynalock::{
    Error, Lockable, Locks, Repository, Versioned,
    table::{IndexScope, TableDifference, TableReport},
};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::Offer;
use crate::support::{Shop, answers::Answers, expect_error};

/// A table as another program has created it.
#[derive(Clone, Copy)]
struct Live {
    key: &'static [&'static str],
    /// The key attributes that are numbers. All others are strings.
    numbers: &'static [&'static str],
    by_seller: Option<LiveIndex>,
    by_price: Option<LiveIndex>,
    expiring: Option<&'static str>,
}

#[derive(Clone, Copy)]
struct LiveIndex {
    name: &'static str,
    scope: IndexScope,
    key: &'static [&'static str],
    kind: &'static str,
    held: &'static [&'static str],
}

const BY_SELLER: LiveIndex = LiveIndex {
    name: "by_seller",
    scope: IndexScope::Global,
    key: &["seller", "price"],
    kind: "INCLUDE",
    held: &["title", "note"],
};

const BY_PRICE: LiveIndex =
    LiveIndex { name: "by_price", scope: IndexScope::Local, key: &["shop", "price"], kind: "ALL", held: &[] };

/// The table of an `Offer`.
const FITTING: Live = Live {
    key: &["shop", "number"],
    numbers: &["number", "price"],
    by_seller: Some(BY_SELLER),
    by_price: Some(BY_PRICE),
    expiring: Some("until"),
};

impl Live {
    async fn create(self, shop: &Shop, name: &str) {
        let mut create = shop.plain.create_table().table_name(name).billing_mode(BillingMode::PayPerRequest);
        create = create.set_key_schema(Some(schema(self.key)));
        let indexes: Vec<_> = [self.by_seller, self.by_price].into_iter().flatten().collect();
        let mut keys: Vec<_> = self.key.iter().chain(indexes.iter().flat_map(|index| index.key)).collect();
        keys.sort_unstable();
        keys.dedup();
        for key in keys {
            let kind = if self.numbers.contains(key) { "N" } else { "S" };
            let definition = AttributeDefinition::builder().attribute_name(*key).attribute_type(kind.into());
            create = create.attribute_definitions(definition.build().unwrap());
        }
        for LiveIndex { name, scope, key, kind, held } in indexes {
            let held = (!held.is_empty()).then(|| held.iter().map(|&name| name.to_owned()).collect());
            let projection = Projection::builder().projection_type(ProjectionType::from(kind));
            let projection = projection.set_non_key_attributes(held).build();
            create = match scope {
                IndexScope::Global => {
                    let index = GlobalSecondaryIndex::builder().index_name(name).set_key_schema(Some(schema(key)));
                    create.global_secondary_indexes(index.projection(projection).build().unwrap())
                }
                IndexScope::Local => {
                    let index = LocalSecondaryIndex::builder().index_name(name).set_key_schema(Some(schema(key)));
                    create.local_secondary_indexes(index.projection(projection).build().unwrap())
                }
            };
        }
        create.send().await.unwrap();
        if let Some(attribute) = self.expiring {
            time_to_live(shop, name, attribute).await;
        }
    }

    /// The only difference between this table and an `Offer`.
    async fn difference(self) -> TableDifference {
        let shop = Shop::without_faults();
        self.create(&shop, "offers").await;
        only(&Repository::<Offer>::new(&shop.client).verify_table().await.unwrap())
    }
}

fn schema(key: &[&str]) -> Vec<KeySchemaElement> {
    let element =
        |(name, role): (&&str, _)| KeySchemaElement::builder().attribute_name(*name).key_type(role).build().unwrap();
    key.iter().zip([KeyType::Hash, KeyType::Range]).map(element).collect()
}

async fn time_to_live(shop: &Shop, table: &str, attribute: &str) {
    let specification = TimeToLiveSpecification::builder().enabled(true).attribute_name(attribute).build().unwrap();
    shop.plain.update_time_to_live().table_name(table).time_to_live_specification(specification).send().await.unwrap();
}

fn only(report: &TableReport) -> TableDifference {
    match report.differences() {
        [difference] => difference.clone(),
        _ => panic!("expected one difference: {report}"),
    }
}

/// Asserts the kind of a difference, and a part of its sentence.
macro_rules! assert_difference {
    ($difference:expr, $pattern:pat $(if $guard:expr)?, $sentence:literal) => {{
        let difference = $difference;
        assert!(matches!(&difference, $pattern $(if $guard)?), "{difference:?}");
        assert!(difference.to_string().contains($sentence), "{difference}");
    }};
}

#[tokio::test]
async fn a_table_that_fits_has_no_differences() {
    let shop = Shop::without_faults();
    FITTING.create(&shop, "offers").await;
    let report = Repository::<Offer>::new(&shop.client).verify_table().await.unwrap();
    assert_eq!(report.differences(), []);
    assert_eq!((report.table(), report.to_string().as_str()), ("offers", "table `offers` fits its type"));
    assert_eq!(shop.counts(["DescribeTable", "DescribeTimeToLive", "CreateTable", "UpdateTimeToLive"]), [1, 1, 0, 0]);
}

#[tokio::test]
async fn an_index_of_another_program_is_no_difference() {
    let further = LiveIndex { name: "by_title", key: &["title"], ..BY_SELLER };
    let live = Live { by_price: Some(further), ..FITTING };
    assert_difference!(live.difference().await, TableDifference::IndexMissing { index: "by_price", .. }, "`by_price`");
}

#[tokio::test]
async fn a_missing_table_is_an_error() {
    let shop = Shop::without_faults();
    let result = Repository::<Offer>::new(&shop.client).verify_table().await;
    assert_eq!(&*expect_error!(result, Error::TableNotFound { table, .. } => table), "offers");
}

#[tokio::test]
async fn the_name_of_the_partition_key() {
    let live = Live { key: &["store", "number"], by_price: None, ..FITTING };
    let shop = Shop::without_faults();
    live.create(&shop, "offers").await;
    let report = Repository::<Offer>::new(&shop.client).verify_table().await.unwrap();
    assert_difference!(
        report.differences()[0].clone(),
        TableDifference::PartitionKeyName { expected: "shop", found, .. } if found == "store",
        "the partition key of the table is `store`, that of the type `shop`"
    );
    assert_eq!(report.to_string().lines().count(), 3, "a line for the table and one for each difference: {report}");
}

#[tokio::test]
async fn the_type_of_the_partition_key() {
    let live = Live { numbers: &["shop", "number", "price"], ..FITTING };
    let shop = Shop::without_faults();
    live.create(&shop, "offers").await;
    let report = Repository::<Offer>::new(&shop.client).verify_table().await.unwrap();
    assert_difference!(
        report.differences()[0].clone(),
        TableDifference::PartitionKeyType {
            attribute: "shop",
            expected: dynalock::table::KeyType::S,
            found: Some(dynalock::table::KeyType::N),
            ..
        },
        "the partition key `shop` is N in the table, and S in the type"
    );
}

#[tokio::test]
async fn a_missing_sort_key() {
    let live = Live { key: &["shop"], by_price: None, ..FITTING };
    let shop = Shop::without_faults();
    live.create(&shop, "offers").await;
    let report = Repository::<Offer>::new(&shop.client).verify_table().await.unwrap();
    assert_difference!(
        report.differences()[0].clone(),
        TableDifference::SortKeyMissing { expected: "number", .. },
        "the table has no sort key, and the type has `number`"
    );
}

#[derive(Debug, Serialize, Deserialize, Versioned)]
#[dynalock(table = "lines")]
struct WithoutSortKey {
    #[dynalock(partition_key)]
    order: String,
}

#[tokio::test]
async fn an_unexpected_sort_key() {
    let (shop, table) = Shop::with_table::<crate::support::Line>().await;
    let report = shop.named::<WithoutSortKey>(table.name()).verify_table().await.unwrap();
    assert_difference!(
        only(&report),
        TableDifference::SortKeyUnexpected { found, .. } if found == "number",
        "the table has the sort key `number`, and the type has none"
    );
}

#[tokio::test]
async fn the_name_of_the_sort_key() {
    let live = Live { key: &["shop", "row"], ..FITTING };
    assert_difference!(
        live.difference().await,
        TableDifference::SortKeyName { expected: "number", found, .. } if found == "row",
        "the sort key of the table is `row`, that of the type `number`"
    );
}

#[tokio::test]
async fn the_type_of_the_sort_key() {
    let live = Live { numbers: &["price"], ..FITTING };
    assert_difference!(
        live.difference().await,
        TableDifference::SortKeyType { attribute: "number", .. },
        "the sort key `number` is S in the table, and N in the type"
    );
}

#[tokio::test]
async fn a_missing_index() {
    assert_difference!(
        Live { by_seller: None, ..FITTING }.difference().await,
        TableDifference::IndexMissing { index: "by_seller", scope: IndexScope::Global, .. },
        "add the global index with UpdateTable"
    );
    assert_difference!(
        Live { by_price: None, ..FITTING }.difference().await,
        TableDifference::IndexMissing { index: "by_price", scope: IndexScope::Local, .. },
        "a local index is created with its table"
    );
}

#[tokio::test]
async fn an_index_of_the_other_scope() {
    let global = LiveIndex { scope: IndexScope::Global, ..BY_PRICE };
    assert_difference!(
        Live { by_price: Some(global), ..FITTING }.difference().await,
        TableDifference::IndexScope { index: "by_price", expected: IndexScope::Local, .. },
        "is global in the table, and local in the type"
    );
}

#[tokio::test]
async fn the_partition_key_of_an_index() {
    let other = LiveIndex { key: &["vendor", "price"], ..BY_SELLER };
    assert_difference!(
        Live { by_seller: Some(other), ..FITTING }.difference().await,
        TableDifference::IndexPartitionKey { index: "by_seller", expected: "seller", found, .. } if found == "vendor",
        "the partition key of the index `by_seller` is `vendor` in the table, and `seller` in the type"
    );
}

#[tokio::test]
async fn the_sort_key_of_an_index() {
    let without = LiveIndex { key: &["seller"], ..BY_SELLER };
    assert_difference!(
        Live { by_seller: Some(without), ..FITTING }.difference().await,
        TableDifference::IndexSortKey { index: "by_seller", expected: Some("price"), found: None, .. },
        "the sort key of the index `by_seller` is missing in the table, and `price` in the type: delete the index"
    );
    let other = LiveIndex { key: &["shop", "title"], ..BY_PRICE };
    assert_difference!(
        Live { by_price: Some(other), ..FITTING }.difference().await,
        TableDifference::IndexSortKey { index: "by_price", found: Some(found), .. } if found == "title",
        "is `title` in the table, and `price` in the type: use another table"
    );
}

#[tokio::test]
async fn the_type_of_a_key_of_an_index() {
    let live = Live { numbers: &["number", "price", "seller"], ..FITTING };
    assert_difference!(
        live.difference().await,
        TableDifference::IndexKeyType { index: "by_seller", attribute: "seller", .. },
        "the key `seller` of the index `by_seller` is N in the table, and S in the type"
    );
}

#[tokio::test]
async fn the_projection_of_an_index() {
    for (kind, held, found) in
        [("ALL", &[][..], "ALL"), ("KEYS_ONLY", &[], "KEYS_ONLY"), ("INCLUDE", &["note"], "INCLUDE note")]
    {
        let other = LiveIndex { kind, held, ..BY_SELLER };
        let difference = Live { by_seller: Some(other), ..FITTING }.difference().await;
        let sentence = difference.to_string();
        assert!(
            matches!(&difference, TableDifference::IndexProjection { index: "by_seller", expected, found: live, .. }
                if expected == "INCLUDE note, title" && live == found),
            "{difference:?}"
        );
        assert!(sentence.contains(&format!("holds {found} in the table, and INCLUDE note, title")), "{sentence}");
    }
}

#[tokio::test]
async fn time_to_live_that_is_off() {
    assert_difference!(
        Live { expiring: None, ..FITTING }.difference().await,
        TableDifference::TimeToLiveOff { expected: "until", .. },
        "time to live is off: switch it on for the attribute `until`"
    );
}

#[tokio::test]
async fn time_to_live_on_another_attribute() {
    assert_difference!(
        Live { expiring: Some("price"), ..FITTING }.difference().await,
        TableDifference::TimeToLiveAttribute { expected: "until", found, .. } if found == "price",
        "time to live is on for the attribute `price`, but the type has the attribute `until`"
    );
}

#[tokio::test]
async fn time_to_live_on_a_field_that_is_not_declared() {
    let (shop, table) = Shop::with_table::<crate::support::Line>().await;
    time_to_live(&shop, table.name(), "quantity").await;
    assert_difference!(
        only(&table.items.verify_table().await.unwrap()),
        TableDifference::TimeToLiveUndeclared { found, .. } if found == "quantity",
        "add `#[dynalock(expires)]` to its field"
    );
}

#[tokio::test]
async fn time_to_live_of_another_program_is_no_difference() {
    let (shop, table) = Shop::with_table::<crate::support::Line>().await;
    time_to_live(&shop, table.name(), "ttl").await;
    assert_eq!(table.items.verify_table().await.unwrap().differences(), []);
}

async fn of_lease<T: Lockable>() {
    let (shop, table) = Shop::with_table::<T>().await;
    let until = T::MODEL.lock.unwrap().until;
    time_to_live(&shop, table.name(), until).await;
    assert_difference!(
        only(&table.items.verify_table().await.unwrap()),
        TableDifference::TimeToLiveOfLease { found, .. } if found == until,
        "would delete fences"
    );
}

#[tokio::test]
async fn time_to_live_on_an_attribute_of_a_lease() {
    of_lease::<crate::support::Crate>().await;
    of_lease::<crate::support::Parcel>().await;
    let shop = Shop::without_faults();
    let locks = Locks::new(&shop.client, "locks");
    locks.create_table().await.unwrap();
    assert_eq!(locks.verify_table().await.unwrap().differences(), []);
    time_to_live(&shop, "locks", "_until").await;
    let report = locks.verify_table().await.unwrap();
    assert_difference!(only(&report), TableDifference::TimeToLiveOfLease { .. }, "the attribute `_until` of the lease");
}

/// The answers to DescribeTable and DescribeTimeToLive while a table or an index has this status.
async fn with_status(table: &'static str, index: &'static str) -> TableReport {
    let element = |name: &str, role: &str| json!({ "AttributeName": name, "KeyType": role });
    let definition = |(name, kind): (&str, &str)| json!({ "AttributeName": name, "AttributeType": kind });
    let definitions = [("shop", "S"), ("number", "N"), ("seller", "S"), ("price", "N")].map(definition);
    let described = json!({
        "TableStatus": table,
        "KeySchema": [element("shop", "HASH"), element("number", "RANGE")],
        "AttributeDefinitions": definitions,
        "GlobalSecondaryIndexes": [{
            "IndexName": "by_seller",
            "IndexStatus": index,
            "KeySchema": [element("seller", "HASH"), element("price", "RANGE")],
            "Projection": { "ProjectionType": "INCLUDE", "NonKeyAttributes": ["note", "title"] },
        }],
        "LocalSecondaryIndexes": [{
            "IndexName": "by_price",
            "KeySchema": [element("shop", "HASH"), element("price", "RANGE")],
            "Projection": { "ProjectionType": "ALL" },
        }],
    });
    let answers = Answers::new(move |number, _| match number {
        0 => json!({ "Table": described }),
        _ => json!({ "TimeToLiveDescription": { "TimeToLiveStatus": "ENABLING", "AttributeName": "until" } }),
    });
    Repository::<Offer>::new(&answers.client()).verify_table().await.unwrap()
}

#[tokio::test]
async fn an_index_that_is_built_or_deleted() {
    for status in ["CREATING", "DELETING"] {
        let report = with_status("ACTIVE", status).await;
        assert_difference!(
            only(&report),
            TableDifference::IndexNotActive { index: "by_seller", status: found, .. } if found == status,
            "wait until it is ACTIVE"
        );
    }
    for status in ["ACTIVE", "UPDATING"] {
        assert_eq!(with_status("UPDATING", status).await.differences(), []);
    }
}

#[tokio::test]
async fn a_table_that_is_not_active() {
    let report = with_status("DELETING", "ACTIVE").await;
    assert_difference!(
        only(&report),
        TableDifference::TableNotActive { status, .. } if status == "DELETING",
        "the table has the status DELETING"
    );
}
