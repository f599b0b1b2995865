//! Keys of index tuples as text.

use formats::postgres::attribute::Datum;

use crate::catalog::Relation;
use crate::naming::values::text_of;

/// The value of one column of an index, counted from 1: `k = 17`.
pub(crate) fn column_key_text(index: &Relation, column: u16, value: &Datum<'_>) -> String {
    match index.columns.get(usize::from(column).wrapping_sub(1)) {
        Some(column) => format!("{} = {}", column.name, text_of(column.type_id, value)),
        None => format!("(column {column})"),
    }
}

/// The key of an index tuple: `k = 17`. A bound has fewer columns than a key where it was truncated.
pub(crate) fn tuple_key_text(index: &Relation, values: &[Datum<'_>]) -> String {
    let description = index.index.as_ref();
    let is_key = |number: usize| {
        description.is_some_and(|index| index.columns.get(number).is_some_and(|column| column.is_key))
    };
    let parts: Vec<String> = index
        .columns
        .iter()
        .zip(values)
        .enumerate()
        .filter(|(number, _)| is_key(*number))
        .map(|(_, (column, value))| format!("{} = {}", column.name, text_of(column.type_id, value)))
        .collect();
    if parts.is_empty() { "(not readable)".to_owned() } else { parts.join(", ") }
}
