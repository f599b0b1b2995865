//! Which engine a record is about: one id for each, the same in specs, options, records and names of rules.
//!
//! Records store the name as text, so that a file of a newer version can be read. [`EngineId`] is closed: code that decides
//! by engine decides over the whole list, and a new engine is one variant and one row of [`EngineId::facts`].

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::check::{CheckReport, Finding};
use crate::model::Study;
use crate::structure::StructureReport;

/// A registered engine. Ordered as lists show them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EngineId {
    /// No engine: what remains is the cost of the harness itself.
    Noop,
    /// SQLite, embedded.
    Sqlite,
    /// PostgreSQL.
    Postgres,
    /// Microsoft SQL Server.
    Sqlserver,
    /// `InnoDB`, the storage engine of MySQL and MariaDB.
    Innodb,
}

/// What readers of stored data need to know about an engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EngineFacts {
    /// The name that is stored and typed, e.g. `postgres`.
    pub name: &'static str,
    /// The name that its manual uses, e.g. `PostgreSQL`.
    pub title: &'static str,
    /// What the ids of its rules begin with, e.g. `pg` for `pg-heap-checksum`; `None` without rules.
    pub rule_prefix: Option<&'static str>,
    /// Further names that a user may type; never stored.
    pub aliases: &'static [&'static str],
    /// Can the laboratory run it, so that a spec may have settings for it?
    pub is_target: bool,
    /// How it writes.
    pub writes: WriteModel,
}

/// How an engine writes to data files and log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WriteModel {
    /// Bytes of a page, where only whole pages are written; `None` where the counters tell the size of each write.
    pub page_bytes: Option<u32>,
}

impl WriteModel {
    /// That of the engine with a stored name; for a name that is not registered the counters tell.
    #[must_use]
    pub fn of(engine: &str) -> Self {
        engine.parse::<EngineId>().map(|engine| engine.facts().writes).unwrap_or_default()
    }
}

impl EngineId {
    /// All registered engines.
    pub const ALL: [Self; 5] = [Self::Noop, Self::Sqlite, Self::Postgres, Self::Sqlserver, Self::Innodb];

    /// The row of this engine.
    #[must_use]
    pub const fn facts(self) -> EngineFacts {
        let none = EngineFacts {
            name: "",
            title: "",
            rule_prefix: None,
            aliases: &[],
            is_target: false,
            writes: WriteModel { page_bytes: None },
        };
        match self {
            Self::Noop => EngineFacts { name: "noop", title: "no engine", is_target: true, ..none },
            Self::Sqlite => EngineFacts {
                name: "sqlite",
                title: "SQLite",
                rule_prefix: Some("sqlite"),
                is_target: true,
                ..none
            },
            Self::Postgres => EngineFacts {
                name: "postgres",
                title: "PostgreSQL",
                rule_prefix: Some("pg"),
                aliases: &["postgresql", "pg"],
                is_target: true,
                // EVIDENCE: PostgreSQL documentation, "Preset Options", block_size and wal_block_size
                writes: WriteModel { page_bytes: Some(8192) },
            },
            Self::Sqlserver => EngineFacts {
                name: "sqlserver",
                title: "SQL Server",
                rule_prefix: Some("mssql"),
                aliases: &["mssql"],
                ..none
            },
            Self::Innodb => EngineFacts { name: "innodb", title: "InnoDB", ..none },
        }
    }

    /// Those that the laboratory can run.
    pub fn targets() -> impl Iterator<Item = Self> {
        Self::ALL.into_iter().filter(|engine| engine.facts().is_target)
    }

    /// The name that is stored and typed, e.g. `postgres`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        self.facts().name
    }

    /// The name that its manual uses, e.g. `PostgreSQL`.
    #[must_use]
    pub const fn title(self) -> &'static str {
        self.facts().title
    }

    /// The engine that a user means: its name or an alias, in any case. Stored text is read by [`FromStr`], which takes
    /// the name alone.
    #[must_use]
    pub fn typed(text: &str) -> Option<Self> {
        let is_meant = |name: &str| name.eq_ignore_ascii_case(text);
        Self::ALL.into_iter().find(|engine| {
            let facts = engine.facts();
            is_meant(facts.name) || facts.aliases.iter().any(|alias| is_meant(alias))
        })
    }

    /// The engine that a rule belongs to, by what its id begins with: `pg-heap-checksum` is PostgreSQL's.
    #[must_use]
    pub fn of_rule(rule: &str) -> Option<Self> {
        let (prefix, _) = rule.split_once('-')?;
        Self::ALL.into_iter().find(|engine| engine.facts().rule_prefix == Some(prefix))
    }
}

impl fmt::Display for EngineId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for EngineId {
    type Err = EngineError;

    fn from_str(name: &str) -> Result<Self, EngineError> {
        Self::ALL
            .into_iter()
            .find(|engine| engine.name() == name)
            .ok_or_else(|| EngineError { name: name.to_owned() })
    }
}

impl PartialEq<EngineId> for str {
    fn eq(&self, engine: &EngineId) -> bool {
        self == engine.name()
    }
}

impl PartialEq<EngineId> for String {
    fn eq(&self, engine: &EngineId) -> bool {
        self == engine.name()
    }
}

impl From<EngineId> for String {
    fn from(engine: EngineId) -> Self {
        engine.name().to_owned()
    }
}

/// A name that no registered engine has.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("engine \"{}\" is not registered\nhint: the engines are {}", crate::plain::plain(name), names())]
pub struct EngineError {
    /// The name.
    pub name: String,
}

/// The names of all engines for a sentence: `a, b and c`.
fn names() -> String {
    let names = EngineId::ALL.map(EngineId::name);
    let (last, others) = names.split_last().expect("the list is not empty");
    format!("{} and {last}", others.join(", "))
}

impl Study {
    /// The engine under test.
    ///
    /// # Errors
    /// When the study was stored by a version with more engines.
    pub fn engine_id(&self) -> Result<EngineId, EngineError> {
        self.engine.parse()
    }
}

impl CheckReport {
    /// The engine whose files were checked.
    ///
    /// # Errors
    /// When the report was stored by a version with more engines.
    pub fn engine_id(&self) -> Result<EngineId, EngineError> {
        self.engine.parse()
    }
}

impl Finding {
    /// The engine whose file is damaged.
    ///
    /// # Errors
    /// When the finding was stored by a version with more engines.
    pub fn engine_id(&self) -> Result<EngineId, EngineError> {
        self.engine.parse()
    }
}

impl StructureReport {
    /// The engine whose files were measured.
    ///
    /// # Errors
    /// When the report was stored by a version with more engines.
    pub fn engine_id(&self) -> Result<EngineId, EngineError> {
        self.engine.parse()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_stored_name_is_read_as_it_was_written() {
        for engine in EngineId::ALL {
            let stored = serde_json::to_string(&engine).unwrap();
            assert_eq!(stored, format!("\"{engine}\""));
            assert_eq!(serde_json::from_str::<EngineId>(&stored).unwrap(), engine);
            assert_eq!(engine.to_string().parse(), Ok(engine));
            assert!(*engine.name() == engine);
        }
        assert_eq!(format!("{:<10}|", EngineId::Noop), "noop      |");
    }

    #[test]
    fn a_name_that_is_not_registered_is_refused_with_the_list() {
        let error = "mariadb\u{1b}".parse::<EngineId>().unwrap_err().to_string();
        assert_eq!(
            error,
            "engine \"mariadb\\u{1b}\" is not registered\nhint: the engines are noop, sqlite, postgres, sqlserver and innodb"
        );
        assert!("".parse::<EngineId>().is_err() && "SQLite".parse::<EngineId>().is_err());
        assert!(serde_json::from_str::<EngineId>("\"postgresql\"").is_err());
    }

    #[test]
    fn aliases_are_typed_and_never_stored() {
        let typed = ["postgresql", "PG", "mssql", "SQLite", "mysql", ""].map(EngineId::typed);
        let (postgres, sqlserver) = (Some(EngineId::Postgres), Some(EngineId::Sqlserver));
        assert_eq!(typed, [postgres, postgres, sqlserver, Some(EngineId::Sqlite), None, None]);
    }

    #[test]
    fn names_and_aliases_mean_one_engine_each() {
        let all = || {
            EngineId::ALL.into_iter().flat_map(|engine| {
                let facts = engine.facts();
                std::iter::once(facts.name)
                    .chain(facts.aliases.iter().copied())
                    .map(move |name| (name, engine))
            })
        };
        for (name, engine) in all() {
            assert_eq!(EngineId::typed(name), Some(engine));
            assert_eq!(all().filter(|(other, _)| *other == name).count(), 1, "{name}");
        }
    }

    #[test]
    fn the_id_of_a_rule_names_its_engine() {
        let engines =
            ["pg-heap-checksum", "mssql-checksum", "sqlite-header", "pgx-a", "pg", ""].map(EngineId::of_rule);
        let known = [EngineId::Postgres, EngineId::Sqlserver, EngineId::Sqlite].map(Some);
        assert_eq!(engines[..3], known);
        assert_eq!(engines[3..], [None; 3]);
    }
}
