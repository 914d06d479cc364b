//! Many writers on one item.

use crate::support::{Product, Shop, secs};

#[tokio::test(flavor = "multi_thread")]
async fn update_with_by_64_tasks_ends_at_the_exact_sum_and_version() {
    let (_, table) = Shop::with_table::<Product>().await;
    table.items.create(Product::new("85123A", 0)).await.unwrap();
    let tasks: Vec<_> = (0..64)
        .map(|_| {
            let items = table.items.clone();
            tokio::spawn(async move {
                for _ in 0..200 {
                    items.update_with("85123A", |product| product.stock += 1).deadline(secs(120)).await.unwrap();
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
    let product = table.items.get("85123A").await.unwrap().unwrap();
    assert_eq!((product.stock, product.version()), (12_800, 12_801));
}
