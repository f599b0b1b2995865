//! Colours of waits, the same on every page: one for each class of waits, in shades for the types of a class.
//!
//! The class is what a session waits for, whatever the engine calls it: the log, data files, locks, latches. So WAL flushes have one
//! colour on SQLite and on PostgreSQL, in a study and in a comparison.

use std::collections::BTreeSet;

/// Shades of the colour of a class.
const SHADES: usize = 4;

/// Classes of the style sheet (`assets/chart.css`), each with its shades, the strongest first.
const CLASSES: [[&str; SHADES]; 8] = [
    ["0", "0b", "0c", "0d"],
    ["1", "1b", "1c", "1d"],
    ["2", "2b", "2c", "2d"],
    ["3", "3b", "3c", "3d"],
    ["4", "4b", "4c", "4d"],
    ["5", "5b", "5c", "5d"],
    ["6", "6b", "6c", "6d"],
    ["7", "7b", "7c", "7d"],
];

const LOG: usize = 0;
const LATCH: usize = 1;
const DATA: usize = 2;
const LOCK: usize = 3;
const UNKNOWN: usize = 4;
const OTHERS: usize = 5;
const PROCESS: usize = 6;

/// Types that have a shade of their own, so that it does not depend on the others of a picture.
const KNOWN: [(&str, usize); 21] = [
    ("LWLock:WALWrite", 3),
    ("WalSync", 0),
    ("WALSync", 0),
    ("WRITELOG", 0),
    ("JournalSync", 0),
    ("WalWrite", 1),
    ("WALWrite", 1),
    ("JournalWrite", 1),
    ("WALInsert", 2),
    ("DataFileRead", 0),
    ("DataFileWrite", 1),
    ("DataFileExtend", 2),
    ("DataFileSync", 3),
    ("DataFileFlush", 3),
    ("BufferContent", 0),
    ("BufferMapping", 1),
    ("transactionid", 0),
    ("BusyWait", 0),
    ("extend", 1),
    ("tuple", 2),
    ("relation", 3),
];

/// The colour of each part, in the order of the names; what a session does when it does not wait has one as well.
pub(crate) fn colours(names: &[String]) -> Vec<&'static str> {
    let mut taken: BTreeSet<(usize, usize)> = BTreeSet::new();
    let mut colours = vec![None; names.len()];
    // Types with a shade of their own first: the others take what is left.
    for is_known_turn in [true, false] {
        for (name, colour) in names.iter().zip(&mut colours) {
            let known = shade(name);
            if colour.is_some() || known.is_some() != is_known_turn {
                continue;
            }
            *colour = Some(match without_wait(name) {
                Some(colour) => colour,
                None => {
                    let class = class(name);
                    let first = known.unwrap_or(0);
                    let mut shades = (first..SHADES).chain(0..first);
                    let shade = shades.find(|shade| !taken.contains(&(class, *shade))).unwrap_or(first);
                    taken.insert((class, shade));
                    CLASSES[class][shade]
                }
            });
        }
    }
    colours.into_iter().map(|colour| colour.unwrap_or(CLASSES[UNKNOWN][0])).collect()
}

/// The colour of time in which a session did not wait for the engine.
fn without_wait(name: &str) -> Option<&'static str> {
    let lower = name.to_ascii_lowercase();
    if lower.starts_with("no wait") {
        return Some("run");
    }
    (lower == "idle" || lower.starts_with("client")).then_some("idle")
}

fn shade(name: &str) -> Option<usize> {
    let (_, wait) = parts(name);
    let is_it = |known: &str| known == wait || name.starts_with(known) && known.contains(':');
    KNOWN.iter().find(|(known, _)| is_it(known)).map(|(_, shade)| *shade)
}

/// `LWLock` and `BufferContent`, also of `LWLock:BufferContent: leaf`; a type without a class is its own name.
fn parts(name: &str) -> (&str, &str) {
    let wait = name.split(": ").next().unwrap_or(name);
    wait.split_once(':').unwrap_or(("", wait))
}

/// What a session waits for.
fn class(name: &str) -> usize {
    let (class, wait) = parts(name);
    let is_log = ["Wal", "WAL", "Journal", "WRITELOG", "LOG"].iter().any(|begin| wait.starts_with(begin));
    let is_lock =
        class == "Lock" || wait.starts_with("LCK_") || ["FileLock", "FileUnlock", "BusyWait"].contains(&wait);
    let is_latch =
        class == "LWLock" || ["Shm", "LATCH_", "PAGELATCH"].iter().any(|begin| wait.starts_with(begin));
    let is_data =
        ["IO", "vfs"].contains(&class) || ["PAGEIOLATCH", "IO_"].iter().any(|begin| wait.starts_with(begin));
    match class {
        _ if name.to_ascii_lowercase().starts_with("other") => OTHERS,
        _ if is_log => LOG,
        _ if is_lock => LOCK,
        _ if is_latch => LATCH,
        _ if is_data => DATA,
        "IPC" | "BufferPin" | "Extension" | "Timeout" | "Activity" => PROCESS,
        _ => UNKNOWN,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(names: &[&str]) -> Vec<&'static str> {
        colours(&names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn a_wait_has_the_same_colour_whatever_stands_beside_it() {
        let one =
            of(&["vfs:WalSync", "vfs:BusyWait", "Client (idle)", "vfs:WalWrite", "no wait", "other waits"]);
        assert_eq!(one, ["0", "3", "idle", "0b", "run", "5"]);
        let other =
            of(&["vfs:BusyWait", "Client (idle)", "vfs:WalWrite", "no wait: ran or runnable", "other"]);
        assert_eq!(other, ["3", "idle", "0b", "run", "5"]);
        assert_eq!(of(&["IO:WalWrite", "LWLock:WALWrite"]), ["0b", "0d"]);
        assert_eq!(of(&["IO:WalSync", "LWLock:WALInsert", "IO:DataFileRead"]), ["0", "0c", "2"]);
        assert_eq!(
            of(&["LWLock:BufferContent", "Lock:transactionid", "IPC:ProcArrayGroupUpdate"]),
            ["1", "3", "6"]
        );
        assert_eq!(of(&["LWLock:BufferContent: leaf"]), of(&["LWLock:BufferContent"]));
        assert_eq!(of(&["WRITELOG", "LCK_M_X", "PAGEIOLATCH_SH", "PAGELATCH_EX"]), ["0", "3", "2", "1"]);
    }

    #[test]
    fn types_of_one_class_differ_in_shade_and_those_that_are_known_keep_theirs() {
        let many =
            of(&["LWLock:LockManager", "LWLock:BufferMapping", "LWLock:XidGen", "LWLock:BufferContent"]);
        assert_eq!(many, ["1c", "1b", "1d", "1"]);
        let distinct: BTreeSet<&str> = many.into_iter().collect();
        assert_eq!(distinct.len(), 4);
        // More types than shades: the colour of the class remains.
        assert!(of(&["a", "b", "c", "d", "e"]).iter().all(|colour| colour.starts_with('4')));
    }
}
