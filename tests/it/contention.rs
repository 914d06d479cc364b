use std::time::Duration;

use crate::support::{Product, Shop};

#[tokio::test(flavor = "multi_thread")]
async fn update_with_by_64_tasks_ends_at_the_exact_sum_and_version() {
    let shop = Shop::open().await;
    shop.products.create(Product::new("85123A", 0)).await.unwrap();
    let tasks: Vec<_> = (0..64)
        .map(|_| {
            let products = shop.products.clone();
            tokio::spawn(async move {
                for _ in 0..200 {
                    products
                        .update_with("85123A", |product| product.stock += 1)
                        .deadline(Duration::from_secs(120))
                        .await
                        .unwrap();
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
    let product = shop.products.get("85123A").await.unwrap().unwrap();
    assert_eq!((product.stock, product.version()), (12_800, 12_801));
}
