use std::{fmt, sync::Arc};

use super::Spent;

/// The refusal of a request, with the code and the message from DynamoDB. A refusal contains the
/// number of requests and the duration of the refused call.
#[derive(Debug, Clone)]
pub struct Refusal(Box<RefusalParts>);

#[derive(Debug, Clone)]
struct RefusalParts {
    code: String,
    message: String,
    request_id: Option<String>,
    spent: Spent,
}

impl Refusal {
    pub(crate) fn new(code: impl Into<String>, message: impl Into<String>, request_id: Option<String>) -> Self {
        let (code, message) = (code.into(), message.into());
        Self(Box::new(RefusalParts { code, message, request_id, spent: Spent::default() }))
    }

    /// Returns `true` if DynamoDB refused the request because the key attributes of the table
    /// differ from the key attributes in the request.
    pub(crate) fn is_of_key_schema(&self) -> bool {
        // DynamoDB has one error code for all invalid requests, so only the message of the refusal
        // shows the cause.
        const KNOWN: [&str; 8] = [
            "The provided key element does not match the schema",
            // DynamoDB Local uses other words than DynamoDB for a missing key attribute.
            "One of the required keys was not given a value",
            "The number of conditions on the keys is invalid",
            "Missing the key",
            "Type mismatch for key",
            "This attribute is part of the key",
            "Query condition missed key schema element",
            "Condition parameter type does not match schema type",
        ];
        // DynamoDB cancels a whole TransactGetItems request if one key in the request has wrong
        // attributes.
        let is_validation = ["Validation", "TransactionCanceled"].iter().any(|code| self.code().starts_with(code));
        is_validation && KNOWN.iter().any(|known| self.message().contains(known))
    }

    pub(crate) fn is_of_item_size(&self) -> bool {
        let message = self.message();
        self.code().starts_with("Validation")
            && message.contains("Item size")
            && message.contains("exceeded the maximum allowed size")
    }

    /// Returns `true` if DynamoDB refused the request as invalid, and wrong key attributes are not
    /// the cause.
    pub(crate) fn is_of_content(&self) -> bool {
        self.code().starts_with("Validation") && !self.is_of_key_schema()
    }

    pub(crate) fn is_of_missing_index(&self) -> bool {
        self.code().starts_with("Validation") && self.message().contains("does not have the specified index")
    }

    /// Returns `true` if DynamoDB refused the start key of a page.
    pub(crate) fn is_of_page_start(&self) -> bool {
        let message = self.message().to_ascii_lowercase();
        self.code().starts_with("Validation")
            // DynamoDB, DynamoDB Local and the engine of `dynalock-local` use different words for
            // the start key in an error message.
            && ["starting key", "exclusive start key", "exclusivestartkey"].iter().any(|word| message.contains(word))
    }

    pub(crate) fn after(mut self, spent: Spent) -> Self {
        self.0.spent = spent;
        self
    }

    /// Returns the error code from DynamoDB, for example `ValidationException`.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # fn example(refusal: &dynalock::error::Refusal) {
    /// let is_denied = refusal.code() == "AccessDeniedException";
    /// # }
    /// ```
    pub fn code(&self) -> &str {
        &self.0.code
    }

    /// Returns the message from DynamoDB.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # fn example(refusal: &dynalock::error::Refusal) {
    /// println!("DynamoDB refused the request: {}", refusal.message());
    /// # }
    /// ```
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// Returns the id that DynamoDB gave the request. AWS support asks for the request id.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # fn example(refusal: &dynalock::error::Refusal) {
    /// if let Some(id) = refusal.request_id() {
    ///     println!("give AWS support the request id {id}");
    /// }
    /// # }
    /// ```
    pub fn request_id(&self) -> Option<&str> {
        self.0.request_id.as_deref()
    }

    /// Returns the number of requests that the failed call sent, and the duration of the failed
    /// call.
    ///
    /// # Examples
    ///
    /// ```
    /// # use dynalock_core as dynalock;
    /// # fn example(refusal: &dynalock::error::Refusal) {
    /// println!("refused after {} requests", refusal.spent().attempts);
    /// # }
    /// ```
    pub fn spent(&self) -> &Spent {
        &self.0.spent
    }
}

impl Unavailable {
    pub(crate) fn after(self, spent: Spent) -> Self {
        match self {
            Self::Server(refusal) => Self::Server(refusal.after(spent)),
            other => other,
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let RefusalParts { code, message, request_id, spent } = &*self.0;
        let Spent { attempts, elapsed, cost, .. } = spent;
        write!(f, "{code}: {message}; ")?;
        if let Some(id) = request_id {
            write!(f, "request {id}, ")?;
        }
        write!(f, "{attempts} sent in {elapsed:.1?}")?;
        cost.as_ref().map_or(Ok(()), |cost| write!(f, ", {cost}"))
    }
}

/// The reason why a call has received no usable answer.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum Unavailable {
    /// The server refused the connection, so the request was never sent.
    #[error("the connection was refused; is the endpoint right, and is the server running?")]
    Refused,
    /// The credentials provider failed, so the request was never sent. The credentials provider may
    /// succeed for a later request.
    #[error("the provider of credentials failed: {0}")]
    Credentials(Arc<str>),
    /// A part of the SDK's configuration, for example an interceptor, failed, so the request was
    /// never sent.
    #[error("the SDK did not send the request: {0}")]
    NotSent(Arc<str>),
    /// The client could not open the connection, or the connection was interrupted. DynamoDB may
    /// have applied a request whose connection was interrupted.
    #[error("the connection failed: {0}")]
    Connection(Arc<str>),
    /// DynamoDB did not answer before the timeout of the request. DynamoDB may have applied the
    /// request.
    #[error("no answer came in time")]
    Timeout,
    /// The call reached its deadline before the call could send the request.
    #[error("the deadline was past before the request could be sent")]
    TooLate,
    /// The tokio runtime of a lock did not finish an acquire or a release. The runtime was shut
    /// down, or was blocked for longer than `release` waits. DynamoDB may already have applied the
    /// acquire or the release. If the lock is still held in DynamoDB, no caller can acquire the
    /// lock before the end of the lease.
    #[error("the runtime of the lock was shut down or stood still before the acquire or release ended")]
    RuntimeEnded,
    /// The tokio runtime that ran the queue of a [`Combining`](crate::request::Combining) was shut
    /// down. DynamoDB has not applied the write of the failed call, and the caller may repeat the
    /// call.
    #[error("the runtime of the queue was shut down before the call was applied; call again")]
    WorkerEnded,
    /// The operating system could not start the thread of
    /// [`Heartbeat::Thread`](crate::Heartbeat::Thread). The call has sent no request for the lock.
    #[error("the thread for heartbeats could not be started: {0}")]
    NoThread(Arc<str>),
    /// DynamoDB has accepted the creation of the table. The new table, an index or the time to live
    /// of the table is not active yet.
    #[error("the table, an index or its time to live is not active yet")]
    NotActive,
    /// DynamoDB answered with a server error. DynamoDB may have applied the request.
    #[error("a server error ({0})")]
    Server(Refusal),
    /// The client could not read the answer, or the answer had no content. DynamoDB may have
    /// applied the request.
    #[error("the answer could not be read: {0}")]
    Unreadable(Arc<str>),
}
