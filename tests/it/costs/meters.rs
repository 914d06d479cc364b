//! The meters of repositories.

use super::{Metered, cost_of, shown};
use crate::support::Product;

#[tokio::test]
async fn a_meter_has_the_cost_of_each_key() {
    let to = Metered::new();
    let (products, _) = to.items([Product::new("cold", 1), Product::new("hot", 1)]).await;
    for _ in 0..3 {
        products.update_with("hot", |product| product.stock += 1).await.unwrap();
    }
    products.get("cold").await.unwrap();
    products.scan().collect().await.unwrap();

    let report = products.meter().unwrap().report();
    let keys: Vec<_> = report.keys.iter().map(|key| (&*key.key, shown(key.cost))).collect();
    assert_eq!(keys, [("\"hot\"", "useful 3r 3w".to_owned()), ("\"cold\"", "useful 1r 0w".to_owned())]);
    assert_eq!((shown(report.others), report.calls), ("useful 1r 0w".to_owned(), 5));
    assert_eq!(shown(report.total), "useful 5r 3w");
    assert!(!format!("{:?} {report:?} {:?}", products.meter(), report.keys).contains("hot"));
}

#[tokio::test]
async fn two_repositories_of_a_client_do_not_mix() {
    let to = Metered::new();
    let (first, table) = to.items([Product::new("a", 1)]).await;
    let second = table.items.clone().metered();
    let clone = first.clone();
    to.bill.take();

    first.get("a").await.unwrap();
    clone.get("a").await.unwrap();
    second.update_with("a", |product| product.stock += 1).await.unwrap();
    table.items.get("a").await.unwrap();

    assert_eq!(shown(cost_of(&first)), "useful 2r 0w");
    assert_eq!(shown(cost_of(&second)), "useful 1r 1w");
    assert_eq!(cost_of(&first).total() + cost_of(&second).total(), to.bill.take());
}
