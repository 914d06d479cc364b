//! The Grafana dashboard.

use std::collections::BTreeSet;

use serde_json::Value;

use super::book::{chapter, read, root, table};

fn dashboard() -> Value {
    serde_json::from_str(&read(&root().join("docs/dashboards/dynalock.json"))).unwrap()
}

fn panels(dashboard: &Value) -> &[Value] {
    dashboard["panels"].as_array().unwrap()
}

/// Returns the words of a query that begin with the prefix of the library's metrics.
fn metrics(query: &str) -> BTreeSet<&str> {
    let words = query.split(|char: char| !char.is_ascii_alphanumeric() && char != '_');
    words.filter(|word| word.starts_with("dynalock_")).collect()
}

/// Returns the names of the series of Prometheus: a histogram has three series.
fn series() -> BTreeSet<String> {
    let rows = table(&chapter("observability.md"), "### List").into_iter();
    let series = rows.flat_map(|row| {
        let name = row[0].trim_matches('`').to_owned();
        match &*row[1] {
            "histogram" => ["bucket", "sum", "count"].map(|part| format!("{name}_{part}")).to_vec(),
            _ => vec![name],
        }
    });
    series.collect()
}

#[test]
fn each_query_of_the_dashboard_names_listed_metrics_and_each_metric_has_a_panel() {
    let dashboard = dashboard();
    let series = series();
    let mut shown = BTreeSet::new();
    for panel in panels(&dashboard) {
        let targets = panel["targets"].as_array().unwrap();
        assert!(!targets.is_empty(), "{panel}");
        for target in targets {
            let found = metrics(target["expr"].as_str().unwrap());
            assert!(!found.is_empty(), "{target}");
            assert!(found.iter().all(|name| series.contains(*name)), "{target}");
            shown.extend(found.into_iter().map(str::to_owned));
        }
    }
    let listed = table(&chapter("observability.md"), "### List").into_iter();
    for name in listed.map(|row| row[0].trim_matches('`').to_owned()) {
        assert!(shown.iter().any(|shown| shown.starts_with(&name)), "{name} has no panel");
    }
    let alerts = table(&chapter("observability.md"), "### Dashboard");
    let named: BTreeSet<_> = alerts.iter().flat_map(|row| metrics(&row[1])).collect();
    assert!(!named.is_empty() && named.iter().all(|name| series.contains(*name)), "{named:?}");
}

#[test]
fn the_dashboard_has_what_grafana_requires() {
    let dashboard = dashboard();
    assert!(dashboard["schemaVersion"].as_u64().unwrap() >= 36);
    assert!(dashboard["id"].is_null(), "an import gives the dashboard its id");
    for text in ["title", "uid"] {
        assert!(!dashboard[text].as_str().unwrap().is_empty());
    }
    let variables = dashboard["templating"]["list"].as_array().unwrap();
    let names: Vec<_> = variables.iter().map(|variable| variable["name"].as_str().unwrap()).collect();
    assert_eq!(
        (names[0], &variables[0]["type"], &variables[0]["query"]),
        ("datasource", &"datasource".into(), &"prometheus".into())
    );
    let mut ids = BTreeSet::new();
    for panel in panels(&dashboard) {
        assert!(ids.insert(panel["id"].as_u64().unwrap()), "{panel}");
        assert!(!panel["title"].as_str().unwrap().is_empty());
        assert!(["stat", "timeseries"].contains(&panel["type"].as_str().unwrap()));
        let mut references = BTreeSet::new();
        for target in panel["targets"].as_array().unwrap() {
            assert!(references.insert(target["refId"].as_str().unwrap()), "{target}");
            assert_eq!(target["datasource"], panel["datasource"]);
            let query = target["expr"].as_str().unwrap();
            for variable in query.split("=~\"$").skip(1) {
                assert!(names.contains(&variable.split('"').next().unwrap()), "{query}");
            }
        }
        let source = &panel["datasource"];
        assert_eq!((&source["type"], &source["uid"]), (&"prometheus".into(), &"${datasource}".into()));
    }
}

/// The corners of a panel on the grid of 24 columns.
fn cells(panel: &Value) -> BTreeSet<(u64, u64)> {
    let [x, y, w, h] = ["x", "y", "w", "h"].map(|side| panel["gridPos"][side].as_u64().unwrap());
    assert!(w > 0 && h > 0 && x + w <= 24, "{panel}");
    (x..x + w).flat_map(|column| (y..y + h).map(move |row| (column, row))).collect()
}

#[test]
fn the_panels_of_the_dashboard_do_not_overlap() {
    let dashboard = dashboard();
    let mut taken = BTreeSet::new();
    for panel in panels(&dashboard) {
        for cell in cells(panel) {
            assert!(taken.insert(cell), "{}", panel["title"]);
        }
    }
}
