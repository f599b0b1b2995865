//! Headers of WAL pages in the middle of what the recovery of a backup reads, changed one field at a time.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::Path;

use check::options::Options;
use check::progress::Silent;
use check_postgres::check_cluster;
use results::check::{CheckLevel, CheckReport};

use crate::running::live::with_clients;

const PAGE: usize = 8192;

fn checked(path: &Path) -> CheckReport {
    let options = Options { level: CheckLevel::Page, worker_count: 2, ..Options::default() };
    check_cluster(path, &options, &mut Silent).unwrap()
}

/// A position of a line of the label.
fn position(text: &str, start: &str) -> usize {
    let rest = text.split(start).nth(1).unwrap();
    let (high, low) = rest.split([' ', '\n', '"']).next().unwrap().split_once('/').unwrap();
    usize::from_str_radix(high, 16).unwrap() << 32 | usize::from_str_radix(low, 16).unwrap()
}

#[test]
fn each_field_of_a_page_header_that_recovery_tests_is_tested() {
    let Some(cluster) = with_clients() else { return };
    cluster.run_all("create table t(id int, v text)\n");
    cluster.start("-c wal_level=replica");
    let insert = "insert into t select i, repeat('v', 100) from generate_series(1, 400000) i";
    let mut load = cluster.client("psql", &["-d", "postgres", "-c", insert]).spawn().unwrap();
    let backup = cluster.data().with_file_name("backup");
    let arguments = ["-D", backup.to_str().unwrap(), "-c", "fast", "-X", "stream", "--no-sync"];
    assert!(cluster.client("pg_basebackup", &arguments).status().unwrap().success());
    let _ = load.kill();
    let _ = load.wait();
    cluster.stop("immediate");
    let label = fs::read_to_string(backup.join("backup_label")).unwrap();
    let manifest = fs::read_to_string(backup.join("backup_manifest")).unwrap();
    let (start, end) = (position(&label, "START WAL LOCATION: "), position(&manifest, "\"End-LSN\": \""));
    let report = checked(&backup);
    assert!(report.findings.is_empty(), "before any damage: {:#?}", report.findings);
    let name = |at: usize| format!("pg_wal/00000001{:08X}{:08X}", at >> 32, (at & 0xFFFF_FFFF) >> 24);
    let checkpoint = position(&label, "CHECKPOINT LOCATION: ");
    // Pages that continue a record of recovery, behind the first of their segment and behind the checkpoint record.
    let continued = |at: usize| {
        let bytes = fs::read(backup.join(name(at))).unwrap();
        let offset = at & 0xFF_FFFF;
        let rest = u32::from_le_bytes(bytes[offset + 16..offset + 20].try_into().unwrap());
        (offset > 0 && bytes[offset + 2] & 1 == 1).then_some((rest, at))
    };
    let pages = (start.max(checkpoint) / PAGE + 2..end / PAGE).map(|number| number * PAGE);
    let pages: Vec<(u32, usize)> = pages.take(1000).filter_map(continued).collect();
    let page = pages.first().expect("nothing was written during the backup").1;
    // Records of the load have the same length: of the one with the longest rest, the page before has the fewest
    // bytes, and a page boundary inside the header of a record is found among so many.
    let longest = pages.iter().filter(|(rest, _)| *rest < 180).max().map_or(page, |(_, at)| *at);
    let fields = [
        ("xlp_magic", 0, 0x10),
        ("xlp_info: first is no continuation", 2, 0x01),
        ("xlp_info: long header", 2, 0x02),
        ("xlp_info: a bit that is not defined", 2, 0x40),
        ("xlp_tli of the past", 4, 0x01),
        ("xlp_pageaddr", 9, 0x20),
        ("xlp_rem_len", 16, 0x08),
    ];
    let cases = [page, longest].into_iter().flat_map(|page| fields.map(|field| (page, field)));
    for (page, (field, offset, bit)) in cases {
        let path = backup.join(name(page));
        let bytes = fs::read(&path).unwrap();
        let mut changed = bytes.clone();
        changed[(page & 0xFF_FFFF) + offset] ^= bit;
        fs::write(&path, changed).unwrap();
        let report = checked(&backup);
        let rules: Vec<&str> = report.rule_counts.iter().map(|count| count.rule.as_str()).collect();
        assert_eq!(rules, ["pg-recovery-wal"], "{field} at {page:X}: {:#?}", report.findings);
        fs::write(&path, bytes).unwrap();
    }
}
