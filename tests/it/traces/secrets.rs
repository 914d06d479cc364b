//! Spans and events contain no content of an item.

use tracing::Level;

use super::program::{self, KEY, SECRET};
use crate::support::Recorded;

#[tokio::test(start_paused = true)]
async fn no_span_and_no_event_contains_content() {
    let recorded = Recorded::start();
    program::run().await;
    let (spans, events) = (recorded.spans(), recorded.events());
    assert!(spans.len() > 200 && events.len() > 30, "{} spans and {} events", spans.len(), events.len());
    assert!(!format!("{spans:?}{events:?}").contains(SECRET));
}

/// The text of an error may contain the name of a lock or the key of an item.
#[tokio::test(start_paused = true)]
async fn keys_are_at_most_in_the_texts_of_errors_at_the_level_debug() {
    let recorded = Recorded::start();
    program::run().await;
    let spans = recorded.spans();
    assert!(!format!("{spans:?}").contains(KEY));
    for event in recorded.events() {
        for (name, value) in &event.fields {
            let may_name_keys = name == "error" && event.level == Level::DEBUG;
            assert!(may_name_keys || !value.contains(KEY), "{event:?}");
        }
    }
}
