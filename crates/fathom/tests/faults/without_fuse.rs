//! Faults that need no file system of our own: limits, permissions, and files that are cut, replaced or removed.

use std::os::unix::fs::{PermissionsExt as _, chown};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::answer::{Answer, answer};
use crate::server::{Cluster, servers};

/// Times that a file is changed until its change falls into the time in which its pages are read.
const TRIES_MAX: u32 = 3;
/// What a look at a file that finds out what it is takes at most, on a busy machine.
const LOOK_TIME_MAX: std::time::Duration = std::time::Duration::from_millis(100);

/// User and group without rights: those of `nobody`.
const UNPRIVILEGED: u32 = 65_534;

const CHECK: [&str; 5] = ["check", "--json", "--no-store", "-j", "2"];

/// A database of each engine, in a directory that everybody may read.
struct Scene {
    _place: tempfile::TempDir,
    engine: &'static str,
    target: PathBuf,
    /// Files and directories, one of each kind.
    parts: Vec<PathBuf>,
}

fn place() -> tempfile::TempDir {
    let place = tempfile::Builder::new().prefix("fathom-faults-").tempdir_in("/tmp").unwrap();
    std::fs::set_permissions(place.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
    place
}

/// Rows of tables where only what stands around them is damaged.
const FEW_ROWS: u32 = 20_000;
/// Rows of tables that a slow check reads for seconds.
const MANY_ROWS: u32 = 120_000;

fn scenes(row_count: u32) -> Vec<Scene> {
    let mut scenes = Vec::new();
    let sqlite = place();
    let target = sqlite.path().join("a.db");
    let connection = rusqlite::Connection::open(&target).unwrap();
    connection
        .execute_batch(&format!(
            "CREATE TABLE t(x, y); CREATE INDEX t_x ON t(x);
             WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {row_count})
             INSERT INTO t SELECT i, 'padding padding padding padding ' || i FROM n;"
        ))
        .unwrap();
    connection.close().unwrap();
    scenes.push(Scene { _place: sqlite, engine: "sqlite", parts: vec![target.clone()], target });
    if let Some(file) = crate::sqlserver::file("pubs-2008-checksum.mdf") {
        let place = place();
        let target = place.path().join("a.mdf");
        std::fs::copy(file, &target).unwrap();
        scenes.push(Scene { _place: place, engine: "sqlserver", parts: vec![target.clone()], target });
    }
    if let Some((_, bin)) = servers().pop() {
        let cluster = Cluster::new(&bin, &["-k"]);
        cluster.run_all(&format!("create table t(id int primary key)\ninsert into t select generate_series(1, 2 * {row_count})\nvacuum\ncheckpoint\n"));
        let heap = cluster.path_of("t");
        let place = place();
        let target = place.path().join("data");
        let status = Command::new("cp").arg("-r").arg(cluster.data()).arg(&target).status().unwrap();
        assert!(status.success());
        let base = heap.parent().unwrap().to_path_buf();
        let mut parts: Vec<PathBuf> = [
            "PG_VERSION",
            "global/pg_control",
            "pg_xact/0000",
            "pg_multixact/offsets/0000",
            "global",
            "global/pg_filenode.map",
            "pg_xact",
            "pg_wal",
            "pg_multixact",
            "base",
            "pg_tblspc",
        ]
        .iter()
        .map(|name| target.join(name))
        .collect();
        parts.extend([target.clone(), target.join(&heap), target.join(cluster.path_of("t_pkey"))]);
        parts.extend([
            target.join(cluster.path_of("pg_class")),
            target.join(&base),
            target.join(base.join("PG_VERSION")),
        ]);
        parts.push(target.join(format!("{}_vm", heap.display())));
        scenes.push(Scene { _place: place, engine: "postgres", target, parts });
    }
    scenes
}

/// Gives everything to the user without rights, so that modes of files mean something.
fn give(path: &Path) {
    let status =
        Command::new("chown").arg("-R").arg(format!("{UNPRIVILEGED}:{UNPRIVILEGED}")).arg(path).status();
    assert!(status.unwrap().success());
    let status = Command::new("chmod").args(["-R", "u+rwX"]).arg(path).status();
    assert!(status.unwrap().success());
}

fn unprivileged(program: &Path, target: &Path) -> Command {
    let mut command = Command::new("timeout");
    command.args(["-s", "KILL", "600"]).arg(program).args(CHECK).arg(target);
    command.current_dir("/tmp").stdin(Stdio::null());
    if rustix::process::geteuid().is_root() {
        command.uid(UNPRIVILEGED).gid(UNPRIVILEGED);
    }
    command
}

/// Exit status 2, no finding, and the name of what could not be read.
fn could_not_finish(answer: &Answer, part: &Path, fault: &str, engine: &str) {
    let context = format!("{engine}, {} {fault}: exit {:?}, {}", part.display(), answer.code, answer.words);
    assert_eq!((answer.code, answer.findings.len()), (Some(2), 0), "{context}");
    let name = part.file_name().unwrap().to_str().unwrap();
    assert!(answer.unfinished.contains(name), "not named: {context}");
}

#[test]
fn files_and_directories_without_permission_end_a_check_and_accuse_nothing() {
    // The program may be in a directory that only its owner may enter.
    let program_place = place();
    let program = program_place.path().join("fathom");
    std::fs::copy(env!("CARGO_BIN_EXE_fathom"), &program).unwrap();
    for scene in scenes(FEW_ROWS) {
        if rustix::process::geteuid().is_root() {
            give(&scene.target);
            chown(scene.target.parent().unwrap(), Some(UNPRIVILEGED), Some(UNPRIVILEGED)).unwrap();
        }
        let clean = answer(unprivileged(&program, &scene.target));
        assert_eq!((clean.code, clean.findings.len()), (Some(0), 0), "{}: {}", scene.engine, clean.words);
        for part in &scene.parts {
            let before = std::fs::metadata(part).unwrap().permissions();
            // A directory that may be listed but not entered has files that cannot be looked at.
            let has_entries = std::fs::read_dir(part).is_ok_and(|mut entries| entries.next().is_some());
            let modes: &[u32] = if has_entries { &[0, 0o400] } else { &[0] };
            for mode in modes {
                std::fs::set_permissions(part, std::fs::Permissions::from_mode(*mode)).unwrap();
                let said = answer(unprivileged(&program, &scene.target));
                std::fs::set_permissions(part, before.clone()).unwrap();
                could_not_finish(&said, part, &format!("with mode {mode:o}"), scene.engine);
            }
        }
    }
}

#[test]
fn a_limit_of_open_files_ends_a_check_and_accuses_nothing() {
    for scene in scenes(FEW_ROWS) {
        for limit in [8, 10, 12, 14, 16, 20, 24, 32, 48, 64] {
            let mut command = Command::new("timeout");
            let script = format!("ulimit -n {limit}; exec \"$@\"");
            command.args(["-s", "KILL", "600", "sh", "-c", &script, "sh", env!("CARGO_BIN_EXE_fathom")]);
            command.args(CHECK).arg(&scene.target);
            let said = answer(command);
            let context = format!("{} with {limit} files: {}", scene.engine, said.words);
            assert!(said.findings.is_empty(), "{context}");
            assert!(matches!(said.code, Some(0 | 2)), "{:?} {context}", said.code);
            assert!(said.code == Some(0) || !said.unfinished.is_empty(), "{context}");
        }
    }
}

#[test]
fn files_that_are_cut_replaced_or_removed_during_a_check_accuse_nothing() {
    for scene in scenes(MANY_ROWS) {
        for part in scene.parts.iter().filter(|part| part.is_file()) {
            for fault in ["cut", "replaced", "removed"] {
                let original = std::fs::read(part).unwrap();
                // A smaller one may be closed again before it is changed.
                if original.len() < 1 << 20 {
                    continue;
                }
                // Exit status 0: the file was looked at again before or after its pages were read, and changed there.
                let said = (0..TRIES_MAX)
                    .map(|_| changed_meanwhile(&scene.target, part, &original, fault))
                    .find(|said| said.code != Some(0))
                    .unwrap_or_else(|| panic!("{}, {} {fault}: not noticed", scene.engine, part.display()));
                let context = format!("{}, {} {fault}: {}", scene.engine, part.display(), said.words);
                assert!(said.findings.is_empty(), "{context}");
                assert_eq!(said.code, Some(2), "{context}");
            }
        }
    }
}

/// A slow check of a database, in whose middle a file changes.
fn changed_meanwhile(target: &Path, part: &Path, original: &[u8], fault: &str) -> Answer {
    let aside = part.with_file_name("aside");
    let other = part.with_file_name("other");
    std::fs::write(&other, original).unwrap();
    let mut command = Command::new("timeout");
    // Slow enough that the file changes while its pages are read, at whatever speed the machine has.
    command.args(["-s", "KILL", "600", env!("CARGO_BIN_EXE_fathom")]).args(CHECK);
    command.args(["--max-read-rate", "4MiB/s"]).arg(target);
    let part = part.to_path_buf();
    let change = {
        let (part, aside, other, fault) = (part.clone(), aside.clone(), other.clone(), fault.to_owned());
        let half = original.len() as u64 / 2;
        move || match fault.as_str() {
            "cut" => std::fs::OpenOptions::new().write(true).open(&part).unwrap().set_len(half).unwrap(),
            "replaced" => {
                std::fs::rename(&part, &aside).unwrap();
                std::fs::rename(&other, &part).unwrap();
            }
            _ => std::fs::rename(&part, &aside).unwrap(),
        }
    };
    let changer = {
        let part = part.clone();
        std::thread::spawn(move || while_open(&part, change))
    };
    let said = answer(command);
    assert!(changer.join().unwrap(), "{} was never seen open", part.display());
    for path in [&aside, &other] {
        // Only one of them is there.
        let _ = std::fs::remove_file(path);
    }
    std::fs::write(&part, original).unwrap();
    said
}

/// Stops the program under test while it has a file open, changes the file, and lets the program continue.
///
/// The change takes as long as the disk needs: without the stop, the check may end before.
fn while_open(part: &Path, change: impl Fn()) -> bool {
    let started = std::time::Instant::now();
    while started.elapsed().as_secs() < 300 {
        let Some(process) = process_with(part) else {
            std::thread::sleep(std::time::Duration::from_millis(1));
            continue;
        };
        // The kind of a file is found out with a descriptor of its own, which is closed at once.
        std::thread::sleep(LOOK_TIME_MAX);
        // The process may have ended, or closed the file, since.
        let stopped = rustix::process::kill_process(process, rustix::process::Signal::STOP).is_ok();
        std::thread::sleep(std::time::Duration::from_millis(20));
        let is_open = stopped && has_open(process.as_raw_nonzero().get(), part);
        if is_open {
            change();
        }
        let _ = rustix::process::kill_process(process, rustix::process::Signal::CONT);
        if is_open {
            return true;
        }
    }
    false
}

/// The process of the program under test that has a file open.
fn process_with(part: &Path) -> Option<rustix::process::Pid> {
    let processes = std::fs::read_dir("/proc").ok()?.flatten();
    let numbers = processes.filter_map(|process| process.file_name().to_str()?.parse().ok());
    let mut ours = numbers.filter(|number| {
        std::fs::read_link(format!("/proc/{number}/exe"))
            .is_ok_and(|exe| exe == Path::new(env!("CARGO_BIN_EXE_fathom")))
    });
    ours.find(|number| has_open(*number, part)).and_then(rustix::process::Pid::from_raw)
}

/// Whether a process has a file open.
fn has_open(process: i32, part: &Path) -> bool {
    let open = std::fs::read_dir(format!("/proc/{process}/fd")).into_iter().flatten().flatten();
    open.into_iter().any(|open| std::fs::read_link(open.path()).is_ok_and(|to| to == part))
}
