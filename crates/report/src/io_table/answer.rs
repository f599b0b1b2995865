//! What a baseline came to, in sentences: the largest rates, the latency without a queue, durable appends.

use results::io::{IoRow, IoSyncRow, IoTable};

use crate::number::{human, number};

/// Rows with something that speaks against them.
pub fn flagged_count(table: &IoTable) -> usize {
    table.rows.iter().filter(|row| !row.flags.is_empty()).count()
        + table.sync_rows.iter().filter(|row| !row.flags.is_empty()).count()
}

/// `8 KiB random read`.
pub(crate) fn pattern(row: &IoRow) -> String {
    let order = match row.random_percent {
        100.. => "random".to_owned(),
        0 => "sequential".to_owned(),
        percent => format!("{percent} % random"),
    };
    let way = match row.read_percent {
        100.. => "read".to_owned(),
        0 => "write".to_owned(),
        percent => format!("{percent} % read"),
    };
    format!("{} KiB {order} {way}", number(row.transfer_bytes as f64 / 1024.0))
}

/// The result: the first sentence alone stands in lists. Empty without rows.
pub fn answer(table: &IoTable) -> Vec<String> {
    let mut sentences = Vec::new();
    let largest = |value: fn(&IoRow) -> f64| {
        let rows = || table.rows.iter().filter(|row| value(row) > 0.0);
        let best = |rows: &mut dyn Iterator<Item = &IoRow>| -> Option<IoRow> {
            rows.max_by(|one, other| value(one).total_cmp(&value(other))).cloned()
        };
        best(&mut rows().filter(|row| row.flags.is_empty())).or_else(|| best(&mut rows()))
    };
    let at = |row: &IoRow| {
        let flagged = if row.flags.is_empty() { "" } else { ", flagged" };
        format!("({}, queue depth {}{flagged})", pattern(row), row.outstanding)
    };
    if let (Some(iops), Some(rate)) = (largest(|row| row.iops), largest(|row| row.mib_per_s)) {
        sentences.push(format!(
            "Up to {} {} and {} {}.",
            human(iops.iops, "IOPS"),
            at(&iops),
            human(rate.mib_per_s, "MiB/s"),
            at(&rate)
        ));
    }
    let alone = table.rows.iter().filter(|row| row.outstanding == 1);
    if let Some(row) =
        alone.max_by_key(|row| (row.random_percent, row.read_percent, u64::MAX - row.transfer_bytes))
    {
        sentences.push(format!(
            "{}, queue depth 1: mean {}, p99 {}, max {}.",
            pattern(row),
            human(row.latency_ns_mean, "ns"),
            human(row.latency_ns_p99 as f64, "ns"),
            human(row.latency_ns_max as f64, "ns")
        ));
    }
    let appends = |rows: &mut dyn Iterator<Item = &IoSyncRow>| -> Option<IoSyncRow> {
        rows.max_by(|one, other| one.appends_per_s.total_cmp(&other.appends_per_s)).cloned()
    };
    let best = appends(&mut table.sync_rows.iter().filter(|row| row.flags.is_empty()))
        .or_else(|| appends(&mut table.sync_rows.iter()));
    if let Some(row) = best {
        let writers = results::wording::counted(row.writer_count.into(), "writer");
        sentences.push(format!(
            "Up to {} durable appends/s ({}, {}, {writers}; p99 {}).",
            human(row.appends_per_s.round(), "1"),
            human(row.size_bytes as f64, "bytes"),
            row.method,
            human(row.latency_ns_p99 as f64, "ns")
        ));
    }
    sentences
}

/// What bounds the result, before any value.
pub(crate) fn cautions(table: &IoTable) -> Vec<String> {
    let mut cautions = Vec::new();
    let (flagged, all) = (flagged_count(table), table.rows.len() + table.sync_rows.len());
    if flagged > 0 {
        let verb = if flagged == 1 { "is" } else { "are" };
        cautions.push(format!("{flagged} of {all} rows {verb} flagged: see the notes below the tables"));
    }
    if !table.is_direct && !table.rows.is_empty() {
        cautions.push("buffered I/O: the page cache is measured together with the device".to_owned());
    }
    cautions
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_without_flags_are_quoted_before_flagged_ones() {
        let row = |outstanding, iops, flags: &[&str]| IoRow {
            transfer_bytes: 8192,
            read_percent: 100,
            random_percent: 100,
            outstanding,
            iops,
            mib_per_s: iops / 128.0,
            flags: flags.iter().map(|flag| (*flag).to_owned()).collect(),
            ..IoRow::default()
        };
        let mut table = IoTable { is_direct: true, ..IoTable::default() };
        table.rows = vec![row(1, 1000.0, &[]), row(8, 9000.0, &["unsteady"])];
        let sentences = answer(&table);
        assert!(
            sentences[0].starts_with("Up to 1,000 IOPS (8 KiB random read, queue depth 1)"),
            "{sentences:?}"
        );
        assert_eq!(cautions(&table), ["1 of 2 rows is flagged: see the notes below the tables"]);
        table.rows.remove(0);
        assert!(answer(&table)[0].contains("9,000 IOPS (8 KiB random read, queue depth 8, flagged)"));
        assert!(answer(&IoTable::default()).is_empty());
    }

    #[test]
    fn durable_appends_alone_have_an_answer() {
        let row = IoSyncRow {
            size_bytes: 512,
            method: "fdatasync".into(),
            writer_count: 1,
            ..IoSyncRow::default()
        };
        let rows = vec![IoSyncRow { appends_per_s: 5189.4, latency_ns_p99: 310_000, ..row }];
        let table = IoTable { sync_rows: rows, ..IoTable::default() };
        assert_eq!(
            answer(&table),
            ["Up to 5,189 durable appends/s (512 bytes, fdatasync, 1 writer; p99 310 µs)."]
        );
        assert!(cautions(&table).is_empty());
    }
}
