//! One row of an inventory, and how an engine answers it.

use std::sync::Arc;

use disk::machine::MachineFacts;
use serde::Serialize;

use crate::engine::TargetError;

/// One server.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct InventoryRow {
    /// Where it is, without a password; `here` for what is embedded.
    pub server: String,
    /// Name of the engine.
    pub engine: String,
    /// Version as it says it; `None` when it could not be asked.
    pub version: Option<String>,
    /// Processors of the machine; `None` for a server elsewhere.
    pub cores: Option<u64>,
    /// NUMA nodes of the machine, at least 1; `None` for a server elsewhere.
    pub numa_nodes: Option<u64>,
    /// Memory of the machine in bytes; `None` for a server elsewhere.
    pub memory_bytes: Option<u64>,
    /// Helpers that one statement may have (`max_parallel_workers_per_gather`, `threads`).
    pub workers_per_query: Option<u64>,
    /// Helpers that all statements together may have (`max_parallel_workers`).
    pub workers_total: Option<u64>,
    /// Processes in the background of any kind (`max_worker_processes`).
    pub worker_processes: Option<u64>,
    /// Connections that it admits.
    pub connections_max: Option<u64>,
    /// Buffer pool as the server prints it.
    pub buffer_pool: Option<String>,
    /// Size of the log at which a checkpoint is forced, as the server prints it.
    pub log_size: Option<String>,
    /// What a commit waits for, as settings: `fsync=on synchronous_commit=on ...`.
    pub durability: Option<String>,
    /// Why it could not be asked.
    pub problem: Option<String>,
}

/// Header of the columns, in the order of [`InventoryRow::cells`].
pub const COLUMNS: [&str; 14] = [
    "server",
    "engine",
    "version",
    "cores",
    "numa_nodes",
    "memory_bytes",
    "workers_per_query",
    "workers_total",
    "worker_processes",
    "connections_max",
    "buffer_pool",
    "log_size",
    "durability",
    "problem",
];

/// How an engine answers an inventory.
#[derive(Clone, Copy, Debug)]
pub enum Survey {
    /// It runs inside fathom, and has one row.
    Embedded(fn() -> InventoryRow),
    /// Its servers are asked, one row for each.
    Servers(Question),
}

/// Reads the address of a server; sends nothing.
///
/// # Errors
/// An address that is none. It shows no password.
pub type Question = fn(address: &str) -> Result<Arc<dyn ServerQuestion>, TargetError>;

/// A server to ask.
pub trait ServerQuestion: Send + Sync {
    /// `host:port/database`, without user and password.
    fn place(&self) -> String;

    /// Is it on this machine, as far as its address tells?
    fn is_local(&self) -> bool;

    /// Asks it over one connection that changes nothing.
    ///
    /// # Errors
    /// A server that cannot be reached or does not answer.
    fn ask(&self) -> Result<InventoryRow, TargetError>;
}

impl InventoryRow {
    /// The values as text, empty where there is none, in the order of [`COLUMNS`].
    pub fn cells(&self) -> [String; 14] {
        let number = |value: Option<u64>| value.map_or(String::new(), |value| value.to_string());
        let text = |value: &Option<String>| value.clone().unwrap_or_default();
        [
            self.server.clone(),
            self.engine.clone(),
            text(&self.version),
            number(self.cores),
            number(self.numa_nodes),
            number(self.memory_bytes),
            number(self.workers_per_query),
            number(self.workers_total),
            number(self.worker_processes),
            number(self.connections_max),
            text(&self.buffer_pool),
            text(&self.log_size),
            text(&self.durability),
            text(&self.problem),
        ]
    }

    /// With the facts of the machine that it runs on.
    pub(super) fn on(mut self, machine: &MachineFacts) -> Self {
        self.cores = Some(machine.processors.online.len() as u64).filter(|count| *count > 0);
        // A kernel without NUMA names no node and has one.
        self.numa_nodes = Some(machine.numa_nodes.len().max(1) as u64);
        self.memory_bytes = machine.memory.total_bytes;
        self
    }
}
