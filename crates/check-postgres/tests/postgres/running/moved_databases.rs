//! Databases that are made, moved and dropped while a base backup is taken: replay makes or removes their directories, so
//! what a backup lacks in them is no damage.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::{Path, PathBuf};

use check::options::Options;
use check::progress::Silent;
use check_postgres::check_cluster;
use results::check::CheckReport;

use crate::running::live::with_clients;
use crate::scene::edit::Editor;
use crate::scene::server::Cluster;

fn checked(path: &Path) -> CheckReport {
    check_cluster(path, &Options { worker_count: 2, ..Options::default() }, &mut Silent).unwrap()
}

fn rules(report: &CheckReport) -> Vec<&str> {
    report.rule_counts.iter().map(|count| count.rule.as_str()).collect()
}

fn answer(cluster: &Cluster, query: &str) -> String {
    let mut client = cluster.client("psql", &["-d", "postgres", "-Atc", query]);
    let output = client.stdout(std::process::Stdio::piped()).output().unwrap();
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

/// Writes the manifest of a backup that ended at a position: all files of some directories, without those that are left out.
fn write_manifest(data: &Path, wal: (&str, &str), directories: &[&Path], without: &[PathBuf]) {
    let mut files = Vec::new();
    for directory in directories {
        for entry in fs::read_dir(data.join(directory)).unwrap().map(Result::unwrap) {
            let path = directory.join(entry.file_name());
            if !without.contains(&path) {
                let bytes = entry.metadata().unwrap().len();
                files.push(format!("{{ \"Path\": \"{}\", \"Size\": {bytes} }}", path.display()));
            }
        }
    }
    let text = format!(
        "{{ \"PostgreSQL-Backup-Manifest-Version\": 1,\n\"Files\": [\n{}\n],\n\"WAL-Ranges\": [\n{{ \"Timeline\": 1, \"Start-LSN\": \"{}\", \"End-LSN\": \"{}\" }}\n],\n\"Manifest-Checksum\": \"00\"}}\n",
        files.join(",\n"),
        wal.0,
        wal.1
    );
    fs::write(data.join("backup_manifest"), text).unwrap();
}

#[test]
fn what_a_backup_lacks_of_a_database_that_was_moved_meanwhile_is_no_damage() {
    let Some(cluster) = with_clients() else { return };
    let beside = cluster.data().with_file_name("beside");
    assert!(cluster.command("/bin/mkdir").arg(&beside).status().unwrap().success());
    cluster.start("-c wal_level=replica");
    let space = format!("create tablespace beside location '{}'", beside.display());
    cluster.sql(&[
        &space,
        "create database stays template postgres",
        "create database moves template postgres",
    ]);
    cluster.sql(&["checkpoint"]);
    let oid = |name: &str| answer(&cluster, &format!("select oid from pg_database where datname = '{name}'"));
    let [stays, moves] = ["stays", "moves"].map(|name| PathBuf::from("base").join(oid(name)));
    // The row is the one before the move, the files are those after it.
    let data = cluster.data();
    let aside = data.with_file_name("aside");
    fs::create_dir(&aside).unwrap();
    let copy = |from: PathBuf, to: PathBuf| {
        let status = cluster_copy(&from, &to);
        assert!(status, "{}", from.display());
    };
    copy(data.join("global"), aside.join("global"));
    copy(data.join(&moves), aside.join("moves"));
    let start = answer(&cluster, "select redo_lsn from pg_control_checkpoint()");
    let file = answer(&cluster, "select pg_walfile_name(redo_lsn) from pg_control_checkpoint()");
    let checkpoint = answer(&cluster, "select checkpoint_lsn from pg_control_checkpoint()");
    cluster.sql(&["alter database moves set tablespace beside"]);
    let end = answer(&cluster, "select pg_current_wal_insert_lsn()");
    // The commit writes all WAL before it: a server that is stopped at once writes no more.
    cluster.sql(&["create table written ()"]);
    cluster.stop("immediate");
    fs::remove_dir_all(data.join("global")).unwrap();
    copy(aside.join("global"), data.join("global"));
    copy(aside.join("moves"), data.join(&moves));
    let label = format!(
        "START WAL LOCATION: {start} (file {file})\nCHECKPOINT LOCATION: {checkpoint}\nBACKUP METHOD: streamed\nBACKUP FROM: primary\nSTART TIME: 2026-01-01 00:00:00 UTC\nLABEL: by hand\nSTART TIMELINE: 1\n"
    );
    fs::write(data.join("backup_label"), label).unwrap();
    let _ = fs::remove_file(data.join("postmaster.pid"));
    for part in ["PG_VERSION", "pg_filenode.map", "1259"] {
        let mut editor = Editor::new(&data);
        editor.remove(&moves.join(part));
        write_manifest(&data, (&start, &end), &[&stays, &moves], &[]);
        let report = checked(&data);
        editor.undo();
        assert!(report.findings.is_empty(), "{part}: {:#?}", report.findings);
    }
    // One that was not moved must have what the manifest names, and what it does not name as well.
    for without in [vec![], vec![stays.join("PG_VERSION")]] {
        let mut editor = Editor::new(&data);
        write_manifest(&data, (&start, &end), &[&stays, &moves], &without);
        editor.remove(&stays.join("PG_VERSION"));
        let report = checked(&data);
        editor.undo();
        assert_eq!(rules(&report), ["pg-version-file"], "{:#?}", report.findings);
    }
}

fn cluster_copy(from: &Path, to: &Path) -> bool {
    std::process::Command::new("cp").arg("-a").arg(from).arg(to).status().unwrap().success()
}
