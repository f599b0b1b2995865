//! `fathom run --find-max-rate`.

use clap::Args;

/// The search for the highest rate that holds an objective.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Highest rate")]
pub(crate) struct MaxRateArguments {
    /// Find the highest rate (transactions per second, open loop) that holds the objective of --slo: rates are halved or
    /// doubled, then bisected; --repetitions are the runs at each rate [default: 3]
    #[arg(long, requires = "slo", conflicts_with_all = ["rate", "repeat_until", "metric", "against"])]
    pub(crate) find_max_rate: bool,
    /// Objective: p50, p90, p95, p99, p99.9, mean or max < TIME, or "within TIME >= PERCENT"; repeat for several that
    /// must all hold. Response times count from the intended start
    #[arg(long, value_name = "OBJECTIVE", requires = "find_max_rate")]
    pub(crate) slo: Vec<String>,
    /// The search ends when the lowest rate that fails is at most this much above the highest that holds
    #[arg(long, value_name = "PERCENT", default_value_t = 5.0, requires = "find_max_rate")]
    pub(crate) rate_precision: f64,
    /// Rates that are tried at most
    #[arg(long, value_name = "N", default_value_t = 16, value_parser = clap::value_parser!(u32).range(1..=100), requires = "find_max_rate")]
    pub(crate) rates_max: u32,
}
