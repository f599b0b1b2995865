//! Wait tables: one run per table, its rows as the waits of that run.

use results::observations::{How, Observations, WaitProfile, WaitRow};
use stats::identities::common_total;

use crate::error::quoted;
use crate::identities::wait_groups;
use crate::number::{number, printed};
use crate::table::level_of as level;
use crate::table::{Row, Table, canonical};
use crate::{Choice, ImportError, Observation, Place, Reading};

/// Columns of a wait, which are no factors.
const WAIT_COLUMNS: [&str; 12] = [
    "rank",
    "wait_type",
    "wait_s",
    "resource_s",
    "signal_s",
    "wait_count",
    "percentage",
    "avg_wait_s",
    "avg_res_s",
    "avg_sig_s",
    "avg_resource_s",
    "avg_signal_s",
];
/// What the printed rows leave out, known from their percentages.
const NOT_PRINTED: &str = "OTHER";

/// Is it a table of waits: a type and the seconds of each?
pub(crate) fn is_wait_table(table: &Table) -> bool {
    table.column("wait_type").is_some() && table.column("wait_s").is_some()
}

/// Reads the rows of each table of waits as one run.
///
/// # Errors
/// The seconds of a wait are no number, or below zero.
pub(crate) fn read(table: &Table) -> Result<Reading, ImportError> {
    let factors: Vec<usize> = (0..table.header.len()).filter(|index| is_factor(table, *index)).collect();
    let mut observations = Vec::new();
    for group in wait_groups(table) {
        observations.push(observation(table, &group, &factors)?);
    }
    let choices = table.header.iter().enumerate().map(|(index, name)| {
        let taken_as = match canonical(name).as_str() {
            _ if factors.contains(&index) => "factor",
            "table_id" => "one run per value",
            "rank" | "percentage" | "avg_wait_s" | "avg_res_s" | "avg_sig_s" => "recomputed from the waits",
            column if WAIT_COLUMNS.contains(&column) => "waits of the run",
            _ => "label",
        };
        Choice { name: name.clone(), taken_as: taken_as.to_owned() }
    });
    let mut reading =
        super::made::reading(observations, Some("wait_s_per_connection".to_owned()), choices.collect());
    if reading
        .observations
        .iter()
        .any(|observation| !observation.metrics.iter().any(|metric| metric.name == "wait_s_per_connection"))
    {
        reading.metric = Some("wait_s".to_owned());
    }
    Ok(reading)
}

fn is_factor(table: &Table, index: usize) -> bool {
    let name = canonical(&table.header[index]);
    let is_wait = WAIT_COLUMNS.contains(&name.as_str()) || name == "table_id";
    !is_wait && !super::column::is_label(&name)
}

fn observation(table: &Table, rows: &[&Row], factors: &[usize]) -> Result<Observation, ImportError> {
    let first = rows[0];
    let mut made = Observation {
        place: Place { file: table.file.clone(), line: Some(first.line) },
        levels: factors
            .iter()
            .map(|index| (table.header[*index].clone(), level(&first.cells[*index])))
            .collect(),
        ..Observation::default()
    };
    for (header, cell) in table.header.iter().zip(&first.cells) {
        let name = canonical(header);
        if (super::column::is_label(&name) || name == "table_id") && name != "rank" && !cell.is_empty() {
            made.labels.push((header.clone(), cell.clone()));
        }
    }
    let mut waits = Vec::new();
    for row in rows {
        waits.push(wait(table, row)?);
    }
    let printed_s: f64 = waits.iter().map(|wait| wait.wait_s).sum();
    let total_s = total_s(table, rows).unwrap_or(printed_s);
    if total_s > printed_s {
        waits.push(WaitRow {
            wait_s: total_s - printed_s,
            resource_s: None,
            signal_s: None,
            count: None,
            name: NOT_PRINTED.to_owned(),
            ..waits[0].clone()
        });
    }
    made.put("wait_s", total_s, "s", "wait_s / percentage");
    let connections = table.number(first, "connections").filter(|count| *count >= 1.0 && *count < 1e9);
    if let Some(connections) = connections {
        made.put("wait_s_per_connection", total_s / connections, "s", "wait_s / percentage / connections");
    }
    let profile = WaitProfile {
        group: "clients".to_owned(),
        session_count: connections.unwrap_or(1.0) as u32,
        // Not in the table; what the waits are a share of stays open.
        session_s: 0.0,
        on_cpu_s: None,
        run_delay_s: None,
        rows: waits,
    };
    made.observations = Observations { waits: vec![profile], ..Observations::default() };
    Ok(made)
}

/// The time of all waits, the ones that were not printed included: the middle of what all percentages agree on.
fn total_s(table: &Table, rows: &[&Row]) -> Option<f64> {
    let share =
        |row: &&Row| Some((printed(&table.text(row, "wait_s"))?, printed(&table.text(row, "percentage"))?));
    let shares: Option<Vec<_>> = rows.iter().map(share).collect();
    let total = common_total(&shares?);
    let middle = (total.low + total.high) / 2.0;
    (total.outcome.is_consistent() && middle.is_finite()).then_some(middle)
}

fn wait(table: &Table, row: &Row) -> Result<WaitRow, ImportError> {
    let text = table.text(row, "wait_s");
    let refuse = |reason: &str| {
        ImportError::new(&table.file, format!("{} in column \"wait_s\" {reason}", quoted(&text))).at(row.line)
    };
    let wait_s = number(&text).map_err(refuse)?;
    if wait_s < 0.0 {
        return Err(refuse("is below zero"));
    }
    let positive = |name: &str| table.number(row, name).filter(|value| *value >= 0.0);
    let wait_type = table.text(row, "wait_type");
    let (class, name) = wait_type.split_once(':').unwrap_or(("wait", &wait_type));
    Ok(WaitRow {
        class: class.to_owned(),
        name: name.to_owned(),
        is_idle: false,
        wait_s,
        resource_s: positive("resource_s"),
        signal_s: positive("signal_s"),
        count: positive("wait_count").filter(|count| *count < 9e15).map(|count| count as u64),
        how: How::Exact,
    })
}
