//! A database in a file.

use dynalock::local::{Database, Faults};

use crate::support::{Product, Shop, changed, secs};

#[tokio::test(flavor = "multi_thread")]
async fn two_databases_on_one_file_count_exactly() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("products.db");
    let databases = [Database::open(&path).unwrap(), Database::open(&path).unwrap()];
    let shops = databases.each_ref().map(|database| Shop::on(database, Faults::none()));
    let table = shops[0].table::<Product>().await;
    table.items.create(Product::new("a", 0)).await.unwrap();
    let tasks = shops.each_ref().map(|shop| {
        let items = shop.named::<Product>(table.name());
        tokio::spawn(async move {
            for _ in 0..100 {
                items.update_with("a", |product| product.stock += 1).deadline(secs(60)).await.unwrap();
            }
        })
    });
    for task in tasks {
        task.await.unwrap();
    }
    drop((databases, shops));

    let shop = Shop::on(&Database::open(&path).unwrap(), Faults::none());
    let product = shop.named::<Product>(table.name()).get("a").await.unwrap().unwrap();
    assert_eq!((product.stock, product.version()), (200, 201));
}

#[tokio::test]
async fn a_write_in_doubt_is_recognised_after_the_database_was_opened_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("products.db");
    let database = Database::open(&path).unwrap();
    let shop = Shop::on(&database, Faults::none());
    let (table, mut product) = shop.created(Product::new("a", 0)).await;
    shop.faults.script_on("UpdateItem", 0, dynalock::local::Fault::LoseReply);
    shop.faults.script_on("UpdateItem", 1, dynalock::local::Fault::AccessDenied);
    product.stock = 1;
    let edited = product.clone();
    table.items.update(changed(product, |it| it.note = Some("x".to_owned()))).await.unwrap_err();
    let name = table.name().to_owned();
    drop((table, shop, database));

    let shop = Shop::on(&Database::open(&path).unwrap(), Faults::none());
    let items = shop.named::<Product>(&name);
    let lost = crate::support::expect_error!(items.update(edited).await, dynalock::Error::Conflict(lost) => lost);
    assert_eq!(lost.current::<Product>().unwrap().unwrap().note.as_deref(), Some("x"));
}
