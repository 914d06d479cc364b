//! The text of requests as they were sent, to compare it with what the builders have explained.

use std::{fmt::Debug, future::IntoFuture};

use dynalock::{
    local::Request,
    request::{Explained, ExplainedRequest},
};
use serde_json::Value;

use crate::support::Shop;

/// A text that each item of these tests contains. The token of each transaction contains the text
/// too.
pub(super) const SECRET: &str = "s3cret";

/// Asserts that a call sends the explained requests, and that its explanation sends nothing.
pub(super) async fn sends<C, O, E: Debug>(
    shop: &Shop,
    mut call: C,
    explain: impl FnOnce(&mut C) -> dynalock::Result<Explained>,
) where
    C: IntoFuture<Output = Result<O, E>>,
{
    let before = shop.requests();
    let explained = explain(&mut call).unwrap();
    assert_eq!(shop.requests(), before, "an explanation sends nothing");
    sends_explained(shop, &explained, call).await;
}

/// Asserts that a call sends the explained requests.
pub(super) async fn sends_explained<O, E: Debug>(
    shop: &Shop,
    explained: &Explained,
    call: impl IntoFuture<Output = Result<O, E>>,
) {
    let before = shop.requests();
    call.await.unwrap();
    is_sent(explained, &shop.faults.requests()[before..]);
}

/// Asserts that these requests, which were sent, are the explained requests.
pub(super) fn is_sent(explained: &Explained, sent: &[Request]) {
    shows_no_secret(explained);
    let count = explained.requests().len();
    assert_eq!(explained.is_complete(), sent.len() == count, "{explained}");
    let sent = &sent[..count];
    let of_sent = |content| sent.iter().map(|request| text(request, content)).collect::<Vec<_>>();
    let explained = explained.requests().iter();
    let types: Vec<_> = explained.clone().map(|request| comparable(&request.to_string())).collect();
    let values: Vec<_> = explained.map(|request| comparable(&format!("{request:#}"))).collect();
    assert_eq!(types, of_sent(Content::Hidden));
    assert_eq!(values, of_sent(Content::Shown));
}

/// Asserts that only `{:#}` shows content.
pub(super) fn shows_no_secret(explained: &Explained) {
    let requests = explained.requests();
    let of_action = |request: &ExplainedRequest| {
        let action = &request.actions()[0];
        format!("{action:?} {action:#?} {:?} {:#?}", action.condition(), action.update())
    };
    let parts: Vec<_> =
        requests.iter().map(|request| format!("{request} {request:?} {}", of_action(request))).collect();
    let hidden = format!("{explained} {explained:?} {explained:#?} {parts:?}");
    assert!(!hidden.contains(SECRET), "{hidden}");
    let is_read_of_all = |request: &ExplainedRequest| request.operation() == "Scan";
    assert!(format!("{explained:#}").contains(SECRET) || requests.iter().all(is_read_of_all), "{explained:#}");
}

/// The form of a text: with values, or with the types of values.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Content {
    Hidden,
    Shown,
}

/// Returns a text without spaces and without the bytes of binary values, which are random.
fn comparable(text: &str) -> String {
    let text: String = text.split_whitespace().collect();
    let mut parts = text.split("0x");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| text + "0x" + part.trim_start_matches(|c: char| c.is_ascii_hexdigit()))
}

/// Returns the text of a sent request.
fn text(request: &Request, content: Content) -> String {
    let json = request.json();
    let all: Vec<String> = match request.operation.as_str() {
        "TransactWriteItems" => {
            let token = match (json["ClientRequestToken"].as_str().unwrap(), content) {
                (given, Content::Hidden) if given.contains(SECRET) => "<S>".to_owned(),
                (given, Content::Shown) if given.contains(SECRET) => format!("{given:?}"),
                _ => "<random>".to_owned(),
            };
            vec!["token".to_owned(), token, actions(&json, content)]
        }
        "TransactGetItems" => vec![actions(&json, content)],
        "BatchGetItem" => {
            let (table, keys) = json["RequestItems"].as_object().unwrap().iter().next().unwrap();
            let get = |key: &Value| {
                let get =
                    serde_json::json!({ "TableName": table, "Key": key, "ConsistentRead": keys["ConsistentRead"] });
                action("Get", &get, content)
            };
            keys["Keys"].as_array().unwrap().iter().map(get).collect()
        }
        operation => return comparable(&action(operation, &json, content)),
    };
    comparable(&format!("{}{}", request.operation, all.concat()))
}

fn actions(json: &Value, content: Content) -> String {
    let kinds = json["TransactItems"].as_array().unwrap().iter().flat_map(|action| action.as_object().unwrap());
    kinds.map(|(kind, of)| action(kind, of, content)).collect()
}

fn action(operation: &str, json: &Value, content: Content) -> String {
    let index = json["IndexName"].as_str().map(|index| format!(",index{index}")).unwrap_or_default();
    let settings = settings(json).join(",");
    let settings = if settings.is_empty() { settings } else { format!("({settings})") };
    let first = format!("{operation}{}{index}{settings}", json["TableName"].as_str().unwrap());
    let expression = |name: &str| json[name].as_str().map(|text| resolved(text, json, content));
    let item = |name: &str| json[name].as_object().map(|_| item(&json[name], content));
    let parts = [
        ("key", item("Key")),
        ("item", item("Item")),
        ("key", expression("KeyConditionExpression")),
        ("condition", expression("ConditionExpression")),
        ("update", expression("UpdateExpression")),
        ("filter", expression("FilterExpression")),
        ("projection", expression("ProjectionExpression")),
    ];
    parts
        .into_iter()
        .filter_map(|(label, part)| Some(format!("{label}{}", part?)))
        .fold(first, |text, part| text + &part)
}

fn settings(json: &Value) -> Vec<String> {
    let consistency = json["ConsistentRead"].as_bool().map(|is| if is { "strongly" } else { "eventually" });
    let descending = (json["ScanIndexForward"] == false).then(|| "descending".to_owned());
    let count = (json["Select"] == "COUNT").then(|| "count only".to_owned());
    let limit = json["Limit"].as_u64().map(|limit| format!("limit {limit}"));
    let segment = json["Segment"].as_u64().map(|number| format!("segment {number} of {}", json["TotalSegments"]));
    let consistency = consistency.map(|is| format!("{is} consistent"));
    let is_lease_row = json["Key"]["id"]["S"].as_str().is_some_and(|key| key.ends_with("#lock"));
    let row = is_lease_row.then(|| "lease row".to_owned());
    [row, consistency, descending, count, limit, segment].into_iter().flatten().collect()
}

/// Returns an expression with its names and values in place of the placeholders.
fn resolved(expression: &str, json: &Value, content: Content) -> String {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let (names, values) = (&json["ExpressionAttributeNames"], &json["ExpressionAttributeValues"]);
    let mut text = String::new();
    let mut rest = expression;
    while let Some(start) = rest.find(['#', ':']) {
        text += &rest[..start];
        let end = rest[start + 1..].find(|c| !is_part(c)).map_or(rest.len(), |end| start + 1 + end);
        let placeholder = &rest[start..end];
        text += &match (names[placeholder].as_str(), content) {
            // Only the placeholders of the keys of maps begin in this way.
            (Some(_), Content::Hidden) if placeholder.starts_with("#_") => "[..]".to_owned(),
            (Some(name), _) => name.to_owned(),
            (None, _) => value(&values[placeholder], content),
        };
        rest = &rest[end..];
    }
    text + rest
}

fn item(item: &Value, content: Content) -> String {
    let attributes = item.as_object().unwrap().iter();
    attributes.map(|(name, of)| format!("{name}={}", value(of, content))).collect::<Vec<_>>().join(",")
}

fn value(json: &Value, content: Content) -> String {
    let (kind, of) = json.as_object().and_then(|value| value.iter().next()).expect("a value");
    if content == Content::Hidden {
        return format!("<{kind}>");
    }
    let list = |show: &dyn Fn(&Value) -> String| of.as_array().unwrap().iter().map(show).collect::<Vec<_>>().join(",");
    match kind.as_str() {
        "S" => format!("{:?}", of.as_str().unwrap()),
        "N" => of.as_str().unwrap().to_owned(),
        "B" => "0x".to_owned(),
        "NULL" => "null".to_owned(),
        "SS" => format!("{{{}}}", list(&|text| format!("{:?}", text.as_str().unwrap()))),
        "NS" => format!("{{{}}}", list(&|number| number.as_str().unwrap().to_owned())),
        "L" => format!("[{}]", list(&|element| value(element, content))),
        "M" => {
            let entries = of.as_object().unwrap().iter().map(|(key, of)| format!("{key:?}:{}", value(of, content)));
            format!("{{{}}}", entries.collect::<Vec<_>>().join(","))
        }
        _ => of.to_string(),
    }
}
