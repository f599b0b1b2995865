//! What each wait means on its engine, which resource it stands for, and where that is written down.
//!
//! The table is maintained by hand: an entry without a source does not belong here. A wait that has no entry of its own
//! is explained by its class; `docs/lab/waits.md` is written from this table.

use std::fmt::Write;

use results::EngineId;

mod entry;
mod limit;
mod postgres;
mod sqlite;

pub use entry::{ClassEntry, EngineWaits, Entry};
pub use limit::Limit;

/// The engines with waits, in the order of the document.
pub const ENGINES: [EngineWaits; 2] = [postgres::WAITS, sqlite::WAITS];

/// Shipped experiments that read rows by keys from differently ordered tables: what to do about reads that wait for the
/// data device.
pub const READERS: [&str; 2] = ["guid-lookup-scan", "guid-lookup-join"];

/// What is known about a wait: an entry of its own, or its class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Meaning {
    /// What it stands for.
    pub limit: Limit,
    /// What the session is doing, as a clause after "the session".
    pub meaning: &'static str,
    /// Where that is written down.
    pub source: &'static str,
}

/// What a wait of an engine means, by the engine's stored name; `None` for a class or an engine that is not known.
pub fn meaning(engine: &str, class: &str, name: &str) -> Option<Meaning> {
    let is_same = |left: &str, right: &str| left.eq_ignore_ascii_case(right);
    let waits = ENGINES.iter().find(|waits| waits.engine.name() == engine)?;
    let entry = waits.entries.iter().find(|entry| is_same(entry.class, class) && is_same(entry.name, name));
    if let Some(Entry { limit, meaning, source, .. }) = entry {
        return Some(Meaning { limit: *limit, meaning, source });
    }
    let of_class = waits.classes.iter().find(|entry| is_same(entry.class, class));
    of_class.map(|ClassEntry { limit, meaning, source, .. }| Meaning { limit: *limit, meaning, source })
}

/// All waits with an entry of their own, with their engine.
pub fn entries() -> impl Iterator<Item = (EngineId, &'static Entry)> {
    ENGINES.iter().flat_map(|waits| waits.entries.iter().map(|entry| (waits.engine, entry)))
}

/// All classes, with their engine.
fn classes() -> impl Iterator<Item = (EngineId, &'static ClassEntry)> {
    ENGINES.iter().flat_map(|waits| waits.classes.iter().map(|entry| (waits.engine, entry)))
}

/// The text of `fathom explain WAIT`: every entry of that name, with or without its class before a colon, in any
/// case; or the class of that name. `None` when there is none.
pub fn explain(name: &str) -> Option<String> {
    let (class, name) = match name.split_once(':') {
        Some((class, name)) => (Some(class.trim()), name.trim()),
        None => (None, name.trim()),
    };
    let is_class = |entry: &str| class.is_none_or(|class| class.eq_ignore_ascii_case(entry));
    let mut found: Vec<String> = entries()
        .filter(|(_, entry)| is_class(entry.class) && entry.name.eq_ignore_ascii_case(name))
        .map(|(engine, entry)| {
            text(engine, &format!("{}:{}", entry.class, entry.name), entry.limit, entry.meaning, entry.source)
        })
        .collect();
    if found.is_empty() {
        // A wait without an entry of its own is named with its class; a class can be asked for by itself.
        let asked = class.unwrap_or(name);
        found = classes()
            .filter(|(_, entry)| entry.class.eq_ignore_ascii_case(asked))
            .map(|(engine, entry)| {
                text(engine, &format!("any {}", entry.class), entry.limit, entry.meaning, entry.source)
            })
            .collect();
    }
    (!found.is_empty()).then(|| found.join("\n\n"))
}

/// All names, for a suggestion when one is mistyped.
pub fn names() -> impl Iterator<Item = &'static str> {
    entries().map(|(_, entry)| entry.name)
}

fn text(engine: EngineId, wait: &str, limit: Limit, meaning: &str, source: &str) -> String {
    let mut text = format!("wait {wait} ({engine}): the session {meaning}.\nstands for: {}", limit.words());
    if let Some((experiment, remedy)) = limit.remedy() {
        let _ = write!(text, "\nwould be tested by: fathom run {experiment} ({remedy})");
    }
    let _ = write!(text, "\nsource: {source}");
    text
}

/// Loads whose limit is known, to see the sentence that names it.
const MINIATURES: &str = "
## Four loads whose limit is known

Each ends, under Reasons, with the sentence that names its limit; on a machine that others keep busy the answer may be the
CPUs, with the share that other processes had.

| load | command | SQLite waits in | PostgreSQL waits in |
|---|---|---|---|
| bound by commits | `fathom run populate-batch --mini`, batch_size 1 | `vfs:WalSync` | `LWLock:WALWrite`, `IO:WalSync` |
| bound by a lock | `fathom run connections-x-waits --mini`, several connections | `vfs:BusyWait` | (commits share a flush: the log) |
| bound by the data device | `fathom run guid-lookup-join --mini` | `vfs:DataFileRead` | `IO:DataFileRead` |
| bound by CPU | `fathom run populate-connections --mini --set durability=none` | `vfs:BusyWait` (one writer) | none |
";

/// The document `docs/lab/waits.md`, written from the table.
pub fn document() -> String {
    let mut text = String::from(
        "# Waits\n\
         \n\
         What a waiting session does, and which resource the wait stands for. Written from the table in\n\
         `crates/report/src/catalogue` by a test; change that, then run `FATHOM_UPDATE=1 cargo test -p report`.\n\
         `fathom explain WAIT` prints one entry.\n\
         \n\
         Names are those of the newest version: PostgreSQL 17 renamed some of them.\n\
         Idle waits are excluded from wait tables by their class.\n",
    );
    text.push_str(MINIATURES);
    for EngineWaits { title, entries, classes, .. } in ENGINES {
        let _ = write!(
            text,
            "\n## {title}\n\n| wait | a session that shows it | stands for | source |\n|---|---|---|---|\n"
        );
        for entry in entries {
            let _ = writeln!(
                text,
                "| `{}:{}` | {} | {} | {} |",
                entry.class,
                entry.name,
                entry.meaning,
                entry.limit.words(),
                entry.source
            );
        }
        for entry in classes {
            let _ = writeln!(
                text,
                "| any other `{}` | {} | {} | {} |",
                entry.class,
                entry.meaning,
                entry.limit.words(),
                entry.source
            );
        }
    }
    text
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn no_wait_has_two_entries_and_each_has_a_source_and_a_known_class() {
        for (engine, entry) in entries() {
            let is_same = |(other_engine, other): &(EngineId, &Entry)| {
                (*other_engine, other.class, other.name) == (engine, entry.class, entry.name)
            };
            assert_eq!(entries().filter(is_same).count(), 1, "{}", entry.name);
            assert!(entry.source.len() > 10 && !entry.meaning.ends_with('.'), "{}", entry.name);
            let is_class =
                |(other, class): (EngineId, &ClassEntry)| (other, class.class) == (engine, entry.class);
            assert!(classes().any(is_class), "{}", entry.class);
        }
    }

    #[test]
    fn a_wait_is_explained_with_and_without_its_class_in_any_case() {
        let text = explain("WalSync").unwrap();
        assert_eq!(text, [explain("io:walsync").unwrap(), explain("vfs:WalSync").unwrap()].join("\n\n"));
        assert!(text.starts_with("wait IO:WalSync (postgres): the session "), "{text}");
        assert!(text.contains("fathom run populate-batch"));
        assert_eq!(explain("NoSuchWait"), None);
    }

    #[test]
    fn a_wait_without_an_entry_is_explained_by_its_class() {
        assert!(explain("LWLock:BtreeVacuum").unwrap().starts_with("wait any LWLock (postgres): "));
        assert_eq!(meaning("postgres", "Lock", "userlock").unwrap().limit, Limit::Lock);
        assert_eq!(meaning("postgres", "Nonsense", "x"), None);
    }

    #[test]
    fn the_document_of_the_waits_says_what_the_table_says() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/lab/waits.md");
        let wanted = document();
        if std::env::var_os("FATHOM_UPDATE").is_some_and(|value| value == "1") {
            std::fs::write(path, &wanted).unwrap();
        }
        let found = std::fs::read_to_string(path).unwrap_or_default();
        assert!(
            found == wanted,
            "docs/lab/waits.md is out of date: run FATHOM_UPDATE=1 cargo test -p report"
        );
    }
}
