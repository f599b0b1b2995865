//! The order of neighbouring keys, and keys as text.

use std::cmp::Ordering;

use formats::sqlite::{Cell, Record, Value, compare_keys};

use crate::finding::Draft;
use crate::plan::Order;
use crate::rules;
use crate::run::worker::{Place, Worker};

impl Worker<'_> {
    /// Two neighbouring entries: the second must be above the first, and differ from it under a unique key.
    #[inline]
    pub(crate) fn order(
        &mut self,
        place: &Place<'_>,
        slot: usize,
        cells: (&Cell<'_>, &Cell<'_>),
        order: &Order,
    ) {
        let Some(found) = self.compare(place, cells.0, cells.1, order) else { return };
        if found.ordering != Ordering::Less {
            let what = if found.ordering == Ordering::Equal { "equal to" } else { "below" };
            let draft = Draft::new(
                &rules::KEY_ORDER,
                place.page,
                "a key above the one before it".to_owned(),
                format!(
                    "{} is {what} {}",
                    self.key_text(place, cells.1, order),
                    self.key_text(place, cells.0, order)
                ),
            );
            self.report_order(place, cells, order, draft.slot(slot).tree(place.tree));
        }
        self.unique(place, slot, &found, cells.1, order);
    }

    pub(crate) fn unique(
        &mut self,
        place: &Place<'_>,
        slot: usize,
        found: &formats::sqlite::KeyOrder,
        cell: &Cell<'_>,
        order: &Order,
    ) {
        let is_double =
            order.unique_columns > 0 && found.equal_columns >= order.unique_columns && !found.has_null;
        if is_double {
            let draft = Draft::new(
                &rules::UNIQUE,
                place.page,
                "a unique key".to_owned(),
                format!("{} twice", self.key_text(place, cell, order)),
            );
            self.report_order(place, (cell, cell), order, draft.slot(slot).tree(place.tree));
        }
    }

    /// Compares the keys of two cells, with their overflow pages where needed.
    #[inline]
    pub(crate) fn compare(
        &self,
        place: &Place<'_>,
        left: &Cell<'_>,
        right: &Cell<'_>,
        order: &Order,
    ) -> Option<formats::sqlite::KeyOrder> {
        let encoding = self.context.encoding;
        let left_record = Record::new(left.local, left.payload_bytes).0;
        let right_record = Record::new(right.local, right.payload_bytes).0;
        if let (Some(left), Some(right)) = (left_record, right_record)
            && let Some(found) = compare_keys(&left, &right, &order.columns, encoding)
        {
            return Some(found);
        }
        if left.overflow == 0 && right.overflow == 0 {
            return None;
        }
        let (left_bytes, right_bytes) = (self.payload(place, left)?, self.payload(place, right)?);
        let left = Record::new(&left_bytes, left.payload_bytes).0?;
        let right = Record::new(&right_bytes, right.payload_bytes).0?;
        compare_keys(&left, &right, &order.columns, encoding)
    }

    pub(crate) fn key_text(&self, place: &Place<'_>, cell: &Cell<'_>, order: &Order) -> String {
        let payload = self.payload(place, cell).unwrap_or_default();
        let Some(record) = Record::new(&payload, cell.payload_bytes).0 else {
            return "an unreadable key".to_owned();
        };
        let values = record.fields().take(order.columns.len()).map(|field| match record.value(field) {
            Some(value) => self.value_text(value),
            None => "?".to_owned(),
        });
        format!("({})", values.collect::<Vec<_>>().join(", "))
    }

    pub(crate) fn value_text(&self, value: Value<'_>) -> String {
        const LETTERS_MAX: usize = 40;
        match value {
            Value::Null => "NULL".to_owned(),
            Value::Integer(value) => value.to_string(),
            Value::Real(value) => format!("{value:?}"),
            Value::Text(bytes) => {
                let text = crate::catalog::schema::decode(bytes, self.context.encoding);
                let short: String = text.chars().take(LETTERS_MAX).collect();
                let more = if text.chars().nth(LETTERS_MAX).is_some() { "..." } else { "" };
                format!("{short:?}{more}")
            }
            Value::Blob(bytes) => {
                let short: String =
                    bytes.iter().take(LETTERS_MAX / 2).map(|byte| format!("{byte:02x}")).collect();
                let more = if bytes.len() > LETTERS_MAX / 2 { "..." } else { "" };
                format!("x'{short}{more}'")
            }
        }
    }
}
