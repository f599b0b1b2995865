//! Whether what was computed for the row in hand is in doubt.

use formats::sqlite::{Cell, Encoding, Record, Value, is_invalid_text};

use crate::catalog::scratch::{Evaluation, Evaluator};
use crate::finding::Draft;
use crate::plan::{Feed, Order, OwnedValue, Part, Rows};
use crate::rules;
use crate::run::worker::{Place, Worker};
use crate::versions::{Doubt, Inputs, with_versions};
use check::rule::Rule;

/// A row as it was computed.
pub(crate) struct ComputedRow<'r> {
    pub(crate) tree: usize,
    pub(crate) cell: &'r Cell<'r>,
    pub(crate) record: &'r Record<'r>,
    pub(crate) rows: &'r Rows,
}

impl Worker<'_> {
    /// A value of the row in hand, by its place in the record; `None` for the rowid.
    pub(crate) fn taken_value<'v>(&self, row: &ComputedRow<'v>, place: Option<usize>) -> Value<'v> {
        let Some(place) = place else { return Value::Integer(row.cell.rowid) };
        match self.fields.get(place) {
            Some(field) => row.record.value(*field).unwrap_or(Value::Null),
            None => row.rows.columns.get(place).map_or(Value::Null, |column| column.default.as_value()),
        }
    }

    /// Why a result of the row in hand is in doubt; `None` when every version and build computes it.
    pub(crate) fn doubt_of_result(
        &mut self,
        row: &ComputedRow<'_>,
        evaluation: &Evaluation,
        result: usize,
    ) -> Option<String> {
        let reason = self.dependence_of_result(row, evaluation, result)?;
        Some(with_versions(&reason, self.context.library_version))
    }

    fn dependence_of_result(
        &mut self,
        row: &ComputedRow<'_>,
        evaluation: &Evaluation,
        result: usize,
    ) -> Option<String> {
        let dependence = evaluation.dependences.get(result)?;
        let places = dependence.inputs.iter().filter_map(|input| evaluation.bound.get(*input));
        let values = places.map(|place| self.taken_value(row, *place));
        let inputs = Inputs::of(values, self.context.encoding);
        if let Some(reason) = dependence.doubt(&inputs) {
            return Some(reason);
        }
        let has_replacement = |value: &OwnedValue| {
            let replacement = "\u{fffd}";
            matches!(value, OwnedValue::Text(bytes)
                if crate::catalog::schema::decode(bytes, self.context.encoding).contains(replacement))
        };
        if self.context.encoding != Encoding::Utf8 && self.results.get(result).is_some_and(has_replacement) {
            return Some("text that is not valid in its encoding depends on the build of SQLite".to_owned());
        }
        let differs = dependence.has_like() && self.differs_by_case(row, evaluation, result);
        differs.then(|| {
            "LIKE depends on the build and on a pragma (SQLITE_CASE_SENSITIVE_LIKE, case_sensitive_like)"
                .to_owned()
        })
    }

    /// Whether a result is another one when LIKE tells small letters from capitals.
    fn differs_by_case(&mut self, row: &ComputedRow<'_>, evaluation: &Evaluation, result: usize) -> bool {
        let values: Vec<_> = evaluation.bound.iter().map(|place| self.taken_value(row, *place)).collect();
        let evaluator =
            self.case_sensitive.entry(row.tree).or_insert_with(|| Evaluator::case_sensitive(evaluation));
        let Ok(evaluator) = evaluator else { return true };
        let mut results = Vec::new();
        match evaluator.evaluate(evaluation, values.into_iter(), &mut results) {
            Ok(()) => results.get(result) != self.results.get(result),
            Err(_) => true,
        }
    }

    /// What is in doubt about the entry of the row in hand in an index, and why. `is_computed`: whether the row could
    /// be computed at all.
    pub(crate) fn doubt_of_entry(
        &mut self,
        row: &ComputedRow<'_>,
        feed: &Feed,
        is_computed: bool,
    ) -> (Doubt, String) {
        if let Some(reason) = &feed.unknown {
            return (Doubt { of_entry: true, of_values: true }, reason.clone());
        }
        let Some(evaluation) = &row.rows.evaluation else { return Default::default() };
        if !is_computed {
            let reason = self.unevaluated.get(&row.tree).map(|(_, reason)| reason.clone());
            let doubt = Doubt { of_entry: feed.condition.is_some(), of_values: true };
            return (doubt, format!("they cannot be computed: {}", reason.unwrap_or_default()));
        }
        let of_entry = feed.condition.and_then(|result| self.doubt_of_result(row, evaluation, result));
        let mut of_values = None;
        for part in &feed.parts {
            if let Part::Computed(result) = part {
                of_values = of_values.or_else(|| self.doubt_of_result(row, evaluation, *result));
            }
        }
        let doubt = Doubt { of_entry: of_entry.is_some(), of_values: of_values.is_some() };
        (doubt, of_entry.or(of_values).unwrap_or_default())
    }

    /// Reports what the order of two keys breaks, unless builds of SQLite order them differently.
    pub(crate) fn report_order(
        &mut self,
        place: &Place<'_>,
        cells: (&Cell<'_>, &Cell<'_>),
        order: &Order,
        draft: Draft,
    ) {
        if self.has_ambiguous_text(place, cells.0, order) || self.has_ambiguous_text(place, cells.1, order) {
            let reason = "text that is not valid in its encoding is converted before it is compared, which depends on \
                          the build of SQLite (SQLITE_REPLACE_INVALID_UTF)";
            let reason = with_versions(reason, self.context.library_version);
            self.doubts.add(place.tree, order_text(draft.rule), &reason);
        } else {
            self.report(draft);
        }
    }

    /// Whether a key has a text that builds of SQLite convert differently before they compare it.
    fn has_ambiguous_text(&self, place: &Place<'_>, cell: &Cell<'_>, order: &Order) -> bool {
        let encoding = self.context.encoding;
        let is_converted =
            |column: &formats::sqlite::KeyColumn| column.collation != formats::sqlite::Collation::Binary;
        if encoding == Encoding::Utf8 || !order.columns.iter().any(is_converted) {
            return false;
        }
        let payload = self.payload(place, cell).unwrap_or_default();
        let Some(record) = Record::new(&payload, cell.payload_bytes).0 else { return false };
        let mut keys = record.fields().zip(&order.columns);
        keys.any(|(field, column)| match record.value(field) {
            Some(Value::Text(bytes)) => is_converted(column) && is_invalid_text(bytes, encoding),
            _ => false,
        })
    }
}

fn order_text(rule: &Rule) -> &'static str {
    if rule.id == rules::UNIQUE.id { "uniqueness of keys" } else { "order of keys" }
}
