//! Which columns of a copy are shifted, so that keys stay unique and references stay within the copy.

use disk::space::format_bytes;

use super::catalog::{Kind, Table};

/// Why a database could not be grown.
#[derive(Debug, thiserror::Error)]
pub enum ExpandError {
    /// A key of a type that cannot be made unique.
    #[error(
        "cannot copy the rows of table {table}: no column of its key ({columns}) is a number, text, bytes or a UUID"
    )]
    Key {
        /// The table.
        table: String,
        /// Columns of the key.
        columns: String,
    },
    /// A database without tables, or with what cannot be copied.
    #[error("cannot grow {place}: {reason}")]
    Source {
        /// The database.
        place: String,
        /// Why.
        reason: String,
    },
    /// A source that is larger than what is to be made of it.
    #[error(
        "cannot grow {place} to {} ({wanted_bytes} bytes): one copy of its rows takes {} ({source_bytes} bytes)\nhint: --size {source_bytes} or more",
        format_bytes(*wanted_bytes),
        format_bytes(*source_bytes)
    )]
    Size {
        /// The database.
        place: String,
        /// Bytes that were asked for.
        wanted_bytes: u64,
        /// Bytes of the source without unused pages.
        source_bytes: u64,
    },
    /// The engine refused.
    #[error("could not {action} {place}: {reason}")]
    Engine {
        /// Verb phrase.
        action: &'static str,
        /// The database.
        place: String,
        /// What the engine said.
        reason: String,
    },
    /// A file could not be handled.
    #[error("could not {action} \"{}\": {source}", path.display())]
    Io {
        /// Verb phrase.
        action: &'static str,
        /// The file.
        path: std::path::PathBuf,
        /// The reason.
        source: std::io::Error,
    },
}

/// How a column of a copy follows from the source's: by the shift of this column, which is its own or the one that it
/// refers to in the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Shift {
    /// Index of the table.
    pub table: usize,
    /// Index of the column in it.
    pub column: usize,
    /// What its values are.
    pub kind: Kind,
}

/// The shift of each column of each table; `None` is copied as it is.
///
/// # Errors
/// A key that nothing can make unique.
pub fn shifts(tables: &[Table]) -> Result<Vec<Vec<Option<Shift>>>, ExpandError> {
    let root = |table: usize, column: usize| root_of(tables, table, column);
    let mut marked: Vec<(usize, usize)> = Vec::new();
    for table_index in in_order(tables) {
        let table = &tables[table_index];
        for key in &table.keys {
            if key.iter().any(|&column| marked.contains(&root(table_index, column))) {
                continue;
            }
            // A column of its own first, then the kind that costs least.
            let refers = |column: usize| root(table_index, column) != (table_index, column);
            let best = key
                .iter()
                .copied()
                .filter(|&column| table.columns[column].kind != Kind::Other)
                .min_by_key(|&column| (refers(column), table.columns[column].kind));
            let Some(best) = best else {
                let names: Vec<&str> =
                    key.iter().map(|&column| table.columns[column].name.as_str()).collect();
                return Err(ExpandError::Key { table: table.name.clone(), columns: names.join(", ") });
            };
            marked.push(root(table_index, best));
        }
    }
    let shift = |table: usize, column: usize| {
        let (root_table, root_column) = root(table, column);
        let kind = tables[root_table].columns[root_column].kind;
        marked.contains(&(root_table, root_column)).then_some(Shift {
            table: root_table,
            column: root_column,
            kind,
        })
    };
    Ok((0..tables.len())
        .map(|table| (0..tables[table].columns.len()).map(|column| shift(table, column)).collect())
        .collect())
}

/// The column that a column refers to in the end; itself when it refers to none. A circle ends where it began.
fn root_of(tables: &[Table], table: usize, column: usize) -> (usize, usize) {
    let mut place = (table, column);
    let mut seen = Vec::new();
    // Each step is another column, so that no circle is walked twice.
    while !seen.contains(&place) {
        seen.push(place);
        let next = tables[place.0].references.iter().find_map(|reference| {
            let (_, to) = reference.columns.iter().find(|(own, _)| *own == place.1)?;
            Some((reference.table, *to))
        });
        match next {
            Some(next) if next != place => place = next,
            _ => return place,
        }
    }
    // In a cycle all columns have the same root: the first by position.
    let start = seen.iter().position(|one| *one == place).unwrap_or(0);
    seen.into_iter().skip(start).min().unwrap_or(place)
}

/// Tables with those they refer to before them, as far as there is no circle.
pub fn in_order(tables: &[Table]) -> Vec<usize> {
    let mut order: Vec<usize> = Vec::new();
    while order.len() < tables.len() {
        let is_ready = |index: &usize| {
            let known = |other: usize| other == *index || order.contains(&other);
            !order.contains(index) && tables[*index].references.iter().all(|one| known(one.table))
        };
        let left = || (0..tables.len()).filter(|index| !order.contains(index));
        let next = (0..tables.len()).find(is_ready).or_else(|| left().next());
        order.extend(next);
    }
    order
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::super::catalog::{Column, Reference};
    use super::*;

    fn table(name: &str, kinds: &[Kind], keys: &[&[usize]], references: &[(usize, usize, usize)]) -> Table {
        let column = |(index, kind): (usize, &Kind)| Column { name: format!("c{index}"), kind: *kind };
        Table {
            name: name.to_owned(),
            columns: kinds.iter().enumerate().map(column).collect(),
            keys: keys.iter().map(|key| key.to_vec()).collect(),
            references: references
                .iter()
                .map(|&(own, table, to)| Reference { columns: vec![(own, to)], table })
                .collect(),
            identity: Vec::new(),
        }
    }

    #[test]
    fn a_line_follows_its_order_and_keeps_its_own_number() {
        use Kind::{Integer, Other};
        let lines = table("lines", &[Integer, Integer, Other], &[&[0, 1]], &[(0, 1, 0)]);
        let orders = table("orders", &[Integer, Other], &[&[0]], &[]);
        let found = shifts(&[lines, orders]).unwrap();
        let order = Some(Shift { table: 1, column: 0, kind: Integer });
        assert_eq!(found, [vec![order, None, None], vec![order, None]]);
    }

    #[test]
    fn a_table_that_refers_to_itself_and_a_circle_of_tables_have_one_shift_each() {
        use Kind::Integer;
        let people = table("people", &[Integer, Integer], &[&[0]], &[(1, 0, 0)]);
        let found = shifts(&[people]).unwrap();
        assert_eq!(found[0][0], found[0][1]);
        let one = table("one", &[Integer], &[&[0]], &[(0, 1, 0)]);
        let two = table("two", &[Integer], &[&[0]], &[(0, 0, 0)]);
        let found = shifts(&[one, two]).unwrap();
        assert_eq!(found[0][0], found[1][0]);
        assert!(found[0][0].is_some());
    }

    #[test]
    fn a_key_that_nothing_makes_unique_is_refused_with_its_name() {
        let error = shifts(&[table("t", &[Kind::Other], &[&[0]], &[])]).unwrap_err().to_string();
        assert!(error.contains("table t") && error.contains("c0"), "{error}");
    }
}
