//! Every fault in every kind of file, and what the check must say.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};

use skips::{Capability, skip};

use crate::answer::{Answer, check};
use crate::cells::{Cell, Database, EINTR, EIO, Seen, cells_of, wanted};
use crate::fault::Fault;
use crate::mount::Mount;

/// Checks that run at this moment, of all tests.
static RUNNING: Mutex<usize> = Mutex::new(0);
static ENDED: Condvar = Condvar::new();

/// Runs the cells of a database; fails with a table of those that are not as they must be.
pub(crate) fn run(database: &Database) {
    let Some(mount) = mounted(database) else { return };
    let mut cells: Vec<Cell> = Vec::new();
    let met = met(&mount, database);
    for (number, kind) in database.kinds.iter().enumerate() {
        let met_count = met.get(&kind.path).copied().unwrap_or(0);
        cells.extend(wanted(database, number, cells_of(database, kind, met_count)));
    }
    drop(mount);
    let failures = Mutex::new(Vec::new());
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..worker_count() {
            scope.spawn(|| {
                let Some(mount) = mounted(database) else { return };
                while let Some(cell) = cells.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let failure = in_turn(|| failure(database, &mount, cell));
                    failures.lock().unwrap().extend(failure);
                }
            });
        }
    });
    let mut failures = failures.into_inner().unwrap();
    failures.sort();
    eprintln!("{}: {} cells", database.engine, cells.len());
    let (count, table) = (failures.len(), failures.join("\n"));
    assert!(failures.is_empty(), "{count} of {} cells of {}:\n{table}", cells.len(), database.engine);
    assert!(!cells.is_empty() || std::env::var_os("FATHOM_FAULTS").is_some());
}

/// Runs one cell; gives a line when the answer is none of those that the fault allows.
fn failure(database: &Database, mount: &Mount, cell: &Cell<'_>) -> Option<String> {
    mount.plan(Some(cell.planned.clone()));
    let answer = check(database, mount.path());
    let (open_count, read_count) = mount.counts();
    let name = cell.name(database.engine);
    if std::env::var("FATHOM_FAULTS").is_ok_and(|words| words != "all") {
        eprintln!("{name}\n{}", answer.words);
    }
    let why = judge(database, cell, &answer, open_count, read_count).err()?;
    let line = format!(
        "{name:<70} {why}; exit {:?}, opened {open_count}, read {read_count}, {:?}: {}",
        answer.code.unwrap_or(-1),
        answer.rules(),
        answer.reason()
    );
    // At once as well: a run of the whole matrix may be ended before its table.
    eprintln!("{line}");
    Some(line)
}

/// How often each file is opened and read in a check without faults.
fn met(mount: &Mount, database: &Database) -> HashMap<PathBuf, u64> {
    mount.plan(None);
    let clean = in_turn(|| check(database, mount.path()));
    let expected = (Some(database.clean_code), 0);
    assert_eq!((clean.code, clean.findings.len()), expected, "without a fault: {}", clean.words);
    mount.met()
}

/// The directory of a database as a file system; `None`, said loudly, where there is no FUSE.
fn mounted(database: &Database) -> Option<Mount> {
    let fragile = database.kinds.iter().map(|kind| kind.path.clone()).collect();
    match Mount::new(&database.directory, fragile) {
        Ok(mount) => Some(mount),
        Err(error) => {
            let kinds: Vec<&str> = database.kinds.iter().map(|kind| kind.name).collect();
            let reason = format!(
                "faults in reads of {} ({}): FUSE cannot be mounted: {error}; it needs /dev/fuse, and root or the program fusermount3",
                database.engine,
                kinds.join(", ")
            );
            skip(Capability::Fuse, reason);
            assert!(std::env::var_os("FATHOM_FAULTS").is_none(), "FATHOM_FAULTS demands FUSE: {error}");
            None
        }
    }
}

fn worker_count() -> usize {
    std::thread::available_parallelism().map_or(2, std::num::NonZero::get).min(4)
}

/// Runs no more checks at the same time than there are CPUs.
fn in_turn<T>(work: impl FnOnce() -> T) -> T {
    let lock = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
    let mut running =
        ENDED.wait_while(lock, |count| *count >= worker_count()).unwrap_or_else(PoisonError::into_inner);
    *running += 1;
    drop(running);
    let outcome = work();
    *RUNNING.lock().unwrap_or_else(PoisonError::into_inner) -= 1;
    ENDED.notify_one();
    outcome
}

/// Whether an answer is one of those that the fault allows.
fn judge(
    database: &Database,
    cell: &Cell<'_>,
    answer: &Answer,
    open_count: u64,
    read_count: u64,
) -> Result<(), &'static str> {
    let is_silent = answer.findings.is_empty();
    let is_clean = is_silent && answer.code == Some(database.clean_code);
    demand(matches!(answer.code, Some(0..=2)), "it did not end as a check does")?;
    demand(answer.is_balanced, "the accounting is not balanced")?;
    demand(is_silent || answer.code != Some(0), "a finding with exit status 0")?;
    demand(!is_silent || answer.code != Some(1), "exit status 1 without a finding")?;
    match &cell.planned.fault {
        Fault::Short { .. } | Fault::ReadError { errno: EINTR, times: 1 } => {
            demand(is_clean, "a short reading is repeated")
        }
        Fault::ReadError { errno: EIO, times: 1 } => {
            demand(is_silent, "an error that went away is no finding")
        }
        Fault::ReadError { errno: EIO, .. } if read_count > 0 => unreadable(cell, answer),
        Fault::ReadError { errno, .. } if *errno != EIO && read_count > 0 => could_not_finish(cell, answer),
        Fault::EachReading | Fault::EveryOther | Fault::FirstOnly => {
            let is_other = answer.rules().iter().any(|rule| !rule.ends_with("readings-differ"));
            demand(!is_other, "readings that differ are no other finding")?;
            let is_seen =
                cell.kind.is_protected && read_count > 1 && cell.planned.fault == Fault::EachReading;
            demand(!is_seen || answer.code != Some(0), "readings that differ are not clean")
        }
        Fault::OpenError { from, .. } if open_count > *from => could_not_finish(cell, answer),
        Fault::ListError { errno: EIO, .. } if open_count > 0 => unreadable(cell, answer),
        Fault::ListError { .. } if open_count > 0 => could_not_finish(cell, answer),
        Fault::Cut { after, .. } | Fault::Removed { after } | Fault::Replaced { after }
            if open_count + read_count > *after =>
        {
            if cell.kind.may_go && is_silent {
                return Ok(());
            }
            demand(is_silent, "a file that changed during the check is no finding")?;
            demand(answer.code == Some(2), "the check could not finish")
        }
        Fault::Torn { .. } | Fault::Stale { .. } if read_count > 0 => older(cell, answer),
        _ => demand(is_clean, "the fault was not met"),
    }
}

/// A device that has the bytes no more: named, never clean, and nothing that follows from it is certain.
fn unreadable(cell: &Cell<'_>, answer: &Answer) -> Result<(), &'static str> {
    demand(answer.code != Some(0), "an unreadable page is not clean")?;
    let is_unreadable = |rule: &str| rule.ends_with("unreadable") || rule.ends_with("read-error");
    let is_other = answer.findings.iter().any(|found| found.is_certain && !is_unreadable(&found.rule));
    demand(!is_other, "what follows from an unreadable page is not certain")?;
    // A tar file is named by its member.
    let is_member = cell.kind.name.starts_with("archive");
    let is_part = |file: &str| is_member || is_of(cell, file);
    let is_named = answer.findings.iter().any(|found| is_part(&found.file)) || is_named(cell, answer);
    demand(is_named, "the file that cannot be read is not named")
}

fn could_not_finish(cell: &Cell<'_>, answer: &Answer) -> Result<(), &'static str> {
    demand(answer.findings.is_empty(), "an error of the environment is no finding")?;
    demand(answer.code == Some(2), "the check could not finish")?;
    demand(is_named(cell, answer), "the file that cannot be read is not named")
}

/// A page that is older than the rest, whole or in part: what is certain is about its own object.
fn older(cell: &Cell<'_>, answer: &Answer) -> Result<(), &'static str> {
    let is_torn = matches!(cell.planned.fault, Fault::Torn { .. });
    let seen = if is_torn { cell.kind.torn } else { cell.kind.stale };
    // The first page of these is a meta page, whose counts and cached pages are advice.
    let is_advice = !is_torn && cell.position == "first" && matches!(cell.kind.name, "gin" | "spgist");
    demand(seen != Seen::Found || is_advice || answer.code == Some(1), "an older page is not found")?;
    demand(seen != Seen::Silent || answer.code == Some(0), "this page is advice, or not read")?;
    let is_elsewhere = |file: &str| {
        !is_of(cell, file) && !cell.kind.kin.iter().any(|kin| kin == "*" || file.contains(kin.as_str()))
    };
    let is_other = answer.findings.iter().any(|found| found.is_certain && is_elsewhere(&found.file));
    demand(!is_other, "an older page accuses another object with certainty")
}

/// Whether a finding is about the file of the fault.
fn is_of(cell: &Cell<'_>, file: &str) -> bool {
    let path = cell.planned.path.to_str().unwrap_or_default();
    // pg_tblspc/OID is a link: the file has a name on either side of it.
    let behind_link = file.split_once("pg_tblspc/").and_then(|(_, rest)| Some(rest.split_once('/')?.1));
    file.ends_with(path) || path.ends_with(file) || behind_link.is_some_and(|below| path.ends_with(below))
}

fn is_named(cell: &Cell<'_>, answer: &Answer) -> bool {
    let name = cell.planned.path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    answer.unfinished.contains(&name)
}

fn demand(holds: bool, why: &'static str) -> Result<(), &'static str> {
    if holds { Ok(()) } else { Err(why) }
}
