//! The rows of a shadow table, read from the file itself.

use std::collections::HashSet;

use formats::sqlite::{BtreePage, Cell, Record, u32_at};

use check::pass::Pass;

use crate::map::header_offset;
use crate::plan::OwnedValue;
use crate::run::context::Context;

/// One row and where it is.
pub(super) struct ShadowRow {
    pub(super) page: u32,
    pub(super) slot: usize,
    /// 0 in a table without rowids.
    pub(super) rowid: i64,
    pub(super) values: Vec<OwnedValue>,
}

impl ShadowRow {
    /// An integer among the values.
    pub(super) fn integer(&self, column: usize) -> Option<i64> {
        match self.values.get(column) {
            Some(OwnedValue::Integer(value)) => Some(*value),
            _ => None,
        }
    }

    /// Bytes that the row takes in memory, about.
    fn size_bytes(&self) -> u64 {
        let size = |value: &OwnedValue| match value {
            OwnedValue::Text(bytes) | OwnedValue::Blob(bytes) => bytes.len(),
            _ => 0,
        };
        (64 + self.values.iter().map(|value| 32 + size(value)).sum::<usize>()) as u64
    }
}

/// What reading may still take.
pub(super) struct Allowance<'r> {
    /// Memory, in bytes.
    pub(super) bytes: u64,
    /// Says when the time is over.
    pub(super) reading: &'r Pass<'r>,
}

/// Shows each row of a tree to `visit`, in the order of its keys.
///
/// Fails, with the reason, when a page or row cannot be read, and when the rows take more memory than allowed.
pub(super) fn for_each_row(
    context: &Context<'_>,
    root: u32,
    allowance: &mut Allowance<'_>,
    mut visit: impl FnMut(ShadowRow) -> Result<(), String>,
) -> Result<(), String> {
    let mut seen = HashSet::new();
    // Pages and cells that are still to be visited, the next one last.
    let mut to_visit = vec![Step::Page(root)];
    let mut bytes = Vec::new();
    while let Some(step) = to_visit.pop() {
        if allowance.reading.is_over() {
            return Err("the check was stopped".to_owned());
        }
        let page = match step {
            Step::Page(page) => page,
            Step::Row(row) => {
                visit(row)?;
                continue;
            }
        };
        if page == 0 || page > context.page_count || !seen.insert(page) {
            return Err(format!("page {page} does not belong to it"));
        }
        context.reader.read(page, &mut bytes).map_err(|error| error.to_string())?;
        let (view, damage) = BtreePage::new(&bytes, header_offset(page), context.geometry);
        let view = view.filter(|_| damage.is_none()).ok_or_else(|| format!("page {page} is damaged"))?;
        let mut steps = Vec::new();
        for slot in 0..view.cell_count {
            let (cell, damage) = view.cell(slot);
            if damage.is_some() {
                return Err(format!("page {page} is damaged"));
            }
            if !view.kind.is_leaf() {
                steps.push(Step::Page(view.child(slot)));
            }
            if view.kind.is_leaf() || !view.kind.is_table() {
                let row = row(context, page, slot, &cell)
                    .ok_or_else(|| format!("the row on page {page} slot {slot} cannot be read"))?;
                let left = allowance.bytes.checked_sub(row.size_bytes());
                allowance.bytes = left.ok_or("its rows need more memory than --max-memory allows")?;
                steps.push(Step::Row(row));
            }
        }
        if !view.kind.is_leaf() {
            steps.push(Step::Page(view.child(view.cell_count)));
        }
        to_visit.extend(steps.into_iter().rev());
    }
    Ok(())
}

enum Step {
    Page(u32),
    Row(ShadowRow),
}

fn row(context: &Context<'_>, page: u32, slot: usize, cell: &Cell<'_>) -> Option<ShadowRow> {
    let payload = whole_payload(context, cell)?;
    let record = Record::new(&payload, cell.payload_bytes).0?;
    let mut values = Vec::new();
    for field in record.fields() {
        values.push(OwnedValue::from(record.value(field)?));
    }
    Some(ShadowRow { page, slot, rowid: cell.rowid, values })
}

/// The payload of a cell with its overflow pages; `None` when it cannot be read.
fn whole_payload(context: &Context<'_>, cell: &Cell<'_>) -> Option<Vec<u8>> {
    let mut payload = cell.local.to_vec();
    let (mut next, mut bytes) = (cell.overflow, Vec::new());
    // Each page gives at least one byte, or the loop ends.
    while (payload.len() as u64) < cell.payload_bytes {
        if !context.map.is_allowed(next) {
            return None;
        }
        context.reader.read(next, &mut bytes).ok()?;
        let here = bytes.get(4..context.geometry.usable_bytes as usize)?;
        let rest = usize::try_from(cell.payload_bytes).ok()?.checked_sub(payload.len())?;
        payload.extend_from_slice(here.get(..rest.min(here.len()))?);
        next = u32_at(&bytes, 0)?;
    }
    Some(payload)
}
