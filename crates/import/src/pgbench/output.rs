//! What pgbench prints about a run.
// EVIDENCE: PostgreSQL 14 to 18, pgbench, printResults: "scaling factor: ", "number of clients: ", "number of transactions
// actually processed: N[/M]", "latency average = X ms", "tps = X (without initial connection time)"
// OBSERVED: pgbench 15.20

use std::io::BufRead;

use crate::ImportError;
use crate::error::quoted;
use crate::lines::Lines;
use crate::number::number;

/// Most runs in one file.
const RUNS_MAX: usize = 100_000;
/// Most lines `progress:` of which a series is kept.
const SAMPLES_MAX: usize = 1_000_000;

/// What is printed about one run.
#[derive(Clone, Debug, Default)]
pub(crate) struct Output {
    pub(crate) line: u64,
    pub(crate) version: Option<String>,
    /// Name and value of what was set: `scale`, `connections`, `query_mode`, ...
    pub(crate) settings: Vec<(&'static str, String)>,
    pub(crate) transactions: Option<f64>,
    pub(crate) tps: Option<f64>,
    pub(crate) failed: f64,
    pub(crate) skipped: f64,
    pub(crate) retries: f64,
    /// Name, value and unit of other numbers.
    pub(crate) numbers: Vec<(&'static str, f64, &'static str)>,
    /// Seconds, transactions per second, mean latency in ms.
    pub(crate) progress: Vec<(f64, f64, f64)>,
}

/// Lines with a setting: begin, name.
const SETTINGS: [(&str, &str); 8] = [
    ("transaction type: ", "transaction_type"),
    ("scaling factor: ", "scale"),
    ("query mode: ", "query_mode"),
    ("number of clients: ", "connections"),
    ("number of threads: ", "threads"),
    ("maximum number of tries: ", "max_tries"),
    ("duration: ", "duration"),
    ("number of transactions per client: ", "transactions_per_client"),
];

/// Lines with a number: begin, name, unit.
const NUMBERS: [(&str, &str, &str); 4] = [
    ("latency average = ", "latency_mean_ms", "ms"),
    ("latency stddev = ", "latency_stddev_ms", "ms"),
    ("rate limit schedule lag: avg ", "schedule_lag_mean_ms", "ms"),
    ("initial connection time = ", "connection_time_ms", "ms"),
];

pub(crate) fn read(reader: impl BufRead, file: &str) -> Result<Vec<Output>, ImportError> {
    let mut lines = Lines::new(reader, file);
    let mut runs: Vec<Output> = Vec::new();
    let mut now = Output::default();
    let mut is_in_results = false;
    while let Some((line, text)) = lines.next_line()? {
        let text = text.trim();
        let starts =
            text.starts_with("pgbench (") || (text.starts_with("transaction type: ") && is_in_results);
        if starts && is_in_results {
            finish(&mut runs, std::mem::take(&mut now), file)?;
            is_in_results = false;
        }
        is_in_results |= text.starts_with("transaction type: ");
        if now.line == 0 && !text.is_empty() {
            now.line = line;
        }
        take(&mut now, text).map_err(|reason| ImportError::new(file, reason).at(line))?;
        // A run ends with its last rate; what follows (per script, per statement) is about parts of it.
    }
    if is_in_results {
        finish(&mut runs, now, file)?;
    }
    if runs.is_empty() {
        return Err(ImportError::new(file, "there is no \"transaction type:\" of a run of pgbench"));
    }
    Ok(runs)
}

fn finish(runs: &mut Vec<Output>, run: Output, file: &str) -> Result<(), ImportError> {
    if runs.len() == RUNS_MAX {
        return Err(ImportError::new(file, format!("the file has more than {RUNS_MAX} runs")));
    }
    if run.transactions.is_none() || run.tps.is_none() {
        return Err(ImportError::new(
            file,
            "the run that begins here has no \"tps = \": pgbench did not end",
        )
        .at(run.line)
        .hint("leave it out of the file, or run pgbench again"));
    }
    runs.push(run);
    Ok(())
}

fn take(run: &mut Output, text: &str) -> Result<(), String> {
    if let Some(rest) = text.strip_prefix("pgbench (") {
        run.version = Some(rest.trim_end_matches(')').split(" (").next().unwrap_or(rest).to_owned());
    }
    for (begin, name) in SETTINGS {
        if let Some(value) =
            text.strip_prefix(begin).filter(|_| !run.settings.iter().any(|(known, _)| *known == name))
        {
            run.settings.push((name, value.trim().to_owned()));
        }
    }
    for (begin, name, unit) in NUMBERS {
        if let Some(rest) =
            text.strip_prefix(begin).filter(|_| !run.numbers.iter().any(|(known, ..)| *known == name))
        {
            run.numbers.push((name, first(rest)?, unit));
        }
    }
    let starts = |begin: &str| text.strip_prefix(begin);
    if let Some(rest) = starts("number of transactions actually processed: ") {
        run.transactions = Some(first(rest.split('/').next().unwrap_or(rest))?);
    } else if let Some(rest) = starts("number of failed transactions: ") {
        run.failed = first(rest)?;
    } else if let Some(rest) = starts("number of transactions skipped: ") {
        run.skipped = first(rest)?;
    } else if let Some(rest) = starts("total number of retries: ") {
        run.retries = first(rest)?;
    } else if let Some(rest) = starts("tps = ") {
        let tps = first(rest)?;
        // 13 and older print two lines; the one without connections comes last. A script's own rate is indented.
        if run.tps.is_none() || rest.contains("excluding") {
            run.tps = Some(tps);
        }
    } else if let Some(rest) = starts("progress: ") {
        let words: Vec<&str> = rest.split_ascii_whitespace().collect();
        if let ["s,", _, "tps,", "lat", _, "ms", ..] = words.get(1..).unwrap_or_default()
            && run.progress.len() < SAMPLES_MAX
        {
            let value = |word: &str| number(word).map_err(|reason| format!("{} {reason}", quoted(word)));
            // Without a transaction in the interval the latency is NaN.
            run.progress.push((value(words[0])?, value(words[2])?, number(words[5]).unwrap_or(f64::NAN)));
        }
    }
    Ok(())
}

/// The first word as a number that is not negative.
fn first(text: &str) -> Result<f64, String> {
    let word = text.split_ascii_whitespace().next().unwrap_or_default();
    match number(word) {
        Ok(value) if value >= 0.0 => Ok(value),
        Ok(_) => Err(format!("{} is below zero", quoted(word))),
        Err(reason) => Err(format!("{} {reason}", quoted(word))),
    }
}

impl Output {
    /// The setting of this name.
    pub(crate) fn setting(&self, name: &str) -> Option<&str> {
        self.settings.iter().find(|(known, _)| *known == name).map(|(_, value)| value.as_str())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    // OBSERVED: pgbench 15.20 -c 2 -T 3 -P 1 --rate=100 --latency-limit=5
    const RATE: &str = "pgbench (15.20 (Debian 15.20-0+deb12u1))\nstarting vacuum...end.\n\
        progress: 1.0 s, 127.0 tps, lat 3.903 ms stddev 3.403, 0 failed, lag 0.360 ms, 1 skipped\n\
        transaction type: <builtin: TPC-B (sort of)>\nscaling factor: 1\nquery mode: simple\nnumber of clients: 2\n\
        number of threads: 1\nmaximum number of tries: 1\nduration: 3 s\n\
        number of transactions actually processed: 329\nnumber of failed transactions: 0 (0.000%)\n\
        number of transactions skipped: 2 (0.604%)\n\
        number of transactions above the 5.0 ms latency limit: 42/329 (12.766%)\nlatency average = 3.175 ms\n\
        latency stddev = 3.571 ms\nrate limit schedule lag: avg 0.225 (max 4.580) ms\n\
        initial connection time = 17.692 ms\ntps = 110.369648 (without initial connection time)\n";

    #[test]
    fn every_number_that_is_printed_is_taken() {
        let runs = read(RATE.as_bytes(), "f").unwrap();
        let run = &runs[0];
        assert_eq!((run.transactions, run.tps, run.skipped), (Some(329.0), Some(110.369648), 2.0));
        assert_eq!((run.setting("connections"), run.setting("scale")), (Some("2"), Some("1")));
        assert_eq!(run.version.as_deref(), Some("15.20"));
        assert_eq!(run.progress, [(1.0, 127.0, 3.903)]);
        assert!(run.numbers.contains(&("latency_mean_ms", 3.175, "ms")));
    }

    #[test]
    fn several_runs_in_one_file_are_several_runs() {
        let without_head = RATE.split_once("progress").unwrap().1.split_once('\n').unwrap().1;
        let runs = read(format!("{RATE}{RATE}{without_head}").as_bytes(), "f").unwrap();
        assert_eq!(runs.len(), 3);
        assert!(runs.iter().all(|run| run.tps == Some(110.369648)));
    }

    #[test]
    fn a_run_that_did_not_end_is_refused() {
        let cut = RATE.split_once("tps = 110").unwrap().0;
        let error = read(cut.as_bytes(), "f").unwrap_err();
        assert!(error.reason.contains("no \"tps = \""), "{error}");
        assert!(read("pgbench (15.20)\n".as_bytes(), "f").is_err());
    }
}
