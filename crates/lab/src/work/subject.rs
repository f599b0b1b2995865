//! What a run reads instead of writing: tables made before it, the state of the caches, and the part of the machine.

use std::time::Duration;

use results::check::CheckLevel;
use serde::{Deserialize, Serialize};

/// How rows with keys of 16 random bytes are stored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Storage {
    /// In a tree by the key, filled in the order in which the keys were drawn.
    #[default]
    ClusteredRandom,
    /// In the order in which they came, with a tree of the keys beside them.
    HeapIndex,
    /// In a tree by the key, filled by one statement in the order of the keys.
    ClusteredOrdered,
    /// As heap with a tree of the keys, filled by one statement in the order of the keys.
    HeapOrdered,
}

impl Storage {
    /// The word in specs.
    pub fn word(self) -> &'static str {
        match self {
            Self::ClusteredRandom => "clustered-random",
            Self::HeapIndex => "heap-index",
            Self::ClusteredOrdered => "clustered-ordered",
            Self::HeapOrdered => "heap-ordered",
        }
    }

    /// The word as part of the name of a table.
    pub fn table_word(self) -> &'static str {
        match self {
            Self::ClusteredRandom => "clustered_random",
            Self::HeapIndex => "heap_index",
            Self::ClusteredOrdered => "clustered_ordered",
            Self::HeapOrdered => "heap_ordered",
        }
    }

    /// Do the rows lie apart from the tree of their keys?
    pub fn is_heap(self) -> bool {
        matches!(self, Self::HeapIndex | Self::HeapOrdered)
    }

    /// Do the rows come in the order of their keys?
    pub fn is_ordered(self) -> bool {
        matches!(self, Self::ClusteredOrdered | Self::HeapOrdered)
    }
}

/// What the caches hold of the files that a run reads, when it begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CacheState {
    /// Whatever the preparation left in them.
    #[default]
    AsIs,
    /// Nothing: the engine starts anew and the page cache gives the files up; verified before and after the run.
    Cold,
    /// The same, and nothing of other files either: the page cache of the whole machine is given up.
    ColdMachine,
    /// As much as fits, because the files were read just before.
    Warm,
}

impl CacheState {
    /// Is nothing to be in memory?
    pub fn is_cold(self) -> bool {
        matches!(self, Self::Cold | Self::ColdMachine)
    }
}

/// What makes a backup.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BackupMethod {
    /// fathom's own reader, over the files of an engine at rest.
    #[default]
    Reader,
    /// `pg_basebackup`, over a running server.
    PgBasebackup,
}

/// A pattern of raw reads, in the words of the published matrix.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RawReads {
    /// Bytes of one read; 0 leaves it to the task.
    pub transfer_bytes: u64,
    /// Share of reads at random places, in percent; the others follow each other.
    pub random_percent: u8,
    /// Reads under way at the same time.
    pub outstanding: u32,
    /// Length of the file that is read, in bytes.
    pub file_bytes: u64,
    /// How long is read.
    pub time: Duration,
}

/// Everything that workloads which read, or which are no statements at all, need beside the common parameters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SubjectParameters {
    /// How the rows are stored.
    pub storage: Storage,
    /// Rows of the tables made before the measured part, over all of them; 0 where there are none.
    pub table_rows: u64,
    /// Tables that share these rows; at least 1 where there are any.
    pub objects: u32,
    /// A look-up takes every key whose place in the order of keys is a multiple of this.
    pub every: u64,
    /// What the caches hold at the start.
    pub cache: CacheState,
    /// Memory that the server and the page cache of its files may have, in MiB.
    pub memory_limit_mib: Option<u64>,
    /// Data directories of the layout that are used, from the first on; `None` means all.
    pub arrays: Option<u32>,
    /// Processors that the server may run on.
    pub server_cores: Option<u32>,
    /// How much a check proves.
    pub depth: CheckLevel,
    /// Threads of a check or a reader; at least 1 where it has a meaning.
    pub workers: u32,
    /// Pages of one claim; `None` leaves it to the checker.
    pub page_batch: Option<u64>,
    /// Objects checked at the same time; `None` means all.
    pub object_batch: Option<u64>,
    /// Streams that a backup is written in.
    pub streams: u32,
    /// What makes a backup.
    pub backup: BackupMethod,
    /// Pattern of raw reads.
    pub raw: RawReads,
}

impl Default for SubjectParameters {
    /// Nothing is asked for.
    fn default() -> Self {
        Self {
            storage: Storage::default(),
            table_rows: 0,
            objects: 0,
            every: 0,
            cache: CacheState::default(),
            memory_limit_mib: None,
            arrays: None,
            server_cores: None,
            // Studies are found again by their work: this is what the records of work without a check have.
            depth: CheckLevel::Page,
            workers: 0,
            page_batch: None,
            object_batch: None,
            streams: 0,
            backup: BackupMethod::default(),
            raw: RawReads::default(),
        }
    }
}

impl SubjectParameters {
    /// Is nothing of it asked for? Then the record of the work leaves it out, as it was before there was any of it.
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }
}
