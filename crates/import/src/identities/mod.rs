//! The arithmetic of a table: what its columns must be to each other, by their names, and which rows contradict it.
//!
//! No row is known here, only equations: a row that breaks one of them carries a wrong number, a wrong unit or a wrong
//! label. Numbers are compared as they were printed.

mod changes;
mod identity;
mod index;
mod io;
mod peaks;
mod scans;
mod waits;

use crate::table::Table;

pub use identity::Identity;
pub(crate) use io::throughput_rows;
pub(crate) use waits::groups as wait_groups;

/// Checks everything whose columns a table has; `others` are tables that were imported with it.
pub fn check(table: &Table, others: &[&Table]) -> Vec<Identity> {
    let mut found = Vec::new();
    found.extend(io::check(table));
    found.extend(waits::check(table));
    found.extend(scans::check(table, others));
    found.extend(index::check(table));
    found.extend(peaks::check(table));
    found.extend(changes::check(table));
    found.retain(|identity| identity.checked > 0);
    found
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn broken(text: &str) -> Vec<(u64, String)> {
        let table = Table::read(text.as_bytes(), "t.csv").unwrap();
        check(&table, &[]).into_iter().flat_map(|identity| identity.contradictions).collect()
    }

    #[test]
    fn a_rate_that_is_not_iops_times_size_is_named_with_both_values() {
        let text = "transfer_kb,iops,mbytes_per_s\n64,18644,1165\n64,21305,1131\n8,65627,512\n";
        let broken = broken(text);
        assert_eq!(broken.len(), 1, "{broken:?}");
        assert_eq!(broken[0].0, 3);
        assert!(broken[0].1.contains("1131") && broken[0].1.contains("1331.56"), "{}", broken[0].1);
    }

    #[test]
    fn littles_law_and_percentages_are_checked_by_the_names_of_columns() {
        let text = "Outstanding,IOPS,Avg ms,% random,% sequential\n32,18644,1.71,100,0\n64,21305,6.0,100,0\n32,100,320,70,40\n";
        let lines: Vec<u64> = broken(text).into_iter().map(|(line, _)| line).collect();
        assert_eq!(lines, [3, 4]);
    }

    #[test]
    fn a_scan_whose_rate_is_not_its_pages_over_its_time_is_a_contradiction() {
        let text = "table,avg_read_bytes_sec,physical_reads,read_ahead,elapsed_ms\nA,400501565,25690,10709354,214243\n\
                    B,47213526,444,278989,25424\n";
        let broken = broken(text);
        assert_eq!(broken.iter().map(|(line, _)| *line).collect::<Vec<_>>(), [3]);
    }

    #[test]
    fn a_peak_in_bytes_of_a_run_of_hours_is_a_wrong_unit() {
        let text = "elapsed_s,peak_a,published_unit\n21252,50500,bytes/sec\n21252,106012000,bytes/sec\n21252,50500,KB/sec\n20,300,bytes/sec\n";
        let broken = broken(text);
        assert_eq!(broken.iter().map(|(line, _)| *line).collect::<Vec<_>>(), [2], "{broken:?}");
        assert!(broken[0].1.contains("KB/s"), "{}", broken[0].1);
    }

    #[test]
    fn an_ordinary_table_has_no_identity() {
        let table = Table::read("clients,tps\n1,100\n2,190\n".as_bytes(), "t.csv").unwrap();
        assert!(check(&table, &[]).is_empty());
    }
}
