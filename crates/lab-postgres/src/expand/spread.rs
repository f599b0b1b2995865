//! A grown database over several directories: a tablespace in each, tables and indexes shared out by size.
//!
//! A table stays whole: partitions would change the schema, and unique keys without the column of the partitions could
//! not be kept.

use std::path::{Path, PathBuf};

use lab::engine::TargetError;

use crate::control::{Control, identifier, literal};
use crate::wire::WireError;

/// Tables and indexes of users that have storage of their own, with their bytes, the largest first.
const RELATIONS: &str = "SELECT quote_ident(n.nspname) || '.' || quote_ident(c.relname), c.relkind, \
     CASE c.relkind WHEN 'i' THEN pg_relation_size(c.oid) ELSE pg_table_size(c.oid) END FROM pg_class c \
     JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.relkind IN ('r', 'i') \
     AND n.nspname <> 'information_schema' AND n.nspname NOT LIKE 'pg\\_%' AND NOT EXISTS \
     (SELECT FROM pg_depend d WHERE d.classid = 'pg_class'::regclass AND d.objid = c.oid AND d.deptype = 'e') \
     ORDER BY 3 DESC, 1";

/// The path of a tablespace as SQL takes it.
///
/// # Errors
/// A path that is not UTF-8: statements are text in the encoding of the database.
pub(crate) fn sql_path(directory: &Path) -> Result<&str, TargetError> {
    directory.to_str().ok_or_else(|| {
        TargetError::refused(
            format!(
                "cannot make a tablespace in \"{}\": its path is not UTF-8, and CREATE TABLESPACE takes text",
                directory.display()
            ),
            "name the directory by a path in UTF-8, e.g. through a symbolic link",
        )
    })
}

/// Directories with the names of the tablespaces that are made in them.
#[derive(Debug, Default)]
pub(crate) struct Spread {
    spaces: Vec<(String, PathBuf)>,
}

impl Spread {
    /// Makes a tablespace in each directory, for the database called `name`; those made are removed when one fails.
    pub(crate) fn make(
        maintenance: &mut Control,
        name: &str,
        directories: &[PathBuf],
    ) -> Result<Spread, WireError> {
        let mut spread = Spread::default();
        for (number, directory) in (1..).zip(directories) {
            // The number first: the server cuts long names at their end.
            let space = format!("fathom_{number}_{name}");
            let place = directory.display().to_string();
            let sql = format!("CREATE TABLESPACE {} LOCATION {}", identifier(&space), literal(&place));
            if let Err(error) = maintenance.query(&sql) {
                spread.remove(maintenance);
                return Err(error);
            }
            spread.spaces.push((space, directory.clone()));
        }
        Ok(spread)
    }

    /// Removes the tablespaces, which must be empty again.
    pub(crate) fn remove(&self, maintenance: &mut Control) {
        for (space, _) in &self.spaces {
            // Ours, a moment old, and of no use to anybody.
            let _ = maintenance.query(&format!("DROP TABLESPACE {}", identifier(space)));
        }
    }

    /// Moves each table and index to the directory that has the fewest bytes so far.
    pub(crate) fn share_out(&self, control: &mut Control) -> Result<(), WireError> {
        let mut filled = vec![0u64; self.spaces.len()];
        for row in control.query(RELATIONS)? {
            let text = |place: usize| row.get(place).cloned().flatten().unwrap_or_default();
            let least = filled.iter().enumerate().min_by_key(|(_, bytes)| **bytes).map(|(index, _)| index);
            let Some((index, (space, _))) = least.and_then(|index| Some((index, self.spaces.get(index)?)))
            else {
                return Ok(());
            };
            let kind = if text(1) == "i" { "INDEX" } else { "TABLE" };
            control.work(&format!("ALTER {kind} {} SET TABLESPACE {}", text(0), identifier(space)))?;
            // An empty relation gets some bytes, too: it will grow like the others.
            filled[index] += text(2).parse::<u64>().unwrap_or(0).max(1);
        }
        Ok(())
    }

    /// Bytes in each directory.
    pub(crate) fn bytes(&self, control: &mut Control) -> Result<Vec<(PathBuf, u64)>, WireError> {
        let mut found = Vec::new();
        for (space, directory) in &self.spaces {
            let sql = format!(
                "SELECT coalesce(sum(pg_relation_size(c.oid)), 0)::bigint FROM pg_class c \
                 JOIN pg_tablespace s ON s.oid = c.reltablespace WHERE s.spcname = {}::name",
                literal(space)
            );
            let rows = control.query(&sql)?;
            let value = rows.first().and_then(|row| row.first().cloned().flatten()).unwrap_or_default();
            found.push((directory.clone(), value.parse().unwrap_or(0)));
        }
        Ok(found)
    }
}
