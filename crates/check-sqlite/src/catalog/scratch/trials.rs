//! Which expressions SQLite computes: all at once, and halves of what it refuses.

use std::collections::{BTreeSet, HashMap};

use rusqlite::Connection;

use crate::catalog::scratch::evaluation::Wish;
use crate::catalog::scratch::table::{ByName, ScratchTable, Taken, select};

/// Columns of one scratch table, some below what SQLite allows.
// EVIDENCE: sqlite limits 2: SQLITE_MAX_COLUMN is 2000 by default, for tables and for results
const COLUMN_COUNT_MAX: usize = 1_900;

/// Asks SQLite whether it computes expressions, in an empty database in memory.
pub(super) struct Trials<'t> {
    pub(super) table: &'t ScratchTable<'t>,
    pub(super) by_name: &'t ByName<'t>,
    pub(super) wishes: &'t [Wish],
    pub(super) taken: &'t [Taken],
    pub(super) connection: Connection,
    /// Statements that SQLite was given.
    pub(super) statement_count: u64,
}

impl Trials<'_> {
    /// The wishes in their order, as many together as one table can have columns for.
    pub(super) fn parts(&self) -> Vec<Vec<usize>> {
        let mut parts: Vec<Vec<usize>> = Vec::new();
        let mut columns: BTreeSet<usize> = BTreeSet::new();
        let mut result_count = 0;
        for (wish, taken) in self.taken.iter().enumerate() {
            // A result takes two columns at most, and each table has one of its own.
            let own_count = 2 * (result_count + 1) + 1;
            let new_count = taken.columns.difference(&columns).count();
            let fits = columns.len() + new_count + own_count <= COLUMN_COUNT_MAX;
            match parts.last_mut().filter(|_| fits) {
                Some(last) => last.push(wish),
                None => {
                    parts.push(vec![wish]);
                    columns.clear();
                    result_count = 0;
                }
            }
            columns.extend(&taken.columns);
            result_count += 1;
        }
        parts
    }

    /// The wishes of a part that SQLite computes; the others are written down with its reason.
    pub(super) fn accepted(&mut self, part: &[usize], refused: &mut HashMap<usize, String>) -> Vec<usize> {
        let mut accepted = Vec::new();
        for wish in part {
            match self.unknown_column(*wish) {
                Some(reason) => _ = refused.insert(*wish, reason),
                None => accepted.push(*wish),
            }
        }
        let before = refused.len();
        self.divide(&accepted, refused);
        if refused.len() > before {
            accepted.retain(|wish| !refused.contains_key(wish));
            // Each by itself is computed; the proof that all are is the table with all of them.
            if let Err(reason) = self.attempt(&accepted) {
                refused.extend(accepted.drain(..).map(|wish| (wish, reason.clone())));
            }
        }
        accepted
    }

    /// Finds the wishes that SQLite refuses: halves what is refused until one is left.
    fn divide(&mut self, wishes: &[usize], refused: &mut HashMap<usize, String>) {
        let mut open = vec![wishes];
        while let Some(wishes) = open.pop() {
            let Err(reason) = self.attempt(wishes) else { continue };
            match wishes {
                [] => {}
                [wish] => _ = refused.insert(*wish, reason),
                _ => {
                    let (first, second) = wishes.split_at(wishes.len() / 2);
                    open.extend([second, first]);
                }
            }
        }
    }

    /// Why a column that a wish takes cannot be made.
    fn unknown_column(&self, wish: usize) -> Option<String> {
        let columns = self.taken.get(wish)?.columns.iter();
        let columns = columns.filter_map(|column| self.table.columns.get(*column));
        columns.filter_map(|column| self.table.column(column, self.by_name).err()).next()
    }

    /// Makes the scratch table of some wishes and proves that it can be read: only then SQLite looks for functions and
    /// collations.
    fn attempt(&mut self, wishes: &[usize]) -> Result<(), String> {
        if wishes.is_empty() {
            return Ok(());
        }
        let making = self.table.create_table(0, wishes, (self.wishes, self.taken), self.by_name);
        self.statement_count += 2;
        let connection = &self.connection;
        let made =
            connection.execute_batch("SAVEPOINT wish").and_then(|()| connection.execute_batch(&making));
        let readable = made.and_then(|()| connection.prepare(&select(0, wishes)).map(|_| ()));
        let ended = connection.execute_batch("ROLLBACK TO wish; RELEASE wish");
        readable.and(ended).map_err(|error| match error {
            rusqlite::Error::SqlInputError { msg, .. } => match msg.strip_prefix("no such function: ") {
                // As SQLite says it where the expression stands in a definition.
                Some(function) => format!("unknown function: {function}()"),
                None => msg,
            },
            other => other.to_string(),
        })
    }
}
