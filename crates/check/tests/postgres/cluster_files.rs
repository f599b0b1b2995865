//! Files and directories of the cluster as a whole, damaged in every kind of target: found in each, and silent before.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use check::options::Options;
use check::postgres::check_cluster;
use check::progress::Silent;
use results::check::{CheckLevel, CheckReport};

use crate::server::{Cluster, servers};

/// What a copy of the cluster is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Stopped,
    Running,
    Crashed,
    Backup,
    Archive,
}

const ALL: &[Kind] = &[Kind::Stopped, Kind::Running, Kind::Crashed, Kind::Backup, Kind::Archive];
const NOT_RUNNING: &[Kind] = &[Kind::Stopped, Kind::Crashed, Kind::Backup, Kind::Archive];
const NO_BACKUPS: &[Kind] = &[Kind::Stopped, Kind::Running, Kind::Crashed];
const BACKUPS: &[Kind] = &[Kind::Backup, Kind::Archive];
const WITH_LINKS: &[Kind] = &[Kind::Stopped, Kind::Running, Kind::Crashed, Kind::Backup];

/// Object ids that the cases need.
struct Scene {
    /// A database in the default tablespace.
    database: u32,
    /// A database in the other tablespace.
    moved: u32,
    space: u32,
    /// Its directory for this version.
    space_directory: String,
}

type Case = (&'static str, &'static [Kind], fn(&mut Damage, &Scene), &'static str);

const CASES: &[Case] = &[
    (
        "directory of a database missing",
        ALL,
        |data, scene| data.take(&format!("base/{}", scene.database)),
        "pg-database-directory",
    ),
    ("all databases missing", ALL, |data, _| data.take("base"), "pg-database-directory"),
    (
        "directory of a database in a tablespace missing",
        ALL,
        |data, scene| data.take(&format!("{}/{}", scene.space_directory, scene.moved)),
        "pg-database-directory",
    ),
    (
        "PG_VERSION of a database missing",
        ALL,
        |data, scene| data.take(&format!("base/{}/PG_VERSION", scene.database)),
        "pg-version-file",
    ),
    (
        "PG_VERSION of a database wrong",
        NOT_RUNNING,
        |data, scene| data.write(&format!("base/{}/PG_VERSION", scene.database), b"12\n"),
        "pg-version-file",
    ),
    ("PG_VERSION missing", ALL, |data, _| data.take("PG_VERSION"), "pg-version-file"),
    ("PG_VERSION wrong", ALL, |data, _| data.write("PG_VERSION", b"13\n"), "pg-version-file"),
    ("PG_VERSION empty", NOT_RUNNING, |data, _| data.write("PG_VERSION", b""), "pg-version-file"),
    (
        "link of a tablespace missing",
        WITH_LINKS,
        |data, scene| data.take(&format!("pg_tblspc/{}", scene.space)),
        "pg-tablespace",
    ),
    (
        "link of a tablespace leads nowhere",
        WITH_LINKS,
        |data, scene| {
            let link = format!("pg_tblspc/{}", scene.space);
            data.take(&link);
            std::os::unix::fs::symlink("/nowhere/space", data.root.join(link)).unwrap();
        },
        "pg-tablespace",
    ),
    ("WAL missing", NO_BACKUPS, |data, _| segments(&data.root).iter().for_each(|file| data.take(file)), ""),
    (
        "pg_wal emptied with all its directories",
        ALL,
        |data, _| {
            data.take("pg_wal");
            fs::create_dir(data.root.join("pg_wal")).unwrap();
        },
        "",
    ),
    (
        "checkpoint record overwritten",
        ALL,
        |data, _| {
            let (file, at) = checkpoint(&data.root);
            data.change(&file, |bytes| bytes[at + 40] ^= 1);
        },
        "pg-checkpoint-record",
    ),
    (
        "page of the checkpoint record zeroed",
        NOT_RUNNING,
        |data, _| {
            let (file, at) = checkpoint(&data.root);
            data.change(&file, |bytes| bytes[at / 8192 * 8192..at / 8192 * 8192 + 8192].fill(0));
        },
        "pg-checkpoint-record",
    ),
    (
        "header of the first page of the checkpoint's segment zeroed",
        ALL,
        |data, _| {
            let (file, _) = checkpoint(&data.root);
            data.change(&file, |bytes| bytes[..40].fill(0));
        },
        "pg-checkpoint-record",
    ),
    (
        "system identifier in the first page of the checkpoint's segment changed",
        ALL,
        |data, _| {
            let (file, _) = checkpoint(&data.root);
            data.change(&file, |bytes| bytes[24] ^= 1);
        },
        "pg-checkpoint-record",
    ),
    (
        "segment of the checkpoint of another length",
        NOT_RUNNING,
        |data, _| {
            let (file, _) = checkpoint(&data.root);
            data.change(&file, |bytes| bytes[35] ^= 1);
        },
        "pg-checkpoint-record",
    ),
    (
        "relation map of a database in a tablespace missing",
        ALL,
        |data, scene| {
            data.take(&format!("{}/{}/pg_filenode.map", scene.space_directory, scene.moved));
        },
        "pg-relation-map",
    ),
    (
        "backup_label, backup_manifest and tablespace_map missing",
        BACKUPS,
        |data, _| {
            let names = ["backup_label", "backup_manifest", "tablespace_map"];
            let is_there = |name: &&str| data.root.join(name).exists();
            let names: Vec<&str> = names.into_iter().filter(is_there).collect();
            names.into_iter().for_each(|name| data.take(name));
        },
        "pg-backup-label",
    ),
    ("backup_label missing", BACKUPS, |data, _| data.take("backup_label"), "pg-backup-label"),
    ("backup_label damaged", BACKUPS, |data, _| data.write("backup_label", b"LABEL: x\n"), "pg-backup-label"),
    (
        "record between the start and the end of a backup overwritten",
        BACKUPS,
        |data, _| {
            let (file, at) = checkpoint(&data.root);
            // The record behind the one of the checkpoint, which has 114 bytes.
            data.change(&file, |bytes| bytes[at + 120 + 20] ^= 1);
        },
        "pg-recovery-wal",
    ),
    ("pg_notify missing", ALL, |data, _| data.take("pg_notify"), "pg-directory-missing"),
    ("pg_replslot missing", NOT_RUNNING, |data, _| data.take("pg_replslot"), "pg-directory-missing"),
];

/// Classes of the document: those that need no tablespace and no backup.
pub(crate) const DOCUMENTED: &[&str] = &[
    "directory of a database missing",
    "PG_VERSION of a database missing",
    "PG_VERSION missing",
    "PG_VERSION wrong",
    "WAL missing",
    "checkpoint record overwritten",
    "page of the checkpoint record zeroed",
    "header of the first page of the checkpoint's segment zeroed",
    "system identifier in the first page of the checkpoint's segment changed",
    "pg_notify missing",
];

/// The documented classes in a cluster with the database `other`.
pub(crate) fn of_document(cluster: &Cluster) -> Vec<crate::peers::Case<'static>> {
    cluster.run_all("create database other template postgres\n");
    let output = cluster.run_all("select oid as p from pg_database where datname = 'other'\n");
    let database: u32 = output.split("p = \"").nth(1).unwrap().split('"').next().unwrap().parse().unwrap();
    let cases = CASES.iter().filter(|(class, ..)| DOCUMENTED.contains(class));
    let case = |(class, _, damage, _): &'static Case| -> crate::peers::Case<'static> {
        let make = move |editor: &mut crate::edit::Editor| {
            let scene = Scene { database, moved: 0, space: 0, space_directory: String::new() };
            damage(&mut Damage { root: editor.data().to_path_buf(), taken: Vec::new() }, &scene);
        };
        (class, Box::new(make))
    };
    cases.map(case).collect()
}

/// Damage to files of a data directory that is undone.
struct Damage {
    root: PathBuf,
    taken: Vec<(PathBuf, PathBuf)>,
}

impl Damage {
    /// Takes a file, link or directory away.
    fn take(&mut self, name: &str) {
        let (from, to) =
            (self.root.join(name), self.root.with_extension(format!("taken{}", self.taken.len())));
        fs::rename(&from, &to).unwrap();
        self.taken.push((from, to));
    }

    fn write(&mut self, name: &str, bytes: &[u8]) {
        self.take(name);
        fs::write(self.root.join(name), bytes).unwrap();
    }

    fn change(&mut self, name: &str, change: impl FnOnce(&mut Vec<u8>)) {
        let mut bytes = fs::read(self.root.join(name)).unwrap();
        change(&mut bytes);
        self.write(name, &bytes);
    }

    fn undo(self) {
        for (to, from) in self.taken.into_iter().rev() {
            let _ = fs::remove_file(&to);
            let _ = fs::remove_dir(&to);
            fs::rename(from, to).unwrap();
        }
    }
}

/// Names of WAL segments.
fn segments(data: &Path) -> Vec<String> {
    let files = fs::read_dir(data.join("pg_wal")).unwrap().flatten().filter(|entry| entry.path().is_file());
    let mut names: Vec<String> =
        files.map(|entry| format!("pg_wal/{}", entry.file_name().to_string_lossy())).collect();
    names.sort();
    names
}

/// Name of the file, and offset, of the checkpoint record from which recovery starts.
fn checkpoint(data: &Path) -> (String, usize) {
    let lsn = match fs::read_to_string(data.join("backup_label")) {
        Ok(label) => {
            let line = label.lines().find(|line| line.starts_with("CHECKPOINT LOCATION: ")).unwrap();
            let (high, low) = line.rsplit(' ').next().unwrap().split_once('/').unwrap();
            (u64::from_str_radix(high, 16).unwrap() << 32) | u64::from_str_radix(low, 16).unwrap()
        }
        Err(_) => {
            let control = fs::read(data.join("global/pg_control")).unwrap();
            u64::from_le_bytes(control[32..40].try_into().unwrap())
        }
    };
    let name = format!("pg_wal/{:08X}{:08X}{:08X}", 1, lsn >> 32, (lsn & 0xFFFF_FFFF) >> 24);
    (name, (lsn & 0xFF_FFFF) as usize)
}

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
        let report = run(Some(|data, _| segments(&data.root).iter().for_each(|file| data.take(file))));
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
        return;
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
            faults.extend(faults_of(Kind::Running, &data, &scene, major));
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
