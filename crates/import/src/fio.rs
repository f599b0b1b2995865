//! fio: `--output-format=json` and `json+`.
// EVIDENCE: fio 3.x, stat.c, show_thread_status_json: jobs[].{jobname, groupid, error, job options, read, write, trim};
// iops, bw_bytes, io_bytes, total_ios, runtime (ms), lat_ns, clat_ns.percentile, clat_ns.bins (json+: ns and count)
// OBSERVED: fio 3.33

use std::collections::BTreeMap;
use std::io::BufRead;

use results::histogram::LatencyHistogram;
use results::model::{ClientRecord, Level};
use serde_json::Value;

use crate::documents::{self, number};
use crate::identities::Identity;
use crate::{Choice, Format, ImportError, Observation, Place, Reading};

/// Directions of a job.
const DIRECTIONS: [&str; 3] = ["read", "write", "trim"];
/// Shares of the operations, as fio prints them, with the end of the name of the number.
const PERCENTILES: [(&str, &str); 4] =
    [("50.000000", "p50"), ("90.000000", "p90"), ("99.000000", "p99"), ("99.900000", "p999")];
/// Options that place or describe a job and are no settings of the device.
const PLACES: [&str; 16] = [
    "name",
    "description",
    "filename",
    "directory",
    "filename_format",
    "stonewall",
    "group_reporting",
    "new_group",
    "wait_for",
    "write_bw_log",
    "write_lat_log",
    "write_iops_log",
    "write_hist_log",
    "log_avg_msec",
    "status-interval",
    "output",
];
/// Options that every job has, with fio's default.
const SETTINGS: [(&str, &str); 4] = [("rw", "read"), ("bs", "4096"), ("iodepth", "1"), ("numjobs", "1")];
const MIB: f64 = 1_048_576.0;
const NS_PER_MS: f64 = 1e6;
/// fio's own values against each other: `runtime` is in whole milliseconds.
const TOLERANCE: f64 = 0.02;

/// Reads files, each with one or more outputs of fio; every job is a run, the same job in another file its repetition.
///
/// # Errors
/// No output of fio, no job, or a number that is none.
pub fn read(files: Vec<(String, Box<dyn BufRead + '_>)>) -> Result<Reading, ImportError> {
    let mut reading = Reading {
        format: Format::Fio,
        tool: Some("fio".to_owned()),
        tool_version: None,
        engine: "device".to_owned(),
        observations: Vec::new(),
        metric: Some("raw_iops".to_owned()),
        is_smaller_better: Some(false),
        choices: Vec::new(),
        identities: Vec::new(),
    };
    let mut rates = Identity::of_tool("total I/Os / runtime = IOPS");
    for (file, reader) in files {
        let mut jobs = 0;
        for document in documents::read(reader, &file)? {
            let Some(output) = document.value.as_object().filter(|output| output.contains_key("jobs")) else {
                continue;
            };
            if let Some(version) = output.get("fio version").and_then(Value::as_str) {
                reading.tool_version = Some(version.trim_start_matches("fio-").to_owned());
            }
            let place = Place { file: file.clone(), line: Some(document.line) };
            let made = of_output(&document.value, &place, &mut rates)?;
            jobs += made.len();
            reading.observations.extend(made);
        }
        if jobs == 0 {
            return Err(ImportError::new(&file, "there is no job in it")
                .hint("write it with `fio --output-format=json --output=FILE`"));
        }
    }
    let choice = |name: &str, taken_as: &str| Choice { name: name.to_owned(), taken_as: taken_as.to_owned() };
    reading.choices = vec![
        choice("rw, bs, iodepth, numjobs and options that differ", "factor"),
        choice("iops", "metric raw_iops (1/s)"),
        choice("bw_bytes", "metric raw_mib_per_s (MiB/s)"),
        choice("lat_ns, clat_ns.percentile", "metric raw_latency_ms, raw_latency_ms_p99 (ms)"),
    ];
    reading.identities = Some(rates).filter(|rates| rates.checked > 0).into_iter().collect();
    Ok(reading)
}

/// One job, or its clones added.
struct Job<'a> {
    name: &'a str,
    options: BTreeMap<String, String>,
    clones: Vec<&'a Value>,
}

fn of_output(output: &Value, place: &Place, rates: &mut Identity) -> Result<Vec<Observation>, ImportError> {
    let global = options(&output["global options"]);
    let jobs = output["jobs"].as_array().map(Vec::as_slice).unwrap_or_default();
    let mut grouped: Vec<Job<'_>> = Vec::new();
    for job in jobs.iter().filter(|job| job["jobname"].as_str() != Some("All clients")) {
        let name = job["jobname"].as_str().unwrap_or_default();
        let mut all = global.clone();
        all.extend(options(&job["job options"]));
        let clones: usize = all.get("numjobs").and_then(|count| count.parse().ok()).unwrap_or(1);
        // Without group_reporting each clone of a job is printed by itself, one after the other.
        match grouped.last_mut() {
            Some(last) if last.name == name && last.options == all && last.clones.len() < clones => {
                last.clones.push(job)
            }
            _ => grouped.push(Job { name, options: all, clones: vec![job] }),
        }
    }
    let started_us = number(&output["timestamp_ms"])
        .map(|ms| ms * 1e3)
        .or_else(|| Some(number(&output["timestamp"])? * 1e6))
        .filter(|us| us.abs() < 9e18);
    let mut made = Vec::new();
    for job in &grouped {
        let mut observation = of_job(job, place, rates)?;
        observation.started_us = started_us.map(|us| us as i64);
        made.push(observation);
    }
    // Jobs that differ in nothing but their name (and so in their files) are no repetitions of each other.
    let is_same = |left: &Observation, right: &Observation| left.levels == right.levels;
    let has_same =
        made.iter().enumerate().any(|(index, left)| made[..index].iter().any(|right| is_same(left, right)));
    if has_same {
        for (observation, job) in made.iter_mut().zip(&grouped) {
            observation.levels.insert(0, ("job".to_owned(), Level::Text(job.name.to_owned())));
        }
    }
    Ok(made)
}

fn options(value: &Value) -> BTreeMap<String, String> {
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let all = value.as_object().into_iter().flatten();
    all.filter(|(name, _)| !PLACES.contains(&name.as_str()))
        .map(|(name, value)| match name.as_str() {
            "readwrite" => ("rw".to_owned(), text(value)),
            "blocksize" => ("bs".to_owned(), text(value)),
            _ => (name.clone(), text(value)),
        })
        .collect()
}

fn levels(options: &BTreeMap<String, String>) -> Vec<(String, Level)> {
    let value = |name: &str, text: &str| match bytes(text).filter(|_| name == "bs") {
        Some(bytes) => Level::Integer(bytes),
        None => crate::table::level_of(text),
    };
    let settings = SETTINGS.iter().map(|(name, default)| {
        let text = options.get(*name).map_or(*default, String::as_str);
        ((*name).to_owned(), value(name, text))
    });
    let is_setting = |name: &str| SETTINGS.iter().any(|(known, _)| *known == name);
    let others = options.iter().filter(|(name, _)| !is_setting(name));
    settings.chain(others.map(|(name, text)| (name.clone(), value(name, text)))).collect()
}

/// `4k` is 4096.
fn bytes(text: &str) -> Option<i64> {
    let digits = text.trim_end_matches(|character: char| character.is_ascii_alphabetic());
    let factor: i64 = match text[digits.len()..].to_ascii_lowercase().as_str() {
        "" | "b" => 1,
        "k" | "kb" | "kib" => 1 << 10,
        "m" | "mb" | "mib" => 1 << 20,
        _ => return None,
    };
    digits.parse::<i64>().ok()?.checked_mul(factor)
}

/// What the clones of a job did in one direction, added.
#[derive(Default)]
struct Done {
    iops: f64,
    bytes_per_s: f64,
    ios: f64,
    runtime_ms: f64,
    latency_ns_sum: f64,
    latency_ns_max: f64,
    /// Of a job with one clone.
    percentiles: Vec<(&'static str, f64)>,
    histogram: LatencyHistogram,
}

fn of_job(job: &Job<'_>, place: &Place, rates: &mut Identity) -> Result<Observation, ImportError> {
    let mut made =
        Observation { place: place.clone(), levels: levels(&job.options), ..Observation::default() };
    made.labels.push(("job".to_owned(), job.name.to_owned()));
    let mut all: Vec<(&str, Done)> = Vec::new();
    for direction in DIRECTIONS {
        let done = of_direction(job, direction, place)?;
        if done.ios > 0.0 {
            let expected = 1e3 * done.ios / done.runtime_ms;
            if job.clones.len() == 1 && done.runtime_ms >= 500.0 {
                let outcome = stats::identities::close_to(expected, done.iops, TOLERANCE);
                rates.compare(place.line.unwrap_or(0), outcome, direction, &mut made.doubts);
            }
            all.push((direction, done));
        }
    }
    for clone in &job.clones {
        if let Some(error) = number(&clone["error"]).filter(|error| *error != 0.0) {
            made.doubts.push(format!("fio reports error {error} for job \"{}\"", job.name));
        }
    }
    if all.is_empty() {
        made.doubts.push(format!("job \"{}\" did no I/O", job.name));
        return Ok(made);
    }
    put(&mut made, &all);
    Ok(made)
}

fn put(made: &mut Observation, all: &[(&str, Done)]) {
    let sum = |value: fn(&Done) -> f64| all.iter().map(|(_, done)| value(done)).sum::<f64>();
    let most = |value: fn(&Done) -> f64| all.iter().map(|(_, done)| value(done)).fold(0.0, f64::max);
    let ios = sum(|done| done.ios);
    made.elapsed_ns = Some((most(|done| done.runtime_ms).clamp(0.0, 9e12) * NS_PER_MS) as u64);
    made.put("raw_iops", sum(|done| done.iops), "1/s", "fio: iops");
    made.put("raw_mib_per_s", sum(|done| done.bytes_per_s) / MIB, "MiB/s", "fio: bw_bytes");
    made.put("raw_latency_ms", sum(|done| done.latency_ns_sum) / ios / NS_PER_MS, "ms", "fio: lat_ns.mean");
    made.put("raw_latency_ms_max", most(|done| done.latency_ns_max) / NS_PER_MS, "ms", "fio: lat_ns.max");
    if let [(_, done)] = all {
        for (name, ns) in &done.percentiles {
            made.put(&format!("raw_latency_ms_{name}"), ns / NS_PER_MS, "ms", "fio: clat_ns.percentile");
        }
    } else {
        for (direction, done) in all {
            made.put(&format!("{direction}_iops"), done.iops, "1/s", "fio: iops");
            made.put(&format!("{direction}_mib_per_s"), done.bytes_per_s / MIB, "MiB/s", "fio: bw_bytes");
            made.put(
                &format!("{direction}_latency_ms"),
                done.latency_ns_sum / done.ios / NS_PER_MS,
                "ms",
                "fio: lat_ns.mean",
            );
            for (name, ns) in &done.percentiles {
                made.put(
                    &format!("{direction}_latency_ms_{name}"),
                    ns / NS_PER_MS,
                    "ms",
                    "fio: clat_ns.percentile",
                );
            }
        }
    }
    let mut client = ClientRecord { start_ns: Some(0), end_ns: made.elapsed_ns, ..ClientRecord::new(0) };
    client.transactions = ios.clamp(0.0, 9e15) as u64;
    for (_, done) in all {
        client.service_time.merge(&done.histogram);
    }
    made.clients = vec![client];
}

fn of_direction(job: &Job<'_>, direction: &str, place: &Place) -> Result<Done, ImportError> {
    let mut sum = Done::default();
    for clone in &job.clones {
        let part = &clone[direction];
        let Some(fields) = part.as_object() else { continue };
        let value = |name: &str| -> Result<f64, ImportError> {
            let Some(value) = fields.get(name) else { return Ok(0.0) };
            number(value).filter(|number| *number >= 0.0).ok_or_else(|| {
                let reason = format!(
                    "{value} of \"{direction}.{name}\" in job \"{}\" is not a number of at least 0",
                    job.name
                );
                ImportError { line: place.line, ..ImportError::new(&place.file, reason) }
            })
        };
        let ios = value("total_ios")?;
        sum.iops += value("iops")?;
        // Versions before 3.0 have kibibytes alone.
        sum.bytes_per_s +=
            if fields.contains_key("bw_bytes") { value("bw_bytes")? } else { value("bw")? * 1024.0 };
        sum.ios += ios;
        sum.runtime_ms = sum.runtime_ms.max(value("runtime")?);
        let latency =
            ["lat_ns", "clat_ns"].iter().map(|name| &part[*name]).find(|latency| latency.is_object());
        let Some(latency) = latency else { continue };
        sum.latency_ns_sum += number(&latency["mean"]).unwrap_or(0.0) * ios;
        sum.latency_ns_max = sum.latency_ns_max.max(number(&latency["max"]).unwrap_or(0.0));
        let shares = ["clat_ns", "lat_ns"]
            .iter()
            .map(|name| &part[*name]["percentile"])
            .find(|shares| shares.is_object());
        if let Some(shares) = shares.filter(|_| job.clones.len() == 1) {
            let of = |(share, name): &(&str, &'static str)| Some((*name, number(&shares[*share])?));
            sum.percentiles = PERCENTILES.iter().filter_map(of).collect();
        }
        for (ns, count) in part["clat_ns"]["bins"].as_object().into_iter().flatten() {
            if let (Ok(ns), Some(count)) = (ns.parse::<u64>(), count.as_u64()) {
                sum.histogram.record_count(ns, count);
            }
        }
    }
    Ok(sum)
}
