//! Tables, statements and pragmas of the workloads on SQLite.

use lab::work::{Durability, KeyOrder, Work, Workload};

use crate::workload::guid;
use crate::workload::table::{PAGE_SIZE_BYTES, TABLE};

/// Characters of the populate row's wide column: more than half a page, so that one row fills one page.
pub(crate) const WIDE_CHARACTERS: usize = 4100;
/// Characters of the published narrow row's third column.
pub(crate) const NARROW_CHARACTERS: usize = 111;

/// Pragmas that a spec may set under `sqlite.*`, in the order in which they must be set, with SQLite's default.
pub(crate) const PRAGMAS: [(&str, &str); 8] = [
    ("page_size", "4096"),
    ("auto_vacuum", "0"),
    ("journal_mode", "delete"),
    ("synchronous", "2"),
    ("cache_size", "-2000"),
    ("wal_autocheckpoint", "1000"),
    ("mmap_size", "0"),
    ("locking_mode", "normal"),
];

/// Value of each pragma for `work`, in the order in which they must be set.
pub(crate) fn pragma_values(work: &Work) -> Vec<(&'static str, String)> {
    let page_size = setting(work, "page_size").and_then(|text| text.parse().ok()).unwrap_or(PAGE_SIZE_BYTES);
    PRAGMAS
        .iter()
        .map(|&(name, default)| {
            let derived = match name {
                "page_size" => PAGE_SIZE_BYTES.to_string(),
                "journal_mode" => "wal".to_owned(),
                "synchronous" => synchronous(work.durability).to_owned(),
                "cache_size" => work
                    .buffer_pool_mib
                    .map_or(default.to_owned(), |mebibytes| format!("-{}", mebibytes * 1024)),
                "wal_autocheckpoint" => work.log_size_mib.map_or(default.to_owned(), |mebibytes| {
                    (mebibytes * 1024 * 1024 / page_size).to_string()
                }),
                _ => default.to_owned(),
            };
            (name, setting(work, name).map_or(derived, str::to_lowercase))
        })
        .collect()
}

/// Must every connection set this pragma again? The others are properties of the file; so is the journal mode only
/// when it is `wal`.
pub(crate) fn belongs_to_connection(name: &str, value: &str) -> bool {
    match name {
        "journal_mode" => value != "wal",
        "synchronous" | "cache_size" | "wal_autocheckpoint" | "mmap_size" | "locking_mode" => true,
        _ => false,
    }
}

/// Begins a transaction of several rows.
pub(crate) const BEGIN: &str = "BEGIN IMMEDIATE";

/// Ends it.
pub(crate) const COMMIT: &str = "COMMIT";

/// Who sets a pragma: the experiment, one of its parameters, or fathom.
pub(crate) fn source_of(work: &Work, pragma: &str) -> &'static str {
    match pragma {
        _ if setting(work, pragma).is_some() => "experiment",
        "synchronous" => "parameter durability",
        "cache_size" => "parameter buffer_pool_mib",
        "wal_autocheckpoint" => "parameter log_size_mib",
        _ => "fathom",
    }
}

/// Settings of fathom's own under `sqlite.*`, with what they may be; the first word is the default.
pub(crate) const OWN_SETTINGS: [(&str, [&str; 2]); 2] = [
    // Which table of functions SQLite calls: the one that times and counts, or SQLite's own, to price the former.
    ("vfs", ["timed", "plain"]),
    // Holds a reading transaction open for the whole run, so that no checkpoint copies anything and the log grows.
    ("reader_blocks_checkpoint", ["false", "true"]),
];

/// Is this setting of fathom's own at the other word than its default?
fn is_switched(work: &Work, name: &str) -> bool {
    let words = OWN_SETTINGS.iter().find(|(own, _)| *own == name).map(|(_, words)| words);
    words.is_some_and(|words| setting(work, name) == Some(words[1]))
}

/// Do the connections go through the VFS that times and counts?
pub(crate) fn is_timed(work: &Work) -> bool {
    !is_switched(work, "vfs")
}

/// Does a reader hold the log back?
pub(crate) fn reader_blocks_checkpoint(work: &Work) -> bool {
    is_switched(work, "reader_blocks_checkpoint")
}

/// Value of one pragma for `work`.
pub(crate) fn pragma_value(work: &Work, name: &str) -> String {
    pragma_values(work)
        .into_iter()
        .find(|(known, _)| *known == name)
        .map_or(String::new(), |(_, value)| value)
}

/// Why a setting under `sqlite.*` cannot be; `None` when all are known.
pub(crate) fn conflict(work: &Work) -> Option<(String, String)> {
    for (name, value) in &work.settings {
        if let Some((_, words)) = OWN_SETTINGS.iter().find(|(own, _)| own == name) {
            if !words.contains(&value.as_str()) {
                let text = format!("cannot set sqlite.{name} to {value}: it is a switch of fathom's own");
                return Some((text, format!("use {} or {}", words[0], words[1])));
            }
        } else if !PRAGMAS.iter().any(|(known, _)| known == name) {
            let own = OWN_SETTINGS.iter().map(|(own, _)| *own);
            let known: Vec<_> = PRAGMAS.iter().map(|(known, _)| *known).chain(own).collect();
            return Some((
                format!("cannot set sqlite.{name}: it is not a pragma that an experiment may vary"),
                format!("use one of {}", known.join(", ")),
            ));
        }
    }
    None
}

fn setting<'a>(work: &'a Work, name: &str) -> Option<&'a str> {
    work.settings.get(name).map(String::as_str)
}

/// In WAL mode `normal` syncs at checkpoints only: a crash may lose the last transactions, not consistency.
fn synchronous(durability: Durability) -> &'static str {
    match durability {
        Durability::Full => "2",
        Durability::Relaxed => "1",
        Durability::None => "0",
    }
}

/// Statements that make the empty table and its indexes.
pub(crate) fn create_statements(work: &Work) -> Vec<String> {
    let extra: String =
        (1..=work.secondary_indexes).map(|n| format!(", k{n} INTEGER NOT NULL DEFAULT (random())")).collect();
    let table = match (work.workload, work.key) {
        (Workload::GuidPopulate, _) => guid::create_table(work, TABLE),
        (Workload::Populate, KeyOrder::Sequential) => format!(
            "CREATE TABLE {TABLE} (c1 INTEGER PRIMARY KEY, c2 TEXT NOT NULL DEFAULT '{}'{extra})",
            padded(WIDE_CHARACTERS)
        ),
        // A tree without rowid would move the wide column to overflow pages: table plus unique index keeps
        // one row per page.
        (Workload::Populate, KeyOrder::Random) => format!(
            "CREATE TABLE {TABLE} (c1 BLOB NOT NULL UNIQUE, c2 TEXT NOT NULL DEFAULT '{}'{extra})",
            padded(WIDE_CHARACTERS)
        ),
        (Workload::RandomInsert, _) => format!(
            "CREATE TABLE {TABLE} (c1 BLOB PRIMARY KEY, c2 TEXT NOT NULL DEFAULT CURRENT_TIMESTAMP, \
             c3 TEXT NOT NULL DEFAULT '{}', c4 INTEGER NOT NULL DEFAULT 1, c5 INTEGER NOT NULL DEFAULT 2, \
             c6 INTEGER NOT NULL DEFAULT 42{extra}) WITHOUT ROWID",
            padded(NARROW_CHARACTERS)
        ),
        _ => return Vec::new(),
    };
    let indexes =
        (1..=work.secondary_indexes).map(|n| format!("CREATE INDEX {TABLE}_k{n} ON {TABLE} (k{n})"));
    std::iter::once(table).chain(indexes).collect()
}

/// The statement that a client repeats; takes the key as its only parameter where it has one.
pub(crate) fn row_statement(work: &Work) -> String {
    match work.workload {
        workload if !workload.adds_rows() => "SELECT 1".to_owned(),
        _ if work.is_one_load() => guid::load_statement(),
        _ if takes_key(work) => format!("INSERT INTO {TABLE} (c1) VALUES (?1)"),
        _ => format!("INSERT INTO {TABLE} DEFAULT VALUES"),
    }
}

/// Does the client make the key (true) or the engine (false)?
pub(crate) fn takes_key(work: &Work) -> bool {
    match work.workload {
        Workload::Populate => work.key == KeyOrder::Random,
        Workload::RandomInsert => true,
        Workload::GuidPopulate => !work.is_one_load(),
        _ => false,
    }
}

/// Bytes of user data in one row: a lower bound for what the engine must write per row.
pub(crate) fn payload_bytes_per_row(work: &Work) -> u64 {
    match work.workload {
        Workload::GuidPopulate => guid::WIDE_CHARACTERS as u64 + 16,
        Workload::Populate => WIDE_CHARACTERS as u64,
        Workload::RandomInsert => NARROW_CHARACTERS as u64 + 16,
        _ => 0,
    }
}

fn padded(characters: usize) -> String {
    format!("{:<characters$}", "a")
}
