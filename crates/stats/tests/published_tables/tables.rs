//! The published tables as read from their CSV files.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use stats::identities::{IndexLevel, Printed};

/// One line of a table: the cells by the name of their column.
#[derive(Clone, Debug)]
pub(crate) struct Row(BTreeMap<String, String>);

impl Row {
    pub(crate) fn text(&self, column: &str) -> &str {
        self.0.get(column).unwrap_or_else(|| panic!("no column {column} in {:?}", self.0))
    }

    pub(crate) fn number(&self, column: &str) -> f64 {
        self.text(column).parse().unwrap_or_else(|_| panic!("{column} is no number in {:?}", self.0))
    }

    pub(crate) fn count(&self, column: &str) -> u64 {
        self.text(column).parse().unwrap_or_else(|_| panic!("{column} is no count in {:?}", self.0))
    }

    /// A cell of a column that prints this many digits; trailing zeros may have been dropped.
    pub(crate) fn printed(&self, column: &str, decimals: u32) -> Printed {
        Printed::new(self.number(column), decimals)
    }

    /// A cell whose digits are those that were printed.
    pub(crate) fn as_printed(&self, column: &str) -> Printed {
        self.text(column).parse().unwrap_or_else(|_| panic!("{column} is no number in {:?}", self.0))
    }

    pub(crate) fn has(&self, column: &str) -> bool {
        !self.text(column).is_empty()
    }
}

/// All tables, by the name of their file without its ending.
pub(crate) struct Tables(BTreeMap<String, Vec<Row>>);

impl Tables {
    /// Reads the tables; nothing, and a skip that is counted, when they are not there.
    pub(crate) fn load() -> Option<Self> {
        let directory = directory();
        if !directory.is_dir() {
            let reason = format!("there are no published tables in \"{}\"", directory.display());
            skips::skip(skips::Capability::Shared, reason);
            return None;
        }
        let files = std::fs::read_dir(&directory).unwrap().map(|entry| entry.unwrap().path());
        let tables = files.filter(|path| path.extension().is_some_and(|ending| ending == "csv"));
        Some(Self(
            tables
                .map(|path| (path.file_stem().unwrap().to_str().unwrap().to_owned(), read(&path)))
                .collect(),
        ))
    }

    pub(crate) fn rows(&self, table: &str) -> &[Row] {
        &self.0[table]
    }

    /// The only row in which each of the columns has the value.
    pub(crate) fn row(&self, table: &str, cells: &[(&str, &str)]) -> &Row {
        let found = self.filtered(table, cells);
        assert_eq!(found.len(), 1, "rows of {table} with {cells:?}");
        found[0]
    }

    pub(crate) fn filtered(&self, table: &str, cells: &[(&str, &str)]) -> Vec<&Row> {
        self.rows(table)
            .iter()
            .filter(|row| cells.iter().all(|(column, value)| row.text(column).eq_ignore_ascii_case(value)))
            .collect()
    }

    pub(crate) fn wait_table(&self, table_id: &str) -> Vec<&Row> {
        self.filtered("wait_stats", &[("table_id", table_id)])
    }

    pub(crate) fn wait_table_ids(&self) -> Vec<&str> {
        let mut ids: Vec<&str> = self.rows("wait_stats").iter().map(|row| row.text("table_id")).collect();
        ids.dedup();
        ids
    }

    pub(crate) fn index_level(&self, row: &Row) -> IndexLevel {
        IndexLevel {
            page_count: row.count("page_count"),
            fragment_count: row.count("fragment_count"),
            record_count: row.count("record_count"),
            record_bytes_mean: row.number("avg_record_size_bytes"),
        }
    }

    /// The levels of the index that each GUID test scans in order, leaf first.
    pub(crate) fn scanned_index(&self, table: &str) -> Vec<&Row> {
        let index_id = if table.eq_ignore_ascii_case("TestGuid_HeapINSERT") { "2" } else { "1" };
        self.filtered("index_physical_stats", &[("table", table), ("index_id", index_id)])
    }
}

fn directory() -> PathBuf {
    let shared = std::env::var_os("FATHOM_SHARED")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared"), PathBuf::from);
    shared.join("domain/published-tables")
}

fn read(path: &Path) -> Vec<Row> {
    let mut reader = csv::Reader::from_path(path).unwrap();
    reader.deserialize().map(|line| Row(line.unwrap())).collect()
}
