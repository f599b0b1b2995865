//! The same on PostgreSQL; without server binaries each test is skipped.

use std::process::{Command, Stdio};

use lab_postgres::find_servers;
use results::model::{GateOutcome, RunState};
use skips::{Capability, skip};

use crate::bench::{Bench, signal, signal_id, text, until_met, wait_for};

#[track_caller]
fn has_server() -> bool {
    let found = !find_servers(&[]).is_empty();
    if !found {
        skip(Capability::Postgres, "no PostgreSQL server binaries");
    }
    found
}

/// Process ids of backends that serve clients of the managed cluster below `bench`.
fn backends(bench: &Bench) -> Vec<u32> {
    let data = std::fs::canonicalize(bench.path()).unwrap();
    let entries = std::fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    entries
        .filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok())
        .filter(|id| std::fs::read_link(format!("/proc/{id}/cwd")).is_ok_and(|cwd| cwd.starts_with(&data)))
        .filter(|id| {
            std::fs::read_to_string(format!("/proc/{id}/cmdline")).is_ok_and(|line| line.contains("INSERT"))
        })
        .collect()
}

fn servers_below(bench: &Bench) -> usize {
    let data = std::fs::canonicalize(bench.path()).unwrap();
    let entries = std::fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    entries
        .filter(|entry| {
            std::fs::read_link(entry.path().join("cwd"))
                .is_ok_and(|cwd| cwd.starts_with(data.join("fathom-results")))
        })
        .count()
}

#[test]
fn a_killed_backend_makes_the_run_invalid_and_it_is_repeated() {
    if !has_server() {
        return;
    }
    let bench = Bench::new();
    let words = [
        "run",
        "quick.toml",
        "-t",
        "postgres",
        "--repetitions",
        "1",
        "--set",
        "batch_size=1",
        "--set",
        "rows_total=200000",
        "-c",
        "4",
    ];
    let child = bench.start(&words);
    let victim = wait_for("a working backend", || backends(&bench).first().copied());
    signal_id(victim, "TERM");
    wait_for("the end of the invalid run", || {
        let store = results::store::Store::open_read_only(&bench.results()).ok()?;
        let study = store.latest_study().ok()??;
        let runs = store.runs(study.id).ok()?;
        runs.iter().any(|run| run.run.state == RunState::Invalid).then_some(())
    });
    let output = child.wait_with_output().unwrap();
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(1), "{out}\n{err}");
    assert!(err.contains("INVALID, not counted") && err.contains("client "), "{err}");
    let stored = bench.stored();
    assert_eq!(stored.runs.len(), 2);
    let invalid = &stored.runs[0];
    assert_eq!(invalid.run.state, RunState::Invalid);
    assert!(invalid.superseded_by.is_some());
    let gate = invalid.run.gates.iter().find(|gate| gate.gate == "no_errors").unwrap();
    assert_eq!(gate.outcome, GateOutcome::Failed);
    assert!(out.contains("client"), "{out}");
    let summary: serde_json::Value = serde_json::from_str(&bench.expect(0, &["report", "--json"]).0).unwrap();
    assert_eq!(summary["cells"][0]["estimate"]["n"], 1, "the invalid run is in no mean");
}

#[test]
fn kill_9_leaves_no_server_that_the_next_run_does_not_clean() {
    if !has_server() {
        return;
    }
    let bench = Bench::new();
    let words = ["run", "quick.toml", "-t", "postgres", "--set", "rows_total=2000"];
    let mut child = bench.start(&words);
    wait_for("a finished run", || (bench.counting() >= 1).then_some(()));
    signal(&child, "KILL");
    child.wait().unwrap();
    bench.finish(&words);
    assert_eq!(bench.counting(), 6);
    assert!(!bench.results().join("work").exists());
    wait_for("all servers to end", || (servers_below(&bench) == 0).then_some(()));
}

#[test]
fn a_server_that_dies_in_mid_run_costs_one_attempt() {
    if !has_server() {
        return;
    }
    let bench = Bench::new();
    let words = [
        "run",
        "quick.toml",
        "-t",
        "postgres",
        "--repetitions",
        "1",
        "--set",
        "batch_size=1",
        "--set",
        "rows_total=100000",
    ];
    let child = bench.start(&words);
    let backend = wait_for("a working backend", || backends(&bench).first().copied());
    let status = std::fs::read_to_string(format!("/proc/{backend}/status")).unwrap();
    let postmaster = status.lines().find_map(|line| line.strip_prefix("PPid:")).unwrap().trim();
    signal_id(postmaster.parse().unwrap(), "KILL");
    let output = child.wait_with_output().unwrap();
    let err = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{err}");
    assert!(err.contains("INVALID, not counted"), "{err}");
    assert_eq!(bench.counting(), 1);
}

#[test]
fn the_loop_on_the_server_and_several_servers_side_by_side_give_equal_rows() {
    let servers = find_servers(&[]);
    if servers.len() < 2 {
        return skip(Capability::PostgresMajors, "fewer than two PostgreSQL servers");
    }
    let bench = Bench::new();
    let directories: Vec<String> =
        servers.iter().take(2).map(|server| server.bin_dir.display().to_string()).collect();
    let words = [
        "run",
        "quick.toml",
        "-t",
        "postgres",
        "--set",
        "loop=server",
        "--repetitions",
        "1",
        "--pg-bin",
        &directories[0],
        "--pg-bin",
        &directories[1],
    ];
    bench.expect(0, &words);
    let stored = bench.stored();
    assert_eq!(stored.study.factors.last().unwrap().name, "server");
    assert_eq!(stored.runs.len(), 4);
    assert!(stored.runs.iter().all(|run| run.run.metric("table_rows") == Some(40.0)));
}

#[test]
fn an_external_server_without_rights_or_with_a_wrong_password_is_refused_and_the_password_is_not_printed() {
    let bench = Bench::new();
    let url = "postgres://nobody:hidden-word@127.0.0.1:1/none";
    let (out, err) = bench.expect(2, &["run", "quick.toml", "-t", url]);
    assert!(!(out + &err).contains("hidden-word"), "{err}");
    let found = Command::new("grep").args(["-r", "hidden-word"]).arg(bench.path()).output().unwrap();
    assert!(found.stdout.is_empty(), "{}", text(&found.stdout));
}

/// Processes that work below the results directory, with what was typed for each.
fn processes_below(bench: &Bench) -> Vec<String> {
    let results = std::fs::canonicalize(bench.path()).unwrap().join("fathom-results");
    let entries = std::fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    entries
        .filter(|entry| {
            std::fs::read_link(entry.path().join("cwd")).is_ok_and(|cwd| cwd.starts_with(&results))
        })
        .filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok())
        .map(|line| text(&line))
        .collect()
}

#[test]
fn initdb_ends_with_a_fathom_that_is_killed_and_the_next_start_has_a_directory_of_its_own() {
    initdb_ends_with_its_fathom(None);
}

#[test]
fn initdb_ends_with_a_fathom_that_is_killed_where_setpriv_is_not_installed() {
    initdb_ends_with_its_fathom(Some("/nowhere"));
}

/// `path`: where programs are looked for, if not as usual.
fn initdb_ends_with_its_fathom(path: Option<&str>) {
    if !has_server() {
        return;
    }
    until_met("a fathom that is killed while initdb runs", || initdb_is_left_by_its_fathom(path));
}

/// The scene; `None` when fathom ended before its initdb was seen.
fn initdb_is_left_by_its_fathom(path: Option<&str>) -> Option<()> {
    let bench = Bench::new();
    let mut command = bench.command(&["run", "quick.toml", "-t", "postgres", "--repetitions", "1"]);
    command.stdout(Stdio::null()).stderr(Stdio::null());
    if let Some(path) = path {
        command.env("PATH", path);
    }
    let mut killed = command.spawn().unwrap();
    // From the arguments of the tool itself: setpriv, or fathom in its place, has become it.
    let is_initdb = |line: &String| {
        line.split('\0').next().is_some_and(|program| program.ends_with("initdb"))
            && !line.contains("setpriv")
    };
    let is_met = wait_for("initdb to run", || {
        let has_ended = killed.try_wait().unwrap().is_some();
        (has_ended || processes_below(&bench).iter().any(is_initdb)).then_some(!has_ended)
    });
    if !is_met {
        return None;
    }
    killed.kill().unwrap();
    killed.wait().unwrap();
    let work = bench.results().join("work");
    let left: Vec<_> = std::fs::read_dir(&work).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    wait_for("initdb and its children to end", || processes_below(&bench).is_empty().then_some(()));
    let mut next = command.stderr(Stdio::piped()).spawn().unwrap();
    let own = wait_for("the next directory, or the end of the program that makes it", || {
        let has_ended = next.try_wait().unwrap().is_some();
        let mut names =
            std::fs::read_dir(&work).into_iter().flatten().map(|entry| entry.unwrap().file_name());
        let own = names.find(|name| !left.contains(name));
        (has_ended || own.is_some()).then_some(own)
    });
    let output = next.wait_with_output().unwrap();
    assert!(matches!(output.status.code(), Some(0 | 1)), "{}", text(&output.stderr));
    assert!(!work.exists(), "nothing is left, neither of the killed one nor of the next");
    assert!(own.as_ref()?.to_string_lossy().starts_with("fathom-postgres-"));
    Some(())
}

#[test]
fn a_complete_study_starts_no_cluster() {
    if !has_server() {
        return;
    }
    let bench = Bench::new();
    let words = ["run", "quick.toml", "-t", "postgres", "--repetitions", "1"];
    bench.finish(&words);
    // A directory cannot be made where a file is: whoever starts a cluster fails.
    std::fs::write(bench.results().join("work"), "").unwrap();
    let (_, err) = bench.finish(&words);
    assert!(err.contains("2 of them already completed"), "{err}");
    let (_, err) = bench.expect(2, &["run", "quick.toml", "-t", "postgres", "--repetitions", "2"]);
    assert!(err.contains("work"), "{err}");
}
