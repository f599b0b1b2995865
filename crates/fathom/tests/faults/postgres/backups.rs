//! Faults in backups: a directory with a label, and tar files, plain and compressed.

use std::path::{Path, PathBuf};
use std::process::Command;

use skips::{Capability, skip};

use super::{AFTER, Kinds, cluster_of, paths_of};
use crate::cells::{Database, Kind, Seen};
use crate::matrix::run;
use crate::server::{Cluster, servers};

/// Compressors by the ending of their files.
const COMPRESSORS: [(&str, &str); 3] = [("gz", "gzip"), ("zst", "zstd"), ("lz4", "lz4")];

/// A cluster that has run, of a major with these tools; and its backups, made by `pg_basebackup`.
fn backups(formats: &[(&str, &str)]) -> Option<(Cluster, tempfile::TempDir)> {
    let servers = servers();
    let has_tool = |bin: &Path| bin.join("pg_basebackup").exists() && bin.join("pg_ctl").exists();
    let Some((major, bin)) = servers.iter().rev().find(|(_, bin)| has_tool(bin)) else {
        skip(Capability::PostgresTools, "faults in backups: no major has pg_basebackup");
        return None;
    };
    let cluster = cluster_of(*major, bin);
    cluster.run_all(AFTER);
    let place = tempfile::Builder::new().prefix("fathom-faults-").tempdir_in("/tmp").unwrap();
    cluster.start("-c wal_level=replica -c max_wal_senders=4");
    for (name, format) in formats {
        let to = cluster.data().with_file_name(name);
        let arguments = ["-D", to.to_str().unwrap(), "-F", format, "-X", "fetch", "-c", "fast", "--no-sync"];
        assert!(cluster.client("pg_basebackup", &arguments).status().unwrap().success());
        let status = Command::new("cp").arg("-a").arg(&to).arg(place.path()).status().unwrap();
        assert!(status.success());
    }
    cluster.stop("fast");
    Some((cluster, place))
}

#[test]
fn a_backup_in_a_directory_is_judged_by_what_can_be_read_twice() {
    let Some((cluster, place)) = backups(&[("plain", "p")]) else { return };
    let directory = place.path().join("plain");
    let mut kinds = Kinds { below: Path::new(""), paths: paths_of(&cluster), kinds: Vec::new() };
    kinds.all_blocks();
    let wal = std::fs::read_dir(directory.join("pg_wal")).unwrap().flatten().map(|entry| entry.file_name());
    let wal = wal.filter(|name| name.len() == 24).min().unwrap();
    kinds.all_plain(&PathBuf::from("pg_wal").join(wal));
    kinds.plain("backup_label", "backup_label", 64);
    kinds.plain("backup_manifest", "backup_manifest", 8192);
    // Unlogged tables are not in a backup, except for their init forks. A manifest has a checksum of each file.
    for kind in &mut kinds.kinds {
        kind.kin.push("manifest".to_owned());
        kind.stale = Seen::Either;
    }
    let database = Database {
        engine: "postgres backup",
        directory,
        older: None,
        targets: Vec::new(),
        kinds: kinds.kinds,
        clean_code: 0,
        stride: 8,
    };
    run(&database);
}

#[test]
fn a_backup_in_tar_files_is_judged_by_what_can_be_read_twice() {
    let Some((_cluster, place)) = backups(&[("tar", "t")]) else { return };
    let tar = place.path().join("tar");
    tar_file("postgres tar", &tar, "base.tar");
    for (ending, program) in COMPRESSORS {
        let directory = place.path().join(ending);
        std::fs::create_dir(&directory).unwrap();
        let name = format!("base.tar.{ending}");
        let output = std::fs::File::create(directory.join(&name)).unwrap();
        let made = Command::new(program).arg("-c").arg(tar.join("base.tar")).stdout(output).status();
        if !made.is_ok_and(|status| status.success()) {
            let reason = format!("faults in {name}: the program {program} is not installed");
            skip(Capability::Compressors, reason);
            continue;
        }
        let engine = ["postgres tar.gz", "postgres tar.zst", "postgres tar.lz4"]
            .into_iter()
            .find(|engine| engine.ends_with(ending));
        tar_file(engine.unwrap(), &directory, &name);
    }
}

fn tar_file(engine: &'static str, directory: &Path, name: &str) {
    let kin = vec!["*".to_owned()];
    let archive = Kind { kin: kin.clone(), byte: 5, ..Kind::new("archive", name, 512) };
    // A block of a table is somewhere in it.
    let blocks = Kind { kin, byte: 700, ..Kind::new("archive in blocks", name, 65_536) };
    let mut kinds = vec![archive, blocks];
    if directory.join("backup_manifest").exists() {
        kinds.push(Kind { kin: vec!["*".to_owned()], ..Kind::new("manifest", "backup_manifest", 8192) });
    }
    let database = Database {
        engine,
        directory: directory.to_path_buf(),
        older: None,
        targets: vec![name.into()],
        kinds,
        clean_code: 0,
        stride: 3,
    };
    run(&database);
}
