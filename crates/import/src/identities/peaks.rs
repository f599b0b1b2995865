//! Peak rates: at its peak, what a run moved must fit into its time.

use stats::identities::{Outcome, peak_rate};

use super::identity::{Identity, shown};
use crate::number::number;
use crate::table::{ELAPSED, Row, Table, canonical};

/// No device and no link is faster than this, in bytes per second.
const CEILING: f64 = 1e11;
/// From this length on a peak below [`SLOWEST_PEAK`] is no peak of a disk or a link.
const LONG_RUN_S: f64 = 3600.0;
/// Bytes per second that any disk and any link of this century reach at their peak.
const SLOWEST_PEAK: f64 = 1e6;

pub(super) fn check(table: &Table) -> Vec<Identity> {
    let mut identity = Identity::new("the peak rate moves what the run moved");
    let columns: Vec<usize> =
        (0..table.header.len()).filter(|index| canonical(&table.header[*index]).contains("peak")).collect();
    for row in &table.rows {
        let Some(elapsed_s) = elapsed_s(table, row).filter(|elapsed_s| *elapsed_s > 0.0) else { continue };
        for column in &columns {
            let name = &table.header[*column];
            let Some(peak) = number(&row.cells[*column]).ok().filter(|peak| *peak > 0.0) else { continue };
            if is_bytes_per_s(table, row, name) {
                compare(&mut identity, table, row, name, peak, elapsed_s);
            }
        }
    }
    vec![identity]
}

fn compare(identity: &mut Identity, table: &Table, row: &Row, name: &str, peak: f64, elapsed_s: f64) {
    let moved = table.number(row, "bytes_moved");
    let outcome = match moved {
        Some(bytes) => peak_rate(peak, bytes, elapsed_s, CEILING),
        None if elapsed_s >= LONG_RUN_S && peak < SLOWEST_PEAK => Outcome::WrongUnit { factor: 1e3 },
        None => Outcome::Holds,
    };
    let Outcome::WrongUnit { factor } = outcome else {
        identity.add(row.line, outcome, name);
        return;
    };
    identity.checked += 1;
    let unit = if factor == 1e3 { "KB/s" } else { "MB/s" };
    let most_mb = shown((peak * elapsed_s / 1e6).round());
    let (peak, elapsed_s) = (shown(peak), shown(elapsed_s));
    identity.contradict(
        row.line,
        format!(
            "{name} is {peak} bytes/s: {most_mb} MB at most in {elapsed_s} s; the unit is probably {unit}"
        ),
    );
}

fn elapsed_s(table: &Table, row: &Row) -> Option<f64> {
    ELAPSED.iter().find_map(|(name, unit)| Some(table.number(row, name)? * unit.ns() / 1e9))
}

/// Does the name of the column, or the unit beside it, say bytes per second?
fn is_bytes_per_s(table: &Table, row: &Row, name: &str) -> bool {
    const UNITS: [&str; 5] = ["bytes_sec", "bytes_s", "bytes_per_s", "b_s", "bytes_per_second"];
    let unit =
        ["published_unit", "unit"].iter().map(|column| table.text(row, column)).find(|unit| !unit.is_empty());
    match unit {
        Some(unit) => UNITS.contains(&canonical(&unit).as_str()),
        None => canonical(name).ends_with("bytes_per_s") || canonical(name).ends_with("bytes_sec"),
    }
}
