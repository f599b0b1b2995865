//! HammerDB: `jobs JOBID result`, `timing` and `tcount` as JSON.
// EVIDENCE: HammerDB 4.x, "CLI Jobs Interface": result is a list of the job id, its time, "N Active Virtual Users configured"
// and "TEST RESULT : System achieved N NOPM from M ... TPM"; timing has an object per procedure (calls, avg_ms, p99_ms, ...);
// tcount has an object per counter ("PostgreSQL tpm") with counts and times

use std::io::BufRead;

use results::model::Level;
use results::observations::{Series, SeriesKind};
use serde_json::Value;

use crate::documents::{self, number};
use crate::{Choice, Format, ImportError, Observation, Place, Reading};

/// Numbers of a procedure: name in HammerDB and its end in the results, unit.
const TIMINGS: [(&str, &str, &str); 7] = [
    ("calls", "calls", "1"),
    ("avg_ms", "mean_ms", "ms"),
    ("p50_ms", "p50_ms", "ms"),
    ("p95_ms", "p95_ms", "ms"),
    ("p99_ms", "p99_ms", "ms"),
    ("max_ms", "max_ms", "ms"),
    ("ratio_pct", "share_pct", "%"),
];
/// Most points of a counter.
const POINTS_MAX: usize = 1_000_000;

/// Reads files: the documents of one file are about one job, unless it has several results.
///
/// # Errors
/// No document of HammerDB, a job without a result, a number that is none.
pub fn read(files: Vec<(String, Box<dyn BufRead + '_>)>) -> Result<Reading, ImportError> {
    let mut jobs: Vec<Observation> = Vec::new();
    let mut loose: Vec<Observation> = Vec::new();
    let mut engine = None;
    for (file, reader) in files {
        let mut of_file: Vec<Observation> = Vec::new();
        // Timing and counts stand before or after the result of their job.
        let mut parts =
            Observation { place: Place { file: file.clone(), line: None }, ..Observation::default() };
        let documents = documents::read(reader, &file)?;
        for document in &documents {
            let place = Place { file: file.clone(), line: Some(document.line) };
            for found in results_of(&document.value) {
                of_file.push(of_result(&found, &place, &mut engine)?);
            }
            timing(&document.value, &mut parts);
            counts(&document.value, &mut parts);
        }
        let has_parts = !parts.metrics.is_empty() || !parts.observations.series.is_empty();
        match (of_file.as_mut_slice(), has_parts) {
            ([], false) => {
                return Err(ImportError::new(&file, "there is no result, timing or tcount of a job of HammerDB")
                    .hint("set `jobs format JSON`, then print `jobs JOBID result`, `timing` and `tcount` into the file"));
            }
            ([], true) => loose.push(parts),
            ([job], true) => add(job, parts),
            (_, true) => {
                return Err(ImportError::new(
                    &file,
                    "it has several results, and timings or counts of which job is not said",
                )
                .hint("write a file per job"));
            }
            (_, false) => {}
        }
        jobs.extend(of_file);
    }
    join(&mut jobs, loose)?;
    Ok(reading(jobs, engine))
}

/// Puts timings and counts from files of their own on the only job.
fn join(jobs: &mut Vec<Observation>, loose: Vec<Observation>) -> Result<(), ImportError> {
    for part in loose {
        match jobs.as_mut_slice() {
            [job] => add(job, part),
            [] => jobs.push(part),
            _ => {
                return Err(ImportError::new(&part.place.file, "of which of the jobs it is, is not said")
                    .hint("put result, timing and tcount of a job into one file"));
            }
        }
    }
    Ok(())
}

fn add(job: &mut Observation, part: Observation) {
    job.metrics.extend(part.metrics);
    job.observations.merge(part.observations);
    job.elapsed_ns = job.elapsed_ns.or(part.elapsed_ns);
    job.started_us = job.started_us.or(part.started_us);
}

fn reading(observations: Vec<Observation>, engine: Option<String>) -> Reading {
    let has =
        |name: &str| observations.iter().any(|job| job.metrics.iter().any(|metric| metric.name == name));
    let metric = ["nopm", "tpm"].into_iter().find(|name| has(name)).map(str::to_owned);
    let first = observations.iter().find_map(|job| Some(job.metrics.first()?.name.clone()));
    let choice = |name: &str, taken_as: &str| Choice { name: name.to_owned(), taken_as: taken_as.to_owned() };
    Reading {
        format: Format::HammerDb,
        tool: Some("HammerDB".to_owned()),
        tool_version: None,
        engine: engine.unwrap_or_else(|| "database".to_owned()),
        is_smaller_better: metric.is_some().then_some(false),
        metric: metric.or(first),
        observations,
        choices: vec![
            choice("Active Virtual Users", "factor virtual_users"),
            choice("NOPM, TPM", "metric nopm, tpm (1/min)"),
            choice("timing", "metrics of each procedure (ms)"),
            choice("tcount", "series"),
        ],
        identities: Vec::new(),
    }
}

/// The results in a document: a list of texts with a test result, alone or as the values of an object.
fn results_of(document: &Value) -> Vec<Vec<String>> {
    let texts = |value: &Value| -> Option<Vec<String>> {
        let list: Vec<String> =
            value.as_array()?.iter().filter_map(|text| Some(text.as_str()?.to_owned())).collect();
        list.iter().any(|text| text.contains("TEST RESULT")).then_some(list)
    };
    match document {
        Value::Array(list) if list.iter().any(Value::is_array) => list.iter().filter_map(texts).collect(),
        Value::Array(_) => texts(document).into_iter().collect(),
        Value::Object(all) => all.values().filter_map(texts).collect(),
        _ => Vec::new(),
    }
}

/// `TEST RESULT : System achieved 68062 NOPM from 156526 PostgreSQL TPM`.
fn of_result(
    texts: &[String],
    place: &Place,
    engine: &mut Option<String>,
) -> Result<Observation, ImportError> {
    let mut made = Observation { place: place.clone(), ..Observation::default() };
    for text in texts {
        let words: Vec<&str> = text.split_ascii_whitespace().collect();
        if text.contains("TEST RESULT") {
            let before = |unit: &str| {
                words.iter().position(|word| *word == unit).and_then(|at| words.get(at.checked_sub(1)?))
            };
            let nopm = before("NOPM").ok_or_else(|| no_rate(text, place))?;
            made.put("nopm", rate(nopm, text, place)?, "1/min", "TEST RESULT");
            let from = words.iter().position(|word| *word == "from").and_then(|at| words.get(at + 1));
            if let Some(tpm) = from {
                made.put("tpm", rate(tpm, text, place)?, "1/min", "TEST RESULT");
            }
            *engine = before("TPM").map(|name| engine_id(name)).or_else(|| engine.take());
        } else if let Some(at) = words.windows(3).position(|words| words == ["Active", "Virtual", "Users"]) {
            let users = at.checked_sub(1).and_then(|at| words[at].parse().ok());
            made.levels.extend(users.map(|users| ("virtual_users".to_owned(), Level::Integer(users))));
        } else if let Some(us) = time_us(text) {
            made.started_us = Some(us);
        } else {
            made.labels.push(("job".to_owned(), text.clone()));
        }
    }
    Ok(made)
}

fn rate(word: &str, text: &str, place: &Place) -> Result<f64, ImportError> {
    let value = crate::number::number(word).ok().filter(|value| *value >= 0.0);
    value.ok_or_else(|| no_rate(text, place))
}

fn no_rate(text: &str, place: &Place) -> ImportError {
    let reason = format!("{} has no NOPM and TPM", crate::error::quoted(text));
    ImportError { line: place.line, ..ImportError::new(&place.file, reason) }
}

/// The engine as fathom calls it, else as HammerDB does.
fn engine_id(name: &str) -> String {
    match name {
        "PostgreSQL" => "postgres".to_owned(),
        "SQL" | "MSSQLServer" => "sqlserver".to_owned(),
        other => other.to_owned(),
    }
}

/// Local time as HammerDB writes it, taken as UTC: the file does not say its zone.
fn time_us(text: &str) -> Option<i64> {
    let moment: jiff::civil::DateTime = text.trim().replace(' ', "T").parse().ok()?;
    let time = moment.to_zoned(jiff::tz::TimeZone::UTC).ok()?;
    Some(time.timestamp().as_microsecond())
}

/// Numbers of each procedure, by its name in lower case.
fn timing(document: &Value, made: &mut Observation) {
    for (procedure, values) in document.as_object().into_iter().flatten() {
        let Some(values) = values.as_object().filter(|values| values.contains_key("calls")) else { continue };
        let procedure = crate::table::canonical(procedure);
        for (name, ending, unit) in TIMINGS {
            if let Some(value) = values.get(name).and_then(number).filter(|value| *value >= 0.0) {
                made.put(&format!("{procedure}_{ending}"), value, unit, "HammerDB timing");
            }
        }
        let elapsed = values.get("elapsed_ms").and_then(number).filter(|ms| (0.0..9e12).contains(ms));
        made.elapsed_ns = elapsed.map(|ms| (ms * 1e6) as u64).or(made.elapsed_ns);
    }
}

/// A counter over time: pairs of count and time, in either order.
fn counts(document: &Value, made: &mut Observation) {
    for (header, pairs) in document.as_object().into_iter().flatten() {
        let Some(unit) = ["tpm", "qph"].into_iter().find(|unit| header.ends_with(unit)) else { continue };
        let pair = |(key, value): (&String, &Value)| {
            let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            time_us(key)
                .zip(crate::number::number(&text).ok())
                .or_else(|| time_us(&text).zip(crate::number::number(key).ok()))
        };
        let mut points: Vec<(i64, f64)> =
            pairs.as_object().into_iter().flatten().take(POINTS_MAX).filter_map(pair).collect();
        points.sort_by_key(|(us, _)| *us);
        points.dedup_by_key(|(us, _)| *us);
        let Some((start_us, _)) = points.first().copied() else { continue };
        made.observations.series.push(Series {
            name: unit.to_owned(),
            unit: if unit == "tpm" { "1/min" } else { "1/h" }.to_owned(),
            source: format!("HammerDB transaction counter, {header}"),
            kind: SeriesKind::Gauge,
            at_ns: points.iter().map(|(us, _)| (us - start_us).saturating_mul(1000)).collect(),
            values: points.iter().map(|(_, count)| Some(*count)).collect(),
        });
        made.started_us = made.started_us.or(Some(start_us));
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    // Made after the forms in HammerDB's documentation, "CLI Jobs Interface".
    const RESULT: &str = "[\n \"6364CBBA5EE203E253735373\",\n \"2022-11-04 08:20:10\",\n \"4 Active Virtual Users configured\",\n \
        \"TEST RESULT : System achieved 68062 NOPM from 156526 PostgreSQL TPM\"\n]\n";
    const TIMING: &str = "{\"NEWORD\": {\"elapsed_ms\": \"420471.0\", \"calls\": \"179584\", \"min_ms\": \"0.7\", \"avg_ms\": \"2.22\", \
        \"max_ms\": \"61.5\", \"total_ms\": \"398000\", \"p99_ms\": \"6.4\", \"p95_ms\": \"4.2\", \"p50_ms\": \"2.0\", \"sd\": \"1.1\", \
        \"ratio_pct\": \"47.1\"}}\n";
    const TCOUNT: &str = "{\"PostgreSQL tpm\": {\"0\": \"2022-11-04 08:20:10\", \"163422\": \"2022-11-04 08:20:20\", \
        \"161000\": \"2022-11-04 08:20:30\"}}\n";

    fn of(files: &[(&str, &str)]) -> Result<Reading, ImportError> {
        read(
            files
                .iter()
                .map(|(name, text)| ((*name).to_owned(), Box::new(text.as_bytes()) as Box<dyn BufRead>))
                .collect(),
        )
    }

    #[test]
    fn result_timing_and_counts_of_a_job_are_one_run() {
        let one = format!(
            "TRANSACTION RESPONSE TIMES\n{TIMING}TRANSACTION COUNT\n{TCOUNT}HAMMERDB RESULT\n{RESULT}"
        );
        for reading in
            [of(&[("a", &one)]).unwrap(), of(&[("r", RESULT), ("t", TIMING), ("c", TCOUNT)]).unwrap()]
        {
            let [job] = reading.observations.as_slice() else { panic!("{:?}", reading.observations) };
            let value = |name: &str| job.metrics.iter().find(|metric| metric.name == name).unwrap().value;
            assert_eq!((value("nopm"), value("tpm"), value("neword_p99_ms")), (68_062.0, 156_526.0, 6.4));
            assert_eq!(job.levels, [("virtual_users".to_owned(), Level::Integer(4))]);
            assert_eq!(job.observations.series[0].values, [Some(0.0), Some(163_422.0), Some(161_000.0)]);
            assert_eq!(job.elapsed_ns, Some(420_471_000_000));
            assert_eq!((reading.engine.as_str(), reading.metric.as_deref()), ("postgres", Some("nopm")));
        }
    }

    #[test]
    fn several_results_are_several_runs_and_a_timing_without_its_job_is_refused() {
        let other = RESULT.replace("4 Active", "8 Active").replace("68062", "99000");
        let reading = of(&[("a", RESULT), ("b", &other)]).unwrap();
        assert_eq!(reading.observations.len(), 2);
        assert!(of(&[("a", RESULT), ("b", &other), ("t", TIMING)]).is_err());
        assert!(of(&[("a", "[\"x\"]")]).is_err());
        let bad = RESULT.replace("68062", "NaN");
        assert!(of(&[("a", &bad)]).unwrap_err().reason.contains("NOPM"));
    }
}
