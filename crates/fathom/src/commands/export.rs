//! `fathom export`: a stored study for other tools.

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
    let bytes = render(&store, &results, arguments.format)?;
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
        ExportFormat::Gobench => export::go_benchmark(results).into_bytes(),
        #[cfg(feature = "parquet")]
        ExportFormat::Parquet => export::runs_parquet(results)?,
        #[cfg(not(feature = "parquet"))]
        ExportFormat::Parquet => anyhow::bail!(
            "this build cannot write Parquet\nhint: build with `--features parquet`, or use --format csv"
        ),
    })
}
