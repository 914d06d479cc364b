//! Compares each request of the protocol with the tables of the specification. A test fails if the
//! condition or the update expression of a request differs from the specification.

use std::{sync::Arc, time::Duration};

use aws_sdk_dynamodb::types::AttributeValue;

use super::{
    clause::{Expired, HolderProof, LeaseClause, LeaseEffect},
    queue::request::{DequeueReason, Duplicate},
    record::{GrantKind, LockRecord, QueueEntry, Waiters},
    row::{AcquireFields, HeartbeatFields, LeaseSubject, Row},
};
use crate::{
    codec::Item,
    expression::Placeholders,
    key::KeyType,
    model::{KeyModel, LockModel, Model, TimesModel},
    operation::{Action, Write},
};

/// The name, the condition and the update expression of a request.
type Line = [String; 3];

const ONE_LOCK: &str = include_str!("protocol.md");
const QUEUE: &str = include_str!("queue/protocol.md");

static MODEL: Model = Model {
    table: "items",
    partition_key: KeyModel { name: "key", key_type: KeyType::S },
    sort_key: None,
    version: "version",
    version_is_field: false,
    times: TimesModel::NONE,
    write_ids: 4,
    attributes: &[],
    indexes: &[],
    show_key: false,
    aliases: &[],
    flattens: false,
    lock: Some(LockModel::DEFAULT),
};

// Each of the following numbers stands for one named value of the specification, for example
// `:now`.
const NOW: u64 = 1_000;
const UNTIL: u64 = 2_000;
const MOMENT: u64 = 900;
const BEAT: u64 = 50;
const FENCE: u64 = 71;
const SEEN: [(&str, u64); 3] = [("_fence", 81), ("_beat", 82), ("_until", 83)];

/// Returns the name by which the specification writes a value, for example `:now`.
fn value(value: &AttributeValue) -> String {
    match value {
        AttributeValue::S(text) => text.clone(),
        AttributeValue::L(list) => format!("[{}]", list.iter().map(self::value).collect::<String>()),
        AttributeValue::N(digits) => match digits.parse().expect("a number") {
            NOW => ":now".to_owned(),
            UNTIL => ":until".to_owned(),
            MOMENT => ":moment".to_owned(),
            BEAT => ":beat".to_owned(),
            FENCE => ":fence".to_owned(),
            70 => ":fence - 1".to_owned(),
            81 => ":seen_fence".to_owned(),
            82 => ":seen_beat".to_owned(),
            83 => ":seen_until".to_owned(),
            number => number.to_string(),
        },
        other => panic!("{other:?}"),
    }
}

/// Returns an expression in which attribute names and values replace the placeholders.
fn resolved(text: &str, names: &std::collections::HashMap<String, String>, values: &Item) -> String {
    let ends = |c: char| !(c.is_ascii_alphanumeric() || c == '#' || c == ':');
    let word = |word: &str| names.get(word).cloned().or_else(|| values.get(word).map(value)).unwrap_or(word.to_owned());
    let mut out = String::new();
    let mut rest = text;
    while let Some(end) = rest.find(ends) {
        out.push_str(&word(&rest[..end]));
        out.push_str(&rest[end..=end]);
        rest = &rest[end + 1..];
    }
    out + &word(rest)
}

/// Returns an update expression with the spaces that the specification writes.
fn spaced(effect: &str) -> String {
    effect.replace('=', " = ").replace('+', " + ").replace(", ", ",").replace(',', ", ")
}

fn line(name: &str, write: Write) -> Line {
    let (names, values) = (write.names.unwrap_or_default(), write.values.unwrap_or_default());
    let condition = resolved(&write.condition.expect("a condition"), &names, &values);
    let effect = match write.action {
        Action::RowUpdate(text) => spaced(&resolved(&text, &names, &values)),
        Action::Delete => "DELETE".to_owned(),
        _ => panic!("a request of another kind"),
    };
    [name.to_owned(), condition, effect]
}

/// Returns the condition and the update expression that a write of an item contains for the item's
/// lease.
fn write_line(name: &str, clause: &LeaseClause) -> Line {
    let mut to = Placeholders::default();
    let condition = clause.condition(&MODEL, &mut to).expect("a condition");
    let effect = clause.effect(&MODEL, &mut to).text(Vec::new()).unwrap_or_default();
    let (names, values) = to.finish();
    let (names, values) = (names.unwrap_or_default(), values.unwrap_or_default());
    [name.to_owned(), resolved(&condition, &names, &values), spaced(&resolved(&effect, &names, &values))]
}

fn holder(kind: GrantKind, effect: LeaseEffect) -> LeaseClause {
    LeaseClause::Holder(HolderProof { kind, owner: ":me".into(), fence: FENCE, effect })
}

fn row(subject: LeaseSubject) -> Row {
    Row { table: "locks".into(), key: Item::new(), layout: LockModel::DEFAULT, subject }
}

/// Returns the parsed lease attributes of a row whose holder is `:seen`, as the owner or as the
/// head of the queue.
fn seen(attribute: &str, holder: AttributeValue) -> LockRecord {
    let number = |(name, number): (&str, u64)| (name.to_owned(), AttributeValue::N(number.to_string()));
    let holder = (attribute.to_owned(), holder);
    LockRecord::read(&LockModel::DEFAULT, &SEEN.map(number).into_iter().chain([holder]).collect())
}

fn requests_of_one_lock() -> Vec<Line> {
    let owner = seen("_owner", AttributeValue::S(":seen".to_owned()));
    let silent = Expired::Silent(Box::new(owner.observation().expect("an owner").clone()));
    let clock = Expired::EndedBefore(MOMENT);
    let fields = AcquireFields { owner: ":me", until: UNTIL, now: NOW, payload: None };
    let beat = HeartbeatFields { fence: FENCE, number: BEAT, until: UNTIL, payload: None };
    let (name, item) = (row(LeaseSubject::Name), row(LeaseSubject::Item { key_attribute: "key" }));
    let plain = GrantKind::Plain;
    vec![
        line("acquire a free lock", name.acquire(&fields, &Expired::Nobody)),
        line("acquire, `Clock`", name.acquire(&fields, &clock)),
        line("acquire, `Observed`", name.acquire(&fields, &silent)),
        line("acquire an item", item.acquire(&fields, &clock)),
        line("heartbeat", name.beat(plain, ":me", &beat)),
        line("release", name.release(":me")),
        line("remove an expired owner, `Clock`", name.remove_expired(&owner, &clock).expect("a request")),
        line("remove an expired owner, `Observed`", name.remove_expired(&owner, &silent).expect("a request")),
        line("break", name.break_lock(FENCE)),
        line("retire", name.retire(MOMENT)),
        write_line("write without the lease", &LeaseClause::Outside { expired_before: None }),
        write_line("write without the lease, `Clock`", &LeaseClause::Outside { expired_before: Some(MOMENT) }),
        write_line("update of the holder", &holder(plain, LeaseEffect::Renew { beat: BEAT, until: UNTIL })),
        write_line("commit or delete of the holder", &holder(plain, LeaseEffect::Release { now: NOW })),
        write_line("guard", &holder(plain, LeaseEffect::Keep)),
    ]
}

fn requests_of_the_queue() -> Vec<Line> {
    let head = seen("_queue", AttributeValue::L(vec![AttributeValue::S(":seen".to_owned())]));
    let head = head.head_observation().expect("a head").clone();
    let (expired, operator) = (DequeueReason::Expired(head.clone()), DequeueReason::Operator(head));
    let leave = |duplicate| DequeueReason::Leave { owner: Arc::from(":me"), duplicate };
    let (sure, in_doubt) = (leave(Duplicate::Impossible), leave(Duplicate::Possible));
    let beat = HeartbeatFields { fence: FENCE, number: BEAT, until: UNTIL, payload: None };
    let (row, item, fair) =
        (row(LeaseSubject::Name), row(LeaseSubject::Item { key_attribute: "key" }), GrantKind::Fair);
    let (last, more) = (Waiters::None, Waiters::Some);
    vec![
        line("enter", row.enqueue(":me", NOW, 100)),
        line("enter the queue of an item", item.enqueue(":me", NOW, 100)),
        line("heartbeat of the head", row.beat(fair, ":me", &beat)),
        line("leave", row.dequeue(&sure, more, NOW)),
        line("leave, last entry", row.dequeue(&sure, last, NOW)),
        line("leave, enqueue in doubt", row.dequeue(&in_doubt, more, NOW)),
        line("leave, last entry, enqueue in doubt", row.dequeue(&in_doubt, last, NOW)),
        line("give up", row.abandon(":me", 3)),
        line("evict", row.dequeue(&expired, more, NOW)),
        line("evict, last entry", row.dequeue(&expired, last, NOW)),
        line("break", row.dequeue(&operator, more, NOW)),
        line("break, last entry", row.dequeue(&operator, last, NOW)),
        line("sweep", row.sweep(FENCE, Duplicate::Impossible)),
        line("sweep, enqueue in doubt", row.sweep(FENCE, Duplicate::Possible)),
        write_line("update of the head", &holder(fair, LeaseEffect::Renew { beat: BEAT, until: UNTIL })),
        write_line("commit or delete of the head", &holder(fair, LeaseEffect::Release { now: NOW })),
        write_line("guard of the head", &holder(fair, LeaseEffect::Keep)),
    ]
}

/// Returns the rows of the specification's tables of requests. Each returned line contains the
/// name, the condition and the update expression from one row of a table, without the backticks
/// around the text of a cell.
fn specified(page: &str) -> Vec<Line> {
    let cells = |line: &str| line.split(" | ").map(|cell| cell.trim_matches(['|', ' ']).to_owned()).collect::<Vec<_>>();
    let is_step = |cells: &Vec<String>| cells.len() == 5 && cells[0].parse::<u32>().is_ok();
    let code = |cell: &String| match cell.as_str() {
        "none" => String::new(),
        cell => cell.trim_matches('`').to_owned(),
    };
    let rows = page.lines().filter(|line| line.starts_with('|')).map(cells).filter(is_step);
    rows.map(|cells| [cells[1].clone(), code(&cells[2]), code(&cells[3])]).collect()
}

#[track_caller]
fn assert_specified(page: &str, requests: &[Line]) {
    let shown = |[name, condition, effect]: &Line| format!("{name}\n  if {condition}\n  do {effect}\n");
    let [specified, sent] = [&specified(page), requests].map(|lines| lines.iter().map(shown).collect::<String>());
    assert_eq!(specified, sent, "the page says\n{specified}\nthe library sends\n{sent}");
}

#[test]
fn the_page_of_one_lock_has_the_text_of_each_request() {
    assert_specified(ONE_LOCK, &requests_of_one_lock());
}

#[test]
fn the_page_of_the_queue_has_the_text_of_each_request() {
    assert_specified(QUEUE, &requests_of_the_queue());
}

#[test]
fn the_entry_of_a_waiter_is_as_specified() {
    let entry = QueueEntry::new("label:nonce", Duration::from_secs(20), 0x1f);
    assert_eq!(&*entry.owner, "label:nonce/20000/1f");
    assert!(QUEUE.contains("`label:nonce/ttl/time`"));
}
