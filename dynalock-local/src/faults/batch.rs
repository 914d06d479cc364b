//! Batches of which a part is left unprocessed.

use aws_smithy_runtime_api::client::{
    http::{HttpConnector, SharedHttpConnector},
    orchestrator::{HttpRequest, HttpResponse},
    result::ConnectorError,
};
use aws_smithy_types::{body::SdkBody, byte_stream::ByteStream};
use http::StatusCode;
use serde_json::{Map, Value, json};

use crate::wire;

/// By table: the keys or writes of a batch.
type Tables = Map<String, Value>;

/// Delivers a batch without its last `count` keys or writes, and names these as unprocessed in the answer.
pub(super) async fn leave_unprocessed(
    count: usize,
    inner: SharedHttpConnector,
    mut request: HttpRequest,
) -> Result<HttpResponse, ConnectorError> {
    let Some(kind) = Kind::of(wire::operation(&request)) else { return inner.call(request).await };
    let mut body: Value = serde_json::from_slice(request.body().bytes().unwrap_or_default()).unwrap_or_default();
    let Some(tables) = body.get_mut("RequestItems").and_then(Value::as_object_mut) else {
        return inner.call(request).await;
    };
    let left = kind.take_last(count, tables);
    if tables.is_empty() {
        return Ok(wire::reply(StatusCode::OK, kind.nothing_processed(&left).to_string()));
    }

    let shortened = body.to_string();
    request.headers_mut().insert("content-length", shortened.len().to_string());
    *request.body_mut() = SdkBody::from(shortened);
    let reply = inner.call(request).await?;

    if reply.status().is_success() { kind.add(left, reply).await } else { Ok(reply) }
}

enum Kind {
    Get,
    Write,
}

impl Kind {
    fn of(operation: &str) -> Option<Self> {
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

    /// The keys or writes of a table.
    fn entries<'t>(&self, table: &'t mut Value) -> Option<&'t mut Vec<Value>> {
        match self {
            Self::Get => table.get_mut("Keys")?.as_array_mut(),
            Self::Write => table.as_array_mut(),
        }
    }

    fn take_last(&self, count: usize, tables: &mut Tables) -> Tables {
        let mut taken = Tables::new();
        let mut open = count;
        for (name, table) in tables.iter_mut().rev() {
            let mut rest = table.clone();
            let (Some(kept), Some(left)) = (self.entries(table), self.entries(&mut rest)) else { continue };
            let keep = kept.len().saturating_sub(open);
            if keep == kept.len() {
                continue;
            }
            open -= kept.len() - keep;
            kept.truncate(keep);
            left.drain(..keep);
            taken.insert(name.clone(), rest);
        }
        // A table of which nothing is left would make the request invalid. One that was empty before stays, and is refused.
        tables.retain(|name, table| {
            !taken.contains_key(name) || self.entries(table).is_some_and(|kept| !kept.is_empty())
        });
        taken
    }

    fn nothing_processed(&self, left: &Tables) -> Value {
        match self {
            Self::Get => json!({ "Responses": {}, "UnprocessedKeys": left }),
            Self::Write => json!({ "UnprocessedItems": left }),
        }
    }

    async fn add(&self, left: Tables, reply: HttpResponse) -> Result<HttpResponse, ConnectorError> {
        let body = ByteStream::new(reply.into_body()).collect().await;
        let body = body.map_err(|error| ConnectorError::other(error.into(), None))?.to_vec();
        let Ok(Value::Object(mut answer)) = serde_json::from_slice(&body) else {
            return Ok(wire::reply(StatusCode::OK, body));
        };

        let unprocessed = answer.entry(self.unprocessed()).or_insert_with(|| json!({}));
        for (name, mut table) in left {
            // DynamoDB may have left keys of the same table by itself.
            match unprocessed.get_mut(&name).and_then(|known| self.entries(known)) {
                Some(known) => known.append(self.entries(&mut table).unwrap_or(&mut Vec::new())),
                None => unprocessed[name] = table,
            }
        }
        Ok(wire::reply(StatusCode::OK, Value::Object(answer).to_string()))
    }
}
