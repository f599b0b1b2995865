//! A check in several calls, in batches of objects and with little memory says what one in one go says.
#![allow(clippy::unwrap_used)]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use check::options::Options;
use check::progress::{Phase, Progress, Silent};
use check_postgres::check_cluster;
use results::check::{CheckLevel, CheckReport};

use crate::scene::edit::{BLOCK, Editor};
use crate::scene::server::{Cluster, servers};

const TABLES: &str = "create table t(id int primary key, v text)
insert into t select i, repeat('v', i % 90) from generate_series(1, 12000) i
create index on t(v)
update t set v = v || 'x' where id % 3 = 0
create table u(id int primary key, big text)
alter table u alter big set storage external
insert into u select i, repeat('b', 5000) from generate_series(1, 100) i
delete from u where id % 4 = 0
";

/// Asks for an end as soon as so many bytes are read.
struct StopAt {
    bytes: u64,
    stop: Arc<AtomicBool>,
}

impl Progress for StopAt {
    fn advance(&mut self, phase: Phase, bytes_done: u64, _bytes_total: u64) {
        if phase == Phase::Pass && bytes_done >= self.bytes {
            self.stop.store(true, Ordering::Relaxed);
        }
    }
}

/// What a report says apart from what it cost.
fn said(report: &CheckReport) -> String {
    format!("{:?} {:?} {:?}", report.findings, report.rule_counts, report.accounting)
}

#[test]
fn a_check_in_parts_finds_what_a_check_in_one_go_finds() {
    let Some((_, bin)) = servers().pop() else { return };
    let cluster = Cluster::new(&bin, &["-k"]);
    cluster.run_all(TABLES);
    let path = cluster.path_of("t");
    let mut editor = Editor::new(&cluster.data());
    for damaged in [false, true] {
        if damaged {
            editor.sealed(&path, 20, |page| page.fill(0));
            editor.block(&path, 30, |page| page[5000] ^= 1);
        }
        let whole = Options { seed: 7, worker_count: 2, ..Options::default() };
        let wanted = check_cluster(&cluster.data(), &whole, &mut Silent).unwrap();
        assert_eq!(wanted.exit_code(), u8::from(damaged), "{:#?}", wanted.findings);
        for object_batch in [None, Some(100)] {
            let directory = tempfile::tempdir().unwrap();
            let resume_file = Some(directory.path().join("state"));
            let mut calls = 0;
            let report = loop {
                let stop = Arc::new(AtomicBool::new(false));
                let options = Options {
                    seed: calls,
                    resume_file: resume_file.clone(),
                    object_batch,
                    page_batch: Some(2),
                    stop: Some(Arc::clone(&stop)),
                    // Slow enough that there is something to stop; the last call runs to its end.
                    rate_bytes_per_s_max: (calls < 2).then_some(8 << 20),
                    ..whole.clone()
                };
                let bytes = if calls < 2 { (calls + 1) * 3_000_000 } else { u64::MAX };
                let report = check_cluster(&cluster.data(), &options, &mut StopAt { bytes, stop }).unwrap();
                assert!(report.accounting.is_balanced(), "{:?}", report.accounting);
                calls += 1;
                if report.unfinished.is_none() {
                    break report;
                }
                assert!(report.accounting.unreached_count > 0);
            };
            assert_eq!(said(&report), said(&wanted), "{object_batch:?} in {calls} calls");
            assert!(!directory.path().join("state").exists(), "nothing is left to go on with");
        }
        let batches = Options { object_batch: Some(50), ..whole.clone() };
        let report = check_cluster(&cluster.data(), &batches, &mut Silent).unwrap();
        assert_eq!(said(&report), said(&wanted), "in batches");
        assert!(report.counters.memory_bytes_max < wanted.counters.memory_bytes_max);
        let little = Options { memory_bytes_max: 4096, ..whole };
        let report = check_cluster(&cluster.data(), &little, &mut Silent).unwrap();
        assert_eq!(said(&report), said(&wanted), "with little memory");
        assert!(report.counters.temporary_bytes > 20_000, "{:?}", report.counters);
        assert!(report.counters.memory_bytes_max < wanted.counters.memory_bytes_max);
    }
}

#[test]
fn a_check_of_something_else_is_not_gone_on_with() {
    let Some((_, bin)) = servers().pop() else { return };
    let cluster = Cluster::new(&bin, &["-k"]);
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("state");
    let stop = Some(Arc::new(AtomicBool::new(true)));
    let options = Options { resume_file: Some(path.clone()), stop, ..Options::default() };
    let report = check_cluster(&cluster.data(), &options, &mut Silent).unwrap();
    assert!(report.unfinished.is_some_and(|why| why.contains("--resume")) && path.exists());
    let short = Options { time_max: Some(std::time::Duration::ZERO), stop: None, ..options.clone() };
    let report = check_cluster(&cluster.data(), &short, &mut Silent).unwrap();
    assert!(report.accounting.bytes_read > 0, "a call without time gets on all the same");
    std::fs::remove_file(&path).unwrap_or_default();
    check_cluster(&cluster.data(), &options, &mut Silent).unwrap();
    let options = Options { level: CheckLevel::Page, stop: None, ..options };
    let report = check_cluster(&cluster.data(), &options, &mut Silent).unwrap();
    assert_eq!((report.exit_code(), report.accounting.bytes_read % BLOCK as u64), (0, 0));
    assert!(
        report.not_checked.iter().any(|gap| gap.what.contains("resuming an earlier check")),
        "{:?}",
        report.not_checked
    );
    std::fs::write(&path, "no state").unwrap();
    let report = check_cluster(&cluster.data(), &options, &mut Silent).unwrap();
    assert_eq!(report.exit_code(), 0);
    assert!(report.not_checked.iter().any(|gap| gap.what.contains("resuming an earlier check")));
}
