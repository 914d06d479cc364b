//! Broken variants of the protocol. The library is unchanged, and a layer below it leaves one part
//! of the protocol out of the requests.

use aws_smithy_runtime_api::client::http::{HttpConnector, HttpConnectorFuture, SharedHttpConnector};
use aws_smithy_types::body::SdkBody;
use serde_json::{Value, json};

use crate::support::layer::{HttpRequest, Layer};

/// A deviation from the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Deviation {
    /// The protocol is complete.
    None,
    /// An acquire does not check `_released`.
    AcquireAfterRelease,
    /// An acquire does not raise the fence.
    SameFence,
    /// An acquire also takes a lock that is held.
    AcquireWhatIsHeld,
    /// A heartbeat requires exactly the previous beat.
    BeatOnThePrevious,
    /// A heartbeat requires only the owner.
    BeatOnTheOwner,
    /// A heartbeat has no condition.
    BeatAlways,
    /// A process that resumes a token continues with the next beat.
    ResumeAtTheNextBeat,
    /// A release has no condition.
    ReleaseAlways,
    /// A plain acquire does not check the queue.
    AcquireBesideTheQueue,
    /// A heartbeat of a head does not check whether it is the head.
    BeatWithoutTheHead,
    /// A head that leaves removes any head.
    LeaveAlways,
    /// A head is removed even if it has sent a heartbeat since.
    EvictWithoutTheBeat,
    /// A holder counts its lease from the answer to its request.
    CountFromTheAnswer,
    /// An observer counts from before the request that showed the last heartbeat.
    WatchFromTheRequest,
    /// An acquire ends with its caller. A later grant is not released.
    AcquireWithItsCaller,
}

/// The deviations that do not change requests.
const INSIDE: [Deviation; 4] =
    [Deviation::None, Deviation::CountFromTheAnswer, Deviation::WatchFromTheRequest, Deviation::AcquireWithItsCaller];

/// The distance between the beats of two processes that use one grant.
const STRIDE: u64 = 1 << 20;

impl Deviation {
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
                let (name, value) = beat.split_once(" < ").expect("a comparison");
                let last = update["ExpressionAttributeValues"][value]["N"].as_str().expect("a number");
                let before = last.parse::<u64>().expect("a number") - 1;
                update["ConditionExpression"] = format!("{owner} AND {name} = :before").into();
                update["ExpressionAttributeValues"][":before"] = json!({ "N": before.to_string() });
            }
            (Self::BeatOnTheOwner, Kind::Beat) => {
                update["ConditionExpression"] = condition.split_once(" AND ").expect("two conditions").0.into();
            }
            (Self::ResumeAtTheNextBeat, Kind::Beat) => without_the_stride(update, &condition),
            (Self::AcquireBesideTheQueue, Kind::Acquire) => {
                let (before, _) = condition.rsplit_once(" AND attribute_not_exists(").expect("the queue");
                update["ConditionExpression"] = before.into();
            }
            (Self::BeatWithoutTheHead, Kind::Beat) if condition.contains("[0]") => {
                // The fence alone would identify the grant of the beat.
                let beat = condition.splitn(3, " AND ").last().expect("three conditions");
                update["ConditionExpression"] = beat.into();
            }
            (Self::EvictWithoutTheBeat, Kind::Evict) => {
                // The end of the lease changes with the beat.
                let signs = [to_name("_beat"), to_name("_until")];
                let others = condition.split(" AND ").filter(|part| !signs.iter().any(|sign| part.contains(sign)));
                update["ConditionExpression"] = others.collect::<Vec<_>>().join(" AND ").into();
            }
            (Self::BeatAlways, Kind::Beat)
            | (Self::ReleaseAlways, Kind::Release)
            | (Self::LeaveAlways, Kind::Leave) => {
                update.as_object_mut().expect("an update").remove("ConditionExpression");
            }
            _ => {}
        }
        prune(update);
    }
}

/// Removes the distance between the beats of two processes.
fn without_the_stride(update: &mut Value, condition: &str) {
    let (_, beat) = condition.rsplit_once(" < ").expect("a comparison");
    let beat = beat.trim_end_matches(')');
    let number = update["ExpressionAttributeValues"][beat]["N"].as_str().expect("a number");
    let number = number.parse::<u64>().expect("a number") % STRIDE;
    update["ExpressionAttributeValues"][beat] = json!({ "N": number.to_string() });
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

/// The part of the protocol that a request belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Acquire,
    Beat,
    Release,
    /// The request removes an expired owner.
    Clear,
    Enqueue,
    /// The request is a dequeue of the holder, or of a head that gives up.
    Leave,
    Abandon,
    Evict,
    Sweep,
}

impl Kind {
    pub(crate) fn of(update: &Value) -> Self {
        let text = update["UpdateExpression"].as_str().expect("an update");
        let (set, remove) = text.split_once("REMOVE ").unwrap_or((text, ""));
        let names = update["ExpressionAttributeNames"].as_object().expect("names");
        let placeholder = |of: &str| names.iter().find(|(_, name)| **name == *of).map(|(placeholder, _)| placeholder);
        let sets = |of| placeholder(of).is_some_and(|name| set.contains(&format!("{name}=")));
        let removes = |of| placeholder(of).is_some_and(|name| remove.split(',').any(|removed| removed == name));
        let condition = update["ConditionExpression"].as_str().unwrap_or_default();
        let asks = |of| placeholder(of).is_some_and(|name| condition.split([' ', '(', ')']).any(|asked| asked == name));
        match () {
            () if set.contains("list_append") => Self::Enqueue,
            () if sets("_owner") => Self::Acquire,
            () if removes("_owner") && !sets("_released") => Self::Clear,
            () if removes("_owner") => Self::Release,
            // The dequeue of a head that leaves requires only its place.
            () if sets("_fence") && asks("_fence") => Self::Evict,
            () if sets("_fence") => Self::Leave,
            () if sets("_beat") => Self::Beat,
            () if removes("_queue") => Self::Sweep,
            () => Self::Abandon,
        }
    }
}

impl Layer for Deviation {
    fn call(&self, mut request: HttpRequest, inner: &SharedHttpConnector) -> HttpConnectorFuture {
        let target = request.headers().get("x-amz-target").unwrap_or_default();
        if target.ends_with(".UpdateItem") && !INSIDE.contains(self) {
            let body = request.body().bytes().unwrap_or_default();
            let mut update: Value = serde_json::from_slice(body).expect("an update");
            self.change(&mut update);
            *request.body_mut() = SdkBody::from(update.to_string());
        }
        inner.call(request)
    }
}
