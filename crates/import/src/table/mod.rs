//! Tables of measurements as CSV: which columns are factors, which are numbers, and a run per row.

mod column;
mod layout;
mod long;
mod made;
mod rows;
mod sheet;
mod waits;

use crate::identities::{self, Identity};
use crate::{ImportError, Reading};

pub use column::{ColumnOptions, Role};
pub(crate) use column::{ELAPSED, canonical};
pub use rows::level as level_of;
pub use sheet::{ROWS_MAX, Row, Table};

/// Reads one table as the runs of a study.
///
/// # Errors
/// As [`Table::read`]; a named column does not exist; a cell of a column of numbers is none; no column has numbers.
pub fn read(table: &Table, others: &[&Table], options: &ColumnOptions) -> Result<Reading, ImportError> {
    layout::require_columns(table, options)?;
    let identities = identities::check(table, others);
    let mut reading = if waits::is_wait_table(table) && options.is_empty() {
        waits::read(table)?
    } else if let Some(pivot) = long::pivot(table).filter(|_| options.is_empty()) {
        long::read(table, &pivot)?
    } else {
        rows::read(table, &layout::of(table, options)?)?
    };
    mark_doubts(&mut reading, &identities);
    reading.identities = identities;
    Ok(reading)
}

/// Puts each contradiction on the run that was made of its row.
fn mark_doubts(reading: &mut Reading, identities: &[Identity]) {
    // Runs stand in the order of their rows, but for tables with one number per row.
    let mut starts: Vec<(u64, usize)> = reading
        .observations
        .iter()
        .enumerate()
        .filter_map(|(index, observation)| Some((observation.place.line?, index)))
        .collect();
    starts.sort_unstable();
    for identity in identities {
        for (line, reason) in &identity.contradictions {
            let after = starts.partition_point(|(start, _)| start <= line);
            let Some((_, index)) = after.checked_sub(1).and_then(|place| starts.get(place)) else { continue };
            let observation = &mut reading.observations[*index];
            if identity.is_of_measured_values {
                observation.doubts.push(format!("{}: {reason}", identity.name));
            } else {
                observation.warn("import_contradiction", format!("line {line}: {}: {reason}", identity.name));
            }
        }
    }
}

/// Names under which a column's numbers may be stored: its own, that of fathom's catalogue, `elapsed_s` for a time.
pub fn stored_names(column: &str) -> Vec<String> {
    let name = canonical(column);
    let mut names = vec![column.to_owned(), column::stored_name(&name)];
    if ELAPSED.iter().any(|(known, _)| *known == name) {
        names.push("elapsed_s".to_owned());
    }
    if name == "mbytes_per_s" {
        names.push("raw_mib_per_s".to_owned());
    }
    names.push(name);
    names
}
