//! Parameters of all workloads.

use std::time::Duration;

use super::parameter::{DAY, Parameter, ParameterType, ROWS_MAX};

/// Those that specs list first.
pub(super) static FIRST: [Parameter; 18] = [
    Parameter {
        name: "workload",
        aliases: &[],
        kind: ParameterType::Word(&[
            ("populate", "one row per 8 KiB page: a key and 4100 characters that are not compressed"),
            ("random-insert", "the published narrow row: 16-byte key, date, 111 characters, three numbers"),
            ("select-one", "`SELECT 1`: prices the client, the wire and the server's round trip"),
            (
                "guid-populate",
                "a key of 16 random bytes and 1024 characters: seven rows per 8 KiB page; see `storage`",
            ),
            (
                "guid-lookup-scan",
                "one statement that goes through the keys of such a table in their order and takes each `every`-th",
            ),
            (
                "guid-lookup-join",
                "one statement that looks up these keys one by one and returns the largest of the wide values",
            ),
            ("structure", "statistics of every index of such tables, level by level, from the files"),
            ("check", "a check of the database's files, or, at level read, nothing but reading them"),
            ("backup", "a copy of the database in `streams` streams, and the way back"),
            ("raw-read", "reads of a file without any engine, in the pattern of the I/O matrix"),
            ("inventory", "no work: CPUs, memory and parallelism of machine and server"),
            ("own", "schema, load and scripts of the spec's own table `[workload]`"),
        ]),
        unit: "",
        default: None,
        doc: "Columns of the table and statements of the clients. Must be given.",
    },
    Parameter {
        name: "loop",
        aliases: &["loop_side"],
        kind: ParameterType::Word(&[
            ("client", "fathom sends each statement: one round trip each, latency per transaction"),
            ("server", "a procedure with COMMIT inside: one call per client, no latency per transaction"),
        ]),
        unit: "",
        default: Some("client"),
        doc: "Where the loop over transactions runs.",
    },
    Parameter {
        name: "rows_total",
        aliases: &["rows", "transactions"],
        kind: ParameterType::Integer { min: 1, max: ROWS_MAX },
        unit: "rows",
        default: None,
        doc: "Rows over all clients, shared as evenly as possible (transactions for select-one and own workloads). Either this or `duration`.",
    },
    Parameter {
        name: "duration",
        aliases: &[],
        kind: ParameterType::Duration { min: Duration::from_millis(1), max: DAY.saturating_mul(30) },
        unit: "time",
        default: None,
        doc: "Length of the measured part; a transaction under way at the end is finished and counted. Either this or `rows_total`.",
    },
    Parameter {
        name: "warm_up",
        aliases: &[],
        kind: ParameterType::Duration { min: Duration::from_millis(1), max: DAY },
        unit: "time",
        default: None,
        doc: "Time for which the same clients work over the same connections before the measured part; not set means none.",
    },
    Parameter {
        name: "warm_up_rows",
        aliases: &[],
        kind: ParameterType::Integer { min: 1, max: ROWS_MAX },
        unit: "rows",
        default: None,
        doc: "Warm-up by rows over all clients in place of time.",
    },
    Parameter {
        name: "connections",
        aliases: &["clients"],
        kind: ParameterType::Integer { min: 1, max: 10_000 },
        unit: "connections",
        default: Some("1"),
        doc: "Clients, each with one connection and its own loop.",
    },
    Parameter {
        name: "jobs",
        aliases: &["threads"],
        kind: ParameterType::Integer { min: 1, max: 1024 },
        unit: "threads",
        default: None,
        doc: "Worker threads of fathom that drive the connections; at most one per connection. Not set: the target chooses.",
    },
    Parameter {
        name: "batch_size",
        aliases: &["batch", "rows_per_transaction"],
        kind: ParameterType::Integer { min: 1, max: 100_000_000 },
        unit: "rows",
        default: Some("1"),
        doc: "Rows per transaction; the last transaction of a client may be smaller.",
    },
    Parameter {
        name: "key",
        aliases: &[],
        kind: ParameterType::Word(&[
            ("sequential", "each key larger than the one before"),
            ("random", "keys drawn at random: sixteen bytes for random-insert"),
        ]),
        unit: "",
        default: None,
        doc: "Order of the keys. Not set: random for random-insert, sequential for the others.",
    },
    Parameter {
        name: "secondary_indexes",
        aliases: &["nonclustered_indexes"],
        kind: ParameterType::Integer { min: 0, max: 8 },
        unit: "indexes",
        default: Some("0"),
        doc: "Secondary indexes, each on its own column of random numbers.",
    },
    Parameter {
        name: "data_files",
        aliases: &["partitions"],
        kind: ParameterType::Integer { min: 1, max: 1024 },
        unit: "files",
        default: Some("1"),
        doc: "Data files of the table over the data directories: hash partitions on engines that have no data files. They split the index and its locks too.",
    },
    Parameter {
        name: "durability",
        aliases: &[],
        kind: ParameterType::Word(&[
            ("full", "the log is on the device before the commit returns"),
            (
                "relaxed",
                "the commit returns first; a crash may lose the last transactions, never consistency",
            ),
            ("none", "nothing is flushed; a crash of the machine may lose the database"),
        ]),
        unit: "",
        default: Some("full"),
        doc: "What a commit waits for.",
    },
    Parameter {
        name: "rate",
        aliases: &[],
        kind: ParameterType::Float { min: 0.001, max: 1e9 },
        unit: "transactions/s",
        default: None,
        doc: "Open loop: transactions start at this rate over all clients, and latency counts from the intended start. Not set: closed loop.",
    },
    Parameter {
        name: "placement",
        aliases: &[],
        kind: ParameterType::Word(&[
            ("together", "data and log both in the data directories"),
            ("log-apart", "data in the data directories, log in the log directory"),
            ("data-apart", "data in the log directory, log in the first data directory"),
        ]),
        unit: "",
        default: Some("together"),
        doc: "Which of the two places of the layout holds the data and which the log.",
    },
    Parameter {
        name: "buffer_pool_mib",
        aliases: &[],
        kind: ParameterType::Integer { min: 1, max: 1 << 24 },
        unit: "MiB",
        default: None,
        doc: "Size of the buffer pool (`shared_buffers`, `cache_size`). Not set: the engine's default.",
    },
    Parameter {
        name: "log_size_mib",
        aliases: &[],
        kind: ParameterType::Integer { min: 1, max: 1 << 24 },
        unit: "MiB",
        default: None,
        doc: "Size of the log at which a checkpoint is forced (`max_wal_size`, `wal_autocheckpoint`). Not set: the engine's default.",
    },
    Parameter {
        name: "manual_checkpoint_every",
        aliases: &[],
        kind: ParameterType::Duration { min: Duration::ZERO, max: DAY },
        unit: "time",
        default: None,
        doc: "Time between checkpoints that the run asks for while the clients work (`CHECKPOINT`, `wal_checkpoint(TRUNCATE)`), the first after one such time. Not set, or `0s`: checkpoints are left to the engine.",
    },
];

/// Those that specs list last.
pub(super) static LAST: [Parameter; 2] = [
    Parameter {
        name: "label",
        aliases: &[],
        kind: ParameterType::Text { chars_max: 64 },
        unit: "",
        default: Some(""),
        doc: "Free word that changes nothing; as a factor with two levels it makes an A/A pair.",
    },
    Parameter {
        name: "ENGINE.SETTING",
        aliases: &[],
        kind: ParameterType::Setting,
        unit: "",
        default: None,
        doc: "A setting of an engine by its own name, e.g. `postgres.shared_buffers`, `sqlite.page_size`; in a spec also in the table [engine.NAME]. Ignored on other engines, except as a factor.",
    },
];
