//! Which tool wrote a file, by its content.

use std::fmt;

use crate::pgbench::epoch::{EPOCH_S_MAX, EPOCH_S_MIN};

/// The formats that can be imported.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Format {
    /// A table with a header: comma, semicolon or tab.
    Csv,
    /// pgbench, a line per transaction (`--log`).
    PgbenchLog,
    /// pgbench, a line per interval (`--log --aggregate-interval`).
    PgbenchAggregate,
    /// What pgbench prints.
    PgbenchOutput,
    /// fio, `--output-format=json` or `json+`.
    Fio,
    /// HammerDB, `jobs JOBID result`, `timing` and `tcount` as JSON.
    HammerDb,
    /// An HdrHistogram log (`.hlog`).
    HdrHistogram,
}

impl Format {
    /// All formats.
    pub const ALL: [Self; 7] = [
        Self::Csv,
        Self::PgbenchLog,
        Self::PgbenchAggregate,
        Self::PgbenchOutput,
        Self::Fio,
        Self::HammerDb,
        Self::HdrHistogram,
    ];

    /// The word for it on the command line and in results.
    pub fn name(self) -> &'static str {
        match self {
            Self::Csv => "csv",
            Self::PgbenchLog => "pgbench-log",
            Self::PgbenchAggregate => "pgbench-aggregate",
            Self::PgbenchOutput => "pgbench-output",
            Self::Fio => "fio",
            Self::HammerDb => "hammerdb",
            Self::HdrHistogram => "hdrhistogram",
        }
    }

    /// Is it one of the files that pgbench writes about a run?
    pub fn is_pgbench(self) -> bool {
        matches!(self, Self::PgbenchLog | Self::PgbenchAggregate | Self::PgbenchOutput)
    }

    /// Recognises a file by its first bytes (64 KiB or less when it is shorter); `None` for anything else.
    pub fn recognise(start: &[u8]) -> Option<Self> {
        let text = String::from_utf8_lossy(start);
        let text = text.trim_start_matches('\u{FEFF}');
        let lines: Vec<&str> =
            text.lines().map(str::trim).filter(|line| !line.is_empty()).take(400).collect();
        let has = |word: &str| text.contains(word);
        let first = lines.first()?;
        if has("\"Interval_Compressed_Histogram\"")
            || first.starts_with("#[") && has("istogram")
            || has(",HIST")
        {
            return Some(Self::HdrHistogram);
        }
        let is_json = lines.iter().any(|line| line.starts_with(['{', '[']));
        if is_json && (has("\"fio version\"") || has("\"jobs\"") && has("\"jobname\"")) {
            return Some(Self::Fio);
        }
        let hammer =
            ["TEST RESULT", "\"elapsed_ms\"", " tpm\"", " qph\"", "Active Virtual Users", "HAMMERDB RESULT"];
        if is_json && hammer.iter().any(|word| has(word)) {
            return Some(Self::HammerDb);
        }
        if lines.iter().any(|line| line.starts_with("pgbench (") || line.starts_with("transaction type: "))
            || has("number of transactions actually processed")
        {
            return Some(Self::PgbenchOutput);
        }
        if let Some(format) = pgbench_log(first) {
            return Some(format);
        }
        let is_table = first.contains([',', ';', '\t']) && !first.starts_with(['{', '[']);
        is_table.then_some(Self::Csv)
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Recognises a log of pgbench by its first line.
fn pgbench_log(line: &str) -> Option<Format> {
    let words: Vec<&str> = line.split_ascii_whitespace().collect();
    let is_time = |word: &str| word.parse().is_ok_and(|second| (EPOCH_S_MIN..EPOCH_S_MAX).contains(&second));
    let is_number = |word: &&str| word.parse::<f64>().is_ok();
    match words.len() {
        6 | 10 | 11 | 15 if is_time(words[0]) && words.iter().all(is_number) => {
            Some(Format::PgbenchAggregate)
        }
        6..=8 if is_time(words[4]) && words[0].parse::<u32>().is_ok() => Some(Format::PgbenchLog),
        _ => None,
    }
}
