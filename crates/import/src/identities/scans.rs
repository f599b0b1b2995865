//! Reads: pages over time against the counter of the device, within one table or over tables of one test.

use std::collections::BTreeMap;

use stats::identities::{rate_from_pages, rate_product};

use super::identity::{Identity, count};
use crate::table::{Row, Table, canonical};

/// Pages of the engine whose tables count logical, physical and read-ahead reads.
const PAGE_BYTES: u64 = 8192;
/// Counters are averages over a window of their own.
const WINDOW_TOLERANCE: f64 = 0.05;
const PRODUCT_TOLERANCE: f64 = 0.01;
/// The counters of one test stand near each other.
const NEAR_ROWS: usize = 64;

/// One test: what was read, in which time, at which rate; each with its file and line.
#[derive(Clone, Debug, Default)]
struct Scan {
    pages: Option<u64>,
    elapsed_s: Option<f64>,
    bytes_per_s: Option<f64>,
    places: Vec<(String, u64)>,
}

pub(super) fn check(table: &Table, others: &[&Table]) -> Vec<Identity> {
    vec![products(table), rates(table, others)]
}

fn products(table: &Table) -> Identity {
    let mut identity = Identity::new("bytes per read x reads per second = bytes per second");
    let columns = ["avg_disk_bytes_read", "avg_disk_reads_sec", "avg_read_bytes_sec"];
    for row in &table.rows {
        if let Some([bytes, reads, rate]) = super::identity::numbers(table, row, columns) {
            identity.add(row.line, rate_product(bytes, reads, rate, PRODUCT_TOLERANCE), "bytes per second");
        }
    }
    if let Some((counter, value)) = table.column("counter").zip(table.column("value")) {
        let of = |row: &Row, name: &str| {
            (canonical(&row.cells[counter]) == name)
                .then(|| crate::number::number(&row.cells[value]).ok())
                .flatten()
        };
        for (index, row) in table.rows.iter().enumerate() {
            let Some(bytes) = of(row, "disk_bytes_read") else { continue };
            let same = |other: &&Row| keys(table, other) == keys(table, row);
            let group: Vec<&Row> = table.rows[index..].iter().take(NEAR_ROWS).filter(same).collect();
            let find = |name: &str| group.iter().find_map(|row| of(row, name));
            if let (Some(reads), Some(rate)) = (find("disk_reads_sec"), find("read_bytes_sec")) {
                identity.add(
                    row.line,
                    rate_product(bytes, reads, rate, PRODUCT_TOLERANCE),
                    "bytes per second",
                );
            }
        }
    }
    identity
}

fn rates(table: &Table, others: &[&Table]) -> Identity {
    let mut identity = Identity::new("pages read x 8 KiB / elapsed = bytes per second, within 5 %");
    for row in &table.rows {
        if let Some([elapsed_ms, rate]) =
            super::identity::numbers(table, row, ["elapsed_ms", "avg_read_bytes_sec"])
            && let Some(pages) = pages(table, row).filter(|_| elapsed_ms > 0.0)
        {
            let outcome = rate_from_pages(pages, PAGE_BYTES, elapsed_ms / 1e3, rate, WINDOW_TOLERANCE);
            identity.add(row.line, outcome, "bytes per second");
        }
    }
    for scan in over_tables(table, others) {
        let Some((pages, elapsed_s)) = scan.pages.zip(scan.elapsed_s.filter(|elapsed_s| *elapsed_s > 0.0))
        else {
            continue;
        };
        let Some(rate) = scan.bytes_per_s else { continue };
        if let Some((_, line)) = scan.places.iter().find(|(file, _)| *file == table.file) {
            let outcome = rate_from_pages(pages, PAGE_BYTES, elapsed_s, rate, WINDOW_TOLERANCE);
            identity.add(*line, outcome, "bytes per second");
        }
    }
    identity
}

fn pages(table: &Table, row: &Row) -> Option<u64> {
    let ahead = count(table, row, "read_ahead").or_else(|| count(table, row, "read_ahead_reads"))?;
    count(table, row, "physical_reads")?.checked_add(ahead)
}

/// Test and phase of a row.
fn keys(table: &Table, row: &Row) -> Vec<String> {
    ["test", "phase"].iter().map(|name| table.text(row, name)).collect()
}

/// Tests whose pages, time and rate stand in tables of their own.
fn over_tables(table: &Table, others: &[&Table]) -> impl Iterator<Item = Scan> {
    let all: Vec<&Table> = std::iter::once(table).chain(others.iter().copied()).collect();
    let has_test = |table: &&&Table| table.column("test").is_some() && table.column("phase").is_some();
    let mut scans: BTreeMap<Vec<String>, Scan> = BTreeMap::new();
    for table in all.iter().filter(has_test) {
        for row in &table.rows {
            let scan = scans.entry(keys(table, row)).or_default();
            // A test reads several tables: the one with the most pages is the one that was scanned.
            if let Some(pages) = pages(table, row) {
                scan.pages = Some(scan.pages.unwrap_or(0).max(pages));
            }
            scan.elapsed_s = scan.elapsed_s.or_else(|| Some(table.number(row, "elapsed_ms")? / 1e3));
            if canonical(&table.text(row, "counter")) == "read_bytes_sec" {
                scan.bytes_per_s = table.number(row, "value");
            }
            if !scan.places.iter().any(|(file, _)| *file == table.file) {
                scan.places.push((table.file.clone(), row.line));
            }
        }
    }
    scans.into_values()
}
