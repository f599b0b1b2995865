//! Where a running server keeps its files, and how far its log reaches.

use std::path::PathBuf;

use lab::engine::TargetError;

use super::address;
use super::control::Control;
use super::external::connecting::connect;
use super::inventory::{ANSWER_BYTES_MAX, place};

/// A connection that asks a server about its files; it changes no data.
pub struct ServerLocation {
    control: Control,
    /// `host:port/database`, without user and password.
    pub server: String,
    /// Is it on this machine, as far as its address tells?
    pub is_local: bool,
    /// Its data directory; `None` when this user may not know (it takes a superuser or `pg_read_all_settings`).
    pub data_directory: Option<PathBuf>,
    /// Identifies the cluster, as its control file does; `None` when this user may not know.
    pub system_identifier: Option<u64>,
}

impl ServerLocation {
    /// Asks the server at `url`.
    ///
    /// # Errors
    /// A URL that is none, a server that cannot be reached.
    pub fn ask(url: &str) -> Result<Self, TargetError> {
        let login = address::parse(url, "fathom-check")?;
        let mut control = connect(&login)?;
        control.limit_answers(ANSWER_BYTES_MAX);
        let data_directory = control.probe("SELECT current_setting('data_directory')").map(PathBuf::from);
        let identifier = control.probe("SELECT system_identifier FROM pg_control_system()");
        control.require_usable("could not ask the server for its data directory")?;
        Ok(Self {
            server: place(&login),
            is_local: login.endpoint.is_local(),
            data_directory,
            system_identifier: identifier.and_then(|text| text.parse().ok()),
            control,
        })
    }

    /// Asks for a CHECKPOINT and waits until it is complete; on a standby that is a restartpoint.
    ///
    /// # Errors
    /// The user may not ask for one (it takes a superuser or `pg_checkpoint`), or the connection was lost.
    pub fn checkpoint(&mut self) -> Result<(), TargetError> {
        self.control.complete("could not ask the server for a checkpoint", "CHECKPOINT").map(|_| ())
    }

    /// The position at which the log is written now, or up to which a standby replayed it.
    pub fn log_end(&mut self) -> Option<u64> {
        let sql = "SELECT CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn() \
                   ELSE pg_current_wal_insert_lsn() END";
        let text = self.control.probe(sql)?;
        let (high, low) = text.split_once('/')?;
        Some((u64::from_str_radix(high, 16).ok()? << 32) | u64::from_str_radix(low, 16).ok()?)
    }
}
