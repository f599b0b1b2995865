//! Devices: operations, sizes, rates, latencies and shares.

use stats::identities::{ByteUnit, Outcome, Printed, close_to, littles_law, throughput};

use super::identity::{Identity, numbers};
use crate::number::printed;
use crate::table::Table;

/// Rates and sizes that were printed with few digits, or taken over slightly different times.
const RATE_TOLERANCE: f64 = 0.01;
/// Little's law holds for means over one window; tables print them with two or three digits.
const LITTLE_TOLERANCE: f64 = 0.05;
const PERCENT_TOLERANCE: f64 = 0.5;

pub(super) fn check(table: &Table) -> Vec<Identity> {
    vec![rates(table), little(table), shares(table)]
}

/// IOPS, bytes per operation and printed rate of the rows whose rate is in a unit that the name leaves open; without the
/// rows that no unit fits.
pub(crate) fn throughput_rows(table: &Table) -> Vec<(f64, u64, Printed)> {
    let rows = table.rows.iter().filter_map(|row| of_row(table, row, "mbytes_per_s"));
    rows.filter(|(iops, bytes, printed)| throughput(*iops, *bytes, *printed).outcome.is_consistent())
        .collect()
}

fn of_row(table: &Table, row: &crate::table::Row, rate: &str) -> Option<(f64, u64, Printed)> {
    let [iops, kib] = numbers(table, row, ["iops", "transfer_kb"])?;
    let printed = printed(&table.text(row, rate))?;
    (iops >= 0.0 && kib > 0.0 && kib < 1e9).then_some((iops, (kib * 1024.0) as u64, printed))
}

fn rates(table: &Table) -> Identity {
    let mut identity = Identity::new("IOPS x transfer size = throughput");
    for row in &table.rows {
        for (column, units) in [("mbytes_per_s", &ByteUnit::ALL[..]), ("mib_per_s", &[ByteUnit::Mebibyte])] {
            let Some((iops, bytes, printed)) = of_row(table, row, column) else { continue };
            let bytes_per_s = iops * bytes as f64;
            let exact = throughput(iops, bytes, printed);
            let is_exact = exact.unit.is_some_and(|unit| units.contains(&unit));
            let is_close = |unit: &ByteUnit| {
                close_to(bytes_per_s / unit.bytes(), printed.value, RATE_TOLERANCE).is_consistent()
            };
            let outcome = match is_exact {
                true => exact.outcome,
                false if units.iter().any(is_close) => Outcome::Rounding,
                false => Outcome::Broken { expected: exact.recomputed_mebibytes, found: printed.value },
            };
            identity.add(row.line, outcome, "the printed rate in MiB/s");
        }
    }
    identity
}

fn little(table: &Table) -> Identity {
    let mut identity = Identity::new("outstanding I/O / IOPS = mean latency");
    for row in &table.rows {
        let Some([outstanding, iops]) = numbers(table, row, ["outstanding_io", "iops"]) else { continue };
        let Some(latency) = printed(&table.text(row, "avg_io_ms")) else { continue };
        if iops <= 0.0 || outstanding <= 0.0 {
            continue;
        }
        let latency_s = Printed::new(latency.value / 1e3, latency.decimals + 3);
        let outcome = match littles_law(outstanding, iops, latency_s, LITTLE_TOLERANCE) {
            Outcome::Broken { expected, found } => {
                Outcome::Broken { expected: expected * 1e3, found: found * 1e3 }
            }
            other => other,
        };
        identity.add(row.line, outcome, "the mean latency in ms");
    }
    identity
}

fn shares(table: &Table) -> Identity {
    let mut identity = Identity::new("random + sequential = 100 %");
    for row in &table.rows {
        if let Some([random, sequential]) = numbers(table, row, ["pct_random", "pct_sequential"]) {
            let sum = random + sequential;
            let outcome = match (sum - 100.0).abs() <= PERCENT_TOLERANCE {
                true => Outcome::Holds,
                false => Outcome::Broken { expected: 100.0, found: sum },
            };
            identity.add(row.line, outcome, "the sum of the percentages");
        }
    }
    identity
}
