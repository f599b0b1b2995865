//! Fields of the header that disagree with the rest of the file, although each of them could be right by itself.

use std::cmp::Ordering;
use std::sync::atomic::Ordering::Relaxed;

use formats::sqlite::{BtreePage, Encoding, KeyColumn, Record, compare_keys, u32_at};
use results::check::NotChecked;
use results::wording::{counted, thousands};

use crate::finding::Draft;
use crate::map::header_offset;
use crate::plan::{Order, Plans};
use crate::rules;
use crate::run::context::Context;
use crate::source::anchor::Anchor;
use crate::source::reader::PageReader;

/// The schema format from which on indexes can be descending, and records have types 8 and 9.
// EVIDENCE: sqlite fileformat2 1.3.11
pub(crate) const DESCENDING_FORMAT: u32 = 4;
/// Levels of a tree that are followed.
const DEPTH_MAX: usize = 40;

/// An index or table whose keys are in descending order, so that the schema format cannot be below 4. `plans` are those
/// for format 4. Cost: the leftmost pages of each tree with a descending column.
pub(crate) fn descending_tree(
    reader: &PageReader,
    geometry: formats::sqlite::Geometry,
    encoding: Encoding,
    plans: &Plans,
) -> Option<String> {
    let mut found = None;
    for plan in &plans.trees {
        let Some(order) = plan.order.as_ref().filter(|order| has_descending(order)) else { continue };
        if reader.brake.is_over() {
            return None;
        }
        match is_descending(reader, geometry, encoding, plan.root, order) {
            Some(true) => _ = found.get_or_insert_with(|| plan.name.clone()),
            Some(false) => return None,
            None => {}
        }
    }
    found
}

fn has_descending(order: &Order) -> bool {
    order.columns.iter().any(|column| column.is_descending)
}

/// Whether the keys of the leftmost leaf fall where their order says so (true) or rise all the same (false); `None` when
/// they do not tell.
fn is_descending(
    reader: &PageReader,
    geometry: formats::sqlite::Geometry,
    encoding: Encoding,
    root: u32,
    order: &Order,
) -> Option<bool> {
    let mut bytes = Vec::new();
    let mut page = root;
    let rising: Vec<KeyColumn> =
        order.columns.iter().map(|column| KeyColumn { is_descending: false, ..*column }).collect();
    for _ in 0..DEPTH_MAX {
        reader.read(page, &mut bytes).ok()?;
        let view = BtreePage::new(&bytes, header_offset(page), geometry).0?;
        if !view.kind.is_leaf() {
            page = view.child(0);
            continue;
        }
        let cells: Vec<_> = (0..view.cell_count).map(|slot| view.cell(slot).0).collect();
        let records: Vec<Record<'_>> =
            cells.iter().filter_map(|cell| Record::new(cell.local, cell.payload_bytes).0).collect();
        let (mut falls, mut rises) = (0, 0);
        for (left, right) in records.iter().zip(records.iter().skip(1)) {
            let is_below = |columns: &[KeyColumn]| {
                compare_keys(left, right, columns, encoding).map(|found| found.ordering == Ordering::Less)
            };
            match (is_below(&order.columns), is_below(&rising)) {
                (Some(true), Some(false)) => falls += 1,
                (Some(false), Some(true)) => rises += 1,
                _ => {}
            }
        }
        return match (falls, rises) {
            (0, 0) => None,
            (_, 0) => Some(true),
            _ => Some(false),
        };
    }
    None
}

/// Two numbers that SQLite writes together.
// EVIDENCE: sqlite btree.c sqlite3BtreeSetVersion: bytes 18 and 19 get the same value
pub(crate) fn versions_draft(anchor: &Anchor) -> Option<Draft> {
    let (write, read) = (anchor.header.write_version, anchor.header.read_version);
    let is_known = [write, read].iter().all(|version| (1..=2).contains(version));
    if write == read || !is_known || anchor.is_header_lost() {
        return None;
    }
    let mode = if read == 2 { "WAL mode" } else { "a rollback mode" };
    let expected = "file format write version (byte 18) and read version (byte 19) that are equal";
    let found = format!("{write} and {read}; SQLite opens the file in {mode}, by byte 19");
    let mut draft = Draft::new(&rules::HEADER, 1, expected, found);
    draft.offset_bytes = Some(18);
    let draft = draft.confidence(results::check::Confidence::Possible);
    Some(draft.next_step(
        "keep a copy of the file; PRAGMA journal_mode sets both bytes, when all else checks clean",
    ))
}

/// Fields with values that disagree with the file and that SQLite does not use, or does not care about.
pub(crate) fn unused_fields(anchor: &Anchor, context: &Context<'_>, has_objects: bool) -> Vec<NotChecked> {
    let header = &anchor.header;
    let mut notes = Vec::new();
    let mut note = |what: &str, why: String| notes.push(NotChecked::out_of_scope(None, what, why));
    if header.page_count > 0 && header.change_counter != header.version_valid_for {
        let why = format!(
            "its value {} is not used: change counter {} (byte 24) and version-valid-for number {} (byte 92) differ, so that SQLite takes the size of the file, {}",
            thousands(u64::from(header.page_count)),
            header.change_counter,
            header.version_valid_for,
            counted(u64::from(anchor.page_count), "page")
        );
        note("the page count in the header (byte 28)", why);
    }
    let mut bytes = Vec::new();
    let is_read = anchor.page_count > 0 && anchor.reader.read(1, &mut bytes).is_ok();
    let word = |offset: usize| u32_at(&bytes, offset).filter(|_| is_read).unwrap_or(0);
    if is_read && has_objects && word(56) == 0 {
        let why = "it is 0 although the schema has objects; SQLite reads 0 as 1 (UTF-8)".to_owned();
        note("the text encoding in the header (byte 56)", why);
    }
    if header.largest_root != 0 && word(64) > 1 {
        let why = format!("it is {}; SQLite writes 0 or 1 and reads any other value as 1", word(64));
        note("the incremental-vacuum flag in the header (byte 64)", why);
    }
    let boolean_count = context.boolean_count.load(Relaxed);
    if boolean_count > 0 {
        let why = format!(
            "it is {}, and {} have the types 8 or 9 of format 4: VACUUM or INSERT ... SELECT copied them from a file of format 4, or the field was changed; SQLite 3.3.0 or later reads both",
            header.schema_format,
            counted(boolean_count, "value")
        );
        note("the schema format in the header (byte 44)", why);
    }
    notes
}
