//! Nothing is found in clusters that are in order, whatever was done in them.
#![allow(clippy::unwrap_used)]

use check::options::Options;
use check::progress::Silent;
use check_postgres::check_cluster;
use results::check::{CheckLevel, CheckReport};

use crate::scene::server::{Cluster, servers};

pub(crate) fn check(cluster: &Cluster, level: CheckLevel, workers: usize) -> CheckReport {
    let options = Options { level, worker_count: workers, ..Options::default() };
    check_cluster(&cluster.data(), &options, &mut Silent).unwrap()
}

pub(crate) fn assert_silent(cluster: &Cluster, what: &str) -> CheckReport {
    let report = check(cluster, CheckLevel::Full, 2);
    let listed: Vec<_> = report.findings.iter().take(5).collect();
    assert!(report.findings.is_empty(), "{what}: {listed:#?}");
    assert!(report.accounting.is_balanced(), "{what}: {:?}", report.accounting);
    assert_eq!(report.exit_code(), 0, "{what}: {:?}", report.unfinished);
    report
}

/// Nothing is found after a history of at least so many index entries in any major, and on the newest after a crash that
/// leaves some more to the log, and after its replay. `look` sees the report of each major.
pub(crate) fn assert_history_is_silent(
    history: &str,
    entry_count_min: u64,
    before_crash: &str,
    after_replay: &str,
    look: impl Fn(u32, &CheckReport),
) {
    let all = servers();
    let latest = all.last().map(|(major, _)| *major);
    for (major, bin) in all {
        let cluster = Cluster::new(&bin, if major < 18 { &["-k"] } else { &[] });
        cluster.run_all(history);
        let report = assert_silent(&cluster, &format!("PostgreSQL {major}"));
        assert!(report.counters.entry_count > entry_count_min, "{:?}", report.counters);
        look(major, &report);
        if Some(major) != latest {
            continue;
        }
        cluster.crash_after(&format!("checkpoint\n{before_crash}"));
        let report = check(&cluster, CheckLevel::Full, 2);
        assert!(report.findings.is_empty(), "PostgreSQL {major}, after a crash: {:#?}", report.findings);
        cluster.run_all(after_replay);
        assert_silent(&cluster, &format!("PostgreSQL {major}, after replay"));
    }
}

/// One statement per line, as single-user mode wants it.
const EVERYTHING: &str = include_str!("../everything.sql");

#[test]
fn a_cluster_with_everything_in_it_is_silent_in_every_major() {
    for (major, bin) in servers() {
        let cluster = Cluster::new(&bin, if major < 18 { &["-k"] } else { &[] });
        let output = cluster.run(EVERYTHING);
        let unwanted = output
            .lines()
            .find(|line| line.contains("ERROR:") && !line.contains("could not create unique index"));
        assert_eq!(unwanted, None, "PostgreSQL {major}");
        let report = assert_silent(&cluster, &format!("PostgreSQL {major}"));
        assert!(report.counters.row_count > 60_000, "{:?}", report.counters);
        let aside = |object: &str| {
            report.not_checked.iter().filter(|gap| gap.object.as_deref() == Some(object)).count()
        };
        assert_eq!(aside("postgres.public.t_partial"), 1, "{:?}", report.not_checked);
        assert_eq!(aside("postgres.public.t_expression"), 1);
        assert_eq!(aside("postgres.public.bad_a"), 1);
    }
}

#[test]
fn a_crash_is_told_apart_and_silent_after_replay() {
    for (major, bin) in servers().into_iter().rev().take(1) {
        let cluster = Cluster::new(&bin, &["-k"]);
        cluster.run_all("create table t(id int primary key, v text)\ninsert into t select i, repeat('v', i % 90) from generate_series(1, 3000) i\n");
        cluster.crash_after("checkpoint\nupdate t set v = v || 'x' where id % 3 = 0\ninsert into t select i, 'new' from generate_series(3001, 9000) i\n");
        let report = check(&cluster, CheckLevel::Full, 1);
        assert!(
            report.facts.contains(&("state".to_owned(), "not shut down".to_owned())),
            "{:?}",
            report.facts
        );
        assert!(report.findings.is_empty(), "PostgreSQL {major}: {:#?}", report.findings);
        assert!(report.not_checked.iter().any(|gap| gap.why.contains("after recovery")));
        cluster.run_all("select count(*) from t\n");
        assert_silent(&cluster, "after replay");
    }
}

#[test]
fn without_checksums_and_with_all_levels_a_clean_cluster_is_silent() {
    for (major, bin) in servers().into_iter().take(1) {
        let cluster = Cluster::new(&bin, if major < 18 { &[] } else { &["--no-data-checksums"] });
        cluster
            .run_all("create table t(id int primary key)\ninsert into t select generate_series(1, 2000)\n");
        for level in [CheckLevel::Read, CheckLevel::Page, CheckLevel::Structure, CheckLevel::Full] {
            for workers in [1, 2] {
                let report = check(&cluster, level, workers);
                assert!(report.findings.is_empty(), "{level:?}: {:#?}", report.findings);
                assert!(
                    report.accounting.is_balanced() && report.accounting.is_complete(),
                    "{:?}",
                    report.accounting
                );
            }
        }
    }
}
