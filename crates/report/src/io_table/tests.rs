#![allow(clippy::unwrap_used)]
use super::*;

/// The seventh published row, with what was not published made up.
fn published() -> IoRow {
    IoRow {
        transfer_bytes: 8192,
        read_percent: 100,
        random_percent: 100,
        outstanding: 32,
        jobs: 1,
        iops: 65_627.0,
        mib_per_s: 512.71,
        latency_ns_mean: 480_000.0,
        latency_ns_max: 13_050_000,
        cpu_percent: 30.49,
        transferred_bytes: 1 << 30,
        device_read_bytes: Some(1 << 30),
        device_write_bytes: Some(0),
        ..IoRow::default()
    }
}

fn table(rows: Vec<IoRow>) -> IoTable {
    IoTable { title: "direct I/O, io_uring, 1.0 GiB of /data".to_owned(), rows, ..IoTable::default() }
}

#[test]
fn the_ten_columns_stand_in_the_published_order_with_the_published_digits() {
    let text = text(&table(vec![published()]));
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[0], "direct I/O, io_uring, 1.0 GiB of /data");
    let words: Vec<&str> = lines[3].split_whitespace().collect();
    assert_eq!(words, ["8", "Read", "100", "0", "32", "65627", "513", "0.480", "13.1", "30.49"]);
    assert!(
        lines[2].starts_with("KiB  Read/write  % random  % seq  Outstanding   IOPS  MiB/s  Avg ms  Max ms")
    );
    assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
}

#[test]
fn csv_begins_with_the_published_columns_under_their_true_units_and_has_one_line_per_row() {
    let csv = csv(&table(vec![published(), published()]));
    let columns = "transfer_kib,read_write,pct_random,pct_sequential,outstanding_io,iops,mib_per_s,avg_io_ms,max_io_ms,cpu_pct,";
    assert!(csv.starts_with(columns), "{csv}");
    let row = csv.lines().nth(1).unwrap();
    assert!(row.starts_with("8,Read,100,0,32,65627,512.71,0.48,13.05,30.49,1,100,"), "{row}");
    assert_eq!(csv.lines().count(), 3);
    assert_eq!(csv.lines().map(|line| line.split(',').count()).max(), Some(26));
}

#[test]
fn what_speaks_against_rows_is_said_once_with_their_numbers() {
    let flagged = |flag: &str| IoRow { flags: vec![flag.to_owned()], ..published() };
    let mut table = table(vec![flagged("a"), published(), flagged("a"), flagged("b\u{1b}[31m")]);
    table.warnings.push("page cache".to_owned());
    let text = text(&table);
    assert!(text.contains("\nrows 1, 3: a\nrow 4: b"), "{text}");
    assert!(text.ends_with("\npage cache\n") && !text.contains('\u{1b}'));
}

#[test]
fn flushes_have_a_table_of_their_own() {
    let row = IoSyncRow {
        size_bytes: 61_440,
        method: "fdatasync".to_owned(),
        writer_count: 4,
        appends_per_s: 1190.2,
        flags: vec!["doubtful".to_owned()],
        ..IoSyncRow::default()
    };
    let table = IoTable { sync_rows: vec![row], ..table(Vec::new()) };
    let text = text(&table);
    assert!(text.contains("Durable appends\n\nBytes  Method     Writers  Appends/s"), "{text}");
    assert!(text.contains("61440  fdatasync        4       1190") && text.contains("append row 1: doubtful"));
    assert_eq!(csv(&table).lines().count(), 1);
    assert!(sync_csv(&table).lines().nth(1).unwrap().starts_with("61440,fdatasync,4,1190.2,"));
}

#[test]
fn absent_counters_are_dashes_and_mixes_are_spelled_out() {
    let row = IoRow { read_percent: 70, device_read_bytes: None, transfer_bytes: 512, ..published() };
    let text = text(&table(vec![row.clone()]));
    assert!(text.contains("0.500") && text.contains("Read 70 % write 30 %"), "{text}");
    assert!(text.lines().nth(6).unwrap().contains("  -  "), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
    assert!(csv(&table(vec![row])).contains(",,"));
}

#[test]
fn json_is_one_line_that_reads_back() {
    let table = table(vec![published()]);
    let json = json(&table);
    assert_eq!(json.lines().count(), 1);
    assert_eq!(serde_json::from_str::<IoTable>(&json).unwrap(), table);
}
