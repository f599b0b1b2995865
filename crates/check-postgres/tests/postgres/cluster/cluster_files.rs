//! Files and directories of the cluster as a whole, damaged in every kind of target: found in each, and silent before.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::Path;
use std::process::Command;

use check::options::Options;
use check::progress::Silent;
use check_postgres::check_cluster;
use results::check::{CheckLevel, CheckReport};
use skips::{Capability, skip};

use crate::cluster::cluster_damage::{BACKUPS, CASES, Damage, Kind, Scene, checkpoint, segments};
use crate::scene::server::{Cluster, servers};

fn checked(path: &Path) -> CheckReport {
    check_cluster(
        path,
        &Options { level: CheckLevel::Page, worker_count: 2, ..Options::default() },
        &mut Silent,
    )
    .unwrap()
}

fn rules(report: &CheckReport) -> Vec<&str> {
    report.rule_counts.iter().map(|count| count.rule.as_str()).collect()
}

/// A program that speaks to servers of all majors up to its own.
fn program(name: &str) -> String {
    let found = servers().into_iter().rev().find(|(_, bin)| bin.join(name).exists());
    found.map(|(_, bin)| bin.join(name).to_string_lossy().into_owned()).unwrap_or_default()
}

fn sql(cluster: &Cluster, statements: &[&str]) -> String {
    let arguments = statements.iter().flat_map(|statement| ["-c", statement]);
    let all: Vec<&str> =
        ["-d", "postgres", "-v", "ON_ERROR_STOP=1", "-qAt"].into_iter().chain(arguments).collect();
    let output =
        cluster.client(&program("psql"), &all).stdout(std::process::Stdio::piped()).output().unwrap();
    assert!(output.status.success(), "{statements:?}");
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

/// A cluster with a second database, a tablespace with a database and a table in it.
fn made(bin: &Path) -> (Cluster, Scene) {
    let cluster = Cluster::new(bin, if bin.to_string_lossy().contains("/18") { &[] } else { &["-k"] });
    let space = cluster.data().with_file_name("space");
    assert!(cluster.command("/bin/mkdir").arg(&space).status().unwrap().success());
    cluster.start("-c wal_level=replica");
    let tablespace = format!("create tablespace beside location '{}'", space.display());
    sql(
        &cluster,
        &[
            &tablespace,
            "create database template1 template postgres",
            "create database other",
            "create database moved tablespace beside",
            "create table t(id int primary key, v text)",
            "insert into t select i, repeat('v', i % 90) from generate_series(1, 3000) i",
            "create table s(id int primary key) tablespace beside",
            "insert into s select generate_series(1, 1000)",
            "\\c moved",
            "create table here(id int primary key) tablespace pg_default",
            "insert into here select generate_series(1, 1000)",
            "\\c postgres",
            "checkpoint",
        ],
    );
    let oid = |query: &str| -> u32 { sql(&cluster, &[query]).parse().unwrap() };
    let space = oid("select oid from pg_tablespace where spcname = 'beside'");
    let version =
        fs::read_dir(cluster.data().join(format!("pg_tblspc/{space}"))).unwrap().flatten().next().unwrap();
    let scene = Scene {
        database: oid("select oid from pg_database where datname = 'other'"),
        moved: oid("select oid from pg_database where datname = 'moved'"),
        space,
        space_directory: format!("pg_tblspc/{space}/{}", version.file_name().to_string_lossy()),
    };
    (cluster, scene)
}

/// Packs a backup as pg_basebackup does: each tablespace in a file of its own.
fn packed(backup: &Path, to: &Path, scene: &Scene) {
    fs::create_dir(to).unwrap();
    let run = |command: &mut Command| assert!(command.status().unwrap().success());
    let space = format!("pg_tblspc/{}", scene.space);
    run(Command::new("tar")
        .arg("-cf")
        .arg(to.join("base.tar"))
        .arg(format!("--exclude=./{space}"))
        .arg("-C")
        .arg(backup)
        .arg("."));
    run(Command::new("tar")
        .arg("-cf")
        .arg(to.join(format!("{}.tar", scene.space)))
        .arg("-C")
        .arg(backup.join(&space))
        .arg("."));
}

/// Names of the marks of archived segments.
fn marks(data: &Path) -> Vec<String> {
    let files = fs::read_dir(data.join("pg_wal/archive_status")).unwrap().flatten();
    files.map(|file| format!("pg_wal/archive_status/{}", file.file_name().to_string_lossy())).collect()
}

fn faults_of(kind: Kind, source: &Path, scene: &Scene, major: u32) -> Vec<String> {
    let mut faults = Vec::new();
    let run = |damage: Option<fn(&mut Damage, &Scene)>| {
        let mut data = Damage { root: source.to_path_buf(), taken: Vec::new() };
        damage.iter().for_each(|damage| damage(&mut data, scene));
        let report = if kind == Kind::Archive {
            let to = source.with_extension("tar");
            packed(source, &to, scene);
            let report = checked(&to);
            fs::remove_dir_all(to).unwrap();
            report
        } else {
            checked(source)
        };
        data.undo();
        report
    };
    let clean = run(None);
    let gap = clean.not_checked.iter().find(|gap| gap.what == "WAL that recovery needs");
    if clean.exit_code() != 0 || gap.is_some_and(|gap| !gap.why.contains("without backup_manifest")) {
        faults.push(format!("PostgreSQL {major}, {kind:?}, clean: {:#?} {gap:?}", clean.findings));
    }
    if kind == Kind::Crashed {
        let report = run(Some(|data, _| data.take("postmaster.opts")));
        if !report.findings.is_empty() {
            faults.push(format!("PostgreSQL {major}, without postmaster.opts: {:#?}", report.findings));
        }
    }
    if BACKUPS.contains(&kind) {
        // As `-X none` leaves it: marks of segments that the stream had completed would show that they were there.
        let report = run(Some(|data, _| {
            segments(&data.root).iter().chain(&marks(&data.root)).for_each(|file| data.take(file));
        }));
        let gap = report.not_checked.iter().find(|gap| gap.what == "WAL that recovery needs");
        let wanted = format!("({})", checkpoint(source).0);
        if !report.findings.is_empty() || !gap.is_some_and(|gap| gap.why.contains(&wanted)) {
            faults.push(format!("PostgreSQL {major}, {kind:?}, without WAL: {gap:?} {:#?}", report.findings));
        }
    }
    for (class, _, damage, wanted) in CASES.iter().filter(|(_, kinds, ..)| kinds.contains(&kind)) {
        let report = run(Some(*damage));
        let wal = ["pg-checkpoint-record", "pg-recovery-wal"];
        let is_wanted = |rule: &&str| if wanted.is_empty() { wal.contains(rule) } else { rule == wanted };
        if !rules(&report).iter().any(is_wanted) || report.exit_code() != 1 || report.findings.len() > 4 {
            let found = report.findings.iter();
            let found: Vec<_> =
                found.map(|f| format!("{} {}: {}; {}", f.rule, f.file, f.expected, f.found)).collect();
            let gaps = &report.not_checked;
            faults.push(format!(
                "PostgreSQL {major}, {kind:?}, {class}: wanted {wanted}, found {found:#?} {gaps:?}"
            ));
        }
    }
    faults
}

#[test]
fn what_the_cluster_needs_is_missed_in_every_kind_of_target() {
    let (psql, pg_basebackup) = (program("psql"), program("pg_basebackup"));
    if psql.is_empty() {
        return skip(Capability::PostgresTools, "no PostgreSQL package with psql");
    }
    let newest = servers().last().map_or(0, |(major, _)| *major);
    let of_major = |major: u32, bin: &Path| {
        let (cluster, scene) = made(bin);
        let backup = cluster.data().with_file_name("backup");
        let space = cluster.data().with_file_name("space");
        let mapping = format!("-T{}={}.space", space.display(), backup.display());
        let arguments = ["-D", backup.to_str().unwrap(), "-c", "fast", &mapping];
        // It refuses servers of a later major.
        let has_backup = !pg_basebackup.is_empty()
            && cluster.client(&pg_basebackup, &arguments).status().unwrap().success();
        sql(&cluster, &["checkpoint", "insert into t select i, 'later' from generate_series(4000, 4100) i"]);
        cluster.stop("immediate");
        let data = cluster.data();
        let mut faults = Vec::new();
        if major == newest || has_backup {
            faults.extend(faults_of(Kind::Crashed, &data, &scene, major));
        }
        cluster.start("");
        if major == newest {
            faults.extend(cluster.paused(|| faults_of(Kind::Running, &data, &scene, major)));
        }
        cluster.stop("fast");
        faults.extend(faults_of(Kind::Stopped, &data, &scene, major));
        for kind in [Kind::Backup, Kind::Archive].into_iter().filter(|_| has_backup) {
            faults.extend(faults_of(kind, &backup, &scene, major));
        }
        faults
    };
    let of_major = &of_major;
    let faults: Vec<String> = std::thread::scope(|scope| {
        let workers = servers().into_iter().map(|(major, bin)| scope.spawn(move || of_major(major, &bin)));
        let workers: Vec<_> = workers.collect();
        workers.into_iter().flat_map(|worker| worker.join().unwrap()).collect()
    });
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn a_segment_of_a_terabyte_is_a_finding_and_is_not_read_beyond_its_full_length() {
    let Some((_, bin)) = servers().into_iter().next_back() else { return };
    let cluster = Cluster::new(&bin, &[]);
    cluster.run_all("create table t(id int primary key)\ninsert into t select generate_series(1, 1000)\n");
    let path = cluster.data().join(cluster.path_of("t"));
    std::fs::File::options().write(true).open(&path).unwrap().set_len(1 << 40).unwrap();
    let report = crate::scene::clean::check(&cluster, CheckLevel::Page, 2);
    let found: Vec<_> =
        report.findings.iter().map(|found| (found.rule.as_str(), found.found.as_str())).collect();
    let text = "1099511627776 bytes; what follows the first 1073741824 was not read";
    assert_eq!(found, [("pg-segment-missing", text)]);
    assert!(report.accounting.page_count < (2 << 30) / 8192, "{:?}", report.accounting);
}
