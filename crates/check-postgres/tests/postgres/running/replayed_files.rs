//! Files that are absent or short where the log must be replayed: what the log dropped, cut or made is told from what was
//! lost.
#![allow(clippy::unwrap_used)]

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use check::options::Options;
use check::progress::Silent;
use check_postgres::check_cluster;
use formats::postgres::checksum::page_checksum;
use results::check::CheckReport;
use skips::{Capability, skip};

use crate::running::live::with_clients;
use crate::scene::edit::{BLOCK, Editor};
use crate::scene::server::Cluster;

const TABLES: &str = "create table cold(id int primary key, v text)
insert into cold select i, repeat('c', i % 90) from generate_series(1, 5000) i
create table bare(id int, v text)
insert into bare select i, repeat('b', 80) from generate_series(1, 3000) i
create table gone(id int primary key)
insert into gone select generate_series(1, 3000)
create table emptied(id int primary key)
insert into emptied select generate_series(1, 3000)
create table rewritten(id int primary key, v text)
insert into rewritten select i, repeat('r', i % 70) from generate_series(1, 3000) i
create table shorter(id int primary key, v text)
insert into shorter select i, repeat('s', i % 70) from generate_series(1, 3000) i
create unlogged table unlogged(id int)
insert into unlogged select generate_series(1, 3000)
vacuum freeze
";

/// Everything that takes files away or makes them.
const CHANGES: &[&str] = &[
    "drop table gone",
    "truncate emptied",
    "insert into emptied values (1)",
    "vacuum full rewritten",
    "create table fresh(id int primary key)",
    "insert into fresh select generate_series(1, 1000)",
    "delete from shorter where id > 500",
    "vacuum shorter",
    "begin; create table never(id int); insert into never values (1); rollback",
    "reindex table cold",
];

/// Paths as they were before the changes.
struct Scene {
    cold: PathBuf,
    bare: PathBuf,
    gone: PathBuf,
    emptied: PathBuf,
    rewritten: PathBuf,
}

impl Scene {
    fn new(cluster: &Cluster) -> Scene {
        let path = |name: &str| cluster.path_of_running(name);
        Scene {
            cold: path("cold"),
            bare: path("bare"),
            gone: path("gone"),
            emptied: path("emptied"),
            rewritten: path("rewritten"),
        }
    }
}

type Case = (&'static str, fn(&mut Editor, &Scene), &'static str);

const CASES: &[Case] = &[
    ("table file missing", |e, s| e.remove(&s.cold), "pg-file-missing"),
    (
        "table file truncated by whole blocks",
        |e, s| e.file(&s.bare, |b| b.truncate(b.len() - 4 * BLOCK)),
        "pg-visibility-map",
    ),
    ("table block zeroed", |e, s| e.block(&s.bare, 3, |p| p.fill(0)), "pg-visibility-map"),
    ("first segment short", |e, s| e.add_segment(&s.bare, 0), "pg-segment-missing"),
];

/// What is done that is no damage.
type Harmless = (&'static str, fn(&mut Editor, &Scene));

/// What the log explains.
const HARMLESS: &[Harmless] = &[
    ("a dropped file", |e, s| e.remove_if_there(&s.gone)),
    ("the file before TRUNCATE", |e, s| e.remove_if_there(&s.emptied)),
    ("the file before VACUUM FULL", |e, s| e.remove_if_there(&s.rewritten)),
    ("a segment that was added later", |e, s| e.add_segment(&s.bare, u64::MAX >> 8)),
];

impl Editor {
    fn remove_if_there(&mut self, file: &Path) {
        if self.has(file) {
            self.remove(file);
        }
    }

    /// Adds a second segment: a block with a position in the log, 0 for the one that it has.
    fn add_segment(&mut self, file: &Path, lsn: u64) {
        let mut block = self.read(file)[..BLOCK].to_vec();
        if lsn != 0 {
            block[..4].copy_from_slice(&((lsn >> 32) as u32).to_le_bytes());
            block[4..8].copy_from_slice(&(lsn as u32).to_le_bytes());
        }
        let sum = page_checksum(&block, 131_072);
        block[8..10].copy_from_slice(&sum.to_le_bytes());
        self.add(&PathBuf::from(format!("{}.1", file.display())), &block);
    }
}

fn checked(path: &Path) -> CheckReport {
    check_cluster(path, &Options { worker_count: 2, ..Options::default() }, &mut Silent).unwrap()
}

fn rules(report: &CheckReport) -> Vec<&str> {
    report.rule_counts.iter().map(|count| count.rule.as_str()).collect()
}

fn is_left_out(report: &CheckReport) -> bool {
    report.not_checked.iter().any(|gap| gap.what == "missing files and segments")
}

/// Damages a directory in each way; gives what was not as it should be.
fn faults(data: &Path, scene: &Scene) -> Vec<String> {
    let mut faults = Vec::new();
    let clean = checked(data);
    if !clean.findings.is_empty() || is_left_out(&clean) {
        faults.push(format!("clean: {:#?} {:?}", clean.findings, clean.not_checked));
    }
    for (class, damage, wanted) in CASES {
        let mut editor = Editor::new(data);
        damage(&mut editor, scene);
        let report = checked(data);
        editor.undo();
        if !rules(&report).contains(wanted) {
            faults.push(format!("{class}: wanted {wanted}, found {:?}", rules(&report)));
        }
    }
    for (what, change) in HARMLESS {
        let mut editor = Editor::new(data);
        change(&mut editor, scene);
        let report = checked(data);
        editor.undo();
        // Positions of the future are another matter.
        let found: Vec<&str> = rules(&report).into_iter().filter(|rule| *rule != "pg-page-lsn").collect();
        if !found.is_empty() {
            faults.push(format!("{what}: {:#?}", report.findings));
        }
    }
    faults
}

#[test]
fn after_a_crash_a_file_is_missed_unless_the_log_took_it_away() {
    let Some(cluster) = with_clients() else { return };
    cluster.run_all(TABLES);
    cluster.start("-c wal_level=replica");
    cluster.sql(&["checkpoint"]);
    let scene = Scene::new(&cluster);
    cluster.sql(CHANGES);
    cluster.stop("immediate");
    let found = faults(&cluster.data(), &scene);
    // Without the end of the log nothing is known.
    let log = cluster.data().join("pg_wal");
    std::fs::rename(&log, cluster.data().join("away")).unwrap();
    std::fs::create_dir(&log).unwrap();
    let mut editor = Editor::new(&cluster.data());
    editor.remove(&scene.cold);
    let without = checked(&cluster.data());
    editor.undo();
    std::fs::remove_dir(&log).unwrap();
    std::fs::rename(cluster.data().join("away"), &log).unwrap();
    assert!(found.is_empty(), "{}", found.join("\n"));
    assert!(!rules(&without).contains(&"pg-file-missing") && is_left_out(&without), "{without:#?}");
    cluster.run_all("select count(*) from cold\n");
    let replayed = checked(&cluster.data());
    assert!(replayed.findings.is_empty(), "{:#?}", replayed.findings);
}

/// Takes a backup by hand: control file first, then the changes, then everything else, the log last.
fn back_up(cluster: &Cluster, to: &Path) -> bool {
    let data = cluster.data();
    let version = std::fs::read_to_string(data.join("PG_VERSION")).unwrap();
    if version.trim().parse::<u32>().unwrap() < 15 {
        return false;
    }
    let (from, to) = (data.to_str().unwrap(), to.to_str().unwrap());
    let first = format!("\\! mkdir {to} && cp -a {from}/global {to}/");
    let rest = format!(
        "\\! cd {from} && for part in *; do case $part in global|pg_wal|postmaster.*) ;; *) cp -a $part {to}/ ;; esac; done"
    );
    let label = format!("\\o {to}/backup_label");
    let log = format!("\\! cp -a {from}/pg_wal {to}/");
    let mut statements = vec!["select pg_backup_start('by hand', true)", first.as_str()];
    statements.extend(CHANGES);
    let stop = "select labelfile from pg_backup_stop(false)";
    statements.extend(["checkpoint", &rest, "\\t on", "\\pset format unaligned", &label, stop, "\\o", &log]);
    cluster.sql(&statements);
    true
}

#[test]
fn in_a_backup_a_file_is_missed_unless_the_log_took_it_away() {
    let Some(cluster) = with_clients() else { return };
    cluster.run_all(TABLES);
    cluster.start("-c wal_level=replica -c wal_keep_size=64MB");
    let scene = Scene::new(&cluster);
    let place = cluster.data().with_file_name("copy");
    let is_taken = back_up(&cluster, &place);
    cluster.stop("fast");
    if !is_taken {
        return skip(Capability::PostgresMajors, "no PostgreSQL 15 or later with psql");
    }
    let found = faults(&place, &scene);
    assert!(found.is_empty(), "{}", found.join("\n"));
    // The same in packed tar files, the log in one of its own.
    let mut editor = Editor::new(&place);
    editor.remove(&scene.cold);
    let packed = cluster.data().with_file_name("packed");
    std::fs::create_dir(&packed).unwrap();
    for (name, arguments) in
        [("base", vec!["--exclude=./pg_wal", "."]), ("pg_wal", vec!["-C", "pg_wal", "."])]
    {
        let tar =
            Command::new("tar").arg("-C").arg(&place).arg("-cf").arg("-").args(arguments).output().unwrap();
        assert!(tar.status.success(), "{}", String::from_utf8_lossy(&tar.stderr));
        let file = std::fs::File::create(packed.join(format!("{name}.tar.gz"))).unwrap();
        let mut gzip = flate2::write::GzEncoder::new(file, flate2::Compression::fast());
        gzip.write_all(&tar.stdout).unwrap();
        gzip.finish().unwrap();
    }
    let report = checked(&packed);
    assert!(rules(&report).contains(&"pg-file-missing"), "{:#?}", report.findings);
    // Without its log.
    std::fs::remove_file(packed.join("pg_wal.tar.gz")).unwrap();
    let report = checked(&packed);
    assert!(!rules(&report).contains(&"pg-file-missing") && is_left_out(&report), "{report:#?}");
}
