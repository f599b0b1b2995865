//! What a server is able to tell and do, found out by asking it: several servers speak PostgreSQL's protocol, and
//! not all that PostgreSQL has is in them, nor in every version of it.

use std::collections::BTreeMap;

use lab::engine::{Limitation, TargetError};

use super::control::Control;

/// Settings that are remembered; PostgreSQL has about 400, CockroachDB some more.
const SETTINGS_MAX: usize = 5000;

/// What was found at connect time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Capabilities {
    /// `server_version_num`, e.g. 150018; 0 where the server does not say.
    pub(super) version_num: u32,
    /// `version()`.
    pub(super) version: String,
    /// Family by its own words.
    pub(super) family: Family,
    /// `pg_current_wal_insert_lsn()` answers: log bytes are known.
    pub(super) log_position: bool,
    /// `pg_stat_wal` exists (14), with counts of flushes in it (until 17).
    pub(super) stat_wal: bool,
    /// `pg_stat_wal.wal_sync` exists.
    pub(super) stat_wal_sync: bool,
    /// `pg_stat_io` exists (16): reads and writes of data files are counted.
    pub(super) stat_io: bool,
    /// `pg_stat_io` counts bytes beside calls (18); before, pages.
    pub(super) stat_io_bytes: bool,
    /// `pg_stat_io` has rows for the log (18).
    pub(super) stat_io_log: bool,
    /// `pg_stat_checkpointer` exists (17).
    pub(super) stat_checkpointer: bool,
    /// `pg_stat_bgwriter` exists.
    pub(super) stat_bgwriter: bool,
    /// Statistics come from the shared memory (15), not from a collector that lags (14).
    pub(super) shared_statistics: bool,
    /// The list of sessions shows our own by its name: clients can be counted.
    pub(super) session_list: bool,
    /// `pg_relation_size` answers.
    pub(super) relation_size: bool,
    /// Columns have a storage clause.
    pub(super) storage_plain: bool,
    /// Procedures with transaction control exist.
    pub(super) procedures: bool,
    /// Is the role a superuser?
    pub(super) superuser: bool,
    /// `pg_stat_get_backend_io` and `_wal` exist (18): each session's share of reads, writes, flushes and log is counted.
    pub(super) backend_counters: bool,
    /// Bytes of a page.
    pub(super) page_size_bytes: Option<u64>,
    /// Context of each setting (`user`, `postmaster`, ...), by name.
    pub(super) setting_contexts: BTreeMap<String, String>,
}

/// Which server speaks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Family {
    /// PostgreSQL itself, or what does not say otherwise.
    #[default]
    Postgres,
    /// CockroachDB.
    Cockroach,
    /// YugabyteDB.
    Yugabyte,
    /// PostgreSQL with the extension Citus.
    Citus,
}

impl Capabilities {
    /// Asks the server on this connection, about a dozen short statements.
    ///
    /// # Errors
    /// The server does not even answer `version()`.
    pub(super) fn probe(control: &mut Control) -> Result<Self, TargetError> {
        let version = control
            .value("could not ask the server for its version", "SELECT version()")?
            .unwrap_or_default();
        let mut has = |sql: &str| control.probe(sql).is_some();
        let mut found = Self {
            log_position: has("SELECT pg_current_wal_insert_lsn()::text"),
            stat_wal: has("SELECT wal_bytes FROM pg_stat_wal"),
            stat_wal_sync: has("SELECT wal_sync FROM pg_stat_wal"),
            stat_io: has("SELECT count(fsyncs) FROM pg_stat_io"),
            stat_io_bytes: has("SELECT count(read_bytes + write_bytes + extend_bytes) FROM pg_stat_io"),
            stat_io_log: has("SELECT count(*) FROM pg_stat_io WHERE object = 'wal' HAVING count(*) > 0"),
            stat_checkpointer: has("SELECT num_timed FROM pg_stat_checkpointer"),
            stat_bgwriter: has("SELECT buffers_alloc FROM pg_stat_bgwriter"),
            session_list: has(
                "SELECT pid FROM pg_stat_activity WHERE application_name LIKE 'fathom-control%' LIMIT 1",
            ),
            relation_size: has("SELECT pg_relation_size('pg_class')"),
            backend_counters: has("SELECT count(*) FROM pg_stat_get_backend_io(pg_backend_pid()), \
                 pg_stat_get_backend_wal(pg_backend_pid())"),
            ..Self::default()
        };
        found.family = family(&version, has("SELECT 1 FROM pg_extension WHERE extname = 'citus'"));
        found.storage_plain = matches!(found.family, Family::Postgres | Family::Citus | Family::Yugabyte);
        found.procedures = found.family != Family::Cockroach;
        found.superuser = control
            .probe("SELECT rolsuper::text FROM pg_roles WHERE rolname = current_user")
            .is_some_and(|text| text == "true" || text == "t");
        found.version_num =
            control.probe("SHOW server_version_num").and_then(|text| text.parse().ok()).unwrap_or_default();
        found.shared_statistics = found.version_num >= 150_000;
        found.page_size_bytes = control.probe("SHOW block_size").and_then(|text| text.parse().ok());
        found.version = version;
        if let Ok(rows) = control.query("SELECT name, context FROM pg_settings") {
            found.setting_contexts = rows
                .into_iter()
                .take(SETTINGS_MAX)
                .filter_map(|row| {
                    let mut values = row.into_iter();
                    Some((values.next()??, values.next()??))
                })
                .collect();
        }
        control.require_usable("could not ask the server for what it offers")?;
        Ok(found)
    }

    /// What is missing, said in the words of what the user will not see. None of it refuses a run.
    pub(super) fn limitations(&self) -> Vec<Limitation> {
        let missing = [
            (
                self.log_position,
                "log_bytes",
                "the server does not report its WAL position: log bytes are unknown",
            ),
            (
                self.stat_wal_sync || self.stat_io_log,
                "log_flushes",
                "the server does not count its log flushes (pg_stat_wal, pg_stat_io)",
            ),
            (
                self.session_list,
                "clients_seen",
                "the list of sessions does not show ours: clients are counted by fathom alone",
            ),
            (self.relation_size, "table_pages", "the server does not report the size of a table in pages"),
            (
                self.storage_plain,
                "rows_per_page",
                "columns have no storage clause: one row per page is not guaranteed",
            ),
            (
                self.procedures,
                "loop_side",
                "procedures with COMMIT are not driven here: the loop runs in the client",
            ),
        ];
        missing
            .into_iter()
            .filter(|(present, _, _)| !present)
            .map(|(_, subject, text)| Limitation {
                subject: subject.to_owned(),
                text: text.to_owned(),
                refuses: false,
            })
            .collect()
    }
}

fn family(version: &str, has_citus: bool) -> Family {
    if version.contains("CockroachDB") {
        Family::Cockroach
    } else if version.contains("-YB-") {
        Family::Yugabyte
    } else if has_citus {
        Family::Citus
    } else {
        Family::Postgres
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn families_are_told_apart_by_their_own_words() {
        assert_eq!(family("CockroachDB CCL v24.1.0 (x86_64-pc-linux-gnu)", false), Family::Cockroach);
        assert_eq!(family("PostgreSQL 11.2-YB-2.20.1.0-b0 on x86_64", false), Family::Yugabyte);
        assert_eq!(family("PostgreSQL 17.11 on x86_64", true), Family::Citus);
        assert_eq!(family("PostgreSQL 17.11 on x86_64", false), Family::Postgres);
    }

    #[test]
    fn what_is_missing_is_said_and_what_is_there_is_not() {
        let nothing = Capabilities::default();
        assert_eq!(nothing.limitations().len(), 6);
        let all = Capabilities {
            log_position: true,
            stat_io_log: true,
            session_list: true,
            relation_size: true,
            storage_plain: true,
            procedures: true,
            ..Capabilities::default()
        };
        assert_eq!(all.limitations(), vec![]);
    }
}
