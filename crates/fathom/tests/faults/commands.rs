//! Faults under the commands that show pages: no numbers of what was not read.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use skips::{Capability, skip};

use crate::cells::{EACCES, EINTR, EIO, ENOMEM};
use crate::fault::{Fault, Planned};
use crate::mount::Mount;
use crate::server::{Cluster, servers};

/// A file whose reads fail, and what is asked of it, below the mounted directory.
struct Asked<'a> {
    directory: &'a Path,
    path: PathBuf,
    /// Words of the command; `FILE` and `TARGET` are the file and the database.
    words: &'a [&'a str],
    target: &'a str,
}

fn fathom(words: &[String]) -> Output {
    Command::new("timeout")
        .args(["-s", "KILL", "600", env!("CARGO_BIN_EXE_fathom")])
        .args(words)
        .stdin(Stdio::null())
        .output()
        .unwrap()
}

impl Asked<'_> {
    /// Every error ends with exit status 2 and names the file, once in the first page and once in the last.
    fn run(&self) {
        let Ok(mount) = Mount::new(self.directory, vec![self.path.clone()]) else {
            return skip(Capability::Fuse, format!("{:?} with faults: FUSE cannot be mounted", self.words));
        };
        let length = std::fs::metadata(self.directory.join(&self.path)).unwrap().len();
        let file = mount.path().join(&self.path);
        let words: Vec<String> = self
            .words
            .iter()
            .map(|word| word.replace("FILE", file.to_str().unwrap()))
            .map(|word| word.replace("TARGET", mount.path().join(self.target).to_str().unwrap()))
            .collect();
        let clean = fathom(&words);
        assert_eq!(clean.status.code(), Some(0), "{words:?}: {}", String::from_utf8_lossy(&clean.stderr));
        for errno in [EIO, ENOMEM, EINTR] {
            self.fails(&mount, &words, Fault::ReadError { errno, times: u64::MAX }, 0..length);
        }
        self.fails(&mount, &words, Fault::OpenError { errno: EACCES, from: 0 }, 0..length);
    }

    fn fails(&self, mount: &Mount, words: &[String], fault: Fault, range: std::ops::Range<u64>) {
        mount.plan(Some(Planned { path: self.path.clone(), range, byte: 0, fault: fault.clone() }));
        let output = fathom(words);
        let (said, error) =
            (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        let name = self.path.file_name().unwrap().to_str().unwrap();
        let context = format!("{words:?} with {}: {said}{error}", fault.name());
        assert_eq!(output.status.code(), Some(2), "{context}");
        assert!(error.contains(name), "{context}");
        assert!(said.is_empty(), "{context}");
        mount.plan(None);
    }
}

#[test]
fn structure_and_decode_show_nothing_of_a_sqlite_file_that_cannot_be_read() {
    let place = tempfile::tempdir().unwrap();
    let connection = rusqlite::Connection::open(place.path().join("a.db")).unwrap();
    connection
        .execute_batch(
            "CREATE TABLE t(x); WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 900)
             INSERT INTO t SELECT i FROM n;",
        )
        .unwrap();
    connection.close().unwrap();
    for words in [&["structure", "--no-store", "FILE"][..], &["decode", "FILE:2"]] {
        Asked { directory: place.path(), path: "a.db".into(), words, target: "a.db" }.run();
    }
}

#[test]
fn structure_and_decode_show_nothing_of_a_cluster_that_cannot_be_read() {
    let Some((_, bin)) = servers().pop() else { return };
    let cluster = Cluster::new(&bin, &[]);
    cluster.run_all("create table t(id int primary key)\ninsert into t select generate_series(1, 5000)\n");
    let heap = cluster.path_of("t");
    let data = cluster.data();
    for (path, words) in [
        (heap.clone(), &["structure", "--no-store", "TARGET"][..]),
        (heap.clone(), &["structure", "--no-store", "FILE"]),
        (cluster.path_of("pg_class"), &["structure", "--no-store", "TARGET"]),
        (cluster.path_of("t_pkey"), &["structure", "--no-store", "--table", "t", "TARGET"]),
        (heap, &["decode", "FILE:1"]),
    ] {
        Asked { directory: &data, path, words, target: "" }.run();
    }
}

#[test]
fn structure_and_decode_show_nothing_of_a_sql_server_file_that_cannot_be_read() {
    let Some(path) = crate::sqlserver::file("pubs-2008-checksum.mdf") else { return };
    let place = tempfile::tempdir().unwrap();
    std::fs::copy(path, place.path().join("a.mdf")).unwrap();
    for words in [
        &["structure", "--no-store", "FILE"][..],
        &["structure", "--no-store", "--mode", "limited", "FILE"],
        &["decode", "FILE:20"],
    ] {
        Asked { directory: place.path(), path: "a.mdf".into(), words, target: "a.mdf" }.run();
    }
}
