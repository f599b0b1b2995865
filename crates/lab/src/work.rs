//! What one run does: the parameters of a cell, resolved into types.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::own::OwnWorkload;

mod subject;

pub use subject::{BackupMethod, CacheState, RawReads, Storage, SubjectParameters};

/// Columns and statements of a workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Workload {
    /// One row per 8 KiB page: a key and 4100 characters that are not compressed.
    Populate,
    /// The published narrow row: 16-byte key, date, 111 characters, three numbers.
    RandomInsert,
    /// `SELECT 1`: prices the client, the wire and the server's round trip.
    SelectOne,
    /// The published row with a random key: 16 bytes and 1024 characters, seven rows per 8 KiB page.
    GuidPopulate,
    /// One statement that goes through the keys of such a table in their order and takes some of them.
    GuidLookupScan,
    /// One statement that looks up these keys one by one and takes the largest of the wide values.
    GuidLookupJoin,
    /// Statistics of every index, level by level, from the files.
    Structure,
    /// A check of the database's files.
    Check,
    /// A copy of the database, and the way back.
    Backup,
    /// Raw reads of a file, without any engine.
    RawRead,
    /// Questions to the machine and the server, without any work.
    Inventory,
    /// Schema and scripts of the user's own: see [`Work::own`].
    Own,
}

impl Workload {
    /// Does the measured part add rows to a table of the run?
    pub fn adds_rows(self) -> bool {
        matches!(self, Self::Populate | Self::RandomInsert | Self::GuidPopulate)
    }

    /// Does the measured part read tables that were made before, by statements?
    pub fn looks_up(self) -> bool {
        matches!(self, Self::GuidLookupScan | Self::GuidLookupJoin)
    }

    /// Is the measured part no statement, but something done to files or servers as a whole (see `task`)?
    pub fn is_task(self) -> bool {
        matches!(self, Self::Structure | Self::Check | Self::Backup | Self::RawRead | Self::Inventory)
    }

    /// Are tables with keys of 16 random bytes made before the measured part?
    pub fn has_fixtures(self) -> bool {
        self.looks_up() || matches!(self, Self::Structure | Self::Check | Self::Backup)
    }
}

/// Where the loop over transactions runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LoopSide {
    /// In fathom: one round trip per statement, latency per transaction.
    Client,
    /// In the engine (a procedure with COMMIT): one call per client, no latency per transaction.
    Server,
}

/// Order of the keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum KeyOrder {
    /// Each key larger than the one before.
    Sequential,
    /// Sixteen random bytes (populate: random too).
    Random,
}

/// What a commit waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Durability {
    /// The log is on the device before the commit returns.
    Full,
    /// The commit returns first; a crash may lose the last transactions, never consistency.
    Relaxed,
    /// Nothing is flushed; a crash of the machine may lose the database.
    None,
}

/// Which of the two places of a layout (data directories, log directory) each role uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Placement {
    /// Data and log both in the data directories; the log directory is not used.
    Together,
    /// Data in the data directories, log in the log directory.
    LogApart,
    /// Data in the log directory, log in the first data directory: the two places swapped.
    DataApart,
}

/// How much is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Amount {
    /// This many rows over all clients (transactions for `SelectOne`), shared as evenly as possible.
    Rows(u64),
    /// As many as fit into this time; a transaction under way at the end is finished and counted.
    Time(Duration),
}

/// Warm-up before the measured part, by the same clients over the same connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WarmUp {
    /// None.
    None,
    /// This long; the queue is drained before the measured part begins.
    Time(Duration),
    /// This many rows over all clients.
    Rows(u64),
}

/// Everything that one run needs to know.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Work {
    /// Statements and row shape.
    pub workload: Workload,
    /// Where the loop runs.
    pub loop_side: LoopSide,
    /// How much is done in the measured part.
    pub amount: Amount,
    /// Warm-up before it.
    pub warm_up: WarmUp,
    /// Connections, each with its loop; at least 1.
    pub connections: u32,
    /// Worker threads that drive the connections; `None` lets the target choose.
    pub jobs: Option<u32>,
    /// Rows per transaction; at least 1; the last batch is cut to size.
    pub batch_size: u64,
    /// Order of the keys.
    pub key: KeyOrder,
    /// Secondary indexes on random numbers; 0 to 8.
    pub secondary_indexes: u32,
    /// Hash partitions over the data directories (on engines without several data files per table); at least 1.
    pub data_files: u32,
    /// What a commit waits for.
    pub durability: Durability,
    /// Open loop at this many transactions per second over all clients; `None` is a closed loop.
    pub rate_per_s: Option<f64>,
    /// Which directories hold data and log.
    pub placement: Placement,
    /// Buffer pool in MiB (`shared_buffers`, `cache_size`); `None` leaves the engine's default.
    pub buffer_pool_mib: Option<u64>,
    /// Log size in MiB before a checkpoint is forced (`min_wal_size` = `max_wal_size`, `wal_autocheckpoint`).
    pub log_size_mib: Option<u64>,
    /// Time between checkpoints that the run itself asks for; `None` leaves them to the engine.
    #[serde(default)]
    pub manual_checkpoint_every: Option<Duration>,
    /// Settings of the engine, by its own names.
    pub settings: BTreeMap<String, String>,
    /// What is read, for workloads that read.
    #[serde(default, skip_serializing_if = "SubjectParameters::is_default")]
    pub subject: SubjectParameters,
    /// What a workload of the user's own does; `None` for the others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub own: Option<Arc<OwnWorkload>>,
    /// Free word that changes nothing; two levels of it make an A/A pair.
    pub label: String,
    /// Seed of this run's keys and arrival times.
    pub seed: u64,
}

impl Work {
    /// Are all rows loaded by one statement, in the order of their keys?
    pub fn is_one_load(&self) -> bool {
        self.workload == Workload::GuidPopulate && self.subject.storage.is_ordered()
    }

    /// Directories of `available` that hold data of the run: one for each data file, and as many as `arrays` allows.
    pub fn data_places(&self, available: usize) -> usize {
        let arrays = self.subject.arrays.map_or(usize::MAX, |arrays| arrays as usize);
        available.min(self.data_files.max(1) as usize).min(arrays).max(1)
    }

    /// Rows that client `client_index` does of a total of `rows`: shares differ by at most one.
    pub fn share_of(&self, rows: u64, client_index: u32) -> u64 {
        let clients = u64::from(self.connections);
        rows / clients + u64::from(u64::from(client_index) < rows % clients)
    }
}

impl Work {
    /// A small populate run, as tests of engines vary it.
    pub fn example() -> Self {
        Self {
            workload: Workload::Populate,
            loop_side: LoopSide::Client,
            amount: Amount::Rows(100),
            warm_up: WarmUp::None,
            connections: 2,
            jobs: None,
            batch_size: 10,
            key: KeyOrder::Sequential,
            secondary_indexes: 0,
            data_files: 1,
            durability: Durability::Full,
            rate_per_s: None,
            placement: Placement::Together,
            buffer_pool_mib: None,
            log_size_mib: None,
            manual_checkpoint_every: None,
            settings: BTreeMap::new(),
            subject: SubjectParameters::default(),
            own: None,
            label: String::new(),
            seed: 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shares_of_all_clients_add_up_to_the_rows_asked_for() {
        let mut work = Work::example();
        for (rows, connections) in [(10, 3), (2, 5), (0, 4), (134_217_728, 256), (7, 7)] {
            work.connections = connections;
            let sum: u64 = (0..connections).map(|client| work.share_of(rows, client)).sum();
            assert_eq!(sum, rows);
        }
    }
}
