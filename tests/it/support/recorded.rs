//! A `tracing` layer that keeps all spans and events of the library.

use std::{
    collections::{BTreeMap, HashMap},
    fmt,
    sync::{Arc, LazyLock, Mutex, MutexGuard},
};

use tracing::{
    Dispatch, Event, Level, Subscriber,
    field::{Field, Visit},
    span::{Attributes, Id, Record},
    subscriber::DefaultGuard,
};
use tracing_subscriber::{
    Layer,
    layer::{Context, SubscriberExt},
    registry::LookupSpan,
};

pub(crate) type Fields = BTreeMap<String, String>;

/// A span, with the numbers of its parent and of the spans that it follows from.
#[derive(Debug, Clone)]
pub(crate) struct RecordedSpan {
    pub(crate) number: usize,
    pub(crate) name: &'static str,
    pub(crate) level: Level,
    pub(crate) parent: Option<usize>,
    pub(crate) follows: Vec<usize>,
    pub(crate) fields: Fields,
    pub(crate) is_closed: bool,
}

/// An event, with the number of its span.
#[derive(Debug, Clone)]
pub(crate) struct RecordedEvent {
    pub(crate) message: String,
    pub(crate) level: Level,
    pub(crate) span: Option<usize>,
    pub(crate) fields: Fields,
}

/// All spans and events of this thread, until this value is dropped.
pub(crate) struct Recorded {
    log: Arc<Mutex<Log>>,
    _subscriber: DefaultGuard,
}

#[derive(Default)]
struct Log {
    spans: Vec<RecordedSpan>,
    events: Vec<RecordedEvent>,
    numbers: HashMap<u64, usize>,
}

struct Recorder(Arc<Mutex<Log>>);

/// Two unused subscribers. If only one subscriber exists, `tracing` lets the thread that meets an
/// event first decide whether the event is ever recorded. A test without a subscriber would then
/// switch the event off for all tests.
static OTHERS: LazyLock<[Dispatch; 2]> =
    LazyLock::new(|| [(); 2].map(|()| Dispatch::new(tracing_subscriber::registry())));

impl Recorded {
    pub(crate) fn start() -> Self {
        LazyLock::force(&OTHERS);
        let log = Arc::<Mutex<Log>>::default();
        let subscriber = tracing_subscriber::registry().with(Recorder(Arc::clone(&log)));
        Self { log, _subscriber: tracing::subscriber::set_default(subscriber) }
    }

    fn log(&self) -> MutexGuard<'_, Log> {
        self.log.lock().unwrap()
    }

    pub(crate) fn spans(&self) -> Vec<RecordedSpan> {
        self.log().spans.clone()
    }

    /// Returns the spans of this operation or request.
    pub(crate) fn of(&self, operation: &str) -> Vec<RecordedSpan> {
        let mut spans = self.spans();
        spans.retain(|span| span.get("db.operation.name") == operation);
        spans
    }

    /// Returns the only span of this operation.
    pub(crate) fn one(&self, operation: &str) -> RecordedSpan {
        let spans = self.of(operation);
        let [one] = &spans[..] else { panic!("{operation}: {spans:#?}") };
        one.clone()
    }

    /// Returns the requests of a call.
    pub(crate) fn requests_of(&self, call: &RecordedSpan) -> Vec<RecordedSpan> {
        let mut spans = self.spans();
        spans.retain(|span| span.name == "request" && span.parent == Some(call.number));
        spans
    }

    pub(crate) fn events(&self) -> Vec<RecordedEvent> {
        self.log().events.clone()
    }

    /// Returns the events with this message.
    pub(crate) fn events_of(&self, message: &str) -> Vec<RecordedEvent> {
        let mut events = self.events();
        events.retain(|event| event.message == message);
        events
    }
}

impl RecordedSpan {
    /// Returns a field, or an empty text for a field without a value.
    pub(crate) fn get(&self, field: &str) -> &str {
        self.fields.get(field).map_or("", String::as_str)
    }
}

impl RecordedEvent {
    /// Returns a field, or an empty text for a field without a value.
    pub(crate) fn get(&self, field: &str) -> &str {
        self.fields.get(field).map_or("", String::as_str)
    }
}

struct Visitor<'a>(&'a mut Fields);

impl Visit for Visitor<'_> {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.insert(field.name().to_owned(), value.to_owned());
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.0.insert(field.name().to_owned(), format!("{value:?}"));
    }
}

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for Recorder {
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let metadata = attributes.metadata();
        if metadata.target() != "dynalock" {
            return;
        }
        let mut fields = Fields::new();
        attributes.record(&mut Visitor(&mut fields));
        let contextual = attributes.is_contextual().then(|| context.current_span().id().cloned()).flatten();
        let parent = attributes.parent().cloned().or(contextual);
        let mut log = self.0.lock().unwrap();
        let number = log.spans.len();
        let parent = parent.and_then(|parent| log.numbers.get(&parent.into_u64()).copied());
        log.numbers.insert(id.into_u64(), number);
        let (name, level) = (metadata.name(), *metadata.level());
        log.spans.push(RecordedSpan { number, name, level, parent, follows: Vec::new(), fields, is_closed: false });
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, _: Context<'_, S>) {
        let mut log = self.0.lock().unwrap();
        if let Some(number) = log.numbers.get(&id.into_u64()).copied() {
            values.record(&mut Visitor(&mut log.spans[number].fields));
        }
    }

    fn on_follows_from(&self, id: &Id, follows: &Id, _: Context<'_, S>) {
        let mut log = self.0.lock().unwrap();
        let numbers = [id, follows].map(|id| log.numbers.get(&id.into_u64()).copied());
        if let [Some(number), Some(follows)] = numbers {
            log.spans[number].follows.push(follows);
        }
    }

    fn on_event(&self, event: &Event<'_>, context: Context<'_, S>) {
        if event.metadata().target() != "dynalock" {
            return;
        }
        let mut fields = Fields::new();
        event.record(&mut Visitor(&mut fields));
        let contextual = event.is_contextual().then(|| context.current_span().id().cloned()).flatten();
        let span = event.parent().cloned().or(contextual);
        let mut log = self.0.lock().unwrap();
        let span = span.and_then(|span| log.numbers.get(&span.into_u64()).copied());
        let message = fields.remove("message").unwrap_or_default();
        log.events.push(RecordedEvent { message, level: *event.metadata().level(), span, fields });
    }

    fn on_close(&self, id: Id, _: Context<'_, S>) {
        let mut log = self.0.lock().unwrap();
        if let Some(number) = log.numbers.remove(&id.into_u64()) {
            log.spans[number].is_closed = true;
        }
    }
}
