//! Classes of damage to files and directories of a cluster as a whole, and how they are made and undone.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::{Path, PathBuf};

use crate::scene::server::Cluster;

/// What a copy of the cluster is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Stopped,
    Running,
    Crashed,
    Backup,
    Archive,
}

pub(crate) const ALL: &[Kind] = &[Kind::Stopped, Kind::Running, Kind::Crashed, Kind::Backup, Kind::Archive];
pub(crate) const NOT_RUNNING: &[Kind] = &[Kind::Stopped, Kind::Crashed, Kind::Backup, Kind::Archive];
pub(crate) const NO_BACKUPS: &[Kind] = &[Kind::Stopped, Kind::Running, Kind::Crashed];
pub(crate) const BACKUPS: &[Kind] = &[Kind::Backup, Kind::Archive];
pub(crate) const WITH_LINKS: &[Kind] = &[Kind::Stopped, Kind::Running, Kind::Crashed, Kind::Backup];

/// Object ids that the cases need.
pub(crate) struct Scene {
    /// A database in the default tablespace.
    pub(crate) database: u32,
    /// A database in the other tablespace.
    pub(crate) moved: u32,
    pub(crate) space: u32,
    /// Its directory for this version.
    pub(crate) space_directory: String,
}

pub(crate) type Case = (&'static str, &'static [Kind], fn(&mut Damage, &Scene), &'static str);

pub(crate) const CASES: &[Case] = &[
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
pub(crate) fn of_document(cluster: &Cluster) -> Vec<crate::scene::peers::Case<'static>> {
    cluster.run_all("create database other template postgres\n");
    let output = cluster.run_all("select oid as p from pg_database where datname = 'other'\n");
    let database: u32 = output.split("p = \"").nth(1).unwrap().split('"').next().unwrap().parse().unwrap();
    let cases = CASES.iter().filter(|(class, ..)| DOCUMENTED.contains(class));
    let case = |(class, _, damage, _): &'static Case| -> crate::scene::peers::Case<'static> {
        let make = move |editor: &mut crate::scene::edit::Editor| {
            let scene = Scene { database, moved: 0, space: 0, space_directory: String::new() };
            damage(&mut Damage { root: editor.data().to_path_buf(), taken: Vec::new() }, &scene);
        };
        (class, Box::new(make))
    };
    cases.map(case).collect()
}

/// Damage to files of a data directory that is undone.
pub(crate) struct Damage {
    pub(crate) root: PathBuf,
    pub(crate) taken: Vec<(PathBuf, PathBuf)>,
}

impl Damage {
    /// Takes a file, link or directory away.
    pub(crate) fn take(&mut self, name: &str) {
        let (from, to) =
            (self.root.join(name), self.root.with_extension(format!("taken{}", self.taken.len())));
        fs::rename(&from, &to).unwrap();
        self.taken.push((from, to));
    }

    pub(crate) fn write(&mut self, name: &str, bytes: &[u8]) {
        self.take(name);
        fs::write(self.root.join(name), bytes).unwrap();
    }

    pub(crate) fn change(&mut self, name: &str, change: impl FnOnce(&mut Vec<u8>)) {
        let mut bytes = fs::read(self.root.join(name)).unwrap();
        change(&mut bytes);
        self.write(name, &bytes);
    }

    pub(crate) fn undo(self) {
        for (to, from) in self.taken.into_iter().rev() {
            let _ = fs::remove_file(&to);
            let _ = fs::remove_dir(&to);
            fs::rename(from, to).unwrap();
        }
    }
}

/// Names of WAL segments.
pub(crate) fn segments(data: &Path) -> Vec<String> {
    let files = fs::read_dir(data.join("pg_wal")).unwrap().flatten().filter(|entry| entry.path().is_file());
    let mut names: Vec<String> =
        files.map(|entry| format!("pg_wal/{}", entry.file_name().to_string_lossy())).collect();
    names.sort();
    names
}

/// Name of the file, and offset, of the checkpoint record from which recovery starts.
pub(crate) fn checkpoint(data: &Path) -> (String, usize) {
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
