//! Which expressions of a table and its indexes are to be computed.

use std::collections::HashMap;

use crate::catalog::definitions::{IndexFacts, STORED_COLUMN, TableColumn, VIRTUAL_COLUMN, quoted};
use crate::catalog::expressions::{TableText, index_text};
use crate::catalog::scratch::{Evaluation, ValueTest, Wish};
use crate::rules;

/// What is computed for the rows of a table.
#[derive(Default)]
pub(crate) struct Computed {
    pub(crate) evaluation: Option<Evaluation>,
    /// By the position of the index among those of the table.
    pub(crate) indexes: Vec<IndexResults>,
}

/// Places among the results of an evaluation, or why they cannot be had.
#[derive(Clone, Default)]
pub(crate) struct IndexResults {
    pub(crate) condition: Option<Result<usize, String>>,
    /// By field of an entry.
    pub(crate) parts: Vec<(usize, Result<usize, String>)>,
}

/// The CHECK constraints, NOT NULL of columns that are not stored, and the values of generated columns that are.
pub(crate) fn test_wishes(columns: &[TableColumn], text: &TableText) -> Vec<Wish> {
    let checks = text.checks.iter().map(|check| Wish {
        expression: format!("({check}\n) IS NOT FALSE"),
        test: Some(ValueTest { rule: &rules::CHECK, expected: format!("CHECK ({check})") }),
        stored_in: None,
    });
    let virtual_columns =
        columns.iter().filter(|column| column.hidden == VIRTUAL_COLUMN && column.is_not_null);
    let not_null = virtual_columns.map(|column| Wish {
        expression: format!("{} IS NOT NULL", quoted(&column.name)),
        test: Some(ValueTest {
            rule: &rules::NOT_NULL,
            expected: format!("a value in column {}", column.name),
        }),
        stored_in: None,
    });
    let stored_columns = columns.iter().filter(|column| column.hidden == STORED_COLUMN);
    let generated = stored_columns.filter_map(|column| {
        let named = text.columns.iter().find(|named| named.name.eq_ignore_ascii_case(&column.name))?;
        let expression = named.generated.clone()?;
        let expected = format!("the value of ({expression}) in column {}", column.name);
        Some(Wish {
            expression,
            test: Some(ValueTest { rule: &rules::GENERATED, expected }),
            stored_in: Some(column.name.clone()),
        })
    });
    checks.chain(not_null).chain(generated).collect()
}

/// The condition of an index, and its fields that are expressions or columns that are not stored.
pub(crate) fn index_wishes(
    index: &IndexFacts,
    columns: &[TableColumn],
    definitions: &HashMap<String, &str>,
) -> (Option<String>, Vec<(usize, String)>) {
    let definition = definitions.get(&index.name.to_ascii_lowercase());
    let text = definition.and_then(|definition| index_text(definition)).unwrap_or_default();
    let condition = text.condition.filter(|_| index.is_partial);
    let mut parts = Vec::new();
    for (field, column) in index.columns.iter().enumerate() {
        let column_of = usize::try_from(column.column).ok().and_then(|index| columns.get(index));
        match column_of {
            Some(column) if column.hidden == VIRTUAL_COLUMN => parts.push((field, quoted(&column.name))),
            None if column.column == EXPRESSION => {
                parts.push((field, text.parts.get(field).cloned().unwrap_or_default()));
            }
            _ => {}
        }
    }
    (condition.map(|condition| format!("({condition}\n) IS TRUE")), parts)
}

/// What `PRAGMA index_xinfo` gives for a column that is an expression.
const EXPRESSION: i64 = -2;
