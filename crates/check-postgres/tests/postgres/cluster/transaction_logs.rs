//! Files of pg_xact and pg_multixact: what is lost is missed, what was cut or skipped is not.
#![allow(clippy::unwrap_used)]

use std::path::{Path, PathBuf};

use results::check::{CheckLevel, CheckReport};
use skips::{Capability, skip};

use crate::running::live::with_clients;
use crate::scene::clean::{assert_silent, check};
use crate::scene::edit::{BLOCK, Editor};
use crate::scene::server::{Cluster, servers};

/// Uses up 40000 transactions.
const BURN: &str =
    "do $$ begin for i in 1..40000 loop perform pg_current_xact_id(); commit; end loop; end $$\n";
/// Makes 3000 multixacts: rows that are locked, then updated in a subtransaction.
pub(crate) const MULTIXACTS: &str = "create table m(id int, n int)
insert into m select i, 0 from generate_series(1, 3000) i
do $$ declare k int; begin for i in 1..3000 loop select id into k from m where id = i and n = 0 for key share; begin update m set n = 1 where id = i and n = 0; exception when others then null; end; end loop; end $$
";
const TABLE: &str = "create table t(id int primary key, v text)
insert into t select i, repeat('v', i % 90) from generate_series(1, 3000) i
";
const RULE: &str = "pg-transaction-log-missing";
const BLOCK_XIDS: u64 = 32_768;
const SEGMENT_XIDS: u64 = 32 * BLOCK_XIDS;

fn reset(cluster: &Cluster, arguments: &[&str]) {
    let data = cluster.data();
    let all = [arguments, &["-D", data.to_str().unwrap()]].concat();
    assert_eq!(cluster.tool("pg_resetwal", &all), Some(0), "{arguments:?}");
}

/// Packages that can move counters.
fn with_reset() -> Vec<(u32, PathBuf)> {
    let found: Vec<_> = servers().into_iter().filter(|(_, bin)| bin.join("pg_resetwal").exists()).collect();
    if found.is_empty() {
        skip(Capability::PostgresTools, "no PostgreSQL package with pg_resetwal");
    }
    found
}

fn xact(segment: u64) -> PathBuf {
    PathBuf::from(format!("pg_xact/{segment:04X}"))
}

/// The files that are missed, and how many rows miss something.
fn missed(report: &CheckReport) -> (Vec<String>, u64) {
    let files = report.findings.iter().filter(|finding| finding.rule == RULE);
    let rules = [RULE, "pg-transaction-end"];
    let logs = report.objects.iter().filter(|object| rules.contains(&object.cause_rule.as_str()));
    let rows = logs.map(|object| object.affected.row_count).sum();
    (files.map(|finding| finding.file.clone()).collect(), rows)
}

pub(crate) type Case = (&'static str, fn(&mut Editor), &'static str, bool);

/// What is done, the file that must be missed as a whole (or none), and whether rows must miss something.
pub(crate) const CASES: &[Case] = &[
    ("pg_xact missing", |e| e.remove(&xact(0)), "pg_xact/0000", true),
    ("pg_xact cut by whole blocks", |e| e.file(&xact(0), |b| b.clear()), "pg_xact/0000", true),
    ("pg_xact cut inside a block", |e| e.file(&xact(0), |b| b.truncate(5000)), "pg_xact/0000", true),
    ("pg_xact zeroed", |e| e.file(&xact(0), |b| b.fill(0)), "", true),
    (
        "pg_multixact/offsets missing",
        |e| e.remove(Path::new("pg_multixact/offsets/0000")),
        "pg_multixact/offsets/0000",
        true,
    ),
    (
        "pg_multixact/offsets cut by whole blocks",
        |e| e.file(Path::new("pg_multixact/offsets/0000"), |b| b.truncate(BLOCK)),
        "pg_multixact/offsets/0000",
        true,
    ),
    (
        "pg_multixact/offsets zeroed",
        |e| e.file(Path::new("pg_multixact/offsets/0000"), |b| b.fill(0)),
        "",
        true,
    ),
    (
        "pg_multixact/members missing",
        |e| e.remove(Path::new("pg_multixact/members/0000")),
        "pg_multixact/members/0000",
        true,
    ),
    (
        "pg_multixact/members zeroed",
        |e| e.file(Path::new("pg_multixact/members/0000"), |b| b.fill(0)),
        "",
        true,
    ),
];

fn faults(cluster: &Cluster, standing: &str) -> Vec<String> {
    let mut faults = Vec::new();
    let is_wanted = |class: &str| standing == "stopped" || class.contains("missing");
    for (class, damage, file, by_rows) in CASES.iter().filter(|case| is_wanted(case.0)) {
        let mut editor = Editor::new(&cluster.data());
        damage(&mut editor);
        let report = check(cluster, CheckLevel::Full, 2);
        let (files, rows) = missed(&report);
        editor.undo();
        let as_wanted = if file.is_empty() { files.is_empty() } else { files.contains(&(*file).to_owned()) };
        if !as_wanted || *by_rows != (rows > 1000) || report.exit_code() != 1 {
            faults.push(format!("{standing}, {class}: {files:?}, {rows} rows: {:?}", report.rule_counts));
        }
    }
    faults
}

#[test]
fn a_log_of_transactions_that_is_lost_is_missed_by_its_files_and_by_rows() {
    let Some(cluster) = with_clients() else { return };
    cluster.run_all(&(MULTIXACTS.to_owned() + TABLE));
    assert_silent(&cluster, "before any damage");
    let mut found = faults(&cluster, "stopped");
    cluster.start("-c wal_level=replica");
    cluster.sql(&["checkpoint"]);
    found.extend(faults(&cluster, "running"));
    cluster.sql(&["update t set v = 'after' where id < 100"]);
    cluster.stop("immediate");
    found.extend(faults(&cluster, "crashed"));
    let report = check(&cluster, CheckLevel::Full, 2);
    assert!(report.findings.is_empty(), "after all damage was undone: {:#?}", report.findings);
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn counters_that_were_moved_on_leave_holes_that_nobody_misses() {
    for (major, bin) in with_reset() {
        let cluster = Cluster::new(&bin, if major < 18 { &["-k"] } else { &[] });
        cluster.run_all(TABLE);
        let mut freeze_next = false;
        // Across the borders of segments, of half the circle, and round it.
        for next in [
            SEGMENT_XIDS - BLOCK_XIDS,
            3 * SEGMENT_XIDS,
            1_500_000_000 / BLOCK_XIDS * BLOCK_XIDS,
            (1 << 31) - BLOCK_XIDS,
            3_500_000_000 / BLOCK_XIDS * BLOCK_XIDS,
            (1 << 32) - BLOCK_XIDS,
        ] {
            reset(&cluster, &["-x", &next.to_string()]);
            assert_silent(&cluster, &format!("PostgreSQL {major}, moved to {next}"));
            cluster.run_all(&format!("insert into t select {next} / 32768 * 10 + 10000 + i, 'x' from generate_series(1, 5) i\n{BURN}delete from t where id % 10 = 3\n"));
            assert_silent(&cluster, &format!("PostgreSQL {major}, on from {next}"));
            if freeze_next {
                cluster.run_all("vacuum freeze\n");
                assert_silent(&cluster, &format!("PostgreSQL {major}, cut at {next}"));
                assert!(!cluster.data().join(xact(0)).exists() || next > 1 << 31, "pg_xact was not cut");
            }
            freeze_next = true;
        }
        reset(&cluster, &["-m", "131072,1"]);
        assert_silent(&cluster, "multixacts moved on");
    }
}

#[test]
fn a_segment_in_the_middle_is_missed_where_the_one_before_was_used_up() {
    let Some((_, bin)) = with_reset().pop() else { return };
    let cluster = Cluster::new(&bin, &["-k"]);
    cluster.run_all("create table t(id int)\n");
    reset(&cluster, &["-x", &(SEGMENT_XIDS - BLOCK_XIDS).to_string()]);
    cluster.run_all(BURN);
    reset(&cluster, &["-x", &(3 * SEGMENT_XIDS).to_string()]);
    cluster.run_all(BURN);
    assert_silent(&cluster, "with a hole");
    let mut editor = Editor::new(&cluster.data());
    editor.remove(&xact(1));
    let report = check(&cluster, CheckLevel::Page, 2);
    assert_eq!(missed(&report).0, ["pg_xact/0001"], "{:#?}", report.findings);
    editor.undo();
    // The oldest transaction that is needed stands in it.
    editor.remove(&xact(0));
    let report = check(&cluster, CheckLevel::Page, 2);
    assert_eq!(missed(&report).0, ["pg_xact/0000"], "{:#?}", report.findings);
}

#[test]
fn what_vacuum_cuts_after_the_checkpoint_is_not_missed_while_the_server_runs_and_after_a_crash() {
    let Some(cluster) = with_clients() else { return };
    cluster.run_all(TABLE);
    reset(&cluster, &["-x", &(SEGMENT_XIDS - BLOCK_XIDS).to_string()]);
    cluster.run_all(BURN);
    cluster.start("-c wal_level=replica");
    cluster.sql(&[
        "insert into t values (9001)",
        "checkpoint",
        "vacuum freeze",
        "delete from t where id = 7",
    ]);
    assert!(!cluster.data().join(xact(0)).exists(), "VACUUM did not cut pg_xact");
    let running = check(&cluster, CheckLevel::Full, 2);
    cluster.stop("immediate");
    let crashed = check(&cluster, CheckLevel::Full, 2);
    for (what, report) in [("running", running), ("crashed", crashed)] {
        assert!(report.findings.is_empty(), "{what}: {:#?}", report.findings);
        let is_told = report.not_checked.iter().any(|gap| gap.what.contains("pg_xact"));
        assert!(!is_told, "{what}: {:?}", report.not_checked);
    }
    cluster.run_all("select count(*) from t\n");
    assert_silent(&cluster, "after replay");
}
