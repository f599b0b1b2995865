//! A server at work: nothing is found that is not there, and what is there is found, also between files.
#![allow(clippy::unwrap_used)]

use check::engine::LogEnd;
use check::options::Options;
use check::progress::Silent;
use check_postgres::{check_cluster, check_running};
use results::check::{CheckLevel, CheckReport};
use skips::{Capability, skip};

use crate::scene::clean::check;
use crate::scene::edit::Editor;
use crate::scene::server::{Cluster, servers};

/// The newest package that has clients as well.
pub(crate) fn with_clients() -> Option<Cluster> {
    let found =
        servers().into_iter().rfind(|(_, bin)| bin.join("psql").exists() && bin.join("pgbench").exists());
    if found.is_none() {
        skip(Capability::PostgresTools, "no PostgreSQL package with psql and pgbench");
    }
    let (major, bin) = found?;
    Some(Cluster::new(&bin, if major < 18 { &["-k"] } else { &[] }))
}

fn share(report: &CheckReport) -> Option<&str> {
    let fact = report.facts.iter().find(|(name, _)| name == "unchanged since the checkpoint");
    fact.map(|(_, value)| value.as_str())
}

const WORK: &str = "\\set id random(1, 2000)
begin;
insert into work(k, v) values (:id, repeat('w', :id % 70)) on conflict (k) do update set v = work.v || 'x';
delete from work where k = 2001 - :id and :id % 3 = 0;
update counter set n = n + 1 where id = :id % 10;
end;
";

#[test]
fn a_server_under_heavy_writes_is_silent_and_what_stood_still_is_compared() {
    assert_writes_are_silent("-c wal_level=replica");
}

#[test]
fn so_it_is_where_checkpoints_do_not_record_which_transactions_were_active() {
    assert_writes_are_silent("-c wal_level=minimal -c max_wal_senders=0");
}

fn assert_writes_are_silent(wal_level: &str) {
    let Some(cluster) = with_clients() else { return };
    cluster.run_all("create table quiet(id int primary key, v text) with (autovacuum_enabled = off)\ninsert into quiet select i, 'q' || i from generate_series(1, 4000) i\ncreate table work(k int primary key, v text)\ncreate index on work(v)\ncreate table counter(id int primary key, n int)\ninsert into counter select i, 0 from generate_series(0, 9) i\n");
    cluster.start(&format!("-c autovacuum=on -c autovacuum_naptime=1 -c bgwriter_delay=10 {wal_level}"));
    cluster.sql(&["checkpoint"]);
    let script = cluster.data().with_file_name("work.sql");
    std::fs::write(&script, WORK).unwrap();
    // It ends by itself when the server does.
    let arguments = ["-n", "-c", "4", "-T", "600", "-f", script.to_str().unwrap(), "postgres"];
    let mut work = cluster.client("pgbench", &arguments).spawn().unwrap();
    let mut compared = 0;
    for round in 0..6 {
        let name = format!("come_and_go_{round}");
        cluster.sql(&[
            "vacuum work",
            &format!("create table {name} as select i from generate_series(1, 3000) i"),
            &format!("create index on {name}(i)"),
            if round % 2 == 0 { "checkpoint" } else { "truncate counter" },
        ]);
        let report = check(&cluster, CheckLevel::Full, 2);
        assert!(report.findings.is_empty(), "round {round}: {:#?}", report.findings);
        assert!(report.accounting.is_balanced() && report.exit_code() == 0, "{:?}", report.accounting);
        assert!(share(&report).is_some(), "{:?}", report.facts);
        compared += report.counters.row_count;
        if round % 2 == 0 {
            cluster.sql(&[&format!("drop table {name}")]);
        }
    }
    assert!(compared > 4000, "the quiet table was never compared");
    cluster.sql(&["checkpoint"]);
    // The server has not read this block since: what stands in the file is what is found.
    let path = cluster.path_of_running("quiet");
    let mut editor = Editor::new(&cluster.data());
    editor.block(&path, 3, |page| page.fill(0));
    let report = check(&cluster, CheckLevel::Full, 2);
    work.kill().unwrap();
    work.wait().unwrap();
    cluster.stop("immediate");
    // Whether its bit in the map is set depends on autovacuum.
    let is_expected = |rule: &str| rule == "pg-entry-without-row" || rule == "pg-visibility-map";
    let is_there = report.findings.iter().all(|found| is_expected(&found.rule) && found.page == Some(3));
    let by_entries = report.findings.iter().find(|finding| finding.rule == "pg-entry-without-row");
    assert!(is_there, "{:#?}", report.findings);
    assert_eq!(by_entries.map(|finding| finding.found.as_str()), Some("a block of zeros"));
    editor.undo();
    // What the crash left is told apart, and silent before and after the log is replayed.
    let report = check(&cluster, CheckLevel::Full, 2);
    assert!(report.findings.is_empty(), "after the crash: {:#?}", report.findings);
    cluster.run_all("select count(*) from work\n");
    let report = check(&cluster, CheckLevel::Full, 2);
    assert!(report.findings.is_empty(), "after replay: {:#?}", report.findings);
    assert_eq!(report.facts[1].1, "shut down");
}

#[test]
fn positions_of_blocks_are_bounded_by_what_the_server_tells() {
    let Some(cluster) = with_clients() else { return };
    cluster.run_all("create table t(id int primary key)\ninsert into t select generate_series(1, 3000)\n");
    cluster.start("");
    let options = Options { worker_count: 2, ..Options::default() };
    let run = |end: u64| {
        check_running(&cluster.data(), &LogEnd::new(move || Some(end)), &options, &mut Silent).unwrap()
    };
    let (clean, future) = (run(u64::MAX), run(1));
    let without = check_cluster(&cluster.data(), &options, &mut Silent).unwrap();
    cluster.stop("fast");
    assert!(clean.findings.is_empty() && without.findings.is_empty(), "{:#?}", clean.findings);
    assert!(future.rule_counts.iter().any(|count| count.rule == "pg-page-lsn"), "{:?}", future.rule_counts);
}

#[test]
fn an_online_backup_of_a_server_at_work_is_silent() {
    let Some(cluster) = with_clients() else { return };
    if !cluster.has_tool("pg_basebackup") {
        return skip(Capability::PostgresTools, "no PostgreSQL package with pg_basebackup");
    }
    cluster.run_all("create table quiet(id int primary key, v text)\ninsert into quiet select i, 'q' || i from generate_series(1, 4000) i\ncreate table work(k int primary key, v text)\ncreate table counter(id int primary key, n int)\n");
    cluster.start("-c wal_level=replica");
    let script = cluster.data().with_file_name("work.sql");
    std::fs::write(&script, WORK).unwrap();
    let arguments = ["-n", "-c", "2", "-T", "600", "-f", script.to_str().unwrap(), "postgres"];
    let mut work = cluster.client("pgbench", &arguments).spawn().unwrap();
    let place = cluster.data().with_file_name("backup");
    let taken = ["-c", "fast", "-Ft", "-D", place.to_str().unwrap()];
    let status = cluster.client("pg_basebackup", &taken).status().unwrap();
    work.kill().unwrap();
    work.wait().unwrap();
    cluster.stop("fast");
    assert!(status.success());
    let report = check_cluster(&place, &Options::default(), &mut Silent).unwrap();
    assert!(report.findings.is_empty(), "{:#?}", report.findings);
    assert_eq!(report.facts[1].1, "base backup");
    assert!(share(&report).is_some(), "{:?}", report.not_checked);
    assert!(report.counters.row_count > 4000, "{:?}", report.counters);
}
