//! What a database is, from its files: version, dates, protection, tables with rows and pages.

use std::collections::BTreeMap;
use std::path::PathBuf;

use formats::sqlserver::{Header, PageId, Protection, product};

use crate::catalog::prepared::prepare;
use crate::source::CheckError;

/// What a database is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inventory {
    /// Name and value, in the order in which they are shown.
    pub facts: Vec<(String, String)>,
    /// The tables of users, by name.
    pub tables: Vec<Table>,
    /// Why there is no more; absent when there is all.
    pub problem: Option<String>,
}

/// A table of a user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Table {
    /// `schema.table`.
    pub name: String,
    /// Rows, as the server counted them.
    pub row_count: u64,
    /// Pages of rows, indexes and large values, as the server counted them.
    pub page_count: u64,
    /// Nonclustered indexes.
    pub index_count: u64,
    /// Whether its rows are in no order.
    pub is_heap: bool,
}

/// Reads what the files of a database, or a backup, say about it. Cost: the allocation maps and the base tables.
///
/// # Errors
/// When a file cannot be read, or is none of SQL Server's.
pub fn inventory(paths: &[PathBuf]) -> Result<Inventory, CheckError> {
    let mut inventory = Inventory { facts: Vec::new(), tables: Vec::new(), problem: None };
    let prepared = match prepare(paths)? {
        Ok(prepared) => prepared,
        Err(why) => {
            inventory.problem = Some(why);
            return Ok(inventory);
        }
    };
    let boot = &prepared.boot;
    let mut fact = |name: &str, value: String| inventory.facts.push((name.to_owned(), value));
    fact("database", boot.name.clone());
    fact("version", format!("{} ({})", boot.version, product(boot.version)));
    fact("made by version", format!("{} ({})", boot.created_version, product(boot.created_version)));
    fact("compatibility level", boot.compatibility.to_string());
    fact("created", boot.created.text());
    let first = prepared.source.read(PageId { file: 1, page: 9 }).ok();
    let protection = match first.map(|page| Protection::of(&Header::new(&page[..]))) {
        Some(Protection::Checksum) => "checksum",
        Some(Protection::Torn) => "torn page bits",
        _ => "none",
    };
    fact("page protection", format!("{protection} (that of the boot page)"));
    fact("last known good check", boot.last_known_good.map_or("never".to_owned(), |date| date.text()));
    for (file, page_count) in prepared.source.database_files() {
        fact("file", format!("{file}: {page_count} pages"));
    }
    let mut tables: BTreeMap<&str, Table> = BTreeMap::new();
    for unit in prepared.plan.units.iter().filter(|unit| !unit.is_system) {
        let table = tables.entry(&unit.table).or_insert_with(|| Table {
            name: unit.table.clone(),
            row_count: 0,
            page_count: 0,
            index_count: 0,
            is_heap: false,
        });
        table.page_count += unit.counted.1;
        if unit.kind == 1 && unit.index_id < 2 {
            table.row_count += unit.counted.0;
            table.is_heap |= unit.index_id == 0;
        }
        table.index_count += u64::from(unit.kind == 1 && unit.index_id > 1);
    }
    inventory.tables = tables.into_values().collect();
    Ok(inventory)
}
