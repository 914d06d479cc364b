//! Stores the body of a request, so that a retry of the request has exactly the same bytes.

use std::{
    future::Future,
    sync::{Arc, Mutex, PoisonError},
};

use aws_sdk_dynamodb::config::http::HttpRequest;
use aws_smithy_types::body::SdkBody;

/// The HTTP body of the first attempt of a request, or `None` before the first attempt.
#[derive(Debug, Clone, Default)]
pub(super) struct Body(Arc<Mutex<Option<SdkBody>>>);

tokio::task_local! {
    static KEPT: Body;
}

impl Body {
    pub(super) async fn keep<F: Future>(&self, request: F) -> F::Output {
        KEPT.scope(self.clone(), request).await
    }

    pub(super) fn is_kept(&self) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }

    pub(super) fn put_into(&self, request: &mut HttpRequest) {
        // A panic cannot leave the body half-written, so the body in a poisoned `Mutex` is valid.
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner).as_ref().and_then(SdkBody::try_clone);
        let Some(body) = kept else { return };
        // The stored body may be longer or shorter than the replaced body.
        if let Some(length) = body.content_length() {
            request.headers_mut().insert("content-length", length.to_string());
        }
        *request.body_mut() = body;
    }
}

/// Stores the body of a request if the current task runs in [`Body::keep`], which only transactions
/// use.
pub(crate) fn keep_body(request: &HttpRequest) {
    let _ = KEPT.try_with(|kept| {
        *kept.0.lock().unwrap_or_else(PoisonError::into_inner) = request.body().try_clone();
    });
}
