//! Tables with one number per row: a column names it, another has its value.

use std::collections::BTreeMap;

use results::model::Level;

use crate::number::{is_missing, number};
use crate::table::column::{canonical, is_label};
use crate::table::level_of as level;
use crate::table::{Row, Table};
use crate::{Choice, ImportError, Observation, Place, Reading};

/// Columns that name a number.
const NAMES: [&str; 5] = ["counter", "quantity", "metric", "measure", "measurement"];
/// Columns that have its value.
const VALUES: [&str; 3] = ["value", "low", "high"];

/// Which columns name the numbers and hold them.
#[derive(Clone, Debug)]
pub(crate) struct Pivot {
    name: usize,
    values: Vec<usize>,
    unit: Option<usize>,
}

/// The columns of a table with one number per row; `None` for other tables.
pub(crate) fn pivot(table: &Table) -> Option<Pivot> {
    let find =
        |names: &[&str]| table.header.iter().position(|header| names.contains(&canonical(header).as_str()));
    let values: Vec<usize> = (0..table.header.len())
        .filter(|index| VALUES.contains(&canonical(&table.header[*index]).as_str()))
        .collect();
    let name = find(&NAMES)?;
    (!values.is_empty()).then_some(Pivot { name, values, unit: find(&["unit", "units"]) })
}

/// Reads all rows with the same levels as one run.
///
/// # Errors
/// No row has a number.
pub(crate) fn read(table: &Table, pivot: &Pivot) -> Result<Reading, ImportError> {
    let mut observations: Vec<Observation> = Vec::new();
    let is_factor = |index: usize| {
        index != pivot.name
            && Some(index) != pivot.unit
            && !pivot.values.contains(&index)
            && !is_label(&canonical(&table.header[index]))
    };
    let factors: Vec<usize> = (0..table.header.len()).filter(|index| is_factor(*index)).collect();
    // A number that a run has already begins the next run of the same levels.
    let mut newest_of: BTreeMap<Vec<&str>, usize> = BTreeMap::new();
    for row in &table.rows {
        let levels: Vec<(String, Level)> =
            factors.iter().map(|index| (table.header[*index].clone(), level(&row.cells[*index]))).collect();
        let key: Vec<&str> = factors.iter().map(|index| row.cells[*index].as_str()).collect();
        let newest = newest_of.get(&key).copied().filter(|at| !has(&observations[*at], table, pivot, row));
        let at = newest.unwrap_or_else(|| {
            let place = Place { file: table.file.clone(), line: Some(row.line) };
            observations.push(Observation { place, levels, ..Observation::default() });
            newest_of.insert(key, observations.len() - 1);
            observations.len() - 1
        });
        put(&mut observations[at], table, pivot, row);
    }
    if observations.iter().all(|observation| observation.metrics.is_empty()) {
        return Err(ImportError::new(&table.file, "no row has a number"));
    }
    let metric = observations.iter().find_map(|observation| Some(observation.metrics.first()?.name.clone()));
    let choices = table.header.iter().enumerate().map(|(index, name)| {
        let taken_as = match index {
            index if index == pivot.name => "names of metrics".to_owned(),
            index if pivot.values.contains(&index) => "values of metrics".to_owned(),
            index if Some(index) == pivot.unit => "units of metrics".to_owned(),
            index if factors.contains(&index) => "factor".to_owned(),
            _ => "label".to_owned(),
        };
        Choice { name: name.clone(), taken_as }
    });
    Ok(super::made::reading(observations, metric, choices.collect()))
}

fn name_of(table: &Table, pivot: &Pivot, row: &Row, column: usize) -> String {
    let name = canonical(&row.cells[pivot.name]);
    match canonical(&table.header[column]).as_str() {
        "value" => name,
        other => format!("{name}_{other}"),
    }
}

fn has(observation: &Observation, table: &Table, pivot: &Pivot, row: &Row) -> bool {
    pivot.values.iter().any(|column| {
        let name = name_of(table, pivot, row, *column);
        observation.metrics.iter().any(|metric| metric.name == name)
    })
}

fn put(observation: &mut Observation, table: &Table, pivot: &Pivot, row: &Row) {
    let unit = pivot.unit.map(|unit| row.cells[unit].as_str()).unwrap_or_default();
    for column in &pivot.values {
        let cell = &row.cells[*column];
        let name = name_of(table, pivot, row, *column);
        match number(cell) {
            Ok(value) if !name.is_empty() => observation.put(&name, value, unit, &row.cells[pivot.name]),
            _ if is_missing(cell) => {}
            _ => observation.labels.push((row.cells[pivot.name].clone(), cell.clone())),
        }
    }
}
