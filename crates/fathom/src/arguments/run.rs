//! `fathom run`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::max_rate::MaxRateArguments;
use super::results::ResultsArguments;
use super::scripts::ScriptArguments;

/// What runs without `--target`.
pub(crate) const DEFAULT_TARGET: &str = results::EngineId::Sqlite.name();

#[derive(Debug, Args)]
pub(crate) struct RunArguments {
    /// Name of an experiment (see `fathom list`), path of a spec (.toml), or SQL scripts (FILE.sql, FILE.sql@WEIGHT) that the
    /// clients execute in an empty database
    #[arg(required_unless_present_any = ["builtin", "file"])]
    pub(crate) experiment: Vec<String>,
    /// What to test: sqlite, postgres (managed cluster from installed binaries), noop, or a postgres:// URL
    #[arg(short, long, value_name = "TARGET", default_value = DEFAULT_TARGET)]
    pub(crate) target: String,
    /// Directory with PostgreSQL server binaries; repeat to compare several servers
    #[arg(long, value_name = "DIR")]
    pub(crate) pg_bin: Vec<PathBuf>,
    /// Port (socket name) of the managed PostgreSQL [default: the first unused one]
    #[arg(long, value_name = "PORT", value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) pg_port: Option<u16>,
    /// Run the miniature: minutes on two cores
    #[arg(short, long)]
    pub(crate) mini: bool,
    /// Set a parameter; several values make it a factor (e.g. connections=1,4,16); a number alone is the scale
    #[arg(short, long, value_name = "NAME=VALUE[,VALUE]")]
    pub(crate) set: Vec<String>,
    /// Connections, each with its loop; the same as --set connections=N
    #[arg(short = 'c', long, value_name = "N[,N]")]
    pub(crate) clients: Option<String>,
    /// Worker threads that drive the connections; the same as --set jobs=N
    #[arg(short = 'j', long, value_name = "N")]
    pub(crate) jobs: Option<String>,
    /// Duration of each run, e.g. 30 (seconds) or 5m; the same as --set duration=TIME
    #[arg(short = 'T', long, value_name = "TIME")]
    pub(crate) time: Option<String>,
    /// Open loop at this many transactions per second; the same as --set rate=N
    #[arg(short = 'R', long, value_name = "N[,N]")]
    pub(crate) rate: Option<String>,
    /// Metric to compare, in place of the spec's (e.g. response_time_p99_ms, raw_iops, log_bytes_per_transaction)
    #[arg(long, value_name = "NAME")]
    pub(crate) metric: Option<String>,
    /// What to compare, in place of the spec's: reference, previous, previous(FACTOR), each-level-of(FACTOR) or
    /// pairs(FACTOR: LEVEL, LEVEL); repeat for several
    #[arg(long, value_name = "CONTRAST")]
    pub(crate) against: Vec<String>,
    /// Repetitions (blocks) of every cell
    #[arg(long, value_name = "N")]
    pub(crate) repetitions: Option<u32>,
    /// Add blocks until the 95 % interval of every cell is this narrow (half width in percent of the mean), until every
    /// comparison is decided (`decision`; error rate held over all looks), or both (`2,decision`)
    #[arg(long, value_name = "PERCENT|decision")]
    pub(crate) repeat_until: Option<RepeatWords>,
    /// With --repeat-until decision: a comparison is decided, too, when the difference is shown to be at most this
    #[arg(long, value_name = "PERCENT", requires = "repeat_until")]
    pub(crate) margin: Option<f64>,
    /// Maximum number of blocks with --repeat-until
    #[arg(long, value_name = "N", default_value_t = 30, requires = "repeat_until")]
    pub(crate) repeat_max: u32,
    /// Seed of the order of runs, of keys, of random values in scripts and of arrival times
    #[arg(long, visible_alias = "random-seed", value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,
    /// Directory for data; repeat for several (on PostgreSQL one tablespace each)
    #[arg(long, value_name = "DIR")]
    pub(crate) data: Vec<PathBuf>,
    /// Directory for the log (PostgreSQL: WAL), used where `placement` separates it from the data
    #[arg(long, value_name = "DIR")]
    pub(crate) log: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) scripts: ScriptArguments,
    #[command(flatten)]
    pub(crate) max_rate: MaxRateArguments,
    #[command(flatten)]
    pub(crate) results: ResultsArguments,
    /// Print what would run, in which order, what it can show, the estimated time and disk space
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Start even if the design cannot reach a verdict
    #[arg(long)]
    pub(crate) anyway: bool,
    /// Start without a question even if the estimate is above an hour or 10 GiB
    #[arg(short = 'y', long)]
    pub(crate) yes: bool,
    /// Start even if the directories have less free space than estimated
    #[arg(long)]
    pub(crate) ignore_space: bool,
    /// Create a new study even if the same one exists
    #[arg(long)]
    pub(crate) again: bool,
    /// Keep the directory of the managed server or SQLite, or the external database
    #[arg(long)]
    pub(crate) keep: bool,
    /// When to measure the maximum of the devices alone for the access patterns of the runs (kept for a day)
    #[arg(long, value_enum, default_value_t = CeilingWord::Before)]
    pub(crate) ceilings: CeilingWord,
    /// Command that prints CSV with a time column during a run; its columns become series of the run. The `samplers` of
    /// the spec run as well if --allow-commands is given
    #[arg(long, value_name = "COMMAND")]
    pub(crate) sampler: Vec<String>,
    /// Run the commands in the spec (`samplers`, settings such as archive_command); `fathom show` lists them
    #[arg(long)]
    pub(crate) allow_commands: bool,
    #[command(flatten)]
    pub(crate) notify: NotifyArguments,
    /// Print the result as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// What `--repeat-until` waits for; one of the two at least.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct RepeatWords {
    /// Half width of the intervals, in percent.
    pub(crate) half_width_percent: Option<f64>,
    /// Decisions.
    pub(crate) is_decided: bool,
}

impl std::str::FromStr for RepeatWords {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut words = Self::default();
        for word in text.split(',').map(str::trim) {
            match (word, word.trim_end_matches('%').trim_end().parse()) {
                ("decision", _) => words.is_decided = true,
                (_, Ok(percent)) if words.half_width_percent.is_none() => {
                    words.half_width_percent = Some(percent)
                }
                _ => return Err(format!("\"{word}\" is neither a percentage nor `decision`")),
            }
        }
        Ok(words)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum CeilingWord {
    /// Before the first run
    Before,
    /// After the last run
    After,
    /// Not at all
    Never,
}

/// Notifications: to whom, and when.
#[derive(Clone, Debug, Args)]
pub(crate) struct NotifyArguments {
    /// Command to run on finish, failure and stall; FATHOM_EVENT and FATHOM_MESSAGE are set
    #[arg(long, value_name = "COMMAND", env = "FATHOM_NOTIFY_COMMAND", hide_env_values = true)]
    pub(crate) notify_command: Option<String>,
    /// URL to which the same is posted as a JSON object
    #[arg(long, value_name = "URL", env = "FATHOM_NOTIFY_WEBHOOK", hide_env_values = true)]
    pub(crate) notify_webhook: Option<String>,
    /// Time without progress after which a stall is reported, e.g. 5m
    #[arg(long, value_name = "TIME", default_value = "5m")]
    pub(crate) no_progress_after: String,
}
