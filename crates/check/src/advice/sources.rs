//! Which object is built from which.

use std::collections::HashMap;

/// Longest chain from an object to its table: an index of a TOAST table of a table is two; more is a cycle.
const CHAIN_MAX: usize = 8;

/// Which object is built from which, by the names in findings.
#[derive(Debug, Clone, Default)]
pub struct Sources {
    above: HashMap<String, (String, Relation)>,
    /// Names of databases, by the directory of their files.
    databases: HashMap<String, String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Relation {
    /// Can be rebuilt from what is above.
    Index,
    /// Holds a part of what is above.
    Part,
}

impl Sources {
    /// Adds an index: it can be rebuilt from the table, and its own damage leaves the table as it is.
    pub fn add_index(&mut self, index: impl Into<String>, table: impl Into<String>) {
        self.above.insert(index.into(), (table.into(), Relation::Index));
    }

    /// Adds a part of a table that is kept elsewhere (TOAST, LOB data): its damage is damage of the table.
    pub fn add_part(&mut self, part: impl Into<String>, table: impl Into<String>) {
        self.above.insert(part.into(), (table.into(), Relation::Part));
    }

    /// Adds a database by the name of the directory that has its files: objects are named `database.schema.object`.
    pub fn add_database(&mut self, directory: impl Into<String>, name: impl Into<String>) {
        self.databases.insert(directory.into(), name.into());
    }

    /// Whether an object is of the database in whose directory a file lies; for files outside of them all are.
    pub(super) fn is_of_database(&self, object: &str, file: &str) -> bool {
        let mut parts = file.split('/').rev();
        match parts.find_map(|part| self.databases.get(part)) {
            Some(name) => object.strip_prefix(name.as_str()).is_some_and(|rest| rest.starts_with('.')),
            None => !file.starts_with("base/"),
        }
    }

    /// The table that an object belongs to: itself where nothing is above it.
    pub(super) fn table_of<'a>(&'a self, object: &'a str) -> &'a str {
        let mut object = object;
        for _ in 0..CHAIN_MAX {
            match self.above.get(object) {
                Some((above, _)) if above != object => object = above,
                _ => break,
            }
        }
        object
    }

    /// Whether the object can be rebuilt from another.
    pub(super) fn is_index(&self, object: &str) -> bool {
        self.above.get(object).is_some_and(|(_, relation)| *relation == Relation::Index)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_index_of_a_part_leads_to_the_table_and_a_cycle_ends() {
        let mut sources = Sources::default();
        sources.add_part("toast", "t");
        sources.add_index("toast_index", "toast");
        sources.add_index("a", "b");
        sources.add_index("b", "a");
        assert_eq!(sources.table_of("toast_index"), "t");
        assert_eq!(sources.table_of("t"), "t");
        assert!(sources.is_index("toast_index") && !sources.is_index("toast"));
        assert!(["a", "b"].contains(&sources.table_of("a")));
    }
}
