use aws_smithy_runtime_api::client::orchestrator::HttpResponse;
use dynoxide::{
    Database, DynoxideError,
    actions::{
        query::{QueryRequest, QueryResponse},
        scan::{ScanRequest, ScanResponse},
        transact_write_items::TransactWriteItemsRequest,
    },
};
use http::StatusCode;
use serde::{Serialize, de::DeserializeOwned};

use crate::{
    keys, projections, ranges, settings,
    tokens::{Outcome, Tokens},
    wire,
};

/// The longest client request token that DynamoDB accepts, in characters. Like DynamoDB, the local
/// engine refuses a client request token with more than 36 characters.
const LONGEST_TOKEN: usize = 36;

/// Returns the answer of the local engine to one request.
pub(crate) fn answer(engine: &Database, tokens: &Tokens, operation: &str, body: &[u8]) -> HttpResponse {
    let answer = match operation {
        "TransactWriteItems" => return transact_write(engine, tokens, body),
        "BatchGetItem" => run(body, |request| engine.batch_get_item(request)),
        "BatchExecuteStatement" => run(body, |request| engine.batch_execute_statement(request)),
        "BatchWriteItem" => run(body, |request| engine.batch_write_item(request)),
        "CreateTable" => run(body, |request| engine.create_table(request)),
        "DeleteItem" => run(body, |request| engine.delete_item(request)),
        "DeleteTable" => run(body, |request| engine.delete_table(request)),
        "DescribeStream" => run(body, |request| engine.describe_stream(request)),
        "DescribeTable" => run(body, |request| engine.describe_table(request)),
        "DescribeTimeToLive" => run(body, |request| engine.describe_time_to_live(request)),
        "ExecuteStatement" => run(body, |request| engine.execute_statement(request)),
        "ExecuteTransaction" => run(body, |request| engine.execute_transaction(request)),
        "GetItem" => run(body, |request| engine.get_item(request)),
        "GetRecords" => run(body, |request| engine.get_records(request)),
        "GetShardIterator" => run(body, |request| engine.get_shard_iterator(request)),
        "ListStreams" => run(body, |request| engine.list_streams(request)),
        "ListTables" => run(body, |request| engine.list_tables(request)),
        "ListTagsOfResource" => run(body, |request| engine.list_tags_of_resource(request)),
        "PutItem" => run(body, |request| engine.put_item(request)),
        "Query" => run(body, |request| query(engine, request)),
        "Scan" => run(body, |request| scan(engine, request)),
        "TagResource" => run(body, |request| engine.tag_resource(request)),
        "TransactGetItems" => run(body, |request| engine.transact_get_items(request)),
        "UntagResource" => run(body, |request| engine.untag_resource(request)),
        "UpdateItem" => run(body, |request| engine.update_item(request)),
        "UpdateTable" => {
            run(body, |request| settings::check_table(&request).and_then(|()| engine.update_table(request)))
        }
        "UpdateTimeToLive" => run(body, |request| {
            settings::check_time_to_live(engine, &request).and_then(|()| engine.update_time_to_live(request))
        }),
        _ => return unknown(operation),
    };

    respond(answer)
}

fn query(engine: &Database, request: QueryRequest) -> dynoxide::Result<QueryResponse> {
    ranges::check_query(engine, &request)?;
    keys::check_query(&request)?;
    projections::check_query(engine, &request)?;

    engine.query(request)
}

fn scan(engine: &Database, request: ScanRequest) -> dynoxide::Result<ScanResponse> {
    ranges::check_scan(engine, &request)?;
    projections::check_scan(engine, &request)?;

    engine.scan(request)
}

fn transact_write(engine: &Database, tokens: &Tokens, body: &[u8]) -> HttpResponse {
    let mut request: TransactWriteItemsRequest = match read(body) {
        Ok(request) => request,
        Err(error) => return respond(Err(error)),
    };
    if let Err(error) = ranges::check_transaction(engine, &request) {
        return respond(Err(error));
    }
    let Some(token) = request.client_request_token.take_if(|token| token.chars().count() <= LONGEST_TOKEN) else {
        return respond(write(engine.transact_write_items(request)));
    };
    let content = match serde_json::to_value(&request.transact_items) {
        Ok(content) => content,
        Err(error) => return respond(Err(internal(&error))),
    };

    match tokens.once(token, &content, || write(engine.transact_write_items(request))) {
        Outcome::Applied(reply) => respond(Ok(reply)),
        Outcome::Refused(error) => respond(Err(error)),
        Outcome::Mismatch => respond(Err(DynoxideError::IdempotentParameterMismatchException(
            "the token was used with other parameters".to_owned(),
        ))),
    }
}

fn run<Q: DeserializeOwned, A: Serialize>(
    body: &[u8],
    call: impl FnOnce(Q) -> dynoxide::Result<A>,
) -> dynoxide::Result<String> {
    write(call(read(body)?))
}

/// Parses a request. For an invalid request, returns the same kind of exception as DynamoDB: a
/// `SerializationException` or a `ValidationException`.
fn read<Q: DeserializeOwned>(body: &[u8]) -> dynoxide::Result<Q> {
    serde_json::from_slice(body).map_err(|error| {
        let text = error.to_string();
        let (class, text) = match text.split_once(':') {
            Some((mark, rest)) if mark.contains("SERIALIZATION") => (Class::Malformed, rest),
            Some((mark, rest)) if mark.contains("VALIDATION") => (Class::Invalid, rest),
            _ => (Class::of(&text), text.as_str()),
        };

        match class {
            Class::Malformed => DynoxideError::SerializationException(text.to_owned()),
            Class::Invalid => DynoxideError::ValidationException(text.to_owned()),
        }
    })
}

enum Class {
    /// The body of the request is not JSON, or a member has the wrong JSON type.
    Malformed,
    /// The body of the request is valid JSON, but a member is missing or unknown.
    Invalid,
}

impl Class {
    /// Returns the class of an error of the JSON parser: malformed or invalid. An error text of the
    /// local engine begins with the class, but an error text of the JSON parser does not.
    fn of(error: &str) -> Self {
        const INVALID: [&str; 5] =
            ["missing field", "unknown variant", "invalid type: null", "AttributeValue", "recursion limit"];

        if INVALID.iter().any(|text| error.contains(text)) { Self::Invalid } else { Self::Malformed }
    }
}

fn write<A: Serialize>(answer: dynoxide::Result<A>) -> dynoxide::Result<String> {
    serde_json::to_string(&answer?).map_err(|error| internal(&error))
}

fn internal(error: &serde_json::Error) -> DynoxideError {
    DynoxideError::InternalServerError(error.to_string())
}

pub(crate) fn respond(answer: dynoxide::Result<String>) -> HttpResponse {
    match answer {
        Ok(body) => wire::reply(StatusCode::OK, body),
        Err(error) => {
            let status = StatusCode::from_u16(error.status_code()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
            wire::reply(status, error.to_json())
        }
    }
}

fn unknown(operation: &str) -> HttpResponse {
    let message = format!("the engine has no operation `{operation}`");

    wire::error(StatusCode::BAD_REQUEST, "com.amazon.coral.service", "UnknownOperationException", &message)
}
