//! docs/lab/metrics.md has one entry for every name that a run is able to store, and none for names that are gone.

use std::collections::BTreeSet;

use crate::emitted;

const DOCUMENT: &str = "docs/lab/metrics.md";

/// Section whose names are made up from others, and which the tests of `report` hold.
const COLUMNS: &str = "## Columns of tables and exports";

/// Sources of the engines of the laboratory.
fn engines() -> Vec<String> {
    let entries = std::fs::read_dir(crate::root().join("crates")).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.retain(|name| name.starts_with("lab-"));
    names.sort();
    names.into_iter().map(|name| format!("crates/{name}/src")).collect()
}

/// Sources of the laboratory and its engines.
fn laboratory() -> Vec<String> {
    let mut directories = engines();
    directories.push("crates/lab/src".to_owned());
    directories
}

/// The names in the headings, which `fathom explain` looks up.
fn documented() -> BTreeSet<String> {
    names_in(&crate::read(DOCUMENT))
}

fn names_in(text: &str) -> BTreeSet<String> {
    text.lines()
        .filter(|line| line.starts_with("### "))
        .flat_map(|line| line.split('`').skip(1).step_by(2).map(str::to_owned).collect::<Vec<_>>())
        .collect()
}

fn require(kind: &str, names: &BTreeSet<String>) {
    let documented = documented();
    let missing: Vec<&String> = names.iter().filter(|name| !documented.contains(*name)).collect();
    assert!(missing.is_empty(), "{DOCUMENT} has no heading \"### `NAME`\" for {kind}: {missing:?}");
}

/// Metrics by their calls in the source; an engine that is not installed here has its names in it, too.
fn metrics_in_source() -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for directory in laboratory() {
        let openings = ["metric(", "metric(&format!(", "Metric::new(", "Metric::new(&format!(", "asked("];
        names.extend(emitted::literals_behind(&directory, &openings));
    }
    names.extend(emitted::literals_behind("crates/fathom/src/tasks", &["metric("]));
    names
}

#[test]
fn every_metric_of_a_run_is_defined() {
    let mut names = metrics_in_source();
    assert!(
        names.contains("log_bytes") && names.contains("client_cpu_s"),
        "the source was not read: {names:?}"
    );
    for run in emitted::runs() {
        names.extend(report::quantity::derived(&run).into_iter().map(|(name, _, _)| name.to_owned()));
        names.extend(
            run.metrics.iter().map(|metric| metric.name.split('.').next().unwrap_or_default().to_owned()),
        );
    }
    require("metrics", &names);
}

#[test]
fn every_column_of_the_io_baseline_is_defined() {
    let nothing = results::io::IoTable::default();
    let header =
        |csv: String| -> Vec<String> { csv.lines().next().unwrap().split(',').map(str::to_owned).collect() };
    let columns = header(report::io_table::csv(&nothing)).into_iter();
    let names: BTreeSet<String> = columns.chain(header(report::io_table::sync_csv(&nothing))).collect();
    assert!(names.contains("iops") && names.contains("appends_per_s"));
    require("columns of `fathom io`", &names);
}

#[test]
fn every_gate_is_defined() {
    let runs = emitted::runs();
    assert!(runs.iter().all(|run| run.gates.len() > 5));
    require("gates", &runs.iter().flat_map(|run| &run.gates).map(|gate| gate.gate.clone()).collect());
}

#[test]
fn every_series_and_sampler_is_defined() {
    // Those of one device or one column are named with it.
    let stem = |name: &str| name.split('.').next().unwrap_or_default().to_owned();
    let runs = emitted::runs();
    let series: BTreeSet<String> =
        runs.iter().flat_map(|run| &run.observations.series).map(|series| stem(&series.name)).collect();
    assert!(series.contains("log_flushes_per_s") && series.contains("fathom_cpus"), "{series:?}");
    require("series", &series);
    let samplers: BTreeSet<String> =
        runs.iter().flat_map(|run| &run.observations.samplers).map(|sampler| sampler.name.clone()).collect();
    assert!(samplers.contains("sqlite_vfs"), "{samplers:?}");
    require("samplers", &samplers);
}

#[test]
fn every_warning_and_event_is_defined() {
    let openings =
        ["Warning {\n        code: ", "Warning {\n            code: ", "Warning {\n                code: "];
    let warnings: BTreeSet<String> =
        laboratory().iter().flat_map(|directory| emitted::literals_behind(directory, &openings)).collect();
    assert!(warnings.contains("roles_share_device"), "the source was not read: {warnings:?}");
    require("warnings", &warnings);
    let mut events: BTreeSet<String> =
        emitted::runs().iter().flat_map(|run| &run.events).map(|event| event.kind.clone()).collect();
    events.extend(laboratory().iter().flat_map(|directory| emitted::literals_behind(directory, &["kind: "])));
    assert!(events.contains("warm_up_end"), "the source was not read: {events:?}");
    require("events", &events);
}

#[test]
fn no_entry_describes_a_name_that_is_gone() {
    let mut source = String::new();
    let others = [
        "crates/fathom/src/tasks",
        "crates/import/src",
        "crates/report/src",
        "crates/results/src",
        "crates/disk/src",
    ];
    for directory in laboratory().into_iter().chain(others.map(str::to_owned)) {
        emitted::gather(&crate::root().join(directory), &mut source);
    }
    let text = crate::read(DOCUMENT);
    let (before, columns) = text.split_once(COLUMNS).unwrap();
    let after = columns.find("\n## ").map_or("", |index| &columns[index..]);
    let gone: Vec<String> = names_in(&format!("{before}{after}"))
        .into_iter()
        .filter(|name| !source.contains(&format!("\"{name}\"")) && !source.contains(&format!("\"{name}.{{")))
        .collect();
    assert!(gone.is_empty(), "{DOCUMENT} describes names that the code does not have: {gone:?}");
}
