//! Every fault in every kind of file, and what the check must say.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::fault::{Fault, Planned};
use crate::mount::Mount;

const EIO: i32 = 5;
const EINTR: i32 = 4;
const ENOMEM: i32 = 12;
const EACCES: i32 = 13;
const ENFILE: i32 = 23;
const EMFILE: i32 = 24;

/// A kind of file of a database.
#[derive(Clone, Debug)]
pub(crate) struct Kind {
    pub(crate) name: &'static str,
    /// Below the directory that is mounted.
    pub(crate) path: PathBuf,
    pub(crate) page_bytes: u64,
    /// The byte of a page that readings change.
    pub(crate) byte: u64,
    /// Whether a changed byte there is seen at one reading: a checksum, or a header that nothing fits any more.
    pub(crate) is_protected: bool,
}

/// A database that is in order.
pub(crate) struct Database {
    pub(crate) engine: &'static str,
    /// The directory that is mounted.
    pub(crate) directory: PathBuf,
    /// What is checked, below it; empty: the directory itself.
    pub(crate) targets: Vec<PathBuf>,
    pub(crate) kinds: Vec<Kind>,
}

/// One place of the matrix.
struct Cell<'a> {
    kind: &'a Kind,
    position: &'static str,
    planned: Planned,
}

/// What a check said.
struct Answer {
    code: Option<i32>,
    rules: BTreeSet<String>,
    /// Rules of findings that are called certain.
    certain: BTreeSet<String>,
    is_balanced: bool,
    words: String,
}

/// Runs all cells of a database; fails with a table of those that are not as they must be.
pub(crate) fn run(database: &Database, wanted: impl Fn(&Kind, &str, &Fault) -> bool) {
    let cells: Vec<Cell> = database
        .kinds
        .iter()
        .flat_map(|kind| cells_of(database, kind, met_count(database, kind)))
        .filter(|cell| wanted(cell.kind, cell.position, &cell.planned.fault))
        .filter(|cell| {
            // One cell or some of them, while a fault is looked into.
            let only = std::env::var("FATHOM_FAULTS").unwrap_or_default();
            only.split(' ').all(|word| cell.name(database.engine).contains(word))
        })
        .collect();
    let failures = Mutex::new(Vec::new());
    let next = AtomicUsize::new(0);
    let workers = std::thread::available_parallelism().map_or(2, std::num::NonZero::get).min(4);
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                let mount = mounted(database);
                while let Some(cell) = cells.get(next.fetch_add(1, Ordering::Relaxed)) {
                    mount.plan(Some(cell.planned.clone()));
                    let answer = check(database, mount.path());
                    let (open_count, read_count) = mount.counts();
                    if std::env::var_os("FATHOM_FAULTS").is_some() {
                        eprintln!("{}\n{}", cell.name(database.engine), answer.words);
                    }
                    if let Err(why) = judge(cell, &answer, open_count, read_count) {
                        let line = format!(
                            "{:<70} {why}; exit {:?}, opened {open_count}, read {read_count}, {:?}: {}",
                            cell.name(database.engine),
                            answer.code.unwrap_or(-1),
                            answer.rules,
                            answer.reason()
                        );
                        failures.lock().unwrap().push(line);
                    }
                }
            });
        }
    });
    let mut failures = failures.into_inner().unwrap();
    failures.sort();
    assert!(
        failures.is_empty(),
        "{} of {} cells of {}:\n{}",
        failures.len(),
        cells.len(),
        database.engine,
        failures.join("\n")
    );
    assert!(!cells.is_empty());
}

/// How often a file is opened and read in a check without faults.
fn met_count(database: &Database, kind: &Kind) -> u64 {
    let mount = mounted(database);
    let fault = Fault::Removed { after: u64::MAX };
    mount.plan(Some(Planned { path: kind.path.clone(), range: 0..0, byte: 0, fault }));
    let clean = check(database, mount.path());
    assert_eq!((clean.code, clean.rules.len()), (Some(0), 0), "without a fault: {}", clean.words);
    let (open_count, read_count) = mount.counts();
    open_count + read_count
}

fn mounted(database: &Database) -> Mount {
    let fragile = database.kinds.iter().map(|kind| kind.path.clone()).collect();
    Mount::new(&database.directory, fragile).unwrap_or_else(|error| {
        panic!("FUSE cannot be mounted ({error}): faults need /dev/fuse, and root or the program fusermount3")
    })
}

impl Cell<'_> {
    fn name(&self, engine: &str) -> String {
        let fault = format!("{:?}", self.planned.fault);
        format!(
            "{engine} | {} | {} | {}",
            self.kind.name,
            self.position,
            fault.chars().take(40).collect::<String>()
        )
    }
}

impl Answer {
    fn reason(&self) -> String {
        let line = self.words.lines().find(|line| line.contains("could not") || line.contains("error"));
        line.unwrap_or_default().chars().take(230).collect()
    }
}

fn cells_of<'a>(database: &Database, kind: &'a Kind, met_count: u64) -> Vec<Cell<'a>> {
    let length = std::fs::metadata(database.directory.join(&kind.path)).unwrap().len();
    let pages = (length / kind.page_bytes).max(1);
    let mut positions = vec![("first", 0)];
    if pages > 2 {
        positions.push(("middle", pages / 2));
    }
    if pages > 1 {
        positions.push(("last", pages - 1));
    }
    let mut cells = Vec::new();
    for (position, page) in positions {
        let range = page * kind.page_bytes..((page + 1) * kind.page_bytes).min(length);
        for fault in page_faults(kind.page_bytes) {
            let byte = kind.byte.min(range.end - range.start - 1);
            let planned = Planned { path: kind.path.clone(), range: range.clone(), byte, fault };
            cells.push(Cell { kind, position, planned });
        }
    }
    for fault in file_faults(length, met_count) {
        let planned = Planned { path: kind.path.clone(), range: 0..length, byte: 0, fault };
        cells.push(Cell { kind, position: "file", planned });
    }
    cells
}

fn page_faults(page_bytes: u64) -> Vec<Fault> {
    vec![
        Fault::Short { bytes: 512 },
        Fault::ReadError { errno: EIO, times: u64::MAX },
        Fault::ReadError { errno: EIO, times: 1 },
        Fault::ReadError { errno: EINTR, times: 1 },
        Fault::ReadError { errno: EINTR, times: u64::MAX },
        Fault::ReadError { errno: ENOMEM, times: u64::MAX },
        Fault::EachReading,
        Fault::EveryOther,
        Fault::FirstOnly,
        Fault::Torn,
        Fault::Stale { bytes: vec![0; page_bytes as usize] },
    ]
}

/// `met_count`: openings and readings of the file in a check without faults.
fn file_faults(length: u64, met_count: u64) -> Vec<Fault> {
    let mut faults = Vec::new();
    // Not before the check: what a file is, is told by its first bytes.
    for after in [met_count / 2, met_count * 9 / 10] {
        faults.push(Fault::Cut { bytes: length / 2, after });
        faults.push(Fault::Removed { after });
        faults.push(Fault::Replaced { after });
    }
    for errno in [EACCES, EMFILE, ENFILE, ENOMEM] {
        for from in [0, 2] {
            faults.push(Fault::OpenError { errno, from });
        }
    }
    faults
}

/// Whether an answer is one of those that the fault allows.
fn judge(cell: &Cell<'_>, answer: &Answer, open_count: u64, read_count: u64) -> Result<(), &'static str> {
    let none_but = |allowed: &str| answer.rules.iter().all(|rule| rule.ends_with(allowed));
    let is_silent = answer.rules.is_empty();
    let demand = |holds: bool, why| if holds { Ok(()) } else { Err(why) };
    demand(matches!(answer.code, Some(0..=2)), "it did not end as a check does")?;
    demand(answer.is_balanced, "the accounting is not balanced")?;
    match &cell.planned.fault {
        Fault::Short { .. } | Fault::ReadError { errno: EINTR, times: 1 } => {
            demand(is_silent && answer.code == Some(0), "a short reading is repeated")
        }
        Fault::ReadError { errno: EIO, times: 1 } => {
            demand(is_silent, "an error that went away is no finding")
        }
        Fault::ReadError { errno: EIO, .. } if read_count > 0 => {
            demand(answer.code != Some(0), "an unreadable page is not clean")?;
            let is_unreadable = |rule: &str| rule.ends_with("unreadable") || rule.ends_with("read-error");
            let others = answer.certain.iter().filter(|rule| !is_unreadable(rule)).count();
            demand(others == 0, "what follows from an unreadable page is not certain")
        }
        Fault::ReadError { errno, .. } if *errno != EIO && read_count > 0 => {
            demand(is_silent, "an error of the environment is no finding")?;
            demand(answer.code == Some(2), "the check could not finish")
        }
        Fault::EachReading | Fault::EveryOther | Fault::FirstOnly => {
            demand(none_but("readings-differ"), "readings that differ are no other finding")?;
            let is_seen =
                cell.kind.is_protected && read_count > 1 && cell.planned.fault == Fault::EachReading;
            demand(!is_seen || answer.code != Some(0), "readings that differ are not clean")
        }
        Fault::OpenError { from, .. } if open_count > *from => {
            demand(is_silent, "an error of the environment is no finding")?;
            demand(answer.code == Some(2), "the check could not finish")
        }
        Fault::Cut { after, .. } | Fault::Removed { after } | Fault::Replaced { after }
            if open_count + read_count > *after =>
        {
            // A rollback journal may come and go. A database that stays truncated is read a second time, and is.
            let is_truncated =
                matches!(cell.planned.fault, Fault::Cut { .. }) && none_but("sqlite-file-size");
            if cell.kind.name == "journal" && is_silent || is_truncated && answer.code == Some(1) {
                return Ok(());
            }
            demand(is_silent, "a file that changed during the check is no finding")?;
            demand(answer.code == Some(2), "the check could not finish")
        }
        Fault::Torn | Fault::Stale { .. } => Ok(()),
        _ => demand(is_silent && answer.code == Some(0), "the fault was not met"),
    }
}

fn check(database: &Database, mounted: &Path) -> Answer {
    let mut targets: Vec<PathBuf> = database.targets.iter().map(|target| mounted.join(target)).collect();
    if targets.is_empty() {
        targets.push(mounted.to_path_buf());
    }
    // A check that hangs is a failure of its cell, not of the suite.
    let output = Command::new("timeout")
        .args(["-s", "KILL", "30", env!("CARGO_BIN_EXE_fathom")])
        .args(["check", "--json", "--no-store", "-j", "2"])
        .args(&targets)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let (out, error) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    let mut answer = Answer {
        code: output.status.code(),
        rules: BTreeSet::new(),
        certain: BTreeSet::new(),
        is_balanced: true,
        words: String::new(),
    };
    for line in out.lines() {
        let line: serde_json::Value = serde_json::from_str(line).unwrap();
        match line["kind"].as_str() {
            Some("finding") => {
                let rule = line["rule"].as_str().unwrap().to_owned();
                if line["confidence"] == "certain" {
                    answer.certain.insert(rule.clone());
                }
                answer.rules.insert(rule);
                answer.words.push_str(&format!(
                    "finding: {} {} {} {} found {}\n",
                    line["file"], line["page"], line["rule"], line["object"], line["found"]
                ));
            }
            Some("summary") => {
                let accounting = &line["accounting"];
                let count = |name: &str| accounting[name].as_u64().unwrap_or(0);
                let skipped = accounting["skipped"].as_array().unwrap();
                let skipped: u64 = skipped.iter().filter_map(|entry| entry["page_count"].as_u64()).sum();
                let classes =
                    ["clean_count", "damaged_count", "affected_count", "unreadable_count", "unreached_count"];
                answer.is_balanced = count("page_count") == skipped + classes.map(count).iter().sum::<u64>();
                answer.words.push_str(&format!("could not finish: {}\n", line["unfinished"]));
                answer.words.push_str(&format!("accounting: {accounting}\n"));
            }
            _ => {}
        }
    }
    answer.words.push_str(&error);
    answer
}
