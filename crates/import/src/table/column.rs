//! What a column is, by its name.

/// What the user said about columns.
#[derive(Clone, Debug, Default)]
pub struct ColumnOptions {
    /// Columns whose values are levels of factors.
    pub factors: Vec<String>,
    /// Columns whose values are numbers of runs, with their unit where it was given.
    pub metrics: Vec<(String, Option<String>)>,
    /// Names of parameters that fathom knows: columns of these names are factors.
    pub known_parameters: Vec<String>,
}

impl ColumnOptions {
    /// Did the user say nothing?
    pub(crate) fn is_empty(&self) -> bool {
        self.factors.is_empty() && self.metrics.is_empty()
    }
}

/// How a column is taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Role {
    /// Its values are levels.
    Factor,
    /// Its values are numbers of the run, stored under this name and in this unit after multiplication.
    Metric {
        /// Name in the results.
        name: String,
        /// Unit of the stored values.
        unit: String,
    },
    /// Seconds (or another unit) that the run took.
    Elapsed(Unit),
    /// Text kept beside the run.
    Label,
    /// Nothing is taken.
    Ignored,
}

/// Units of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Seconds.
    Seconds,
    /// Milliseconds.
    Milliseconds,
    /// Minutes.
    Minutes,
}

impl Unit {
    /// Nanoseconds of one.
    pub(crate) fn ns(self) -> f64 {
        match self {
            Self::Seconds => 1e9,
            Self::Milliseconds => 1e6,
            Self::Minutes => 6e10,
        }
    }
}

/// Columns that say how long a run took.
pub(crate) const ELAPSED: [(&str, Unit); 9] = [
    ("elapsed_s", Unit::Seconds),
    ("elapsed_ms", Unit::Milliseconds),
    ("elapsed_min", Unit::Minutes),
    ("best_elapsed_s", Unit::Seconds),
    ("elapsed", Unit::Seconds),
    ("elapsed_seconds", Unit::Seconds),
    ("duration_s", Unit::Seconds),
    ("runtime_s", Unit::Seconds),
    ("total_time_s", Unit::Seconds),
];

/// Columns that say where a row is from or remark on it.
const LABELS: [&str; 14] = [
    "seed", "file", "line", "row", "note", "notes", "context", "comment", "comments", "source", "url",
    "remark", "rank", "id",
];

/// Columns of settings, as tables of measurements name them.
const FACTORS: [&str; 47] = [
    "batch_size",
    "block_size",
    "bs",
    "build",
    "cache",
    "clients",
    "configuration",
    "connections",
    "data_files",
    "database",
    "dop",
    "driver",
    "durability",
    "engine",
    "file_system",
    "files",
    "filesystem",
    "format",
    "indexes",
    "iodepth",
    "jobs",
    "layout",
    "machine",
    "mode",
    "numjobs",
    "outstanding_io",
    "parallelism",
    "pct_random",
    "pct_read",
    "pct_sequential",
    "queue_depth",
    "read_write",
    "rows_per_transaction",
    "rw",
    "scale",
    "server",
    "ssd_format",
    "step",
    "table",
    "table_id",
    "test",
    "threads",
    "transfer_kb",
    "version",
    "virtual_users",
    "warehouses",
    "workers",
];

/// Endings of names of numbers, with their unit.
const UNITS: [(&str, &str); 37] = [
    ("_bytes_per_s", "bytes/s"),
    ("_bytes_sec", "bytes/s"),
    ("mib_per_s", "MiB/s"),
    ("mbytes_per_s", "MB/s"),
    ("mb_per_s", "MB/s"),
    ("_per_s", "1/s"),
    ("_per_sec", "1/s"),
    ("_reads_sec", "1/s"),
    ("_per_min", "1/min"),
    ("iops", "1/s"),
    ("tps", "1/s"),
    ("qps", "1/s"),
    ("tpm", "1/min"),
    ("nopm", "1/min"),
    ("_bytes_read", "bytes"),
    ("_bytes", "bytes"),
    ("_kb", "KB"),
    ("_mb", "MB"),
    ("_gb", "GB"),
    ("_tb", "TB"),
    ("_pages", "pages"),
    ("_sec_read", "s"),
    ("_ns", "ns"),
    ("_us", "us"),
    ("_ms", "ms"),
    ("_min", "min"),
    ("_s", "s"),
    ("_sec", "s"),
    ("_pct", "%"),
    ("_percent", "%"),
    ("percentage", "%"),
    ("_factor", "1"),
    ("_queue", "1"),
    ("_reads", "1"),
    ("_writes", "1"),
    ("_count", "1"),
    ("_rows", "1"),
];

/// Names of numbers without a unit in their name.
const COUNTS: [&str; 20] = [
    "rows",
    "reads",
    "writes",
    "count",
    "transactions",
    "errors",
    "value",
    "low",
    "high",
    "price_gbp",
    "runs",
    "total",
    "logical_reads",
    "physical_reads",
    "read_ahead",
    "read_ahead_reads",
    "scan_count",
    "page_count",
    "record_count",
    "throughput",
];

/// Names in published tables and in fathom's catalogue for the same number.
const CATALOGUE: [(&str, &str); 7] = [
    ("iops", "raw_iops"),
    ("mib_per_s", "raw_mib_per_s"),
    ("avg_io_ms", "raw_latency_ms"),
    ("max_io_ms", "raw_latency_ms_max"),
    ("p99_io_ms", "raw_latency_ms_p99"),
    ("read_ahead", "read_ahead_reads"),
    ("cpu_percent", "cpu_pct"),
];

/// The name in lower case with one underscore for each run of other characters: `MBytes/s` is `mbytes_s`.
pub(crate) fn canonical(name: &str) -> String {
    const SYNONYMS: [(&str, &str); 22] = [
        ("mb_s", "mbytes_per_s"),
        ("mbytes_s", "mbytes_per_s"),
        ("mbps", "mbytes_per_s"),
        ("mb_per_s", "mbytes_per_s"),
        ("mib_s", "mib_per_s"),
        ("mibps", "mib_per_s"),
        ("io_s", "iops"),
        ("ios_per_s", "iops"),
        ("i_o_s", "iops"),
        ("block_kb", "transfer_kb"),
        ("transfer_kib", "transfer_kb"),
        ("block_size_kb", "transfer_kb"),
        ("bs_kb", "transfer_kb"),
        ("queue_depth", "outstanding_io"),
        ("iodepth", "outstanding_io"),
        ("outstanding", "outstanding_io"),
        ("avg_ms", "avg_io_ms"),
        ("avg_latency_ms", "avg_io_ms"),
        ("latency_avg_ms", "avg_io_ms"),
        ("average_io_ms", "avg_io_ms"),
        ("random", "pct_random"),
        ("sequential", "pct_sequential"),
    ];
    let mut plain = String::new();
    for character in name.trim().trim_start_matches('\u{FEFF}').chars().flat_map(char::to_lowercase) {
        match character {
            character if character.is_alphanumeric() => plain.push(character),
            _ if plain.ends_with('_') || plain.is_empty() => {}
            _ => plain.push('_'),
        }
    }
    let plain = plain.trim_end_matches('_');
    SYNONYMS.iter().find(|(other, _)| *other == plain).map_or(plain, |(_, name)| name).to_owned()
}

/// The unit that the end of a name says.
pub(crate) fn unit_of(name: &str) -> Option<&'static str> {
    if COUNTS.contains(&name) {
        return Some("1");
    }
    // The longer endings stand before those that end them.
    UNITS.iter().find(|(ending, _)| name.ends_with(ending)).map(|(_, unit)| *unit)
}

/// Does the name alone say that its numbers were measured?
pub(crate) fn is_measure(name: &str) -> bool {
    !is_factor(name) && unit_of(name).is_some()
}

/// Does the name say how large something was made? Sizes that were measured are means, least or largest ones.
pub(crate) fn is_size(name: &str) -> bool {
    let is_measured = ["avg_", "mean_", "min_", "max_"].iter().any(|begin| name.starts_with(begin));
    let is_size = name.split('_').any(|word| word == "size")
        || matches!(unit_of(name), Some("KB" | "MB" | "GB" | "TB"));
    is_size && !is_measured
}

pub(crate) fn is_factor(name: &str) -> bool {
    FACTORS.contains(&name)
}

pub(crate) fn is_label(name: &str) -> bool {
    LABELS.contains(&name) || name.ends_with("_text") || name.ends_with("_note")
}

/// The name under which a number is stored: that of fathom's catalogue where it is the same number.
pub(crate) fn stored_name(name: &str) -> String {
    CATALOGUE.iter().find(|(other, _)| *other == name).map_or(name, |(_, known)| known).to_owned()
}
