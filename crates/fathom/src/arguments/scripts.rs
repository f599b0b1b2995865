//! Scripts in place of a spec: the options of `fathom run` that pgbench has, too.

use clap::Args;

/// Options for SQL scripts. Those that set a parameter apply to specs with `[workload]` as well.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Scripts (as in pgbench)")]
pub(crate) struct ScriptArguments {
    /// Built-in script of pgbench, over its tables: tpcb-like, simple-update or select-only; `-b list` lists them
    #[arg(short, long, value_name = "NAME[@WEIGHT]")]
    pub(crate) builtin: Vec<String>,
    /// Script to run, as if it stood in the place of the experiment; for names that do not end in .sql
    #[arg(short, long, value_name = "FILE[@WEIGHT]")]
    pub(crate) file: Vec<String>,
    /// File with the tables of the scripts, executed before them in an empty database
    #[arg(long, value_name = "FILE", conflicts_with_all = ["initialize", "builtin"])]
    pub(crate) schema: Option<String>,
    /// Define a variable of the scripts
    #[arg(short = 'D', long, value_name = "NAME=VALUE")]
    pub(crate) define: Vec<String>,
    /// Protocol of the statements: simple, extended or prepared; the same as --set protocol=NAME
    #[arg(short = 'M', long, value_name = "NAME[,NAME]")]
    pub(crate) protocol: Option<String>,
    /// Latency limit, in milliseconds or with a unit (10ms); the same as --set latency_limit=TIME
    #[arg(short = 'L', long, value_name = "TIME")]
    pub(crate) latency_limit: Option<String>,
    /// Tries of a transaction after a serialization failure or deadlock (0: no limit); the same as --set max_tries=N
    #[arg(long, value_name = "N")]
    pub(crate) max_tries: Option<String>,
    /// Make and fill the tables of pgbench before the scripts run; always done for built-in scripts
    #[arg(short, long)]
    pub(crate) initialize: bool,
    /// Scale of the tables of pgbench, and the variable :scale (-s N does the same); the same as --set scale=N
    #[arg(long, value_name = "N[,N]")]
    pub(crate) scale: Option<String>,
    /// Fillfactor of the tables of pgbench
    #[arg(short = 'F', long, value_name = "PERCENT[,PERCENT]")]
    pub(crate) fillfactor: Option<String>,
    /// Keep a line per transaction, for `fathom export --format pgbench-log`; the same as --set transaction_log=true
    #[arg(long)]
    pub(crate) log_transactions: bool,
    /// Accepted: tables are vacuumed when they are loaded, never before a run
    #[arg(short, long)]
    pub(crate) no_vacuum: bool,
    /// Accepted: latency, failures and retries are reported per script and statement in any case
    #[arg(short, long)]
    pub(crate) report_per_command: bool,
}
