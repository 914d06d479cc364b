use std::{fmt, sync::Arc};

/// A value that serde could not read from an item, or not write into one.
#[derive(Clone)]
pub struct CodecError(Box<(Arc<str>, Option<String>, serde_dynamo::Error)>);

impl CodecError {
    pub(crate) fn new(table: Arc<str>, attribute: Option<String>, detail: serde_dynamo::Error) -> Self {
        Self(Box::new((table, attribute, detail)))
    }

    /// The table.
    pub fn table(&self) -> &str {
        &self.0.0
    }

    /// The attribute, where it is known.
    pub fn attribute(&self) -> Option<&str> {
        self.0.1.as_deref()
    }

    /// What serde says. It may quote the content of the item.
    pub fn detail(&self) -> &serde_dynamo::Error {
        &self.0.2
    }
}

impl fmt::Display for CodecError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.attribute() {
            Some(attribute) => write!(f, "attribute `{attribute}` of an item of table `{}`", self.table()),
            None => write!(f, "an item of table `{}`", self.table()),
        }
    }
}

impl fmt::Debug for CodecError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CodecError").field("table", &self.0.0).field("attribute", &self.0.1).finish_non_exhaustive()
    }
}
