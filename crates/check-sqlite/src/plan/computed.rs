//! What a table's definition says about a row, computed while the row is looked at.

use formats::sqlite::{Cell, Record, Value};

use crate::catalog::expressions::names;
use crate::catalog::scratch::{Evaluation, Evaluator};
use crate::causes::naming::value_text;
use crate::finding::Draft;
use crate::plan::{OwnedValue, Rows};
use crate::run::worker::{Place, Worker};
use crate::versions::ComputedRow;

impl Worker<'_> {
    /// Lets SQLite compute what the table's definition says about a row; reports tests that do not hold. False when
    /// it cannot be computed, which is counted.
    pub(crate) fn compute(
        &mut self,
        place: &Place<'_>,
        slot: usize,
        cell: &Cell<'_>,
        record: &Record<'_>,
        rows: &Rows,
        evaluation: &Evaluation,
    ) -> bool {
        let row = ComputedRow { tree: place.tree, cell, record, rows };
        let mut results = std::mem::take(&mut self.results);
        let values: Vec<_> = evaluation.bound.iter().map(|bound| self.taken_value(&row, *bound)).collect();
        let evaluator = self.evaluators.entry(place.tree).or_insert_with(|| Evaluator::new(evaluation));
        let outcome = match evaluator {
            Ok(evaluator) => evaluator.evaluate(evaluation, values.into_iter(), &mut results),
            Err(reason) => Err(reason.clone()),
        };
        self.results = results;
        if let Err(reason) = outcome {
            self.unevaluated.entry(place.tree).or_insert((0, reason)).0 += 1;
            return false;
        }
        if self.collector.is_none() {
            self.value_tests(place, slot, &row, evaluation);
        }
        true
    }

    fn value_tests(
        &mut self,
        place: &Place<'_>,
        slot: usize,
        row: &ComputedRow<'_>,
        evaluation: &Evaluation,
    ) {
        for (index, test) in evaluation.tests.iter().enumerate() {
            if self.results.get(index) == Some(&OwnedValue::Integer(0)) {
                if let Some(reason) = self.doubt_of_result(row, evaluation, index) {
                    self.doubts.add(place.tree, &test.expected, &reason);
                    continue;
                }
                let found = self.values_text(row, &test.expected);
                let mut draft = Draft::new(test.rule, place.page, test.expected.clone(), found);
                draft.row = self.row_key(place, row.cell, row.record);
                self.report(draft.slot(slot).tree(place.tree));
            }
        }
    }

    /// The columns of a row that an expression names, with their values.
    fn values_text(&self, row: &ComputedRow<'_>, expression: &str) -> String {
        let named: Vec<String> = names(expression).collect();
        let columns = row.rows.columns.iter().enumerate();
        let meant = columns.filter(|(_, column)| named.contains(&column.name.to_ascii_lowercase()));
        let parts = meant.map(|(index, column)| {
            let is_rowid = row.rows.rowid_name.as_ref() == Some(&column.name);
            let value = match self.fields.get(index) {
                _ if is_rowid => Value::Integer(row.cell.rowid),
                Some(field) => row.record.value(*field).unwrap_or(Value::Null),
                None => column.default.as_value(),
            };
            format!("{} = {}", column.name, value_text(self.context, value))
        });
        let parts: Vec<String> = parts.collect();
        if parts.is_empty() { "different values".to_owned() } else { parts.join(", ") }
    }
}
