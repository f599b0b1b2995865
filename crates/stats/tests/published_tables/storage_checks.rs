//! The checks on devices, indexes, pages and reads.

use stats::identities::{
    Outcome, Printed, close_to, fill_percent, fragment_size, level_records, littles_law, logical_reads,
    peak_rate, rate_from_pages, rate_product, reads_once, throughput, within_limit,
};
use stats::pages::{
    PFS_INTERVAL_PAGES, SQL_SERVER_PAGE_BODY_BYTES, SQL_SERVER_SLOT_BYTES, log_blocks_min, padded_log_bytes,
    rows_per_page, total_bytes, whole_multiple,
};

use crate::Answer;
use crate::tables::{Row, Tables};

pub(crate) fn recompute(id: &str, tables: &Tables) -> Option<Answer> {
    let (kind, number) = id.rsplit_once('-')?;
    match kind {
        "C-S4-IOM-MB" => {
            let row = numbered(tables, "iometer_matrix", number);
            let (iops, bytes) = (row.number("iops"), row.count("transfer_kb") * 1024);
            let found = throughput(iops, bytes, row.printed("mbytes_per_s", 0));
            let (mebibytes, megabytes) = (found.recomputed_mebibytes, iops * bytes as f64 / 1e6);
            Answer::new(found.outcome, format!("{mebibytes:.2} MiB/s ({megabytes:.1} MB/s)"))
        }
        "C-S4-IOM-LIT" => {
            let row = numbered(tables, "iometer_matrix", number);
            let (outstanding, iops) = (row.number("outstanding_io"), row.number("iops"));
            let latency_s = Printed::new(row.number("avg_io_ms") / 1000.0, 5);
            Answer::new(
                littles_law(outstanding, iops, latency_s, 0.02),
                format!("{:.3}", 1000.0 * outstanding / iops),
            )
        }
        "C-S4-FRAGSIZE" => {
            let row = numbered(tables, "index_physical_stats", number);
            let level = tables.index_level(row);
            let outcome = fragment_size(&level, row.printed("avg_fragment_size_pages", 1));
            Answer::new(outcome, format!("{:.2}", level.fragment_pages_mean()))
        }
        "C-S4-FILL" => {
            let row = numbered(tables, "index_physical_stats", number);
            let level = tables.index_level(row);
            let outcome = fill_percent(&level, row.printed("avg_page_space_used_pct", 0));
            Answer::new(outcome, format!("{:.2}", level.fill_percent()))
        }
        "C-S4-LEVEL" => {
            let row = numbered(tables, "index_physical_stats", number);
            let below =
                numbered(tables, "index_physical_stats", &(number.parse::<u32>().unwrap() - 1).to_string());
            assert_eq!(row.count("index_level"), below.count("index_level") + 1);
            let outcome = level_records(&tables.index_level(row), &tables.index_level(below));
            Answer::new(outcome, below.text("page_count").to_owned())
        }
        "C-S4-LREADS" | "C-S4-PREADS" | "C-S4-RATE" | "C-S4-PROD" | "C-S4-MAXRATE" => {
            of_test(kind, number, tables)
        }
        "C-S1-PFS" => {
            let row = tables.row("pfs_pages", &[("page_id", number)]);
            let quotient = whole_multiple(row.count("page_id"), PFS_INTERVAL_PAGES);
            assert_eq!(row.count("pfs_interval"), PFS_INTERVAL_PAGES);
            // The quotient of the second page was not printed, only that there is one.
            let published =
                if row.has("published_quotient") { Some(row.count("published_quotient")) } else { quotient };
            let outcome = equality(published.unwrap_or_default(), quotient);
            Answer::new(outcome, format!("{} rest 0", quotient.unwrap_or_default()))
        }
        "C-S3-PEAK" => {
            let row = tables.row("network_tuning", &[("step", number)]);
            let tebibyte = (1_u64 << 40) as f64;
            // One link of 1 gigabit per second carries at most 125 million bytes.
            let (peak, elapsed_s) = (row.number("peak_scsi_published"), row.number("elapsed_s"));
            Answer::only(peak_rate(peak, tebibyte, elapsed_s, 125e6))
        }
        "C-S3-LOG" => {
            let row = tables.row("log_blocks", &[("rows_per_transaction", number)]);
            let log_bytes = row.count("log_bytes");
            if row.has("log_block_bytes") {
                let padded = padded_log_bytes(log_bytes, 512).unwrap();
                Answer::new(row.as_printed("log_block_bytes").check(padded as f64), padded.to_string())
            } else {
                // The published range of blocks must not lie below what the bytes need at least.
                let observed: f64 =
                    row.text("log_blocks_published").split_once('-').unwrap().0.parse().unwrap();
                let least = log_blocks_min(log_bytes);
                Answer::new(within_limit(least as f64, observed), format!("minimum {least} blocks"))
            }
        }
        _ => single(id, tables),
    }
}

/// The three ordered scans and the three joins of the GUID tests.
fn of_test(kind: &str, test: &str, tables: &Tables) -> Option<Answer> {
    let phase = if kind == "C-S4-MAXRATE" { "max_join" } else { "populate" };
    let in_test = tables.filtered("statistics_io", &[("test", test), ("phase", phase)]);
    let reads = in_test.into_iter().find(|row| row.text("table").starts_with("TestGuid"))?;
    let pages_read = reads.count("physical_reads") + reads.count("read_ahead_reads");
    let time = tables.row("statistics_time", &[("test", test), ("phase", phase)]);
    let elapsed_s = time.number("elapsed_ms") / 1000.0;
    let levels = tables.scanned_index(reads.text("table"));
    let counter =
        |name: &str| tables.row("perfmon_guid", &[("test", test), ("counter", name)]).number("value");
    match kind {
        "C-S4-LREADS" => {
            let (leaf, above) = (levels[0].count("page_count"), levels[1].count("page_count"));
            let outcome = logical_reads(leaf, above, reads.count("logical_reads"));
            Answer::new(outcome, (leaf + above + 3).to_string())
        }
        "C-S4-PREADS" => {
            let index_pages = levels.iter().map(|level| level.count("page_count")).sum::<u64>();
            let percent = 100.0 * pages_read as f64 / index_pages as f64;
            let outcome = reads_once(pages_read, index_pages, 0.01);
            Answer::new(outcome, format!("{pages_read} vs {index_pages} = {percent:.1} %"))
        }
        "C-S4-RATE" => {
            let megabytes = pages_read as f64 * 8192.0 / elapsed_s / 1e6;
            let outcome = rate_from_pages(pages_read, 8192, elapsed_s, counter("read bytes/sec"), 0.05);
            Answer::new(outcome, format!("{megabytes:.1} MB/s"))
        }
        "C-S4-PROD" => {
            let (bytes, operations) = (counter("disk bytes/read"), counter("disk reads/sec"));
            let outcome = rate_product(bytes, operations, counter("read bytes/sec"), 0.001);
            Answer::new(outcome, format!("{:.0}", bytes * operations))
        }
        _ => {
            let best_8_kb = tables.filtered("iometer_matrix", &[("transfer_kb", "8")]);
            let ceiling = best_8_kb.iter().map(|row| row.number("iops")).fold(0.0, f64::max);
            Answer::only(within_limit(reads.number("read_ahead_reads") / elapsed_s, ceiling))
        }
    }
}

fn single(id: &str, tables: &Tables) -> Option<Answer> {
    match id {
        "C-S3-TB" => {
            let rows = tables.row("log_constants", &[("unit", "rows")]).count("value");
            Answer::only(equality(1 << 40, total_bytes(rows, 8192)))
        }
        "C-S3-1PERPAGE" => {
            let rows = rows_per_page(4115, SQL_SERVER_SLOT_BYTES, SQL_SERVER_PAGE_BODY_BYTES);
            Answer::only(equality(1, rows))
        }
        "C-S4-50GB" => Answer::only(equality(50 << 30, total_bytes(104_857_600, 512))),
        "C-S4-SPEC" => {
            // Two devices, each with a stated maximum of 740 million bytes per second.
            let row = numbered(tables, "iometer_matrix", "4");
            let bytes_per_s = row.number("iops") * row.number("transfer_kb") * 1024.0;
            Answer::only(within_limit(bytes_per_s, 2.0 * 740e6))
        }
        "C-S4-86" => {
            let row = numbered(tables, "iometer_matrix", "3");
            let outstanding = row.number("iops") * row.number("avg_io_ms") / 1000.0;
            Answer::only(row.as_printed("outstanding_io").check(outstanding))
        }
        "C-S4-ROW" => {
            let row = numbered(tables, "index_physical_stats", "1");
            let parts = [16.0, 1024.0, 4.0, 3.0].map(|bytes| Printed::new(bytes, 0));
            Answer::only(stats::identities::sum(&parts, row.as_printed("avg_record_size_bytes")))
        }
        "C-S4-HEAPSAME" => {
            let pages = |number: &str| numbered(tables, "index_physical_stats", number).number("page_count");
            let difference = pages("1") - pages("6");
            Answer::new(close_to(pages("6"), pages("1"), 1e-5), format!("{difference} pages difference"))
        }
        "C-S4-4005" => {
            let counter =
                |name: &str| tables.row("perfmon_guid", &[("test", "1"), ("counter", name)]).number("value");
            let recomputed = counter("disk reads/sec") * 8192.0;
            Answer::new(close_to(recomputed, counter("read bytes/sec"), 0.001), recomputed.to_string())
        }
        _ => None,
    }
}

fn numbered<'tables>(tables: &'tables Tables, table: &str, number: &str) -> &'tables Row {
    tables.row(table, &[("row", number)])
}

fn equality(expected: u64, found: Option<u64>) -> Outcome {
    Printed::new(found.map_or(f64::NAN, |found| found as f64), 0).check(expected as f64)
}
