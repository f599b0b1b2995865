//! Rows and the entries of nonclustered indexes, as facts that both sides state alike.

use check::matching::side::Side;
use formats::sqlserver::{Record, RecordId, Value};

use crate::matching::facts::FactKind;
use crate::plan::{BaseColumn, IndexPlan};
use crate::run::worker::Worker;

impl Worker<'_> {
    /// What an entry says about its row.
    pub(crate) fn state_entry(&mut self, index: u32, record: &Record<'_>, own: RecordId) {
        let Some(plan) = self.context.plan.indexes.get(index as usize) else { return };
        self.entry_count += u64::from(!self.facts.is_muted);
        let group = (FactKind::Entry, index);
        let mut bytes = Vec::with_capacity(64);
        for column in &plan.entry {
            if let Err(why) = push_value(&mut bytes, column.value(record, column.leaf), false) {
                self.facts.poison(group, why);
                return;
            }
        }
        self.facts.state(group, Side::Found, &bytes, own, own);
    }

    /// What a row says about its entry in an index.
    pub(crate) fn state_row(&mut self, index: u32, record: &Record<'_>, own: RecordId, locator: RecordId) {
        let Some(plan) = self.context.plan.indexes.get(index as usize) else { return };
        let group = (FactKind::Entry, index);
        match row_bytes(plan, record, locator, self.context.plan.may_be_virtual()) {
            Ok(bytes) => self.facts.state(group, Side::Expected, &bytes, own, own),
            Err(why) => self.facts.poison(group, why),
        }
    }
}

/// The bytes that the entry of a row has in an index.
fn row_bytes(
    plan: &IndexPlan,
    record: &Record<'_>,
    locator: RecordId,
    may_be_virtual: bool,
) -> Result<Vec<u8>, &'static str> {
    let mut bytes = Vec::with_capacity(64);
    for source in &plan.base {
        match source {
            BaseColumn::Column(column) => {
                push_value(&mut bytes, column.value(record, column.leaf), may_be_virtual)?
            }
            BaseColumn::Locator => {
                let mut eight = [0; 8];
                eight[..4].copy_from_slice(&locator.page.page.to_le_bytes());
                eight[4..6].copy_from_slice(&locator.page.file.to_le_bytes());
                eight[6..].copy_from_slice(&locator.slot.to_le_bytes());
                push_value(&mut bytes, Value::Bytes(&eight), false)?;
            }
        }
    }
    Ok(bytes)
}

/// Writes a value so that equal values have equal bytes and different ones differ.
fn push_value(bytes: &mut Vec<u8>, value: Value<'_>, may_be_virtual: bool) -> Result<(), &'static str> {
    match value {
        Value::Absent if may_be_virtual => {
            return Err("rows were written before a column was added: its value may be only in the catalog");
        }
        Value::Null | Value::Absent => bytes.push(0),
        Value::Bytes(value) => {
            bytes.push(1);
            bytes.extend_from_slice(&(value.len() as u32).to_le_bytes());
            bytes.extend_from_slice(value);
        }
        Value::Elsewhere(_) => return Err("values of some rows are off-row"),
    }
    Ok(())
}
