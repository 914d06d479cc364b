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
    /// The variable that stores the HTTP body of the current task's request.
    static KEPT: Body;
}

impl Body {
    /// Runs `request`, and stores the body that the SDK builds for the request.
    pub(super) async fn keep<F: Future>(&self, request: F) -> F::Output {
        KEPT.scope(self.clone(), request).await
    }

    /// Returns `true` if an attempt of the request has stored the HTTP body.
    pub(super) fn is_kept(&self) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }

    /// Replaces the body of a request by the stored body of the first attempt.
    pub(super) fn put_into(&self, request: &mut HttpRequest) {
        // A panic cannot leave the body half-written, so the body in a poisoned `Mutex` is valid.
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner).as_ref().and_then(SdkBody::try_clone);
        let Some(body) = kept else { return };
        // The stored body may have another length than the replaced body, so the code changes the
        // header `content-length`.
        if let Some(length) = body.content_length() {
            request.headers_mut().insert("content-length", length.to_string());
        }
        *request.body_mut() = body;
    }
}

/// Stores the body of a request, if the current task runs in [`Body::keep`].
pub(crate) fn keep_body(request: &HttpRequest) {
    // Only transactions run in [`Body::keep`], so the library stores only the bodies of
    // transactions.
    let _ = KEPT.try_with(|kept| {
        *kept.0.lock().unwrap_or_else(PoisonError::into_inner) = request.body().try_clone();
    });
}
