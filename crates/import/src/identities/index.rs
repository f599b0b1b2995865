//! Levels of an index: fragments, fill, and one record above for each page below; whole numbers that multiply.

use stats::identities::{IndexLevel, Outcome, fill_percent, fragment_size, level_records, product};
use stats::pages::{PFS_INTERVAL_PAGES, padded_log_bytes};

use super::identity::{Identity, count, numbers};
use crate::number::printed;
use crate::table::{Row, Table};

/// Columns that are a product of two others.
const PRODUCTS: [(&str, &str, &str); 3] = [
    ("configurations", "layouts", "combinations"),
    ("combinations", "repetitions", "runs"),
    ("connections", "rows_per_connection", "total_rows"),
];

pub(super) fn check(table: &Table) -> Vec<Identity> {
    let mut fragments = Identity::new("pages / fragments = mean fragment");
    let mut fill = Identity::new("records x (bytes + 2) / pages of 8096 bytes = fill");
    let mut levels = Identity::new("a level has one record per page of the level below");
    let mut below: Option<(&Row, IndexLevel)> = None;
    for row in &table.rows {
        let Some(level) = level(table, row) else { continue };
        if let Some(size) =
            printed(&table.text(row, "avg_fragment_size_pages")).filter(|_| level.fragment_count > 0)
        {
            fragments.add(row.line, fragment_size(&level, size), "pages per fragment");
        }
        if let Some(percent) =
            printed(&table.text(row, "avg_page_space_used_pct")).filter(|_| level.page_count > 0)
        {
            fill.add(row.line, fill_percent(&level, percent), "the fill in percent");
        }
        if let Some((_, lower)) = below.filter(|(other, _)| is_above(table, row, other)) {
            levels.add(row.line, level_records(&level, &lower), "the number of records");
        }
        below = Some((row, level));
    }
    vec![fragments, fill, levels, products(table), padding(table), quotients(table)]
}

fn level(table: &Table, row: &Row) -> Option<IndexLevel> {
    Some(IndexLevel {
        page_count: count(table, row, "page_count")?,
        fragment_count: count(table, row, "fragment_count")?,
        record_count: count(table, row, "record_count")?,
        record_bytes_mean: table.number(row, "avg_record_size_bytes")?,
    })
}

fn is_above(table: &Table, row: &Row, below: &Row) -> bool {
    let same = |name: &str| table.text(row, name).eq_ignore_ascii_case(&table.text(below, name));
    let levels = count(table, row, "index_level").zip(count(table, below, "index_level"));
    same("table") && same("index_id") && levels.is_some_and(|(upper, lower)| upper == lower + 1)
}

fn products(table: &Table) -> Identity {
    let mut identity = Identity::new("the product of two columns is the third");
    for (left, right, total) in PRODUCTS {
        for row in &table.rows {
            let factors = count(table, row, left).zip(count(table, row, right));
            if let (Some((left, right)), Some(printed)) = (factors, printed(&table.text(row, total))) {
                identity.add(row.line, product(&[left, right], printed), total);
            }
        }
    }
    identity
}

fn padding(table: &Table) -> Identity {
    let mut identity = Identity::new("log blocks are padded to 512 bytes");
    for row in &table.rows {
        let bytes = count(table, row, "log_bytes").and_then(|bytes| padded_log_bytes(bytes, 512));
        if let (Some(padded), Some(block)) = (bytes, printed(&table.text(row, "log_block_bytes"))) {
            identity.add(row.line, block.check(padded as f64), "log_block_bytes");
        }
    }
    identity
}

fn quotients(table: &Table) -> Identity {
    let mut identity = Identity::new("page / PFS interval = PFS page");
    for row in &table.rows {
        let Some([page, interval, quotient]) =
            numbers(table, row, ["page_id", "pfs_interval", "published_quotient"])
        else {
            continue;
        };
        let outcome = match interval == PFS_INTERVAL_PAGES as f64 && page == interval * quotient {
            true => Outcome::Holds,
            false => Outcome::Broken { expected: page / PFS_INTERVAL_PAGES as f64, found: quotient },
        };
        identity.add(row.line, outcome, "published_quotient");
    }
    identity
}
