//! The body of a request, kept so that the request can be sent again the same to the byte.

use std::{
    future::Future,
    sync::{Arc, Mutex, PoisonError},
};

use aws_sdk_dynamodb::config::http::HttpRequest;
use aws_smithy_types::body::SdkBody;

/// The body of a request that was made before.
#[derive(Debug, Clone, Default)]
pub(super) struct Body(Arc<Mutex<Option<SdkBody>>>);

tokio::task_local! {
    /// Where the body goes of the request that this task is making.
    static KEPT: Body;
}

impl Body {
    /// Keeps the body of the request that is made meanwhile.
    pub(super) async fn keep<F: Future>(&self, request: F) -> F::Output {
        KEPT.scope(self.clone(), request).await
    }

    /// Whether one is kept.
    pub(super) fn is_kept(&self) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }

    /// Puts the body that is kept in place of a request's own.
    pub(super) fn put_into(&self, request: &mut HttpRequest) {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner).as_ref().and_then(SdkBody::try_clone);
        let Some(body) = kept else { return };
        if let Some(length) = body.content_length() {
            request.headers_mut().insert("content-length", length.to_string());
        }
        *request.body_mut() = body;
    }
}

/// Keeps the body of a request that was just made, where somebody wants it.
pub(crate) fn keep_body(request: &HttpRequest) {
    // Elsewhere nobody asks.
    let _ = KEPT.try_with(|kept| {
        *kept.0.lock().unwrap_or_else(PoisonError::into_inner) = request.body().try_clone();
    });
}
