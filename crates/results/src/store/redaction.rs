//! Removes from an older results file what is not recorded any more: values of settings off the list, passwords.
//!
//! A finished run never changes, and triggers in the file see to that. This is the one exception: within the transaction
//! that brings the file to version 6 the triggers of the tables concerned are dropped and made again, the table
//! `redaction` says what was removed, and no number is touched. SQLite overwrites what it frees (`secure_delete`), and
//! VACUUM rewrites the file, so that free pages of earlier times do not keep a value either. What VACUUM could not do
//! (no space, a reader in the way) the next writer tries again.

use std::collections::BTreeSet;
use std::time::Duration;

use rusqlite::{Connection, OptionalExtension, Transaction, params};

use crate::model::Setting;
use crate::redaction::redacted;
use crate::settings::recorded;
use crate::store::document::{document_hash, json};

/// First version of the file without such values.
pub(super) const VERSION: i64 = 6;

/// Triggers in the way, which are made again from their own text.
const TRIGGERS: [&str; 4] =
    ["run_is_written_once", "document_is_written_once", "document_is_kept", "study_is_written_once"];

/// Columns of a study that may quote a setting.
const STUDY_TEXTS: [&str; 3] = ["spec_toml", "factors", "fixed"];

/// A reader in the way of the last step is waited for this long; the next writer tries again.
const READER_WAIT_MAX: Duration = Duration::from_secs(2);

/// What opening a file of an older version removed from it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Redaction {
    /// Names of the settings whose value was removed, sorted.
    pub names: Vec<String>,
    /// Studies from whose spec a password was removed.
    pub studies: usize,
    /// Was the file rewritten, so that its free space holds nothing of it? The next writer tries again otherwise.
    pub is_wiped: bool,
}

/// Removes the values within the transaction of a migration. `None` when there was nothing to remove.
pub(super) fn remove(transaction: &Transaction<'_>) -> rusqlite::Result<Option<Redaction>> {
    let documents = documents(transaction)?;
    let studies = studies(transaction)?;
    if documents.is_empty() && studies.is_empty() {
        return Ok(None);
    }
    let triggers: Vec<String> = TRIGGERS
        .iter()
        .map(|name| {
            let sql = "SELECT sql FROM sqlite_schema WHERE type = 'trigger' AND name = ?1";
            transaction.query_row(sql, [name], |row| row.get(0)).optional()
        })
        .collect::<rusqlite::Result<Vec<_>>>()?
        .into_iter()
        .flatten()
        .collect();
    for name in TRIGGERS {
        transaction.execute_batch(&format!("DROP TRIGGER IF EXISTS {name}"))?;
    }
    let mut names = BTreeSet::new();
    for document in &documents {
        names.extend(document.names.iter().cloned());
        replace(transaction, document)?;
    }
    for (id, texts) in &studies {
        for (column, text) in STUDY_TEXTS.iter().zip(texts) {
            transaction
                .execute(&format!("UPDATE study SET {column} = ?2 WHERE id = ?1"), params![id, text])?;
        }
    }
    triggers.iter().try_for_each(|sql| transaction.execute_batch(sql))?;
    let names: Vec<String> = names.into_iter().collect();
    transaction.execute(
        "INSERT INTO redaction (redacted_at, names, studies) VALUES (strftime('%Y-%m-%dT%H:%M:%SZ', 'now'), ?1, ?2)",
        params![json(&names), studies.len()],
    )?;
    Ok(Some(Redaction { names, studies: studies.len(), is_wiped: false }))
}

/// Rewrites the file when a redaction still waits for that. `false` when it could not be done now.
pub(super) fn wipe(connection: &Connection, busy_timeout: Duration) -> rusqlite::Result<bool> {
    let waiting = "SELECT EXISTS (SELECT 1 FROM redaction WHERE wiped_at IS NULL)";
    if !connection.query_row(waiting, [], |row| row.get::<_, bool>(0))? {
        return Ok(true);
    }
    connection.busy_timeout(READER_WAIT_MAX)?;
    // Why it failed (no space, a reader) is said by the next statement that needs the same, or mends itself.
    let is_wiped = connection.execute_batch("VACUUM").is_ok() && is_log_truncated(connection);
    connection.busy_timeout(busy_timeout)?;
    if is_wiped {
        let sql =
            "UPDATE redaction SET wiped_at = strftime('%Y-%m-%dT%H:%M:%SZ', 'now') WHERE wiped_at IS NULL";
        connection.execute(sql, [])?;
    }
    Ok(is_wiped)
}

fn is_log_truncated(connection: &Connection) -> bool {
    let busy = connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get::<_, i64>(0));
    busy == Ok(0)
}

/// Settings of runs as they should be stored.
struct Document {
    id: i64,
    json: String,
    /// Settings whose value was removed.
    names: Vec<String>,
}

fn documents(transaction: &Transaction<'_>) -> rusqlite::Result<Vec<Document>> {
    let sql = "SELECT id, json FROM document WHERE id IN (SELECT settings_id FROM run) ORDER BY id";
    let mut statement = transaction.prepare(sql)?;
    let rows = statement.query_map([], |row| Ok((row.get::<_, i64>(0)?, row.get::<_, String>(1)?)))?;
    let mut documents = Vec::new();
    for row in rows {
        let (id, text) = row?;
        // What cannot be read is no list of settings, and shown by nothing.
        let Ok(before) = serde_json::from_str::<Vec<Setting>>(&text) else { continue };
        let after: Vec<Setting> = before.iter().cloned().map(recorded).collect();
        let changed = before.iter().zip(&after).filter(|(before, after)| before != after);
        let names: Vec<String> = changed.map(|(setting, _)| setting.name.clone()).collect();
        if !names.is_empty() {
            documents.push(Document { id, json: json(&after), names });
        }
    }
    Ok(documents)
}

/// Two documents may have become the same: then the runs of both have the older one.
fn replace(transaction: &Transaction<'_>, document: &Document) -> rusqlite::Result<()> {
    let sha256 = document_hash(&document.json);
    let same = transaction
        .query_row("SELECT id FROM document WHERE sha256 = ?1", [&sha256], |row| row.get::<_, i64>(0))
        .optional()?;
    match same {
        Some(same) if same != document.id => {
            for column in ["settings_id", "machine_id", "layout_id", "engine_id"] {
                let sql = format!("UPDATE run SET {column} = ?2 WHERE {column} = ?1");
                transaction.execute(&sql, [document.id, same])?;
            }
            transaction.execute("DELETE FROM document WHERE id = ?1", [document.id])?;
        }
        _ => {
            let sql = "UPDATE document SET sha256 = ?2, json = ?3 WHERE id = ?1";
            transaction.execute(sql, params![document.id, sha256, document.json])?;
        }
    }
    Ok(())
}

/// Studies that quote a password, with their texts as they should be stored.
fn studies(transaction: &Transaction<'_>) -> rusqlite::Result<Vec<(i64, Vec<String>)>> {
    let mut statement =
        transaction.prepare(&format!("SELECT id, {} FROM study ORDER BY id", STUDY_TEXTS.join(", ")))?;
    let mut rows = statement.query([])?;
    let mut studies = Vec::new();
    while let Some(row) = rows.next()? {
        let before: Vec<String> =
            (1..=STUDY_TEXTS.len()).map(|column| row.get(column)).collect::<rusqlite::Result<_>>()?;
        let after: Vec<String> = before.iter().map(|text| redacted(text).into_owned()).collect();
        // Text within JSON ends at its quotation mark: what was JSON still is. A damaged file may have anything.
        let is_json = |text: &String| serde_json::from_str::<serde_json::Value>(text).is_ok();
        debug_assert!(
            before[1..].iter().zip(&after[1..]).all(|(before, after)| !is_json(before) || is_json(after))
        );
        if before != after {
            studies.push((row.get(0)?, after));
        }
    }
    Ok(studies)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::path::Path;

    use super::*;
    use crate::settings::NOT_RECORDED;
    use crate::store::tests::file_of_version;
    use crate::store::{RESULTS_FILE, Store};

    /// A file of version 5 whose three runs have settings; those of the first two differ in a password alone.
    fn file_with_secrets(directory: &Path) -> Connection {
        let file = file_of_version(directory, VERSION - 1).connection;
        file.pragma_update(None, "journal_mode", "wal").unwrap();
        file.execute_batch(
            "INSERT INTO study VALUES (1, 'k', 'e', 't', 'q', 'full', 'postgres',
                 'primary_conninfo = \"host=h password=geheim-3\"\n', '1', '[]',
                 '[[\"primary_conninfo\",\"host=h password=geheim-3\"]]', 1, '[]', 'now', '0.1.0');
             INSERT INTO cell VALUES (1, 0, '[]');",
        )
        .unwrap();
        for (run, secret) in [(1, "geheim-1"), (2, "geheim-2"), (3, "")] {
            let mut settings = vec![serde_json::json!({"name": "fsync", "value": "off", "source": "x"})];
            if !secret.is_empty() {
                let value = format!("{secret} {}", "x".repeat(9000));
                settings.push(serde_json::json!({"name": "archive_command", "value": value, "source": "x"}));
            }
            let text = serde_json::to_string(&settings).unwrap();
            file.execute(
                "INSERT INTO document VALUES (?1, ?2, ?3)",
                params![run, document_hash(&text), text],
            )
            .unwrap();
            file.execute(
                "INSERT INTO run (id, study_id, block_index, cell_index, attempt, position, begun_at, state, \
                 settings_id, machine_id) VALUES (?1, 1, ?1, 0, 0, 0, 'now', 'valid', ?1, NULL)",
                [run],
            )
            .unwrap();
        }
        file
    }

    fn holds_a_secret(directory: &Path) -> bool {
        std::fs::read_dir(directory).unwrap().any(|entry| {
            let bytes = std::fs::read(entry.unwrap().path()).unwrap();
            bytes.windows(6).any(|window| window == b"geheim")
        })
    }

    #[test]
    fn the_first_writer_removes_values_that_are_not_recorded_from_the_file_and_its_free_space() {
        let directory = tempfile::tempdir().unwrap();
        let file = file_with_secrets(directory.path());
        // A page that was in use once and is free now.
        file.execute_batch(
            "CREATE TABLE other (x); INSERT INTO other VALUES ('geheim' || hex(zeroblob(20000))); DROP TABLE other;",
        )
        .unwrap();
        drop(file);
        assert!(holds_a_secret(directory.path()));

        let store = Store::open_or_create(directory.path()).unwrap();
        let redaction = store.redaction().unwrap().clone();
        assert_eq!(
            redaction,
            Redaction { names: vec!["archive_command".into()], studies: 1, is_wiped: true }
        );
        assert!(!holds_a_secret(directory.path()), "also while the writer lives");
        let runs = store.runs(crate::store::StudyId(1)).unwrap();
        let values = |run: usize| {
            let settings = &runs[run].run.settings;
            settings.iter().map(|setting| setting.value.as_str()).collect::<Vec<_>>()
        };
        assert_eq!((values(0), values(1), values(2)), (vec!["off", NOT_RECORDED], values(0), vec!["off"]));
        drop(store);
        assert!(!holds_a_secret(directory.path()));

        let store = Store::open_or_create(directory.path()).unwrap();
        assert_eq!(store.redaction(), None, "once");
        let file = Connection::open(directory.path().join(RESULTS_FILE)).unwrap();
        let documents: i64 = file.query_row("SELECT count(*) FROM document", [], |row| row.get(0)).unwrap();
        assert_eq!(documents, 2, "equal documents became one");
        for forbidden in [
            "UPDATE run SET elapsed_ns = 1",
            "UPDATE document SET json = ''",
            "DELETE FROM document",
            "UPDATE study SET title = ''",
            "DELETE FROM redaction",
        ] {
            assert!(file.execute_batch(forbidden).is_err(), "{forbidden}");
        }
        let broken: i64 =
            file.query_row("SELECT count(*) FROM pragma_foreign_key_check", [], |row| row.get(0)).unwrap();
        assert_eq!(broken, 0);
    }

    #[test]
    fn a_reader_of_an_older_file_shows_no_value_that_is_not_recorded() {
        let directory = tempfile::tempdir().unwrap();
        drop(file_with_secrets(directory.path()));
        let store = Store::open_read_only(directory.path()).unwrap();
        let results = store.study_results(crate::store::StudyId(1)).unwrap();
        assert!(!format!("{results:?}").contains("geheim"), "{results:?}");
        assert_eq!(results.runs[0].run.settings[0].value, "off");
        assert!(holds_a_secret(directory.path()), "a reader changes nothing");
    }

    #[test]
    fn a_study_whose_json_is_damaged_is_opened_without_a_panic() {
        let directory = tempfile::tempdir().unwrap();
        let file = file_with_secrets(directory.path());
        file.execute_batch(
            "DROP TRIGGER study_is_written_once; UPDATE study SET factors = '[[\"a', fixed = 'password=x'",
        )
        .unwrap();
        drop(file);
        assert!(Store::open_or_create(directory.path()).unwrap().studies().is_err());
    }

    #[test]
    fn a_reader_in_the_way_leaves_the_last_step_to_the_next_writer() {
        let directory = tempfile::tempdir().unwrap();
        drop(file_with_secrets(directory.path()));
        let reader = Connection::open(directory.path().join(RESULTS_FILE)).unwrap();
        reader.execute_batch("BEGIN; SELECT count(*) FROM run;").unwrap();
        let held: i64 = reader.query_row("SELECT count(*) FROM run", [], |row| row.get(0)).unwrap();
        let store = Store::open_or_create(directory.path()).unwrap();
        assert_eq!((held, store.redaction().unwrap().is_wiped), (3, false));
        drop((store, reader));
        drop(Store::open_or_create(directory.path()).unwrap());
        assert!(!holds_a_secret(directory.path()));
    }
}
