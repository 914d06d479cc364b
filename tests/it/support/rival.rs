//! Another caller that acts directly before a request of the code under test.

use std::{
    collections::HashMap,
    fmt,
    future::Future,
    pin::Pin,
    sync::{Arc, Mutex},
};

use aws_smithy_runtime_api::client::http::{HttpConnector, HttpConnectorFuture, SharedHttpConnector};

use super::layer::{HttpRequest, Layer};

type Act = Box<dyn FnOnce() -> Pin<Box<dyn Future<Output = ()> + Send>> + Send>;
type Acts = Arc<dyn Fn() -> Pin<Box<dyn Future<Output = ()> + Send>> + Send + Sync>;

/// Acts directly before a client's requests are sent. The actions of the rival are complete when
/// the request arrives, even with faults.
#[derive(Clone, Default)]
pub(crate) struct Rival(Arc<Mutex<Script>>);

#[derive(Default)]
struct Script {
    once: HashMap<(String, usize), Act>,
    each: HashMap<String, Acts>,
    counts: HashMap<String, usize>,
}

enum Now {
    Nothing,
    Once(Act),
    Each(Acts),
}

impl Rival {
    /// Acts before the `nth` request of `operation` from now on. The next request has the number 0.
    pub(crate) fn before<F>(&self, operation: &str, nth: usize, act: impl FnOnce() -> F + Send + 'static)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let mut script = self.0.lock().unwrap();
        let at = script.counts.get(operation).copied().unwrap_or_default() + nth;
        script.once.insert((operation.to_owned(), at), Box::new(move || Box::pin(act())));
    }

    /// Acts through a handle before the `nth` request of `operation` from now on.
    pub(crate) fn before_through<H, F>(
        &self,
        handle: &H,
        operation: &str,
        nth: usize,
        act: impl FnOnce(H) -> F + Send + 'static,
    ) where
        H: Clone + Send + 'static,
        F: Future<Output = ()> + Send + 'static,
    {
        let handle = handle.clone();
        self.before(operation, nth, move || act(handle));
    }

    /// Acts before each later request of `operation`.
    pub(crate) fn before_each<F>(&self, operation: &str, act: impl Fn() -> F + Send + Sync + 'static)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        self.0.lock().unwrap().each.insert(operation.to_owned(), Arc::new(move || Box::pin(act())));
    }

    fn next(&self, operation: &str) -> Now {
        let mut script = self.0.lock().unwrap();
        let count = script.counts.entry(operation.to_owned()).or_default();
        let at = *count;
        *count += 1;
        match (script.once.remove(&(operation.to_owned(), at)), script.each.get(operation)) {
            (Some(act), _) => Now::Once(act),
            (None, Some(act)) => Now::Each(Arc::clone(act)),
            (None, None) => Now::Nothing,
        }
    }
}

impl fmt::Debug for Rival {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Rival")
    }
}

impl Layer for Rival {
    fn call(&self, request: HttpRequest, inner: &SharedHttpConnector) -> HttpConnectorFuture {
        let target = request.headers().get("x-amz-target").unwrap_or_default();
        let now = self.next(target.rsplit('.').next().unwrap_or_default());
        let inner = inner.clone();
        HttpConnectorFuture::new(async move {
            match now {
                Now::Nothing => {}
                Now::Once(act) => act().await,
                Now::Each(act) => act().await,
            }
            inner.call(request).await
        })
    }
}
