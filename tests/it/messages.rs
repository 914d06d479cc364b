//! The texts of errors about items and locks, and the content that they must not show.

use std::{
    collections::{BTreeMap, HashSet},
    error::Error as _,
    fmt::Debug,
};

use aws_sdk_dynamodb::types::AttributeValue;
use dynalock::{Error, Lockable, Locks, Versioned, Wait, error::CodecReason};
use serde::{Deserialize, Serialize};

use crate::support::{Product, Shop, commit, expect_error, item, n, s};

const SECRET: &str = "5500005555555559";

const REFUSED: &str = "the code of its type refused it; `CodecError::detail` has the text, which may quote content";

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Versioned)]
#[dynalock(table = "carts", show_key)]
#[lockable]
struct Cart {
    #[dynalock(partition_key)]
    customer: String,
    #[dynalock(sort_key)]
    number: u64,
    #[serde(default)]
    lines: Vec<Line>,
    #[serde(default)]
    prices: BTreeMap<String, u32>,
    #[serde(default)]
    amount: Amount,
    #[serde(default, with = "serde_dynamo::string_set", skip_serializing_if = "HashSet::is_empty")]
    sizes: HashSet<u32>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Line {
    price: u32,
}

/// Serializes a number as text, by its own code.
#[derive(Debug, Clone, PartialEq, Default)]
struct Amount(u32);

impl Serialize for Amount {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            13 => Err(serde::ser::Error::custom(format_args!("{SECRET} is no amount"))),
            amount => serializer.serialize_str(&amount.to_string()),
        }
    }
}

impl<'de> Deserialize<'de> for Amount {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map(Self).map_err(|_| serde::de::Error::custom(format_args!("`{text}` is no amount")))
    }
}

fn cart(number: u64) -> Cart {
    let (lines, prices, amount, sizes) = (Vec::new(), BTreeMap::new(), Amount(0), HashSet::new());
    Cart { customer: "alice".to_owned(), number, lines, prices, amount, sizes }
}

fn map(name: &str, value: AttributeValue) -> AttributeValue {
    AttributeValue::M(item([(name, value)]))
}

/// Asserts that the error shows its whole cause and has no source, so that a report of the chain of
/// sources contains the cause once. Asserts that neither the error nor the cause shows a value.
fn says(error: &Error, place: &str, reason: &str) {
    let shown = format!("{error} {error:?} {error:#?}");
    assert!(!shown.contains(SECRET), "{shown}");
    assert!(error.to_string().starts_with(&format!("{place} ")), "{place:?} at the start of {error}");
    assert!(error.to_string().ends_with(&format!(": {reason}")), "{reason:?} at the end of {error}");
    assert!(error.source().is_none());
    let (Error::Decode(cause) | Error::Encode(cause)) = error else { panic!("{error:?}") };
    assert_eq!(cause.to_string(), place);
    assert_eq!(cause.source().expect("the reason is the cause of that").to_string(), reason);
}

#[tokio::test(start_paused = true)]
async fn a_value_that_does_not_fit_is_named_with_its_attribute_and_the_reason() {
    let (_, table) = Shop::with_table::<Cart>().await;
    for (attribute, value, reason) in [
        (
            "lines",
            AttributeValue::L(vec![map("price", n(1)), map("price", s(SECRET))]),
            "expected a number, found another value in a list",
        ),
        (
            "lines",
            AttributeValue::L(vec![map("price", n("1.5"))]),
            "expected a number of the field's type, found another value in a list that does not fit",
        ),
        (
            "lines",
            AttributeValue::L(vec![map("cost", n(1))]),
            "the field `price` is missing; write the attribute, or give the field `#[serde(default)]`",
        ),
        ("lines", s(SECRET), "expected a list or a set, found a string"),
        ("prices", map(SECRET, s(SECRET)), "expected a number, found another value in a map"),
        ("amount", s(SECRET), REFUSED),
    ] {
        table.raw.put(item([("customer", s("alice")), ("number", n(1)), (attribute, value)])).await;
        let error = table.items.get(("alice", 1)).await.unwrap_err();
        let place = format!(r#"attribute `{attribute}` of the item under `"alice", 1` of table `{}`"#, table.name());
        says(&error, &place, reason);
        let error = expect_error!(Err::<(), _>(error), Error::Decode(error) => error);
        assert_eq!((error.path().as_deref(), error.attribute()), (Some(attribute), Some(attribute)));
        assert_eq!(error.key(), Some(r#""alice", 1"#));
        let detail = (reason == REFUSED).then(|| format!("`{SECRET}` is no amount"));
        assert_eq!(error.detail().map(str::to_owned), detail);
    }
}

#[tokio::test(start_paused = true)]
async fn an_item_that_cannot_be_read_is_not_named_if_its_type_does_not_show_keys() {
    let (_, table) = Shop::with_table::<Product>().await;
    table.raw.put(item([("sku", s(SECRET)), ("stock", s("many"))])).await;
    let error = expect_error!(table.items.get(SECRET).await, Error::Decode(error) => error);
    assert_eq!((error.key(), error.attribute()), (None, Some("stock")));
    assert!(!format!("{error} {error:?}").contains(SECRET), "{error:?}");
}

/// DynamoDB applies a patch before serde reads the item.
#[tokio::test(start_paused = true)]
async fn an_error_of_an_applied_patch_says_that_it_was_applied() {
    const APPLIED: &str = "; DynamoDB has applied the write of the call, so do not repeat the call";
    let (_, table) = Shop::with_table::<Product>().await;
    table.raw.put(item([("sku", s("a")), ("stock", n(1)), ("note", n(7))])).await;
    let read = table.items.get("a").await.unwrap_err();
    let patched = table.items.patch("a").add(Product::ATTR.stock, 1).await.unwrap_err();
    assert_eq!(patched.to_string(), format!("{read}{APPLIED}"));
    let is_applied = |error| expect_error!(Err::<(), _>(error), Error::Decode(error) => error.is_applied());
    assert_eq!((is_applied(read), is_applied(patched)), (false, true));
    assert_eq!(table.raw.get("a").await.unwrap()["stock"], n(2));

    table.raw.put(item([("sku", s("a")), ("stock", n(1)), ("_version", n(3)), ("_writes", s("x"))])).await;
    let read = table.items.get("a").await.unwrap_err();
    let patched = table.items.patch("a").add(Product::ATTR.stock, 1).await.unwrap_err();
    assert_eq!(patched.to_string(), format!("{read}{APPLIED}"));
    let applied = |error| expect_error!(Err::<(), _>(error), Error::Corrupt { applied, .. } => applied);
    assert_eq!((applied(read), applied(patched)), (false, true));
    assert_eq!(table.raw.get("a").await.unwrap()["stock"], n(2));
}

#[tokio::test(start_paused = true)]
async fn a_corrupt_item_is_named_if_its_type_shows_keys() {
    let shown = Shop::with_table::<Cart>().await.1;
    shown.raw.put(item([("customer", s("alice")), ("number", n(1)), ("_version", s("x"))])).await;
    let error = shown.items.get(("alice", 1)).await.unwrap_err();
    let text =
        format!(r#"attribute `_version` of the item under `"alice", 1` of table `{}` is corrupt: "#, shown.name());
    assert!(error.to_string().starts_with(&text), "{error}");
    let key = expect_error!(Err::<(), _>(error), Error::Corrupt { key, .. } => key);
    assert_eq!(key.as_deref(), Some(r#""alice", 1"#));

    let hidden = Shop::with_table::<Product>().await.1;
    hidden.raw.put(item([("sku", s(SECRET)), ("_version", s("x"))])).await;
    let error = hidden.items.get(SECRET).await.unwrap_err();
    assert!(!format!("{error} {error:?}").contains(SECRET), "{error:?}");
}

#[tokio::test(start_paused = true)]
async fn a_value_that_cannot_be_stored_is_named_with_the_reason() {
    let (_, table) = Shop::with_table::<Cart>().await;
    let place = |attribute| format!("attribute `{attribute}` of an item of table `{}`", table.name());
    let sizes = Cart { sizes: HashSet::from([5]), ..cart(1) };
    let error = table.items.create(sizes).await.unwrap_err();
    says(&error, &place("sizes"), "it is written as a set of strings, and an element is no string");
    let amount = Cart { amount: Amount(13), ..cart(1) };
    let error = table.items.create(amount).await.unwrap_err();
    says(&error, &place("amount"), REFUSED);
    let error = expect_error!(Err::<(), _>(error), Error::Encode(error) => error);
    assert_eq!((error.reason(), error.detail()), (&CodecReason::Refused, Some(&*format!("{SECRET} is no amount"))));
}

#[tokio::test(start_paused = true)]
async fn a_refused_caller_learns_the_name_of_the_lock() {
    let shop = Shop::without_faults();
    let locks = Locks::new(&shop.client, "locks").owner("worker 7");
    locks.create_table().await.unwrap();
    let held = locks.acquire("report").await.unwrap();
    let printer = locks.clone().namespace("office").acquire("printer").fair().await.unwrap();
    let office = locks.clone().namespace("office");
    for (result, name, owner) in [
        (locks.acquire("report").wait(Wait::No).await.map(drop), "report", held.owner()),
        (locks.acquire("report").fair().wait(Wait::No).await.map(drop), "report", held.owner()),
        (locks.acquire_all(["other", "report"]).wait(Wait::No).await.map(drop), "report", held.owner()),
        (office.acquire("printer").wait(Wait::No).await.map(drop), "printer of namespace office", printer.owner()),
    ] {
        let locked = expect_error!(result, Error::Locked(locked) => locked);
        assert_eq!(locked.name.as_deref(), Some(name));
        let said = format!("`{owner}` holds the lock `{name}` in table `locks` under fence {}", locked.fence);
        assert!(locked.to_string().starts_with(&said), "{locked}");
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Versioned)]
#[dynalock(table = "archives", show_key)]
#[lockable(separate)]
struct Archive {
    #[dynalock(partition_key)]
    id: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Versioned)]
#[dynalock(table = "crates")]
#[lockable]
struct Crate {
    #[dynalock(partition_key)]
    id: String,
}

/// Asserts the text of each refusal of a call on an item.
async fn refusals<T: Lockable + Clone + Debug>(shop: &Shop, key: fn() -> T::Key, value: T) -> Vec<String> {
    let items = shop.table::<T>().await.items;
    let missing = items.update_with(key(), |_| {}).await.unwrap_err();
    let missing_lock = items.lock(key()).await.unwrap_err();
    let missing_in_queue = items.lock(key()).fair().await.unwrap_err();
    let stale = items.create(value.clone()).await.unwrap();
    let exists = items.create(value).await.unwrap_err();
    let stored = items.touch(stale.clone()).await.unwrap();
    let conflict = items.touch(stale).await.unwrap_err();
    let lease = items.lock(key()).await.unwrap();
    let locked = items.lock(key()).wait(Wait::No).await.unwrap_err();
    let locked_write = items.touch(stored.clone()).await.unwrap_err();
    let locked_transaction = commit(&shop.client, |tx| tx.replace(&items, stored)).await.unwrap_err();
    lease.release().await.unwrap();
    let errors = [missing, missing_lock, missing_in_queue, exists, conflict, locked, locked_write, locked_transaction];
    errors.map(|error| error.to_string()).into()
}

#[tokio::test(start_paused = true)]
async fn a_key_is_shown_if_its_type_allows_it_and_never_else() {
    let shop = Shop::without_faults();
    for said in refusals(&shop, || ("alice", 7).into(), cart(7)).await {
        assert!(said.contains("`\"alice\", 7`"), "{said}");
    }
    for said in refusals(&shop, || "alice".into(), Archive { id: "alice".to_owned() }).await {
        assert!(said.contains("`\"alice\"`"), "{said}");
    }
    for said in refusals(&shop, || SECRET.into(), Crate { id: SECRET.to_owned() }).await {
        assert!(!said.contains(SECRET), "{said}");
    }
}

#[tokio::test(start_paused = true)]
async fn of_a_foreign_holder_is_said_what_is_known() {
    let (_, table) = Shop::with_table::<Crate>().await;
    table.raw.put(item([("id", s("a")), ("_version", n(1)), ("_owner", s("a program"))])).await;
    let locked = expect_error!(table.items.lock("a").wait(Wait::No).await, Error::Locked(locked) => locked);
    let said = format!("`a program` holds the lock in table `{}` (1 request in ", table.name());
    assert!(locked.to_string().starts_with(&said), "{locked}");
}
