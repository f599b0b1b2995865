//! What an import leaves: a study that says that it was imported, wherever it is shown.

use std::path::{Path, PathBuf};

use results::store::Store;
use skips::{Capability, skip};

use crate::bench::{Bench, signal, until_met};

/// Two devices, three repetitions each; one row contradicts itself.
const MATRIX: &str = "device,transfer_kb,iops,mbytes_per_s\na,8,1000,7.81\na,8,1010,7.89\na,8,990,7.73\nb,8,2000,15.63\n\
                      b,8,2020,15.78\nb,8,1980,7.73\n";

fn published(name: &str) -> Option<PathBuf> {
    let shared = std::env::var_os("FATHOM_SHARED")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared"), PathBuf::from);
    let path = shared.join("domain/published-tables").join(name);
    if !path.is_file() {
        skip(Capability::Shared, format!("there is no \"{}\"", path.display()));
        return None;
    }
    Some(path.canonicalize().unwrap())
}

#[test]
fn published_tables_are_reproduced_and_their_known_bad_rows_flagged() {
    let names = ["wait_stats.csv", "iometer_matrix.csv", "guid_lookup_summary.csv", "network_tuning.csv"];
    let Some(paths) = names.map(published).into_iter().collect::<Option<Vec<_>>>() else { return };
    let bench = Bench::new();
    // What is said of a file is said whole, however long its path is.
    let deep = bench.path().join("of a long path ".repeat(10));
    std::fs::create_dir(&deep).unwrap();
    let paths: Vec<String> = paths
        .iter()
        .map(|path| {
            let copy = deep.join(path.file_name().unwrap());
            std::fs::copy(path, &copy).unwrap();
            copy.to_str().unwrap().to_owned()
        })
        .collect();
    let (out, _) = bench.expect(0, &["import", &paths[0], &paths[1]]);
    for expected in [
        "wait = resource + signal: 37 of 37 hold",
        "average = seconds / number of waits: 39 of 39 hold",
        "one total gives all percentages of a table: 17 of 17 hold",
        "printed waits are the fewest that reach 95 %: 17 of 17 hold",
        "IOPS x transfer size = throughput: 15 of 15 hold",
        "outstanding I/O / IOPS = mean latency: 15 of 15 hold",
    ] {
        assert!(out.contains(expected), "{expected}: {out}");
    }
    assert!(!out.contains("contradiction"), "{out}");
    // Status 1: rows are suspect.
    let (out, _) = bench.expect(1, &["import", &paths[2], &paths[3]]);
    assert!(out.contains("guid_lookup_summary.csv, line 3: pages read x 8 KiB / elapsed"), "{out}");
    assert!(
        out.contains("network_tuning.csv, line 3: ") && out.contains("the unit is probably KB/s"),
        "{out}"
    );
    let (out, _) = bench.expect(0, &["list", "--runs", "network_tuning"]);
    assert_eq!(out.matches("imported, suspect").count(), 2, "{out}");
    let (out, _) = bench.expect(0, &["report", "wait_stats"]);
    for published in ["75.53", "19.10", "4.65", "63.87"] {
        assert!(out.contains(published), "{published}: {out}");
    }
    assert!(!out.contains("Reasons") && !out.contains("unaccounted"), "{out}");
}

#[test]
fn every_output_says_that_the_study_was_imported_and_no_run_is_called_valid() {
    let bench = Bench::new();
    bench.write("matrix.csv", MATRIX);
    let (out, _) = bench.expect(1, &["import", "matrix.csv", "--set", "site=x"]);
    assert!(out.contains("line 7") && out.contains("1 of them suspect"), "{out}");
    bench.write("again.csv", &MATRIX.replace("990", "991"));
    bench.expect(1, &["import", "again.csv", "--name", "matrix", "--set", "site=x"]);
    let page = bench.path().join("page.html");
    bench.expect(0, &["report", "1", "-o", page.to_str().unwrap()]);
    let outputs = [
        bench.expect(0, &["report", "1"]).0,
        bench.expect(0, &["report", "1", "--json"]).0,
        bench.expect(0, &["report", "1", "--format", "markdown"]).0,
        bench.expect(0, &["report", "--run", "1"]).0,
        bench.expect(0, &["list", "--studies"]).0,
        bench.expect(0, &["list", "--runs", "1"]).0,
        bench.expect(0, &["compare", "1", "2"]).0,
        bench.expect(0, &["history", "matrix"]).0,
        bench.expect(0, &["export", "1", "--format", "csv"]).0,
        bench.expect(0, &["export", "1", "--format", "jsonl"]).0,
        std::fs::read_to_string(&page).unwrap(),
    ];
    for output in &outputs {
        assert!(output.contains("imported"), "{output}");
    }
    for output in [&outputs[0], &outputs[4], &outputs[5], &outputs[8]] {
        assert!(!output.contains("valid "), "{output}");
    }
    let summary: serde_json::Value = serde_json::from_str(&outputs[1]).unwrap();
    assert_eq!(summary["imported"]["files"][0]["path"], "matrix.csv");
    assert_eq!(summary["imported"]["files"][0]["sha256"].as_str().unwrap().len(), 64);
    assert_eq!(
        (summary["quantity"].as_str(), summary["counts"]["suspect"].as_u64()),
        (Some("raw_iops"), Some(1))
    );
    assert_eq!(summary["cells"][0]["estimate"]["mean"], 1000.0);
}

#[test]
fn the_same_content_is_imported_once_and_other_studies_stay_as_they_are() {
    let bench = Bench::new();
    bench.expect(0, &["run", "quick.toml"]);
    let before = bench.expect(0, &["report", "1", "--json"]).0;
    bench.write("a.csv", "clients,tps\n1,100\n2,190\n");
    bench.write("b.csv", "clients,tps\n1,100\n2,190\n");
    bench.expect(0, &["import", "a.csv", "--dry-run"]);
    assert!(!bench.expect(0, &["list", "--studies"]).0.contains("study 2"));
    bench.expect(0, &["import", "a.csv"]);
    for words in [&["import", "a.csv"][..], &["import", "b.csv", "--name", "a"]] {
        let (out, _) = bench.expect(0, words);
        assert!(out.contains("nothing was added: study 2"), "{out}");
    }
    for (words, reason) in [
        (&["import", "a.csv", "--name", "quick"][..], "which fathom measured"),
        (&["import", "a.csv", "--name", "populate-batch"], "an experiment that fathom runs itself"),
        (&["import", "a.csv", "--name", "a", "--metric", "clients"], "which compares tps, not clients"),
        (&["import", "a.csv", "--name", "a/b"], "cannot name a study"),
    ] {
        let (_, err) = bench.expect(2, words);
        assert!(err.contains(reason) && err.contains("hint: "), "{words:?}: {err}");
    }
    assert_eq!(bench.expect(0, &["report", "1", "--json"]).0, before);
    assert!(!bench.expect(0, &["list", "--studies"]).0.contains("study 3"));
}

#[test]
fn an_import_that_is_killed_leaves_nothing_or_everything() {
    const ROWS: usize = 20_000;
    let bench = Bench::new();
    let rows: String = (0..ROWS).map(|row| format!("{},{}\n", row % 50, row)).collect();
    bench.write("many.csv", &format!("clients,elapsed_s\n{rows}"));
    let left = until_met("an import that is killed while it writes", || {
        let _ = std::fs::remove_dir_all(bench.results());
        let mut import = bench.start(&["import", "many.csv"]);
        let log = bench.results().join("results.db-wal");
        while import.try_wait().unwrap().is_none() {
            if std::fs::metadata(&log).is_ok_and(|log| log.len() > 1 << 16) {
                signal(&import, "KILL");
                break;
            }
        }
        let is_killed = !import.wait().unwrap().success();
        is_killed.then(|| Store::open_read_only(&bench.results()).unwrap().studies().unwrap().len())
    });
    assert_eq!(left, 0);
    bench.expect(0, &["import", "many.csv"]);
    let store = Store::open_read_only(&bench.results()).unwrap();
    assert_eq!(store.runs(store.studies().unwrap()[0].id).unwrap().len(), ROWS);
}

#[test]
fn repetitions_decide_where_gains_stop_and_a_mark_on_an_imported_run_can_be_removed() {
    let bench = Bench::new();
    let row = |clients: u32, tps: f64| {
        let mut values = [0.97, 1.01, 0.99, 1.02, 1.0, 0.98, 1.03, 1.0];
        // Each configuration has noise of its own.
        values.rotate_left(clients as usize % 7);
        values.map(|noise| format!("{clients},{:.1}\n", tps * noise)).concat()
    };
    let rows = [row(1, 100.0), row(2, 190.0), row(4, 350.0), row(8, 352.0)].concat();
    bench.write("ladder.csv", &format!("clients,tps\n{rows}"));
    bench.expect(0, &["import", "ladder.csv"]);
    let (out, _) = bench.expect(0, &["report", "ladder"]);
    assert!(out.contains("ains stop at clients=4"), "{out}");
    let (out, _) = bench.expect(0, &["list", "--runs", "ladder"]);
    assert!(out.contains("imported") && out.contains("tps 101 "), "{out}");
    let (out, _) = bench.expect(0, &["mark", "1", "--suspect", "typing error"]);
    assert!(out.contains("tps 101 ") && !out.contains("fathom run"), "{out}");
    let (out, _) = bench.expect(0, &["mark", "1", "--undo"]);
    assert!(out.contains("it counts again"), "{out}");
}
