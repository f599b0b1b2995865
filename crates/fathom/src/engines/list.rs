//! The engines of this program: the only list.

use std::fmt::Write;
use std::path::Path;

use anyhow::{Context, anyhow};
use check::drill::DrillClass;
use check::engine::Probe;
use check::rule::RuleBook;
use lab::engine::{Driver, driver_of_address};
use report::catalogue::Catalogue;
use results::EngineId;

/// Engines of the laboratory, in the order in which messages and listings name them.
pub(crate) static DRIVERS: [&Driver; 3] =
    [&lab_sqlite::DRIVER, &lab_postgres::DRIVER, &lab::engine::noop::DRIVER];

/// The engine that a user names, or whose URL this is.
pub(crate) fn target(text: &str) -> Option<&'static Driver> {
    let is_meant = |driver: &&&'static Driver| {
        driver.engine.has_url(text) || EngineId::typed(text).is_some_and(|id| id == driver.engine.id)
    };
    DRIVERS.iter().find(is_meant).copied()
}

/// The engine whose server has this address.
pub(crate) fn of_address(address: &str) -> Option<&'static Driver> {
    driver_of_address(&DRIVERS, address)
}

/// Is this the URL of a server of one of the engines?
pub(crate) fn is_url(text: &str) -> bool {
    DRIVERS.iter().any(|driver| driver.engine.has_url(text))
}

/// An address as messages show it.
pub(crate) fn url_example() -> String {
    DRIVERS.iter().find_map(|driver| driver.engine.url_example()).unwrap_or_default()
}

/// The scheme of an address as messages show it.
pub(super) fn url_scheme() -> &'static str {
    DRIVERS.iter().find_map(|driver| driver.engine.schemes.first().copied()).unwrap_or_default()
}

/// Names of the engines of a kind, for a hint: `sqlite or postgres`.
pub(crate) fn names(is_meant: fn(&Driver) -> bool) -> String {
    let names: Vec<&str> =
        DRIVERS.iter().filter(|driver| is_meant(driver)).map(|driver| driver.engine.id.name()).collect();
    names.join(" or ")
}

/// What `--target` takes, for a hint: `sqlite, postgres, noop or a URL such as postgres://user@host/database`.
pub(crate) fn target_words() -> String {
    let names: Vec<&str> = DRIVERS.iter().map(|driver| driver.engine.id.name()).collect();
    format!("{} or a URL such as {}", names.join(", "), url_example())
}

/// What the waits of all engines mean.
pub(crate) fn waits() -> Catalogue {
    Catalogue::new(DRIVERS.iter().filter_map(|driver| driver.engine.waits))
}

/// Engines whose files are read, in the order in which messages and documents name them.
#[cfg(feature = "checkers")]
pub(crate) static CHECKERS: &[&check::Engine] =
    &[&check_sqlite::ENGINE, &check_postgres::ENGINE, &check_sqlserver::ENGINE, &check_innodb::ENGINE];

/// None: what the demo runs reads no files.
#[cfg(not(feature = "checkers"))]
pub(crate) static CHECKERS: &[&check::Engine] = &[];

/// Refuses, in a build without the feature `checkers`, what needs them.
pub(crate) fn require_checkers() -> anyhow::Result<()> {
    if cfg!(feature = "checkers") { Ok(()) } else { Err(without_checkers()) }
}

/// Why a build without the feature `checkers` does not read the files of a database.
pub(super) fn without_checkers() -> anyhow::Error {
    anyhow!(
        "cannot read the files of a database: this build is without the feature \"checkers\"\nhint: build with `cargo build --release -p fathom`"
    )
}

/// The rules of all engines whose files are checked, in the order in which they are documented.
pub(crate) fn rules() -> RuleBook {
    RuleBook(CHECKERS.iter().map(|engine| engine.rules).collect())
}

/// The checker of an engine.
pub(crate) fn checker(id: EngineId) -> anyhow::Result<&'static check::Engine> {
    require_checkers()?;
    let found = CHECKERS.iter().find(|engine| engine.id() == id).copied();
    found.with_context(|| format!("files of {} cannot be checked", id.title()))
}

/// Looks at a path, and finds the engine that it belongs to.
pub(crate) fn recognise(path: &Path) -> anyhow::Result<(Probe, Option<&'static check::Engine>)> {
    require_checkers()?;
    let probe = Probe::open(path)?;
    let engine = check::engine::recognise(CHECKERS, &probe)?.map(|(engine, _)| engine);
    Ok((probe, engine))
}

/// The classes of damage of an engine, or of all, with what each damages.
pub(crate) fn drill_classes(engine: Option<EngineId>) -> String {
    let all = CHECKERS.iter().map(|checker| (checker.id(), (checker.drills)()));
    let shown: Vec<_> = all
        .filter(|(id, classes)| !classes.is_empty() && engine.is_none_or(|engine| engine == *id))
        .collect();
    let width =
        shown.iter().flat_map(|(_, classes)| classes).map(|class| class.name.len()).max().unwrap_or(0);
    let mut text = String::new();
    for (id, classes) in shown {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "classes of damage ({}):", id.title());
        for DrillClass { name, what } in classes {
            let _ = writeln!(text, "  {name:width$}  {what}");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use check::advice::proposes;
    use check::rule::{Suspect, explanation};

    use super::*;

    #[test]
    fn the_list_has_every_engine_that_a_spec_may_name() {
        let mut listed: Vec<EngineId> = DRIVERS.iter().map(|driver| driver.engine.id).collect();
        listed.sort_unstable();
        assert_eq!(listed, EngineId::targets().collect::<Vec<_>>());
    }

    #[test]
    fn a_target_is_named_by_its_id_an_alias_or_a_url() {
        let id = |text: &str| target(text).map(|driver| driver.engine.id);
        assert_eq!(id("noop"), Some(EngineId::Noop));
        for text in ["postgres", "postgresql", "postgres://me@host/db", "postgresql://"] {
            assert_eq!(id(text), Some(EngineId::Postgres), "{text}");
        }
        for text in ["", "sqlserver", "postgres:", "sqlite://x", "mysql://x"] {
            assert_eq!(id(text), None, "{text}");
        }
    }

    #[test]
    fn a_path_is_what_its_bytes_say_and_a_name_counts_for_less() {
        let directory = tempfile::tempdir().unwrap();
        let engine = |path: &Path| recognise(path).unwrap().1.map(check::Engine::id);
        let place = |name: &str, bytes: &[u8]| {
            let path = directory.path().join(name);
            std::fs::write(&path, bytes).unwrap();
            engine(&path)
        };
        assert_eq!(place("database.mdf", b"SQLite format 3\0 and so on"), Some(EngineId::Sqlite));
        assert_eq!(place("database.mdf", b"nothing of the kind"), Some(EngineId::Sqlserver));
        assert_eq!(place("database.mdf", b""), None);
        assert_eq!(place("base.tar.gz", b"whatever"), Some(EngineId::Postgres));
        assert_eq!(place("16384", b"SQLite format 3"), Some(EngineId::Postgres));
        assert_eq!((place("app.db", b""), place("notes.txt", b"SQLite format 3")), (None, None));
        let link = directory.path().join("link");
        std::os::unix::fs::symlink(directory.path().join("database.mdf"), &link).unwrap();
        std::fs::write(directory.path().join("database.mdf"), b"SQLite format 3\0").unwrap();
        assert_eq!(engine(&link), Some(EngineId::Sqlite));
    }

    #[test]
    fn every_rule_has_a_name_of_its_own_and_all_its_texts() {
        let mut ids: Vec<_> = rules().iter().map(|rule| rule.id).collect();
        let count = ids.len();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), count);
        for rule in rules().iter() {
            for text in [rule.invariant, rule.meaning, rule.next_step, rule.evidence] {
                assert!(!text.is_empty(), "{}", rule.id);
            }
            assert!(!rule.invariant.ends_with('.'), "{}", rule.id);
            assert!(explanation(rule).contains(rule.invariant));
        }
    }

    #[test]
    fn no_rule_that_calls_its_table_into_question_proposes_to_rebuild_from_it() {
        let wrong: Vec<String> = rules()
            .iter()
            .filter(|rule| {
                let role = rule.role;
                // A row is restored where its own page is clean. An index is rebuilt from its table, whatever is wrong with the index.
                let is_of_index = ["btree", "gin", "gist", "hash", "brin", "index", "key", "unique"]
                    .iter()
                    .any(|word| rule.id.contains(word));
                let calls_table = match role.suspect {
                    Suspect::Database | Suspect::Source => true,
                    Suspect::Object => !is_of_index,
                    Suspect::Nothing => false,
                };
                let severe = [
                    "REINDEX",
                    "VACUUM",
                    "CLUSTER",
                    "pg_resetwal",
                    "pg_surgery",
                    "pg_truncate",
                    "DBCC CHECK",
                    "REPAIR",
                    "rebuil",
                    "freeze",
                ];
                calls_table && proposes(rule.next_step, &severe)
            })
            .map(|rule| format!("{}: {}", rule.id, rule.next_step))
            .collect();
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }

    #[test]
    fn the_document_of_the_waits_says_what_the_tables_say() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/lab/waits.md");
        let wanted = waits().document();
        if std::env::var_os("FATHOM_UPDATE").is_some_and(|value| value == "1") {
            std::fs::write(path, &wanted).unwrap();
        }
        let found = std::fs::read_to_string(path).unwrap_or_default();
        let update = "docs/lab/waits.md is out of date: run FATHOM_UPDATE=1 cargo test -p fathom --bins";
        assert!(found == wanted, "{update}");
    }

    #[test]
    fn every_class_of_damage_stands_in_the_table_of_the_document() {
        let table = include_str!("../../../../docs/check/drills.md");
        let classes = CHECKERS.iter().flat_map(|engine| (engine.drills)());
        let absent: Vec<&str> =
            classes.map(|class| class.name).filter(|name| !table.contains(&format!("`{name}`"))).collect();
        assert!(absent.is_empty(), "docs/check/drills.md lacks {absent:?}");
    }
}
