//! Databases that grow by copies of their rows, and the engines that can do it.

use std::path::{Path, PathBuf};

use anyhow::bail;
use lab::expand::{Grown, GrowthRequest};
use lab_postgres::{NewDatabase, SourceDatabase, expand_database};
use lab_sqlite::{Source, expand_file};
use results::EngineId;
use results::redaction::redacted;

use super::list::{is_url, recognise, url_example};

/// Which engine, from where and where to.
pub(crate) enum Plan {
    /// Files: of which source, and where to.
    Files(Source, PathBuf),
    /// A new database on a server.
    Database {
        /// Address of the server.
        url: String,
        /// What is copied.
        source: SourceDatabase,
        /// Its name.
        name: String,
    },
}

/// Finds out what source and destination name.
///
/// # Errors
/// They do not go together.
pub(crate) fn plan(source: &Path, destination: &Path) -> anyhow::Result<Plan> {
    // A name that is not UTF-8 is that of a file.
    let (from, to) = (source.to_str().unwrap_or_default(), destination.to_str().unwrap_or_default());
    // A slip in the address of a server must not become the name of a file.
    if [from, to].iter().any(|word| !is_url(word) && redacted(word) != *word) {
        bail!("the server address is invalid\nhint: write {}, or the path of a file", url_example());
    }
    match (from, is_url(from), is_url(to)) {
        ("sample", _, true) => {
            Ok(Plan::Database { url: to.to_owned(), source: SourceDatabase::Sample, name: database_of(to)? })
        }
        ("sample", _, false) => Ok(Plan::Files(Source::Sample, destination.to_path_buf())),
        (_, true, true) => {
            bail!(
                "a database can only be expanded on its own server\nhint: name the new database without a URL"
            )
        }
        (_, true, false) if to.contains('/') || to.is_empty() => {
            bail!(
                "\"{}\" is not a database name\nhint: name the new database without a path",
                destination.display()
            )
        }
        (_, true, false) => {
            let source = SourceDatabase::Named(database_of(from)?);
            Ok(Plan::Database { url: from.to_owned(), source, name: to.to_owned() })
        }
        (_, false, true) => {
            bail!("rows of a file cannot be copied to a server\nhint: give a file as the destination")
        }
        // Not quoted: a URL may hold a password.
        (word, false, false) if word.contains("://") => {
            bail!("the URL of the source has an unknown scheme\nhint: use {}", url_example())
        }
        (_, false, false) => {
            let is_sqlite = |engine: &check::Engine| engine.id() == EngineId::Sqlite;
            if !recognise(source)?.1.is_some_and(is_sqlite) {
                bail!(
                    "\"{}\" is not a SQLite database\nhint: give one, or `sample` for the schema that fathom ships",
                    source.display()
                );
            }
            Ok(Plan::Files(Source::File(source.to_path_buf()), destination.to_path_buf()))
        }
    }
}

impl Plan {
    /// Copies rows until the size is reached. `on_copy` is told the bytes so far; `false` stops.
    ///
    /// # Errors
    /// The rows cannot be read or written.
    pub(crate) fn grow(
        &self,
        directories: &[PathBuf],
        wish: &GrowthRequest,
        on_copy: &mut dyn FnMut(u64) -> bool,
    ) -> anyhow::Result<Grown> {
        let mut on_copy = |bytes: u64| on_copy(bytes);
        Ok(match self {
            Self::Files(source, to) => expand_file(source, to, wish, &mut on_copy)?,
            Self::Database { url, source, name } => {
                expand_database(url, source, NewDatabase { name, directories }, wish, &mut on_copy)?
            }
        })
    }
}

/// The database that a URL names.
fn database_of(url: &str) -> anyhow::Result<String> {
    let rest = url.split_once("://").map_or("", |(_, rest)| rest);
    let path = rest.split(['?', '#']).next().and_then(|rest| rest.rsplit_once('/')).map(|(_, path)| path);
    match path.filter(|path| !path.is_empty() && !path.contains('%')) {
        Some(name) => Ok(name.to_owned()),
        None => bail!("the URL names no database\nhint: write {}", url_example()),
    }
}
