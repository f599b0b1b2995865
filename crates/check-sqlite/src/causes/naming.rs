//! Rows and index entries in words: their keys, their columns, and where two of them differ.

use formats::sqlite::{BtreePage, Cell, Record, Value};

use crate::catalog::schema::decode;
use crate::map::header_offset;
use crate::matching::collector::Member;
use crate::page::keys::push_value;
use crate::plan::{OwnedValue, Part, TreePlan};
use crate::run::context::Context;
use crate::run::worker::{Place, Worker};

/// Most characters of a text, and twice as many digits of a BLOB, in a finding.
const SHOWN_MAX: usize = 40;

/// The key of a row, as a person finds it: by its INTEGER PRIMARY KEY or its rowid.
pub(crate) fn rowid_text(plan: Option<&TreePlan>, rowid: i64) -> String {
    let alias = plan.and_then(|plan| plan.rows.as_ref()).and_then(|rows| rows.rowid_name.as_deref());
    format!("{} = {rowid}", alias.unwrap_or("rowid"))
}

/// The values of a record with the names of their columns.
pub(crate) struct Named {
    pub(crate) columns: Vec<(String, OwnedValue)>,
}

impl Named {
    /// The columns and values in words.
    pub(crate) fn text(&self, context: &Context<'_>) -> String {
        let columns = self.columns.iter();
        let parts =
            columns.map(|(name, value)| format!("{name} = {}", value_text(context, value.as_value())));
        parts.collect::<Vec<_>>().join(", ")
    }

    /// The columns in which two records differ, with both values.
    pub(crate) fn differences(&self, other: &Self, context: &Context<'_>) -> Vec<(String, String)> {
        let pairs = self.columns.iter().zip(&other.columns);
        let differing = pairs.filter(|((_, left), (_, right))| !is_same(left, right));
        let text =
            |name: &str, value: &OwnedValue| format!("{name} = {}", value_text(context, value.as_value()));
        differing.map(|((name, left), (_, right))| (text(name, left), text(name, right))).collect()
    }
}

/// Whether two values are equal for an index: a whole number may be stored in two ways.
fn is_same(left: &OwnedValue, right: &OwnedValue) -> bool {
    let bytes = |value: &OwnedValue| {
        let mut bytes = Vec::new();
        push_value(&mut bytes, value.as_value());
        bytes
    };
    bytes(left) == bytes(right)
}

/// An index entry by the columns of its index; `None` when it cannot be read any more.
pub(crate) fn entry(context: &Context<'_>, pair: usize, member: &Member) -> Option<Named> {
    if context.plans.pairs.get(pair)?.fields.is_some() {
        return None;
    }
    let fields = fields(context, member)?;
    let names = field_names(context, pair)?;
    let names = names.into_iter().map(Some).chain(std::iter::repeat(None));
    let columns =
        fields.into_iter().zip(names).map(|(value, name)| (name.unwrap_or_else(|| "?".to_owned()), value));
    Some(Named { columns: columns.collect() })
}

/// A row by the columns of an index; `None` when it cannot be read, or the index holds what is computed.
pub(crate) fn row(context: &Context<'_>, pair: usize, member: &Member) -> Option<Named> {
    let plan = context.plans.pairs.get(pair)?;
    let rows = context.plans.trees.get(plan.table_tree)?.rows.as_ref()?;
    let feed = rows.feeds.iter().find(|feed| feed.pair == pair)?;
    let fields = fields(context, member)?;
    let value = |part: &Part| match part {
        Part::Rowid => Some(OwnedValue::Integer(member.rowid)),
        Part::Field(index) => match fields.get(*index) {
            Some(value) => Some(value.clone()),
            None => rows.columns.get(*index).map(|column| column.default.clone()),
        },
        Part::Computed(_) => None,
    };
    let values = feed.parts.iter().map(value).collect::<Option<Vec<_>>>()?;
    Some(Named { columns: field_names(context, pair)?.into_iter().zip(values).collect() })
}

/// The names of the columns of an index, in the order of its entries.
fn field_names(context: &Context<'_>, pair: usize) -> Option<Vec<String>> {
    let plan = context.plans.pairs.get(pair)?;
    let rows = context.plans.trees.get(plan.table_tree)?.rows.as_ref()?;
    let feed = rows.feeds.iter().find(|feed| feed.pair == pair)?;
    let name = |part: &Part| match part {
        Part::Rowid => rows.rowid_name.clone().unwrap_or_else(|| "rowid".to_owned()),
        Part::Field(index) => {
            rows.columns.get(*index).map_or_else(|| "?".to_owned(), |column| column.name.clone())
        }
        Part::Computed(_) => "expression".to_owned(),
    };
    Some(feed.parts.iter().map(name).collect())
}

/// The values of a record that lie in its page; longer ones are not read for a text.
fn fields(context: &Context<'_>, member: &Member) -> Option<Vec<OwnedValue>> {
    let mut bytes = Vec::new();
    context.reader.read(member.page, &mut bytes).ok()?;
    let view = BtreePage::new(&bytes, header_offset(member.page), context.geometry).0?;
    let (cell, damage) = view.cell(member.slot as usize);
    if damage.is_some() {
        return None;
    }
    let record = Record::new(cell.local, cell.payload_bytes).0?;
    record.fields().map(|field| record.value(field).map(owned)).collect()
}

fn owned(value: Value<'_>) -> OwnedValue {
    match value {
        Value::Null => OwnedValue::Null,
        Value::Integer(number) => OwnedValue::Integer(number),
        Value::Real(number) => OwnedValue::Real(number),
        Value::Text(bytes) => OwnedValue::Text(bytes.to_vec()),
        Value::Blob(bytes) => OwnedValue::Blob(bytes.to_vec()),
    }
}

/// A value for a finding: short.
pub(crate) fn value_text(context: &Context<'_>, value: Value<'_>) -> String {
    match value {
        Value::Null => "NULL".to_owned(),
        Value::Integer(value) => value.to_string(),
        Value::Real(value) => format!("{value:?}"),
        Value::Text(bytes) => {
            let text = decode(bytes, context.encoding);
            let short: String = text.chars().take(SHOWN_MAX).collect();
            let more = if short.len() < text.len() { "..." } else { "" };
            format!("'{}'{more}", short.replace('\'', "''"))
        }
        Value::Blob(bytes) => {
            let short: String = bytes.iter().take(SHOWN_MAX / 2).map(|byte| format!("{byte:02x}")).collect();
            let more = if bytes.len() > SHOWN_MAX / 2 { "..." } else { "" };
            format!("x'{short}{more}'")
        }
    }
}

impl Worker<'_> {
    /// The key by which a person finds the row of a table: its rowid, or the columns of its primary key.
    pub(crate) fn row_key(&self, place: &Place<'_>, cell: &Cell<'_>, record: &Record<'_>) -> Option<String> {
        let plan = self.context.plans.trees.get(place.tree)?;
        if plan.is_table == Some(true) {
            return Some(rowid_text(Some(plan), cell.rowid));
        }
        let key_count = plan.order.as_ref()?.unique_columns;
        let columns = plan.rows.as_ref()?.columns.iter().take(key_count).zip(&self.fields);
        let parts = columns.map(|(column, field)| {
            let value = record.value(*field)?;
            Some(format!("{} = {}", column.name, value_text(self.context, value)))
        });
        Some(parts.collect::<Option<Vec<_>>>()?.join(", "))
    }
}
