//! The texts of explained requests.

use dynalock::{Stored, Transaction, request::Explained};

use crate::support::{Archive, Basket, Order, Parcel, Product, Shop, Table, changed};

/// Returns the text without the number in the name of its table.
fn text(explained: &Explained, table: &str, name: &str) -> String {
    explained.to_string().replace(table, name)
}

async fn products() -> (Shop, Table<Product>, Stored<Product>) {
    let shop = Shop::without_faults();
    let (table, stored) = shop.created(Product::new("a", 5)).await;
    (shop, table, stored)
}

const CREATE: &str = "\
PutItem products
  item       _version = <N>, _writes = <B>, note = <NULL>, sku = <S>, stock = <N>
  condition  attribute_not_exists(sku)";
const UPDATE: &str = "\
UpdateItem products
  key        sku = <S>
  condition  _version = <N> AND begins_with(_writes, <B>)
  update     SET stock = <N>, _version = <N>, _writes = <B>";
const CHECK: &str = "\
TransactWriteItems
  token      <random>
  ConditionCheck products
    key        sku = <S>
    condition  _version = <N> AND begins_with(_writes, <B>) AND stock > <N>";
const TOUCH: &str = "\
UpdateItem products
  key        sku = <S>
  condition  _version = <N> AND begins_with(_writes, <B>)
  update     SET _version = <N>, _writes = <B>";
const REPLACE: &str = "\
PutItem products
  item       _version = <N>, _writes = <B>, note = <NULL>, sku = <S>, stock = <N>
  condition  _version = <N> AND begins_with(_writes, <B>)";
const DELETE: &str = "\
DeleteItem products
  key        sku = <S>
  condition  _version = <N> AND begins_with(_writes, <B>) AND stock > <N>";
const DELETE_UNCHECKED: &str = "\
DeleteItem products
  key        sku = <S>
  condition  stock > <N>";
const PATCH: &str = "\
UpdateItem products
  key        sku = <S>
  condition  attribute_exists(sku) AND (_version BETWEEN <N> AND <N> OR attribute_not_exists(_version) AND attribute_not_exists(_writes)) AND _p0 <> <B> AND _p1 <> <B> AND _p2 <> <B> AND _p3 <> <B> AND _p4 <> <B> AND _p5 <> <B> AND _p6 <> <B> AND _p7 <> <B> AND stock BETWEEN <N> AND <N>
  update     SET _version = if_not_exists(_version, <N>) + <N>, _writes = if_not_exists(_writes, <B>), _p0 = <B>, _p1 = if_not_exists(_p0, <B>), _p2 = if_not_exists(_p1, <B>), _p3 = if_not_exists(_p2, <B>), _p4 = if_not_exists(_p3, <B>), _p5 = if_not_exists(_p4, <B>), _p6 = if_not_exists(_p5, <B>), _p7 = if_not_exists(_p6, <B>), stock = stock + <N>";
const UPDATE_WITH: &str = "\
GetItem products (strongly consistent)
  key        sku = <S>
UpdateItem products
  key        sku = <S>
  condition  _version = <N> AND begins_with(_writes, <B>)
  update     SET stock = <N>, _version = <N>, _writes = <B>";
const ONCE: &str = "\
TransactWriteItems
  token      <random>
  Update products
    key        sku = <S>
    condition  _version = <N> AND begins_with(_writes, <B>)
    update     SET stock = <N>, _version = <N>, _writes = <B>";

#[tokio::test]
async fn texts_of_writes() {
    let (_, table, stored) = products().await;
    let items = &table.items;
    let edited = changed(stored.clone(), |product| product.stock = 7);
    let in_stock = Product::ATTR.stock.gt(0);
    let explained = [
        items.create(Product::new("b", 1)).explain(),
        items.update(edited.clone()).explain(),
        items.update(stored.clone()).when(in_stock.clone()).explain(),
        items.touch(stored.clone()).explain(),
        items.replace(edited.clone()).explain(),
        items.delete(stored.clone()).when(in_stock.clone()).explain(),
        items.delete_unchecked("a").when(in_stock).explain(),
        items.patch("a").add(Product::ATTR.stock, 2).explain(),
        items.update_with("a", |product| product.stock = 7).explain_on(&stored),
        items.update(edited).exactly_once().explain(),
    ];
    let texts = explained.map(|explained| text(&explained.unwrap(), table.name(), "products"));
    let expected = [CREATE, UPDATE, CHECK, TOUCH, REPLACE, DELETE, DELETE_UNCHECKED, PATCH, UPDATE_WITH, ONCE];
    assert_eq!(texts, expected, "{}", texts.join("\n\n"));
}

const QUERY: &str = "\
Query orders (strongly consistent, descending, limit 20)
  key        customer = <S> AND number BETWEEN <N> AND <N>
  filter     cents >= <N>";
const COUNT: &str = "\
Query orders (eventually consistent, count only)
  key        customer = <S>";
const SCAN: &str = "\
Scan orders (strongly consistent, segment 0 of 2)
  filter     cents >= <N>
Scan orders (strongly consistent, segment 1 of 2)
  filter     cents >= <N>";
const GET: &str = "\
GetItem orders (strongly consistent)
  key        customer = <S>, number = <N>";
const GET_MANY: &str = "\
BatchGetItem
  Get orders (strongly consistent)
    key        customer = <S>, number = <N>
  Get orders (strongly consistent)
    key        customer = <S>, number = <N>";

#[tokio::test]
async fn texts_of_reads() {
    let shop = Shop::without_faults();
    let table = shop.table::<Order>().await;
    let items = &table.items;
    let dear = Order::ATTR.cents.ge(100);
    let explained = [
        items.get(("alice", 7)).explain(),
        items.get_many([("alice", 7), ("bob", 1)]).explain(),
        items.query("alice").sort(1..=9).descending().limit(20).filter(dear.clone()).explain(),
        items.query("alice").eventually_consistent().explain_count(),
        items.scan().filter(dear).segments(2).explain(),
    ];
    let texts = explained.map(|explained| text(&explained.unwrap(), table.name(), "orders"));
    assert_eq!(texts, [GET, GET_MANY, QUERY, COUNT, SCAN], "{}", texts.join("\n\n"));
}

const TRANSACTION: &str = "\
TransactWriteItems
  token      <S>
  Put products
    item       _version = <N>, _writes = <B>, note = <NULL>, sku = <S>, stock = <N>
    condition  attribute_not_exists(sku)
  Update products
    key        sku = <S>
    condition  _version = <N> AND begins_with(_writes, <B>)
    update     SET stock = <N>, _version = <N>, _writes = <B>
  ConditionCheck products
    key        sku = <S>
    condition  attribute_exists(sku)";
const SNAPSHOT: &str = "\
TransactGetItems
  Get products
    key        sku = <S>";

#[tokio::test]
async fn texts_of_transactions() {
    let (shop, table, stored) = products().await;
    let items = &table.items;
    let mut tx = Transaction::new(&shop.client).token("payment-7");
    tx.create(items, Product::new("b", 1));
    tx.update(items, changed(stored, |product| product.stock = 7));
    tx.check_exists(items, "c");
    let mut get = Transaction::get(&shop.client);
    let _a = get.item(items, "a");
    let texts = [tx.explain(), get.explain()].map(|explained| text(&explained.unwrap(), table.name(), "products"));
    assert_eq!(texts, [TRANSACTION, SNAPSHOT], "{}", texts.join("\n\n"));
}

const IN_ITEM: &str = "\
UpdateItem parcels
  key        id = <S>
  condition  _version = <N> AND begins_with(_writes, <B>) AND (attribute_not_exists(_owner) OR _until < <N>) AND attribute_not_exists(_queue[0])
  update     SET items = <N>, _version = <N>, _writes = <B> REMOVE _owner, _until";
const SEPARATE: &str = "\
TransactWriteItems
  token      <random>
  Update archives
    key        id = <S>
    condition  _version = <N> AND begins_with(_writes, <B>)
    update     SET items = <N>, _version = <N>, _writes = <B>
  ConditionCheck archives (lease row)
    key        id = <S>
    condition  attribute_not_exists(_owner) AND attribute_not_exists(_queue[0])";

#[tokio::test(start_paused = true)]
async fn texts_of_writes_with_leases() {
    let shop = Shop::without_faults();
    let (parcels, parcel) = shop.created(Parcel::new("a", 1)).await;
    let (archives, archive) = shop.created(Archive::new("a", 1)).await;
    let parcel = parcels.items.update(changed(parcel, |parcel| parcel.items = 2)).explain().unwrap();
    let archive = archives.items.update(changed(archive, |archive| archive.items = 2)).explain().unwrap();
    let texts = [text(&parcel, parcels.name(), "parcels"), text(&archive, archives.name(), "archives")];
    assert_eq!(texts, [IN_ITEM, SEPARATE], "{}", texts.join("\n\n"));
}

const VALUES: &str = "\
prices.[..] = <N>, title = <S> ADD tags <SS>
prices.eur = 7, title = \"a \\\"b\\\"\" ADD tags {\"x\"}";

#[tokio::test]
async fn values_are_shown_on_demand() {
    let a = Basket::ATTR;
    let shop = Shop::without_faults();
    let table = shop.table::<Basket>().await;
    let patch = table.items.patch("a").set(a.prices.key("eur"), 7).set(a.title, "a \"b\"").insert(a.tags, ["x"]);
    let explained = patch.explain().unwrap();
    let update = explained.requests()[0].actions()[0].update().unwrap();
    let texts = [format!("{update}"), format!("{update:#}")];
    let after = |text: &String| text.split_once("prices").map(|(_, after)| format!("prices{after}")).unwrap();
    assert_eq!(texts.each_ref().map(after).join("\n"), VALUES);
}
