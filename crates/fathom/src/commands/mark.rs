//! `fathom mark`: somebody distrusts a run.

use results::store::Store;

use crate::Verdict;
use crate::arguments::MarkArguments;
use crate::terminal::print;

pub(crate) fn run(arguments: &MarkArguments) -> anyhow::Result<Verdict> {
    // Reading first: marking must not make a results file where there is none.
    drop(Store::open_read_only(&arguments.results.results)?);
    let mut store = Store::open_or_create(&arguments.results.results)?;
    store.mark_suspect(arguments.run, &arguments.suspect, &jiff::Timestamp::now().to_string())?;
    let study = store.study_of_run(arguments.run)?;
    print(&format!(
        "run {} of study {} no longer counts; it is kept, and the same `fathom run` command makes it again\n",
        arguments.run, study.0
    ))?;
    Ok(Verdict::Clean)
}
