//! A call and a query value report a setting or a range that they do not have, at its place.

use dynalock::{Repository, Stored, Versioned, query::QuerySpec, store::Store};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Versioned)]
#[dynalock(table = "products", index(name = "by_stock", partition_key = "stock"))]
struct Product {
    #[dynalock(partition_key)]
    sku: String,
    stock: i64,
}

fn an_import_checks_nothing(products: &Repository<Product>, new: Vec<Product>) {
    let _ = products.import_unchecked(new).exactly_once();
}

fn one_item_has_no_concurrency(products: &Repository<Product>, new: Product) {
    let _ = products.create(new).concurrency(4);
}

fn updates_need_what_was_read(products: &Repository<Product>, new: Vec<Product>, read: Vec<Stored<Product>>) {
    let _ = products.update_many(new);
    let _ = products.create_many(read);
}

fn queries() {
    let _: QuerySpec<Product> = QuerySpec::in_table(7).build();
    let _: QuerySpec<Product> = QuerySpec::in_table("a").sort(1..).build();
    let _ = QuerySpec::in_index(Product::INDEX.by_stock, "a").build();
    let _: QuerySpec<Product> = QuerySpec::in_table("a");
}

async fn a_key_of_another_type(products: &dyn Store<Product>) {
    let _ = products.get(7.into()).await;
}

fn main() {}
