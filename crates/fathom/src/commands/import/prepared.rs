//! A study as it will be stored: what was read of a group of files, with its name, its identity and what it compares.

use anyhow::bail;
use import::Reading;
use import::study::{Matrix, key, matrix};
use results::imported::{Imported, ImportedFile};
use results::measure::Measure;
use results::model::{Design, Level, Scale, Study, StudyKey};
use results::store::StudyId;

use super::naming;
use super::sources::Group;
use crate::arguments::{Better, ImportArguments};

/// Most numbers that are shown beside the one that is compared.
const SECONDARY_MAX: usize = 4;

/// A study as it will be stored.
pub(super) struct Prepared {
    pub(super) study: Study,
    pub(super) origin: Imported,
    pub(super) matrix: Matrix,
}

/// What became of it.
pub(super) enum Stored {
    /// Nothing was to be stored.
    No,
    /// It is a new study.
    New(StudyId),
    /// The same files were imported before.
    Known(StudyId),
}

/// Reads the files of a group and makes a study of them.
pub(super) fn prepare(
    group: Group,
    arguments: &ImportArguments,
    set: &[(String, Level)],
    now: &str,
) -> anyhow::Result<Prepared> {
    let (group_files, read) = (group.files, group.reading);
    let reading = read?;
    let name = naming::name(arguments.name.as_deref(), &group_files[0].path)?;
    let origin = origin(&reading, group_files, now);
    let mut design = design(&reading, arguments)?;
    let engine = reading.engine.clone();
    let matrix = matrix(reading, set)
        .map_err(|reason| anyhow::anyhow!("\"{name}\": {reason}\nhint: name the factors with --factor"))?;
    design.against = against(&matrix);
    let study = study(&name, &engine, &origin, design, &matrix, arguments, now);
    Ok(Prepared { study, origin, matrix })
}

fn study(
    name: &str,
    engine: &str,
    origin: &Imported,
    design: Design,
    matrix: &Matrix,
    arguments: &ImportArguments,
    now: &str,
) -> Study {
    let hashes = origin.files.iter().map(|file| file.sha256.as_str());
    let options = [&arguments.factor, &arguments.metric, &arguments.set].map(|list| list.join("\u{1f}"));
    let direction =
        design.is_smaller_better.map_or("", |is_smaller| if is_smaller { "smaller" } else { "larger" });
    let unit = format!("{:?}", arguments.unit);
    let parts = ["import", name, &origin.format, direction, &unit];
    let key = key(parts.into_iter().chain(options.iter().map(String::as_str)).chain(hashes));
    let mut study = Study {
        seed: u64::from_str_radix(&key[..16], 16).unwrap_or(0),
        key: StudyKey(key),
        experiment: name.to_owned(),
        title: name.to_owned(),
        question: String::new(),
        scale: Scale::Full,
        engine: engine.to_owned(),
        spec_toml: naming::spec(origin),
        factors: matrix.factors.clone(),
        fixed: matrix.fixed.clone(),
        repetitions: matrix.repetitions,
        expectations: Vec::new(),
        design,
        imported: Some(origin.clone()),
        created_at: now.to_owned(),
        fathom_version: env!("CARGO_PKG_VERSION").to_owned(),
    };
    study.question = question(&study);
    study
}

/// `How does IOPS depend on transfer_kb and outstanding_io?`
fn question(study: &Study) -> String {
    let words = Measure::of_study(study).words;
    let names: Vec<&str> = study.factors.iter().map(|factor| factor.name.as_str()).collect();
    match names.split_last() {
        None => format!("How large is {words}?"),
        Some((only, [])) => format!("How does {words} depend on {only}?"),
        Some((last, others)) => format!("How does {words} depend on {} and {last}?", others.join(", ")),
    }
}

fn origin(reading: &Reading, files: Vec<ImportedFile>, now: &str) -> Imported {
    let file = files.first().map_or("", |file| file.path.as_str());
    let contradictions = reading.identities.iter().flat_map(|identity| {
        identity
            .contradictions
            .iter()
            .map(move |(line, reason)| format!("{file}, line {line}: {}: {reason}", identity.name))
    });
    Imported {
        format: reading.format.name().to_owned(),
        tool: reading.tool.clone(),
        tool_version: reading.tool_version.clone(),
        imported_at: now.to_owned(),
        columns: reading
            .choices
            .iter()
            .map(|choice| (choice.name.clone(), choice.taken_as.clone()))
            .collect(),
        identities: reading.identities.iter().map(import::identities::Identity::words).collect(),
        contradictions: contradictions.collect(),
        files,
    }
}

/// What the study compares: the first metric that was asked for, else what the format is about.
fn design(reading: &Reading, arguments: &ImportArguments) -> anyhow::Result<Design> {
    let names = metrics(reading);
    let asked = arguments
        .metric
        .first()
        .map(|metric| metric.split_once(':').map_or(metric.as_str(), |(name, _)| name));
    let metric = match asked {
        Some(name) => {
            let found = import::table::stored_names(name).into_iter().find(|name| names.contains(name));
            let Some(found) = found else {
                bail!("no run has a metric \"{name}\"\nhint: there are {}", names.join(", "));
            };
            Some(found)
        }
        None => reading.metric.clone(),
    };
    let has_time = reading.observations.iter().any(|observation| observation.elapsed_ns.is_some());
    let metric =
        metric.or_else(|| if has_time { Some("elapsed_s".to_owned()) } else { names.first().cloned() });
    let Some(metric) = metric else { bail!("no run has a number") };
    let is_smaller_better = match arguments.better {
        Some(better) => Some(better == Better::Smaller),
        None if asked.is_none() && reading.is_smaller_better.is_some() => reading.is_smaller_better,
        None => direction(reading, &metric),
    };
    let secondary = names.iter().filter(|name| **name != metric).take(SECONDARY_MAX).cloned().collect();
    Ok(Design { metric: Some(metric), is_smaller_better, secondary, against: Vec::new(), looks: None })
}

/// Each level of one numeric factor against the level before: where gains stop. Anything else against the first cell.
fn against(matrix: &Matrix) -> Vec<String> {
    let [factor] = matrix.factors.as_slice() else { return Vec::new() };
    let levels: Option<Vec<f64>> = factor.levels.iter().map(Level::as_number).collect();
    let is_ladder = levels.is_some_and(|levels| levels.len() > 2 && levels.is_sorted());
    if is_ladder { vec!["previous".to_owned()] } else { Vec::new() }
}

/// Names of the numbers that the runs have.
fn metrics(reading: &Reading) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    let mut add = |name: &str| {
        if !names.iter().any(|known| known == name) {
            names.push(name.to_owned());
        }
    };
    for observation in &reading.observations {
        observation.metrics.iter().for_each(|metric| add(&metric.name));
    }
    let has = |test: fn(&import::Observation) -> bool| reading.observations.iter().any(test);
    if has(|observation| observation.elapsed_ns.is_some()) {
        add("elapsed_s");
    }
    if has(|observation| observation.clients.iter().any(|client| client.transactions > 0)) {
        add("transactions_per_s");
    }
    if has(|observation| observation.clients.iter().any(|client| client.service_time.count() > 0)) {
        for name in [
            "service_time_p50_ms",
            "service_time_p90_ms",
            "service_time_p99_ms",
            "service_time_p999_ms",
            "service_time_max_ms",
        ] {
            add(name);
        }
    }
    if has(|observation| observation.clients.iter().any(|client| client.response_time.is_some())) {
        for name in [
            "response_time_p50_ms",
            "response_time_p90_ms",
            "response_time_p99_ms",
            "response_time_p999_ms",
            "response_time_max_ms",
        ] {
            add(name);
        }
    }
    names
}

/// Rates improve upwards, also under names that fathom does not know.
fn direction(reading: &Reading, name: &str) -> Option<bool> {
    let known = Measure::find(name).is_some();
    let units = reading.observations.iter().flat_map(|observation| &observation.metrics);
    let unit = units
        .filter(|metric| metric.name == name)
        .map(|metric| metric.unit.as_str())
        .next()
        .unwrap_or_default();
    let is_rate = ["1/s", "1/min", "1/h", "bytes/s", "MB/s", "MiB/s"].contains(&unit)
        || ["throughput", "factor", "speed_up", "speedup"].iter().any(|word| name.contains(word));
    (!known && is_rate).then_some(false)
}
