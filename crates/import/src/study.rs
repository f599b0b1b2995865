//! A study made of observations: factors, cells, and a run for each.

use std::collections::BTreeMap;

use results::model::{Cell, Factor, GateOutcome, GateResult, Level, Run, RunKey, RunState, Warning};
use sha2::{Digest, Sha256};

use crate::{Observation, Reading};

/// Most cells of a study: a page has a row for each.
const CELLS_MAX: usize = 10_000;
/// Kind of the events that keep the labels of a row.
pub const LABEL: &str = "import_label";

/// The matrix of a study with its runs.
#[derive(Clone, Debug)]
pub struct Matrix {
    /// What varies, with its levels in the order in which they appear.
    pub factors: Vec<Factor>,
    /// What does not.
    pub fixed: Vec<(String, Level)>,
    /// The combinations that are there, in the order in which they appear.
    pub cells: Vec<Cell>,
    /// Runs of the cell with the most.
    pub repetitions: u32,
    /// The runs in the order of the files, each with the reasons not to trust it.
    pub runs: Vec<(Run, Option<String>)>,
}

/// Makes runs of observations: those with the same levels are repetitions.
///
/// `set` adds levels to all of them. The levels of one name are either factor or fixed; a name that only some observations
/// have is a factor, in the others with the level `not set`.
///
/// # Errors
/// More cells than a study may have: a sentence.
pub fn matrix(reading: Reading, set: &[(String, Level)]) -> Result<Matrix, String> {
    let by = reading.tool.clone().unwrap_or_else(|| "another tool".to_owned());
    let mut observations = reading.observations;
    for observation in &mut observations {
        observation.levels.retain(|(name, _)| !set.iter().any(|(other, _)| other == name));
        observation.levels.extend(set.iter().cloned());
    }
    let columns = columns(&observations);
    let varies = |levels: &Vec<Level>| levels.len() > 1;
    let factors: Vec<Factor> = columns
        .iter()
        .filter(|(_, levels)| varies(levels))
        .map(|(name, levels)| Factor { name: name.clone(), levels: levels.clone() })
        .collect();
    let fixed = columns
        .iter()
        .filter(|(_, levels)| !varies(levels))
        .filter_map(|(name, levels)| Some((name.clone(), levels.first()?.clone())))
        .collect();
    let mut cells: Vec<Cell> = Vec::new();
    let mut index_of: BTreeMap<String, u32> = BTreeMap::new();
    let mut counts: Vec<u32> = Vec::new();
    let mut runs = Vec::new();
    for (position, observation) in observations.into_iter().enumerate() {
        let levels: Vec<(String, Level)> =
            factors.iter().map(|factor| (factor.name.clone(), level(&observation, &factor.name))).collect();
        let cell = Cell { index: cells.len() as u32, levels };
        let index = *index_of.entry(cell.label()).or_insert(cell.index);
        if index == cell.index {
            cells.push(cell);
            counts.push(0);
        }
        if cells.len() > CELLS_MAX {
            let names: Vec<&str> = factors.iter().map(|factor| factor.name.as_str()).collect();
            return Err(format!(
                "the levels of {} make more than {CELLS_MAX} configurations",
                names.join(", ")
            ));
        }
        let key = RunKey { block_index: counts[index as usize], cell_index: index, attempt: 0 };
        counts[index as usize] += 1;
        let doubt = (!observation.doubts.is_empty()).then(|| observation.doubts.join("; "));
        runs.push((run(observation, key, position as u32, &by), doubt));
    }
    let repetitions = counts.iter().copied().max().unwrap_or(0);
    Ok(Matrix { factors, fixed, cells, repetitions, runs })
}

/// Names of levels in the order of the observations, with the different values of each.
fn columns(observations: &[Observation]) -> Vec<(String, Vec<Level>)> {
    let mut names: Vec<String> = Vec::new();
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    for observation in observations {
        for (name, _) in &observation.levels {
            seen.entry(name.clone()).or_insert_with(|| {
                names.push(name.clone());
                names.len() - 1
            });
        }
    }
    let of = |name: String| {
        let mut texts: BTreeMap<String, ()> = BTreeMap::new();
        let mut levels = Vec::new();
        for observation in observations {
            let level = level(observation, &name);
            if texts.insert(level.to_string(), ()).is_none() {
                levels.push(level);
            }
        }
        (name, levels)
    };
    names.into_iter().map(of).collect()
}

fn level(observation: &Observation, name: &str) -> Level {
    let found = observation.levels.iter().find(|(known, _)| known == name).map(|(_, level)| level.clone());
    match found {
        Some(Level::Text(text)) if text.is_empty() => Level::Text("not set".to_owned()),
        Some(level) => level,
        None => Level::Text("not set".to_owned()),
    }
}

fn run(observation: Observation, key: RunKey, position: u32, by: &str) -> Run {
    let place = match observation.place.line {
        Some(line) => format!("{}, line {line}", observation.place.file),
        None => observation.place.file.clone(),
    };
    let started_at = observation
        .started_us
        .and_then(|us| jiff::Timestamp::from_microsecond(us).ok())
        .map(|time| time.to_string())
        .unwrap_or_default();
    let mut warnings: Vec<Warning> = observation.warnings;
    warnings.push(Warning {
        code: "imported".to_owned(),
        text: format!("imported: {by} measured it, fathom did not; no gate was evaluated"),
    });
    let labels = observation.labels.into_iter().map(|(name, text)| results::model::Event {
        at_ns: 0,
        kind: LABEL.to_owned(),
        text: format!("{name}: {text}"),
    });
    Run {
        key,
        position,
        started_at,
        state: RunState::Valid,
        elapsed_ns: observation.elapsed_ns.unwrap_or(0),
        clients: observation.clients,
        metrics: observation.metrics,
        gates: vec![GateResult {
            gate: results::origin::GATE.to_owned(),
            outcome: GateOutcome::NotApplicable,
            expected: "measured by fathom, with gates".to_owned(),
            found: format!("imported from {place}: no gate was evaluated"),
        }],
        warnings,
        events: labels.collect(),
        settings: Vec::new(),
        environment: results::model::Environment::default(),
        observations: observation.observations,
        scripts: Vec::new(),
    }
}

/// SHA-256 (hex) over texts, each with its length before it.
pub fn key<'a>(parts: impl IntoIterator<Item = &'a str>) -> String {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part.as_bytes());
    }
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::table::{ColumnOptions, Table, read};

    #[test]
    fn rows_with_the_same_levels_are_repetitions_and_what_does_not_vary_is_fixed() {
        let text = "clients,server,tps\n1,a,100\n2,a,180\n1,a,103\n";
        let table = Table::read(text.as_bytes(), "t.csv").unwrap();
        let reading = read(&table, &[], &ColumnOptions::default()).unwrap();
        let matrix = matrix(reading, &[("disk".to_owned(), Level::Text("x".to_owned()))]).unwrap();
        assert_eq!(matrix.cells.iter().map(Cell::label).collect::<Vec<_>>(), ["clients=1", "clients=2"]);
        assert_eq!(
            matrix.fixed.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(),
            ["server", "disk"]
        );
        assert_eq!(matrix.repetitions, 2);
        let blocks: Vec<(u32, u32)> =
            matrix.runs.iter().map(|(run, _)| (run.key.cell_index, run.key.block_index)).collect();
        assert_eq!(blocks, [(0, 0), (1, 0), (0, 1)]);
    }
}
