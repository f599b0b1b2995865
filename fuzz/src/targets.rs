//! The targets. What comes back does not matter: a panic, a hang or a process that grows is what is looked for.

use std::path::Path;
use std::sync::Arc;

use check::options::{Options, Queues};
use check::progress::Silent;
use disk::backend::{BackendChoice, BackendOptions, open_backend};
use formats::sqlite::Geometry;
use lab::spec::{Experiment, Request};
use results::store::Store;

use crate::pieces::{split, split_wal};
use crate::serve;

/// A directory in memory for the files of one run.
fn with_directory(run: impl FnOnce(&Path)) {
    let memory = Path::new("/dev/shm");
    let place = if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() };
    run(place.expect("there is room for small files").path());
}

fn write(directory: &Path, name: &str, bytes: &[u8]) {
    let path = directory.join(name);
    if let Some(parent) = path.parent() {
        std::fs::create_dir_all(parent).expect("a directory can be made");
    }
    std::fs::write(path, bytes).expect("there is room for small files");
}

/// One worker without threads of its own, and little memory, so that what spills is tried as well.
fn options() -> Options {
    let make = |wanted: &BackendOptions| {
        open_backend(BackendChoice::Threads, &BackendOptions { depth: 1, grows: false, ..*wanted })
    };
    Options {
        memory_bytes_max: 1 << 20,
        // Buffers of 1 MiB, as large as in use, would take longer to make than the check of a small file.
        page_batch: Some(4),
        want_direct: false,
        seed: 7,
        queues: Some(Queues(Arc::new(make))),
        ..Options::default()
    }
}

fn structure_options() -> check::structure::Options {
    check::structure::Options::default()
}

pub fn innodb_page(bytes: &[u8]) {
    formats::innodb::exercise(bytes);
}

pub fn postgres_page(bytes: &[u8]) {
    formats::postgres::exercise_part(bytes);
}

pub fn sqlserver_page(bytes: &[u8]) {
    formats::sqlserver::exercise(bytes);
}

/// The last byte selects page size and reserved bytes.
pub fn sqlite_page(bytes: &[u8]) {
    let choice = bytes.last().copied().unwrap_or(0);
    let page_size_bytes = 512 << (choice & 7);
    let usable_bytes = page_size_bytes - u32::from(choice >> 3);
    formats::sqlite::exercise(
        bytes,
        Geometry { page_size_bytes, usable_bytes, auto_vacuum: choice & 8 != 0 },
    );
}

/// The engines whose files are read.
static ENGINES: [&check::Engine; 4] =
    [&check_sqlite::ENGINE, &check_postgres::ENGINE, &check_sqlserver::ENGINE, &check_innodb::ENGINE];

/// The last byte selects the engine and the kind of page.
pub fn decode(bytes: &[u8]) {
    let Some((choice, bytes)) = bytes.split_last() else { return };
    let word = |offset: usize| {
        bytes.get(offset..).and_then(|rest| rest.first_chunk()).map_or(0, |word| u32::from_be_bytes(*word))
    };
    let (number, other) = (word(0), word(4));
    match choice % 4 {
        0 => drop(check_sqlite::decode::exercise(number, other, bytes)),
        1 => drop(check_postgres::decode::exercise(number, other, bytes)),
        2 => drop(check_sqlserver::decode::exercise(number, other, bytes)),
        _ => drop(check_innodb::decode::exercise(number, other, bytes)),
    }
}

/// What is done with a file: one thing for each input, so that a fuzzer tries four times as many.
#[derive(Clone, Copy)]
enum Way {
    Check,
    CheckRaw,
    Structure,
    Decode,
}

impl Way {
    fn of(choice: u8) -> Way {
        [Way::Check, Way::CheckRaw, Way::Structure, Way::Decode][usize::from(choice & 3)]
    }
}

pub fn sqlite_file(bytes: &[u8]) {
    let (database, wal, choice) = split_wal(bytes);
    with_directory(|directory| {
        write(directory, "a.db", database);
        if !wal.is_empty() {
            write(directory, "a.db-wal", wal);
        }
        read_sqlite(&directory.join("a.db"), Way::of(choice));
    });
}

fn read_sqlite(path: &Path, way: Way) {
    match way {
        Way::Check | Way::CheckRaw => {
            let options = Options { is_raw: matches!(way, Way::CheckRaw), ..options() };
            let _ = report::findings::text(
                &check_sqlite::check(path, &options, &mut Silent),
                &check_sqlite::RULES,
            );
        }
        Way::Structure => drop(check_sqlite::structure(path, &structure_options(), &mut Silent)),
        Way::Decode => {
            let _ = (check::decode::file(&ENGINES, path, 1), check::decode::file(&ENGINES, path, 2));
        }
    }
}

/// The reports on a sound database that results files have as seeds, without what differs from run to run.
pub(crate) fn reports(path: &Path) -> (results::check::CheckReport, results::structure::StructureReport) {
    let mut check = check_sqlite::check(path, &options(), &mut Silent);
    let mut structure = check_sqlite::structure(path, &structure_options(), &mut Silent);
    check.target.clear();
    check.counters = Default::default();
    structure.target.clear();
    structure.counters = Default::default();
    (check, structure)
}

/// The first byte selects table or index; the rest is the definition.
pub fn sql_text(bytes: &[u8]) {
    let Some((choice, text)) = bytes.split_first() else { return };
    let text = String::from_utf8_lossy(text);
    with_directory(|directory| {
        let path = directory.join("a.db");
        if made(&path, &text, choice & 1 == 1).is_ok() {
            read_sqlite(&path, Way::Check);
        }
    });
}

pub fn sql_expression(bytes: &[u8]) {
    check_sqlite::exercise_definition(&String::from_utf8_lossy(bytes));
}

/// A database whose schema has a text in the place of a definition.
fn made(path: &Path, text: &str, is_index: bool) -> rusqlite::Result<()> {
    let connection = rusqlite::Connection::open(path)?;
    connection.execute_batch(
        "PRAGMA journal_mode = MEMORY; PRAGMA synchronous = OFF; BEGIN;
         CREATE TABLE t (a INTEGER PRIMARY KEY, b TEXT, c REAL, d); CREATE INDEX i ON t (b, c);
         INSERT INTO t VALUES (1, 'one', 1.5, NULL), (2, 'two', -2.0, x'00ff'), (3, '', 9e99, 3), (4, NULL, 0, 'four');
         PRAGMA writable_schema = ON;",
    )?;
    let name = if is_index { "i" } else { "t" };
    connection.execute("UPDATE sqlite_schema SET sql = ?1 WHERE name = ?2", (text, name))?;
    connection.execute_batch("COMMIT")
}

/// The two high bits of the first byte select what is done.
pub fn postgres_cluster(bytes: &[u8]) {
    let way = Way::of(bytes.first().map_or(0, |byte| byte >> 6));
    with_directory(|directory| {
        for (name, piece) in split(bytes) {
            write(directory, name, piece);
        }
        let table = directory.join("base/5/16384");
        match way {
            Way::Check | Way::Structure => read_cluster(directory, way),
            Way::CheckRaw => drop(check_postgres::check_file(&table, &options(), &mut Silent)),
            Way::Decode => {
                let index = directory.join("base/5/16385");
                drop(check_postgres::structure_file(&index, &structure_options(), &mut Silent));
                let _ = check::decode::file(&ENGINES, &table, 0);
            }
        }
    });
}

fn read_cluster(path: &Path, way: Way) {
    if let Way::Structure = way {
        let _ = check_postgres::structure_cluster(path, &structure_options(), &mut Silent);
    } else if let Ok(report) = check_postgres::check_cluster(path, &options(), &mut Silent) {
        let _ = report::findings::text(&report, &check_postgres::RULES);
    }
}

/// The last byte selects what is done.
pub fn archive(bytes: &[u8]) {
    let Some((choice, bytes)) = bytes.split_last() else { return };
    with_directory(|directory| {
        write(directory, "base.tar.gz", bytes);
        let way = if choice & 3 == 0 { Way::Structure } else { Way::Check };
        read_cluster(&directory.join("base.tar.gz"), way);
    });
}

/// The last byte selects what is done.
pub fn sqlserver_file(bytes: &[u8]) {
    let Some((choice, bytes)) = bytes.split_last() else { return };
    with_directory(|directory| {
        write(directory, "a.mdf", bytes);
        let paths = [directory.join("a.mdf")];
        match Way::of(*choice) {
            way @ (Way::Check | Way::CheckRaw) => {
                let options = Options { is_raw: matches!(way, Way::CheckRaw), ..options() };
                if let Ok(report) = check_sqlserver::check(&paths, &options, &mut Silent) {
                    let _ = report::findings::text(&report, &check_sqlserver::RULES);
                }
            }
            Way::Structure => drop(check_sqlserver::structure(&paths, &structure_options(), &mut Silent)),
            Way::Decode => {
                let _ = (check_sqlserver::inventory(&paths), check::decode::file(&ENGINES, &paths[0], 1));
            }
        }
    });
}

pub fn spec(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let Ok(experiment) = Experiment::parse("any.toml", &text) else { return };
    for scale in experiment.scales() {
        let _ = experiment.factors(scale);
        for engine in [&lab_sqlite::ENGINE, &lab_postgres::ENGINE, &lab::engine::noop::ENGINE] {
            if let Ok(resolved) = experiment.resolve(&Request::plain(scale, engine)) {
                let _ = resolved.cells().iter().take(64).map(|cell| resolved.work(cell, 7)).count();
            }
        }
    }
}

/// The last byte selects whether the file is only read, or opened for writing, which migrates and redacts older ones.
pub fn results_file(bytes: &[u8]) {
    let Some((choice, bytes)) = bytes.split_last() else { return };
    with_directory(|directory| {
        write(directory, results::store::RESULTS_FILE, bytes);
        let opened =
            if choice & 1 == 0 { Store::open_read_only(directory) } else { Store::open_or_create(directory) };
        let Ok(store) = opened else { return };
        for study in store.studies().into_iter().flatten().take(16) {
            let results = store.study_results(study.id);
            for stored in results.iter().flat_map(|results| &results.runs).take(16) {
                let _ = store.transaction_log(stored.run_id);
            }
            let _ = (results, store.ceilings(study.id), store.corrections(study.id));
            for run in store.runs(study.id).into_iter().flatten().take(4) {
                let _ = (store.run(run.run_id), store.structures_of_run(run.run_id));
            }
        }
        let _ = (store.checks(), store.structures(), store.io_tables());
    });
}

pub fn wire_startup(bytes: &[u8]) {
    lab_postgres::exercise_startup(bytes);
}

pub fn address(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    lab_postgres::exercise_address(&text);
    let _ = (results::redaction::redacted(&text), results::plain::one_line(&text));
}

/// Any bytes as results of another tool; the first byte chooses the reader. What was read becomes a matrix of runs.
pub fn import(bytes: &[u8]) {
    let Some((way, bytes)) = bytes.split_first() else { return };
    let _ = import::Format::recognise(bytes);
    let files = || vec![("f".to_owned(), Box::new(bytes) as Box<dyn std::io::BufRead>)];
    let pgbench = |format| import::pgbench::join(vec![import::pgbench::part(bytes, "f", format)?]);
    let reading = match way % 7 {
        0 => import::table::Table::read(bytes, "f")
            .and_then(|table| import::table::read(&table, &[], &import::table::ColumnOptions::default())),
        1 => pgbench(import::Format::PgbenchLog),
        2 => pgbench(import::Format::PgbenchAggregate),
        3 => pgbench(import::Format::PgbenchOutput),
        4 => import::fio::read(files()),
        5 => import::hammerdb::read(files()),
        _ => import::hdrlog::read(files(), None),
    };
    match reading {
        Ok(reading) => drop(import::study::matrix(reading, &[])),
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}

pub fn fio_job(bytes: &[u8]) {
    if let Err(error) = disk::baseline::read_fio_job(&String::from_utf8_lossy(bytes)) {
        let _ = error.to_string();
    }
}

/// Parses a script and runs one transaction of it; the length of the text bounds the actions.
pub fn script_text(bytes: &[u8]) {
    let dialect = script::Dialect { engine: "postgres".to_owned(), engines: vec!["postgres".to_owned()] };
    let mut program = script::Program::new(dialect, script::Protocol::Extended);
    if let Err(error) = program.add("script.sql", bytes) {
        assert!(!error.to_string().is_empty());
        return;
    }
    let mut client = script::Client::new(&program, &script::Seeds::new(1, 1), 0, 1);
    client.begin(0);
    let mut sent = Vec::new();
    for _ in 0..=bytes.len() {
        match client.step(&program) {
            Ok(script::Action::Statement { statement, .. }) => {
                sent.clear();
                statement.write(client.variables(), &mut sent);
            }
            Ok(script::Action::Done) => return,
            Ok(_) => {}
            Err(failure) => return assert!(!failure.to_string().is_empty()),
        }
    }
    panic!("a script has more actions than bytes");
}

pub fn http_request(bytes: &[u8]) {
    serve::exercise(bytes);
}

pub fn wire_answer(bytes: &[u8]) {
    lab_postgres::exercise_answers(bytes);
}

/// The first byte chooses the protocol.
pub fn wire_script(bytes: &[u8]) {
    lab_postgres::exercise_scripts(bytes);
}

/// A stored log of transactions, to pgbench's lines and back to the stored form.
pub fn transaction_log(bytes: &[u8]) {
    use results::scripts::transactions::{from_bytes, to_bytes, to_pgbench};
    let Some(transactions) = from_bytes(bytes) else { return };
    let lines = to_pgbench(&transactions, 1_795_400_694_000_000);
    assert_eq!(lines.lines().count(), transactions.len());
    assert_eq!(from_bytes(&to_bytes(&transactions)).as_deref(), Some(transactions.as_slice()));
}
