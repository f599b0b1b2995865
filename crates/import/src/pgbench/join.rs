//! The files of a run made one: the logs of its workers, and what pgbench printed about it.

use std::collections::BTreeMap;

use results::model::{ClientRecord, Level};
use results::observations::{Observations, Series, SeriesKind};

use super::aggregate::Aggregate;
use super::log::{Log, failures};
use super::output::Output;
use super::part::{Content, Part};
use crate::table::level_of;
use crate::{Choice, Format, ImportError, Observation, Place, Reading};

/// A run that a log describes.
enum Logged {
    Log(Box<Log>),
    Aggregate(Aggregate),
}

impl Logged {
    fn transactions(&self) -> f64 {
        match self {
            Self::Log(log) => log.transactions as f64,
            Self::Aggregate(sum) => sum.transactions,
        }
    }
}

/// Makes the runs of a study: worker logs of one process are one run, and an output belongs to the log with as many
/// transactions.
///
/// # Errors
/// Logs and outputs are there, and it cannot be told which belong together.
pub fn join(parts: Vec<Part>) -> Result<Reading, ImportError> {
    let mut logged: Vec<(String, Logged)> = Vec::new();
    let mut outputs: Vec<(String, Output)> = Vec::new();
    for part in parts {
        match part.content {
            Content::Output(runs) => outputs.extend(runs.into_iter().map(|run| (part.file.clone(), run))),
            Content::Log(log) => merge(&mut logged, &part.file, Logged::Log(log)),
            Content::Aggregate(sum) => merge(&mut logged, &part.file, Logged::Aggregate(sum)),
        }
    }
    let format = match logged.first() {
        Some((_, Logged::Log(_))) => Format::PgbenchLog,
        Some((_, Logged::Aggregate(_))) => Format::PgbenchAggregate,
        None => Format::PgbenchOutput,
    };
    let tool_version = outputs.iter().find_map(|(_, output)| output.version.clone());
    let mut observations = Vec::new();
    let is_single = logged.len() == 1 && outputs.len() == 1;
    for (file, run) in logged {
        let same = outputs
            .iter()
            .position(|(_, output)| is_single || output.transactions == Some(run.transactions()));
        let output = same.map(|index| outputs.remove(index).1);
        let mut made = match &run {
            Logged::Log(log) => of_log(log, output.as_ref()),
            Logged::Aggregate(sum) => of_aggregate(sum, output.as_ref()),
        };
        made.place = Place { file, line: None };
        if let Some(output) = &output {
            describe(&mut made, output);
        } else if !outputs.is_empty() {
            let reason =
                format!("no output of pgbench has the {} transactions of this log", run.transactions());
            return Err(ImportError::new(&made.place.file, reason)
                .hint("import the log and its output without others"));
        }
        observations.push(made);
    }
    for (file, output) in outputs {
        let mut made = of_output(&output);
        made.place = Place { file, line: Some(output.line) };
        describe(&mut made, &output);
        observations.push(made);
    }
    let choice = |name: &str, taken_as: &str| Choice { name: name.to_owned(), taken_as: taken_as.to_owned() };
    Ok(Reading {
        format,
        tool: Some("pgbench".to_owned()),
        tool_version,
        engine: "postgres".to_owned(),
        observations,
        metric: Some("transactions_per_s".to_owned()),
        is_smaller_better: Some(false),
        choices: vec![
            choice("transactions", "metric transactions_per_s (1/s)"),
            choice("clients", "factor connections"),
        ],
        identities: Vec::new(),
    })
}

/// Adds the log of another worker of the same process: `pgbench_log.8847` and `pgbench_log.8847.1`.
fn merge(all: &mut Vec<(String, Logged)>, file: &str, run: Logged) {
    let name = process_of(file);
    let known = all.iter_mut().find(|(known, _)| process_of(known) == name);
    match (known.map(|(_, known)| known), run) {
        (Some(Logged::Log(known)), Logged::Log(log)) => known.merge(*log),
        (Some(Logged::Aggregate(known)), Logged::Aggregate(sum)) => known.merge(&sum),
        (_, run) => all.push((file.to_owned(), run)),
    }
}

/// The name without the number of a worker.
fn process_of(file: &str) -> &str {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    match file.rsplit_once('.') {
        Some((before, worker)) if is_number(worker) => match before.rsplit_once('.') {
            Some((_, process)) if is_number(process) => before,
            _ => file,
        },
        _ => file,
    }
}

fn of_log(log: &Log, output: Option<&Output>) -> Observation {
    let mut made = Observation { started_us: Some(log.start_us), ..Observation::default() };
    let span_us = (log.end_us - log.start_us).max(0);
    made.elapsed_ns = Some(span_us as u64 * 1000);
    let start = log.start_us.max(0) as u64;
    let since = |us: Option<u64>| us.map(|us| us.saturating_sub(start).saturating_mul(1000));
    made.clients = log
        .clients
        .values()
        .map(|client| ClientRecord {
            start_ns: since(client.start_ns),
            end_ns: since(client.end_ns),
            ..client.clone()
        })
        .collect();
    let connections = output.and_then(|output| output.setting("connections"));
    if connections.is_none() {
        made.levels.push(("connections".to_owned(), Level::Integer(log.clients.len() as i64)));
    }
    if log.transactions > 0 {
        made.put("latency_mean_ms", log.latency_ms_sum / log.transactions as f64, "ms", "pgbench log: time");
    }
    put_failures(
        &mut made,
        failures(log) as f64,
        log.serialization_failures as f64,
        log.deadlock_failures as f64,
        log.skipped as f64,
    );
    if log.scripts.len() > 1 {
        for (script, count) in &log.scripts {
            made.put(&format!("script_{script}_transactions"), *count as f64, "1", "pgbench log: script_no");
        }
    }
    if let Some(all) = log.sampled_of() {
        let lines = log.transactions;
        made.warn("import_incomplete", format!("latencies are of a sample: {lines} of {all} transactions"));
        for client in &mut made.clients {
            client.transactions =
                log.numbers.get(&client.client_index).copied().unwrap_or(client.transactions);
        }
    } else if let Some(processed) =
        output.and_then(|output| output.transactions).filter(|count| *count != log.transactions as f64)
    {
        made.doubts
            .push(format!("the log has {} transactions, pgbench processed {processed}", log.transactions));
    }
    made.observations = Observations {
        series: log.seconds.series(log.start_us, log.end_us, 1, "pgbench log"),
        ..Observations::default()
    };
    made
}

fn of_aggregate(sum: &Aggregate, output: Option<&Output>) -> Observation {
    let covered_s = sum.covered_s();
    let start_us = sum.first_s * 1_000_000;
    let mut made = Observation { started_us: Some(start_us), ..Observation::default() };
    made.elapsed_ns = u64::try_from(covered_s).ok().and_then(|s| s.checked_mul(1_000_000_000));
    let processed = output.and_then(|output| output.transactions);
    let transactions = processed.unwrap_or(sum.transactions);
    made.clients = vec![whole(transactions, put_errors(sum), sum.retries, sum.skipped, made.elapsed_ns)];
    if let Some(mean) = sum.latency_mean_ms() {
        made.put("latency_mean_ms", mean, "ms", "pgbench log: sum_latency");
        made.put("latency_max_ms", sum.latency_us_max / 1e3, "ms", "pgbench log: max_latency");
    }
    if let Some(stddev) = sum.latency_stddev_ms() {
        made.put("latency_stddev_ms", stddev, "ms", "pgbench log: sum_latency_2");
    }
    if sum.lag_us_sum > 0.0 && sum.transactions > 0.0 {
        made.put(
            "schedule_lag_mean_ms",
            sum.lag_us_sum / sum.transactions / 1e3,
            "ms",
            "pgbench log: sum_lag",
        );
        made.put("schedule_lag_max_ms", sum.lag_us_max / 1e3, "ms", "pgbench log: max_lag");
    }
    put_failures(&mut made, put_errors(sum), sum.serialization_failures, sum.deadlock_failures, sum.skipped);
    if let Some(processed) = processed.filter(|count| *count != sum.transactions) {
        made.warn(
            "import_incomplete",
            format!(
                "latencies are of {} of {processed} transactions: pgbench does not write the last interval",
                sum.transactions
            ),
        );
    }
    made.observations = Observations {
        series: sum.seconds.series(
            start_us,
            start_us.saturating_add(covered_s.saturating_mul(1_000_000)),
            sum.interval_s,
            "pgbench log",
        ),
        ..Observations::default()
    };
    made
}

fn put_errors(sum: &Aggregate) -> f64 {
    sum.serialization_failures + sum.deadlock_failures
}

fn of_output(output: &Output) -> Observation {
    let transactions = output.transactions.unwrap_or(0.0);
    let mut made = Observation::default();
    made.elapsed_ns = elapsed_ns(output);
    made.clients = vec![whole(transactions, output.failed, output.retries, output.skipped, made.elapsed_ns)];
    put_failures(&mut made, output.failed, 0.0, 0.0, output.skipped);
    if output.progress.len() > 1 {
        let at_ns: Vec<i64> = output.progress.iter().map(|(second, ..)| (second * 1e9) as i64).collect();
        if at_ns.is_sorted() {
            let series = |name: &str, unit: &str, kind, values| Series {
                name: name.to_owned(),
                unit: unit.to_owned(),
                source: "pgbench progress".to_owned(),
                kind,
                at_ns: at_ns.clone(),
                values,
            };
            let rates = output.progress.iter().map(|(_, tps, _)| Some(*tps)).collect();
            let latencies =
                output.progress.iter().map(|(.., ms)| Some(*ms).filter(|ms| ms.is_finite())).collect();
            made.observations.series = vec![
                series("transactions_per_s", "1/s", SeriesKind::Rate, rates),
                series("latency_mean_ms", "ms", SeriesKind::Gauge, latencies),
            ];
        }
    }
    made
}

/// The time in which pgbench says that it processed its transactions, so that the rate is the one that it prints.
fn elapsed_ns(output: &Output) -> Option<u64> {
    let (transactions, tps) = (output.transactions?, output.tps?);
    let ns = 1e9 * transactions / tps;
    (ns.is_finite() && ns < 9e18).then_some(ns.round() as u64)
}

/// All clients as one, where a file does not tell them apart.
fn whole(transactions: f64, errors: f64, retries: f64, skipped: f64, end_ns: Option<u64>) -> ClientRecord {
    let count = |value: f64| value.clamp(0.0, 9e15) as u64;
    ClientRecord {
        start_ns: Some(0),
        end_ns,
        transactions: count(transactions),
        errors: count(errors),
        retries: count(retries),
        arrivals_unserved: count(skipped),
        ..ClientRecord::new(0)
    }
}

fn put_failures(made: &mut Observation, failed: f64, serialization: f64, deadlock: f64, skipped: f64) {
    let numbers = [
        ("failed_transactions", failed),
        ("serialization_failures", serialization),
        ("deadlock_failures", deadlock),
        ("skipped_transactions", skipped),
    ];
    for (name, value) in numbers.into_iter().filter(|(_, value)| *value > 0.0) {
        made.put(name, value, "1", "pgbench");
    }
}

/// Adds what pgbench printed: settings as levels, numbers as metrics, its own rate as the rate of the run.
fn describe(made: &mut Observation, output: &Output) {
    let mut levels: BTreeMap<usize, (String, Level)> = BTreeMap::new();
    for (index, (name, value)) in output.settings.iter().enumerate() {
        levels.insert(index, ((*name).to_owned(), level_of(value)));
    }
    made.levels.extend(levels.into_values());
    for (name, value, unit) in &output.numbers {
        // The mean over all lines of a log is that of the same transactions, with more digits.
        if !made.metrics.iter().any(|metric| metric.name == *name) {
            made.put(name, *value, unit, "pgbench");
        }
    }
    if let Some(tps) = output.tps {
        made.put("tps", tps, "1/s", "pgbench: without initial connection time");
    }
    made.elapsed_ns = elapsed_ns(output).or(made.elapsed_ns);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workers_of_one_process_are_told_by_their_names() {
        assert_eq!(process_of("x/pgbench_log.8847.1"), "x/pgbench_log.8847");
        assert_eq!(process_of("x/pgbench_log.8847"), "x/pgbench_log.8847");
        assert_eq!(process_of("run.2.log"), "run.2.log");
        assert_eq!(process_of("tx"), "tx");
    }
}
