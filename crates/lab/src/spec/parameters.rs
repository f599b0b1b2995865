//! The parameters of a run: one table that drives parsing, `--set`, messages and documentation.

use std::time::Duration;

/// Engines that a spec may name: in `[engine.NAME]`, and as the prefix of a setting (`postgres.shared_buffers`).
pub const ENGINES: [&str; 3] = ["noop", "sqlite", "postgres"];

/// What values a parameter takes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ParameterType {
    /// A whole number in this range, both ends included.
    Integer {
        /// Smallest allowed value.
        min: i64,
        /// Largest allowed value.
        max: i64,
    },
    /// A finite number in this range, both ends included; a whole number is accepted too.
    Float {
        /// Smallest allowed value.
        min: f64,
        /// Largest allowed value.
        max: f64,
    },
    /// One of these words, each with what it means.
    Word(&'static [(&'static str, &'static str)]),
    /// A length of time such as `250ms`, `10s`, `5m`, `2h`, in this range.
    Duration {
        /// Shortest allowed time.
        min: Duration,
        /// Longest allowed time.
        max: Duration,
    },
    /// Any text up to this many characters, without control characters.
    Text {
        /// Longest allowed text, in characters.
        chars_max: usize,
    },
    /// A setting of an engine: text, number or boolean, handed on as it is.
    Setting,
}

impl ParameterType {
    /// The allowed values in words: `a whole number from 1 to 8`.
    pub fn describe(&self) -> String {
        match self {
            Self::Integer { min, max } => format!("a whole number from {min} to {max}"),
            Self::Float { min, max } => format!("a number from {min} to {max}"),
            Self::Word(words) => {
                let names: Vec<String> = words.iter().map(|(name, _)| format!("`{name}`")).collect();
                format!("one of {}", names.join(", "))
            }
            Self::Duration { min, max } => format!(
                "a time from {} to {}, such as \"10s\"",
                super::value::duration_text(*min),
                super::value::duration_text(*max)
            ),
            Self::Text { chars_max } => format!("text of at most {chars_max} characters"),
            Self::Setting => "text, a number, true or false".to_owned(),
        }
    }
}

/// One parameter of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Parameter {
    /// Name in specs, in `--set` and in results.
    pub name: &'static str,
    /// Other names that are understood; results always use `name`.
    pub aliases: &'static [&'static str],
    /// Allowed values.
    pub kind: ParameterType,
    /// Unit of the value; empty when it has none.
    pub unit: &'static str,
    /// Value when the spec does not give one, as it would be written; `None` when the parameter is then not set.
    pub default: Option<&'static str>,
    /// One or two sentences for people.
    pub doc: &'static str,
}

/// All parameters, in the order in which specs and documentation list them. Settings of engines are not in here:
/// they are whatever the engine knows.
pub fn parameters() -> &'static [Parameter] {
    &PARAMETERS
}

/// The parameter called `name`, also by an alias; `None` when there is none.
pub fn parameter(name: &str) -> Option<&'static Parameter> {
    PARAMETERS.iter().find(|parameter| parameter.name == name || parameter.aliases.contains(&name))
}

/// Pairs of parameters of which a run has at most one: setting one replaces the other of an earlier layer.
pub(crate) const RIVALS: [(&str, &str); 2] = [("rows_total", "duration"), ("warm_up", "warm_up_rows")];

/// The parameter that cannot be given together with `name`.
pub(crate) fn rival(name: &str) -> Option<&'static str> {
    RIVALS.iter().find_map(|(one, other)| match name {
        _ if name == *one => Some(*other),
        _ if name == *other => Some(*one),
        _ => None,
    })
}

const DAY: Duration = Duration::from_secs(24 * 3600);

/// Rows are counted in `i64` by all engines; this bound leaves room for sums over clients and for bytes in `u128`.
const ROWS_MAX: i64 = 1 << 48;

static PARAMETERS: [Parameter; 39] = [
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
                "one statement that looks up these keys one by one and takes the largest of the wide values",
            ),
            ("structure", "statistics of every index of such tables, level by level, from the files"),
            ("check", "a check of the database's files, or, at level read, nothing but reading them"),
            ("backup", "a copy of the database in `streams` streams, and the way back"),
            ("raw-read", "reads of a file without any engine, in the pattern of the I/O matrix"),
            ("inventory", "no work at all: processors, memory and parallelism of machine and server"),
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
        aliases: &["rows"],
        kind: ParameterType::Integer { min: 1, max: ROWS_MAX },
        unit: "rows",
        default: None,
        doc: "Rows over all clients, shared as evenly as possible (transactions for select-one). Either this or `duration`.",
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
        doc: "Rows per transaction; the last transaction of a client is cut to size.",
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
    Parameter {
        name: "storage",
        aliases: &["variant"],
        kind: ParameterType::Word(&[
            (
                "clustered-random",
                "in a tree by the key, in the order in which random keys come (PostgreSQL: an index that includes the row)",
            ),
            ("heap-index", "in the order in which they come, with an index of the random keys beside them"),
            (
                "clustered-ordered",
                "as clustered-random, but filled by one statement in the order of the keys",
            ),
        ]),
        unit: "",
        default: None,
        doc: "How rows with random keys of 16 bytes are stored. With clustered-ordered guid-populate is one statement over all rows, whatever `batch_size` says. Not set: clustered-random.",
    },
    Parameter {
        name: "table_rows",
        aliases: &[],
        kind: ParameterType::Integer { min: 1, max: ROWS_MAX },
        unit: "rows",
        default: None,
        doc: "Rows of the tables that are made before the measured part, over all `objects`; they are kept from run to run and never change. For workloads that read.",
    },
    Parameter {
        name: "objects",
        aliases: &[],
        kind: ParameterType::Integer { min: 1, max: 10_000 },
        unit: "tables",
        default: None,
        doc: "Tables that share `table_rows` evenly. Not set: 1.",
    },
    Parameter {
        name: "every",
        aliases: &[],
        kind: ParameterType::Integer { min: 1, max: ROWS_MAX },
        unit: "keys",
        default: None,
        doc: "Look-ups take each key whose place in the order of the keys is a multiple of this. Not set: 1000.",
    },
    Parameter {
        name: "cache",
        aliases: &[],
        kind: ParameterType::Word(&[
            ("as-is", "whatever the preparation left"),
            ("cold", "the engine restarts and the page cache gives the files up; verified"),
            ("warm", "the files are read just before"),
        ]),
        unit: "",
        default: None,
        doc: "What the caches hold of the files when a run begins. Not set: as-is.",
    },
    Parameter {
        name: "memory_limit_mib",
        aliases: &[],
        kind: ParameterType::Integer { min: 64, max: 1 << 24 },
        unit: "MiB",
        default: None,
        doc: "Memory of the managed server and of the page cache of its files, by a control group of its own (`memory.max`). Refused where no such group can be made. Not set: no limit.",
    },
    Parameter {
        name: "arrays",
        aliases: &["data_directories"],
        kind: ParameterType::Integer { min: 1, max: 256 },
        unit: "directories",
        default: None,
        doc: "Data directories of the layout that are used, from the first on: as many as there are devices behind them. Not set: all.",
    },
    Parameter {
        name: "server_cores",
        aliases: &["cores"],
        kind: ParameterType::Integer { min: 1, max: 4096 },
        unit: "processors",
        default: None,
        doc: "Processors that the managed server may run on, by its CPU affinity, which is read back. Not set: all.",
    },
    Parameter {
        name: "check_level",
        aliases: &[],
        kind: ParameterType::Word(&[
            ("read", "reads every byte and looks at none: what the device gives"),
            ("page", "each page by itself"),
            ("structure", "pages and how they hang together"),
            ("full", "rows and index entries too"),
        ]),
        unit: "",
        default: None,
        doc: "How deep a check goes. Not set: page.",
    },
    Parameter {
        name: "workers",
        aliases: &["dop"],
        kind: ParameterType::Integer { min: 1, max: 1024 },
        unit: "threads",
        default: None,
        doc: "Threads of a check, of a reader or of the statistics of indexes. Not set: 1.",
    },
    Parameter {
        name: "page_batch",
        aliases: &[],
        kind: ParameterType::Integer { min: 1, max: 1 << 20 },
        unit: "pages",
        default: None,
        doc: "Pages that a worker of a check takes at a time. Not set: as many as make 1 MiB.",
    },
    Parameter {
        name: "object_batch",
        aliases: &[],
        kind: ParameterType::Integer { min: 1, max: 1 << 32 },
        unit: "objects",
        default: None,
        doc: "Objects whose sums a check holds at the same time. Not set: all.",
    },
    Parameter {
        name: "streams",
        aliases: &["backup_files"],
        kind: ParameterType::Integer { min: 1, max: 256 },
        unit: "streams",
        default: None,
        doc: "Streams in which a backup is written, each into a file of its own, and read back. Not set: 1.",
    },
    Parameter {
        name: "backup_method",
        aliases: &[],
        kind: ParameterType::Word(&[
            ("reader", "fathom's own reader copies the files of the engine at rest"),
            ("pg_basebackup", "the tool of PostgreSQL copies the running server, in one stream"),
        ]),
        unit: "",
        default: None,
        doc: "What makes a backup. Not set: reader.",
    },
    Parameter {
        name: "transfer_kib",
        aliases: &["transfer_kb"],
        kind: ParameterType::Integer { min: 4, max: 65_536 },
        unit: "KiB",
        default: None,
        doc: "Size of one raw read. Not set: 8.",
    },
    Parameter {
        name: "random_percent",
        aliases: &[],
        kind: ParameterType::Integer { min: 0, max: 100 },
        unit: "%",
        default: None,
        doc: "Share of raw reads at random places; the others follow each other. Not set: 0.",
    },
    Parameter {
        name: "outstanding",
        aliases: &["iodepth"],
        kind: ParameterType::Integer { min: 1, max: 1024 },
        unit: "reads",
        default: None,
        doc: "Raw reads under way at the same time. Not set: 1.",
    },
    Parameter {
        name: "file_mib",
        aliases: &[],
        kind: ParameterType::Integer { min: 1, max: 1 << 24 },
        unit: "MiB",
        default: None,
        doc: "Length of the file that raw reads read. Not set: 512.",
    },
    Parameter {
        name: "read_time",
        aliases: &[],
        kind: ParameterType::Duration { min: Duration::from_millis(100), max: DAY },
        unit: "time",
        default: None,
        doc: "How long each run reads raw. Not set: 5s.",
    },
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_name_or_alias_is_used_twice() {
        let mut names: Vec<&str> = PARAMETERS
            .iter()
            .flat_map(|parameter| parameter.aliases.iter().copied().chain([parameter.name]))
            .collect();
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
    }

    #[test]
    fn rivals_name_each_other_and_exist() {
        for (one, other) in RIVALS {
            assert_eq!(rival(one), Some(other));
            assert_eq!(rival(other), Some(one));
            assert!(parameter(one).is_some() && parameter(other).is_some());
        }
        assert_eq!(rival("connections"), None);
    }

    #[test]
    fn every_parameter_has_a_sentence_that_ends() {
        for parameter in parameters() {
            assert!(parameter.doc.ends_with('.'), "{}", parameter.name);
            assert!(!parameter.kind.describe().is_empty());
        }
    }
}
