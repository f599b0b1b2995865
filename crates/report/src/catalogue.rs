//! What each wait means on its engine, which resource it stands for, and where that is written down.
//!
//! The tables are those of the engines (`EngineWaits`), handed in by the program; no engine is known here. A wait that has
//! no entry of its own is explained by its class.

use std::fmt::Write;

use results::EngineId;
use results::observations::{EngineWaits, Limit, WaitClass, WaitEntry, WaitMeaning};

/// Shipped experiments that read rows by keys from differently ordered tables: what to do about reads that wait for the
/// data device.
pub const READERS: [&str; 2] = ["guid-lookup-scan", "guid-lookup-join"];

/// The waits of all engines that a program has.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Catalogue(Vec<&'static EngineWaits>);

impl Catalogue {
    /// The waits of these engines, in the order in which texts and documents list them.
    pub fn new(engines: impl IntoIterator<Item = &'static EngineWaits>) -> Self {
        Self(engines.into_iter().collect())
    }

    /// What a wait of an engine means, by the engine's stored name; `None` for a class or an engine that is not known.
    pub fn meaning(&self, engine: &str, class: &str, name: &str) -> Option<WaitMeaning> {
        self.0.iter().find(|waits| waits.engine.name() == engine)?.meaning(class, name)
    }

    /// All waits with an entry of their own, with their engine.
    pub fn entries(&self) -> impl Iterator<Item = (EngineId, &'static WaitEntry)> {
        self.0.iter().flat_map(|waits| waits.entries.iter().map(|entry| (waits.engine, entry)))
    }

    /// All classes, with their engine.
    pub fn classes(&self) -> impl Iterator<Item = (EngineId, &'static WaitClass)> {
        self.0.iter().flat_map(|waits| waits.classes.iter().map(|entry| (waits.engine, entry)))
    }

    /// The text of `fathom explain WAIT`: every entry of that name, with or without its class before a colon, in any
    /// case; or the class of that name. `None` when there is none.
    pub fn explain(&self, name: &str) -> Option<String> {
        let (class, name) = match name.split_once(':') {
            Some((class, name)) => (Some(class.trim()), name.trim()),
            None => (None, name.trim()),
        };
        let is_class = |entry: &str| class.is_none_or(|class| class.eq_ignore_ascii_case(entry));
        let mut found: Vec<String> = self
            .entries()
            .filter(|(_, entry)| is_class(entry.class) && entry.name.eq_ignore_ascii_case(name))
            .map(|(engine, entry)| {
                let wait = format!("{}:{}", entry.class, entry.name);
                text(engine, &wait, entry.limit, entry.meaning, entry.source)
            })
            .collect();
        if found.is_empty() {
            // A wait without an entry of its own is named with its class; a class can be asked for by itself.
            let asked = class.unwrap_or(name);
            found = self
                .classes()
                .filter(|(_, entry)| entry.class.eq_ignore_ascii_case(asked))
                .map(|(engine, entry)| {
                    text(engine, &format!("any {}", entry.class), entry.limit, entry.meaning, entry.source)
                })
                .collect();
        }
        (!found.is_empty()).then(|| found.join("\n\n"))
    }

    /// All names, for a suggestion when one is mistyped.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        self.entries().map(|(_, entry)| entry.name)
    }

    /// The document `docs/lab/waits.md`, written from the tables.
    pub fn document(&self) -> String {
        let mut text = String::from(BEGINNING);
        self.write_loads(&mut text);
        for waits in &self.0 {
            let _ = write!(
                text,
                "\n## {}\n\n| wait | a session that shows it | stands for | source |\n|---|---|---|---|\n",
                waits.engine.title()
            );
            for entry in waits.entries {
                let (WaitEntry { class, name, meaning, source, .. }, limit) = (entry, entry.limit.words());
                let _ = writeln!(text, "| `{class}:{name}` | {meaning} | {limit} | {source} |");
            }
            for entry in waits.classes {
                let (WaitClass { class, meaning, source, .. }, limit) = (entry, entry.limit.words());
                let _ = writeln!(text, "| any other `{class}` | {meaning} | {limit} | {source} |");
            }
        }
        text
    }

    /// Loads whose limit is known, with what each engine waits in.
    fn write_loads(&self, text: &mut String) {
        let column = |waits: &&EngineWaits| format!(" {} waits in |", waits.engine.title());
        let heads: String = self.0.iter().map(column).collect();
        let _ = writeln!(text, "| load | command |{heads}\n|---|---|{}", "---|".repeat(self.0.len()));
        for (load, command, limit) in LOADS {
            let shown = |waits: &&EngineWaits| {
                let shown = waits.shown_by.iter().find(|(of, _)| *of == limit);
                format!(" {} |", shown.map_or("(not tested)", |(_, wait)| wait))
            };
            let waits: String = self.0.iter().map(shown).collect();
            let _ = writeln!(text, "| {load} | {command} |{waits}");
        }
    }
}

fn text(engine: EngineId, wait: &str, limit: Limit, meaning: &str, source: &str) -> String {
    let mut text = format!("wait {wait} ({engine}): the session {meaning}.\nstands for: {}", limit.words());
    if let Some((experiment, remedy)) = limit.remedy() {
        let _ = write!(text, "\nwould be tested by: fathom run {experiment} ({remedy})");
    }
    let _ = write!(text, "\nsource: {source}");
    text
}

/// How the document begins.
const BEGINNING: &str = "# Waits

What a waiting session does, and which resource the wait stands for. A test writes this page from the tables of the
engines (`EngineWaits`); change those, then run `FATHOM_UPDATE=1 cargo test -p fathom --bins`.
`fathom explain WAIT` prints one entry.

Names are those of the newest version: PostgreSQL 17 renamed some of them.
Idle waits are excluded from wait tables by their class.

## Four loads whose limit is known

The report of each ends, under Reasons, with the sentence that names its limit. On a busy machine the limit may be the
CPUs; the sentence then has the CPU share of other processes.

";

/// Load, command, and its limit.
const LOADS: [(&str, &str, Limit); 4] = [
    ("bound by commits", "`fathom run populate-batch --mini`, batch_size 1", Limit::Log),
    ("bound by a lock", "`fathom run connections-x-waits --mini`, several connections", Limit::Lock),
    ("bound by the data device", "`fathom run guid-lookup-join --mini`", Limit::DataDevice),
    ("bound by CPU", "`fathom run populate-connections --mini --set durability=none`", Limit::Cpu),
];

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::reason::made_up::catalogue;

    #[test]
    fn no_wait_has_two_entries_and_each_has_a_source_and_a_known_class() {
        let catalogue = catalogue();
        for (engine, entry) in catalogue.entries() {
            let is_same = |(other_engine, other): &(EngineId, &WaitEntry)| {
                (*other_engine, other.class, other.name) == (engine, entry.class, entry.name)
            };
            assert_eq!(catalogue.entries().filter(is_same).count(), 1, "{}", entry.name);
            assert!(entry.source.len() > 10 && !entry.meaning.ends_with('.'), "{}", entry.name);
            let is_class =
                |(other, class): (EngineId, &WaitClass)| (other, class.class) == (engine, entry.class);
            assert!(catalogue.classes().any(is_class), "{}", entry.class);
        }
    }

    #[test]
    fn what_a_table_says_of_a_wait_beside_its_meaning_is_about_waits_that_it_has() {
        for waits in catalogue().0 {
            for name in waits.device_work.iter().map(|(_, wait)| wait).chain(waits.reads) {
                let (class, name) = name.split_once(':').unwrap();
                let has = |entry: &&WaitEntry| (entry.class, entry.name) == (class, name);
                assert!(waits.entries.iter().any(|entry| has(&entry)), "{class}:{name}");
            }
        }
    }

    #[test]
    fn a_wait_is_explained_with_and_without_its_class_in_any_case() {
        let explain = |name: &str| catalogue().explain(name);
        let text = explain("WalSync").unwrap();
        assert_eq!(text, [explain("vfs:WalSync").unwrap(), explain("io:walsync").unwrap()].join("\n\n"));
        assert!(text.contains("wait IO:WalSync (postgres): the session "), "{text}");
        assert!(text.contains("fathom run populate-batch"));
        assert_eq!(explain("NoSuchWait"), None);
    }

    #[test]
    fn a_wait_without_an_entry_is_explained_by_its_class() {
        let catalogue = catalogue();
        let text = catalogue.explain("LWLock:BtreeVacuum").unwrap();
        assert!(text.starts_with("wait any LWLock (postgres): "));
        assert_eq!(catalogue.meaning("postgres", "Lock", "userlock").unwrap().limit, Limit::Lock);
        assert_eq!(catalogue.meaning("postgres", "Nonsense", "x"), None);
        assert_eq!(catalogue.meaning("innodb", "Lock", "x"), None);
    }
}
