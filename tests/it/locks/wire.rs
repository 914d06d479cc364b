//! The protocol with one of its parts taken out: the library is the real one, and its requests are changed on their way.

use aws_sdk_dynamodb::config::{HttpClient, RuntimeComponents, SharedHttpClient};
use aws_smithy_runtime_api::client::{
    http::{HttpConnector, HttpConnectorFuture, HttpConnectorSettings, SharedHttpConnector},
    orchestrator::HttpRequest,
};
use aws_smithy_types::body::SdkBody;
use serde_json::{Value, json};

/// What is different.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Deviation {
    /// Nothing.
    None,
    /// An acquire does not look at `_released`.
    AcquireAfterRelease,
    /// An acquire does not raise the fence.
    SameFence,
    /// An acquire takes what is held, too.
    AcquireWhatIsHeld,
    /// A heartbeat is on the beat before it.
    BeatOnThePrevious,
    /// A heartbeat is on the owner alone.
    BeatOnTheOwner,
    /// A heartbeat has no condition.
    BeatAlways,
    /// A release has no condition.
    ReleaseAlways,
    /// A holder counts its lease from the answer to its request.
    CountFromTheAnswer,
    /// A watcher of heartbeats counts from before the request that showed the last one.
    WatchFromTheRequest,
}

/// Those that are not on the wire.
const INSIDE: [Deviation; 3] = [Deviation::None, Deviation::CountFromTheAnswer, Deviation::WatchFromTheRequest];

impl Deviation {
    pub(super) fn wrap(self, client: SharedHttpClient) -> SharedHttpClient {
        match INSIDE.contains(&self) {
            true => client,
            false => SharedHttpClient::new(Changed { inner: client, deviation: self }),
        }
    }

    fn change(self, update: &mut Value) {
        let kind = Kind::of(update);
        let condition = update["ConditionExpression"].as_str().unwrap_or_default().to_owned();
        let to_name = |of: &str| {
            let names = update["ExpressionAttributeNames"].as_object().expect("names");
            let found = names.iter().find(|(_, name)| **name == of);
            found.map(|(placeholder, _)| placeholder.clone()).unwrap_or_default()
        };
        match (self, kind) {
            (Self::AcquireAfterRelease, Kind::Acquire) => {
                let released = to_name("_released");
                let (free, _) = condition.split_once(&format!(" AND {released} ")).expect("the check");
                update["ConditionExpression"] = free.into();
            }
            (Self::SameFence, Kind::Acquire) => {
                let text = update["UpdateExpression"].as_str().expect("an update");
                let (fence, rest) =
                    text.split_once('+').map(|(fence, rest)| (fence.to_owned(), rest.to_owned())).expect("a sum");
                let one = rest.split([' ', ',']).next().unwrap_or_default().to_owned();
                update["UpdateExpression"] = format!("{fence}+{rest}").into();
                update["ExpressionAttributeValues"][one] = json!({ "N": "0" });
            }
            (Self::AcquireWhatIsHeld, Kind::Acquire) => {
                let until = to_name("_until");
                let moment = condition.split_once(&format!("{until} < ")).and_then(|(_, rest)| rest.split(')').next());
                let moment = moment.expect("a moment").to_owned();
                update["ExpressionAttributeValues"][moment] = json!({ "N": "99999999999999" });
            }
            (Self::BeatOnThePrevious, Kind::Beat) => {
                let (owner, beat) = condition.split_once(" AND ").expect("two conditions");
                let (name, value) = beat.split_once(" <= ").expect("a comparison");
                let last = update["ExpressionAttributeValues"][value]["N"].as_str().expect("a number");
                let before = last.parse::<u64>().expect("a number") - 1;
                update["ConditionExpression"] = format!("{owner} AND {name} = :before").into();
                update["ExpressionAttributeValues"][":before"] = json!({ "N": before.to_string() });
            }
            (Self::BeatOnTheOwner, Kind::Beat) => {
                let (owner, _) = condition.split_once(" AND ").expect("two conditions");
                update["ConditionExpression"] = owner.into();
            }
            (Self::BeatAlways, Kind::Beat) | (Self::ReleaseAlways, Kind::Release) => {
                update.as_object_mut().expect("an update").remove("ConditionExpression");
            }
            _ => {}
        }
        prune(update);
    }
}

/// DynamoDB refuses placeholders that are not used.
fn prune(update: &mut Value) {
    let texts = ["UpdateExpression", "ConditionExpression"].map(|text| update[text].as_str().unwrap_or_default());
    let texts = texts.join(" ");
    let used: Vec<_> = texts.split(|c: char| !c.is_alphanumeric() && !"#:".contains(c)).map(str::to_owned).collect();
    for map in ["ExpressionAttributeNames", "ExpressionAttributeValues"] {
        if let Some(map) = update[map].as_object_mut() {
            map.retain(|placeholder, _| used.contains(placeholder));
        }
    }
}

/// Which part of the protocol a request is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Acquire,
    Beat,
    Release,
}

impl Kind {
    fn of(update: &Value) -> Self {
        let text = update["UpdateExpression"].as_str().expect("an update");
        match (text.contains("if_not_exists"), text.contains("REMOVE")) {
            (true, _) => Self::Acquire,
            (false, true) => Self::Release,
            (false, false) => Self::Beat,
        }
    }
}

#[derive(Debug)]
struct Changed<C> {
    inner: C,
    deviation: Deviation,
}

impl HttpClient for Changed<SharedHttpClient> {
    fn http_connector(&self, settings: &HttpConnectorSettings, components: &RuntimeComponents) -> SharedHttpConnector {
        let inner = self.inner.http_connector(settings, components);
        SharedHttpConnector::new(Changed { inner, deviation: self.deviation })
    }
}

impl HttpConnector for Changed<SharedHttpConnector> {
    fn call(&self, mut request: HttpRequest) -> HttpConnectorFuture {
        let target = request.headers().get("x-amz-target").unwrap_or_default();
        if target.ends_with(".UpdateItem") {
            let body = request.body().bytes().unwrap_or_default();
            let mut update: Value = serde_json::from_slice(body).expect("an update");
            self.deviation.change(&mut update);
            *request.body_mut() = SdkBody::from(update.to_string());
        }
        self.inner.call(request)
    }
}
