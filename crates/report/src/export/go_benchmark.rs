//! Go benchmark text: `BenchmarkName/key=value-N iterations value unit ...`, one line per counting run.
//!
//! Format: golang.org/design/14313-benchmark-format, unit lines as golang.org/x/perf/benchfmt reads them.

use results::model::{Level, Metric, StoredRun};
use results::store::StudyResults;

use crate::plain::one_line;
use crate::quantity::rows_per_s;

pub(super) fn text(results: &StudyResults) -> String {
    let study = &results.study;
    let mut text = format!(
        "experiment: {}\nengine: {}\nstudy: {}\nseed: {}\nfathom: {}\nUnit rows/s better=higher\n\n",
        one_line(&study.experiment),
        one_line(&study.target_words()),
        one_line(&study.key.0),
        study.seed,
        one_line(&study.fathom_version)
    );
    // benchstat shows configurations in the order of their first line: that of the spec, not that of the dice.
    let mut counting: Vec<&StoredRun> = results.runs.iter().filter(|stored| stored.counts()).collect();
    counting.sort_by_key(|stored| stored.run.key.cell_index);
    for stored in counting {
        text.push_str(&line(results, stored));
    }
    text
}

fn line(results: &StudyResults, stored: &StoredRun) -> String {
    let cell = results.cells.iter().find(|cell| cell.index == stored.run.key.cell_index);
    let levels = cell.map(|cell| cell.levels.as_slice()).unwrap_or_default();
    let mut name = format!("Benchmark{}", camel_case(&results.study.experiment));
    for (factor, level) in levels {
        name.push_str(&format!("/{}={}", name_part(factor), name_part(&level.to_string())));
    }
    // A last `-N` is read as GOMAXPROCS: the worker threads of the clients, 1 when the target chose.
    let jobs = levels.iter().chain(&results.study.fixed).find(|(name, _)| name == "jobs");
    let jobs = match jobs {
        Some((_, Level::Integer(jobs))) if *jobs > 0 => *jobs,
        _ => 1,
    };
    let mut line =
        format!("{name}-{jobs} 1 {} ns/op {} rows/s", stored.run.elapsed_ns, rows_per_s(&stored.run));
    let quantities = stored.run.metrics.iter().filter(|metric| !Metric::is_identity(&metric.name));
    for metric in quantities.filter(|metric| metric.value.is_finite()) {
        line.push_str(&format!(" {} {}", metric.value, name_part(&metric.name)));
    }
    line + "\n"
}

/// `populate-batch` becomes `PopulateBatch`.
fn camel_case(name: &str) -> String {
    let words = name.split(|character: char| !character.is_alphanumeric()).filter(|word| !word.is_empty());
    let capitalised = |word: &str| {
        let mut characters = word.chars();
        characters.next().map_or_else(String::new, |first| first.to_uppercase().chain(characters).collect())
    };
    words.map(capitalised).collect()
}

/// Names and units end at white space, and `/` and `=` divide names.
fn name_part(text: &str) -> String {
    let is_kept = |character: char| character.is_alphanumeric() || "_.+".contains(character);
    let part: String =
        text.chars().map(|character| if is_kept(character) { character } else { '_' }).collect();
    if part.is_empty() { "_".to_owned() } else { part }
}
