//! Writes of many items, with faults: `create_many`, `update_many`, `delete_many` and
//! `import_unchecked`.

mod checked;
mod imports;
mod streams;

use std::{
    fmt::Debug,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::SeqCst},
    },
};

use dynalock::{Error, Stored};

use crate::support::{Product, Shop, millis, travel};

/// The number of requests that are on their way at the same time.
#[derive(Default)]
struct Crowd {
    now: AtomicUsize,
    most: AtomicUsize,
}

impl Crowd {
    /// Counts the requests of an operation. Each request takes 100 ms.
    fn of(shop: &Shop, operation: &str) -> Arc<Self> {
        let crowd = Arc::new(Self::default());
        let counted = Arc::clone(&crowd);
        shop.rival.before_each(operation, move || {
            let crowd = Arc::clone(&counted);
            async move {
                crowd.most.fetch_max(crowd.now.fetch_add(1, SeqCst) + 1, SeqCst);
                travel(millis(100)).await;
                crowd.now.fetch_sub(1, SeqCst);
            }
        });
        crowd
    }

    /// The largest number of requests at the same time since the last call.
    fn most(&self) -> usize {
        self.most.swap(0, SeqCst)
    }
}

/// Products with the SKUs and stocks 0, 1, 2 ..
fn products(count: i64) -> Vec<Product> {
    (0..count).map(|number| Product::new(&number.to_string(), number)).collect()
}

/// The values of results that are all successes.
#[track_caller]
fn all<V: Debug>(results: Vec<Result<V, Error>>) -> Vec<V> {
    results.into_iter().map(|result| result.unwrap()).collect()
}

fn stocks(products: &[Stored<Product>]) -> Vec<i64> {
    products.iter().map(|product| product.stock).collect()
}
