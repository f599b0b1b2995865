//! The row that a record is or stands for, by the key with which a person finds it.

use formats::sqlserver::{
    HEADER_BYTES, Header, PageId, PageKind, Record, RecordId, RowsetColumn, Value, slot_offset,
};
use results::check::Finding;

use crate::maps::Use;
use crate::naming::values::{bytes_text, rid_text, text_of};
use crate::page::keys::Key;
use crate::plan::Unit;
use crate::run::context::Context;

impl Unit {
    /// The name of a column.
    pub(crate) fn column_name(&self, column: &RowsetColumn) -> String {
        let name = self.names.columns.get(&column.column_id).cloned();
        name.unwrap_or_else(|| format!("column {}", column.column_id))
    }

    /// A column with its value in a record of a leaf: `OrderID = 10248`.
    pub(crate) fn column_text(&self, column: &RowsetColumn, record: &Record<'_>) -> String {
        self.value_text(column, column.value(record, column.leaf))
    }

    /// A column with a value.
    pub(crate) fn value_text(&self, column: &RowsetColumn, value: Value<'_>) -> String {
        let code_page = self.names.code_pages.get(&column.column_id).copied();
        format!("{} = {}", self.column_name(column), text_of(column.type_info, value, code_page))
    }

    /// The key of a record.
    pub(crate) fn key_text(&self, record: &Record<'_>, is_leaf: bool) -> String {
        let place = |key: &RowsetColumn| if is_leaf { key.leaf } else { key.inner };
        let parts = self.keys.iter().map(|key| self.value_text(key, key.value(record, place(key))));
        parts.collect::<Vec<_>>().join(", ")
    }

    /// The key that was kept of a record.
    pub(crate) fn kept_key_text(&self, key: &Key) -> String {
        let shown = |column: &RowsetColumn, value: Option<&[u8]>| {
            let code_page = self.names.code_pages.get(&column.column_id).copied();
            value.map_or_else(|| "NULL".to_owned(), |bytes| bytes_text(column.type_info, bytes, code_page))
        };
        let parts = key
            .values()
            .zip(&self.keys)
            .map(|(value, column)| format!("{} = {}", self.column_name(column), shown(column, value)));
        parts.collect::<Vec<_>>().join(", ")
    }

    /// Some columns of a record; `None` where there are none or the record has not all of them.
    fn columns_text(&self, columns: &[RowsetColumn], record: &Record<'_>) -> Option<String> {
        let is_whole = columns.iter().all(|column| column.value(record, column.leaf) != Value::Absent);
        let parts: Vec<String> = columns.iter().map(|column| self.column_text(column, record)).collect();
        (is_whole && !parts.is_empty()).then(|| parts.join(", "))
    }

    /// What rows and index entries of a table have in common: the clustered key, or the RID.
    pub(super) fn locator_text(&self, record: &Record<'_>, own: RecordId) -> Option<String> {
        if self.index_id == 0 {
            return Some(rid_text(record.back_pointer().unwrap_or(own)));
        }
        match self.names.locator.first().filter(|_| self.names.has_rid) {
            Some(column) => RecordId::at(column.value(record, column.leaf).bytes()?, 0).map(rid_text),
            None => self.columns_text(&self.names.locator, record),
        }
    }

    /// The row that a record of a leaf is, or stands for: by its primary key, by its clustered key, or by its RID and some
    /// columns.
    fn row_text(&self, record: &Record<'_>, own: RecordId) -> Option<String> {
        if let Some(key) = self.columns_text(&self.names.primary, record) {
            return Some(key);
        }
        let locator = self.locator_text(record, own);
        let is_enough = self.index_id > 0 && !self.names.has_rid && locator.is_some();
        let others = self.columns_text(&self.names.others, record).filter(|_| !is_enough);
        let parts: Vec<String> = locator.into_iter().chain(others).collect();
        (!parts.is_empty()).then(|| parts.join(", "))
    }
}

impl Context<'_> {
    /// Adds to each finding about a row or an index entry the key of the row. What cannot be read gets none.
    ///
    /// I/O: one page for each finding with a slot.
    pub(crate) fn name_rows(&self, findings: &mut [Finding]) {
        if self.plan.units.is_empty() {
            return;
        }
        let files = self.source.database_files();
        for finding in findings.iter_mut().filter(|finding| finding.row.is_none()) {
            finding.row = files.iter().find_map(|(file, _)| self.row_of(finding, *file));
        }
    }

    /// The row that a finding names, where its page is in the file with a number.
    fn row_of(&self, finding: &Finding, file: u16) -> Option<String> {
        let page = PageId { file, page: u32::try_from(finding.page?).ok()? };
        let own = RecordId { page, slot: u16::try_from(finding.slot?).ok()? };
        if !self.source.has(page) || self.source.shown(page) != finding.file {
            return None;
        }
        self.with_record(own, |unit, record| {
            let is_named = finding.object.as_deref() == Some(unit.name.as_str());
            unit.row_text(record, own).filter(|_| is_named)
        })
    }

    /// Hands the row or the entry of a leaf at a place to `show`, with its allocation unit.
    pub(super) fn with_record<R>(
        &self,
        own: RecordId,
        show: impl FnOnce(&Unit, &Record<'_>) -> Option<R>,
    ) -> Option<R> {
        let Use::Unit(number) = self.maps.use_of(own.page) else { return None };
        let unit = self.plan.units.get(number as usize)?;
        if unit.kind != 1 || unit.is_compressed || !unit.is_known {
            return None;
        }
        let page = self.source.read(own.page).ok()?;
        let header = Header::new(&page[..]);
        let is_leaf = match header.kind {
            PageKind::Data => unit.index_id < 2,
            PageKind::Index => unit.index_id > 1 && header.level == 0,
            _ => false,
        };
        if !is_leaf || header.is_compressed() || header.page != own.page || own.slot >= header.slot_count {
            return None;
        }
        let offset = slot_offset(&page[..], own.slot.into()).map(usize::from)?;
        let record = Record::new(&page[..], &header, own.slot.into(), offset).ok()?;
        (offset >= HEADER_BYTES && unit.is_stated_by(&header)).then(|| show(unit, &record))?
    }
}
