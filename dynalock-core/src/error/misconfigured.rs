use std::sync::Arc;

/// The part of the client's configuration that is missing or invalid. A client with an incomplete
/// configuration can send no request.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Misconfigured {
    /// The client has no credentials provider, or the credentials provider has found no
    /// credentials.
    #[error(
        "it has no credentials ({0}); build it from `aws_config::load_defaults`, or give its configuration a \
         `credentials_provider`"
    )]
    Credentials(Arc<str>),
    /// The client has no Region, or the text of the Region cannot be part of a host name.
    #[error(
        "it has no valid Region ({0}); set the environment variable AWS_REGION and build the client from \
         `aws_config::load_defaults`, or give its configuration a `region`"
    )]
    Region(Arc<str>),
    /// The endpoint URL of the client is not valid.
    #[error(
        "its endpoint URL is not valid ({0}); give it one like `http://127.0.0.1:8000`, or leave `endpoint_url` out"
    )]
    Endpoint(Arc<str>),
    /// The host name of the endpoint cannot be resolved to an address.
    #[error(
        "the host name of its endpoint cannot be resolved ({0}); check `endpoint_url`, the Region and the name servers \
         of this machine"
    )]
    Host(Arc<str>),
}
