//! Keeps the body of a request, so that a repetition has exactly the same bytes.

use std::{
    future::Future,
    sync::{Arc, Mutex, PoisonError},
};

use aws_sdk_dynamodb::config::http::HttpRequest;
use aws_smithy_types::body::SdkBody;

/// The body of the first request, if it has been made.
#[derive(Debug, Clone, Default)]
pub(super) struct Body(Arc<Mutex<Option<SdkBody>>>);

tokio::task_local! {
    /// The place in which the request of the current task stores its body.
    static KEPT: Body;
}

impl Body {
    /// Runs `request`, and keeps the body of the request that it makes.
    pub(super) async fn keep<F: Future>(&self, request: F) -> F::Output {
        KEPT.scope(self.clone(), request).await
    }

    /// Returns whether a body is kept.
    pub(super) fn is_kept(&self) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }

    /// Replaces the body of a request by the kept body.
    pub(super) fn put_into(&self, request: &mut HttpRequest) {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner).as_ref().and_then(SdkBody::try_clone);
        let Some(body) = kept else { return };
        if let Some(length) = body.content_length() {
            request.headers_mut().insert("content-length", length.to_string());
        }
        *request.body_mut() = body;
    }
}

/// Keeps the body of a request that was just made, if its task asks for that.
pub(crate) fn keep_body(request: &HttpRequest) {
    // Other tasks have no place for a body.
    let _ = KEPT.try_with(|kept| {
        *kept.0.lock().unwrap_or_else(PoisonError::into_inner) = request.body().try_clone();
    });
}
