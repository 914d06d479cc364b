//! The tables of spans, operations, events and metrics, compared with a program that makes each
//! call and meets each event.

use std::collections::{BTreeMap, BTreeSet};

use super::book::{chapter, table};
use crate::{support::Recorded, traces::program};

/// For each name in the first cell of a row, the names in the other cells of the row.
type Rows = BTreeMap<String, Vec<BTreeSet<String>>>;

/// Returns the names in a cell.
fn names(cell: &str) -> BTreeSet<String> {
    cell.split(", ").map(|name| name.trim_matches('`').to_owned()).collect()
}

/// Returns the rows of a table, without its last column.
fn rows(heading: &str) -> Rows {
    let rows = table(&chapter("observability.md"), heading).into_iter();
    rows.map(|row| {
        let (cells, _) = row.split_at(row.len() - 1);
        (cells[0].trim_matches('`').to_owned(), cells[1..].iter().map(|cell| names(cell)).collect())
    })
    .collect()
}

/// Adds the level and the fields of a span or an event.
fn note<'a>(rows: &mut Rows, name: &str, level: tracing::Level, fields: impl Iterator<Item = &'a String>) {
    let row = rows.entry(name.to_owned()).or_insert_with(|| vec![BTreeSet::new(), BTreeSet::new()]);
    row[0].insert(level.to_string());
    row[1].extend(fields.cloned());
}

#[tokio::test(start_paused = true)]
async fn the_spans_are_those_of_the_table() {
    let recorded = Recorded::start();
    program::run().await;
    let mut found = Rows::new();
    for span in recorded.spans() {
        note(&mut found, span.name, span.level, span.fields.keys());
    }
    assert_eq!(found, rows("### Spans"));
}

#[tokio::test(start_paused = true)]
async fn the_events_are_those_of_the_table() {
    let recorded = Recorded::start();
    program::run().await;
    let mut found = Rows::new();
    for event in recorded.events() {
        note(&mut found, &event.message, event.level, event.fields.keys());
    }
    assert_eq!(found, rows("### Events"));
}

#[tokio::test(start_paused = true)]
async fn the_operations_are_those_of_the_table() {
    let recorded = Recorded::start();
    program::run().await;
    let calls = recorded.spans().into_iter().filter(|span| span.name == "call");
    let found: BTreeSet<_> = calls.map(|call| call.get("db.operation.name").to_owned()).collect();
    let listed = table(&chapter("observability.md"), "### Operations").into_iter();
    let listed: BTreeSet<_> = listed.flat_map(|row| names(&row[0])).collect();
    assert_eq!(found, listed);
}

#[cfg(feature = "metrics")]
mod metrics {
    use metrics_exporter_prometheus::{PrometheusBuilder, PrometheusRecorder};

    use super::*;
    use crate::support::{Product, Shop, changed};

    fn recorder() -> PrometheusRecorder {
        PrometheusBuilder::new().set_buckets(&[0.1, 1.0, 10.0]).unwrap().build_recorder()
    }

    /// Returns the kind and the labels of each metric on a page of Prometheus.
    fn found(page: &str) -> Rows {
        let kinds = page.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split_once(' '));
        let labels = |name: &str| -> BTreeSet<String> {
            let series = page.lines().filter_map(|line| line.split_once('{'));
            let of_name = series.filter(|(series, _)| *series == name || *series == format!("{name}_count"));
            let labels = of_name.flat_map(|(_, labels)| labels.split("\",").filter_map(|label| label.split_once('=')));
            labels.map(|(label, _)| label.to_owned()).collect()
        };
        let row = |(name, kind): (&str, &str)| (name.to_owned(), vec![[kind.to_owned()].into(), labels(name)]);
        kinds.map(row).collect()
    }

    #[tokio::test(start_paused = true)]
    async fn the_metrics_are_those_of_the_table_and_each_is_described() {
        let recorder = recorder();
        let _recording = ::metrics::set_default_local_recorder(&recorder);
        dynalock::metrics::describe();
        program::run().await;
        let page = recorder.handle().render();
        assert_eq!(found(&page), rows("### List"), "{page}");
        let described = page.lines().filter(|line| line.starts_with("# HELP")).count();
        assert_eq!(described, rows("### List").len());
        assert!(!page.contains(program::SECRET) && !page.contains(program::KEY));
    }

    #[tokio::test(start_paused = true)]
    async fn the_metrics_count_calls_requests_and_conflicts() {
        let (shop, table) = Shop::with_items([Product::new("a", 1)]).await;
        let recorder = recorder();
        let _recording = ::metrics::set_default_local_recorder(&recorder);
        let stale = table.items.get("a").await.unwrap().unwrap();
        shop.rival.before_through(&table.others, "UpdateItem", 0, |others| async move {
            others.touch(others.get("a").await.unwrap().unwrap()).await.unwrap();
        });
        table.items.update_with("a", |product| product.stock += 1).await.unwrap();
        table.items.update(changed(stale, |product| product.stock = 7)).await.unwrap_err();
        let page = recorder.handle().render();
        let name = table.name();
        let expected = [
            format!("dynalock_calls_total{{operation=\"update_with\",table=\"{name}\",outcome=\"ok\"}} 1"),
            format!("dynalock_calls_total{{operation=\"update\",table=\"{name}\",outcome=\"conflict\"}} 1"),
            format!("dynalock_conflicts_total{{operation=\"update_with\",table=\"{name}\"}} 1"),
            format!("dynalock_conflicts_total{{operation=\"update\",table=\"{name}\"}} 1"),
            format!("dynalock_requests_total{{request=\"GetItem\",table=\"{name}\",outcome=\"ok\"}} 3"),
            format!("dynalock_call_duration_seconds_count{{operation=\"update_with\",table=\"{name}\"}} 1"),
        ];
        for line in expected {
            assert!(page.lines().any(|found| found == line), "{line} in {page}");
        }
    }
}
