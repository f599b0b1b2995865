//! The VFS held against known numbers of commits, known lengths of waits, and the kernel's own account.
#![allow(clippy::unwrap_used)]

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use rusqlite::{Connection, ErrorCode, OpenFlags};
use tempfile::TempDir;

use super::{Call, FRAME_HEADER_BYTES, Instrument, LOG_HEADER_BYTES, Role, Totals};

/// A database on a timed VFS, with one table.
struct Bench {
    connection: Connection,
    instrument: Instrument,
    directory: TempDir,
}

/// A file system in memory where there is one: a flush takes no time, so that only what the test asks for does.
fn directory() -> TempDir {
    let memory = Path::new("/dev/shm");
    if memory.is_dir() { tempfile::tempdir_in(memory).unwrap() } else { tempfile::tempdir().unwrap() }
}

impl Bench {
    fn new(pragmas: &str) -> Self {
        let (directory, instrument) = (directory(), Instrument::take().unwrap());
        let connection = open(&directory.path().join("run.db"), &instrument, pragmas);
        connection.execute_batch("CREATE TABLE t (a INTEGER PRIMARY KEY, b TEXT)").unwrap();
        Self { connection, instrument, directory }
    }

    fn another(&self, pragmas: &str) -> Connection {
        open(&self.directory.path().join("run.db"), &self.instrument, pragmas)
    }

    fn during(&self, work: impl FnOnce(&Connection)) -> Totals {
        let before = self.instrument.meter().read();
        work(&self.connection);
        self.instrument.meter().read().since(&before)
    }
}

fn open(path: &Path, instrument: &Instrument, pragmas: &str) -> Connection {
    let connection =
        Connection::open_with_flags_and_vfs(path, OpenFlags::default(), instrument.name()).unwrap();
    connection.busy_timeout(Duration::from_secs(30)).unwrap();
    connection.execute_batch(pragmas).unwrap();
    connection
}

fn insert(connection: &Connection, rows: u32) {
    for _ in 0..rows {
        connection.execute("INSERT INTO t (b) VALUES (hex(randomblob(200)))", []).unwrap();
    }
}

fn is_intact(connection: &Connection) -> bool {
    connection.query_row("PRAGMA integrity_check", [], |row| row.get::<_, String>(0)).unwrap() == "ok"
}

#[test]
fn as_many_commits_are_as_many_flushes_of_the_log_and_one_for_its_header() {
    let bench = Bench::new("PRAGMA journal_mode=wal; PRAGMA synchronous=full; PRAGMA wal_autocheckpoint=0");
    let seen = bench.during(|connection| insert(connection, 40));
    assert_eq!(seen.of(Role::Log, Call::Sync).count, 40);
    assert_eq!(seen.of(Role::Log, Call::CheckpointSync).count, 0);
    assert_eq!(seen.of(Role::Database, Call::Write).count, 0);
    let seen = bench.during(|connection| {
        connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).unwrap();
    });
    assert_eq!(seen.of(Role::Log, Call::CheckpointSync).count, 1);
    assert_eq!(seen.of(Role::Database, Call::CheckpointSync).count, 1);
    assert_eq!(seen.of(Role::Log, Call::Sync).count, 0);
    assert_eq!(seen.of(Role::Log, Call::Truncate).count, 1);
    assert_eq!(seen.checkpoints.count, 1);
    assert_eq!(seen.checkpoint_pages, seen.of(Role::Database, Call::Write).count);
    let seen = bench.during(|connection| insert(connection, 3));
    assert_eq!((seen.of(Role::Log, Call::Sync).count, seen.log_starts), (3 + 1, 1));
}

#[test]
fn automatic_checkpoints_are_counted_apart_from_commits() {
    let bench = Bench::new("PRAGMA journal_mode=wal; PRAGMA synchronous=full; PRAGMA wal_autocheckpoint=10");
    let seen = bench.during(|connection| insert(connection, 200));
    assert_eq!(seen.of(Role::Log, Call::Sync).count, 200 + seen.log_starts);
    assert_eq!(seen.of(Role::Log, Call::CheckpointSync).count, seen.checkpoints.count);
    assert!(seen.checkpoints.count >= 10, "{seen:?}");
    assert_eq!(seen.checkpoints.bytes, seen.of(Role::Database, Call::Write).bytes);
    assert!(seen.checkpoints.time_ns > seen.of(Role::Database, Call::Write).time_ns);
}

#[test]
fn nothing_is_flushed_with_synchronous_off() {
    for journal_mode in ["wal", "delete"] {
        let bench = Bench::new(&format!("PRAGMA journal_mode={journal_mode}; PRAGMA synchronous=off"));
        let seen = bench.during(|connection| insert(connection, 50));
        assert_eq!(seen.of_all(Call::Sync).count + seen.of_all(Call::CheckpointSync).count, 0);
        assert!(seen.of_all(Call::Write).count >= 50);
    }
}

#[test]
fn a_rollback_journal_is_written_flushed_twice_and_removed_for_each_commit() {
    let bench = Bench::new("PRAGMA journal_mode=delete; PRAGMA synchronous=full");
    let seen = bench.during(|connection| insert(connection, 20));
    assert_eq!(seen.of(Role::Journal, Call::Open).count, 20);
    // Once for the pages, once for the header that makes them count.
    assert_eq!(seen.of(Role::Journal, Call::Sync).count, 40);
    assert_eq!(seen.of(Role::Database, Call::Sync).count, 20);
    assert_eq!(seen.of(Role::Journal, Call::Delete).count, 20);
    assert_eq!(seen.of(Role::Log, Call::Write).count, 0);
    assert_eq!((seen.checkpoints.count, seen.log_frames), (0, 0));
}

#[test]
fn frames_and_starts_account_for_every_byte_of_the_log() {
    let bench = Bench::new("PRAGMA page_size=8192; PRAGMA journal_mode=wal; PRAGMA wal_autocheckpoint=25");
    let seen = bench.during(|connection| insert(connection, 300));
    let bytes = seen.log_frames * (8192 + FRAME_HEADER_BYTES) + seen.log_starts * LOG_HEADER_BYTES;
    assert_eq!(seen.of(Role::Log, Call::Write).bytes, bytes);
    assert!(seen.log_starts > 1, "the log never began at its start again");
}

#[test]
fn pages_allocated_are_those_by_which_the_database_grew() {
    for mode in ["wal", "delete", "persist", "memory"] {
        let bench = Bench::new(&format!("PRAGMA journal_mode={mode}; PRAGMA wal_autocheckpoint=20"));
        let count = |connection: &Connection| {
            connection.query_row("PRAGMA page_count", [], |row| row.get::<_, u64>(0)).unwrap()
        };
        let before = count(&bench.connection);
        let seen = bench.during(|connection| insert(connection, 200));
        let after = count(&bench.connection);
        assert_eq!(seen.pages_allocated, after - before, "{mode}");
        assert!(after - before >= 20, "{mode}");
        // What does not commit allocates nothing.
        let seen = bench.during(|connection| {
            connection.execute_batch("BEGIN; INSERT INTO t (b) VALUES (zeroblob(100000)); ROLLBACK").unwrap();
        });
        assert_eq!(seen.pages_allocated, 0, "{mode}");
    }
}

#[test]
fn growths_add_up_to_the_length_of_the_log() {
    let bench = Bench::new("PRAGMA journal_mode=wal; PRAGMA wal_autocheckpoint=0");
    bench.connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).unwrap();
    assert_eq!(bench.instrument.meter().log_size_bytes(), 0);
    let seen = bench.during(|connection| insert(connection, 100));
    let length = std::fs::metadata(bench.directory.path().join("run.db-wal")).unwrap().len();
    assert_eq!((seen.log_growths.bytes, bench.instrument.meter().log_size_bytes()), (length, length));
    assert_eq!(seen.log_growths.count, 100, "one for each transaction, however many frames it has");
    assert!(seen.log_growths.count * 2 <= seen.of(Role::Log, Call::Write).count);
    bench.connection.query_row("PRAGMA wal_checkpoint(RESTART)", [], |_| Ok(())).unwrap();
    let again = bench.during(|connection| insert(connection, 100));
    assert_eq!(again.log_growths.count, 0, "the file is long enough");
}

#[test]
fn flushes_of_a_known_length_are_found() {
    const DELAY: Duration = Duration::from_millis(5);
    let bench = Bench::new("PRAGMA journal_mode=wal; PRAGMA synchronous=full; PRAGMA wal_autocheckpoint=0");
    bench.instrument.delay_syncs(DELAY);
    let began = Instant::now();
    let seen = bench.during(|connection| insert(connection, 40));
    let elapsed = began.elapsed();
    bench.instrument.delay_syncs(Duration::ZERO);
    let flushes = seen.of(Role::Log, Call::Sync);
    assert_eq!(flushes.count, 40);
    // The kernel sleeps at least as long as asked; how much longer is in what the client saw as well.
    let found = Duration::from_nanos(flushes.time_ns);
    assert!(found >= 40 * DELAY && found <= elapsed, "{found:?} of {elapsed:?}");
    let rest: u64 = [Role::Database, Role::Log]
        .iter()
        .flat_map(|role| Call::ALL.iter().map(|call| seen.of(*role, *call).time_ns))
        .sum();
    assert!(rest <= elapsed.as_nanos() as u64, "calls do not overlap");
}

#[test]
fn waiting_for_a_writer_is_found_in_its_full_length() {
    let bench = Bench::new("PRAGMA journal_mode=wal");
    let waiting = bench.another("");
    waiting.busy_timeout(Duration::from_millis(100)).unwrap();
    bench.connection.execute_batch("BEGIN IMMEDIATE").unwrap();
    let began = Instant::now();
    let seen = bench.during(|_| {
        let error = waiting.execute_batch("BEGIN IMMEDIATE").unwrap_err();
        assert_eq!(error.sqlite_error_code(), Some(ErrorCode::DatabaseBusy));
    });
    let elapsed = began.elapsed();
    let sleeps = seen.of_all(Call::Sleep);
    // 1 + 2 + 5 + 10 + 15 + 20 + 25 and the 22 that are left of 100 ms.
    assert_eq!(sleeps.count, 8);
    let found = Duration::from_nanos(sleeps.time_ns);
    assert!(found >= Duration::from_millis(100) && found <= elapsed, "{found:?} of {elapsed:?}");
}

#[test]
fn many_threads_lose_no_call() {
    const THREADS: u32 = 6;
    const ROWS: u32 = 60;
    let pragmas = "PRAGMA journal_mode=wal; PRAGMA synchronous=full";
    let bench = Bench::new(pragmas);
    let seen = bench.during(|_| {
        let (path, instrument) = (bench.directory.path().join("run.db"), &bench.instrument);
        std::thread::scope(|scope| {
            for _ in 0..THREADS {
                scope.spawn(|| {
                    let connection = open(&path, instrument, "PRAGMA synchronous=full");
                    for _ in 0..ROWS {
                        connection
                            .execute_batch("BEGIN IMMEDIATE; INSERT INTO t (b) VALUES ('b'); COMMIT")
                            .unwrap();
                    }
                });
            }
        });
    });
    assert_eq!(seen.of(Role::Log, Call::Sync).count, u64::from(THREADS * ROWS) + seen.log_starts);
    assert_eq!(seen.of(Role::Database, Call::Open).count, u64::from(THREADS));
    let page_size = 4096;
    let bytes = seen.log_frames * (page_size + FRAME_HEADER_BYTES) + seen.log_starts * LOG_HEADER_BYTES;
    assert_eq!(seen.of(Role::Log, Call::Write).bytes, bytes);
    let rows: u32 = bench.connection.query_row("SELECT count(*) FROM t", [], |row| row.get(0)).unwrap();
    assert_eq!(rows, THREADS * ROWS);
    assert!(is_intact(&bench.connection));
}

#[test]
fn every_journal_mode_and_page_size_stays_intact_mapped_or_not() {
    for journal_mode in ["wal", "delete", "truncate", "persist", "memory", "off"] {
        for (page_size, mmap_size) in [(512, 0), (4096, 1 << 20), (8192, 0), (65536, 1 << 26)] {
            let pragmas = format!(
                "PRAGMA page_size={page_size}; PRAGMA mmap_size={mmap_size}; PRAGMA journal_mode={journal_mode}; \
                 PRAGMA cache_size=10"
            );
            let bench = Bench::new(&pragmas);
            bench.connection.execute_batch("BEGIN").unwrap();
            insert(&bench.connection, 200);
            bench.connection.execute_batch("COMMIT; CREATE INDEX i ON t (b)").unwrap();
            bench.connection.execute("UPDATE t SET b = hex(randomblob(300)) WHERE a % 3 = 0", []).unwrap();
            bench.connection.execute("DELETE FROM t WHERE a % 5 = 0", []).unwrap();
            let plain = Connection::open(bench.directory.path().join("run.db")).unwrap();
            for connection in [&bench.connection, &plain, &bench.another(&pragmas)] {
                assert!(is_intact(connection), "{pragmas}");
                let rows: u32 = connection.query_row("SELECT count(*) FROM t", [], |row| row.get(0)).unwrap();
                assert_eq!(rows, 160, "{pragmas}");
            }
        }
    }
}

#[test]
fn a_transaction_that_spills_and_rolls_back_leaves_nothing_behind() {
    for journal_mode in ["wal", "delete", "truncate", "persist"] {
        let bench = Bench::new(&format!("PRAGMA journal_mode={journal_mode}; PRAGMA cache_size=5"));
        insert(&bench.connection, 10);
        bench.connection.execute_batch("BEGIN; SAVEPOINT s").unwrap();
        insert(&bench.connection, 500);
        bench.connection.execute_batch("ROLLBACK TO s; ROLLBACK").unwrap();
        assert!(is_intact(&bench.connection), "{journal_mode}");
        let rows: u32 = bench.connection.query_row("SELECT count(*) FROM t", [], |row| row.get(0)).unwrap();
        assert_eq!(rows, 10, "{journal_mode}");
    }
}

#[test]
fn temporary_files_are_told_apart() {
    let bench = Bench::new("PRAGMA temp_store=file; PRAGMA temp.cache_size=5");
    let seen = bench.during(|connection| {
        connection.execute_batch("CREATE TEMP TABLE u AS SELECT 1 AS x; BEGIN").unwrap();
        for _ in 0..2000 {
            connection.execute("INSERT INTO u SELECT hex(randomblob(400))", []).unwrap();
        }
        connection.execute_batch("COMMIT").unwrap();
    });
    assert!(seen.of(Role::Temporary, Call::Write).bytes > 1_000_000, "{seen:?}");
    assert_eq!(seen.of(Role::Database, Call::Write).count, 0);
}

#[test]
fn instruments_are_lent_again_and_not_added_without_end() {
    let mut number_max = 0;
    for _ in 0..1000 {
        let instrument = Instrument::take().unwrap();
        let number = instrument.name().to_str().unwrap().strip_prefix("fathom-").unwrap().to_owned();
        number_max = number_max.max(number.parse::<u32>().unwrap());
    }
    assert!(number_max < 200, "tests in parallel need few, not {number_max}");
}

#[test]
fn a_connection_outlives_its_instrument() {
    let Bench { connection, instrument, directory } = Bench::new("PRAGMA journal_mode=wal");
    drop(instrument);
    insert(&connection, 5);
    assert!(is_intact(&connection));
    drop(connection);
    drop(directory);
}

#[test]
fn a_file_that_cannot_be_opened_is_an_error_as_without_us() {
    let instrument = Instrument::take().unwrap();
    let error =
        Connection::open_with_flags_and_vfs("/nonexistent/run.db", OpenFlags::default(), instrument.name())
            .unwrap_err();
    assert_eq!(error.sqlite_error_code(), Some(ErrorCode::CannotOpen));
}

/// Set for the copy of this program that `strace` runs: where the database goes.
const TRACED: &str = "FATHOM_TEST_TRACED";

/// Runs this test alone under `strace` and compares what the kernel saw with what the copy measured.
#[test]
fn the_account_equals_that_of_strace() {
    if let Some(journal_mode) = std::env::var_os(TRACED) {
        return traced(journal_mode.to_str().unwrap());
    }
    let runs = |command: &mut Command| command.output().is_ok_and(|output| output.status.success());
    if !runs(Command::new("strace").args(["-o", "/dev/null", "true"])) {
        return skips::skip(skips::Capability::Strace, "strace is not installed or may not trace here");
    }
    for journal_mode in ["wal", "delete"] {
        let directory = tempfile::tempdir().unwrap();
        let log = directory.path().join("strace");
        let output = Command::new("strace")
            .args(["-f", "-y", "-s", "0", "-e", "trace=read,pread64,write,pwrite64,fsync,fdatasync", "-o"])
            .arg(&log)
            .arg(std::env::current_exe().unwrap())
            .args(["--exact", "vfs::tests::the_account_equals_that_of_strace"])
            .args(["--nocapture", "--test-threads", "1"])
            .env(TRACED, journal_mode)
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        let traced = std::fs::read_to_string(&log).unwrap();
        let mut compared = 0;
        for line in said.lines().filter_map(|line| line.split_once("account ").map(|(_, rest)| rest)) {
            let fields: Vec<&str> = line.split(' ').collect();
            let [suffix, kind, count, bytes] = fields[..] else { panic!("{line}") };
            let seen = kernel_account(&traced, suffix, kind);
            let told = (count.parse().unwrap(), bytes.parse().unwrap());
            assert_eq!(told, seen, "{journal_mode}: {kind} of run.db{suffix}");
            compared += 1;
        }
        assert_eq!(compared, 6, "{said}\n{}", String::from_utf8_lossy(&output.stderr));
    }
}

/// What the copy does under `strace`, and says about it.
fn traced(journal_mode: &str) {
    let bench = Bench::new(&format!(
        "PRAGMA journal_mode={journal_mode}; PRAGMA synchronous=full; PRAGMA wal_autocheckpoint=20; PRAGMA cache_size=5"
    ));
    insert(&bench.connection, 100);
    let sum: i64 = bench.connection.query_row("SELECT sum(length(b)) FROM t", [], |row| row.get(0)).unwrap();
    assert_eq!(sum, 100 * 400);
    let (suffix, log) = if journal_mode == "wal" { ("-wal", Role::Log) } else { ("-journal", Role::Journal) };
    let Bench { connection, instrument, directory } = bench;
    drop(connection);
    let totals = instrument.meter().read();
    for (suffix, role) in [("", Role::Database), (suffix, log)] {
        let mut syncs = totals.of(role, Call::Sync);
        syncs += totals.of(role, Call::CheckpointSync);
        let (reads, writes) = (totals.of(role, Call::Read), totals.of(role, Call::Write));
        println!("account {suffix} sync {} 0", syncs.count);
        println!("account {suffix} write {} {}", writes.count, writes.bytes);
        println!("account {suffix} read {} {}", reads.count, reads.bytes);
    }
    drop(directory);
}

/// Calls and bytes on the file `run.db` with this suffix, as `strace -y` wrote them down. Short reads are
/// only those of an empty file here, one call each.
fn kernel_account(traced: &str, suffix: &str, kind: &str) -> (u64, u64) {
    let names: &[&str] = match kind {
        "sync" => &["fsync(", "fdatasync("],
        "write" => &["write(", "pwrite64("],
        _ => &["read(", "pread64("],
    };
    let (mut count, mut bytes) = (0, 0);
    for line in traced.lines().filter(|line| line.contains(&format!("/run.db{suffix}>"))) {
        let Some((_, call)) = line.split_once(' ') else { continue };
        if names.iter().any(|name| call.trim_start().starts_with(name)) {
            let result: u64 = line.rsplit("= ").next().and_then(|text| text.trim().parse().ok()).unwrap_or(0);
            count += 1;
            bytes += result;
        }
    }
    (count, bytes)
}
