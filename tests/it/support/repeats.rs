//! Requests that the network repeats.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicBool, Ordering},
};

use aws_smithy_runtime_api::client::http::{HttpConnector, HttpConnectorFuture, SharedHttpConnector};
use dynalock::local::Faults;

use super::{
    Product, Shop, Table,
    layer::{HttpRequest, Layer},
    millis, travel,
};

/// Keeps a copy of the first request of an operation. The request itself passes. A test in which the
/// copy never arrives fails at its end.
#[derive(Debug, Clone)]
pub(crate) struct Repeated(Arc<Repetition>);

#[derive(Debug)]
struct Repetition {
    operation: &'static str,
    copy: Mutex<Option<Copy>>,
    has_arrived: AtomicBool,
}

#[derive(Debug)]
struct Copy {
    request: HttpRequest,
    engine: SharedHttpConnector,
}

impl Drop for Repetition {
    fn drop(&mut self) {
        assert!(*self.has_arrived.get_mut() || std::thread::panicking(), "the copy has not arrived");
    }
}

impl Repeated {
    /// Keeps a copy of the first request of this operation.
    pub(crate) fn first(operation: &'static str) -> Self {
        Self(Arc::new(Repetition { operation, copy: Mutex::default(), has_arrived: AtomicBool::new(false) }))
    }

    /// Makes a table whose first create is kept. The create arrives after 5 ms. Another writer
    /// creates the item `a` before this, so that the create is refused.
    pub(crate) async fn of_refused_create() -> (Self, Shop, Table<Product>) {
        let copy = Self::first("PutItem");
        let shop = Shop::below(Faults::none(), &copy);
        let table = shop.table().await;
        shop.rival.before_through(&table.others, "PutItem", 0, async |others| {
            travel(millis(5)).await;
            others.create(Product::new("a", 100)).await.unwrap();
        });
        (copy, shop, table)
    }

    /// Lets the copy arrive.
    pub(crate) async fn arrive(self) {
        let Copy { request, engine } = self.0.copy.lock().unwrap().take().expect("a request was sent");
        self.0.has_arrived.store(true, Ordering::Relaxed);
        engine.call(request).await.expect("an answer");
    }
}

impl Layer for Repeated {
    fn call(&self, request: HttpRequest, inner: &SharedHttpConnector) -> HttpConnectorFuture {
        let target = request.headers().get("x-amz-target").unwrap_or_default();
        if target.ends_with(self.0.operation) && !self.0.has_arrived.load(Ordering::Relaxed) {
            let request = request.try_clone().expect("a request that can be repeated");
            self.0.copy.lock().unwrap().get_or_insert(Copy { request, engine: inner.clone() });
        }
        inner.call(request)
    }
}
