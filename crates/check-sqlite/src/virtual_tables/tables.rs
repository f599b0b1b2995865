//! The tables of a schema, as virtual tables use them.

use std::cell::Cell;
use std::collections::HashMap;

use check::rule::Rule;

use crate::catalog::schema::SchemaRow;
use crate::finding::Draft;
use crate::run::aftermath::CORRECT_ROW;
use crate::run::context::Context;

/// What is known of the tables that a virtual table may use.
pub(super) struct Tables<'t> {
    pub(super) context: &'t Context<'t>,
    /// Trees of tables, by name in small letters, and their rows of the schema.
    pub(super) trees: HashMap<String, (usize, &'t SchemaRow)>,
    /// Whether rows of the schema could not be read.
    pub(super) is_cut: bool,
    pub(super) bytes_max: Cell<u64>,
}

impl Tables<'_> {
    pub(super) fn tree(&self, name: &str) -> Option<usize> {
        self.trees.get(&name.to_ascii_lowercase()).map(|(tree, _)| *tree)
    }

    /// A shadow table without a column that its module reads: SQLite cannot use the virtual table.
    pub(super) fn other_columns<'n>(
        &self,
        rule: &'static Rule,
        shadow: &str,
        expected: impl Iterator<Item = &'n str>,
    ) -> Option<Draft> {
        let (tree, row) = self.trees.get(&shadow.to_ascii_lowercase())?;
        let rows = self.context.plans.trees.get(*tree)?.rows.as_ref()?;
        let has = |name: &str| rows.columns.iter().any(|column| column.name.eq_ignore_ascii_case(name));
        let missing: Vec<&str> = expected.filter(|name| !has(name)).collect();
        if missing.is_empty() {
            return None;
        }
        let found: Vec<&str> = rows.columns.iter().map(|column| column.name.as_str()).collect();
        let expected = format!("a column {} in the definition of {shadow}", missing.join(", "));
        let draft = Draft::new(rule, row.page, expected, format!("columns {}", found.join(", ")));
        Some(draft.slot(row.slot).tree(*tree).next_step(CORRECT_ROW))
    }
}
