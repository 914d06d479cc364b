//! Keeps the body of a request, so that a repetition of the request has exactly the same bytes.

use std::{
    future::Future,
    sync::{Arc, Mutex, PoisonError},
};

use aws_sdk_dynamodb::config::http::HttpRequest;
use aws_smithy_types::body::SdkBody;

/// The body of the first request, or `None` before the first request.
#[derive(Debug, Clone, Default)]
pub(super) struct Body(Arc<Mutex<Option<SdkBody>>>);

tokio::task_local! {
    /// The [`Body`] into which the request of the current task stores its body.
    static KEPT: Body;
}

impl Body {
    /// Runs `request`, and keeps the body that the SDK builds for it.
    pub(super) async fn keep<F: Future>(&self, request: F) -> F::Output {
        KEPT.scope(self.clone(), request).await
    }

    /// Returns whether a body has been stored.
    pub(super) fn is_kept(&self) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }

    /// Replaces the body of a request by the body that was stored from an earlier request.
    pub(super) fn put_into(&self, request: &mut HttpRequest) {
        // A panic cannot leave the body half-written, so a poisoned lock is used like any other.
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner).as_ref().and_then(SdkBody::try_clone);
        let Some(body) = kept else { return };
        // The stored body may have another length than the replaced body, so the header must change
        // as well.
        if let Some(length) = body.content_length() {
            request.headers_mut().insert("content-length", length.to_string());
        }
        *request.body_mut() = body;
    }
}

/// Stores the body of a request, if the current task runs in [`Body::keep`].
pub(crate) fn keep_body(request: &HttpRequest) {
    // Only transactions run in [`Body::keep`]. For all other requests, the body is not stored.
    let _ = KEPT.try_with(|kept| {
        *kept.0.lock().unwrap_or_else(PoisonError::into_inner) = request.body().try_clone();
    });
}
