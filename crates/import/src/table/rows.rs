//! One run per row.

use results::model::Level;

use crate::error::quoted;
use crate::number::{is_missing, number};
use crate::table::column::canonical;
use crate::table::layout::Layout;
use crate::table::{Role, Row, Table};
use crate::{ImportError, Observation, Place, Reading};

/// Units of which no amount is below zero.
const NEVER_NEGATIVE: [&str; 14] =
    ["s", "ms", "us", "ns", "min", "1/s", "1/min", "bytes", "bytes/s", "MiB/s", "MB/s", "KB", "pages", "MB"];
/// What a MB of a table with IOPS and sizes is: decided by its rows.
const MEGABYTE: f64 = 1e6;
const MEBIBYTE: f64 = 1_048_576.0;

/// Reads every row.
///
/// # Errors
/// A cell of a column of numbers is no number, not finite, or below zero where that cannot be.
pub(crate) fn read(table: &Table, layout: &Layout) -> Result<Reading, ImportError> {
    let scale = megabyte_scale(table);
    let mut observations = Vec::new();
    for row in &table.rows {
        observations.push(observation(table, layout, row, scale)?);
    }
    let mut choices = layout.choices(table);
    if let Some(scale) = scale {
        let unit = if scale == 1.0 { "MiB" } else { "MB" };
        for choice in choices.iter_mut().filter(|choice| canonical(&choice.name) == "mbytes_per_s") {
            choice.taken_as =
                format!("metric raw_mib_per_s (MiB/s): IOPS x size says that the column has {unit}/s");
        }
    }
    let metric = metric_of(layout, scale.is_some());
    Ok(super::made::reading(observations, metric, choices))
}

/// What the column `mbytes_per_s` is to be multiplied by to be MiB/s, where IOPS and sizes decide it.
fn megabyte_scale(table: &Table) -> Option<f64> {
    let rows = crate::identities::throughput_rows(table);
    match stats::identities::throughput_unit(&rows)? {
        stats::identities::ByteUnit::Mebibyte => Some(1.0),
        stats::identities::ByteUnit::Megabyte => Some(MEGABYTE / MEBIBYTE),
    }
}

fn observation(
    table: &Table,
    layout: &Layout,
    row: &Row,
    scale: Option<f64>,
) -> Result<Observation, ImportError> {
    let mut made = Observation {
        place: Place { file: table.file.clone(), line: Some(row.line) },
        ..Observation::default()
    };
    for ((header, role), cell) in table.header.iter().zip(&layout.roles).zip(&row.cells) {
        match role {
            Role::Factor => made.levels.push((header.clone(), level(cell))),
            Role::Label if !cell.is_empty() => made.labels.push((header.clone(), cell.clone())),
            Role::Label | Role::Ignored => {}
            Role::Metric { .. } | Role::Elapsed(_) if is_missing(cell) => {}
            Role::Elapsed(unit) => {
                let value = value(table, row, header, cell)?;
                let ns = value * unit.ns();
                if !(0.0..9e18).contains(&ns) {
                    return Err(refused(table, row, header, cell, "is no time that a run can take"));
                }
                made.elapsed_ns = Some(ns.round() as u64);
            }
            Role::Metric { name, unit } => {
                let value = value(table, row, header, cell)?;
                if value < 0.0 && NEVER_NEGATIVE.contains(&unit.as_str()) {
                    return Err(refused(table, row, header, cell, "is below zero"));
                }
                match scale.filter(|_| name == "mbytes_per_s") {
                    Some(scale) => made.put("raw_mib_per_s", value * scale, "MiB/s", header),
                    None => made.put(name, value, unit, header),
                }
            }
        }
    }
    Ok(made)
}

fn value(table: &Table, row: &Row, header: &str, cell: &str) -> Result<f64, ImportError> {
    number(cell).map_err(|reason| refused(table, row, header, cell, reason))
}

fn refused(table: &Table, row: &Row, header: &str, cell: &str, reason: &str) -> ImportError {
    ImportError::new(&table.file, format!("{} in column \"{header}\" {reason}", quoted(cell)))
        .at(row.line)
        .hint("leave a cell empty where nothing was measured, or take the column as --factor")
}

/// A level as the table prints it: a whole number, a decimal one, else a word.
pub fn level(cell: &str) -> Level {
    match (cell.parse::<i64>(), number(cell)) {
        (Ok(value), _) if value.to_string() == cell => Level::Integer(value),
        (_, Ok(value)) if value.to_string() == cell => Level::Float(value),
        _ => Level::Text(cell.to_owned()),
    }
}

/// The number that answers the question: elapsed time, else IOPS, else the first column of numbers.
fn metric_of(layout: &Layout, has_mebibytes: bool) -> Option<String> {
    if layout.roles.iter().any(|role| matches!(role, Role::Elapsed(_))) {
        return None;
    }
    let names: Vec<&str> = layout
        .roles
        .iter()
        .filter_map(|role| match role {
            Role::Metric { name, .. } if name == "mbytes_per_s" && has_mebibytes => Some("raw_mib_per_s"),
            Role::Metric { name, .. } => Some(name.as_str()),
            _ => None,
        })
        .collect();
    let known = ["raw_iops", "transactions_per_s", "tps", "nopm", "raw_mib_per_s"];
    known
        .iter()
        .find(|known| names.contains(known))
        .copied()
        .or_else(|| names.first().copied())
        .map(str::to_owned)
}
