//! Removes keys or writes from a batch request, and adds the removed keys or writes to the
//! unprocessed part of the reply.

use aws_smithy_runtime_api::client::{orchestrator::HttpResponse, result::ConnectorError};
use aws_smithy_types::byte_stream::ByteStream;
use http::StatusCode;
use serde_json::{Map, Value, json};

use crate::wire;

/// The keys or writes of a batch request, by table.
pub(crate) type Tables = Map<String, Value>;

/// The kind of a batch request: a BatchGetItem or a `BatchWriteItem`.
pub(crate) enum Kind {
    Get,
    Write,
}

impl Kind {
    pub(crate) fn of(operation: &str) -> Option<Self> {
        match operation {
            "BatchGetItem" => Some(Self::Get),
            "BatchWriteItem" => Some(Self::Write),
            _ => None,
        }
    }

    fn unprocessed(&self) -> &'static str {
        match self {
            Self::Get => "UnprocessedKeys",
            Self::Write => "UnprocessedItems",
        }
    }

    /// Returns the keys or writes for one table of a batch request.
    fn entries<'t>(&self, table: &'t mut Value) -> Option<&'t mut Vec<Value>> {
        match self {
            Self::Get => table.get_mut("Keys")?.as_array_mut(),
            Self::Write => table.as_array_mut(),
        }
    }

    /// Removes from a batch each key or write for which `is_left` returns `true`, and returns the
    /// removed keys or writes. `take` calls `is_left` in the reverse order of the batch.
    pub(crate) fn take(&self, tables: &mut Tables, mut is_left: impl FnMut(&str, &Value) -> bool) -> Tables {
        let mut taken = Tables::new();
        for (name, table) in tables.iter_mut().rev() {
            let mut rest = table.clone();
            let (Some(kept), Some(left)) = (self.entries(table), self.entries(&mut rest)) else { continue };
            let mut leaves: Vec<_> = kept.iter().rev().map(|entry| is_left(name, entry)).collect();
            leaves.reverse();
            let (mut of_kept, mut of_left) = (leaves.iter(), leaves.iter());
            kept.retain(|_| of_kept.next() == Some(&false));
            left.retain(|_| of_left.next() == Some(&true));
            if !left.is_empty() {
                taken.insert(name.clone(), rest);
            }
        }
        // A table without keys or writes would make the request invalid. If `take` has removed all
        // keys or writes of a table, `take` removes the table from the request. If the request
        // already contained a table without keys or writes, `take` keeps the table, so that the
        // local engine refuses the request.
        tables.retain(|name, table| {
            !taken.contains_key(name) || self.entries(table).is_some_and(|kept| !kept.is_empty())
        });
        taken
    }

    pub(crate) fn nothing_processed(&self, left: &Tables) -> Value {
        match self {
            Self::Get => json!({ "Responses": {}, "UnprocessedKeys": left }),
            Self::Write => json!({ "UnprocessedItems": left }),
        }
    }

    /// Adds the keys or writes in `left` to the unprocessed keys or writes of a reply.
    pub(crate) async fn add(&self, left: Tables, reply: HttpResponse) -> Result<HttpResponse, ConnectorError> {
        let body = ByteStream::new(reply.into_body()).collect().await;
        let body = body.map_err(|error| ConnectorError::other(error.into(), None))?.to_vec();
        let Ok(Value::Object(mut answer)) = serde_json::from_slice(&body) else {
            return Ok(wire::reply(StatusCode::OK, body));
        };

        let unprocessed = answer.entry(self.unprocessed()).or_insert_with(|| json!({}));
        for (name, mut table) in left {
            // The reply may already contain unprocessed keys or writes of the table `name`.
            match unprocessed.get_mut(&name).and_then(|known| self.entries(known)) {
                Some(known) => known.append(self.entries(&mut table).unwrap_or(&mut Vec::new())),
                None => unprocessed[name] = table,
            }
        }
        Ok(wire::reply(StatusCode::OK, Value::Object(answer).to_string()))
    }
}
