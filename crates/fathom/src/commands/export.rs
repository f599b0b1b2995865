//! `fathom export`: a stored study for other tools.

use anyhow::{Context, bail};
use results::scripts::transactions;
use results::store::{Store, StudyResults};

use crate::arguments::{ExportArguments, ExportFormat};
use crate::cli::delivery::write_new;
use crate::cli::stored;
use crate::cli::terminal::write_out;
use crate::exit_status::ExitStatus;

pub(crate) fn run(arguments: &ExportArguments) -> anyhow::Result<ExitStatus> {
    let store = Store::open_read_only(&arguments.results.results)?;
    let study = stored::find(&store, arguments.study.as_deref())?;
    let results = store.study_results(study.id)?;
    let is_log = arguments.format == ExportFormat::PgbenchLog;
    if arguments.run.is_some() && !is_log {
        bail!(
            "--run is for --format pgbench-log\nhint: leave out --run: the other formats have all runs of the study"
        );
    }
    let bytes = match is_log {
        true => pgbench_log(&store, &results, arguments.run)?,
        false => render(&store, &results, arguments.format)?,
    };
    match &arguments.output {
        None => write_out(&bytes)?,
        Some(path) => write_new(path, &bytes)?,
    }
    Ok(ExitStatus::Clean)
}

/// The runs are read with their histograms only where the form shows clients or scripts.
fn render(store: &Store, results: &StudyResults, format: ExportFormat) -> anyhow::Result<Vec<u8>> {
    use report::export;
    let complete = || -> anyhow::Result<Vec<_>> {
        results.runs.iter().map(|stored| Ok(store.run(stored.run_id)?)).collect()
    };
    Ok(match format {
        ExportFormat::Csv => export::runs_csv(results).into_bytes(),
        ExportFormat::ClientsCsv => export::clients_csv(&complete()?).into_bytes(),
        ExportFormat::ScriptsCsv => export::scripts_csv(results, &complete()?).into_bytes(),
        ExportFormat::Jsonl => export::json_lines(results, &complete()?).into_bytes(),
        // One run, not a study: see `pgbench_log`.
        ExportFormat::PgbenchLog => Vec::new(),
        ExportFormat::Gobench => export::go_benchmark(results).into_bytes(),
        #[cfg(feature = "parquet")]
        ExportFormat::Parquet => export::runs_parquet(results)?,
        #[cfg(not(feature = "parquet"))]
        ExportFormat::Parquet => bail!(
            "this build cannot write Parquet\nhint: build with `--features parquet`, or use --format csv"
        ),
    })
}

/// The transactions of one run: that with this number, else the only one that counts.
fn pgbench_log(store: &Store, results: &StudyResults, run: Option<i64>) -> anyhow::Result<Vec<u8>> {
    let counting = || results.runs.iter().filter(|stored| stored.counts());
    let stored = match run {
        Some(id) => results.runs.iter().find(|stored| stored.run_id == id).with_context(|| {
            let study = &results.study.experiment;
            format!("study {study} has no run {id}\nhint: `fathom list --runs {study}` lists its runs")
        })?,
        None => match (counting().next(), counting().nth(1)) {
            (Some(only), None) => only,
            (None, _) => {
                bail!("no run of {} counts\nhint: choose a run with --run N", results.study.experiment)
            }
            (Some(_), Some(_)) => bail!(
                "{} has {} runs, and a per-transaction log is of one\nhint: choose it with --run N (`fathom list --runs` \
                 lists them)",
                results.study.experiment,
                counting().count()
            ),
        },
    };
    let transactions = store.transaction_log(stored.run_id)?;
    if transactions.is_empty() {
        bail!(
            "run {} has no per-transaction log\nhint: set transaction_log = true in [parameters] of an own workload, and \
             run it",
            stored.run_id
        );
    }
    let started: jiff::Timestamp = stored.run.started_at.parse().unwrap_or_default();
    Ok(transactions::to_pgbench(&transactions, started.as_microsecond()).into_bytes())
}
